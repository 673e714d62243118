"""Queries of every kind: listed and unknown keys, both neighbour relations, every limit and way to shape rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from functools import cache
from typing import Any

import golden_table
import leastnoise as ln

DISTRICTS = golden_table.DISTRICTS
PARTS = {"part": ["inner", "inner", "outer", "outer", "outer", None], "name": [*DISTRICTS, "abroad"]}
DECADES = ln.domain.Edges((0, 10, 20, 30, 40, 50, 60, 70, 80, 90))
DAYS = ln.domain.Days(date(2024, 2, 26), date(2024, 3, 5))
HOURS = ln.domain.Hours(datetime(2024, 2, 28, 22), datetime(2024, 2, 29, 10))
CELLS = ln.lattice("lon", "lat", 0.005)
CITY = ln.domain.Tree.from_columns({"part": PARTS["part"][:5], "district": DISTRICTS}, "part", "district")
YES = ln.domain.Labelled(ln.domain.Keys((True, False)), ("members", "others"))
KEYS = {"district": DISTRICTS, "decade": range(9), "member": [False, True]}


def square(west: float, south: float, side: float) -> list[list[float]]:
    return [[west, south], [west + side, south], [west + side, south + side], [west, south + side], [west, south]]


ZONES = ln.domain.Zones.read(
    {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"name": name},
                "geometry": {"type": "Polygon", "coordinates": [square(*corner, 0.01)]},
            }
            for name, corner in {"south-west": (-0.01, -0.01), "south-east": (0, -0.01), "north": (-0.005, 0)}.items()
        ],
    },
    key="name",
)
JUNCTIONS = ln.graphs.Graph.from_edges(
    12,
    [(node, node + 1) for node in range(12) if node % 4 != 3] + [(node, node + 4) for node in range(8)],
    coordinates=[[-0.0075 + 0.005 * (node % 4), -0.005 + 0.005 * (node // 4)] for node in range(12)],
)


@cache
def trips(**options: Any) -> ln.Table:
    """The table, of people unless another unit is said."""
    return ln.table(golden_table.arrow(), **({"unit": "person", "name": "trips"} | options))


def by_decade(table: ln.Table) -> ln.Table:
    return table.derive(decade="age // 10")


def homes(table: ln.Table) -> ln.Table:
    """One row per person."""
    s = ln.stats
    return table.per_unit(
        trips=s.count(), spent=s.sum("fare", clip=(0, 50), grid=0.01), home=s.mode("district"), oldest=s.max("age"),
        first=s.min("day"), often=s.mode("member"),
    )  # fmt: skip


FARES: dict[str, Any] = {"clip": (0, 50)}
NO_LIMIT_LEFT: dict[str, Any] = {"max_rows": 6, "max_per_bin": 2, "max_bins": 3}
s = ln.stats

QUERIES: dict[str, Callable[[ln.Table], Any]] = {
    # Counts
    "count": lambda t: t.count(max_rows=3),
    "count of one row each": lambda t: t.count(max_rows=1),
    "count where": lambda t: t.where("fare > 10 AND NOT member").count(max_rows=4),
    "units": lambda t: t.count_units(),
    "units where": lambda t: t.where("district = 'north'").count_units(),
    # Histograms of listed keys
    "histogram": lambda t: t.histogram("district", keys=DISTRICTS, max_rows=3),
    "histogram once per bin": lambda t: t.histogram("district", keys=DISTRICTS, max_rows=3, max_per_bin=1),
    "histogram every limit": lambda t: t.histogram("district", keys=DISTRICTS, **NO_LIMIT_LEFT),
    "histogram of bins": lambda t: t.histogram("district", keys=DISTRICTS, max_per_bin=2, max_bins=2),
    "histogram with nulls": lambda t: t.histogram("district", keys=DISTRICTS, max_rows=3, nulls="bin"),
    "histogram with others": lambda t: t.histogram(
        "district", keys=ln.domain.with_other(DISTRICTS[:3]), max_rows=3, max_bins=2
    ),
    "histogram of numbers": lambda t: t.histogram("age", keys=range(0, 90, 5), max_rows=4),
    "histogram of edges": lambda t: t.histogram("fare", keys=ln.domain.Edges((0, 0.3, 5, 20, 60)), max_rows=4),
    "histogram of edges with others": lambda t: t.histogram(
        "fare", keys=ln.domain.with_other(ln.domain.Edges((0, 20, 60))), max_rows=4
    ),
    "histogram of days": lambda t: t.histogram("day", keys=DAYS, max_rows=4, max_per_bin=1),
    "histogram of hours": lambda t: t.histogram("moment", keys=HOURS, max_rows=4),
    "histogram of labels": lambda t: t.histogram("member", keys=YES, max_rows=2),
    "histogram of two columns": lambda t: t.histogram(
        "district", "member", keys=[DISTRICTS, [False, True]], max_rows=5, max_bins=3, max_per_bin=2
    ),
    "histogram of three columns": lambda t: by_decade(t).histogram(
        "district", "member", "decade", keys=KEYS, max_rows=3
    ),
    "histogram of cells": lambda t: t.derive(cell=CELLS).histogram(
        "cell", keys=CELLS.box(x=(-0.01, 0.01), y=(-0.01, 0.01)), max_rows=4
    ),
    "histogram of zones": lambda t: t.within(ZONES, lon="lon", lat="lat").histogram(
        "zone", keys=ZONES.keys, max_rows=4, nulls="bin"
    ),
    "histogram of nodes": lambda t: t.nearest(JUNCTIONS, lon="lon", lat="lat", within=400).histogram(
        "node", keys=range(12), max_rows=5, max_per_bin=1
    ),
    "histogram of kernels": lambda t: t.nearest(
        JUNCTIONS, lon="lon", lat="lat", within=900, kernel_width=300, spread=3
    ).histogram("node", keys=range(12), max_rows=2),
    "histogram of a huge domain": lambda t: t.derive(cents="age * 1000000007").histogram(
        "cents", keys=range(2**40), max_rows=3
    ),
    "histogram of a joined column": lambda t: t.join_public(PARTS, on={"district": "name"}).histogram(
        "part", keys=["inner", "outer"], max_rows=4, nulls="bin"
    ),
    "histogram of derived columns": lambda t: (
        t.derive(night="moment < '2024-02-29 06:00:00'", dear="fare / miles > 3")
        .where("age BETWEEN 18 AND 80")
        .histogram("night", "dear", keys=[[False, True], [False, True]], max_rows=4, nulls="bin")
    ),
    # Histograms of unknown keys
    "unknown keys": lambda t: t.histogram("district", max_rows=3),
    "unknown keys once per bin": lambda t: t.histogram("district", max_rows=3, max_per_bin=1),
    "unknown keys every limit": lambda t: t.histogram("district", "member", nulls="bin", **NO_LIMIT_LEFT),
    "unknown keys with others": lambda t: t.histogram("district", max_rows=2, max_per_bin=1, others=0.25),
    "unknown keys total": lambda t: t.histogram("district", max_rows=3).total(),  # type: ignore[attr-defined]
    # Sums and means
    "sum": lambda t: t.sum("fare", max_rows=3, **FARES),
    "sum of whole numbers": lambda t: t.sum("age", clip=(-10, 90), max_rows=3),
    "sum by": lambda t: t.sum("fare", by="district", keys=DISTRICTS, **FARES, **NO_LIMIT_LEFT),
    "sum by unknown keys": lambda t: t.sum("fare", by="district", max_rows=2, **FARES),
    "mean": lambda t: t.mean("fare", max_rows=3, **FARES),
    "mean by": lambda t: t.mean("age", clip=(0, 90), by=["district"], keys=DISTRICTS, max_rows=4, max_bins=2),
    "mean by unknown keys": lambda t: t.mean("fare", by="district", max_rows=2, **FARES),
    # Quantiles
    "quantile": lambda t: t.quantile("fare", 0.5, max_rows=2, **FARES),
    "quantiles": lambda t: t.quantile("age", [0.1, 0.5, 0.9], clip=(0, 100), bins=50, max_rows=3),
    "quantiles by": lambda t: t.quantile(
        "fare", [0.25, 0.75], by="member", keys=[False, True], expected_rows=400, max_rows=3, **FARES
    ),
    "quantiles without intervals": lambda t: t.quantile("fare", [0.25, 0.5], intervals=False, max_rows=2, **FARES),
    # Summaries
    "summary": lambda t: t.summarize(
        "district", keys=DISTRICTS, max_rows=3, trips=s.count(), fare=s.mean("fare", **FARES)
    ),
    "summary of every statistic": lambda t: t.summarize(
        "member", keys=[False, True], weights={"fare": 4, "spread": 0.5}, nulls="bin", rows=s.count(),
        total=s.sum("age", clip=(0, 90)), fare=s.mean("fare", **FARES), spread=s.std("miles", clip=(0, 20)),
        var=s.variance("age", clip=(0, 90)), dear=s.rate("fare > 30"), part=s.share(),
        income=s.share("fare", **FARES), per_mile=s.ratio("fare", "miles", over_clip=(0, 20), **FARES),
        **NO_LIMIT_LEFT,
    ),
    "summary without bins": lambda t: t.summarize(
        max_rows=2, young=s.rate("age < 30"), per_mile=s.ratio("fare", "miles", over_clip=(0, 20), **FARES)
    ),
    "summary of unknown keys": lambda t: t.summarize(
        "district", max_rows=2, max_per_bin=1, fare=s.mean("fare", **FARES), members=s.rate("member")
    ),
    # Sets of tables
    "crosstabs": lambda t: by_decade(t).crosstabs(ways=2, keys=KEYS, max_rows=1, other=False),
    "crosstabs by default": lambda t: by_decade(t).crosstabs(ways=2, keys=KEYS, max_rows=1),
    "crosstabs with others": lambda t: by_decade(t).crosstabs(ways=2, keys=KEYS, max_rows=2, other=True),
    "crosstabs of named tables": lambda t: by_decade(t).crosstabs(
        (), "district", ("district", "member"), "decade", keys=KEYS, max_rows=2, other=False
    ),
    "crosstabs of two ways alone": lambda t: by_decade(t).crosstabs(
        ways=(2,), keys=KEYS, weights="cells", max_rows=1, nulls="bin", other=False
    ),
    "crosstabs for the worst table": lambda t: by_decade(t).crosstabs(
        ways=2, keys=KEYS, weights="worst", max_rows=1, other=False
    ),
    "crosstabs for one table": lambda t: by_decade(t).crosstabs(
        "district", ("decade", "member"), keys=KEYS, weights={("decade", "member"): 10, "district": 1}, max_rows=1,
        other=False,
    ),
    "crosstabs cumulative": lambda t: by_decade(t).crosstabs(
        ("decade", "member"), keys=KEYS, cumulative=["decade"], max_rows=1, other=False
    ),
    "crosstabs of ranges": lambda t: by_decade(t).crosstabs(
        "decade", ("decade", "member"), keys=KEYS, ranges=["decade"], max_rows=2, other=False
    ),
    "crosstabs along a tree": lambda t: t.crosstabs(
        "part", "district", ("district", "member"), keys={"district": CITY, "member": [False, True]}, max_rows=2,
        other=False,
    ),
    "crosstabs of shared rows": lambda t: by_decade(t).crosstabs(
        ways=2, keys=KEYS, row_weight="shared", other=False
    ),
    "crosstabs of weights": lambda t: t.crosstabs(
        "district", ("district", "member"), keys={"district": DISTRICTS, "member": [False, True]}, weight="weight",
        weight_clip=(0, 4), max_rows=2, other=False,
    ),
    # Vectors
    "vector sum": lambda t: t.vector_sum(["x", "y"], clip_norm=1.5, max_rows=2),
    "vector mean": lambda t: t.vector_mean(["x", "y"], clip_norm=1.5, max_rows=3),
    "vector mean of arrays": lambda t: t.vector_mean("arrow", length=3, clip_norm=1, max_rows=2),
    # One row per person
    "people by trips": lambda t: homes(t).histogram("trips", keys=range(1, 20)),
    "people by home": lambda t: homes(t).histogram("home", "often", keys=[DISTRICTS, [False, True]], nulls="bin"),
    "spending of people": lambda t: homes(t).where("trips > 1").mean("spent", clip=(0, 200)),
    "people by unknown home": lambda t: homes(t).histogram("home"),
}  # fmt: skip

# Of other tables: one person replaced by another, and people named by two columns.
REPLACING = ("count", "histogram every limit", "histogram of kernels", "unknown keys", "sum", "mean by", "quantile",
             "summary", "crosstabs", "vector mean", "people by trips")  # fmt: skip
OTHER_TABLES: dict[str, tuple[dict[str, Any], str]] = {
    **{f"{name}, replace": ({"neighbours": "replace"}, name) for name in REPLACING},
    "histogram, two columns a unit": ({"unit": ("person", "home")}, "histogram every limit"),
    "histogram, public units": ({"public_units": 90}, "histogram"),
}
NAMES = [*QUERIES, *OTHER_TABLES]


def query(name: str) -> Any:
    """The query of this name, of the table it is about."""
    options, name = OTHER_TABLES.get(name, ({}, name))
    return QUERIES[name](trips(**options))
