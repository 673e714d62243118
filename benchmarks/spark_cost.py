"""What questions cost on Spark beside DuckDB on the same two cores: processor time, shuffle, spill, longest task.

A unit has twenty rows on average; one has a twentieth of all rows, and in the second table half of them. ROWS is how
many there are (20 million unless the environment says otherwise). The integers of both engines are compared.

On DuckDB our own histograms and means are compiled loops over what DuckDB reads. What DuckDB takes by itself for the
same limits, as SQL with a window that somebody would write by hand, is the second reference.
"""

from __future__ import annotations

import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from findings import Findings, Headline, Seconds, Table
from spark_work import last_job, processor_below, python_below, spent_below, work_since

from leastnoise.curator.queries.query import Query
from leastnoise.curator.table import Table as Rows
from leastnoise.curator.table import table
from leastnoise.testing import aggregate

BINS, MOST, ROUNDS = 1000, 4.0, 3  # MOST: times DuckDB's processor time, the goal
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
FIRST = (
    "(SELECT *, row_number() OVER (PARTITION BY unit ORDER BY hash(unit, bin{more}), bin{more}) AS place FROM {rows} "
    f"WHERE bin BETWEEN 0 AND {BINS - 1} AND unit IS NOT NULL) WHERE place <= 5 GROUP BY bin"
)
BY_HAND = {  # the same number of rows of each unit; which ones is decided by DuckDB's own hash
    "max_rows 5": "SELECT bin, count(*) FROM " + FIRST.format(rows="read_parquet('{path}')", more=""),
    "max_rows 5, max_per_bin 1": "SELECT bin, count(*) FROM "
    + FIRST.format(rows="(SELECT DISTINCT unit, bin FROM read_parquet('{path}'))", more=""),
    "mean by bin": "SELECT bin, count(*), sum(greatest(0, least(1, x))) FROM "
    + FIRST.format(rows="read_parquet('{path}')", more=", x"),
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
                row = compared(name, ask, path, rounds=1 if toy else ROUNDS)
                print(label, name, row, f"load average {os.getloadavg()[0]:.1f}", flush=True)
                found.append({"rows of one unit": label, "question": name, **row})
                if share == 20:
                    heads += headlines(name, row)
    title = (
        f"{rows:,} rows, two cores; processor time, medians of {ROUNDS} rounds after one that warms up. Of DuckDB: "
        "ours, and a window written by hand. Of Spark: all of its processes; of these Python, and the JVM's tasks:"
    )
    return [*heads, Table("spark_cost", title, found)]


def headlines(name: str, row: dict[str, Any]) -> list[Headline]:
    """Against ours on DuckDB, and against DuckDB's own window where there is one."""
    made = []
    for column, words in (("times ours", "ours on DuckDB"), ("times the window", "a window by hand in DuckDB")):
        ratio = row[column]
        if ratio == ratio:
            made.append(Headline(f"Spark's processor time / {words}, {name}", ratio, most=MOST, processor=ratio))
    return made


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


def compared(name: str, ask: Callable[[Rows], Query], path: Path, *, rounds: int) -> dict[str, Any]:
    """In turns: ours on DuckDB, the window by hand, Spark. The first round of Spark's warms up and is not counted."""
    here, there = table(path, unit="unit"), table(path, unit="unit", engine="local[2]", config=CONFIG)
    context: Any = there._data.engine.session.sparkContext  # type: ignore[attr-defined]
    laps: list[dict[str, float]] = []
    work: dict[str, Any] = {}
    for _ in range(rounds + 1):
        begin = time.process_time()
        expected = aggregate(ask(here)).values.tolist()
        ours = time.process_time() - begin
        window = by_hand(name, path)
        known, before, begin = last_job(context), processor_below(os.getpid()), time.process_time()
        answer = aggregate(ask(there)).values.tolist()
        driver = time.process_time() - begin
        python = python_below(os.getpid(), before)
        spark = spent_below(os.getpid(), before) + driver
        assert answer == expected
        work = work_since(context, known)
        laps.append({"ours": ours, "window": window, "spark": spark, "python": python, "tasks": work.pop("tasks")})
    median = {each: statistics.median(lap[each] for lap in laps[1:]) for each in laps[0]}
    return {
        "DuckDB, ours": Seconds(median["ours"]),
        "DuckDB, window": Seconds(median["window"]),
        "Spark": Seconds(median["spark"]),
        "its Python": Seconds(median["python"]),
        "its JVM's tasks": Seconds(median["tasks"]),
        "times ours": median["spark"] / median["ours"],
        "times the window": median["spark"] / median["window"],
        **work,
        "longest task": Seconds(work["longest task"]),
    }


def by_hand(name: str, path: Path) -> float:
    """Processor seconds of DuckDB's own window; NaN where none is written."""
    if name not in BY_HAND:
        return math.nan
    begin = time.process_time()
    duckdb.sql(BY_HAND[name].replace("{path}", f"{path}/*.parquet")).fetchall()
    return time.process_time() - begin
