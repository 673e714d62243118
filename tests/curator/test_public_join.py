"""Columns of public tables: no row is doubled or lost, whatever the keys look like."""

from __future__ import annotations

import math
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise.curator.table import Table
from leastnoise.testing import aggregate

NAMES = {"zone_id": [1, 2, 4], "borough": ["Queens", None, "Bronx"], "lots": [10, None, 2**62]}


def trips() -> Table:
    rows = pa.table(
        {
            "taxi": [1, 2, 3, 4, 5],
            "zone_id": [1, 2, 3, 4, None],
            "text": ["1", "01", "1 ", "A", None],
            "real": [0.0, -0.0, 1.0, 1.5, math.nan],
            "flag": [True, False, True, None, False],
            "day": [date(2020, 1, 1), date(2020, 1, 2), None, date(1, 1, 1), date(2020, 1, 1)],
            "when": [datetime(2020, 1, 1)] * 5,
        }
    )
    return ln.table(rows, unit="taxi")


def column(t: Table, name: str) -> list[Any]:
    found = t._data.engine.fetch(t.rows).to_pylist()
    return [row[name] for row in sorted(found, key=lambda row: row["taxi"])]


def sources(folder: Path) -> dict[str, Any]:
    arrow = pa.table(NAMES)
    pq.write_table(arrow, folder / "zones.parquet")
    (folder / "zones.csv").write_text("zone_id,borough,lots\n1,Queens,10\n02,,\n4,Bronx,4611686018427387904\n")
    return {
        "mapping": NAMES,
        "arrow": arrow,
        "pandas": pd.DataFrame(NAMES).astype({"lots": "Int64"}),
        "polars": pl.DataFrame(NAMES),
        "parquet": folder / "zones.parquet",
        "csv": str(folder / "zones.csv"),
    }


@pytest.mark.parametrize("kind", ["mapping", "arrow", "pandas", "polars", "parquet", "csv"])
def test_every_source_gives_the_same_columns(kind: str, tmp_path: Path) -> None:
    made = trips().join_public(sources(tmp_path)[kind], on="zone_id")
    assert column(made, "borough") == ["Queens", None, None, "Bronx", None]
    assert column(made, "lots") == [10, None, None, 2**62, None]
    assert "(3 rows, SHA-256 " in made.count(max_rows=1).describe()
    assert made.count(max_rows=1).describe() == trips().join_public(NAMES, on="zone_id").count(max_rows=1).describe()


def test_the_record_tells_public_tables_apart() -> None:
    other = {**NAMES, "borough": ["Queens", None, "Kings"]}
    words = [trips().join_public(public, on="zone_id").count(max_rows=1).describe() for public in (NAMES, other)]
    assert words[0] != words[1]
    mixed = {name: values[::-1] for name, values in NAMES.items()}
    assert trips().join_public(mixed, on="zone_id").count(max_rows=1).describe() == words[0]


@pytest.mark.parametrize(
    ("own", "keys", "found"),
    [
        ("zone_id", ["01", "+2"], ["x", "y", None, None, None]),
        ("zone_id", [1.0, 4.0], ["x", None, None, "y", None]),
        ("text", ["1", "a"], ["x", None, None, None, None]),
        ("text", ["01", "1 "], [None, "x", "y", None, None]),
        ("real", [-0.0, 1], ["x", "x", "y", None, None]),
        ("flag", [False, True], ["y", "x", "y", None, "x"]),
        ("flag", ["true", "false"], ["x", "y", "x", None, "y"]),
        ("day", [date(2020, 1, 1), date(1, 1, 1)], ["x", None, None, "y", "x"]),
        ("day", ["2020-01-02", "0001-01-01"], [None, "x", None, "y", None]),
        ("zone_id", [None, 2], [None, "y", None, None, None]),
    ],
)
def test_keys_are_compared_as_the_rows_own_column_holds_them(own: str, keys: list[Any], found: list[Any]) -> None:
    made = trips().join_public({"key": keys, "name": ["x", "y"]}, on={own: "key"})
    assert column(made, "name") == found
    assert aggregate(made.count(max_rows=1)).values.tolist() == [5]


@pytest.mark.parametrize(
    ("own", "keys"),
    [
        ("zone_id", ["1", "01"]), ("zone_id", ["1", "+1"]), ("zone_id", ["1", "1.0"]), ("zone_id", [0.0, -0.0]),
        ("zone_id", ["0", "-0"]), ("zone_id", [1, 1]), ("text", ["a", "a"]), ("flag", ["true", "TRUE"]),
        ("flag", ["true", "1.0"]), ("day", ["2020-01-01", "2020-01-01"]),
    ],
)  # fmt: skip
def test_keys_that_would_double_a_row_are_refused(own: str, keys: list[Any]) -> None:
    with pytest.raises(ln.errors.BadDomain, match="would be doubled"):
        trips().join_public({"key": keys, "name": ["x", "y"]}, on={own: "key"})


