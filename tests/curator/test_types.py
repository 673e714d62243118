"""Every type of column in every place of every query: refused when the query is built, or integers."""

from __future__ import annotations

import functools
import shlex
import uuid
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from command_line import run
from leastnoise import errors
from leastnoise.testing import aggregate

INF, NAN = float("inf"), float("nan")
LEAST, MOST = -(2**63), 2**63 - 1
UNITS = ("s", "ms", "us", "ns")
TIMES = [0, MOST, LEAST + 1, LEAST, 1]
FLOATS = [0.0, -0.0, INF, -INF, NAN, 5e-324, 1.5]


def bounds(bits: int, signed: bool) -> list[int]:
    return [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0, 1] if signed else [2**bits - 1, 0, 1]


def digits(precision: int, scale: int, width: Any = pa.decimal128) -> pa.Array:
    most = Decimal((0, (9,) * precision, -scale))
    return pa.array([most, most.copy_negate(), Decimal(0), None], width(precision, scale))


COLUMNS: dict[str, Any] = {
    "bool": pa.array([True, False, None]),
    **{f"int{bits}": pa.array([*bounds(bits, True), None], f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": pa.array([*bounds(bits, False), None], f"uint{bits}") for bits in (8, 16, 32, 64)},
    "float16": pa.array(np.array([0, -0.0, INF, -INF, NAN, 65504, 1.5], np.float16)),
    "float32": pa.array([*FLOATS, None], pa.float32()),
    "float64": pa.array([*FLOATS, 1.7e308, None], pa.float64()),
    **{
        f"decimal({p}, {s})": digits(p, s)
        for p, s in [(1, 0), (2, 2), (9, 4), (15, 0), (16, 3), (18, 0), (19, 0), (38, 0), (38, 19), (38, 38)]
    },
    "decimal256(76, 0)": digits(76, 0, pa.decimal256),
    "decimal256(20, 2)": digits(20, 2, pa.decimal256),
    "date32": pa.array([0, 2**31 - 1, -(2**31) + 1, -(2**31), 1, None], pa.date32()),
    "date64": pa.array([0, 86_400_000, -86_400_000, None], pa.date64()),
    **{f"timestamp {unit}": pa.array([*TIMES, None], pa.timestamp(unit)) for unit in UNITS},
    **{f"timestamp {u} zone": pa.array([*TIMES, None], pa.timestamp(u, "Europe/Rome")) for u in UNITS},
    "time32": pa.array([0, 86_399, None], pa.time32("s")),
    "time64": pa.array([0, 86_399_999_999, None], pa.time64("us")),
    "time64 ns": pa.array([0, 86_399_999_999_999, None], pa.time64("ns")),
    "duration": pa.array([0, 2**53, -(2**53), None], pa.duration("us")),
    "interval": pa.array([(1, 2, 3), (-1, -2, -3), None], pa.month_day_nano_interval()),
    "string": pa.array(["", "a", "A", "\u0000", "\U0010ffff", "x" * 70_000, None]),
    "large_string": pa.array(["", "a", None], pa.large_string()),
    "string_view": pa.array(["", "a", "long enough to be no inline text", None], pa.string_view()),
    "binary": pa.array([b"", b"\x00\xff", None]),
    "fixed binary": pa.array([b"ab", b"\x00\xff", None], pa.binary(2)),
    "uuid": pa.array([uuid.UUID(int=n).bytes for n in (0, 2**128 - 1)], pa.uuid()),
    "dictionary": pa.array(["a", "b", None]).dictionary_encode(),
    "dictionary of numbers": pa.array([1, 2, None]).dictionary_encode(),
    "list": pa.array([[1.0, 2.0], [], [NAN, None], None, [INF, -INF]]),
    "list of int": pa.array([[1, 2], [LEAST, MOST], [], None]),
    "list of text": pa.array([["a"], None]),
    "list of bool": pa.array([[True, False], None, [None, True]]),
    "list of list": pa.array([[[1.0], [2.0]], None]),
    "fixed list": pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)),
    "struct": pa.array([{"x": 1, "y": "a"}, None]),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "null": pa.nulls(3),
}  # fmt: skip
LIMIT = {"max_rows": 2}
QUERIES: dict[str, Any] = {
    "unknown keys": lambda t: t.histogram("x", **LIMIT),
    "unknown keys, nulls": lambda t: t.histogram("x", nulls="bin", **LIMIT),
    "unknown pair": lambda t: t.histogram("x", "z", **LIMIT),
    "range": lambda t: t.histogram("x", keys=range(-3, 5), **LIMIT),
    "range, nulls": lambda t: t.histogram("x", keys=range(3), nulls="bin", **LIMIT),
    "stepped range": lambda t: t.histogram("x", keys=range(0, 9, 3), **LIMIT),
    "whole keys": lambda t: t.histogram("x", keys=[0, 1, MOST], **LIMIT),
    "text keys": lambda t: t.histogram("x", keys=["a", ""], **LIMIT),
    "boolean keys": lambda t: t.histogram("x", keys=[True, False], **LIMIT),
    "date keys": lambda t: t.histogram("x", keys=[date(1970, 1, 1)], **LIMIT),
    "edges": lambda t: t.histogram("x", keys=ln.domain.Edges((0.0, 1.0, 2.0)), **LIMIT),
    "days": lambda t: t.histogram("x", keys=ln.domain.Days("1970-01-01", "1970-01-09"), **LIMIT),
    "hours": lambda t: t.histogram("x", keys=ln.domain.Hours("1970-01-01 00:00", "1970-01-02 00:00"), **LIMIT),
    "lattice": lambda t: t.derive(c=ln.lattice("x", "z", 0.5)).histogram("c", keys=range(9), **LIMIT),
    "sum, whole": lambda t: t.sum("x", clip=(0, 1), **LIMIT),
    "sum": lambda t: t.sum("x", clip=(-0.5, 1.5), by="z", keys=range(2), **LIMIT),
    "mean": lambda t: t.mean("x", clip=(-1, 100), **LIMIT),
    "mean by": lambda t: t.mean("z", clip=(0, 1), by="x", keys=range(3), nulls="bin", **LIMIT),
    "quantile": lambda t: t.quantile("x", 0.5, clip=(-10, 10), bins=5, **LIMIT),
    "vector": lambda t: t.vector_mean(["x", "z"], clip_norm=1.0, **LIMIT),
    "vector, ranked": lambda t: t.vector_sum(["x", "z"], clip_norm=1.0, max_rows=1),
    "array": lambda t: t.vector_mean("x", length=2, clip_norm=1.0, **LIMIT),
    "array, ranked": lambda t: t.vector_sum("x", length=2, clip_norm=1.0, max_rows=1),
}


