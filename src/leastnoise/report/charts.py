"""The page's pictures, written with Altair. Data is named here and kept elsewhere in the page, once.

Fields are called value, low, high, estimate, label, whatever the columns are called, so that no key needs quoting.
Marks carry styles; the page gives every style one colour by day and another by night.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.releases import labels
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.lattice_cells import lattice_cells
from leastnoise.releases.release import Release
from leastnoise.report.contents import (
    MAX_BINS_SHOWN,
    MAX_DECIMALS,
    MAX_IMAGE_SIDE,
    MAX_LINE_STEPS,
    MAX_MAP_NODES,
    Contents,
)
from leastnoise.report.map_scale import kilometres, scale_bar, scale_layers
from leastnoise.report.picture import Picture, Rows, altair, specification

WRAPPED = "wrapped[datum.label] ? wrapped[datum.label] : datum.label"  # the page breaks long names into lines
MAX_SIDE_IN_NUMBERS = 12  # cells, each with its number in it
LETTER_WIDTH = 7.5  # pixels
ROW_OVER_WIDTH = 0.06  # of a table's cells, over the width of all


def main(contents: Contents) -> Picture | None:
    """The picture of the values: what it is depends on what the bins are."""
    draw = {"bars": _bars, "dots": _bars, "line": _line, "image": _image, "map": _map}.get(contents.shape)
    return None if draw is None or contents.size < 2 else draw(contents)


def _columns(contents: Contents, places: Any) -> Rows:
    """The numbers of some bins, and what they are called."""
    keys = [column.values for column in contents.keys]
    names = [", ".join(_name(column[int(i)]) for column in keys) for i in places]
    numbers = {
        c.name: np.asarray(c.values, dtype=float)[places].tolist() for c in contents.numbers if c.half_width is None
    }
    return _with_words({"label": names, **numbers}, contents)


def _with_words(columns: Rows, contents: Contents) -> Rows:
    """The values as text, where some means cannot be told: a tooltip would write them as 0."""
    if not contents.too_few:
        return columns
    form = f",.{contents.decimals}f" if contents.decimals < MAX_DECIMALS else ",.6g"
    return columns | {"in_words": [TOO_FEW if math.isnan(v) else format(v, form) for v in columns["value"]]}


def _name(key: Any) -> str:
    """The key in words, a number to as many digits as any double holds: 0.30000000000000004 is 0.3."""
    return f"{key:.15g}" if isinstance(key, (float, np.floating)) else labels.text(key)


def _distinct_names(keys: list[Any]) -> list[str]:
    """Keys in words, and not two in the same: Vega would draw the bin of nulls and the key "none" as one."""
    named: dict[Any, str] = {}
    taken: set[str] = set()
    for key in keys:
        if key not in named:
            names = itertools.chain([_name(key)], (f"{_name(key)} ({n})" for n in itertools.count(2)))
            named[key] = next(name for name in names if name not in taken)
            taken.add(named[key])
    return [named[key] for key in keys]


def _switched(chart: Any) -> Any:
    """The chart with `shown` as its one value, which the page's switch sets to "value" or "estimate"."""
    return chart.transform_calculate(shown="datum[column]")


TITLES = {"value": "published", "low": "95 % low", "high": "95 % high", "estimate": "denoised"}
NOT_LINES = ("title", "image", "__proto__")  # names that a tooltip does not show as a line


def _tooltip(alt: Any, contents: Contents) -> list[Any]:
    by = contents.keys[0].title if len(contents.keys) == 1 else "bin"
    by = f"{by} (bin)" if by in (*NOT_LINES, *TITLES.values()) else by
    have = [c.name for c in contents.numbers if c.name in TITLES]
    fields = [alt.Tooltip(f"{name}:Q", title=TITLES[name], format=_form(contents)) for name in have]
    if contents.too_few:
        fields[0] = alt.Tooltip("in_words:N", title=TITLES["value"])
    return [alt.Tooltip("label:N", title=by), *fields]


def _form(contents: Contents) -> str:
    return f",.{contents.decimals}~f" if contents.decimals < MAX_DECIMALS else ",.6~g"


