"""What a guarantee promises: its privacy profile, and what it leaves an attacker. Several, by name, in one picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from leastnoise import errors
from leastnoise._support.number_format import percent_at_most
from leastnoise._support.validation import Floats
from leastnoise.plot import canvas
from leastnoise.plot.canvas import BLUE, FAINT, GREEN, INK, ORANGE, QUIET, SKY
from leastnoise.privacy.attack_curve import attack_curve
from leastnoise.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIN_DELTA_SHOWN = 1e-12  # deltas below this say no more
# Each colour with its own dashes, which a grey print keeps. (Okabe & Ito's reddish purple and yellow come last.)
STYLES = (
    (BLUE, "solid"),
    (ORANGE, (0, (5, 1.5))),
    (GREEN, (0, (1.2, 1.2))),
    (SKY, (0, (6, 1.5, 1.2, 1.5))),
    ("#CC79A7", (0, (9, 2))),
    ("#E69F00", (0, (3, 1, 1, 1, 1, 1))),
)


def profile(
    guarantee: Guarantee | Mapping[str, Guarantee],
    *,
    delta: float | None = 1e-6,
    colours: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """delta as a function of epsilon: every (epsilon, delta) on or above the line is promised, none below.

    guarantee: one, or several by name, which are laid over one another.
    delta: where the line is read off; None leaves the point out.
    colours: of some of the names, where ours will not do. ax: where to draw; a new figure if None.
    """
    ax = canvas.axes(ax)
    several = _several(guarantee)
    crossings = [_epsilon_at(one, delta) if delta is not None else None for one in several.values()]
    ends = [
        max(1.35 * (at or 0.0), _epsilon_at(one, 1e-9) or 1.0)
        for at, one in zip(crossings, several.values(), strict=True)
    ]
    epsilon = np.linspace(0.0, max(ends), 400)
    least = 1.0
    for curve, at in zip(_curves(several, colours), crossings, strict=True):
        values = np.asarray(curve.guarantee.profile(epsilon))
        shown = np.where(values >= MIN_DELTA_SHOWN, values, np.nan)
        least = min(least, float(np.nanmin(shown)))
        if not curve.name:
            ax.fill_between(epsilon, np.fmax(shown, MIN_DELTA_SHOWN), 1.0, color=curve.colour, alpha=0.10, linewidth=0)
        label = f"{curve.name}: epsilon {at:.3g}" if at is not None else curve.name
        ax.plot(epsilon, shown, color=curve.colour, linewidth=2, linestyle=curve.dashes, label=label)
    ax.set(yscale="log", ylim=(max(MIN_DELTA_SHOWN, least / 3), 1.0), xlim=(0, max(ends)))
    ax.set_xlabel("epsilon")
    ax.set_ylabel("delta")
    if delta is not None:
        _read_off(ax, several, crossings, delta)
    canvas.heading(ax, "What is promised, at every epsilon")
    _finish(ax, several, "Shaded: promised." if "" in several else "Above a line: promised.", delta)
    return ax


def _read_off(ax: Axes, several: Mapping[str, Guarantee], crossings: list[float | None], delta: float) -> None:
    """Where the lines cross delta."""
    for name, at in zip(several, crossings, strict=True):
        if at is None:
            continue
        ax.plot([0, at, at], [delta, delta, ax.get_ylim()[0]], color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
        ax.plot([at], [delta], "o", color=INK if name else ORANGE, markersize=4 if name else 6, clip_on=False)
        if not name:
            words, away = f"epsilon {at:.3g} at delta {delta:g}", (7, 6)
            ax.annotate(words, (at, delta), xytext=away, textcoords="offset points", fontsize=9, color=INK)


def tradeoff(
    guarantee: Guarantee | Mapping[str, Guarantee],
    *,
    colours: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The least miss rate of any attack, for each false-alarm rate; the diagonal is guessing. No line is drawn above
    what it stands for.

    guarantee: one, or several by name, which are laid over one another.
    colours: of some of the names, where ours will not do. ax: where to draw; a new figure if None.
    """
    ax = canvas.axes(ax, 4.6, 4.6)
    several = _several(guarantee)
    ax.plot([0, 1], [1, 0], color=QUIET, linewidth=1, linestyle=(0, (4, 3)))
    for curve in _curves(several, colours):
        rates, found = attack_curve(partial(_found, curve.guarantee))
        missed, caught = 1 - found, percent_at_most(float(_found(curve.guarantee, 0.05)))
        if not curve.name:
            ax.fill_between(rates, 0, missed, color=FAINT, alpha=0.45, linewidth=0)
        label = f"{curve.name}: {caught} % caught at 5 %"
        ax.plot(rates, missed, color=curve.colour, linewidth=2, linestyle=curve.dashes, label=label)
        if not curve.name:
            _point_out(ax, float(curve.guarantee.tradeoff(0.05)), caught)
    ax.text(0.61, 0.45, "guessing", fontsize=8.5, color=QUIET, rotation=-45, ha="center", va="center")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set_xlabel("false alarms of an attack")
    ax.set_ylabel("missed of those present")
    canvas.heading(ax, "No attack gets below the line" if "" in several else "No attack gets below its line")
    _finish(ax, several, "Grey: impossible." if "" in several else "")
    return ax


