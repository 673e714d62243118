"""One question on Spark, ours beside the other libraries that have Spark: a histogram, one row of a unit in a bin.

A unit has a hundred rows on average, of which ten may count, in ten different bins; ten thousand public bins; released,
noise and all. Two cores each, `local[2]`, warmed by a small table, in turns. ROWS is how many rows there are: ten
million unless the environment says otherwise. Processor time and memory are of the whole tree of processes: Python, the
JVM with its compiler and collector, and Python's workers.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import histogram
import peers
from findings import Findings, Headline, Seconds, Table
from pyspark import SparkContext
from spark_cost import CONFIG
from spark_work import last_job, peak_memory, processor_below, spent_below, work_since
from stopwatch import Lap, Unanswered

from leastnoise.curator.table import table

OURS, PEERS = "leastnoise", ("tumult", "pipeline_dp_spark")
BINS, KEPT = histogram.BINS, histogram.KEPT
TOLD = ("jobs", "stages", "shuffled MB", "spilled MB")


def run(*, toy: bool = False) -> Findings:
    rows = 100_000 if toy else int(float(os.environ.get("ROWS", "1e7")))
    found, missing = peers.present(*PEERS)
    laps: dict[str, Lap] = {}
    told: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        small, path = (histogram.write_rows(Path(folder), size) for size in (10_000, rows))
        for name in (OURS, *found):
            try:
                laps[name], work = ours(small, path) if name == OURS else theirs(found[name], small, path)
            except Unanswered as why:
                missing[name] = str(why)
                continue
            unit = laps[OURS]
            told.append(
                {
                    "what": name,
                    "times ours, processor": laps[name].processor / unit.processor,
                    "processor": Seconds(laps[name].processor),
                    "wall": Seconds(laps[name].seconds),
                    **work,
                }
            )
    title = f"{rows:,} rows, {rows // 100:,} units, {BINS:,} bins, {KEPT} rows a unit and one a bin, each on Spark:"
    heads = [
        Headline(
            f"{name}'s processor time / ours, on Spark, {rows:.0e} rows",
            laps[name].processor / laps[OURS].processor,
            processor=laps[name].processor / laps[OURS].processor,
        )
        for name in laps
        if name != OURS
    ]
    return [*heads, Table("spark_peers", title, told, missing=missing)]


def ours(small: Path, path: Path) -> tuple[Lap, dict[str, Any]]:
    def release(rows: Path) -> Lap:
        wall, own, before = time.perf_counter(), time.process_time(), processor_below(os.getpid())
        there = table(rows, unit="unit", engine="local[2]", config=CONFIG)
        made = there.histogram("bin", keys=range(BINS), max_rows=KEPT, max_per_bin=1).release(epsilon=1, delta=1e-6)
        busy = spent_below(os.getpid(), before) + time.process_time() - own
        return Lap(time.perf_counter() - wall, busy, made.bins)

    release(small)
    context: Any = SparkContext._active_spark_context
    known = last_job(context)
    lap, work = release(path), work_since(context, known)
    memory = peak_memory(os.getpid())
    context.stop()
    return lap, {**{each: work[each] for each in TOLD}, "peak memory, MB": memory}


def theirs(peer: peers.Peer, small: Path, path: Path) -> tuple[Lap, dict[str, Any]]:
    peer("one_a_bin", path=str(small), bins=BINS, kept=KEPT)
    known = peer("last_job").result
    lap = peer("one_a_bin", path=str(path), bins=BINS, kept=KEPT)
    work, memory = peer("work", since=known).result, peer("memory").result
    peer.close()
    return lap, {**{each: work[each] for each in TOLD}, "peak memory, MB": memory}
