"""Values and their intervals: bars or dots for names, a line along an ordered column, cells for two columns.

In tables of a set, published cells that may be zero are hatched: a shade would draw their noise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
from leastnoise.pictures.tables import Column, ShownTable, table
from leastnoise.releases import labels
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate, CrosstabTableEstimate
from leastnoise.releases.crosstab_table import CrosstabTable
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.published import Published
from leastnoise.releases.summary import SummaryRelease

MAX_SLICES = 6
MAX_LETTERS_BELOW, MAX_NAMES_BESIDE = 66, 24  # of the keys of an axis
MAX_SLANTED_NAMES, CUT_LETTERS = 20, 14
PANEL_INCHES, ALONE_INCHES = 3.5, 6.2  # how wide one heat map is beside others, and by itself


def release(of: Published, estimate: Estimate | None, confidence: Number) -> Picture:
    """Published values with their intervals, and, where one is given, the estimate beside them."""
    shown = table(of, confidence)
    caption = captions.noise_and_promise(of) + captions.too_few(np.asarray(shown.numbers[0].values, float))
    if shown.drawn[0].ends is not None and shown.layout != "heat" and lattice_cells(of) is None:
        caption = f"{caption} {captions.intervals(of, confidence, _marks(shown))}"
    better = None if estimate is None else table(estimate).denoised
    return _drawn(of, replace(shown, denoised=better), f"Published {of.noun}s", caption)


def estimate(of: Estimate) -> Picture:
    """Denoised values, with what was published faint behind them."""
    caption = (
        f"{of.bins:,} values denoised by {of.method}: error of a bin, estimated without the truth, "
        f"{of.rmse_in_words()}; before {of.std:.4g}.{captions.weak(of)}{captions.left_out(of)}"
    )
    return _drawn(of, table(of), "Denoised values", caption)


def _drawn(of: Published, shown: ShownTable, title: str, caption: str) -> Picture:
    """On the map of a lattice, in the cells of two columns, or in rows or a line. What has a place or a shade has room
    for one value, the denoised one of an estimate."""
    best = np.asarray(shown.denoised if isinstance(of, Estimate) else shown.numbers[0].values, dtype=float)
    what = of.kind if of.kind in ("count", "sum") else "value"
    if (cells := lattice_cells(of)) is not None:
        return maps.lattice(cells, {title: best}, shades_for([best], title=what), caption)
    if shown.layout == "heat" and len(shown.columns) == 2:
        return heat_map(best, shown.columns, shades_for([best], title=what), title, caption)
    return rows_or_line(shown, f"{title} by {shown.title}" if shown.columns else title, caption)


def _marks(shown: ShownTable) -> str:
    return "Bands" if shown.layout == "line" else "Lines"


def rows_or_line(shown: ShownTable, title: str, caption: str, better: str = "denoised") -> Picture:
    """The picture of a table of one column, or of the largest cells of one of many."""
    return line(shown, title, caption, better) if shown.layout == "line" else rows(shown, title, caption, better)


def rows(shown: ShownTable, title: str, caption: str, better: str = "denoised") -> Picture:
    """A row for each cell: a bar or dots with their intervals, and a mark where the better value is."""
    cells = replace(shown, sorted=shown.sorted or shown.layout == "heat").rows()
    places, several = np.arange(float(cells.size)), len(shown.drawn) > 1
    bars = shown.layout == "bars" or (shown.counts and shown.layout != "line")
    known, left = np.zeros(cells.size, dtype=bool), [0.0] if bars else []
    marks: list[Mark] = []
    for number, one in enumerate(shown.drawn):
        values = np.asarray(one.values, dtype=float)[cells]
        told = np.isfinite(values)
        known |= told
        at, values = places[told] + 0.8 * ((number + 0.5) / len(shown.drawn) - 0.5), values[told]
        low, high = (values, values) if one.ends is None else (end[cells][told] for end in one.ends)
        left += low.tolist()
        if bars:
            style = "none" if one.ends is None else "bar"
            marks.append(Bars(at, np.zeros(at.size), values, style, "" if shown.denoised is None else "published"))
        if one.ends is not None:
            marks.append(Ranges(at, low, high, "whisker"))
        if not bars:
            marks.append(Points(values, at, "main", 6.0))
        if several:
            marks.append(Words(high, at, [one.title.removesuffix(" quantile")] * at.size, style="quiet"))
    if not known.all():
        few = [shown.drawn[0].missing] * int((~known).sum())
        marks.append(Words(np.full(len(few), min(left, default=0.0)), places[~known], few, style="quiet"))
    if shown.denoised is not None:
        marks.append(Points(shown.denoised[cells], places, "second", 7.0, diamonds=True, name=better))
    return Picture(
        marks=marks,
        y=Axis("", -0.6, cells.size - 0.4, names=list(zip(places, map(short, shown.names(cells)), strict=True))),
        title=title,
        caption=f"{caption} {labels.largest_in_words(cells.size, shown.cells)}".strip(),
        alt=f"{title}: a {'bar' if bars else 'dot'} for each of {cells.size:,} bins.",
        size=(6.4, 1.8 + max(0.27, 0.17 * len(shown.drawn)) * max(3, cells.size)),
        downward=True,
    )


def line(shown: ShownTable, title: str, caption: str, better: str = "denoised") -> Picture:
    """A line of steps, with a band of intervals, and a line of better values."""
    first, edges = shown.drawn[0], np.arange(shown.cells + 1) - 0.5
    x, marks = np.repeat(edges, 2)[1:-1], list[Mark]()
    if first.ends is not None:
        low, high = (np.repeat(end, 2) for end in first.ends)
        marks.append(Band(x, low, high, name="interval"))
    style = "main" if shown.denoised is None else "quiet"
    marks.append(Line(x, np.repeat(first.values, 2), style, name="published", width=0.9))
    if shown.denoised is not None:
        marks.append(Line(x, np.repeat(shown.denoised, 2), "second", name=better, width=1.5))
    return Picture(
        marks=marks,
        x=replace(axis_of(shown.columns[0]), low=edges[0], high=edges[-1]),
        title=title,
        caption=caption,
        alt=f"{title}: a line through {shown.cells:,} bins.",
    )


def heat_map(
    values: Floats, columns: tuple[Column, ...], shades: Shades, title: str, caption: str, marked: Any = None,
    wide: float = ALONE_INCHES,
) -> Picture:  # fmt: skip
    """The cells of two columns, names beside and below: beside the cells those that are read."""
    shape = len(columns[0].keys), len(columns[1].keys)
    values = np.reshape(values, shape)
    marks = np.reshape(marked, shape) if np.any(marked) else None
    if columns[1].named and not columns[0].named:
        columns, values, marks = columns[::-1], values.T, None if marks is None else marks.T
    rows, across = values.shape
    return Picture(
        marks=(Cells(values, (-0.5, across - 0.5, -0.5, rows - 0.5), columns[0].named, marks),),
        x=axis_of(columns[1], slanting=True),
        y=Axis(columns[0].title, names=_named(columns[0], MAX_NAMES_BESIDE)),
        title=title,
        caption=caption,
        alt=f"{title}: a heat map of {rows:,} by {across:,} cells.",
        size=(wide, float(np.clip(0.24 * rows, 1.6, 4.2)) + 1.0),
        shades=shades,
        downward=columns[0].named,
    )


def axis_of(column: Column, *, slanting: bool = False) -> Axis:
    """Keys in their order below a picture, as many as have room, cut where they are long; a few may slant."""
    longest = max((len(short(labels.text(key))) for key in column.keys), default=1)
    found = _named(column, MAX_LETTERS_BELOW // (min(longest, CUT_LETTERS) + 2))
    if slanting and len(found) < len(column.keys) <= MAX_SLANTED_NAMES:
        return Axis(column.title, names=_named(column, MAX_SLANTED_NAMES), slanted=True)
    room = max(6, MAX_LETTERS_BELOW // max(1, len(found)))
    return Axis(column.title, names=[(place, short(name, room)) for place, name in found])


def _named(column: Column, most: int) -> list[tuple[float, str]]:
    """One key in 1, 2, 5, 10, 20 ..., of whole numbers the round ones, so that about as many are named."""
    steps = (digit * 10**power for power in range(20) for digit in (1, 2, 5))
    nth = next(step for step in steps if len(column.keys) <= step * max(1, most))
    whole = all(isinstance(key, int) for key in column.keys)
    places = [i for i, key in enumerate(column.keys) if (key if whole else i) % nth == 0]
    return [(float(place), short(labels.text(column.keys[place]))) for place in places]


def one_by_one(of: SummaryRelease, confidence: Number) -> list[Picture]:
    """A picture for each statistic; all have the same rows."""
    caption, shown = f"{of.errors_in_words()} {captions.intervals(of, confidence)}", table(of, confidence)
    made = [rows_or_line(replace(shown, numbers=(one,)), one.title, caption) for one in shown.numbers]
    return [replace(picture, size=(3.2, picture.size[1])) for picture in made]


def of_set(release: CrosstabTable, estimate: Any, truth: Any, confidence: Number) -> list[Picture]:
    """A table of a set as published, the estimate and the truth, whichever are given: one picture, a heat map for each,
    or, of three columns, the best values known, a heat map for each key of the column with the fewest."""
    shown, (low, _) = table(release, confidence), release.interval(confidence)
    given = {"published": release.values, "denoised": estimate, "truth": truth}
    layers = {name: _cells(release, of) for name, of in given.items() if of is not None}
    judged = isinstance(estimate, CrosstabTableEstimate)
    error = f" Denoised: {estimate.errors_in_words()}" if judged else ""
    caption, cut = captions.noise_and_promise(release), int(np.argmin(release.shape)) if release.shape else 0
    sliced = len(release.columns) == 3 and release.shape[cut] <= MAX_SLICES
    if shown.layout != "heat" or (len(release.columns) > 2 and not sliced):
        better = next((name for name in ("denoised", "truth") if name in layers), "")
        bars = replace(shown, denoised=layers.get(better))
        words = f"{caption} {captions.intervals(release, confidence, _marks(shown))}{error}"
        return [rows_or_line(bars, f"Published {release.noun}s by {shown.title}", words, better)]
    hatched = {name: (np.asarray(low) <= 0) & (name == "published") for name in layers}
    panels, columns = {name: (of, hatched[name]) for name, of in layers.items()}, shown.columns
    if sliced:
        skipped = "denoised" if judged and estimate.better_than_raw is False else ""
        best = next(name for name in ("denoised", "truth", "published") if name in layers and name != skipped)
        of, marked = (np.moveaxis(np.reshape(each, release.shape), cut, 0) for each in panels[best])
        keys = [labels.text(key) for key in columns[cut].keys]
        panels = {f"{best}, {columns[cut].title}: {key}": (of[i], marked[i]) for i, key in enumerate(keys)}
        columns = columns[:cut] + columns[cut + 1 :]
    calm = [of for name, (of, _) in panels.items() if not name.startswith("published")]
    shades = shades_for(calm or [of for of, _ in panels.values()], noise=release.std, title=release.kind)
    zero = " Hatched cells may be zero." if any(marked.any() for _, marked in panels.values()) else ""
    wide = PANEL_INCHES if len(panels) > 1 else ALONE_INCHES
    return [heat_map(of, columns, shades, name, caption + zero + error, marked, wide)
            for name, (of, marked) in panels.items()]  # fmt: skip


def _cells(release: CrosstabTable, of: Any) -> Floats:
    """One value for each cell, from an array or from what has values."""
    found = np.asarray(of.values if hasattr(of, "values") else of, dtype=float).ravel()
    if found.size != release.bins:
        raise errors.InvalidParameter(f"The table has {release.bins:,} cells and there are {found.size:,} values.")
    return found


def one_way(of: CrosstabsRelease | CrosstabsEstimate, confidence: Number) -> list[Picture]:
    """A picture for each table of one column, at most six; of a set without any, for its first table."""
    made = []
    for columns in ([columns for columns in of.tables if len(columns) == 1] or list(of.tables)[:1])[:MAX_SLICES]:
        one = of[columns]
        picture = (
            of_set(one, None, None, confidence)[0]
            if isinstance(one, CrosstabTable)
            else _drawn(one, table(one), "Denoised", of.errors_in_words())
        )
        made.append(replace(picture, title=" × ".join(map(of._words, columns)) or "The total", size=(4.2, 3.6)))
    return made


def short(name: str, most: int = 28) -> str:
    """On one line, cut where it is long."""
    line = " ".join(name.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