def _found(guarantee: Guarantee, false_alarms: ArrayLike) -> Floats:
    return 1 - guarantee.tradeoff(false_alarms)


def _point_out(ax: Axes, missed: float, caught: str) -> None:
    """What an attack with 5 % false alarms finds."""
    ax.plot([0.05], [missed], "o", color=ORANGE, markersize=6)
    ax.annotate(
        f"5 % false alarms:\nat most {caught} % caught",
        (0.05, missed),
        xytext=(0.30, 0.86),
        textcoords="data",
        fontsize=9,
        color=INK,
        arrowprops={"arrowstyle": "-", "color": QUIET, "linewidth": 0.8},
    )


class Curve(NamedTuple):
    """One line of a picture; without a name it is the only one."""

    name: str
    guarantee: Guarantee
    colour: str
    dashes: Any


def _several(guarantee: Guarantee | Mapping[str, Guarantee]) -> Mapping[str, Guarantee]:
    """By name; one alone has none."""
    if not isinstance(guarantee, Mapping):
        return {"": guarantee}
    if not guarantee or not all(isinstance(name, str) and name for name in guarantee):
        raise errors.InvalidParameter(
            'Several guarantees are given by name: {"Gaussian": GaussianDP(0.5), "Laplace": PureDP(1)}.'
        )
    if len({one.neighbours for one in guarantee.values()}) > 1:
        raise errors.InvalidParameter(
            "These guarantees are about different neighbours, add-remove and replace, and cannot be compared in one "
            "picture. Draw those of one kind."
        )
    return guarantee


def _curves(several: Mapping[str, Guarantee], colours: Mapping[str, str] | None) -> Iterator[Curve]:
    from matplotlib.colors import to_hex

    chosen = dict(colours or {})
    if unknown := sorted(set(chosen) - set(several)):
        raise errors.InvalidParameter.among("colours", unknown[0], several)
    taken = {to_hex(colour) for colour in chosen.values()}
    ours = [colour for colour, _ in STYLES]
    free = [colour for colour in ours if to_hex(colour) not in taken] or ours
    for i, (name, guarantee) in enumerate(several.items()):
        yield Curve(name, guarantee, chosen.get(name, free[i % len(free)]), STYLES[i % len(STYLES)][1])


def _finish(ax: Axes, several: Mapping[str, Guarantee], note: str, delta: float | None = None) -> None:
    """The legend of several, and the caption."""
    neighbours = next(iter(several.values())).neighbours
    if "" in several:
        text = f"{canvas.promise(several[''], delta)}; neighbours: {neighbours}. {note}"
    else:
        ax.legend(fontsize=8.5, frameon=False, labelcolor=INK, handlelength=2.6)
        each = "; ".join(f"{name}: {canvas.promise(one, delta)}" for name, one in several.items())
        text = f"{each}. Neighbours: {neighbours}. {note}"
    canvas.caption(ax, text.strip())


def _epsilon_at(guarantee: Guarantee, delta: float) -> float | None:
    """Where the profile falls to delta; None where it never does."""
    low, high = 0.0, 1.0
    while float(guarantee.profile(high)) > delta:
        high *= 2
        if high > 1e4:
            return None
    if float(guarantee.profile(low)) <= delta:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(guarantee.profile(middle)) > delta else (low, middle)
    return high
