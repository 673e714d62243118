"""What questions cost on Spark beside DuckDB on the same two cores: processor time, shuffle, spill, longest task.

A unit has twenty rows on average; one has a twentieth of all rows, and in the second table half of them. ROWS is how
many there are (20 million unless the environment says otherwise). The integers of both engines are compared.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from findings import Findings, Headline, Seconds, Table
from spark_work import last_job, processor_below, spent_below, work_since

from leastnoise.curator.queries.query import Query
from leastnoise.curator.table import Table as Rows
from leastnoise.curator.table import table
from leastnoise.testing import aggregate

BINS, MOST = 1000, 4.0  # times DuckDB's processor time: the goal
CONFIG = {
    "spark.driver.memory": os.environ.get("DRIVER_MEMORY", "2g"),
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
QUESTIONS: dict[str, Callable[[Rows], Query]] = {
    "max_rows 5": lambda t: t.histogram("bin", keys=range(BINS), max_rows=5),
    "max_rows 5, max_per_bin 1": lambda t: t.histogram("bin", keys=range(BINS), max_rows=5, max_per_bin=1),
    "mean by bin": lambda t: t.mean("x", clip=(0, 1), by="bin", keys=range(BINS), max_rows=5),
    "unknown keys": lambda t: t.histogram("key", max_rows=5),
    "vector sum": lambda t: t.vector_sum(["x", "y"], clip_norm=1.0, max_rows=5),
}
HEAVY = ("max_rows 5", "max_rows 5, max_per_bin 1")  # asked of the second table as well


def run(*, toy: bool = False) -> Findings:
    rows = 20_000 if toy else int(float(os.environ.get("ROWS", "2e7")))
    found: list[dict[str, Any]] = []
    heads: list[Headline] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        for share, label in ((20, "a twentieth"), (2, "half")):
            path = write_rows(Path(folder), rows, share)
            for name, ask in QUESTIONS.items():
                if share == 2 and name not in HEAVY:
                    continue
                row, ratio = compared(ask, path)
                found.append({"rows of one unit": label, "question": name, **row})
                if share == 20:
                    heads.append(
                        Headline(f"Spark's processor time / DuckDB's, {name}", ratio, most=MOST, processor=ratio)
                    )
    title = f"{rows:,} rows, two cores; processor time of the engine, and of Spark's tasks alone:"
    return [*heads, Table("spark_cost", title, found)]


def write_rows(folder: Path, rows: int, share: int) -> Path:
    path = folder / f"rows{share}"
    path.mkdir()
    for part in range(8):
        duckdb.sql(
            f"COPY (SELECT CASE WHEN i % {share} = 0 THEN -1 ELSE (hash(i * 7919) % {rows // 20})::BIGINT END AS unit, "
            f"(hash(i * 104729 + 13) % {BINS})::INTEGER AS bin, (hash(i * 31 + 7) % {rows // 14})::BIGINT AS key, "
            f"(i % 1009) / 1009.0::DOUBLE AS x, (i % 613) / 613.0::DOUBLE AS y "
            f"FROM range({part * rows // 8}, {(part + 1) * rows // 8}) t(i)) "
            f"TO '{path}/part{part}.parquet' (FORMAT parquet)"
        )
    return path


def compared(ask: Callable[[Rows], Query], path: Path) -> tuple[dict[str, Any], float]:
    here, there = table(path, unit="unit"), table(path, unit="unit", engine="local[2]", config=CONFIG)
    session: Any = there._data.engine.session  # type: ignore[attr-defined]
    processor = time.process_time()
    expected = aggregate(ask(here))
    embedded = time.process_time() - processor
    context = session.sparkContext
    known, before = last_job(context), processor_below(os.getpid())
    answer = aggregate(ask(there))
    java = spent_below(os.getpid(), before)
    assert answer.values.tolist() == expected.values.tolist()
    work = work_since(context, known)
    row = {
        "DuckDB, processor": Seconds(embedded),
        "Spark, processor": Seconds(java),
        "its tasks": Seconds(work.pop("tasks")),
        "times DuckDB": java / embedded,
        **work,
        "longest task": Seconds(work["longest task"]),
    }
    return row, java / embedded
