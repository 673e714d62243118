"""`ln.compare`, drawn: how far off each mechanism is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.plot import canvas
from leastnoise.plot.canvas import BLUE, FAINT, INK, QUIET
from leastnoise.privacy.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def comparison(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """The standard deviation of every mechanism as a bar, the half-width of its 95 % interval as a line beyond it."""
    rows = list(reversed(comparison.rows))
    ax = canvas.axes(ax, 6.4, 1.6 + 0.42 * len(rows))
    places = range(len(rows))
    best = comparison.best.mechanism
    colours = [BLUE if row.mechanism == best else FAINT for row in rows]
    ax.barh(places, [row.std for row in rows], height=0.62, color=colours, edgecolor=QUIET, linewidth=0.6)
    ax.hlines(places, [row.std for row in rows], [row.half_width for row in rows], color=INK, linewidth=1)
    ax.plot([row.half_width for row in rows], places, "|", color=INK, markersize=9)
    for place, row in zip(places, rows, strict=True):
        worse = "least noise" if row.mechanism == best else f"{row.variance_ratio:.3g} × variance"
        ax.annotate(
            f"{row.std:.4g}   {worse}",
            (row.half_width, place),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=INK,
        )
    ax.set_yticks(list(places), [row.mechanism for row in rows])
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0, 1.42 * max(row.half_width for row in rows))
    ax.set_xlabel("standard deviation (bar) and 95 % half-width (line), in the units of the answer")
    canvas.heading(ax, f"Least noise here: {best}")
    many = "one number" if comparison.bins == 1 else f"{comparison.bins:,} bins"
    canvas.caption(
        ax, f"Every mechanism at epsilon = {comparison.epsilon:g}, delta = {comparison.delta:g}, for {many}."
    )
    return ax
