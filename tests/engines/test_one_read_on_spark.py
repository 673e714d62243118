"""On Spark a release is one query: what is written between two queries changes nothing. And every type of Spark's."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.engines.engine import unique
from leastnoise.curator.engines.spark import Spark
from leastnoise.testing import aggregate

pytestmark = pytest.mark.spark

LIMIT = {"max_rows": 1}
READS: dict[str, Any] = {
    "vector sum": lambda t: t.vector_sum(["x", "y"], clip_norm=1.0, **LIMIT),
    "vector mean": lambda t: t.vector_mean(["x", "y"], clip_norm=1.0, **LIMIT),
    "count": lambda t: t.count(**LIMIT),
    "sum": lambda t: t.sum("x", clip=(0, 1), **LIMIT),
    "unknown keys": lambda t: t.histogram("z", **LIMIT),
}


@pytest.mark.parametrize("kind", READS)
@pytest.mark.parametrize("write", ["INSERT INTO", "INSERT OVERWRITE"])
def test_rows_written_between_queries_are_not_seen(
    kind: str, write: str, few_rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One person has one row when the first query ends, and a thousand when a second would begin."""
    session, name = few_rows, unique("rides")
    session.sql(f"CREATE TABLE {name} USING parquet AS SELECT 1 AS who, 0.5D AS x, 0.5D AS y, 3 AS z")
    queries: list[Any] = []

    def counted(method: str) -> None:
        original = getattr(Spark, method)

        def run(self: Spark, *given: Any) -> Any:
            found = original(self, *given)
            if not queries:
                session.sql(f"{write} {name} SELECT 1, 0.5D, 0.5D, 3 FROM range(1000)")
            queries.append(method)
            return found

        monkeypatch.setattr(Spark, method, run)

    counted("fetch")
    counted("summed")
    try:
        query = READS[kind](ln.table(session.table(name), unit="who"))
        moved = [abs(int(value)) * query.grid for value in aggregate(query).values]
    finally:
        session.sql(f"DROP TABLE {name}")
    assert sum(value**2 for value in moved) ** 0.5 <= query.sensitivity.l2
    assert len(queries) == 1


TYPES = {
    "flag": "boolean", "byte": "tinyint", "short": "smallint", "int_": "int", "long": "bigint", "single": "float",
    "double_": "double", "fraction": "decimal(38, 38)", "wide": "decimal(38, 0)", "day": "date", "at": "timestamp",
    "clock": "timestamp_ntz", "text": "string", "bytes": "binary", "array_": "array<double>", "flags": "array<boolean>",
    "pair": "struct<a: int>", "map_": "map<string, int>", "span": "interval day to second", "nothing": "void",
}  # fmt: skip
EXTREMES = {
    "flag": ["true", "false"], "byte": ["-128", "127"], "short": ["-32768", "32767"],
    "int_": ["-2147483648", "2147483647"], "long": ["-9223372036854775808", "9223372036854775807"],
    "single": ["'NaN'", "'-Infinity'"], "double_": ["'Infinity'", "1.7e308"],
    "fraction": [f"'{Decimal(10) ** -38 * (10**28 - 1)}'", "'-0.1'"], "wide": ["'9" + "9" * 37 + "'", "0"],
    "day": ["'0001-01-01'", "'9999-12-31'"], "at": ["'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"],
    "clock": ["'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"], "text": ["''", "'a'"],
    "bytes": ["X'00FF'", "X''"], "array_": ["array(1.0D, double('NaN'))", "array(1.0D)"],
    "flags": ["array(true, false)", "null"], "pair": ["named_struct('a', 1)", "null"], "map_": ["map('a', 1)", "null"],
    "span": ["INTERVAL '1' DAY", "null"], "nothing": ["null", "null"],
}  # fmt: skip
ASKED: dict[str, Any] = {
    "sum": lambda t, x: t.sum(x, clip=(0, 1), **LIMIT),
    "mean": lambda t, x: t.mean(x, clip=(-0.5, 1.5), **LIMIT),
    "quantile": lambda t, x: t.quantile(x, 0.5, clip=(0, 1), bins=2, **LIMIT),
    "range": lambda t, x: t.histogram(x, keys=range(3), nulls="bin", **LIMIT),
    "texts": lambda t, x: t.histogram(x, keys=["a"], **LIMIT),
    "days": lambda t, x: t.histogram(x, keys=ln.domain.Days("1970-01-01", "1970-01-03"), **LIMIT),
    "unknown keys": lambda t, x: t.histogram(x, **LIMIT),
    "vector": lambda t, x: t.vector_sum([x, "z"], clip_norm=1.0, **LIMIT),
    "array": lambda t, x: t.vector_sum(x, length=2, clip_norm=1.0, **LIMIT),
}


@pytest.mark.parametrize("column", TYPES)
def test_a_column_of_any_type_is_refused_or_counted(column: str, few_rows: Any) -> None:
    rows = [
        f"SELECT {who} AS who, 0 AS z, CAST({value} AS {TYPES[column]}) AS x"
        for who, value in enumerate([*EXTREMES[column], "null"])
    ]
    frame = few_rows.sql(" UNION ALL ".join(rows)).coalesce(1)  # one task, not one a row
    try:
        opened = ln.table(frame, unit="who")
    except errors.LeastnoiseError:
        return
    for ask in ASKED.values():
        try:
            query = ask(opened, "x")
        except errors.LeastnoiseError:
            continue
        assert all(int(value) == value for value in aggregate(query).values)
