"""Tables made to break the promise: columns called like ours, rows that decide about other rows, rows that fail."""

from __future__ import annotations

import warnings
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

from leastnoise import errors
from leastnoise.curator.table import table
from leastnoise.domain import Edges
from leastnoise.testing import aggregate

OURS = ["CODE", "_unit", "_place", "_place_0", "_hash", "_bin", "rows", "_key", "_x0", "unit0", "by0"]
ASKED: dict[str, Any] = {
    "range": lambda t: t.histogram("z", keys=range(100), max_rows=3),
    "keys": lambda t: t.histogram("z", keys=list(range(100)), max_rows=3),
    "three limits": lambda t: t.histogram("z", keys=range(100), max_rows=3, max_per_bin=2, max_bins=2),
    "unknown keys": lambda t: t.histogram("z", max_rows=3),
    "count": lambda t: t.count(max_rows=3),
    "vectors": lambda t: t.vector_mean(["v", "z"], clip_norm=1.0, max_rows=3),
    "sums": lambda t: t.mean("v", clip=(0, 1), by="z", keys=range(100), max_rows=3),
}


@pytest.mark.parametrize("name", OURS)
def test_a_unit_called_like_a_column_of_ours_is_protected(name: str) -> None:
    """One person with a hundred rows, of which three may count, whatever the column is called."""
    rows = table(pa.table({name: ["a"] * 100, "z": range(100), "v": np.ones(100)}), unit=name)
    for word, ask in ASKED.items():
        query = ask(rows)
        values = aggregate(query).values
        if word == "vectors":
            values = values[-1:] // query.clip.radius
        if word == "sums":
            values = values[100:] // query.clip.half
        assert sum(values.tolist()) == (2 if word == "three limits" else 3), (name, word)


@pytest.mark.parametrize("name", OURS)
def test_a_key_or_value_called_like_a_column_of_ours_is_read(name: str) -> None:
    rows = table(pa.table({"who": range(50), name: np.arange(50) % 2}), unit="who")
    assert aggregate(rows.histogram(name, keys=[0, 1], max_rows=1)).values.tolist() == [25, 25]
    assert aggregate(rows.histogram(name, max_rows=1)).values.tolist() == [25, 25]
    assert aggregate(rows.sum(name, clip=(0, 1), by=name, keys=range(2), max_rows=1)).values.tolist() == [0, 25]


def test_names_that_engines_cannot_tell_apart_are_refused() -> None:
    rows = table(pa.table({"taxi": [1, 1], "z": [1, 2]}), unit="taxi")
    with pytest.raises(errors.InvalidParameter, match="upper and lower case"):
        rows.derive(TAXI=_.z)
    with pytest.raises(errors.InvalidParameter, match="twice"):
        table(pa.table({"taxi": [1, 1]}), unit=["taxi", "taxi"])


NAN = float("nan")
FLOATS: dict[str, Any] = {
    "sum": lambda t: t.sum("f", clip=(0, 10), max_rows=1),
    "mean": lambda t: t.mean("f", clip=(0, 10), max_rows=1),
    "quantile": lambda t: t.quantile("f", 0.5, clip=(0, 10), bins=5, max_rows=1),
    "edges": lambda t: t.histogram("f", keys=Edges((0.0, 2.0, 10.0)), max_rows=1),
    "above": lambda t: t.where("f > 10").count(max_rows=1),
    "below": lambda t: t.where("f < 10").count(max_rows=1),
    "not above": lambda t: t.where("not f > 10").count(max_rows=1),
    "derived": lambda t: t.derive(g=_.f * 2).sum("g", clip=(0, 30), max_rows=1),
    "vector": lambda t: t.vector_sum("f", clip_norm=9.0, max_rows=1),
    "null bin": lambda t: t.histogram("f", keys=[0.0, 1.0, 2.0, 3.0, 4.0], nulls="bin", max_rows=1),
}


@pytest.mark.parametrize("ask", FLOATS)
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_what_becomes_of_a_nan_does_not_depend_on_other_rows(ask: str, kind: pa.DataType, tmp_path: Path) -> None:
    """Parquet statistics leave NaN out, and DuckDB believes them; so the answer was another one in a file."""
    alone, others = [NAN], [1.0, 2.0, 3.0]
    answers = {}
    for name, values in {"alone": alone, "others": others, "all": others + alone}.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"who": range(len(values)), "f": pa.array(values, kind)}), path)
        query = FLOATS[ask](table(path, unit="who"))
        found = aggregate(query)
        answers[name] = found.values
        if found.indices is not None:  # only the steps that have rows: all of them are compared
            answers[name] = np.zeros(query.size, dtype=np.int64)
            answers[name][found.indices] = found.values
    assert (answers["all"] == answers["alone"] + answers["others"]).all()


