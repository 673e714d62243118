"""Tables that change while they are read: by another writer, by a replaced file, or by themselves."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.engines.duckdb import DuckDB
from leastnoise.curator.rows import keeping
from leastnoise.testing import aggregate
from neighbouring import remembered_sql

ROWS = 60


def vectors(table: ln.Table) -> Any:
    return table.vector_mean(["x", "y"], clip_norm=1.0, max_rows=2)


def moved(query: Any) -> float:
    """How many rows of its units a vector mean has added up: its last number."""
    return float(aggregate(query).values[-1]) / query.clip.radius


def after_the_first(monkeypatch: pytest.MonkeyPatch, method: str, change: Callable[[], object]) -> list[int]:
    """Let `change` happen after the first call of an engine's method; the list says how often it was called."""
    calls: list[int] = []
    original = getattr(DuckDB, method)

    def changed(self: DuckDB, *given: Any, **named: Any) -> Any:
        found = original(self, *given, **named)
        calls.append(1)
        if len(calls) == 1:
            change()
        return found

    monkeypatch.setattr(DuckDB, method, changed)
    return calls


def one_person(rows: int) -> pa.Table:
    return pa.table({"who": ["a"] * rows, "x": np.full(rows, 0.5), "y": np.full(rows, 0.5)})


@pytest.fixture
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("given", one_person(1))
    connection.execute("CREATE TABLE rides AS SELECT * FROM given")
    return connection


