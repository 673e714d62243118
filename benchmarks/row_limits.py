"""Which rows of a unit are kept: ours beside SQL by hand, for light and heavy units, in random and in sorted order.

Every unit has 1, 10, 100 or 1,000 rows on average, in 4,000 bins, of which five may count. The window is what an
engineer would write for `max_rows` alone; ours are whole releases, noise and all, one of them with `max_per_bin=1` as
well. Counting rows a unit keeps none and is the floor; it reads one of the two columns. With a limit of memory
(`row_limits_large`) there is a second floor beside it: both columns handed over as Arrow batches, and nothing done.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import duckdb
from findings import Findings, Headline, Table, timings
from stopwatch import Contestant, Timing, race

from leastnoise.curator.table import table

BINS, KEPT = 4_000, 5
WEIGHTS = (1, 10, 100, 1000)  # rows a unit, on average
FLOOR, SQL, ROWS, ONE = "rows a unit, counted", "window SQL by hand", "max_rows=5", "max_rows=5, max_per_bin=1"
HANDED = "both columns, handed over"
COUNTED = "SELECT max(rows) FROM (SELECT count(*) AS rows FROM '{path}' GROUP BY unit)"
WINDOW = """
SELECT bin, count(*) FROM (
    SELECT bin, row_number() OVER (PARTITION BY unit ORDER BY hash(unit, bin), bin) AS place FROM '{path}'
) WHERE place <= {kept} GROUP BY bin
"""


def run(*, toy: bool = False) -> Findings:
    return measured(5_000, rounds=1, weights=(10,)) if toy else measured(10_000_000, rounds=4)


def measured(
    rows: int, *, rounds: int, memory_limit: str | None = None, weights: tuple[int, ...] = WEIGHTS
) -> Findings:
    """Units of these weights in both orders; with little memory beside counting alone, without beside the window."""
    heads: Findings = []
    sheet = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        for each in weights:
            for order in ("random", "sorted"):
                path = write_rows(Path(folder), rows, rows // each, order)
                seen = race(contestants(path, memory_limit), rounds=rounds)
                case = f"{rows:.0e} rows, {each:,} a unit, {order}"
                heads += heads_of(each, case, seen, memory_limit)
                sheet += sheet_of(each, order, seen)
                path.unlink()
    limit = f", memory_limit={memory_limit}" if memory_limit else ""
    title = f"{rows:,} rows in {BINS:,} bins{limit}:"
    return [*heads, Table(f"row_limits_{rows}", title, sheet)]


def sheet_of(each: int, order: str, seen: dict[str, Timing]) -> list[dict[str, Any]]:
    load = {"load average": round(os.getloadavg()[0], 1)}
    return [{"rows a unit": each, "order": order, **row, **load} for row in timings(seen, reference=FLOOR)]


def write_rows(folder: Path, rows: int, units: int, order: str) -> Path:
    """Uniform units and bins; sorted ones have equal units beside each other."""
    path = folder / "rows.parquet"
    unit = f"(hash(i * 7919) % {units})" if order == "random" else f"(i * {units} // {rows})"
    duckdb.sql(
        f"COPY (SELECT {unit}::BIGINT AS unit, (hash(i * 104729 + 13) % {BINS})::INTEGER AS bin "
        f"FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
    )
    return path


def contestants(path: Path, memory_limit: str | None) -> dict[str, Contestant]:
    settings = {"memory_limit": memory_limit, "temp_directory": str(path.parent)} if memory_limit else {}

    def sql(text: str) -> Contestant:
        return lambda: duckdb.connect(config=settings).execute(text.format(path=path, kept=KEPT)).fetchnumpy()

    def handed() -> int:
        batches = duckdb.connect(config=settings).sql(f"SELECT unit, bin FROM '{path}'").to_arrow_reader(2**19)
        return sum(batch.num_rows for batch in batches)

    def ours(**limits: int) -> Contestant:
        def release() -> int:
            rows = table(path, unit="unit", memory_limit=memory_limit)
            return rows.histogram("bin", keys=range(BINS), max_rows=KEPT, **limits).release(epsilon=1, delta=1e-6).bins

        return release

    beside = {HANDED: handed} if memory_limit else {SQL: sql(WINDOW)}
    return {FLOOR: sql(COUNTED), **beside, ROWS: ours(), ONE: ours(max_per_bin=1)}


def heads_of(each: int, case: str, seen: dict[str, Timing], memory_limit: str | None) -> Findings:
    """The goal beside the window is that of ten rows a unit: with one, counting alone takes as long as the window."""
    beside, most = (FLOOR, 4.0) if memory_limit else (SQL, 0.6 if each == 10 else None)
    return [Headline.between(f"{case}: {name} / {beside}", seen[name], seen[beside], most=most) for name in (ROWS, ONE)]