def test_several_columns_are_one_key() -> None:
    public = {"zone_id": [1, 1, 2], "flag": [True, False, False], "name": ["x", "y", "z"]}
    assert column(trips().join_public(public, on=["zone_id", "flag"]), "name") == ["x", "z", None, None, None]
    with pytest.raises(ln.errors.BadDomain, match="would be doubled"):
        trips().join_public(public, on="zone_id", columns=["name"])


def test_values_of_every_type_arrive(tmp_path: Path) -> None:
    public = pa.table(
        {
            "zone_id": [1, 2],
            "real": pa.array([0.1, math.nan]),
            "yes": [True, None],
            "since": [date(2020, 2, 29), None],
            "at": pa.array([datetime(2020, 1, 1, 2, 3, 4, 5), None], pa.timestamp("ns", "Europe/Zurich")),
            "odd": ["", "é\0"],
        }
    ).rename_columns(["zone_id", "share", "yes", "since", "at", "odd"])
    made = trips().join_public(public, on="zone_id")
    assert column(made, "share")[:2] == [0.1, None]
    assert column(made, "yes")[:2] == [True, None]
    assert column(made, "since")[:2] == [date(2020, 2, 29), None]
    assert column(made, "at")[:2] == [datetime(2020, 1, 1, 2, 3, 4, 5), None]
    assert column(made, "odd")[:3] == ["", "é\0", None]


@pytest.mark.parametrize(
    ("public", "options", "error", "words"),
    [
        ({"k": ["a"], "b": [1]}, {"on": {"zone_id": "k"}}, ln.errors.WrongType, "could ever find"),
        ({"k": [1], "b": [1]}, {"on": {"text": "k"}}, ln.errors.WrongType, "could ever find"),
        ({"k": [-0.0, 1.5], "b": [1, 2]}, {"on": {"zone_id": "k"}}, ln.errors.WrongType, "1.5 .* is no whole number"),
        ({"k": [1e30], "b": [1]}, {"on": {"zone_id": "k"}}, ln.errors.WrongType, "number of 64 bits"),
        ({"k": [1], "b": [1]}, {"on": {"when": "k"}}, ln.errors.WrongType, "Derive"),
        ({"zone_id": [1], "Taxi": ["x"]}, {"on": "zone_id"}, ln.errors.InvalidParameter, "upper and lower"),
        ({"zone_id": [1]}, {"on": "zone_id"}, ln.errors.MissingParameter, "nothing to join"),
        ({"zone_id": [1], "b": [1]}, {"on": []}, ln.errors.MissingParameter, "needs the column"),
        ({"taxi": [1], "b": [1]}, {"on": "taxi"}, ln.errors.BadExpression, "unit"),
        ({"zone_id": [1], "b": [[1, 2]]}, {"on": "zone_id"}, ln.errors.WrongType, "list"),
        ({"zone_id": [1], "b": [1, 2]}, {"on": "zone_id"}, ln.errors.WrongType, "cannot be read"),
        ({"zone_id": [1, 2**70], "b": [1, 2]}, {"on": "zone_id"}, ln.errors.BadDomain, '"zone_id".*fit into 64 bits'),
        ({"zone_id": [1, 2], "b": [1, 2**70]}, {"on": "zone_id"}, ln.errors.BadDomain, '"b".*fit into 64 bits'),
        ({"k": np.array([1, 2**63], "uint64"), "b": [1, 2]}, {"on": {"zone_id": "k"}}, ln.errors.WrongType, "64 bits"),
        ({"zone_id": [1], "b": ["\ud800"]}, {"on": "zone_id"}, ln.errors.BadDomain, '"b".*surrogate'),
        (
            pa.table({"zone_id": [1], "b": pa.array([2**62], pa.timestamp("s"))}),
            {"on": "zone_id"},
            ln.errors.BadDomain,
            '"b".*outside the years',
        ),
        ({"zone_id": [1], "b": [1]}, {"on": 3}, ln.errors.MissingParameter, "needs the column"),
        ({"zone_id": [1], "b": [1]}, {"on": "zone_id", "columns": 3}, ln.errors.WrongType, "columns names a column"),
        (7, {"on": "zone_id"}, ln.errors.WrongType, "Got int"),
    ],
)
def test_what_cannot_be_joined_is_refused(public: Any, options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        trips().join_public(public, **options)


def test_one_column_may_be_named_without_a_list() -> None:
    made = trips().join_public({"zone_id": [1], "borough": ["x"], "b": [1]}, on="zone_id", columns="borough")
    assert made.columns[-1] == "borough"
