"""What a guarantee promises: its privacy profile, and what it leaves an attacker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastnoise.plot import canvas
from leastnoise.plot.canvas import BLUE, FAINT, INK, ORANGE, QUIET
from leastnoise.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIN_DELTA_SHOWN = 1e-12  # deltas below this say no more


def profile(guarantee: Guarantee, *, delta: float | None = 1e-6, ax: Axes | None = None) -> Axes:
    """delta as a function of epsilon: every (epsilon, delta) on or above the line is promised, none below.

    The point is where the line crosses `delta`; None leaves it out.
    """
    ax = canvas.axes(ax)
    at = _epsilon_at(guarantee, delta) if delta is not None else None
    last = max(1.35 * (at or 0.0), _epsilon_at(guarantee, 1e-9) or 1.0)
    epsilon = np.linspace(0.0, last, 400)
    curve = np.asarray(guarantee.profile(epsilon))
    shown = np.where(curve >= MIN_DELTA_SHOWN, curve, np.nan)
    ax.fill_between(epsilon, np.fmax(shown, MIN_DELTA_SHOWN), 1.0, color=BLUE, alpha=0.10, linewidth=0)
    ax.plot(epsilon, shown, color=BLUE, linewidth=2)
    ax.set(yscale="log", ylim=(max(MIN_DELTA_SHOWN, float(np.nanmin(shown)) / 3), 1.0), xlim=(0, last))
    ax.set_xlabel("epsilon")
    ax.set_ylabel("delta")
    if at is not None and delta is not None:
        ax.plot([0, at, at], [delta, delta, ax.get_ylim()[0]], color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
        ax.plot([at], [delta], "o", color=ORANGE, markersize=6, clip_on=False)
        ax.annotate(
            f"epsilon {at:.3g} at delta {delta:g}",
            (at, delta),
            xytext=(7, 6),
            textcoords="offset points",
            fontsize=9,
            color=INK,
        )
    canvas.heading(ax, "What is promised, at every epsilon")
    canvas.caption(ax, f"{canvas.promise(guarantee, delta)}; neighbours: {guarantee.neighbours}. Shaded: promised.")
    return ax


def tradeoff(guarantee: Guarantee, *, ax: Axes | None = None) -> Axes:
    """The least miss rate of any attack, for each false-alarm rate; the diagonal is guessing."""
    ax = canvas.axes(ax, 4.6, 4.6)
    rates = np.concatenate([np.linspace(0, 0.02, 81), np.linspace(0.02, 1, 321)[1:]])
    missed = guarantee.tradeoff(rates)
    ax.fill_between(rates, 0, missed, color=FAINT, alpha=0.45, linewidth=0)
    ax.plot([0, 1], [1, 0], color=QUIET, linewidth=1, linestyle=(0, (4, 3)))
    ax.plot(rates, missed, color=BLUE, linewidth=2)
    caught = 1 - float(guarantee.tradeoff(0.05))
    ax.plot([0.05], [1 - caught], "o", color=ORANGE, markersize=6)
    ax.annotate(
        f"5 % false alarms:\nat most {100 * caught:.3g} % caught",
        (0.05, 1 - caught),
        xytext=(0.30, 0.86),
        textcoords="data",
        fontsize=9,
        color=INK,
        arrowprops={"arrowstyle": "-", "color": QUIET, "linewidth": 0.8},
    )
    ax.text(0.61, 0.45, "guessing", fontsize=8.5, color=QUIET, rotation=-45, ha="center", va="center")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set_xlabel("false alarms of an attack")
    ax.set_ylabel("people it misses")
    canvas.heading(ax, "No attack gets below the line")
    canvas.caption(ax, f"{canvas.promise(guarantee)}; neighbours: {guarantee.neighbours}. Grey: impossible.")
    return ax


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
