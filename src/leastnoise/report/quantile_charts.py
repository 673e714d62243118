"""Quantiles of groups as boxes: one row a group, a bar between the outer levels, a wider one between the middle ones.

With up to three levels a dot stands at each, and a line through the outer ones; the middle level has a mark across.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise.releases import labels
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.report.contents import Contents
from leastnoise.report.picture import Picture, altair, specification

MAX_BOXES = 60


def boxes(contents: Contents) -> Picture | None:
    """A box for each group; None where it is no picture of groups."""
    of = contents.of
    if not isinstance(of, QuantileRelease) or of.domain is None:
        return None
    alt = altair()
    levels, groups = of.levels, min(of.found.groups, MAX_BOXES)
    count = len(levels)
    middle = int(np.argmin(np.abs(np.array(levels) - 0.5)))
    names = [str(name).rpartition(", ")[0] for name in of.bin_names(groups * count)[1][::count]]
    values, (low, high) = of.values[:groups], (end[:groups] for end in of.interval(0.95))
    columns: dict[str, Any] = {
        "place": [place for place in range(groups) for _ in levels],
        "label": [name for name in names for _ in levels],
        "level": [f"{level:g}" for _ in names for level in levels],
        "value": values.ravel().tolist(),
        "low": low.ravel().tolist(),
        "high": high.ravel().tolist(),
        "first": np.repeat(values[:, 0], count).tolist(),
        "last": np.repeat(values[:, -1], count).tolist(),
        "middle": [int(place == middle) for _ in names for place in range(count)],
    }
    inner = (count // 4, count - 1 - count // 4)
    columns["inner_first"] = np.repeat(values[:, inner[0]], count).tolist()
    columns["inner_last"] = np.repeat(values[:, inner[1]], count).tolist()
    axis, by = alt.Axis(labelExpr="names[datum.value]"), labels.title(of._shown_domain)
    base = alt.Chart(alt.NamedData("bins")).encode(y=alt.Y("place:O", sort=None, title=by, axis=axis))
    x = alt.Scale(domain=_reach(columns), nice=False)
    tips = [
        alt.Tooltip("label:N", title=by),
        alt.Tooltip("level:N", title="level"),
        alt.Tooltip("value:Q", title="published", format=",.6~g"),
        alt.Tooltip("low:Q", title="95 % low", format=",.6~g"),
        alt.Tooltip("high:Q", title="95 % high", format=",.6~g"),
    ]
    title = of._words(of.column or "quantile")
    layers = [
        base.mark_rule(style="interval", strokeWidth=1.5).encode(
            x=alt.X("first:Q", scale=x, title=title, axis=alt.Axis(tickCount=8)), x2="last:Q"
        )
    ]
    if count >= 4:
        layers.append(base.mark_bar(style="bars", size=12, opacity=0.6).encode(x="inner_first:Q", x2="inner_last:Q"))
    layers.append(base.mark_point(style="published", filled=True, size=50).encode(x="value:Q", tooltip=tips))
    median = base.transform_filter("datum.middle == 1").mark_tick(style="published", thickness=3, size=18)
    layers.append(median.encode(x="value:Q", tooltip=tips))
    chart = alt.layer(*layers).add_params(alt.param(name="names", value=names)).properties(height=26 * groups)
    some = "" if groups == of.found.groups else f"The first {groups} of {of.found.groups:,} groups."
    shown = ", ".join(f"{level:g}" for level in levels)
    words = (
        f"A row for each of {groups} groups, with the quantiles at {shown}; the mark across is at {levels[middle]:g}."
    )
    return Picture(specification(chart), columns, words, note=some)


def _reach(columns: dict[str, Any]) -> list[float]:
    """From the least to the largest quantile; intervals, which may be the whole clip, are in the table."""
    low, high = min(columns["value"]), max(columns["value"])
    room = 0.04 * (high - low) or 1.0
    return [low - room, high + room]
