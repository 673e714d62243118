"""Rows enter Spark and DuckDB alike: text that is not read again, folders, times, collations; and nothing is logged."""

from __future__ import annotations

import functools
import operator
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

from extreme_times import TIMES
from leastnoise.curator.budget import Budget
from leastnoise.curator.engines.spark_session import SETTINGS
from leastnoise.curator.queries.query import Query
from leastnoise.curator.table import Table, table
from leastnoise.errors import EngineUnavailable, UnknownSource
from leastnoise.testing import aggregate

pytestmark = pytest.mark.spark

FOLDERS = [
    "zone=5", "zone=05", "zone=a%20b", "zone=x%3D5", "zone=c d", "zone=e+f", "zone=__HIVE_DEFAULT_PARTITION__",
    "zone=2013-01-01", "zone=é", "zone=%C3%BC", "zone=100%", "zone=a[1]", "zone={x,y}", "zone=b*",
]  # fmt: skip
VALUES = {"5", "05", "a b", "x=5", "c d", "e+f", None, "2013-01-01", "é", "ü", "100%", "a[1]", "{x,y}", "b*"}
CANARY = "canary424242"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # short queries: compile little


def found(query: Query) -> dict[Any, int]:
    answer = aggregate(query)
    keys = answer.keys if answer.keys is not None else range(len(answer.values))
    return dict(zip(keys, answer.values.tolist(), strict=True))


def alike(source: Any, ask: Callable[[Table], Query], cluster: Any, **options: Any) -> dict[Any, int]:
    """What both engines find, which must be the same."""
    embedded, distributed = (
        found(ask(table(source, engine=engine, **options))) for engine in ("duckdb", cluster.master)
    )
    assert embedded == distributed
    return embedded


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_folders_are_text_and_named_alike(kind: str, tmp_path: Path, session, cluster) -> None:
    root = tmp_path / "odd [1] 50% + folder"
    for number, name in enumerate(FOLDERS):
        (root / name).mkdir(parents=True)
        rows = pa.table({"who": [str(number)]})
        if kind == "parquet":
            pq.write_table(rows, root / name / "some rows.parquet")
        else:
            (root / name / "some rows.csv").write_text(f"who\n{number}\n")
    keys = alike(root, lambda t: t.histogram("zone", max_rows=1, nulls="bin"), cluster, unit="who")
    assert keys == dict.fromkeys(VALUES, 1)
    numbers = alike(
        root, lambda t: t.histogram("zone", keys=[5], max_rows=1), cluster, unit="who", types={"zone": "int"}
    )
    assert numbers == {0: 2}
    assert alike(root, lambda t: t.count_units(), cluster, unit="zone") == {0: len(FOLDERS) - 1}