def _first(contents: Contents) -> str:
    """Which is shown first: the denoised where there are many bins and they are known to be better; else what was
    published. Where bins are few, that has its bars."""
    if contents.estimate is None or contents.shape == "bars":
        return "value"
    return "estimate" if contents.estimate.better_than_raw else "value"


def _bars(contents: Contents) -> Picture:
    alt = altair()
    data = alt.NamedData("bins")
    column = alt.param(name="column", value=_first(contents))
    tips = _tooltip(alt, contents)
    by = contents.keys[0].title if len(contents.keys) == 1 else "bin"
    places = np.arange(contents.size)
    if contents.shape == "bars" and labels.named(contents.domain):
        places = labels.with_bars(contents.domain, np.asarray(contents.numbers[0].values, dtype=float))
    axis = alt.Axis(labelExpr="labels[datum.value]")  # two bins may be called the same
    y = alt.Y("place:O", title=by, scale=alt.Scale(domain=list(range(places.size))), axis=axis)
    base = _switched(alt.Chart(data)).encode(y=y)
    wide = alt.condition("column == 'value'", alt.value(1), alt.value(0))
    if contents.shape == "dots":
        mark = base.mark_point(style="published", filled=True, size=70)
    else:
        mark = base.mark_bar(style="bars")
    columns = _columns(contents, places)
    columns["place"] = list(range(places.size))
    names = alt.param(name="labels", value=columns["label"])
    scale = alt.Scale(domain=_reach(columns, zero=contents.shape != "dots"), nice=False)
    x = alt.X("shown:Q", title=contents.numbers[0].title.lower(), scale=scale, axis=alt.Axis(tickCount=8))
    layers = [mark.encode(x=x, tooltip=tips)]
    if contents.number("low") is not None:
        rule = base.transform_filter("isValid(datum.value)").mark_rule(style="interval", strokeWidth=1.5)
        layers.append(rule.encode(x=alt.X("low:Q"), x2="high:Q", opacity=wide, tooltip=tips))
    if contents.too_few:
        few = base.transform_filter("!isValid(datum.value)").mark_text(style="beside", align="left", dx=4)
        layers.append(few.encode(x=alt.datum(scale.domain[0]), text=alt.value(TOO_FEW), tooltip=tips))
    chart = alt.layer(*layers).add_params(column, names).properties(height=26 * places.size)
    some = labels.largest_in_words(places.size, contents.size)
    mark = "dot" if contents.shape == "dots" else "bar"
    each = f"A {mark} for each bin" if not some else f"A {mark} for each of the {places.size} largest bins"
    return Picture(specification(chart), columns, _alt(contents, each), note=some)


def _line(contents: Contents) -> Picture:
    alt = altair()
    columns, note = _steps(contents)
    places = None if note else _numbers(contents)
    columns["place"] = list(range(len(columns["label"]))) if places is None else places
    by = " and ".join(c.title for c in contents.keys)
    title, axis = (f"{by}, in order", alt.Axis(labels=False, ticks=False)) if places is None else (by, alt.Axis())
    x = alt.X("place:Q", title=title, axis=axis, scale=alt.Scale(zero=False, nice=False))
    base = _switched(alt.Chart(alt.NamedData("bins"))).encode(x=x)
    wide = alt.condition("column == 'value'", alt.value(0.3), alt.value(0))
    y = alt.Y("shown:Q", title="value", scale=alt.Scale(domain=_reach(columns, zero=True), nice=False))
    layers = []
    if "low" in columns:
        band = base.mark_area(style="band", interpolate="step", line=False)
        layers.append(band.encode(y=alt.Y("low:Q"), y2="high:Q", opacity=wide))
    layers.append(base.mark_line(style="published", interpolate="step").encode(y=y))
    near = alt.selection_point(nearest=True, on="pointerover", fields=["place"], empty=False, name="near")
    dot = base.mark_point(style="near", size=60).encode(
        y="shown:Q", opacity=alt.condition(near, alt.value(1), alt.value(0)), tooltip=_tooltip(alt, contents)
    )
    layers.append(dot.add_params(near))
    chart = alt.layer(*layers).add_params(alt.param(name="column", value=_first(contents)))
    through = "A line through means of neighbouring bins" if note else "A line through all bins"
    return Picture(specification(chart), columns, _alt(contents, through), note=note, ratio=0.45)


