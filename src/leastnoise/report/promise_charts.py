"""Two small pictures: what the promise leaves an attacker, and how likely each size of the noise is."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from leastnoise._support.number_format import percent_at_most
from leastnoise._support.validation import Floats
from leastnoise.privacy.distributions import Distribution, Laplace
from leastnoise.report.picture import Picture, Rows, altair, round_step, specification


def tradeoff(most_found: Callable[[ArrayLike], Floats]) -> Picture:
    """How many people an attack finds against its false alarms: the promise, and mere guessing."""
    alt = altair()
    rates = np.concatenate([np.linspace(0, 0.04, 21), np.linspace(0.04, 1, 49)[1:]])
    found = most_found(rates)
    columns: Rows = {"alarms": (100 * rates).tolist(), "found": (100 * found).tolist()}
    data = alt.NamedData("bins")
    x = alt.X("alarms:Q", title="false alarms of an attack, %", scale=alt.Scale(domain=[0, 100], nice=False))
    y = alt.Y("found:Q", title="people it finds, %", scale=alt.Scale(domain=[0, 100], nice=False))
    tips = [alt.Tooltip("alarms:Q", format=".3~g", title="false alarms, %"),
            alt.Tooltip("found:Q", format=".4~g", title="found at most, %")]  # fmt: skip
    line = alt.Chart(data).mark_line(style="promise").encode(x=x, y=y, tooltip=tips)
    guess = alt.Chart(data).mark_line(style="guess").encode(x=x, y=alt.Y("alarms:Q"))
    at = float(most_found(0.05))
    sentence = (
        f"The most that any attack can find, against its false alarms: {percent_at_most(at)} % at 5 % false alarms."
    )
    return Picture(specification(alt.layer(guess, line)), columns, sentence, ratio=0.8)


def noise(distribution: Distribution, added_to: str) -> Picture:
    """How likely each size of the noise is."""
    alt = altair()
    reach = 4 * distribution.std or 1.0  # noise far finer than its grid is none
    sizes = np.linspace(-reach, reach, 121)
    if isinstance(distribution, Laplace):
        height = np.exp(-np.abs(sizes) * math.sqrt(2) / distribution.std)
    else:
        height = np.exp(-((sizes / distribution.std) ** 2) / 2)
    half = distribution.half_width(0.95)
    inside = np.abs(sizes) <= half
    columns: Rows = {
        "size": sizes.tolist(),
        "height": height.tolist(),
        "inside": np.where(inside, height, 0.0).tolist(),
    }
    step = round_step(reach)
    ticks = alt.Axis(values=[-step, 0, step], format=",.3~r", labelOverlap=False)
    x = alt.X(
        "size:Q", title=f"noise added to {added_to}", axis=ticks, scale=alt.Scale(domain=[-reach, reach], nice=False)
    )
    quiet = alt.Axis(labels=False, ticks=False, grid=False, domain=False)
    base = alt.Chart(alt.NamedData("bins")).encode(x=x)
    area = base.mark_area(style="band").encode(y=alt.Y("inside:Q", title=None, axis=quiet))
    line = base.mark_line(style="promise").encode(y=alt.Y("height:Q", title=None, axis=quiet))
    sentence = f"The distribution of the noise: 95 % of it lies within {half:.4g} of zero, the shaded part."
    return Picture(specification(alt.layer(area, line)), columns, sentence, ratio=0.8)