def test_nothing_in_a_text_or_a_name_is_substituted(tmp_path: Path, session, cluster) -> None:
    """A condition that is checked and then replaced could be any condition."""
    text, name = "${spark.app.name}", "${env:PATH}"
    rows = pa.table({"who": range(4), "s": [text, "a", "leastnoise tests", text], name: [1, 1, 1, 2]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    session.conf.set("spark.sql.variable.substitute", "true")
    kept = alike(
        tmp_path / "rows.parquet",
        lambda t: t.where(_.s == text).histogram(name, keys=[1, 2], max_rows=1),
        cluster,
        unit="who",
    )
    assert kept == {0: 1, 1: 1}
    pq.write_table(pa.table({"who": [1], "${user.home}": [1]}), tmp_path / "rows.parquet")
    with pytest.raises(UnknownSource, match="Rename the column"):
        table(tmp_path / "rows.parquet", unit="who", engine=cluster.master)


def test_settings_that_somebody_changes_are_set_again_before_a_run(tmp_path: Path, session, cluster) -> None:
    rows = pa.table({"who": [1, 2], "s": ["a\\nb", "a\nb"], "t": pa.array([0, 1], pa.timestamp("us", "UTC"))})
    pq.write_table(rows, tmp_path / "rows.parquet")
    opened = table(tmp_path / "rows.parquet", unit="who", engine=cluster.master)
    query = opened.where((_.s == "a\\nb") & (_.t.hour() == 0)).count(max_rows=1)
    others = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.parser.escapedStringLiterals": "true"}
    for name, value in others.items():
        session.conf.set(name, value)
    given = session.conf.getAll
    assert found(query) == {0: 1}
    assert session.conf.getAll == given  # and the session is as it was
    for name in others:
        session.conf.unset(name)


def test_a_setting_that_cannot_be_set_is_an_error_before_any_row(session, cluster, monkeypatch, tmp_path: Path) -> None:
    pq.write_table(pa.table({"who": [1]}), tmp_path / "rows.parquet")
    query = table(tmp_path / "rows.parquet", unit="who", engine=cluster.master).count(max_rows=1)
    monkeypatch.setitem(SETTINGS, "spark.sql.session.timeZone", "Nowhere/Land")
    with pytest.raises(EngineUnavailable, match=r"spark\.sql\.session\.timeZone"):
        aggregate(query)


@pytest.fixture(scope="module")
def times(tmp_path_factory: pytest.TempPathFactory, few_rows, cluster) -> tuple[Table, Table]:
    path = tmp_path_factory.mktemp("times") / "rows.parquet"
    pq.write_table(pa.table({"who": range(9), **TIMES}), path)
    return table(path, unit="who"), table(path, unit="who", engine=cluster.master)


@pytest.mark.parametrize("column", ["day", "us", "zoned", "ms", "ns"])
def test_extreme_days_and_times_are_null_on_both_engines(column: str, times: tuple[Table, Table]) -> None:
    whole = 6 if column == "ns" else 3
    starts = {unit: _[column].truncate(unit).notnull() for unit in ("Y", "Q", "M", "W")}
    kept = [rows.where(functools.reduce(operator.and_, starts.values())).count(max_rows=1) for rows in times]
    assert [found(query) for query in kept] == [{0: whole}] * 2
    asked = [rows.derive(**starts).histogram(*starts, max_rows=1, nulls="bin") for rows in times]
    assert [found(query) for query in asked] == [{(True,) * 4: whole, (False,) * 4: 9 - whole}] * 2
    parts = ("year", "month", "day", "week_of_year", "day_of_year")
    numbers = {f"{part}_": getattr(_[column], part)() for part in parts}
    asked = [rows.derive(**numbers).histogram(*numbers, max_rows=1, nulls="bin") for rows in times]
    embedded, distributed = map(found, asked)
    assert embedded == distributed
    assert sum(embedded.values()) == 9
    nulls = [sum(rows for key, rows in embedded.items() if key[place] is None) for place in range(len(parts))]
    assert nulls == [9 - whole] * len(parts)
    assert times[0].private_check().counts == times[1].private_check().counts


def test_nanoseconds_are_cut_alike(times: tuple[Table, Table]) -> None:
    for rows in times:
        moments = [f"1969-12-31 23:59:59.99999{last}" for last in (8, 9)]
        moments += [f"1970-01-01 00:00:00.00000{last}" for last in (0, 1, 2)]
        later = [rows.where(_.ns >= ibis.timestamp(moment)) for moment in moments]
        assert [found(kept.count(max_rows=1))[0] for kept in later] == [6, 5, 2, 1, 0]


def test_collated_texts_are_equal_where_their_bytes_are(session) -> None:
    frame = session.sql(
        "SELECT who COLLATE UTF8_LCASE AS who, zone COLLATE UNICODE_CI AS `the zone` FROM VALUES "
        "('a', 'Mine'), ('A', 'mine'), ('b', 'mine') t(who, zone)"
    )
    frame.createOrReplaceTempView("collated")
    for source in (frame, ibis.pyspark.connect(session).table("collated")):
        rows = table(source, unit="who")
        assert found(rows.histogram("the zone", max_rows=1)) == {"Mine": 1, "mine": 2}
        assert found(rows.count_units()) == {0: 3}


ASKED: dict[str, Callable[[Table], Query]] = {
    "count": lambda t: t.count(max_rows=1),
    "keys": lambda t: t.histogram("zone", keys=["Port", "mall"], max_rows=1),
    "unknown keys": lambda t: t.histogram("zone", max_rows=1),
    "sum": lambda t: t.sum("x", clip=(0, 10), max_rows=1),
    "condition": lambda t: t.where("x > 2 AND zone <> 'mall'").count(max_rows=1),
    "tables": lambda t: t.crosstabs("zone", keys={"zone": ["Port", "mall"]}, max_rows=1),
}
FUNCTIONS = ["floor", "lower", "least", "md5", "conv", "coalesce", "sum", "count", "if", "isnan", "sort_array", "slice"]
PEOPLE = pa.table({"who": range(6), "zone": ["Port", "mall", "Port", "port", "", "mall"], "x": [1.5, 1000.0] * 3})


def people_of(session: Any) -> Any:
    rows = ", ".join(f"({row['who']}, '{row['zone']}', {row['x']}D)" for row in PEOPLE.to_pylist())
    return session.sql(f"SELECT * FROM VALUES {rows} AS t(who, zone, x)")


def with_functions(session: Any) -> Any:
    """A session in which many functions mean something else, and Spark believes that one of them is its own."""
    theirs = session.newSession()
    for name in FUNCTIONS:
        theirs.udf.register(name, lambda *_: 10**9, "long")
    registry = theirs._jsparkSession.sessionState().functionRegistry()
    other = registry.lookupFunctionBuilder(theirs._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier("floor")).get()
    registry.createOrReplaceTempFunction("greatest", other, "built-in")
    return theirs


def test_no_function_of_a_session_changes_an_integer(few_rows) -> None:
    """With `floor` a value was no longer what the clip made of it."""
    theirs = with_functions(few_rows)
    frame = people_of(theirs)
    frame.createOrReplaceTempView("people")
    ours = table(PEOPLE, unit="who")
    for source in (frame, theirs.table("people"), ibis.pyspark.connect(theirs).table("people")):
        opened = table(source, unit="who")
        with_functions(few_rows)
        assert {name: found(ask(opened)) for name, ask in ASKED.items()} == {
            name: found(ask(ours)) for name, ask in ASKED.items()
        }


def test_permanent_functions_change_no_integer(few_rows, cluster, tmp_path: Path) -> None:
    """They are of every session, and Spark looks for its own first."""
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    names = ["floor", "least", "lower", "coalesce"]
    for name in names:
        few_rows.sql(f"CREATE FUNCTION {name}(a STRING) RETURNS INT RETURN 77")
    try:
        opened = table(tmp_path / "people.parquet", unit="who", engine=cluster.master)
        ours = table(tmp_path / "people.parquet", unit="who")
        assert {name: found(ask(opened)) for name, ask in ASKED.items()} == {
            name: found(ask(ours)) for name, ask in ASKED.items()
        }
    finally:
        for name in names:
            few_rows.sql(f"DROP FUNCTION spark_catalog.default.{name}")


def test_functions_that_an_extension_put_in_our_session_are_refused_before_paying(few_rows, tmp_path: Path) -> None:
    query = table(people_of(few_rows), unit="who", name="t").count(max_rows=1)
    engine: Any = query._data.engine
    engine.session.udf.register("Floor", lambda number: 10**9, "long")
    budget = Budget.open(tmp_path / "b.ledger", epsilon=1, delta=1e-6)
    with pytest.raises(EngineUnavailable, match="floor"):
        query.release(budget=budget, share=0.1)
    assert budget.remaining.share == 1


def test_a_session_that_was_given_stays_as_it_is(few_rows, cluster, tmp_path: Path) -> None:
    """Its settings, views and functions; and it stays the active one."""
    from pyspark.sql import SparkSession

    pq.write_table(PEOPLE, tmp_path / "people.parquet")

    def state() -> Any:
        views = [each.name for name in ("default", "global_temp") for each in few_rows.catalog.listTables(name)]
        functions = few_rows.sql("SHOW USER FUNCTIONS").count()
        return few_rows.conf.getAll, views, functions, SparkSession.getActiveSession()._jsparkSession.sessionUUID()

    frame = people_of(few_rows)
    before = state()
    for source, engine in ((frame, None), (tmp_path / "people.parquet", cluster.master)):
        opened = table(source, unit="who", engine=engine)
        for ask in ASKED.values():
            found(ask(opened))
        assert state() == before


def test_a_session_of_ours_has_the_other_settings_of_the_one_that_was_given(few_rows) -> None:
    """The size of shuffles, the keys of a file system: also those that were changed after the table was opened."""
    opened = table(few_rows.range(3).withColumnRenamed("id", "who"), unit="who")
    engine: Any = opened._data.engine
    for value in ("3", None):
        for name in ("spark.sql.shuffle.partitions", "fs.s3a.access.key"):
            before = few_rows.conf.get(name, None)
            few_rows.conf.set(name, value) if value else few_rows.conf.unset(name)
            found(opened.count(max_rows=1))
            assert engine.session.conf.get(name, None) == few_rows.conf.get(name, None)
            assert value is None or engine.session.conf.get(name) == value
            if before is not None:
                few_rows.conf.set(name, before)


SCRIPT = """
import os, signal, subprocess, sys, time
from pathlib import Path
import leastnoise as ln
from leastnoise.errors import EngineUnavailable, ReadingFailed
from leastnoise.testing import aggregate

def ask(*queries):
    for query in queries:
        try:
            aggregate(query)
        except ReadingFailed as error:
            print("refused:", error)

def open_all(engine, files="*.csv"):
    for path in sorted(Path().glob(files)):
        rows = ln.table(path, unit="who", engine=engine, types={"n": "float"})
        ask(
            rows.count(max_rows=1), rows.histogram("fare", keys=["3"], max_rows=1),
            rows.vector_sum("n", clip_norm=1, max_rows=1),
        )

def pay(query, budget):
    try:
        query.release(budget=budget, share=0.1)
    except EngineUnavailable as error:
        print("unavailable:", error, budget.remaining.share)

if sys.argv[1] == "duckdb":
    open_all("duckdb")
else:
    # A session that somebody else started, with its ordinary log, and frames that fail at somebody's row.
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import udf

    theirs = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    level = theirs.sparkContext._jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel
    before = level().toString()
    open_all("local[2]")
    read = theirs.read.csv("1.csv", header=True)
    python = udf(lambda cell: int(cell), "int")
    for frame in (read.selectExpr("fare", "CAST(who AS INT) AS who"), read.select("fare", python("who").alias("who"))):
        ask(ln.table(frame, unit="who").count(max_rows=1))
    print("level:", before == level().toString(), theirs.catalog.listTables())

    budget = ln.Budget.open("city.ledger", epsilon=1, delta=1e-6)
    query = ln.table("0.csv", unit="who", engine="local[2]", name="rows").count_units()
    theirs.stop()
    pay(query, budget)
    # One that we start, and whose process is killed.
    open_all("local[1]", "[01].csv")
    query = ln.table("0.csv", unit="who", engine="local[1]", name="rows").count_units()
    from pyspark import SparkContext
    frame = SparkSession.getActiveSession().range(1)
    java = SparkContext._gateway.proc
    os.killpg(java.pid, signal.SIGKILL) if os.getpgid(java.pid) == java.pid else java.kill()
    java.wait()
    pay(query, budget)
    for call in (query.private_check, lambda: ln.table(frame, unit="id")):
        try:
            call()
        except EngineUnavailable as error:
            print("unavailable:", error)
print("done")
"""
MALFORMED = [f"{CANARY},2", f"{CANARY},2,3,4", f'{CANARY},"2,3', f",{CANARY},", f",{CANARY}"]


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_malformed_row_is_refused_and_nothing_of_it_is_written_anywhere(engine: str, tmp_path: Path) -> None:
    """Also where its unit is missing; of them, only that with an empty last field is whole. On Spark in a session of
    somebody else's and in one of ours; then both end, and nothing is debited for asking them."""
    for number, row in enumerate(MALFORMED):
        (tmp_path / f"{number}.csv").write_text(f"who,fare,n\n1,3,1\n{row}\n4,5,6\n")
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYSPARK_SUBMIT_ARGS": f"--conf spark.sql.shuffle.partitions=1 --driver-java-options '{QUICK}' pyspark-shell",
    }
    command = [sys.executable, "-c", SCRIPT, engine]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "done", done.stderr[-3000:]
    assert CANARY not in done.stdout + done.stderr
    assert "Traceback" not in done.stdout  # a thread of PySpark's own writes one where its Java process is killed
    if engine == "duckdb":
        assert done.stdout.count("refused:") == 12
        return
    assert done.stdout.count("refused:") == 12 + 2 + 6
    assert "level: True []" in done.stdout
    ended = [line for line in done.stdout.splitlines() if line.startswith("unavailable:")]
    assert all("was stopped, or its driver or server does not answer" in line for line in ended)
    assert len(ended) == 4
    assert all(line.endswith("1.0") for line in ended[:2])  # of the budget is left
    assert "py4j" not in done.stdout.lower()  # (in that thread's words it may stand)