def _reach(columns: Rows, *, zero: bool) -> list[float]:
    """From the least to the most of all that can be shown, so that the switch never moves the axis."""
    ends = [np.asarray(columns[name], dtype=float) for name in ("value", "low", "high", "estimate") if name in columns]
    told = ~np.isnan(ends[0])  # what cannot be told has an interval that says nothing, and is not drawn
    ends = [end[told] for end in ends] if told.any() else ends
    every = np.concatenate([*ends, [0.0] if zero else []])
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    return [low, high + 0.02 * (high - low)] if low < high else [low - 1, high + 1]


def _numbers(contents: Contents) -> list[float] | None:
    """The keys as places along a line, where they are increasing numbers."""
    first = np.asarray(contents.keys[0].values)
    if len(contents.keys) > 2 or first.dtype.kind not in "iuf" or not (np.diff(first) > 0).all():
        return None
    exact: list[float] = first.astype(float).tolist()
    return exact


def _steps(contents: Contents) -> tuple[Rows, str]:
    """Every bin, or means of neighbouring bins with the interval of a mean where there are too many."""
    if contents.size <= MAX_BINS_SHOWN:
        return _columns(contents, np.arange(contents.size)), ""
    group = math.ceil(contents.size / MAX_LINE_STEPS)
    starts = np.arange(0, contents.size, group)
    lengths = np.diff(np.append(starts, contents.size))
    columns: Rows = _columns(contents, starts)
    columns["label"] = [f"{name} and {n - 1:,} after it" for name, n in zip(columns["label"], lengths, strict=True)]
    for column in contents.numbers:
        if column.name in ("value", "estimate"):
            values = np.asarray(column.values, dtype=float)
            total, known = (np.add.reduceat(part, starts) for part in (np.nan_to_num(values), ~np.isnan(values) + 0))
            columns[column.name] = np.where(known, total / np.maximum(known, 1), np.nan).tolist()
    columns.pop("low", None)
    columns.pop("high", None)
    note = f"The chart shows means of {group:,} neighbouring bins each"
    release = contents.of
    if isinstance(release, Release) and release.threshold is None:
        rounding = 0.0 if release.values.dtype == np.int64 else release.grid / 2
        halves = {int(n): release.distribution.sum_half_width(int(n), 0.95) / int(n) for n in set(lengths.tolist())}
        half = np.array([halves[int(n)] + rounding for n in lengths])
        mean = np.array(columns["value"])
        columns |= {"low": (mean - half).tolist(), "high": (mean + half).tolist()}
        note += ", with the interval of such a mean"
    return _with_words(columns, contents), f"{note}."


def _image(contents: Contents) -> Picture:
    alt = altair()
    plane = labels.plane(contents.domain)
    if plane is None:
        raise errors.BadDomain("Only a lattice or a domain of two columns has an image.")
    columns, rows, across, note = _cells(contents, plane)
    scale = _colours(alt, contents, columns)
    base = _switched(alt.Chart(alt.NamedData("bins")))
    over, up = (list(dict.fromkeys(columns[name])) for name in ("across", "along"))  # names keep the keys' own order
    x = alt.X("across:O", title=plane.across, sort=over, axis=_ticks(alt, over, across, **_turned(plane)))
    y = alt.Y(
        "along:O",
        title=plane.along,
        sort=up if plane.downward else up[::-1],
        axis=_ticks(alt, up, rows, labelExpr=WRAPPED),
    )
    colour = alt.Color("shown:Q", scale=scale, title=None, legend=_legend(alt))
    chart = base.mark_rect(cornerRadius=0).encode(x=x, y=y, color=colour, tooltip=_tooltip(alt, contents))
    if max(rows, across) <= MAX_SIDE_IN_NUMBERS and not contents.too_few:
        chart = alt.layer(chart, *_numbers_in_cells(alt, contents, base.encode(x=x, y=y), across))
    chart = chart.add_params(alt.param(name="column", value=_first(contents)), alt.param(name="wrapped", value={}))
    cells = lattice_cells(contents.of)
    taller = 1.0 if cells is None else cells.aspect
    ratio = min(1.1, max(0.3, taller * rows / across))
    ratio = ratio if cells is not None else min(ratio, 0.1 + ROW_OVER_WIDTH * rows)
    return Picture(specification(chart), columns, _alt(contents, "A heat map"), note=note, ratio=ratio)


