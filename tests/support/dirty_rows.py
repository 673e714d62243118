"""Dirty rows, and one query of every kind: nulls, NaN, infinities, huge numbers, text beyond ASCII, old
dates."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leastnoise import stats
from leastnoise.curator.queries.query import Query
from leastnoise.curator.queries.suggestions import UnitCounts
from leastnoise.curator.table import Table, lattice
from leastnoise.domain import Days, Edges, Hours, Keys, Labelled, Tree, with_other
from leastnoise.releases.limit_errors import AskedNoise

NODES = SimpleNamespace(
    coordinates=np.stack([x.ravel() for x in np.meshgrid(np.linspace(-1, 1, 12), np.linspace(-1, 1, 12))], axis=1)
)
CELLS = lattice("lon", "lat", 0.25)
NOISE = AskedNoise(1.0, None)
ZONES = ["north", "süd", "東", "", "no'rth", "absent"]
TREE = Tree.from_columns({"half": ["first"] * 3 + ["rest"] * (len(ZONES) - 3), "zone": ZONES}, "half", "zone")


def write(folder: Path, *, rows: int, files: int, seed: int = 7) -> str:
    """`files` Parquet files of dirty rows; the glob that names them."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for number, count in enumerate(np.diff(np.linspace(0, rows, files + 1).astype(int))):
        pq.write_table(dirty(int(count), rows, random), folder / f"part{number}.parquet")
    return str(folder / "*.parquet")


