"""Quantiles of groups: a row for each group, and in it one below the other its levels, each with its 95 % interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise.releases import labels
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.quantile import QuantileRelease, levels_drawn, too_few_beside
from leastnoise.report.contents import Contents
from leastnoise.report.picture import Picture, altair, specification

MAX_GROUPS_DRAWN = 60
LEVEL_HEIGHT, GROUP_HEIGHT = 15, 26  # pixels


def groups(contents: Contents) -> Picture | None:
    """Dots with their intervals for each group; None where it is no picture of groups."""
    of = contents.of
    if not isinstance(of, QuantileRelease) or of.domain is None:
        return None
    alt = altair()
    count, shown = min(of.found.groups, MAX_GROUPS_DRAWN), levels_drawn(of.levels)
    columns = _columns(of, count, shown)
    names = columns["label"][:: len(shown)]
    by = labels.title(of._shown_domain)
    rows, axis = alt.Scale(domain=list(range(count))), alt.Axis(labelExpr="names[datum.value]")
    y, below = alt.Y("place:O", title=by, scale=rows, axis=axis), alt.Scale(domain=list(range(len(shown))))
    base = alt.Chart(alt.NamedData("bins")).encode(y=y, yOffset=alt.YOffset("below:O", scale=below))
    scale = alt.Scale(domain=_reach(columns), nice=False)
    tips = [
        alt.Tooltip("label:N", title=by),
        alt.Tooltip("level:N", title="level"),
        alt.Tooltip("in_words:N", title="published"),
        alt.Tooltip("low:Q", title="95 % low", format=",.6~g"),
        alt.Tooltip("high:Q", title="95 % high", format=",.6~g"),
    ]
    told = base.transform_filter("isValid(datum.value)")
    x = alt.X("value:Q", title=of._words(of.column or "quantile"), scale=scale, axis=alt.Axis(tickCount=8))
    dot = told.mark_point(style="published", filled=True, size=70 if len(shown) == 1 else 45)
    layers = [dot.encode(x=x, tooltip=tips)]
    if of.has_intervals:
        rule = told.mark_rule(style="interval", strokeWidth=1.5)
        layers.append(rule.encode(x=alt.X("low:Q"), x2="high:Q", tooltip=tips))
    if len(shown) > 1:
        named = told.mark_text(style="beside", align="left", dx=6)
        layers.append(named.encode(x=alt.X("high:Q" if of.has_intervals else "value:Q"), text="level:N"))
    few = base.transform_filter("datum.few").mark_text(style="beside", align="left", dx=4)
    layers.append(few.encode(x=alt.datum(scale.domain[0]), text="few:N", tooltip=tips))
    height = max(GROUP_HEIGHT, LEVEL_HEIGHT * len(shown)) * count
    chart = alt.layer(*layers).add_params(alt.param(name="names", value=names)).properties(height=height)
    return Picture(specification(chart), columns, _alt(of, count, shown), note=_note(of, count, shown))


def _columns(of: QuantileRelease, count: int, shown: list[int]) -> dict[str, Any]:
    """One row for each group and level that is drawn."""
    names = [str(name).rpartition(", ")[0] for name in of.bin_names(count * len(of.levels))[1][:: len(of.levels)]]
    values, low, high = (ends[:count, shown].ravel() for ends in (of.values, *of.interval(0.95)))
    levels = [of.levels[place] for place in shown]
    return {
        "place": [place for place in range(count) for _ in shown],
        "below": list(range(len(shown))) * count,
        "label": [name for name in names for _ in shown],
        "level": [f"{level:g}" for level in levels] * count,
        "value": values.tolist(),
        "in_words": [TOO_FEW if value != value else f"{value:,.6g}" for value in values],
        "low": low.tolist(),
        "high": high.tolist(),
        "few": [words for group in of.enough[:count, shown] for words in too_few_beside(group, levels)],
    }


def _alt(of: QuantileRelease, count: int, shown: list[int]) -> str:
    levels = ", ".join(f"{of.levels[place]:g}" for place in shown)
    missing = int((~of.enough[:count, shown]).sum())
    few = f", {missing:,} of them {TOO_FEW}" if missing else ""
    dots = "a dot with its 95 % interval" if of.has_intervals else "a dot"
    which = f"the quantiles at {levels}" if len(shown) > 1 else f"the quantile at {levels}"
    return f"For each of {count} groups {dots} for {which}{few}. The table below has the numbers."


def _note(of: QuantileRelease, count: int, shown: list[int]) -> str:
    """What the numbers beside the dots are, and what is not drawn."""
    said = ["The number beside a dot is its level."] if len(shown) > 1 else []
    if len(shown) < len(of.levels):
        said.append(f"Of {len(of.levels):,} levels the chart shows {len(shown)}; the table has all.")
    if count < of.found.groups:
        said.append(f"The chart shows the first {count} of {of.found.groups:,} groups; the table has all.")
    return " ".join(said)


def _reach(columns: dict[str, Any]) -> list[float]:
    """From the least to the most of all that is drawn, with room for the levels."""
    told = ~np.isnan(columns["value"])
    ends = [np.array(columns[name])[told] for name in ("value", "low", "high")]
    every = np.concatenate(ends) if told.any() else np.array([*columns["low"], *columns["high"]])
    low, high = float(every.min()), float(every.max())
    room = (high - low) or 1.0
    return [low - 0.02 * room, high + 0.14 * room]
