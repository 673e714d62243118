"""An executor dies in the middle of a set of crosstabs on a cluster of two workers: DuckDB's integers all the same.

All pairs of six columns, one of the three rows that a unit has on average. A master and two workers of one core each,
all on this machine. The executor is killed with -9 when a third of the tasks of a stage is done; what it had made is
made again. ROWS is how many rows there are: 100 million unless the environment says otherwise.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyspark
from findings import Findings, Headline, Seconds, Table
from spark_work import executors_lost, last_job, work_since

from leastnoise.curator.queries.query import Query
from leastnoise.curator.table import Table as Rows
from leastnoise.curator.table import table
from leastnoise.testing import aggregate

SIZES = (2, 5, 12, 7, 31, 50)
PATIENCE = 120.0  # seconds until a master and its workers are there
NOTHING = dict.fromkeys(
    ("executors lost", "cells that differ", "jobs", "stages", "shuffled MB", "spilled MB"), math.nan
)  # of DuckDB
CONFIG = {
    "spark.driver.memory": "2g",
    "spark.executor.memory": os.environ.get("EXECUTOR_MEMORY", "2g"),
    "spark.executor.cores": "1",
    "spark.sql.shuffle.partitions": "16",
    "spark.sql.files.minPartitionNum": "16",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def run(*, toy: bool = False) -> Findings:
    rows = 50_000 if toy else int(float(os.environ.get("ROWS", "1e8")))
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        path = write_rows(Path(folder), rows)
        begin = time.perf_counter()
        expected = aggregate(ask(table(path, unit="unit", memory_limit="3GB"))).values.tolist()
        found.append({"what": "DuckDB", "wall": Seconds(time.perf_counter() - begin), **NOTHING})
        with cluster(Path(folder)) as master:
            there = table(path, unit="unit", engine=master, config=CONFIG)
            differ = counted(there, expected, found)
    title = f"{rows:,} rows, {sum(1 for _ in pairs()):,} tables of {len(expected):,} cells; all integers compared:"
    head = Headline("crosstabs with a lost executor: cells that differ from DuckDB's", float(differ), most=0)
    return [head, Table("spark_loss", title, found)]


def pairs() -> Iterator[tuple[int, int]]:
    return ((first, second) for second in range(len(SIZES)) for first in range(second))


def ask(rows: Rows) -> Query:
    return rows.crosstabs(keys={f"c{place}": range(size) for place, size in enumerate(SIZES)}, ways=(2,), max_rows=1)


def write_rows(folder: Path, rows: int) -> Path:
    path = folder / "rows"
    path.mkdir()
    columns = ", ".join(f"(hash(i * 7919 + {place}) % {size})::TINYINT AS c{place}" for place, size in enumerate(SIZES))
    for part in range(16):
        duckdb.sql(
            f"COPY (SELECT (hash(i) % {rows // 3})::BIGINT AS unit, {columns} "
            f"FROM range({part * rows // 16}, {(part + 1) * rows // 16}) t(i)) "
            f"TO '{path}/part{part}.parquet' (FORMAT parquet)"
        )
    return path


def counted(there: Rows, expected: list[int], found: list[dict[str, Any]]) -> int:
    """A run on the cluster that loses an executor, and in how many cells it differs."""
    context: Any = there._data.engine.session.sparkContext  # type: ignore[attr-defined]
    known, begin, lost, ended = last_job(context), time.perf_counter(), threading.Event(), threading.Event()
    watcher = threading.Thread(target=_kill_one, args=(context, lost, ended))
    watcher.start()
    answer = aggregate(ask(there)).values.tolist()
    wall = time.perf_counter() - begin
    ended.set()
    watcher.join()
    assert lost.is_set(), "the query ended before an executor was killed"
    work = work_since(context, known)
    name = "two workers, one executor killed"
    differ = sum(ours != theirs for ours, theirs in zip(answer, expected, strict=True))
    told = {each: work[each] for each in ("jobs", "stages", "shuffled MB", "spilled MB")}
    lost_now = executors_lost(context)
    found.append({"what": name, "wall": Seconds(wall), "executors lost": lost_now, "cells that differ": differ, **told})
    return differ


def _kill_one(context: Any, lost: threading.Event, ended: threading.Event) -> None:
    """Wait until a third of the tasks of a stage with several is done, then kill an executor of this session."""
    tracker = context.statusTracker()
    while not ended.wait(0.05):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage and stage.numTasks > 4 and 3 * stage.numCompletedTasks >= stage.numTasks for stage in stages):
            os.kill(_executors()[0], signal.SIGKILL)
            lost.set()
            return


def _executors() -> list[int]:
    """The processes of executors whose worker is a child of ours."""
    ours = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            process = int(entry.parent.name)
            if b"CoarseGrainedExecutorBackend" in entry.read_bytes() and _parent(_parent(process)) == os.getpid():
                ours.append(process)
    return ours


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A master and two workers, ended with what is below them."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    master, started = f"spark://127.0.0.1:{port}", []
    try:
        started.append(_launch(folder, "master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", "0"))
        _wait(folder / "master.Master0.log", "I have been elected leader")
        for number in (1, 2):
            place = ("--work-dir", str(folder / f"worker{number}"), "--cores", "1", "--memory", "4g")
            place = ("--host", "127.0.0.1", "--webui-port", "0", *place, master)
            started.append(_launch(folder, "worker.Worker", *place, number=number))
        yield master
    finally:
        from pyspark.sql import SparkSession

        running = SparkSession.getActiveSession()
        if running is not None:
            running.stop()
        for process in reversed(started):
            process.terminate()
            process.wait()


def _launch(folder: Path, main: str, *arguments: str, number: int = 0) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", *arguments]
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / f"{main}{number}.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)


def _wait(log: Path, words: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while words not in log.read_text(errors="replace"):
        assert time.monotonic() < deadline, f"{log.name} never said {words!r}"
        time.sleep(0.1)
