"""Workers that lack leastnoise: what needs it there is refused before it is paid for, and works once it is shipped."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.curator.engines import spark_session, spark_workers
from leastnoise.curator.rows import keeping
from leastnoise.errors import EngineUnavailable, ReadingFailed
from leastnoise.testing import aggregate

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves
]

BARE = """
import os, sys
sys.path[:] = [path for path in sys.path if not os.path.isdir(os.path.join(path, "leastnoise"))]
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with every package of this one but leastnoise."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "sitecustomize.py").write_text(BARE)
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    return str(program)


def package(folder: Path) -> str:
    """Our own package as --py-files takes it."""
    path, root = folder / "leastnoise.zip", Path(ln.__file__).parent
    with zipfile.ZipFile(path, "w") as archive:
        for file in root.rglob("*.py"):
            archive.write(file, Path("leastnoise") / file.relative_to(root))
    return str(path)


def test_what_workers_lack_is_said_before_it_is_paid_for(
    bare: str, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = session.sql("SELECT id AS who, id % 2 AS odd, 0.5D AS x, 0.25D AS y FROM range(6)")
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)

    def ask() -> Any:
        return ln.table(frame, unit="who", name="rows").vector_sum(["x", "y"], clip_norm=1.0, max_rows=1)

    for interpreter, words in (("/no/such/python", "cannot be run"), (bare, "has no leastnoise")):
        monkeypatch.setattr(session.sparkContext, "pythonExec", interpreter)
        with pytest.raises(EngineUnavailable, match=words):
            ask().release(budget=budget, share=0.1)
    assert budget.remaining.share == 1
    ln.table(frame, unit="who", name="rows").count_units().release(budget=budget, share=0.1)  # needs no Python there
    with monkeypatch.context() as many:  # of many rows Python there is quicker, and SQL gives the same without it
        many.setattr(keeping, "MANY_ROWS", 0)
        of_two = ln.table(frame, unit="who", name="rows").histogram("odd", keys=range(2), max_rows=1)
        assert aggregate(of_two).values.tolist() == [3, 3]
    session.sparkContext.addPyFile(package(tmp_path))
    ask().release(budget=budget, share=0.1)
    shipped = aggregate(ask()).values.tolist()
    monkeypatch.undo()
    assert shipped == aggregate(ask()).values.tolist()


def test_a_server_is_sent_the_package_where_its_workers_lack_it(bare: str, session: Any, server_port: int) -> None:
    """Files that somebody adds are of one session of the server, and queries run in another one."""
    pytest.importorskip("grpc_status", reason="pyspark[connect] is not installed")
    from pyspark.sql.connect.session import SparkSession

    theirs = SparkSession.builder.remote(f"sc://127.0.0.1:{server_port}").create()
    frame = theirs.sql("SELECT id AS who, 0.5D AS x, 0.25D AS y FROM range(6)")
    theirs.conf.set("spark.sql.execution.pyspark.python", bare)
    query = ln.table(frame, unit="who").vector_sum(["x", "y"], clip_norm=1.0, max_rows=1)
    engine: Any = query._data.engine
    with engine._applied():
        assert spark_workers._asked(engine.session) == (["no leastnoise"], "")
    query._data.engine.check_ready(query.rows, in_python=True)
    assert (aggregate(query).values * query.grid).tolist() == [3.0, 1.5]
    theirs.stop()


def test_the_interpreter_of_a_frame_is_the_drivers(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.sparkContext, "pythonExec", "python3")
    spark_session.set_interpreter(session)
    assert session.sparkContext.pythonExec == "python3"  # somebody said so
    monkeypatch.delenv("PYSPARK_PYTHON")
    spark_session.set_interpreter(session)
    assert session.sparkContext.pythonExec == sys.executable


def test_executors_write_nothing_about_a_row_that_fails(session: Any, cluster: Any) -> None:
    """With the option that sessions of ours have; without it, Spark's words about the task quote the cell."""
    text = "if(id = 3, concat('canary', 400 + 24), string(id))"
    frame = session.range(5).selectExpr(f"CAST({text} AS INT) AS who")
    with pytest.raises(ReadingFailed):
        aggregate(ln.table(frame, unit="who").count(max_rows=1))
    written = [file.read_text() for file in cluster.folder.glob("worker*/*/*/stderr")]
    assert len(written) >= 2
    assert not any("canary424" in each for each in written)


def test_a_session_of_ours_silences_its_executors_beside_options_of_the_users() -> None:
    from pyspark import SparkConf

    name = "spark.executor.extraJavaOptions"
    own = SparkConf(loadDefaults=False)
    assert spark_session.settings(own, {})[name] == spark_session.SILENT
    assert spark_session.settings(own, {name: "-Xss4m"})[name] == f"-Xss4m {spark_session.SILENT}"
    assert name not in spark_session.settings(own, {"spark.log.level": "INFO"})
    own.set(name, "-Xss2m")
    assert spark_session.settings(own, {})[name] == f"-Xss2m {spark_session.SILENT}"


def test_a_release_waits_for_workers_before_it_pays_and_says_so(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = session.sql("SELECT id AS who FROM range(6)")
    query = ln.table(frame, unit="who", name="rows").count_units()
    assert capsys.readouterr().err == ""
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)
    monkeypatch.setattr(spark_workers, "_has_workers", lambda _context: False)
    monkeypatch.setattr(spark_workers, "SECONDS_BEFORE_NOTICE", 0.0)
    query.release(budget=budget, share=0.1)
    assert "no worker has taken this session yet" in capsys.readouterr().err

    def lost(_self: Any) -> Any:
        raise ConnectionError

    monkeypatch.setattr(type(frame), "collect", lost)
    with pytest.raises(EngineUnavailable, match="ran a first task"):
        query.release(budget=budget, share=0.1)
    assert budget.remaining.share == 0.9
