"""Many tables from a Parquet file: ours beside group-bys by hand, one query a table, over columns already in memory.

The group-bys know where every row lies, bound nobody and add no noise: what they take is the floor. Ours is measured
twice: counting the same materialised positions, and as a whole release from the file. People have one row each; or one
to three, of which one is kept, so that rows must be ranked.
"""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
from findings import Findings, Headline, Seconds, Table, timings
from stopwatch import Contestant, Timing, race

import leastnoise as ln
from leastnoise.curator.aggregate.cell_counts import CellCounter
from leastnoise.curator.aggregate.packed_positions import Packing
from leastnoise.curator.engines.duckdb import MIN_BLOCK_ROWS
from leastnoise.curator.table import table

SIZES = (20, 2, 12, 14, 7, 5, 10, 16)
WIDE = 40  # columns of ten keys, all pairs: for memory
BY_HAND, COUNTED, ONE, SEVERAL = (
    "group-bys by hand",
    "our counting",
    "our release, one row a person",
    "our release, one of several rows",
)


def run(*, toy: bool = False) -> Findings:
    rows, rounds, wide = (3_000, 1, 6) if toy else (10_000_000, 3, WIDE)
    findings: Findings = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        path = write_rows(Path(folder), rows, SIZES)
        for ways, name in ((2, "pairs"), (3, "triples"))[: 1 if toy else 2]:
            seen = race(contestants(path, ways), rounds=rounds)
            findings += [*heads(seen, name, rows), sheet(seen, name, rows)]
        path.unlink()
        findings += memory(Path(folder), rows, wide)
    return [*findings, *planning(6, rounds=1)] if toy else [*findings, *planning(100, rounds=7)]


def write_rows(folder: Path, rows: int, sizes: tuple[int, ...]) -> Path:
    """Uniform keys; `person` is another in every row, `several` one of half as many."""
    path = folder / f"rows{len(sizes)}.parquet"
    columns = ", ".join(f"(hash(i * 7919 + {c}) % {size})::TINYINT AS c{c}" for c, size in enumerate(sizes))
    duckdb.sql(
        f"COPY (SELECT i AS person, (hash(i) % {rows // 2})::BIGINT AS several, {columns} FROM range({rows}) t(i)) "
        f"TO '{path}' (FORMAT parquet)"
    )
    return path


def contestants(path: Path, ways: int) -> dict[str, Contestant]:
    """All over the tables of so many columns. The materialised positions stay in memory between the rounds."""
    tables = list(itertools.combinations(range(len(SIZES)), ways))
    connection = duckdb.connect()
    positions = ", ".join(f"c{c}::INTEGER AS c{c}" for c in range(len(SIZES)))
    connection.execute(f"CREATE TABLE placed AS SELECT {positions} FROM '{path}'")
    counter, (word,) = CellCounter(SIZES, tuple(tables)), Packing(SIZES).words
    packed = " | ".join(f"(c{c} << {shift})" for c, (_, shift) in enumerate(Packing(SIZES).places))

    def by_hand() -> None:
        for columns in tables:
            names = ", ".join(f"c{column}" for column in columns)
            connection.execute(f"SELECT {names}, count(*) FROM placed GROUP BY {names}").fetchnumpy()

    return {
        BY_HAND: by_hand,
        COUNTED: lambda: counter(
            iter(connection.sql(f"SELECT {packed} AS {word} FROM placed").to_arrow_reader(MIN_BLOCK_ROWS))
        ),
        ONE: lambda: release(path, "person", SIZES, ways),
        SEVERAL: lambda: release(path, "several", SIZES, ways),
    }


def release(path: Path, unit: str, sizes: tuple[int, ...], ways: int) -> int:
    keys = {f"c{column}": range(size) for column, size in enumerate(sizes)}
    query = table(path, unit=unit).crosstabs(keys=keys, ways=(ways,), max_rows=1)
    return query.release(epsilon=1, delta=1e-6).bins or 0


def heads(seen: dict[str, Timing], name: str, rows: int) -> Findings:
    floor, what = seen[BY_HAND], f"{name} of 8 columns, {rows:.0e} rows"
    return [
        Headline.between(f"{what}: {COUNTED} / {BY_HAND}", seen[COUNTED], floor, most=1.5),
        Headline.between(f"{what}: {ONE} / {BY_HAND}", seen[ONE], floor, most=3),
        Headline.between(f"{what}: {SEVERAL} / {BY_HAND}", seen[SEVERAL], floor, most=3),
    ]


def sheet(seen: dict[str, Timing], name: str, rows: int) -> Table:
    title = f"All {name} of 8 columns with {', '.join(map(str, SIZES))} keys, {rows:,} rows:"
    note = "The group-bys read positions that are in memory already; ours read the file, except where they only count."
    return Table(f"crosstabs_{name}", title, timings(seen, reference=BY_HAND), note)


def memory(folder: Path, rows: int, wide: int) -> Findings:
    """In a process of its own, whose peak is that of the release."""
    path = write_rows(folder, rows, (10,) * wide)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import crosstabs, pathlib, time; begin = time.perf_counter();"
        "crosstabs.release(pathlib.Path(sys.argv[2]), 'person', (10,) * int(sys.argv[3]), 2);"
        "print(time.perf_counter() - begin, crosstabs.peak())"
    )
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", code, here, str(path), str(wide)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, peak_gb = map(float, done.stdout.split()[-2:])  # after DuckDB's own progress bar
    row = {
        "columns": wide,
        "tables": wide * (wide - 1) // 2,
        "rows": rows,
        "seconds": Seconds(seconds),
        "peak GB": peak_gb,
    }
    return [
        Headline(f"all pairs of {wide} columns, {rows:.0e} rows: peak memory in GB", peak_gb, most=4),
        Table("crosstabs_memory", f"All pairs of {wide} columns of ten keys, from the file:", [row]),
    ]


def peak() -> float:
    """The most memory that this process had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def planning(columns: int, *, rounds: int) -> Findings:
    """The optimal strategy of all tables of at most three of a hundred columns, from nothing."""
    sizes = {f"c{column}": 10 for column in range(columns)}
    seen = race({"optimize": lambda: ln.workload.Workload(sizes, ways=3).optimize(weights="cells")}, rounds=rounds)
    title = f"The optimal noise for all tables of at most three of {columns} columns of ten keys:"
    return [
        Headline(f"planning for {columns} columns, at most 3-way: seconds", seen["optimize"].median, most=1),
        Table("crosstabs_planning", title, timings(seen, reference="optimize")),
    ]
