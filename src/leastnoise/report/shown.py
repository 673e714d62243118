"""What a page shows: one table or many, each with its keys and numbers, from a release or an estimate of any kind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any, Literal, NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats, as_host
from leastnoise.domain import Domain, Zones
from leastnoise.graphs import Graph
from leastnoise.graphs.graph import check_graph
from leastnoise.pictures import maps
from leastnoise.pictures.cumulative import cumulative
from leastnoise.pictures.picture import Picture, Shades, shades_for
from leastnoise.pictures.places import lattice_cells
from leastnoise.releases import labels
from leastnoise.releases.columns import key_columns
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.provenance import Promised
from leastnoise.releases.published import Published
from leastnoise.releases.quantile import QuantileRelease, levels_drawn
from leastnoise.releases.summary import SummaryRelease

MAX_CELLS_SHOWN = 150_000  # on a page; some 11 bytes each, and as many for their denoised values
MAX_TABLES_SHOWN = 5_000  # in the list
MAX_LARGEST, MAX_EVENLY = 200, 5_000  # of a table with more cells
MAX_MAP_CELLS = 20_000  # of a lattice; of more, means of blocks are drawn
BESIDE = {"sum": "Sum", "count": "Rows", "over": "Over"}  # what a statistic was computed from
PARTS = ("rate", "share")  # statistics that are told in percent

Layout = Literal["one", "bars", "dots", "spread", "line", "heat", "map"]


class Column(NamedTuple):
    """A column of keys: those of an axis, or, in a flat table, the key of each cell."""

    name: str
    title: str
    keys: Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """A statistic of a table: a value for each cell, with the ends of its 95% interval."""

    title: str
    values: Any
    low: Any = None
    high: Any = None
    half: float | None = None  # of all intervals, where it is one
    percent: bool = False
    missing: str = ""
    drawn: bool = True

    @property
    def decimals(self) -> int:
        """To the second digit of the half-width of an interval; whole numbers have none."""
        values = np.asarray(self.values)
        if values.dtype.kind in "iu" and (self.half is None or float(self.half).is_integer()):
            return 0
        half = self.half
        if half is None and self.low is not None:
            halves = (np.asarray(self.high, float) - np.asarray(self.low, float)) / 2
            halves = halves[np.isfinite(halves) & (halves > 0)]
            half = float(np.median(halves)) if halves.size else None
        return decimals((100 if self.percent else 1) * half) if half else 0 if values.dtype.kind in "iu" else 2


def decimals(half: float) -> int:
    """The place of the second digit, none before the point."""
    return min(max(0, 1 - math.floor(math.log10(half))), 20) if half else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTable:
    """One table. `numbers` is empty where the page has no room for it; the file of the release has it."""

    columns: tuple[Column, ...]
    cells: int
    numbers: tuple[Numbers, ...] = ()
    flat: bool = False
    layout: Layout = "bars"
    sorted: bool = False  # names without an order: the largest first
    counts: bool = False  # never below zero in truth
    half: float | None = None
    std: float | None = None
    denoised: Floats | None = None
    estimate: Any = None  # what knows the error of the denoised values
    shades: Shades | None = None
    foot: Mapping[str, Any] | None = None  # one more row, below all others
    note: str = ""

    @property
    def better(self) -> bool | None:
        """Whether denoising helped beyond chance; None where nobody knows."""
        if self.estimate is None or self.estimate.kept:
            return None if self.estimate is None else False
        found: bool | None = self.estimate.better_than_raw
        return found

    @property
    def maybe_zero(self) -> int:
        """How many cells have an interval that reaches down to zero."""
        first = self.numbers[0]
        low = np.asarray(first.values, float) - first.half if first.half is not None else np.asarray(first.low, float)
        return int((low <= 0).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """All that the page shows."""

    of: Promised
    tables: tuple[ShownTable, ...] = ()
    estimate: Any = None
    why_no_estimate: str = ""
    map: Picture | None = None
    places: tuple[Any, Any] | None = None  # of the cells on the map, in its units
    tables_in_all: int = 1
    cells_in_all: int = 0
    curves: tuple[tuple[str, Picture], ...] = field(default=())


@singledispatch
def shown(of: Any, *, estimate: Any = None, why: str = "", graph: Graph | None, zones: Zones | None) -> Shown:
    """The contents for whatever `of` is; an `estimate` is shown beside a release, or `why` there is none."""
    raise errors.WrongType(f"A page is about a release or an estimate (got {type(of).__name__}).")


@shown.register
def _(of: Published, *, estimate: Any = None, why: str = "", graph: Graph | None, zones: Zones | None) -> Shown:
    estimate = of if isinstance(of, Estimate) else estimate
    table = replace(_table(of), estimate=None if estimate is of else estimate)  # its own page shows it in any case
    if estimate is not None:
        table = replace(table, denoised=as_host(estimate.values).ravel().astype(float))
    found = Shown(
        of=of,
        tables=(table,),
        estimate=estimate,
        why_no_estimate=why or of.why_not_denoised,
        cells_in_all=table.cells,
    )  # fmt: skip
    found = _on_map(found, graph, zones)
    table = found.tables[0]
    table = replace(table, shades=found.map.shades if found.map is not None else _shades(table))
    return replace(found, tables=(_thinned(table),))


def _table(of: Published) -> ShownTable:
    """One table of one statistic, and of what stands beside it; of quantiles, of each level."""
    if isinstance(of, QuantileRelease):
        return _quantiles(of)
    shown_columns = _columns(of)
    keys, flat = _keys(of, shown_columns)
    own = "value" if "value" in shown_columns else of.kind
    values: Any = shown_columns[own]
    low, high = (shown_columns.get(name) for name in ("low", "high"))
    known = {name for column in keys for name in (column.name, f"{column.name}_low", f"{column.name}_high")}
    beside = {name: column for name, column in shown_columns.items() if name in BESIDE and name not in known}
    first = Numbers(
        title="Published",
        values=values,
        low=_finite(low),
        high=_finite(high),
        percent=of.noun in PARTS,
        missing=TOO_FEW if of.kind not in ("count", "sum", "vector") else "",
    )
    size = len(values)
    more = (Numbers(title=BESIDE[name], values=column, drawn=False) for name, column in beside.items())
    return ShownTable(
        columns=keys,
        cells=size,
        numbers=(first, *more),
        flat=flat,
        layout=_layout(of, size, flat),
        sorted=flat or (labels.named(of.domain) and size <= MAX_CELLS_SHOWN),
        counts=of.kind == "count",
        half=_one_half(low, high),
        foot=_others(of),
    )


def _columns(of: Published) -> dict[str, Any]:
    """Keys and numbers by name. Of an estimate the published values alone: an interval takes the denoiser two more
    runs, and the page shows none."""
    if not isinstance(of, Estimate):
        every = of._shown_columns(0.95, for_people=True)
        return {name: column[: of.bins] for name, column in every.items()}  # without the row of all other keys
    keys = {} if of.domain is None else dict(key_columns(of.domain, of.bins, for_people=True))
    return {**keys, "value": as_host(of.noisy).ravel()}


def _keys(of: Published, columns: dict[str, Any]) -> tuple[tuple[Column, ...], bool]:
    """The keys of each axis; or those of each cell, where a lattice's places say more, or not every bin shows."""
    domain = of.domain
    cells = lattice_cells(of)
    if cells is not None:
        names = (cells.lattice.x, cells.lattice.y)
        return tuple(Column(name, of._words(name), columns[name]) for name in names if name in columns), True
    if not of.covers_domain:
        own = [name for name in columns if name not in ("value", "low", "high", of.kind, "enough")]
        return tuple(Column(name, of._words(name), list(columns[name])) for name in own), True
    if domain is None:
        return (Column("bin", "bin", range(of.bins)),), False
    return tuple(column_of(of, name, axis) for name, axis in zip(domain.names, domain.axes, strict=True)), False


