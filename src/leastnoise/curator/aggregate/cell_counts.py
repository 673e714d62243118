"""Rows counted in many tables at once: one pass over their packed positions, in a compiled loop.

A group-by a table would read the rows once for each. Here a block of rows, small enough for the processor's cache, is
counted in every table before the next block is read; the counts of all tables lie one after the other in one vector.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.curator.aggregate.cell_count_loops import count_cells
from leastnoise.curator.aggregate.packed_positions import Packing

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_ROWS = 2**13  # of which the positions, and the cells of one table, are in the cache
WEIGHT = "weight"


@dataclass(frozen=True, slots=True)
class CellCounter:
    """What runs where the rows are: record batches of words (see `packed_positions`) in, the counts of every cell out.

    sizes: how many keys each column has. tables: the columns of each table, by number; none of them is empty.
    weighted: whether rows have a column `weight`, integers that are added up instead of ones.
    """

    sizes: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]
    weighted: bool = False

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each table begins in the vector of all counts, and where the last ends."""
        cells = [math.prod(self.sizes[column] for column in table) for table in self.tables]
        return np.concatenate([[0], np.cumsum(np.array(cells, np.int64))]).astype(np.int64)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> NDArray[np.int64]:
        starts, packing = self.starts, Packing(self.sizes)
        layout = np.array([(*place, bits) for place, bits in zip(packing.places, packing.bits, strict=True)], np.int64)
        members = np.array([column for table in self.tables for column in table], np.int64)
        ends = np.cumsum([len(table) for table in self.tables], dtype=np.int64)
        sizes, total = np.array(self.sizes, np.int64), np.zeros(int(starts[-1]), np.int64)
        for batch in batches:
            words = np.array([_column(batch, name, np.int32) for name in packing.words])
            weights = _column(batch, WEIGHT, np.int64) if self.weighted else np.ones(0, np.int64)
            _kernel()(words, layout, weights, members, ends, sizes, starts, BLOCK_ROWS, total)
        return total

    def split(self, total: NDArray[Any]) -> list[NDArray[Any]]:
        """The counts of each table, in its shape."""
        starts = self.starts
        shapes = [tuple(self.sizes[column] for column in table) for table in self.tables]
        return [total[starts[i] : starts[i + 1]].reshape(shape) for i, shape in enumerate(shapes)]


def prepare() -> None:
    """Compile on made-up rows: what can fail does so before anything is paid for, and tells nothing of a row."""
    import pyarrow as pa

    made_up = pa.record_batch({"word0": pa.array([0], pa.int32()), WEIGHT: pa.array([1], pa.int64())})
    for weighted in (False, True):
        CellCounter((1,), ((0,),), weighted)(iter([made_up]))


def _column(batch: pa.RecordBatch, name: str, kind: Any) -> NDArray[Any]:
    return np.ascontiguousarray(batch.column(name).to_numpy(zero_copy_only=False), dtype=kind)


@functools.cache
def _kernel() -> Any:
    """The loop over the rows, in machine code."""
    from leastnoise._support.compilation import compiled

    return compiled(count_cells)