EXTREMES = pa.table(
    {
        "who": [1, 2, 3],
        "x": pa.array([5, 12345, 2**63 - 1], pa.int64()),
        "unsigned": pa.array([0, 2**64 - 1, 5], pa.uint64()),
        "wide": pa.array([Decimal(10) ** 37, Decimal(1), Decimal(2)], pa.decimal128(38, 0)),
        "long": pa.array([Decimal("1.5"), Decimal("2.5"), Decimal(1)], pa.decimal128(38, 20)),
        "micro": pa.array([0, 2**63 - 1, -(2**63) + 1], pa.timestamp("us")),
        "second": pa.array([0, 2**62, -(2**62)], pa.timestamp("s")),
        "day": pa.array([0, 2**31 - 1, -(2**31) + 1], pa.date32()),
        "far": pa.array([0, 2932897, -719163], pa.date32()),  # a day after the year 9999, a day before the year 1
        "f": [1e308, 5e-324, NAN],
    }
)
TOTAL: dict[str, Any] = {
    "decimals compared": lambda t: t.where(_.wide < _.long).count(max_rows=1),
    "decimals chosen": lambda t: t.derive(z=ibis.ifelse(_.x == 5, _.wide, _.long)).where("z > 1").count(max_rows=1),
    "unsigned cast": lambda t: t.where(_.unsigned.cast("int64") >= 0).count(max_rows=1),
    "days unlisted": lambda t: t.histogram("day", max_rows=1),
    "far days unlisted": lambda t: t.histogram("far", max_rows=1),
    "days": lambda t: t.histogram("day", keys=[date(1970, 1, 1)], max_rows=1),
    "hour of a microsecond": lambda t: t.where(_.micro.hour() >= 0).count(max_rows=1),
    "hour of a second": lambda t: t.where(_.second.hour() >= 0).count(max_rows=1),
    "week of a second": lambda t: t.where(_.second.truncate("W").notnull()).count(max_rows=1),
    "product of whole numbers": lambda t: t.where(_.x * 999_999_999_999_999 > 0).count(max_rows=1),
    "overflowing product": lambda t: t.derive(z=_.f * _.f).quantile("z", 0.5, clip=(0, 1), max_rows=1),
}


@pytest.mark.parametrize("ask", TOTAL)
def test_no_value_makes_a_query_fail(ask: str) -> None:
    found = aggregate(TOTAL[ask](table(EXTREMES, unit="who")))
    assert 0 <= found.values.sum() <= 3
    if found.keys is not None:
        assert list(found.keys) == [date(1970, 1, 1)]  # Python can name no other day of these


@pytest.mark.parametrize(
    "expression",
    [
        ibis.ifelse(_.x == 12345, ibis.literal("boom").cast("int64"), 0),
        ibis.ifelse(_.x == 12345, ibis.literal("2013-02-30").cast("date"), ibis.date("2013-01-01")),
        ibis.date(_.x, 2, 30),
        ibis.timestamp(_.x, 2, 30, 1, 1, 1),
        _.who.cast("string").substr(0, _.x),
    ],
)
def test_an_expression_that_fails_on_some_rows_is_refused_before_any_is_read(expression: Any) -> None:
    """Whether a release fails would tell whether somebody's x is 12345."""
    rows = table(EXTREMES.append_column("name", pa.array(["a", "b", "c"])), unit="name")
    with pytest.raises((errors.BadExpression, errors.BadExpression)):
        rows.derive(z=expression)


def test_a_node_beyond_the_keys_is_no_bin() -> None:
    class Three:
        coordinates = [[0, 0], [1, 1], [2, 2]]  # noqa: RUF012

    rows = table(pa.table({"who": [1, 2], "lon": [2.0, 0.0], "lat": [2.0, 0.0]}), unit="who")
    near = rows.nearest(Three(), lon="lon", lat="lat", within=1e5, kernel_width=1e4)
    assert (aggregate(near.histogram("node", keys=range(2), max_rows=1)).values > 0).tolist() == [True, False]


def test_no_setting_of_the_caller_makes_a_kernel_fail_at_a_point() -> None:
    """Weights of far nodes underflow, at some points and not at others."""
    nodes = SimpleNamespace(coordinates=[[0.0, 0.0], [0.5, 0.5]])
    points = {"who": range(200), "lon": np.linspace(0.09, 0.17, 200), "lat": np.zeros(200)}
    near = {"lon": "lon", "lat": "lat", "within": 100_000, "kernel_width": 1841.0, "spread": 2}
    asked = table(pa.table(points), unit="who").nearest(nodes, **near).histogram("node", keys=range(2), max_rows=1)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        aggregate(asked)
        asked.release(epsilon=1, delta=1e-6)


def test_values_beyond_the_clip_count_as_its_ends() -> None:
    """One person's 1e300 moves the sum no further than the clip allows, whole numbers and real ones alike."""
    rows = table(
        pa.table({"who": [1, 2, 3], "f": [1e300, -1e300, float("inf")], "n": [10**15, -(10**15), 7]}), unit="who"
    )
    real, whole = (rows.sum(column, clip=(0, 10), max_rows=1) for column in ("f", "n"))
    assert aggregate(real).values[0] * real.grid == 20
    assert aggregate(whole).values[0] == 17
