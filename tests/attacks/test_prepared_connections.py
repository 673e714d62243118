"""Connections that somebody else prepared: what their functions, settings and names mean changes no integer.

A macro of a DuckDB file may be named like any function or operator. With the two of `COUNTED_A_MILLION_TIMES`, 50
people were 50,000,000, and the first of them hid the second from a look at the list of functions.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.engines import given_table
from leastnoise.testing import aggregate

ROWS = pa.table(
    {
        "who": [f"u{place % 50}" for place in range(150)],
        "ward": [place % 4 for place in range(150)],
        "zone": [("port", "Port", "mall")[place % 3] for place in range(150)],
        "fare": [place / 8 for place in range(150)],
    }
)
COUNTED_A_MILLION_TIMES = ["lower(x) AS random()::VARCHAR", "least(a, b) AS 1000000"]
BLINDING = ["duckdb_functions() AS TABLE SELECT 'own' AS function_name, true AS internal"]
OTHERS = [
    "sum(x) AS 5", "Floor(x) AS 0", "encode(x) AS 'one'::BLOB", "decode(x) AS 'one'", "hash(x) AS 1", "count(x) AS 7",
    "count_star() AS 9", "coalesce(a, b) AS 3", "min(x) AS 1", "max(x) AS 1", "row_number() AS 1",
    "md5_number_lower(x) AS 1", "xor(a, b) AS 0", "isnan(x) AS true", "struct_pack(a) AS 1", "unnest(x) AS 1",
    "range(a, b, c) AS [1]", "list_value(x) AS 1", "current_setting(x) AS '1'", '"+"(a, b) AS 5', '"-"(a, b) AS 5',
    '"*"(a, b) AS 5', '"="(a, b) AS true', '"<"(a, b) AS true', '"&"(a, b) AS 0', '">>"(a, b) AS 0',
    "duckdb_tables() AS TABLE SELECT 'rides' AS table_name", "duckdb_views() AS TABLE SELECT 'rides' AS view_name",
    "duckdb_settings() AS TABLE SELECT 'threads' AS name, '7' AS value", "arrow_scan(a, b, c) AS TABLE SELECT 1 AS who",
]  # fmt: skip
PREPARED = {
    "both": COUNTED_A_MILLION_TIMES,
    "blinding": [*COUNTED_A_MILLION_TIMES, *BLINDING],
    "all": [*COUNTED_A_MILLION_TIMES, *BLINDING, *OTHERS],
}
QUESTIONS: dict[str, Callable[[ln.Table], Any]] = {
    "count": lambda t: t.count(max_rows=1),
    "units": lambda t: t.count_units(),
    "keys": lambda t: t.histogram("zone", keys=["port", "mall"], max_rows=2, max_per_bin=1),
    "range": lambda t: t.histogram("ward", keys=range(4), max_rows=2, max_bins=1),
    "unknown keys": lambda t: t.histogram("zone", max_rows=2),
    "sum": lambda t: t.sum("fare", clip=(0, 9), by="ward", keys=range(4), max_rows=2),
    "condition": lambda t: t.where("zone = 'port' AND fare > 2.5").count(max_rows=2),
    "derived": lambda t: t.derive(more="fare + ward").sum("more", clip=(0, 20), max_rows=2),
    "median": lambda t: t.quantile("fare", 0.5, clip=(0, 20), bins=8, max_rows=1),
    "vector": lambda t: t.vector_sum(["fare", "ward"], clip_norm=5, max_rows=2),
    "tables": lambda t: t.crosstabs("zone", "ward", keys={"zone": ["port", "mall"], "ward": range(4)}, max_rows=2),
    "summary": lambda t: t.summarize(
        "zone", keys=["port", "mall"], fare=ln.stats.mean("fare", clip=(0, 9)), max_rows=2
    ),
}


def exact(query: Any) -> Any:
    found = aggregate(query)
    return found.keys, found.values.tolist()


def prepared(connection: Any, macros: list[str], where: str = "") -> Any:
    connection.register("given", ROWS)
    connection.execute("CREATE TABLE rides AS SELECT * FROM given")
    connection.unregister("given")
    for macro in macros:
        connection.execute(f"CREATE {where}MACRO {macro}")
    return connection


SOURCES: dict[str, Callable[[Path, list[str]], Any]] = {
    "connection": lambda folder, macros: (prepared(duckdb.connect(), macros), "rides"),
    "temporary": lambda folder, macros: (prepared(duckdb.connect(), macros, "TEMP "), "rides"),
    "file": lambda folder, macros: (of_file(folder, macros), "rides"),
    "Ibis": lambda folder, macros: ibis.duckdb.from_connection(prepared(duckdb.connect(), [])).table("rides"),
}


def of_file(folder: Path, macros: list[str]) -> Any:
    """As somebody sends it: the macros are in the file, and its reader has created nothing."""
    prepared(duckdb.connect(str(folder / "rides.duckdb")), macros).close()
    return duckdb.connect(str(folder / "rides.duckdb"), read_only=True)


@pytest.mark.parametrize("macros", PREPARED)
@pytest.mark.parametrize("source", SOURCES)
def test_no_macro_changes_an_integer(source: str, macros: str, tmp_path: Path) -> None:
    given = SOURCES[source](tmp_path, PREPARED[macros])
    theirs, ours = ln.table(given, unit="who"), ln.table(ROWS, unit="who")
    if source == "Ibis":
        for macro in PREPARED[macros]:
            given.get_backend().con.execute(f"CREATE MACRO {macro}")
    found = {name: exact(ask(theirs)) for name, ask in QUESTIONS.items()}
    assert found == {name: exact(ask(ours)) for name, ask in QUESTIONS.items()}
    assert found["count"] == (None, [50])


class Watched:
    """A connection that remembers what it was asked."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.asked: list[str] = []

    def sql(self, statement: str) -> Any:
        self.asked.append(statement)
        return self._connection.sql(statement)

    def interrupt(self) -> None:
        self._connection.interrupt()


