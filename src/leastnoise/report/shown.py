"""What a page shows: one table or many, each with its keys and numbers, from a release or an estimate of any kind."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise.domain import Zones
from leastnoise.graphs import Graph
from leastnoise.graphs.graph import check_graph
from leastnoise.pictures import maps, tables
from leastnoise.pictures.cumulative import cumulative
from leastnoise.pictures.picture import Picture, Shades, shades_for
from leastnoise.pictures.places import lattice_cells
from leastnoise.pictures.tables import Column, ShownTable
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.provenance import Promised
from leastnoise.releases.published import Published
from leastnoise.releases.summary import SummaryRelease

MAX_CELLS_SHOWN = 150_000  # on a page; some 11 bytes each, and as many for their denoised values
MAX_TABLES_SHOWN = 5_000  # in the list
MAX_LARGEST, MAX_EVENLY = 200, 5_000  # of a table with more cells
MAX_MAP_CELLS = 20_000  # of a lattice; of larger ones no map is drawn


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
    curves: tuple[tuple[str, Picture], ...] = ()


def shown(
    of: Any, *, estimate: Any = None, why: str = "", graph: Graph | None = None, zones: Zones | None = None
) -> Shown:
    """The contents for whatever `of` is; an `estimate` is shown beside a release, or `why` there is none."""
    if isinstance(of, CrosstabsRelease):
        return _of_set(of, estimate, why)
    if not isinstance(of, Published | SummaryRelease):
        raise errors.WrongType(f"A page is about a release or an estimate (got {type(of).__name__}).")
    table = tables.table(of)
    if isinstance(of, Estimate):
        estimate = of
    elif estimate is not None:
        table = replace(table, denoised=tables.table(estimate).denoised, estimate=estimate)
    why = why or of.why_not_denoised
    found = Shown(of=of, tables=(table,), estimate=estimate, why_no_estimate=why, cells_in_all=table.cells)
    found = _on_map(found, graph, zones) if isinstance(of, Published) else found
    table = found.tables[0]
    table = replace(table, shades=found.map.shades if found.map is not None else _shades(table))
    return replace(found, tables=(_thinned(table),))


def _of_set(of: CrosstabsRelease, estimate: Any, why: str) -> Shown:
    """Every table with its errors, those of fewer columns first, and the cells of as many as a page can hold."""
    if estimate is not None:
        _check(of, estimate)
    room, listed = MAX_CELLS_SHOWN, []
    for columns in sorted(of.tables, key=len)[:MAX_TABLES_SHOWN]:
        made = ShownTable(
            columns=tuple(Column(name, of._words(name), ()) for name in columns),
            cells=of.workload.cells_of(columns),
        )
        if made.cells <= room:
            beside = None if estimate is None else estimate[columns]
            denoised = None if beside is None else np.asarray(beside.values, dtype=float)
            made = replace(tables.table(of[columns]), denoised=denoised, estimate=beside)
            made, room = replace(made, shades=_shades(made)), room - made.cells
        half = of.errors.cell_half_width(columns, confidence=0.95)
        if made.half is not None:  # every cell has it
            made = replace(made, numbers=(replace(made.numbers[0], low=None, high=None, half=half),))
        listed.append(replace(made, std=of.std[columns], half=half, counts=of.weight is None))
    return Shown(
        of=of,
        tables=tuple(listed),
        estimate=estimate,
        why_no_estimate=why,
        tables_in_all=len(of.tables),
        cells_in_all=of.bins,
        curves=tuple((of._words(column), cumulative(of[column].cumulative())) for column in of.workload.asked),
    )


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
