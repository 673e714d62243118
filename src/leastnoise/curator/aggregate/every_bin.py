"""A number for every public bin, zero where no row fell: which bins are in the answer tells nothing about rows."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

Integers = np.ndarray[Any, Any]


def scattered(size: int, parts: list[pa.Table], column: str) -> Integers:
    """The totals in a vector of all bins, 0 for those that no part has."""
    values = joined(parts, column)
    total: Integers = np.zeros(size, dtype=values.dtype)
    np.add.at(total, joined(parts, "bin").astype(np.int64), values)
    return total


def joined(parts: list[pa.Table], column: str) -> Integers:
    """The column of all parts."""
    return np.concatenate([integers(part[column]) for part in parts])


def integers(column: pa.ChunkedArray) -> Integers:
    """int64 from integers; Python integers from the 128-bit decimals of exact sums."""
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(), dtype=np.int64)
    return np.array([int(value or Decimal(0)) for value in column.to_pylist()], dtype=object)
