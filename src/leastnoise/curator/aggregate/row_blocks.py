"""Rows on their way to compiled loops: blocks of units and codes, from the record batches of an engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

Block = tuple[NDArray[np.int64], NDArray[np.int64]]  # units and codes


def blocks(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[Block]:
    """Units and codes of so many rows or more at a time, but for the last; what is large already is not copied."""
    some = ((_column(batch, "unit"), _column(batch, "code")) for batch in batches)
    return map(_as_one, gathered(some, size))


def gathered(some: Iterable[Block], size: int) -> Iterator[list[Block]]:
    """Blocks that have so many rows or more together, but for the last."""
    begun: list[Block] = []
    rows = 0
    for block in some:
        begun.append(block)
        rows += len(block[0])
        if rows >= size:
            yield begun
            begun, rows = [], 0
    if begun:
        yield begun


def taken(some: deque[Block]) -> Iterator[Block]:
    """Each, which is then there no longer."""
    while some:
        yield some.popleft()


def _column(batch: pa.RecordBatch, name: str) -> NDArray[np.int64]:
    column: NDArray[np.int64] = batch.column(name).to_numpy()  # where a null is, it raises, and makes no doubles
    column.flags.writeable = False  # as Arrow's are: else loops would be compiled for both
    return column


def _as_one(some: list[Block]) -> Block:
    if len(some) == 1:
        return some[0]
    units, codes = (np.concatenate(columns) for columns in zip(*some, strict=True))
    units.flags.writeable = codes.flags.writeable = False
    return units, codes
