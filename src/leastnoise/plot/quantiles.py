"""Quantiles of groups: a row for each group, and in it one below the other its levels, each with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise._support.validation import Number
from leastnoise.plot import canvas
from leastnoise.plot.canvas import BLUE, INK, QUIET
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.quantile import QuantileRelease, levels_drawn, too_few_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_GROUPS_DRAWN = 60


def groups(release: QuantileRelease, *, confidence: Number = 0.95, ax: Axes | None = None) -> Axes:
    """A row for each group, with a dot for each level and a line, its interval of this `confidence`. What cannot be
    told is named instead."""
    shown, count = levels_drawn(release.levels), min(release.found.groups, MAX_GROUPS_DRAWN)
    values, low, high = (end[:count, shown] for end in (release.values, *release.interval(confidence)))
    ax = canvas.axes(ax, 6.4, 1.8 + max(0.34, 0.17 * len(shown)) * max(3, count))
    offsets = (np.arange(len(shown)) - (len(shown) - 1) / 2) * 0.8 / len(shown)
    places = np.arange(count)[:, None] + offsets
    told = ~np.isnan(values)
    if release.has_intervals:
        ax.hlines(places[told], low[told], high[told], color=INK, linewidth=1.1)
    ax.plot(values[told], places[told], "o", color=BLUE, markersize=4)
    least = float((low[told] if told.any() else low).min())
    at: Any = {"textcoords": "offset points", "color": QUIET, "va": "center", "ha": "left", "annotation_clip": False}
    levels = [release.levels[place] for place in shown]
    ends = high if release.has_intervals else values
    for group in range(count):
        few = too_few_beside(told[group], levels)
        for level, words, end, place in zip(levels, few, ends[group], places[group], strict=True):
            if words:
                ax.annotate(words, (least, place), xytext=(0, 0), fontsize=8.5 if words == TOO_FEW else 7, **at)
            elif len(shown) > 1 and not np.isnan(end):
                ax.annotate(f"{level:g}", (end, place), xytext=(4, 0), fontsize=7, **at)
    title, names = release.bin_names(count * len(release.levels))
    ax.set_yticks(range(count), [name.rpartition(", ")[0] for name in names[:: len(release.levels)]], parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(count - 0.4, -0.6)
    ax.set_ylabel(title.rpartition(" and ")[0], parse_math=False)
    ax.set_xlabel(release._words(release.column or "quantile"), parse_math=False)
    canvas.heading(ax, "Published quantiles")
    canvas.caption(ax, f"{_in_words(release, shown, count, confidence)} {canvas.noise_and_promise(release)}")
    return ax


def _in_words(release: QuantileRelease, shown: list[int], count: int, confidence: Number) -> str:
    levels = ", ".join(f"{release.levels[place]:g}" for place in shown)
    lines = f" {canvas.intervals(release, confidence)}" if release.has_intervals else ""
    some = "" if count == release.found.groups else f" The first {count} of {release.found.groups:,} groups."
    fewer = "" if len(shown) == len(release.levels) else f" {len(shown)} of {len(release.levels):,} levels."
    return f"Quantiles at {levels}.{lines}{fewer}{some}"
