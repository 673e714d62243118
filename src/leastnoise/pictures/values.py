"""Values and their intervals: bars for few bins, a line of steps for many, cells for two columns, dots of quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats, Number
from leastnoise.pictures import captions, maps
from leastnoise.pictures.picture import (
    Axis,
    Band,
    Bars,
    Cells,
    Line,
    Mark,
    Picture,
    Points,
    Ranges,
    Shades,
    Words,
    shades_for,
)
from leastnoise.pictures.places import lattice_cells
from leastnoise.releases import labels
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.labels import MAX_BARS
from leastnoise.releases.published import Published
from leastnoise.releases.quantile import QuantileRelease, levels_drawn, too_few_beside
from leastnoise.releases.summary import SummaryRelease

MAX_GROUPS_DRAWN = 60
MAX_LETTERS_BELOW, MAX_NAMES_BESIDE = 66, 24  # of the keys of cells
MAX_SLANTED_NAMES = 20


class Series(NamedTuple):
    """One value for each bin: its interval, and a better value beside it, where there are any; and what bins are
    called."""

    values: Floats
    low: Floats | None
    high: Floats | None
    better: Floats | None
    by: str
    names: Sequence[str]
    better_name: str = "denoised"


def release(of: Published, estimate: Estimate | None, confidence: Number) -> Picture:
    """Published values with their intervals, and, where one is given, the estimate beside them."""
    if isinstance(of, QuantileRelease) and of.domain is not None:
        return quantiles(of, confidence)
    values = np.asarray(of.values, dtype=float)
    caption = captions.noise_and_promise(of) + captions.too_few(values)
    title, unit = f"Published {of.noun}s", _unit(of)
    if (cells := lattice_cells(of)) is not None:
        return maps.lattice(cells, {title: values}, shades_for([values], title=unit), caption)
    plane = labels.plane(of._shown_domain) if of.covers_domain else None
    if plane is not None:
        return rectangle(values, plane, shades_for([values], title=unit), title, caption)
    low, high = (np.asarray(end, dtype=float) for end in of.interval(confidence))
    better = None if estimate is None else column(estimate, "value")
    places = labels.with_bars(of.domain if of.covers_domain else None, values)
    if places is None:
        by, names = of.bin_names(MAX_BARS)
        bands = f"{caption} {captions.intervals(of, confidence, 'Bands')}"
        return steps(Series(values, low, high, better, by, names), title, bands)
    by, names = _names(of, places)
    caption = f"{caption} {captions.intervals(of, confidence)}"
    kept = None if better is None else better[places]
    some = f"{caption} {labels.largest_in_words(places.size, values.size)}".strip()
    return bars(Series(values[places], low[places], high[places], kept, by, names), title, some)


def estimate(of: Estimate) -> Picture:
    """Denoised values, with what was published faint behind them."""
    values, noisy = column(of, "value"), column(of, "noisy")
    caption = (
        f"{values.size:,} values denoised by {of.method}: error of a bin, estimated without the truth, "
        f"{of.rmse_in_words()}; before {of.std:.4g}.{captions.weak(of)}{captions.left_out(of)}"
    )
    if (cells := lattice_cells(of)) is not None:
        return maps.lattice(cells, {"Denoised values": values}, shades_for([values]), caption)
    plane = labels.plane(of._shown_domain)
    if plane is None and len(of.values.shape) == 2:
        rows, columns = of.values.shape
        plane = labels.Plane(rows, columns, "column", "row", None)
    if plane is not None:
        return rectangle(values, plane, shades_for([values]), "Denoised values", caption)
    places = labels.with_bars(of.domain, values)
    if places is None:
        by, names = of.bin_names(MAX_BARS)
        return steps(Series(noisy, None, None, values, by, names), "Denoised values", caption)
    by, names = _names(of, places)
    some = f"{caption} {labels.largest_in_words(places.size, values.size)}".strip()
    return bars(Series(noisy[places], None, None, values[places], by, names), "Denoised values", some)


def column(estimate: Estimate, name: str) -> Floats:
    """One column of an estimate on this machine, whatever library its arrays belong to."""
    return np.asarray(estimate.to_arrow()[name].to_numpy(), dtype=float)


def _unit(of: Published) -> str:
    return of.kind if of.kind in ("count", "sum") else "value"


def _names(published: Published, places: Any) -> tuple[str, list[str]]:
    """What the bins are by, and what these are called."""
    title, names = published.bin_names(int(places.max(initial=0)) + 1)
    return title, [names[int(place)] for place in places]


def bars(of: Series, title: str, caption: str) -> Picture:
    """A bar for each bin, with its interval, and a mark where the better value is."""
    places = np.arange(float(of.values.size))
    known = ~np.isnan(of.values)
    style = "none" if of.low is None else "bar"
    beside = of.better is not None
    marks: list[Mark] = [
        Bars(places[known], np.zeros(int(known.sum())), of.values[known], style, "published" if beside else "")
    ]
    if of.low is not None and of.high is not None:
        marks.append(Ranges(places[known], of.low[known], of.high[known], "whisker"))
        if not known.all():
            least = np.full(int((~known).sum()), min(0.0, float(np.nanmin(of.low))))
            marks.append(Words(least, places[~known], [TOO_FEW] * least.size, style="quiet"))
    if of.better is not None:
        marks.append(Points(of.better, places, "second", 7.0, diamonds=True, name=of.better_name))
    return Picture(
        marks=marks,
        y=Axis("", -0.6, of.values.size - 0.4, names=list(zip(places, map(_short, of.names), strict=True))),
        title=f"{title} by {of.by}",
        caption=caption,
        alt=f"{title} by {of.by}: a bar for each of {of.values.size:,} bins.",
        size=(6.4, 1.8 + 0.27 * max(3, of.values.size)),
        downward=True,
    )


def steps(of: Series, title: str, caption: str) -> Picture:
    """A line of steps, with a band of intervals, and a line of better values."""
    edges = np.arange(of.values.size + 1) - 0.5
    marks: list[Mark] = []
    if of.low is not None and of.high is not None:
        marks.append(Band(edges, of.low, of.high, steps=True, name="interval"))
    style = "main" if of.better is None else "quiet"
    marks.append(Line(edges, of.values, style, name="published", steps=True, width=0.9))
    if of.better is not None:
        marks.append(Line(edges, of.better, "second", name=of.better_name, steps=True, width=1.5))
    return Picture(
        marks=marks,
        x=Axis(f"{of.by}, in its order", edges[0], edges[-1]),
        title=title,
        caption=caption,
        alt=f"{title} by {of.by}: a line through {of.values.size:,} bins.",
    )


def rectangle(
    values: Floats,
    plane: labels.Plane,
    shades: Shades,
    title: str,
    caption: str,
    marked: Any = None,
    size: tuple[float, float] = (6.0, 5.0),
) -> Picture:
    """The cells of two columns, names beside and below."""
    if values.size != plane.rows * plane.columns:
        raise errors.InvalidParameter(f"{values.size:,} values do not fill {plane.rows:,} by {plane.columns:,} cells.")
    shape = plane.rows, plane.columns
    extent = plane.extent or (-0.5, plane.columns - 0.5, -0.5, plane.rows - 0.5)
    marks = None if marked is None or not np.any(marked) else np.reshape(marked, shape)
    beside = None
    if plane.down is not None:
        places = _spread(plane.rows, MAX_NAMES_BESIDE)
        beside = list(zip(map(float, places), _keys(plane.down, places), strict=True))
    below, slanted = _below(plane)
    return Picture(
        marks=(Cells(values.reshape(shape), extent, plane.downward, marks),),
        x=Axis(plane.across, names=below, slanted=slanted),
        y=Axis(plane.along, names=beside),
        title=title,
        caption=caption,
        alt=f"{title}: a heat map of {plane.rows:,} by {plane.columns:,} cells.",
        size=size,
        shades=shades,
        aspect=1.0 if plane.extent else 0.0,
        downward=plane.downward,
    )


def _below(plane: labels.Plane) -> tuple[list[tuple[float, str]] | None, bool]:
    """The keys below the cells in their order, one in several where there are many, and whether they slant."""
    if plane.over is None:
        return None, False
    longest = max(len(name) for name in _keys(plane.over, _spread(plane.columns, MAX_LETTERS_BELOW)))
    places = _spread(plane.columns, MAX_LETTERS_BELOW // (longest + 2))
    slanted = len(places) < plane.columns <= MAX_SLANTED_NAMES
    places = list(range(plane.columns)) if slanted else places
    return list(zip(map(float, places), _keys(plane.over, places), strict=True)), slanted


def quantiles(of: QuantileRelease, confidence: Number) -> Picture:
    """A row for each group, with a dot for each level and a line, its interval; what cannot be told is named."""
    shown, count = levels_drawn(of.levels), min(of.groups, MAX_GROUPS_DRAWN)
    values, low, high = (end[:count, shown] for end in (of.values, *of.interval(confidence)))
    offsets = (np.arange(len(shown)) - (len(shown) - 1) / 2) * 0.8 / len(shown)
    places = np.arange(float(count))[:, None] + offsets
    told = ~np.isnan(values)
    marks: list[Mark] = [Points(values[told], places[told], "main", 6.0)]
    if of.has_intervals:
        marks.insert(0, Ranges(places[told], low[told], high[told]))
    least = float((low[told] if told.any() else low).min())
    levels = [of.levels[place] for place in shown]
    few = [words for group in told for words in too_few_beside(group, levels)]
    ends = np.where(told, high if of.has_intervals else values, least)
    texts = [
        words or (f"{level:g}" if len(shown) > 1 else "") for words, level in zip(few, levels * count, strict=True)
    ]
    marks.append(Words(ends.ravel(), places.ravel(), texts, style="quiet"))
    title, names = of.bin_names(count * len(of.levels))
    groups = [name.rpartition(", ")[0] for name in names[:: len(of.levels)]]
    return Picture(
        marks=marks,
        x=Axis(of._words(of.column or "quantile")),
        y=Axis(
            title.rpartition(" and ")[0], -0.6, count - 0.4, names=[(float(at), name) for at, name in enumerate(groups)]
        ),
        title="Published quantiles",
        caption=f"{_in_words(of, shown, count, confidence)} {captions.noise_and_promise(of)}",
        alt=f"Quantiles of {count} groups.",
        size=(6.4, 1.8 + max(0.34, 0.17 * len(shown)) * max(3, count)),
        downward=True,
    )


def summary(of: SummaryRelease, confidence: Number) -> list[Picture]:
    """A picture for each statistic, the first bins where there are many; all have the same rows."""
    by, names = of.bin_names(MAX_BARS)
    caption = f"{of.errors_in_words()} {captions.intervals(of, confidence)}"
    made = []
    for name in of:
        low, high = (np.asarray(end, dtype=float)[: len(names)] for end in of[name].interval(confidence))
        values = np.asarray(of[name].values, dtype=float)[: len(names)]
        one = bars(Series(values, low, high, None, by, names), name, caption)
        made.append(replace(one, title=name, size=(3.2, one.size[1])))
    return made


def _in_words(release: QuantileRelease, shown: list[int], count: int, confidence: Number) -> str:
    levels = ", ".join(f"{release.levels[place]:g}" for place in shown)
    lines = f" {captions.intervals(release, confidence)}" if release.has_intervals else ""
    some = "" if count == release.groups else f" The first {count} of {release.groups:,} groups."
    fewer = "" if len(shown) == len(release.levels) else f" {len(shown)} of {len(release.levels):,} levels."
    return f"Quantiles at {levels}.{lines}{fewer}{some}"


def _keys(axis: Any, places: list[int]) -> list[str]:
    return [_short(labels.text(axis.key(place))) for place in places]


def _spread(count: int, most: int) -> list[int]:
    """Every place, or one in so many that at most this many are left."""
    return list(range(0, count, -(-count // max(1, most))))


def _short(name: str, most: int = 28) -> str:
    line = " ".join(name.split())
    return line if len(line) <= most else line[: most - 1] + "…"
