"""Spark Connect: a client without a JVM gives the same integers, and ends like any other session."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from ibis.expr.operations import InMemoryTable

import leastnoise as ln
from dirty_rows import QUERIES, write
from leastnoise.curator.engines import spark_session
from leastnoise.curator.table import table
from leastnoise.errors import EngineUnavailable, ReadingFailed, UnknownSource
from leastnoise.testing import aggregate

pytestmark = pytest.mark.spark
pytest.importorskip("grpc_status", reason="pyspark[connect] is not installed")

KINDS = ["text keys", "nearest", "vector sum", "crosstabs", "unknown days"]


@pytest.fixture(scope="module")
def server(session: Any, server_port: int) -> str:
    return f"sc://127.0.0.1:{server_port}"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("rows"), rows=2_000, files=2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_gives_the_same_integers(kind: str, files: str, server: str) -> None:
    embedded, remote = (aggregate(QUERIES[kind](table(files, unit="unit", engine=each))) for each in (None, server))
    assert embedded.values.tolist() == remote.values.tolist()
    assert embedded.keys == remote.keys


def test_frames_and_names_of_a_server_are_opened(files: str, server: str, tmp_path: Path) -> None:
    from pyspark.sql.connect.session import SparkSession

    made = SparkSession.builder.remote(server).create()
    frame = made.read.parquet(*sorted(str(file) for file in Path(files).parent.glob("*.parquet")))
    frame.write.saveAsTable("over_connect", mode="overwrite")
    made.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    given = made.conf.getAll
    expected = aggregate(table(files, unit="unit").count_units()).values.tolist()
    for source in (frame, "over_connect"):
        engine = server if isinstance(source, str) else None
        opened = table(source, unit="unit", engine=engine, name="rows")
        assert aggregate(opened.count_units()).values.tolist() == expected
    assert made.conf.getAll == given
    assert [view.name for view in made.catalog.listTables() if view.isTemporary] == []

    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)
    query = table(frame, unit="unit", name="rows").count_units()
    query.release(budget=budget, share=0.25)
    made.stop()
    with pytest.raises(EngineUnavailable, match="was stopped, or its driver or server does not answer"):
        query.release(budget=budget, share=0.25)
    assert budget.remaining.share == 0.75


class Lost:
    """The calls of a server that is gone."""

    def __getattr__(self, call: str) -> Any:
        import grpc

        class Unavailable(grpc.RpcError):
            def code(self) -> Any:
                return grpc.StatusCode.UNAVAILABLE

        def lost(*_given: Any, **_more: Any) -> Any:
            raise Unavailable

        return lost


def test_a_server_that_is_gone_is_asked_a_few_times_only(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's own rule is to ask for ten minutes, which nothing of ours may follow: not the question before a
    debit, not a query whose server is lost, and not what drops the tables of keys after it."""
    from pyspark.sql.connect.client.retries import RetryPolicy
    from pyspark.sql.connect.session import SparkSession

    asked: list[Any] = []

    class Usual(RetryPolicy):
        def can_retry(self, exception: BaseException) -> bool:
            asked.append(exception)
            return False

    made = SparkSession.builder.remote(server).create()
    frame = made.sql("SELECT id AS who FROM range(3)")
    monkeypatch.setattr(spark_session, "RETRIES", 0)
    monkeypatch.setattr(spark_session, "READ_RETRIES", 0)
    opened = table(frame, unit="who", name="rows")
    engine: Any = opened._data.engine
    made.client.set_retry_policies([Usual()])
    own = engine.session.client.get_retry_policies()
    assert own
    assert all(policy.max_retries == 0 for policy in own)
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)

    def lose(frame: Any) -> None:
        for session in (made, engine.session):
            monkeypatch.setattr(session.client, "_stub", Lost())
        frame.collect()

    with pytest.raises(ReadingFailed):
        engine._read(opened.rows, lose)
    with pytest.raises(EngineUnavailable, match="does not answer"):
        opened.count_units().release(budget=budget, share=0.25)
    with pytest.raises(EngineUnavailable, match="does not answer"):
        table(frame, unit="who")
    assert asked == []
    assert [type(policy) for policy in made.client.get_retry_policies()] == [Usual]
    assert budget.remaining.share == 1
    monkeypatch.undo()
    made.stop()


def test_keys_are_there_until_the_last_query_that_names_them_has_ended(server: str) -> None:
    """A server looks names up when it reads, and queries in two threads may name one table of keys."""
    from pyspark.sql.connect.session import SparkSession

    theirs = SparkSession.builder.remote(server).create()
    rows = table(theirs.sql("SELECT id AS who, id % 2 AS place FROM range(3)"), unit="who")
    joined = rows.join_public({"place": [0, 1], "zone": ["a", "b"]}, on="place")
    expression, engine = joined._data.rows, cast(Any, joined._data.engine)
    assert expression.op().find(InMemoryTable)

    def read_twice(frame: Any) -> list[int]:
        return [engine.fetch(expression).num_rows, frame.count()]

    assert engine._read(expression, read_twice) == [3, 3]
    left = [each.name for each in engine.session.catalog.listTables() if each.isTemporary]
    assert left
    assert all(name.startswith("leastnoise_rows_") for name in left)
    theirs.stop()


def test_the_end_of_one_session_of_ours_ends_no_other(server: str) -> None:
    """A table may be forgotten while another one is read: the threads of PySpark's client are of the whole process."""
    from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator as Answers
    from pyspark.sql.connect.session import SparkSession

    theirs = SparkSession.builder.remote(server).create()
    one, other = (table(theirs.range(3).withColumnRenamed("id", "who"), unit="who") for _ in range(2))
    ended: Any = one._data.engine

    def end(frame: Any) -> int:
        threads = Answers._get_or_create_release_thread_pool()
        spark_session.end(ended.session)
        assert Answers._get_or_create_release_thread_pool() is threads
        return int(frame.count())

    engine: Any = other._data.engine
    assert engine._read(other.rows, end) == 3
    with pytest.raises(EngineUnavailable):
        aggregate(one.count_units())
    theirs.stop()


def test_no_function_of_a_session_of_a_server_changes_an_integer(server: str) -> None:
    """Names are looked up in a session of our own, so a frame that needs those of its own session is refused."""
    from pyspark.sql.connect.session import SparkSession

    theirs = SparkSession.builder.remote(server).create()
    frame = theirs.sql("SELECT id AS who, double(id) * 100 + 0.5D AS x FROM range(3)")
    for name in ("floor", "least", "coalesce", "lower"):
        theirs.udf.register(name, lambda *_: 10**9, "long")
    query = table(frame, unit="who").sum("x", clip=(0, 10), max_rows=1)
    assert aggregate(query).values[0] * query.grid == 20.5
    frame.createOrReplaceTempView("theirs")
    theirs.udf.register("own", lambda *_: 1, "long")
    for other in (theirs.table("theirs"), theirs.sql("SELECT own(id) AS who FROM range(3)")):
        with pytest.raises(UnknownSource, match="temporary view or function"):
            table(other, unit="who")
    theirs.stop()


def test_a_setting_of_the_server_is_no_setting_of_a_client(server: str, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"let a client set spark\.executor\.memory"):
        table("anything", unit="who", engine=server, config={"spark.executor.memory": "4g"})


def test_what_answers_and_is_no_server_is_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "RETRIES", 0)
    with pytest.raises(EngineUnavailable, match="does not open a session of Spark Connect"):
        table("anything", unit="who", engine=cluster.master.replace("spark://", "sc://"))