def rows_with(column: Any) -> pa.Table:
    return pa.table({"who": [n // 2 for n in range(len(column))], "z": [0] * len(column), "x": column})


def outcome(make: Any) -> str:
    """ "refused" before any row is read, or "integers"."""
    try:
        query = make()
    except errors.LeastnoiseError:
        return "refused"
    values = aggregate(query).values
    assert all(int(value) == value for value in values)
    return "integers"


def failures(source: Any) -> list[str]:
    """The queries of a table, opened once, that neither refuse its column nor give integers."""
    try:
        opened = ln.table(source, unit="who")
    except errors.LeastnoiseError:
        return []
    failed = []
    for word, ask in QUERIES.items():
        try:
            outcome(lambda: ask(opened))  # noqa: B023
        except Exception as error:
            failed.append(f"{word}: {type(error).__name__} {error}"[:300])
    return failed


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_any_type_is_refused_or_counted(kind: str) -> None:
    assert not failures(rows_with(COLUMNS[kind]))


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_unit_of_any_type_is_refused_or_bounded(kind: str) -> None:
    rows = rows_with(COLUMNS[kind])
    twice = pa.concat_tables([rows, rows])
    opened = functools.cache(lambda: ln.table(twice, unit="x"))  # remembers no refusal
    asked = {
        "count": lambda: opened().count(max_rows=1),
        "units": lambda: ln.table(twice, unit=["x", "z"]).count_units(),
        "histogram": lambda: opened().histogram("z", keys=range(2), max_rows=1),
        "unknown": lambda: opened().histogram("z", max_rows=1),
        "vector": lambda: opened().vector_sum(["z", "who"], clip_norm=1.0, max_rows=1),
    }
    for make in asked.values():
        outcome(make)


NATIVE = {
    "HUGEINT": "(-170141183460469231731687303715884105728)::HUGEINT",
    "UHUGEINT": "340282366920938463463374607431768211455::UHUGEINT",
    "BIT": "'101'::BIT",
    "ENUM": "'a'::ENUM('a', 'b')",
    "INTERVAL": "INTERVAL 3 MONTH",
    "TIMETZ": "'12:00:00+01'::TIMETZ",
    "TIMESTAMPTZ": "'infinity'::TIMESTAMPTZ",
    "DATE": "'-infinity'::DATE",
    "UNION": "union_value(a := 1)",
    "ARRAY": "[1.0, 2.0]::DOUBLE[2]",
    "JSON": "'1'",
    "DECIMAL(38, 38)": "0.1::DECIMAL(38, 38)",
}


@pytest.mark.parametrize("kind", NATIVE)
def test_a_type_of_duckdb_s_own_is_refused_or_counted(kind: str) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE rows_ AS SELECT n // 2 AS who, 0 AS z, {NATIVE[kind]} AS x FROM range(4) t(n)")
    assert not failures((connection, "rows_"))


@pytest.mark.parametrize("name", ["fare", "order", 'od"d'])
def test_a_text_of_parquet_becomes_a_number_as_the_message_says(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"who": [1, 2, 3], name: ["1.5", "2", "none"]}), tmp_path / "rows.parquet")
    rows = ln.table(tmp_path / "rows.parquet", unit="who")
    with pytest.raises(errors.WrongType, match="declare the type of the column") as needed:
        rows.sum(name, clip=(0, 5), max_rows=1)
    declared = ln.table(tmp_path / "rows.parquet", unit="who", types={name: "float"})
    example = needed.value.examples[-1]
    assert isinstance(example, errors.Code)
    derived = eval(f"rows.{example.python}")
    for made, column in ((declared, name), (derived, "as_float")):
        question = made.histogram(column, keys=ln.domain.Edges((0, 2, 5)), max_rows=1)
        assert aggregate(question).values.tolist() == [1, 1]
    asked = ["histogram", str(tmp_path / "rows.parquet"), "--unit", "who", *shlex.split(example.option)]
    privacy = ["--max-rows", "1", "--epsilon", "1", "--delta", "0"]
    keys = ["--by", "as_float", "--keys", str(tmp_path / "keys.toml")]
    (tmp_path / "keys.toml").write_text("as_float = { edges = [0, 2, 5] }\n")
    assert run(*asked, *keys, *privacy, "-o", str(tmp_path / "out.parquet"), "--again").returncode == 0
