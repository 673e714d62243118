"""The sizes that take gigabytes and minutes, only with BIG=1: 1e8 rows beside DuckDB alone, 1e6 vectors of 1e3."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import histogram
import vectors
from findings import Findings
from stopwatch import race


def run(*, toy: bool = False) -> Findings:
    rows = 1000 if toy else 100_000_000
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        seen = race(histogram.engines(histogram.write_rows(Path(folder), rows)), rounds=3)
    counted = [*histogram.heads(seen, rows), histogram.sheet(seen, rows, {})]
    length = (100, 5) if toy else (1_000_000, 1000)
    return [*counted, *vectors.measured(*length, rounds=5, goal=2)]