def column_of(of: Promised, name: str, axis: Any) -> Column:
    """An axis by what readers call it."""
    return Column(name, of._words(name), [axis.key(position) for position in range(axis.size)])


def _layout(of: Published, size: int, flat: bool) -> Layout:
    domain = of.domain
    if size == 1:
        return "one"
    counts = of.kind in ("count", "sum", "estimate")
    if not flat and domain is not None and len(domain.axes) > 1 and min(axis.size for axis in domain.axes) > 1:
        return "heat"
    if flat or labels.named(domain):
        return "bars" if counts else "dots"
    return "line"


def _quantiles(of: QuantileRelease) -> ShownTable:
    """A row for each group, with a column for each level; every level is in the table, some are drawn."""
    values, low, high = (np.atleast_2d(end) for end in (of.values, *of.interval(0.95)))
    drawn = levels_drawn(of.levels) if of.domain is not None else range(len(of.levels))
    keys = {name: list(column) for name, column in of.key_columns(for_people=True).items() if name != "level"}
    columns = tuple(Column(name, of._words(name), column[:: len(of.levels)]) for name, column in keys.items())
    numbers = tuple(
        Numbers(
            title="median" if level == 0.5 else f"{100 * level:g}% quantile",
            values=values[:, place],
            low=_finite(low[:, place]) if of.has_intervals else None,
            high=_finite(high[:, place]) if of.has_intervals else None,
            missing=TOO_FEW,
            drawn=place in drawn,
        )
        for place, level in enumerate(of.levels)
    )
    layout: Layout = "one" if len(values) == 1 else "spread"
    return ShownTable(columns=columns, cells=len(values), numbers=numbers, flat=True, layout=layout)


