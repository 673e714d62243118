"""Quantiles of groups as boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastnoise._support.validation import Number
from leastnoise.plot import canvas
from leastnoise.plot.canvas import BLUE, INK, QUIET, SKY
from leastnoise.releases.quantile import QuantileRelease

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_BOXES = 60


def boxes(release: QuantileRelease, *, confidence: Number = 0.95, ax: Axes | None = None) -> Axes:
    """A row for each group: a line through the outer levels, a box between the inner ones, a mark at the middle one,
    and below it a thin line, its interval of this `confidence`."""
    levels, count = release.levels, len(release.levels)
    groups = min(release.found.groups, MAX_BOXES)
    values = np.atleast_2d(release.values)[:groups]
    low, high = (np.atleast_2d(end)[:groups] for end in release.interval(confidence))
    ax = canvas.axes(ax, 6.4, 1.8 + 0.34 * max(3, groups))
    places, middle = np.arange(groups), int(np.argmin(np.abs(np.array(levels) - 0.5)))
    inner = count // 4
    ax.hlines(places + 0.3, low[:, middle], high[:, middle], color=QUIET, linewidth=1)
    ax.hlines(places, values[:, 0], values[:, -1], color=BLUE, linewidth=1.5)
    if count >= 4:
        ax.barh(places, values[:, count - 1 - inner] - values[:, inner], left=values[:, inner], height=0.4, color=SKY)
    ax.plot(values.T, np.broadcast_to(places, (count, groups)), "o", color=BLUE, markersize=4)
    ax.plot(values[:, middle], places, "|", color=INK, markersize=14, markeredgewidth=2.5)
    title, names = release.bin_names(groups * count)
    ax.set_yticks(places, [name.rpartition(", ")[0] for name in names[::count]], parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(groups - 0.4, -0.6)
    ax.set_ylabel(title.rpartition(" and ")[0], parse_math=False)
    ax.set_xlabel(release._words(release.column or "quantile"), parse_math=False)
    canvas.heading(ax, "Published quantiles")
    shown = ", ".join(f"{level:g}" for level in levels)
    some = "" if groups == release.found.groups else f" The first {groups} of {release.found.groups:,} groups."
    canvas.caption(
        ax,
        f"Quantiles at {shown}; thin lines are {100 * float(confidence):g} % intervals at {levels[middle]:g}. "
        f"{canvas.noise_and_promise(release)}{some}",
    )
    return ax
