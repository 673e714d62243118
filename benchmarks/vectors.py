"""A mean of long vectors beside the bare read of their file, in turn: `python benchmarks/vectors.py`."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leastnoise.tables import table
from leastnoise.testing import aggregate


def write_rows(path: Path, rows: int, length: int) -> None:
    """Normal vectors in single precision, one unit a row."""
    random = np.random.default_rng(1)
    with pq.ParquetWriter(path, schema(length), compression="none", use_dictionary=False) as writer:
        for begin in range(0, rows, 10_000):
            count = min(10_000, rows - begin)
            block = random.standard_normal((length, count), dtype=np.float32)
            columns = {"unit": np.arange(begin, begin + count), **{f"x{i}": block[i] for i in range(length)}}
            writer.write_table(pa.table(columns, schema=schema(length)))


def schema(length: int) -> pa.Schema:
    return pa.schema([("unit", pa.int64()), *((f"x{i}", pa.float32()) for i in range(length))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--length", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    names = [f"x{i}" for i in range(given.length)]
    read, mean = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, given.rows, given.length)
        for _ in range(given.repeats):
            begin = time.perf_counter()
            for _batch in duckdb.sql(f"SELECT * FROM '{path}'").to_arrow_reader(2**14):
                pass
            read.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            query = table(path, unit="unit").vector_mean(names, clip_norm=30.0, max_rows=1)
            assert aggregate(query).values[-1] == given.rows * query.ball.radius
            mean.append(time.perf_counter() - begin)
    print(f"read  {statistics.median(read):6.2f} s   {[round(t, 2) for t in read]}")
    print(f"mean  {statistics.median(mean):6.2f} s   {[round(t, 2) for t in mean]}")
    print(f"ratio {statistics.median(mean) / statistics.median(read):6.2f}")


if __name__ == "__main__":
    main()