def _numbers_in_cells(alt: Any, contents: Contents, base: Any, across: int) -> list[Any]:
    """Each cell's number, with a halo, since cells are light and dark; none where cells are too narrow for them."""
    widest = max(len(f"{value:,.{contents.decimals}f}") for value in contents.numbers[0].values)
    seen = alt.ExprRef(f"width < {LETTER_WIDTH * (widest + 1) * across:g} ? 0 : 1")
    text = alt.Text("shown:Q", format=_form(contents))
    return [base.mark_text(style=style, opacity=seen).encode(text=text) for style in ("scale_name_halo", "scale_name")]


def _legend(alt: Any) -> Any:
    return alt.Legend(format=",.3~r", gradientLength=alt.ExprRef("min(160, height)"))


def _ticks(alt: Any, keys: list[Any], count: int, **options: Any) -> Any:
    """An axis of cells with a label on every one of a few, on one in several of many."""
    every = 1 if count <= 24 else math.ceil(count / 8)
    return alt.Axis(values=keys[::every], ticks=False, domain=False, labelOverlap=True, labelSeparation=8, **options)


def _turned(plane: labels.Plane) -> dict[str, Any]:
    """Level, but long names in a row slant, or they would hide one another."""
    few = plane.over is not None and plane.columns <= 24
    letters = sum(len(_name(plane.over.key(i))) + 2 for i in range(plane.columns)) if few else 0
    return {"labelAngle": -40, "labelLimit": 180} if letters > 90 else {"labelAngle": 0}