def dirty(count: int, rows: int, random: np.random.Generator) -> pa.Table:
    unit = (random.zipf(1.3, count) % max(rows // 8, 2)) * 7919 - 3 * 2**33
    value = random.normal(20, 30, count)
    value[random.random(count) < 0.05] = np.nan
    value[random.random(count) < 0.01] = np.inf
    value[random.random(count) < 0.01] = -1e300
    whole = random.integers(-(2**63), 2**63 - 1, count)
    whole[random.random(count) < 0.9] %= 1000
    vectors = random.normal(0, 1, (count, 4)).astype(np.float32)
    vectors[random.random(count) < 0.02, 1] = np.nan
    vectors[random.random(count) < 0.02] *= np.float32(1e30)
    moments = random.integers(-(10**14), 2 * 10**15, count)
    return pa.table(
        {
            "unit": holes(pa.array(unit), random),
            "name": holes(pa.array([f"p{u}é" for u in unit % 5000]), random),
            "place": holes(pa.array(random.integers(-5, 120, count), pa.int32()), random),
            "zone": holes(pa.array(random.choice(ZONES[:5], count)), random),
            "flag": holes(pa.array(random.random(count) < 0.3), random),
            "value": holes(pa.array(value), random),
            "whole": holes(pa.array(whole), random),
            "price": pa.array(whole % 10**6).cast(pa.decimal128(38, 0)).cast(pa.decimal128(38, 18)),
            "when": holes(pa.array(moments, pa.timestamp("us")), random),
            "day": holes(pa.array(moments // 86_400_000_000, pa.int32()).cast(pa.date32()), random),
            "lon": holes(pa.array(random.uniform(-1.2, 1.2, count)), random),
            "lat": holes(pa.array(random.uniform(-1.2, 1.2, count)), random),
            **{f"v{place}": holes(pa.array(vectors[:, place]), random) for place in range(4)},
            "array": arrays(vectors),
        }
    )


def arrays(vectors: np.ndarray) -> pa.Array:
    """Rows as lists; the last but one is empty and the last of twice the length."""
    ends = np.arange(len(vectors) + 1) * 4
    ends[-2] -= 4
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(vectors.ravel()))


def holes(column: pa.Array, random: np.random.Generator) -> pa.Array:
    """The column with three nulls in a hundred."""
    return pa.compute.if_else(pa.array(random.random(len(column)) < 0.97), column, None)


OF_A_UNIT = {
    "home": stats.mode("zone"), "first": stats.min("zone"), "last": stats.max("name"), "flag": stats.mode("flag"),
    "spent": stats.sum("value", grid=0.01), "paid": stats.sum("price"), "whole": stats.sum("whole", clip=(-9, 9)),
    "least": stats.min("place"), "different": stats.distinct("value"),
}  # fmt: skip


def square(west: float, south: float, side: float) -> list[list[float]]:
    return [[west, south], [west + side, south], [west + side, south + side], [west, south + side], [west, south]]


def feature(name: str, *polygons: list[list[list[float]]]) -> dict[str, Any]:
    return {
        "type": "Feature",
        "properties": {"name": name},
        "geometry": {"type": "MultiPolygon", "coordinates": list(polygons)},
    }


QUARTERS = {
    "type": "FeatureCollection",
    "features": [
        feature("nw", [square(-1, 0, 1)]),
        feature("ne", [square(0, 0, 1), square(0.25, 0.25, 0.5)], [square(0.4, 0.4, 0.1)]),
        feature("sw", [[[-1, -1], [0.1, -1], [0, 0], [-1, 0]]]),
        feature("島", [square(0.25, 0.25, 0.5)]),
    ],
}
BY_ZONE = {
    "key": [*ZONES, None, None],
    "group": ["a", "b", None, "", "é", "a", "b", "b"],
    "size": [1, None, 2**62, -3, 1, 1, 5, 5],
    "unused": [None] * 8,
}
BY_PLACE = {
    "place": [place for place in range(0, 90, 2) for _ in range(2)],
    "flag": [True, False] * 45,
    "label": ["a", "b", None] * 30,
    "since": [date(2000 + i % 20, 1, 1) for i in range(90)],
    "weight": [i / 7 if i % 5 else None for i in range(90)],
    "open": [None if i % 11 == 0 else i % 3 == 0 for i in range(90)],
}
VECTOR = ["v0", "v1", "v2", "v3"]
QUERIES: dict[str, Callable[[Table], Query]] = {
    "count": lambda t: t.count(max_rows=3),
    "count of units": lambda t: t.count_units(),
    "rows": lambda t: t.histogram("place", keys=range(100), max_rows=5),
    "rows, once a bin": lambda t: t.histogram("place", keys=range(100), max_rows=5, max_per_bin=1),
    "rows, every limit": lambda t: t.histogram("place", keys=range(100), max_rows=7, max_per_bin=3, max_bins=4),
    "range with a step": lambda t: t.histogram("whole", keys=range(1, 900, 7), max_rows=4),
    "text keys": lambda t: t.histogram("zone", keys=ZONES, max_rows=4, nulls="bin"),
    "others": lambda t: t.histogram(
        "zone", "place", keys=[with_other(ZONES[:3]), with_other(range(10, 30, 5))], max_rows=4, max_per_bin=2
    ),
    "others of numbers": lambda t: t.derive(amount="value").histogram(
        "amount", keys=with_other(Edges((0.0, 10.0, 30.0))), max_rows=4
    ),
    "others of labelled keys": lambda t: t.histogram(
        "flag", keys=with_other(Labelled(Keys((True,)), ("yes",))), max_rows=4
    ),
    "product": lambda t: t.histogram("zone", "flag", keys=[ZONES, [False, True]], max_rows=4, max_bins=2),
    "unknown keys": lambda t: t.histogram("zone", "flag", max_rows=4, max_per_bin=2, max_bins=3),
    "unknown numbers": lambda t: t.histogram("whole", max_rows=2, nulls="bin"),
    "unknown days": lambda t: t.histogram("day", max_rows=2, max_per_bin=1, nulls="bin"),
    "edges": lambda t: t.derive(amount="value").histogram(
        "amount", keys=Edges((-10.0, 0.1, 0.2, 7.7, 50.0, 1e9)), max_rows=4
    ),
    "days": lambda t: t.histogram("day", keys=Days(date(1969, 1, 1), date(2011, 1, 1)), max_rows=4),
    "hours": lambda t: t.histogram("when", keys=Hours(datetime(1969, 12, 1), datetime(1992, 1, 1)), max_rows=4),
    "lattice": lambda t: t.derive(cell=CELLS).histogram("cell", keys=CELLS.box(x=(-1, 1), y=(-1, 0.9)), max_rows=4),
    "sparse": lambda t: t.histogram("whole", keys=range(-(2**60), 2**60), max_rows=3),
    "sum": lambda t: t.sum("value", clip=(-5, 40), max_rows=4),
    "sum of integers by bin": lambda t: t.sum(
        "whole", clip=(-50, 500), by="place", keys=range(100), max_rows=4, max_per_bin=2
    ),
    "sum of decimals": lambda t: t.sum("price", clip=(0, 999.99), max_rows=3),
    "mean": lambda t: t.mean("value", clip=(0, 60), max_rows=4),
    "mean by bin": lambda t: t.mean("value", clip=(0, 60), by="zone", keys=ZONES, max_rows=4, max_bins=2),
    "quantile": lambda t: t.quantile("value", [0.25, 0.5], clip=(-20, 80), bins=300, max_rows=3),
    "quantile by bin": lambda t: t.quantile(
        "value", [0.25, 0.5], clip=(-20, 80), bins=40, by="zone", keys=ZONES, max_rows=5, max_per_bin=2
    ),
    "vector sum": lambda t: t.vector_sum(VECTOR, clip_norm=1.5, max_rows=2),
    "vector mean": lambda t: t.vector_mean(VECTOR, clip_norm=1.5, max_rows=2**30),
    "array mean": lambda t: t.vector_mean("array", length=4, clip_norm=1.5, max_rows=3),
    "nearest": lambda t: t.nearest(NODES, lon="lon", lat="lat", within=30_000).histogram(
        "node", keys=range(144), max_rows=4
    ),
    "kernel": lambda t: t.nearest(NODES, lon="lon", lat="lat", within=30_000, kernel_width=8_000).histogram(
        "node", keys=range(144), max_rows=2
    ),
    "summary": lambda t: t.summarize(
        "zone",
        keys=ZONES,
        max_rows=7,
        max_per_bin=3,
        max_bins=4,
        rows=stats.count(),
        mean=stats.mean("value", clip=(-5, 40)),
        spread=stats.variance("whole", clip=(-50, 500)),
        price=stats.sum("price", clip=(0, 999.99)),
        high=stats.rate("value > 20 or flag"),
        per=stats.ratio("value", "whole", clip=(-5, 40), over_clip=(0, 500)),
    ),
    "summary of unknown keys": lambda t: t.summarize(
        "zone",
        "flag",
        max_rows=6,
        max_per_bin=2,
        max_bins=3,
        nulls="bin",
        rows=stats.count(),
        mean=stats.mean("value", clip=(-5, 40)),
        total=stats.sum("whole", clip=(-50, 500)),
        per=stats.ratio("value", "whole", clip=(-5, 40), over_clip=(0, 500)),
    ),
    "total of unknown keys": lambda t: t.histogram("zone", "flag", max_rows=4, max_bins=3).total(),  # type: ignore[attr-defined]
    "summary of one ratio": lambda t: t.summarize(
        max_rows=5, per=stats.ratio("price", "value", clip=(0, 999.99), over_clip=(0, 40))
    ),
    "summary of one column": lambda t: t.summarize(max_rows=5, spread=stats.std("value", clip=(-5, 40))),
    "crosstabs": lambda t: t.crosstabs(
        "place",
        ("zone", "flag"),
        ("flag", "day"),
        keys={
            "place": range(100),
            "zone": ZONES,
            "flag": [False, True],
            "day": Days(date(1969, 1, 1), date(2011, 1, 1)),
        },
        max_rows=3,
        other=True,
    ),
    "crosstabs of many keys": lambda t: t.crosstabs(
        ("place", "flag"),
        "whole",
        "day",
        keys={
            "place": range(100),
            "flag": [False, True],
            "whole": range(100_000),
            "day": Days(date(1969, 1, 1), date(2011, 1, 1)),
        },
        max_rows=2,
        other=True,
    ),
    "crosstabs along a tree": lambda t: t.crosstabs(
        "half", ("zone", "flag"), keys={"zone": TREE, "flag": [False, True]}, max_rows=4
    ),
    "crosstabs of shared weights": lambda t: t.crosstabs(
        ways=2, keys={"place": range(100), "zone": ZONES, "flag": [False, True]}, row_weight="shared"
    ),
    "crosstabs of weights": lambda t: t.crosstabs(
        ("place", "zone"), keys={"place": range(100), "zone": ZONES}, max_rows=2, weight="value", weight_clip=(0, 40)
    ),
    "units by number of rows": lambda t: t.per_unit(rows=stats.count()).histogram("rows", keys=range(1, 400)),
    "units by every statistic": lambda t: t.per_unit(**OF_A_UNIT).histogram(
        "home", "flag", "least", keys=[ZONES, [True, False], range(-5, 120)], nulls="bin"
    ),
    "texts of units": lambda t: t.per_unit(**OF_A_UNIT).histogram("first", "last", nulls="bin"),
    "spending of units": lambda t: t.per_unit(**OF_A_UNIT).mean(
        "spent", clip=(-50, 900.5), by="different", keys=range(20)
    ),
    "prices of units": lambda t: t.per_unit(**OF_A_UNIT).quantile("paid", 0.5, clip=(0, 3e6), bins=1000),
    "sums of units": lambda t: t.per_unit(**OF_A_UNIT).vector_sum(["spent", "paid", "whole"], clip_norm=1e5),
    "days of units": lambda t: (
        t.where("place > 3")
        .per_unit(day=stats.max("day"), seen=stats.min("when"), low=stats.min("value"))
        .where("low < 5 and seen > '1980-01-01 00:00:00'")
        .histogram("day", keys=Days(date(1969, 1, 1), date(2034, 1, 1)))
    ),
    "zones of a map": lambda t: t.within(QUARTERS, lon="lon", lat="lat", name="quarter", key="name").histogram(
        "quarter", keys=["nw", "ne", "sw", "島"], max_rows=4, nulls="bin"
    ),
    "a public table by text": lambda t: t.join_public(BY_ZONE, on={"zone": "key"}, columns=["group", "size"]).histogram(
        "group", "size", max_rows=4, nulls="bin"
    ),
    "a public table by numbers": lambda t: (
        t.join_public(BY_PLACE, on=["place", "flag"])
        .where("since > '2001-01-01' and weight < 7")
        .histogram("label", "open", keys=[["a", "b"], [True, False]], max_rows=4)
    ),
    "a public table by days": lambda t: (
        t.join_public(
            {"day": [date(1970, 1, d) for d in range(1, 30)], "weekend": [d % 7 > 4 for d in range(1, 30)]}, on="day"
        )
        .per_unit(n=stats.count(), weekend=stats.mode("weekend"))
        .histogram("weekend", "n", nulls="bin")
    ),
    "unit counts": lambda t: UnitCounts.of(t._data, ("place",), range(100), "drop", NOISE),
    "unit counts of all rows": lambda t: UnitCounts.of(t._data, (), None, "drop", NOISE),
    "derived": lambda t: (
        t.derive(
            hour=ibis._.when.hour(),
            big=ibis._.whole * ibis._.whole,
            part=ibis._.whole % ibis._.place,
            low=ibis._.value.floor(),
        )
        .where("hour < 20 and not (zone = 'süd' or value > 1e6)")
        .where((ibis._.big > 100) | (ibis._.part < 3) | ((ibis._.low / ibis._.place) > 0.5))
        .histogram("hour", keys=range(24), max_rows=4)
    ),
}
