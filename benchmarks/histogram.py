"""A bounded histogram beside hand-written window SQL, interleaved in one process: `python
benchmarks/histogram.py`.

Rows are drawn once into a Parquet file: `--rows` of them, a unit having a hundred on average, ten
thousand bins, at most ten rows a unit. The two are run in turn and the ratio of medians is printed; the
kept rows differ (the hashes do), so totals and not bins are compared.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from leastnoise.tables import table
from leastnoise.testing import aggregate

BINS, KEPT = 10_000, 10
WINDOW = """
SELECT bin, count(*) FROM (
    SELECT bin, row_number() OVER (PARTITION BY unit ORDER BY hash(unit, bin), bin) AS place FROM '{path}'
) WHERE place <= {kept} GROUP BY bin
"""


def write_rows(path: Path, rows: int) -> None:
    """Uniform units and bins; the same file for the same number of rows."""
    duckdb.sql(
        f"COPY (SELECT (hash(i * 7919) % {rows // 100})::BIGINT AS unit, "
        f"(hash(i * 104729 + 13) % {BINS})::INTEGER AS bin FROM range({rows}) t(i)) TO '{path}' "
        "(FORMAT parquet)"
    )


def ours(path: Path, memory_limit: str | None) -> int:
    rows = table(path, unit="unit", memory_limit=memory_limit)
    return int(aggregate(rows.histogram("bin", keys=range(BINS), max_rows=KEPT)).values.sum())


def window(path: Path) -> int:
    connection = duckdb.connect()
    answer = connection.execute(WINDOW.format(path=path, kept=KEPT)).fetchnumpy()
    return int(next(iter(reversed(list(answer.values())))).sum())


def seconds(work: Callable[[], int]) -> tuple[float, int]:
    begin = time.perf_counter()
    total = work()
    return time.perf_counter() - begin, total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory-limit", help="for ours, e.g. 1GB; the window is then left out")
    parser.add_argument("--file", type=Path, help="keep the rows in this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "rows.parquet"
        if not path.exists():
            write_rows(path, given.rows)
        measured: dict[str, list[float]] = {"leastnoise": [], "window SQL": []}
        for _ in range(given.repeats):
            spent, total = seconds(lambda: ours(path, given.memory_limit))
            measured["leastnoise"].append(spent)
            if given.memory_limit is None:
                spent, other = seconds(lambda: window(path))
                measured["window SQL"].append(spent)
                assert total == other, (total, other)
        for name, times in measured.items():
            if times:
                print(f"{name:12} {statistics.median(times):7.2f} s   {[round(t, 2) for t in times]}")
        if given.memory_limit is None:
            print(
                "ratio        "
                f"{statistics.median(measured['leastnoise']) / statistics.median(measured['window SQL']):.2f}"
            )


if __name__ == "__main__":
    main()
