"""DuckDB, embedded: the default engine."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from leastnoise.engines import reading, unique

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import numpy as np
    import pyarrow as pa

BLOCK = 2**14  # rows of a vector query that are in memory at once, at least
STATE = 96  # bytes that DuckDB keeps for a group besides its values, measured generously


class DuckDB:
    """An Ibis connection to DuckDB; one that we opened ourselves has its own temporary folder."""

    name = "duckdb"

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    def read_files(self, files: list[str]) -> ir.Table:
        """The rows of Parquet or CSV files; folders named column=value are columns."""
        hive = any("=" in part for part in files[0].split("/")[:-1])
        if files[0].lower().endswith(".parquet"):
            return reading(lambda: self.backend.read_parquet(files, hive_partitioning=hive))
        return reading(lambda: self.backend.read_csv(files))

    def sql(self, expression: ir.Table) -> str:
        return str(self.backend.compile(expression, pretty=True))

    def fetch(self, expression: ir.Table) -> pa.Table:
        return reading(lambda: self.backend.to_pyarrow(expression))

    def text_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        import ibis

        lower = _builtin(ibis.udf.scalar, _md5_lower, "md5_number_lower", ("string",), "uint64")
        return (lower(text) & ibis.literal(0xFFFFFFFF, "uint64")).cast("int64")

    def exact_sum(self, column: ir.IntegerColumn) -> ir.Value:
        # DuckDB adds BIGINT in 128 bits; the cast keeps Ibis from squeezing the total into 64 again.
        return column.sum().cast("decimal(38, 0)")

    def smallest(self, rows: ir.Table, *, unit: list[str], column: str, count: int) -> ir.Table:
        import ibis

        smallest = _builtin(ibis.udf.agg, _smallest, "min", ("int64", "int64"), "array<int64>")
        kept = rows.group_by(unit).aggregate(**{column: smallest(rows[column], count)})
        return kept.select(**{column: kept[column].unnest()})

    def map_points(self, function: Any, x: ir.Value, y: ir.Value, *, result: str) -> ir.Value:
        import ibis

        def points(x: Any, y: Any) -> Any:
            import pyarrow as pa

            made = function(x.to_numpy(zero_copy_only=False), y.to_numpy(zero_copy_only=False))
            return pa.array(list(made), pa.list_(pa.int64())) if made.ndim == 2 else pa.array(made)

        signature = (("float64", "float64"), result)
        return ibis.udf.scalar.pyarrow(points, name=unique("points"), signature=signature)(x, y)

    def passes(self, rows: ir.Table, *, unit: list[str], kept: int) -> int:
        return 1

    def vector_sums(self, rows: ir.Table, reduce: Callable[[Iterator[pa.RecordBatch]], np.ndarray]) -> list[np.ndarray]:
        text = self.backend.compile(rows)
        return reading(lambda: [reduce(self.backend.con.sql(text).to_arrow_reader(BLOCK))])


def connect(*, memory_limit: str | None = None) -> DuckDB:
    """A fresh in-memory DuckDB in UTC that spills into a folder of its own, removed with it."""
    import ibis

    folder = tempfile.mkdtemp(prefix="leastnoise-")
    backend = ibis.duckdb.connect(temp_directory=folder)
    backend.raw_sql("SET TimeZone = 'UTC'")
    if memory_limit is not None:
        backend.raw_sql(f"SET memory_limit = '{memory_limit}'")
    engine = DuckDB(backend)
    weakref.finalize(engine, shutil.rmtree, folder, ignore_errors=True)
    return engine


def _md5_lower(text: Any) -> Any:
    """DuckDB's own: the last eight bytes of the MD5 as an integer, the first of them the lowest."""


def _smallest(column: Any, count: Any) -> Any:
    """DuckDB's own `min(column, count)`: the smallest values, as a list."""


def _builtin(kind: Any, function: Any, name: str, arguments: tuple[str, ...], result: str) -> Any:
    return kind.builtin(function, name=name, signature=(arguments, result))
