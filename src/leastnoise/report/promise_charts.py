"""Two small pictures: what the promise leaves an attacker, and how likely each size of the noise is."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from leastnoise._support.number_format import percent_at_most, rounded
from leastnoise._support.validation import Floats
from leastnoise.privacy.attack_curve import attack_curve
from leastnoise.privacy.distributions import Distribution, Laplace
from leastnoise.report.picture import Picture, Rows, altair, specification


def tradeoff(most_found: Callable[[ArrayLike], Floats]) -> Picture:
    """What part of those present an attack finds against its false alarms: the promise, and mere guessing."""
    alt = altair()
    curve = attack_curve(most_found)
    columns: Rows = {"alarms": (100 * curve.false_alarms).tolist(), "found": (100 * curve.found).tolist()}
    data = alt.NamedData("bins")
    x = alt.X("alarms:Q", title="false alarms of an attack, %", scale=alt.Scale(domain=[0, 100], nice=False))
    y = alt.Y("found:Q", title="found of those present, %", scale=alt.Scale(domain=[0, 100], nice=False))
    tips = [alt.Tooltip("alarms:Q", format=".3~g", title="false alarms, %"),
            alt.Tooltip("found:Q", format=".4~g", title="found at most, %")]  # fmt: skip
    line = alt.Chart(data).mark_line(style="promise").encode(x=x, y=y, tooltip=tips)
    guess = alt.Chart(data).mark_line(style="guess").encode(x=x, y=alt.Y("alarms:Q"))
    at = float(most_found(0.05))
    sentence = (
        f"The most that any attack can find, against its false alarms: {percent_at_most(at)} % at 5 % false alarms."
    )
    return Picture(specification(alt.layer(guess, line)), columns, sentence, ratio=0.8)


def noise(distribution: Distribution, added_to: str) -> Picture | None:
    """How likely each size of the noise is; None where it is 0 with 95 % or more, and there is nothing to draw."""
    alt = altair()
    reach, half = 4 * distribution.std, distribution.half_width(0.95)
    if not half or not reach:
        return None
    bound = np.repeat([-half, half], 2)  # the shade ends there, straight down
    sizes = np.sort(np.concatenate([np.linspace(-reach, reach, 121), bound]))
    relative = np.abs(sizes) / distribution.std
    height = np.exp(-math.sqrt(2) * relative) if isinstance(distribution, Laplace) else np.exp(-(relative**2) / 2)
    inside = np.abs(sizes) <= half
    inside[[np.searchsorted(sizes, -half), np.searchsorted(sizes, half, side="right") - 1]] = False
    columns: Rows = {
        "size": sizes.tolist(),
        "height": height.tolist(),
        "inside": np.where(inside, height, 0.0).tolist(),
    }
    ticks = alt.Axis(values=[-half, 0, half], format=",.3~r", labelOverlap=False)
    x = alt.X(
        "size:Q", title=f"noise added to {added_to}", axis=ticks, scale=alt.Scale(domain=[-reach, reach], nice=False)
    )
    quiet = alt.Axis(labels=False, ticks=False, grid=False, domain=False)
    base = alt.Chart(alt.NamedData("bins")).encode(x=x)
    area = base.mark_area(style="band").encode(y=alt.Y("inside:Q", title=None, axis=quiet))
    line = base.mark_line(style="promise").encode(y=alt.Y("height:Q", title=None, axis=quiet))
    sentence = f"The distribution of the noise: 95 % of it lies within {rounded(half)} of zero, the shaded part."
    return Picture(specification(alt.layer(area, line)), columns, sentence, ratio=0.8)