Watched.__name__ = "DuckDBPyConnection"
NAME = r'"(?:[^"]|"")+"'
PLAIN = re.compile(rf"SELECT (?:\*|{NAME}(?:, {NAME})*) FROM (?:{NAME}|system\.main\.duckdb_[a-z]+\(\))")


def test_somebody_elses_connection_is_asked_for_plain_columns_alone() -> None:
    """And for those alone that a question needs."""
    watched = Watched(prepared(duckdb.connect(), []))
    rides = ln.table((watched, "rides"), unit="who")
    for ask in QUESTIONS.values():
        aggregate(ask(rides))
    rides.private_check()
    assert [statement for statement in watched.asked if not PLAIN.fullmatch(statement)] == []
    watched.asked.clear()
    aggregate(rides.histogram("ward", keys=range(4), max_rows=1))
    assert [each for each in watched.asked if "system" not in each] == ['SELECT "who", "ward" FROM "rides"']
    watched.asked.clear()
    aggregate(rides.where("ward = 3").count(max_rows=1))
    (asked,) = [each for each in watched.asked if "system" not in each]
    assert set(re.findall(NAME, asked)) == {'"who"', '"ward"', '"rides"'}


def test_rows_come_in_batches_and_are_never_here_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_table, "BATCH_ROWS", 2048)
    sizes: list[int] = []
    original = given_table.GivenTable._batches

    def watched(self: Any, *given: Any) -> Iterator[Any]:
        for batch in original(self, *given):
            sizes.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(given_table.GivenTable, "_batches", watched)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE rides AS SELECT range AS who, range % 5 AS k FROM range(100_000)")
    rides = ln.table((connection, "rides"), unit="who")
    assert aggregate(rides.histogram("k", keys=range(5), max_rows=1)).values.tolist() == [20_000] * 5
    assert max(sizes) <= 2048
    assert sum(sizes) == 100_000


def test_no_setting_of_a_connection_is_changed_or_matters() -> None:
    connection = prepared(duckdb.connect(), [])
    connection.execute("ALTER TABLE rides ADD COLUMN moment TIMESTAMPTZ DEFAULT '2020-01-01 23:30:00+00'")
    rides = ln.table((connection, "rides"), unit="who")
    for name, value in {
        "TimeZone": "Asia/Tokyo", "default_collation": "NOCASE", "integer_division": "true",
        "ieee_floating_point_ops": "false", "default_null_order": "nulls_first", "default_order": "DESC",
    }.items():  # fmt: skip
        connection.execute(f"SET {name} = '{value}'")
    settings = "SELECT name, value FROM duckdb_settings() ORDER BY name"
    before = connection.execute(settings).fetchall()
    for opened in (rides, ln.table((connection, "rides"), unit="who")):
        found = {name: exact(ask(opened)) for name, ask in QUESTIONS.items()}
        assert found == {name: exact(ask(ln.table(ROWS, unit="who"))) for name, ask in QUESTIONS.items()}
        late = opened.derive(hour="hour(moment)").histogram("hour", keys=range(24), max_rows=1)
        assert aggregate(late).values.tolist() == [0] * 23 + [50]
    assert connection.execute(settings).fetchall() == before


def test_memory_and_threads_are_those_of_the_connection() -> None:
    connection = prepared(duckdb.connect(config={"threads": 1, "memory_limit": "300MiB"}), OTHERS)
    engine: Any = ln.table((connection, "rides"), unit="who")._data.engine
    assert settings(engine) == ("1", "300.0 MiB")
    engine = ln.table((connection, "rides"), unit="who", memory_limit="100MiB")._data.engine
    assert settings(engine)[1] == "100.0 MiB"


def settings(engine: Any) -> tuple[str, str]:
    told = "SELECT current_setting('threads')::VARCHAR, current_setting('memory_limit')"
    ((threads, memory),) = engine.backend.con.sql(told).fetchall()
    return threads, memory


