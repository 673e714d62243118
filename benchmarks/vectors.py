"""A mean of vectors with a thousand entries, clipped in norm, beside the bare read of their Parquet file."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from findings import Findings, Headline, Table, timings
from stopwatch import race

from leastnoise.curator.table import table

READ, MEAN = "bare read", "leastnoise vector_mean"


def run(*, toy: bool = False) -> Findings:
    return measured(100, 5, rounds=2) if toy else measured(100_000, 1000, rounds=5)


def measured(rows: int, length: int, *, rounds: int, goal: float | None = None) -> Findings:
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        path = write_rows(Path(folder), rows, length)
        seen = race({READ: partial(read, path), MEAN: partial(mean, path, length)}, rounds=rounds)
    what = f"vector mean, {rows:.0e} x {length}"
    title = f"{rows:,} vectors of {length:,} entries, {_size(rows, length)}:"
    return [
        Headline.between(f"{what}: our time / bare read", seen[MEAN], seen[READ], most=goal),
        Table(f"vectors_{rows}", title, timings(seen, reference=READ)),
    ]


def _size(rows: int, length: int) -> str:
    return f"{rows * (4 * length + 8) / 1e9:.2g} GB"


def write_rows(folder: Path, rows: int, length: int) -> Path:
    """Normal vectors in single precision, one unit a row."""
    path = folder / "rows.parquet"
    random = np.random.default_rng(1)
    with pq.ParquetWriter(path, schema(length), compression="none", use_dictionary=False) as writer:
        for begin in range(0, rows, 10_000):
            count = min(10_000, rows - begin)
            block = random.standard_normal((length, count), dtype=np.float32)
            columns = {"unit": np.arange(begin, begin + count), **{f"x{i}": block[i] for i in range(length)}}
            writer.write_table(pa.table(columns, schema=schema(length)))
    return path


def schema(length: int) -> pa.Schema:
    return pa.schema([("unit", pa.int64()), *((f"x{i}", pa.float32()) for i in range(length))])


def read(path: Path) -> None:
    for _batch in duckdb.sql(f"SELECT * FROM '{path}'").to_arrow_reader(2**14):
        pass


def mean(path: Path, length: int) -> None:
    query = table(path, unit="unit").vector_mean([f"x{i}" for i in range(length)], clip_norm=30.0, max_rows=1)
    assert query.release(epsilon=1, delta=1e-6).bins == length