@shown.register
def _(of: SummaryRelease, *, estimate: Any = None, why: str = "", graph: Graph | None, zones: Zones | None) -> Shown:
    """A row for each bin, with a column for each statistic."""
    numbers = []
    for figure in of.figures:
        one = of[figure.name]
        low, high = one.interval(0.95)
        part = figure.kind in PARTS
        numbers.append(
            Numbers(
                title=figure.name,
                values=one.values,
                low=_finite(low),
                high=_finite(high),
                percent=part,
                missing=TOO_FEW,
            )
        )
    columns = tuple(column_of(of, name, axis) for name, axis in zip(of.domain.names, of.domain.axes, strict=True))
    table = ShownTable(
        columns=columns,
        cells=of.bins,
        numbers=tuple(numbers),
        layout="one" if of.bins == 1 else "dots",
        sorted=labels.named(of.domain),
    )
    return Shown(of=of, tables=(_thinned(table),), why_no_estimate=of.why_not_denoised, cells_in_all=of.bins)


@shown.register
def _(of: CrosstabsRelease, *, estimate: Any = None, why: str = "", graph: Graph | None, zones: Zones | None) -> Shown:
    """Every table with its errors, those of fewer columns first, and the cells of as many as a page can hold."""
    if estimate is not None:
        _check(of, estimate)
    room, listed = MAX_CELLS_SHOWN, []
    for columns in sorted(of.tables, key=len)[:MAX_TABLES_SHOWN]:
        made = _table_of_set(of, columns)
        if made.cells <= room:
            made, room = _held(of, columns, estimate, made), room - made.cells
        listed.append(made)
    return Shown(
        of=of,
        tables=tuple(listed),
        estimate=estimate,
        why_no_estimate=why,
        tables_in_all=len(of.tables),
        cells_in_all=of.bins,
        curves=tuple((of._words(column), cumulative(of[column].cumulative())) for column in of.workload.asked),
    )


def _table_of_set(of: CrosstabsRelease, columns: tuple[str, ...]) -> ShownTable:
    return ShownTable(
        columns=tuple(Column(name, of._words(name), ()) for name in columns),
        cells=of.workload.cells_of(columns),
        std=of.std[columns],
        half=of.errors.cell_half_width(columns, confidence=0.95),
        counts=of.weight is None,
    )


def _held(of: CrosstabsRelease, columns: tuple[str, ...], estimate: Any, table: ShownTable) -> ShownTable:
    values = np.asarray(of[columns].values, dtype=float)
    domain = Domain(columns, tuple(of.axes[name] for name in columns))
    layout: Layout = "one" if len(values) == 1 else "heat" if len(columns) > 1 else "line"
    named = labels.named(domain) and layout != "heat"
    beside = None if estimate is None else estimate[columns]
    made = replace(
        table,
        columns=tuple(column_of(of, name, of.axes[name]) for name in columns),
        numbers=(Numbers(title="Published", values=values, half=table.half),),
        layout="bars" if named and layout == "line" else layout,
        sorted=named,
        denoised=None if beside is None else np.asarray(beside.values, dtype=float),
        estimate=beside,
    )
    return replace(made, shades=_shades(made))


def _check(of: CrosstabsRelease, estimate: Any) -> None:
    if not isinstance(estimate, CrosstabsEstimate):
        raise errors.WrongType(
            f"What is shown beside a set of tables is what release.denoise() returned (got {type(estimate).__name__}).",
            parameter="estimate",
        )
    if estimate.id != of.id:
        raise errors.InvalidParameter(
            f"The estimate was made from the release {estimate.id}, and this is {of.id}: show what its own "
            "release.denoise() returned.",
            parameter="estimate",
        )