def test_rows_inserted_between_the_reads_are_not_seen(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One person passes a check with one row, and has sixty when rows are summed."""
    other = database.cursor()
    table = ln.table((database, "rides"), unit="who")

    def insert() -> None:
        other.execute(f"INSERT INTO rides SELECT 'a', 0.5, 0.5 FROM range({ROWS})")

    asked = [after_the_first(monkeypatch, method, insert) for method in ("fetch", "size")]
    assert moved(vectors(table)) <= 2
    assert sum(map(len, asked)) == 1
    assert other.execute("SELECT count(*) FROM rides").fetchall() == [(1 + ROWS,)]
    assert moved(vectors(table)) == 2


VIEWS = {
    "rows": f"SELECT 'a' AS who, 0.5 :: DOUBLE AS x, 0.0 :: DOUBLE AS y FROM range({ROWS}) WHERE random() < 0.02",
    "units": """
        WITH named AS MATERIALIZED (SELECT floor(random() * 2) :: INTEGER AS who FROM range(4))
        SELECT who, if(who = 0, 0.5 :: DOUBLE, 0.0 :: DOUBLE) AS x, 0.0 :: DOUBLE AS y FROM named""",
}


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a look names has the same name, so that Ibis writes the SQL of a hundred looks once."""
    monkeypatch.setattr("leastnoise.curator.engines.duckdb.unique", lambda word: f"{word}_of_a_look")
    with remembered_sql():
        yield


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_with_other_rows_or_units_at_each_look_is_looked_at_once(view: str) -> None:
    """The sum is of one person's rows. In two reads a try goes wrong with probability 0.1 or more, so 100 tries find
    it (all of them go right with probability 0.9^100 < 3e-5)."""
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW rides AS {VIEWS[view]}")
    query = ln.table((connection, "rides"), unit="who").vector_sum(["x", "y"], clip_norm=0.5, max_rows=2)
    assert max(aggregate(query).values[0] for _ in range(100)) <= 2 * query.clip.radius  # type: ignore[attr-defined]


def test_a_lazy_frame_is_evaluated_once() -> None:
    """Each evaluation gives one person more rows."""
    looks: list[int] = []

    def growing(frame: pl.DataFrame) -> pl.DataFrame:
        looks.append(1)
        rows = 1 if len(looks) <= 1 else ROWS
        return pl.DataFrame({"who": ["a"] * rows, "x": [0.5] * rows, "y": [0.5] * rows})

    schema = {"who": pl.String, "x": pl.Float64, "y": pl.Float64}
    lazy = pl.LazyFrame({"who": ["a"], "x": [0.5], "y": [0.5]}).map_batches(growing, schema=schema)
    assert moved(vectors(ln.table(lazy, unit="who"))) <= 2
    assert looks


@pytest.mark.usefixtures("fast")
def test_an_ibis_table_of_a_view_is_looked_at_once() -> None:
    backend = ibis.duckdb.connect()
    backend.raw_sql(f"CREATE VIEW rides AS {VIEWS['rows']}")
    table = ln.table(backend.table("rides"), unit="who")
    assert max(moved(vectors(table)) for _ in range(100)) <= 2


@pytest.mark.parametrize("many", [0, 2**62], ids=["loop", "sql"])
def test_rows_are_kept_of_one_state_of_the_table(many: int, database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who changes names after rows were counted is one person."""
    monkeypatch.setattr(keeping, "MANY_ROWS", many)
    database.execute(f"CREATE TABLE trips AS SELECT 0 AS who, 0 AS bin FROM range({ROWS})")
    other, names = database.cursor(), iter(range(1, 1000))
    original = DuckDB.fetch

    def renaming(self: DuckDB, expression: Any) -> Any:
        found = original(self, expression)
        other.execute(f"UPDATE trips SET who = {next(names)}")
        return found

    monkeypatch.setattr(DuckDB, "fetch", renaming)
    query = ln.table((database, "trips"), unit="who").histogram("bin", keys=range(2), max_rows=1)
    assert aggregate(query).values.tolist() == [1, 0]


def test_nothing_is_left_in_a_connection_whatever_happens(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = ln.table((database, "rides"), unit="who")
    tables = "SELECT count(*) FROM duckdb_tables()"
    assert moved(vectors(table)) == 1
    assert database.execute(tables).fetchall() == [(1,)]

    def failing(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(DuckDB, "summed", failing)
    with pytest.raises(KeyboardInterrupt):
        aggregate(vectors(table))
    assert database.execute(tables).fetchall() == [(1,)]


def test_an_open_transaction_of_the_user_stays_open(database: Any) -> None:
    database.begin()
    database.execute("INSERT INTO rides VALUES ('b', 0.5, 0.5)")
    assert moved(vectors(ln.table((database, "rides"), unit="who"))) == 2
    database.rollback()
    assert moved(vectors(ln.table((database, "rides"), unit="who"))) == 1


def test_a_database_that_may_only_be_read_is_enough(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "rides.duckdb")) as made:
        made.register("given", one_person(5))
        made.execute("CREATE TABLE rides AS SELECT * FROM given")
    with duckdb.connect(str(tmp_path / "rides.duckdb"), read_only=True) as connection:
        assert moved(vectors(ln.table((connection, "rides"), unit="who"))) == 2


def replaced(path: Path, rows: int) -> None:
    """Another file under the same name, as a nightly job would put it there."""
    pq.write_table(one_person(rows), path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)


@pytest.mark.parametrize("method", ["fetch", "verify"])
def test_a_file_that_is_replaced_between_the_reads_is_refused(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rides.parquet"
    pq.write_table(one_person(1), path)
    table = ln.table(path, unit="who")
    after_the_first(monkeypatch, method, lambda: replaced(path, ROWS))
    with pytest.raises(errors.TableChanged, match="Open the table again"):
        aggregate(vectors(table))
    assert moved(vectors(ln.table(path, unit="who"))) == 2


def test_a_file_that_is_written_to_in_place_is_refused_though_its_time_was_set_back(tmp_path: Path) -> None:
    path = tmp_path / "rides.csv"
    path.write_text("who,x\na,1\n")
    was = path.stat()
    table = ln.table(path, unit="who")
    time.sleep(0.02)  # a file system's clock may tick a hundred times a second only
    path.write_text("who,x\na,2\n")
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    with pytest.raises(errors.TableChanged):
        aggregate(table.count(max_rows=1))


@pytest.mark.parametrize("gone", [False, True])
def test_a_file_that_changed_since_it_was_opened_costs_nothing(gone: bool, tmp_path: Path) -> None:
    path = tmp_path / "rides.parquet"
    pq.write_table(one_person(1), path)
    query = vectors(ln.table(path, unit="who"))
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)
    replaced(path, ROWS)
    if gone:
        path.unlink()
    with pytest.raises(errors.TableChanged):
        query.release(budget=budget, share=0.5)
    assert budget.remaining.share == 1


def test_a_failed_reading_of_a_replaced_file_is_told_as_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was replaced by half of another cannot be read; that is no fact about rows."""
    path = tmp_path / "rides.parquet"
    pq.write_table(one_person(1), path)
    table = ln.table(path, unit="who")
    after_the_first(monkeypatch, "verify", lambda: path.write_bytes(b"PAR1"))
    with pytest.raises(errors.TableChanged):
        aggregate(table.count(max_rows=1))


RANDOM_ROWS: dict[str, Any] = {
    "bins": lambda t: t.histogram("place", keys=range(50), max_rows=9, max_per_bin=5, max_bins=2),
    "many bins": lambda t: t.histogram("place", keys=range(50), max_rows=5000, max_per_bin=2500, max_bins=2),
    "keys": lambda t: t.histogram("place", keys=list(range(50)), max_rows=9, max_per_bin=5, max_bins=2),
    "unknown keys": lambda t: t.histogram("place", max_rows=9, max_per_bin=5, max_bins=2),
    "sum": lambda t: t.sum("x", clip=(0, 1), by="place", keys=range(50), max_rows=9, max_per_bin=5, max_bins=2),
}


@pytest.mark.parametrize("ask", RANDOM_ROWS)
def test_random_columns_keep_to_every_limit(ask: str) -> None:
    """One query, but an engine might evaluate a column twice: once to rank, once to count."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE VIEW rides AS SELECT 'a' AS who, (random() * 49) :: INTEGER AS place, random() AS x FROM range(5000)"
    )
    table = ln.table((connection, "rides"), unit="who")
    for _ in range(5):
        query = RANDOM_ROWS[ask](table)
        values = np.abs(aggregate(query).values.astype(float)) * query.grid
        assert np.count_nonzero(values) <= 2
        assert values.sum() <= query.sensitivity.l1
        assert np.linalg.norm(values) <= query.sensitivity.l2