def _cells(contents: Contents, plane: labels.Plane) -> tuple[Rows, int, int, str]:
    """The cells, or means of blocks of them: square on a lattice, else no longer along a side than that needs."""
    tall, wide = _block(contents, plane)
    rows, across = math.ceil(plane.rows / tall), math.ceil(plane.columns / wide)
    row, column = np.divmod(np.arange(rows * across), across)
    corner = row * tall * plane.columns + column * wide
    columns: Rows = _columns(contents, corner)
    ends: list[Any] = [corner % plane.columns, corner // plane.columns]
    if plane.extent is not None:
        step = (plane.extent[1] - plane.extent[0]) / plane.columns
        ends = [plane.extent[0] + ends[0] * step, plane.extent[2] + ends[1] * step]
        columns["across"], columns["along"] = ([float(f"{v:.15g}") for v in end] for end in ends)
    else:
        domain = contents.domain
        first, second = domain.axes if domain is not None else ((), ())
        columns["across"] = _distinct_names([second.key(int(i)) for i in ends[0]])  # type: ignore[union-attr]
        columns["along"] = _distinct_names([first.key(int(i)) for i in ends[1]])  # type: ignore[union-attr]
    if tall * wide == 1:
        return columns, rows, across, ""
    for name in ("value", "estimate"):
        if name in columns:
            picture = contents.number(name)
            columns[name] = _block_means(picture, plane, tall, wide)  # type: ignore[arg-type]
    columns.pop("low", None)
    columns.pop("high", None)
    return _with_words(columns, contents), rows, across, f"The image shows means of blocks of {tall} by {wide} cells."


def _block(contents: Contents, plane: labels.Plane) -> tuple[int, int]:
    """Rows and columns of one block."""
    if contents.size <= MAX_BINS_SHOWN:
        return 1, 1
    tall, wide = (math.ceil(side / MAX_IMAGE_SIDE) for side in (plane.rows, plane.columns))
    return (tall, wide) if plane.extent is None else (max(tall, wide),) * 2


def _block_means(values: Floats, plane: labels.Plane, tall: int, wide: int) -> list[float]:
    picture = values.reshape(plane.rows, plane.columns)
    down, over = np.arange(0, plane.rows, tall), np.arange(0, plane.columns, wide)
    total, count = (
        np.add.reduceat(np.add.reduceat(part, down, axis=0), over, axis=1)
        for part in (np.nan_to_num(picture), ~np.isnan(picture) + 0)
    )
    means: list[float] = np.where(count, total / np.maximum(count, 1), np.nan).ravel().tolist()
    return means


def _map(contents: Contents) -> Picture:
    alt = altair()
    graph = contents.graph
    if graph is None or graph.coordinates is None:
        raise errors.MissingParameter("A map needs a graph with coordinates.")
    places, degrees = kilometres(graph.coordinates)
    every = math.ceil(contents.size / MAX_MAP_NODES)
    shown = np.arange(0, contents.size, every)
    columns = _columns(contents, shown)
    columns["x"], columns["y"] = ([round(v, 4) for v in places[shown, axis].tolist()] for axis in (0, 1))
    scale = _colours(alt, contents, columns)
    streets = alt.Chart(alt.NamedData("streets")).mark_geoshape(style="street", filled=False)
    legend = alt.Legend(format=",.3~r", orient="bottom", columns=8)
    area = alt.Scale(type="sqrt", domain=scale.domain, range=_sizes(len(shown)), clamp=True)
    dots = _switched(alt.Chart(alt.NamedData("bins"))).mark_circle(opacity=1)
    dots = dots.encode(
        longitude="x:Q",
        latitude="y:Q",
        color=alt.Color("shown:Q", scale=scale, title=None, legend=legend),
        size=alt.Size("shown:Q", scale=area, title=None),
        order=alt.Order("shown:Q"),
        tooltip=_tooltip(alt, contents),
    )
    layers = [streets, dots]
    extra: dict[str, Any] = {"edges": graph.edges.ravel().tolist() if every == 1 else []}
    if degrees:
        extra["scale"] = scale_bar(places)
        layers += scale_layers(alt)
    chart = alt.layer(*layers).project("identity", reflectY=True)
    chart = chart.add_params(alt.param(name="column", value=_first(contents)))
    wide, high = np.ptp(places, axis=0) + 1e-9
    note = "" if every == 1 else f"The map shows one node of {every:,}, evenly spaced, without streets."
    ratio = float(np.clip(high / wide, 0.4, 1.6))
    return Picture(
        specification(chart),
        columns,
        _alt(contents, "A map with a dot for each bin" if every == 1 else f"A map with a dot for one bin of {every:,}"),
        note=note,
        ratio=ratio,
        extra=extra,
    )


def _sizes(count: int) -> list[float]:
    """Areas of the smallest and the largest dot, in square pixels."""
    most = float(np.clip(160_000 / count, 24, 400))
    return [most / 8, most]


def far_from_zero(values: ArrayLike) -> bool:
    """Whether the smallest value is nearer to the largest than to zero, and they differ."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    return known.size > 1 and float(known.max()) > float(known.min()) > 0.5 * float(known.max())


def _colours(alt: Any, contents: Contents, columns: Rows) -> Any:
    """From zero by square roots, where what lies below zero is noise; else both ways from zero. Where all lie far
    above zero, from the smallest: from zero they would all look alike."""
    best = np.asarray(columns.get("estimate", columns["value"]), dtype=float)
    if far_from_zero(best):
        return alt.Scale(type="linear", domain=[float(np.nanmin(best)), float(np.nanmax(best))], clamp=True)
    top, bottom = float(np.nanmax([*best, 0.0])), float(np.nanmin([*best, 0.0]))
    if top <= 0 or (not contents.counted and bottom < -0.3 * top):
        reach = max(abs(top), abs(bottom)) or 1.0
        return alt.Scale(type="linear", domain=[-reach, reach], domainMid=0, clamp=True)
    return alt.Scale(type="sqrt", domain=[0, top], clamp=True)


def _alt(contents: Contents, what: str) -> str:
    values = contents.number("value")
    if values is None or not values.size:
        return f"{what}."
    by = " and ".join(column.title for column in contents.keys)
    few = f", {contents.too_few:,} of them {TOO_FEW}" if contents.too_few else ""
    if contents.too_few == contents.size:
        return f"{what} by {by}: {contents.size:,} values, all of them {TOO_FEW}."
    low, high = (f"{round(float(end), contents.decimals):,.15g}" for end in (np.nanmin(values), np.nanmax(values)))
    return f"{what} by {by}: {contents.size:,} values from {low} to {high}{few}. The table below has the numbers."