def _shades(table: ShownTable) -> Shades | None:
    if table.layout not in ("heat", "map") or not table.numbers:
        return None
    best = table.denoised if table.denoised is not None and table.better is not False else table.numbers[0].values
    return shades_for([np.asarray(best, float)], signed=False if table.counts else None)


def _on_map(found: Shown, graph: Graph | None, zones: Zones | None) -> Shown:
    """The same with a map of its values, where a graph, zones or a lattice say where they are."""
    of, table = found.of, found.tables[0]
    assert isinstance(of, Published)
    if graph is not None and check_graph(graph).size != table.cells:
        raise errors.InvalidParameter(
            f"The graph has {graph.size:,} nodes and the release {table.cells:,} bins. Give one node per bin, in order."
        )
    layers = {"published": np.asarray(table.numbers[0].values, dtype=float)}
    if table.denoised is not None and table.better is not False:
        layers["denoised"] = table.denoised
    shades = shades_for([list(layers.values())[-1]], signed=False if table.counts else None)
    as_map = replace(table, layout="map", sorted=True)
    if zones is not None and graph is None:
        by_zone, bins = maps.layers_of_zones(of.domain, layers, zones)
        return replace(found, tables=(as_map,), map=maps.zones(zones, by_zone, shades, bins=bins))
    if table.cells < 2:
        return found
    if graph is not None and graph.coordinates is not None:
        ground = maps.Ground.of(graph.coordinates).places(graph.coordinates)
        return replace(found, tables=(as_map,), map=maps.points(graph, layers, shades), places=tuple(ground.T))
    cells = lattice_cells(of) if graph is None else None
    if cells is None or cells.width * cells.height > MAX_MAP_CELLS:
        return found
    return replace(found, tables=(as_map,), map=maps.lattice(cells, layers, shades), places=maps.centres(cells))


def _thinned(table: ShownTable) -> ShownTable:
    """Of a table with more cells than a page can hold: cells evenly spaced, and the largest, which are in part chosen
    by their noise."""
    if table.cells <= MAX_CELLS_SHOWN:
        return table
    best = np.asarray(table.numbers[0].values if table.denoised is None else table.denoised, dtype=np.float64)
    largest = np.argsort(-np.where(np.isfinite(best), best, -np.inf), kind="stable")[:MAX_LARGEST]
    evenly = np.arange(0, table.cells, math.ceil(table.cells / MAX_EVENLY))
    places = np.union1d(evenly, largest)

    def some(values: Any) -> Any:
        return None if values is None else np.asarray(values)[places]

    numbers = tuple(replace(n, values=some(n.values), low=some(n.low), high=some(n.high)) for n in table.numbers)
    sizes = [len(column.keys) for column in table.columns]
    at = [places] * len(sizes) if table.flat else np.unravel_index(places, sizes)
    columns = tuple(
        column._replace(keys=[column.keys[int(i)] for i in which])
        for column, which in zip(table.columns, at, strict=True)
    )
    return replace(
        table,
        columns=columns,
        numbers=numbers,
        flat=True,
        cells=len(places),
        denoised=some(table.denoised),
        layout="bars" if table.layout in ("line", "heat") else table.layout,
        sorted=True,
        note=f"Of {table.cells:,} numbers this page has {len(places):,}: the {MAX_LARGEST} largest, of which some are "
        "large by their noise, and others evenly spaced. The file of the release has all.",
    )


def _finite(ends: Any) -> Any:
    """Ends of intervals; where there is none, no number."""
    ends = None if ends is None else np.asarray(ends)
    return ends if ends is None or ends.dtype.kind != "f" else np.where(np.isinf(ends), np.nan, ends)


def _one_half(low: Any, high: Any) -> float | None:
    """Half the width of all intervals, where it is one."""
    if low is None or not len(low):
        return None
    wide = (np.asarray(high, float) - np.asarray(low, float)) / 2
    half = float(wide[0])
    return half if math.isfinite(half) and np.allclose(wide, half, rtol=1e-9, atol=0) else None


def _others(of: Published) -> Mapping[str, Any] | None:
    """The row below all others: what the keys that do not show have together, where that is known."""
    if getattr(of, "all_keys", None) is None:
        return None
    others = of.others()  # type: ignore[attr-defined]
    return {"value": others.value, "low": math.floor(others.low), "high": math.ceil(others.high)}
