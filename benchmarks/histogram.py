"""A bounded histogram from a Parquet file: ours beside hand-written SQL and the peers' own engines.

A unit has a hundred rows on average, of which ten may count; ten thousand bins. The plain group-by bounds nobody and
is the floor; the window is what an engineer would write for the bound alone. Ours and the peers' answers are released,
noise and all.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import duckdb
import peers
from findings import Findings, Headline, Table, timings
from stopwatch import Contestant, Timing, race

from leastnoise.curator.table import table

BINS, KEPT = 10_000, 10
PEERS = ("opendp", "tumult", "pipeline_dp")
FEWER = {"opendp": 3, "tumult": 1, "pipeline_dp": 1}  # rounds of those that take minutes
GOALS = {"opendp": 2.5, "tumult": 20.0}
OURS, SQL, FLOOR = "leastnoise", "window SQL by hand", "plain group-by"
WINDOW = """
SELECT bin, count(*) FROM (
    SELECT bin, row_number() OVER (PARTITION BY unit ORDER BY hash(unit, bin), bin) AS place FROM '{path}'
) WHERE place <= {kept} GROUP BY bin
"""


def run(*, toy: bool = False) -> Findings:
    found, missing = peers.present(*PEERS)
    findings: Findings = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        for peer in found.values():  # interpreters, Java machines and plans are warm before anything is timed
            peer("histogram", path=str(write_rows(Path(folder), 10_000)), bins=BINS, kept=KEPT)
        for rows in (10_000,) if toy else (1_000_000, 10_000_000):
            path = write_rows(Path(folder), rows)
            contestants = engines(path)
            for name, peer in found.items():
                contestants[name] = peer.job("histogram", path=str(path), bins=BINS, kept=KEPT)
            lost = dict(missing)
            seen = race(contestants, rounds=2 if toy else 7, fewer=FEWER if found else None, lost=lost)
            findings += [*heads(seen, rows), sheet(seen, rows, lost)]
    return findings


def write_rows(folder: Path, rows: int) -> Path:
    """Uniform units and bins; the same file for the same number of rows."""
    path = folder / f"rows{rows}.parquet"
    duckdb.sql(
        f"COPY (SELECT (hash(i * 7919) % {rows // 100})::BIGINT AS unit, "
        f"(hash(i * 104729 + 13) % {BINS})::INTEGER AS bin FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
    )
    return path


def release(path: Path) -> int:
    query = table(path, unit="unit").histogram("bin", keys=range(BINS), max_rows=KEPT)
    return query.release(epsilon=1, delta=1e-6).bins


def engines(path: Path) -> dict[str, Contestant]:
    def sql(text: str) -> Contestant:
        return lambda: duckdb.connect().execute(text.format(path=path, kept=KEPT)).fetchnumpy()

    return {
        FLOOR: sql("SELECT bin, count(*) FROM '{path}' GROUP BY bin"),
        SQL: sql(WINDOW),
        OURS: lambda: release(path),
    }


def heads(seen: dict[str, Timing], rows: int) -> Findings:
    goal, ours = rows == 10_000_000, seen[OURS]
    found: Findings = [
        Headline.between(f"histogram of {rows:.0e} rows: our time / {SQL}", ours, seen[SQL], most=1.3 if goal else None)
    ]
    for name in (peer for peer in PEERS if peer in seen):
        least = GOALS.get(name) if goal else None
        found.append(
            Headline.between(f"histogram of {rows:.0e} rows: {name}'s time / ours", seen[name], ours, least=least)
        )
    return found


def sheet(seen: dict[str, Timing], rows: int, missing: dict[str, str]) -> Table:
    title = f"{rows:,} rows, {rows // 100:,} units, {BINS:,} bins, at most {KEPT} rows a unit:"
    return Table(f"histogram_{rows}", title, timings(seen, reference=OURS), missing=missing)