def test_types_that_somebody_created_are_what_they_stand_for() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TYPE zone AS ENUM ('port', 'mall'); CREATE TYPE person AS INTEGER")
    connection.execute(
        'CREATE TABLE "od""d" (who person, "the ""zone""" zone, x DOUBLE, y DOUBLE GENERATED ALWAYS AS (x + 1))'
    )
    connection.execute("""INSERT INTO "od""d" VALUES (1, 'port', 1.5), (2, 'mall', 2.5), (2, NULL, 4.0)""")
    connection.execute('CREATE MACRO "od""d"() AS TABLE SELECT 1 AS who')
    rides = ln.table((connection, 'od"d'), unit="who")
    zones = rides.histogram('the "zone"', keys=["port", "mall"], max_rows=2)
    assert aggregate(zones).values.tolist() == [1, 1]
    query = rides.sum("y", clip=(0, 10), max_rows=2)
    assert aggregate(query).values[0] * query.grid == 11.0


@pytest.mark.parametrize("source", ["connection", "relation"])
@pytest.mark.parametrize("value", [-(2**127), 2**127 - 1, 10**38])
def test_no_whole_number_of_128_bits_makes_a_query_fail(value: int, source: str) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT who, '{value}'::HUGEINT AS x FROM range(3) r(who)")
    rides = ln.table((connection, "t") if source == "connection" else connection.table("t"), unit="who")
    assert aggregate(rides.sum("x", clip=(0, 9), max_rows=1)).values.tolist() == [0]
    assert aggregate(rides.histogram("x", max_rows=1, nulls="bin")).keys == (None,)


def test_no_variable_and_no_file_is_taken_for_a_table(tmp_path: Path) -> None:
    connection, people = prepared(duckdb.connect(), []), pa.table({"who": [1]})
    (tmp_path / "rides.csv").write_text("who\n1\n")
    assert people.num_rows
    for name in ("people", "connection", str(tmp_path / "rides.csv"), "duckdb_tables", "rides; DROP TABLE rides"):
        with pytest.raises(errors.UnknownSource, match=r"It has rides\.$"):
            ln.table((connection, name), unit="who")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE rides ALTER ward TYPE VARCHAR", "ALTER TABLE rides DROP COLUMN ward", "DROP TABLE rides",
        "ALTER TABLE rides ADD COLUMN more INTEGER",
    ],
)  # fmt: skip
def test_columns_that_changed_since_they_were_opened_cost_nothing(change: str, tmp_path: Path) -> None:
    connection = prepared(duckdb.connect(), [])
    query = ln.table((connection, "rides"), unit="who").histogram("ward", keys=range(4), max_rows=1)
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)
    query.release(budget=budget, share=0.5)
    connection.execute(change)
    with pytest.raises(errors.TableChanged, match="Open the table again"):
        query.release(budget=budget, share=0.5)
    assert (budget.remaining.share, budget.closed) == (0.5, False)


@pytest.mark.parametrize("change", ["ALTER TABLE rides ALTER ward TYPE DOUBLE", "DROP TABLE rides"])
def test_columns_that_changed_while_a_query_is_under_way_are_not_read(change: str) -> None:
    connection = prepared(duckdb.connect(), [])
    query = ln.table((connection, "rides"), unit="who").histogram("ward", keys=range(4), max_rows=1)
    connection.execute(change)
    with pytest.raises(errors.ReadingFailed):
        aggregate(query)


def test_a_query_reads_the_rows_of_a_connection_once() -> None:
    """A connection has one result that streams, and two readings may be of two states."""
    rides = ln.table((prepared(duckdb.connect(), []), "rides"), unit="who")
    engine: Any = rides._data.engine
    twice = "SELECT count(*) FROM leastnoise_rows UNION ALL SELECT sum(ward) FROM leastnoise_rows"
    assert engine._read(lambda: engine.backend.con.execute("SELECT sum(ward) FROM leastnoise_rows").fetchall()) == [
        (223,)
    ]
    with pytest.raises(errors.ReadingFailed):
        engine._read(lambda: engine.backend.con.execute(twice).fetchall())
    engine.given.begin()
    assert sum(len(batch) for batch in engine.given.scanner().to_reader()) > 0
    with pytest.raises(RuntimeError, match="twice"):  # also where the first reading has ended
        engine.given.scanner().to_reader()


def test_a_connection_that_was_closed_costs_nothing(tmp_path: Path) -> None:
    connection = prepared(duckdb.connect(), [])
    query = ln.table((connection, "rides"), unit="who").count(max_rows=1)
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)
    connection.close()
    with pytest.raises(errors.TableChanged):
        query.release(budget=budget, share=0.5)
    assert (budget.remaining.share, budget.closed) == (1, False)


def test_control_c_ends_what_runs_on_the_connection() -> None:
    """A view whose rows take for ever: it is interrupted with our own query, and the connection is usable after."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE VIEW rides AS SELECT sum(a.range * b.range) AS who FROM range(10000000) a, range(10000000) b"
    )
    query = ln.table((connection, "rides"), unit="who").count(max_rows=1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            aggregate(query)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert connection.execute("SELECT 42").fetchall() == [(42,)]
    assert not [thread for thread in threading.enumerate() if thread.name == "leastnoise-query"]
