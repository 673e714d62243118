"""`unit_lists` where rows are on several machines: every task keeps lists of its own rows and sends what is in them, in
groups of units; where a group comes together, lists are kept once more.

Let K(A) be what the rule keeps of rows A, and x a row. `unit_lists` shows K(A + x) = K(K(A) + x). Row by row that gives
K(A + B) = K(K(A) + B), and by the same once more K(K(A) + K(B)). So it does not show how rows are divided among tasks,
when a task sends what it has, or that a task ran a second time. Of a unit, a task sends max_rows rows each time that
its memory is full, however many rows the unit has.

What is sent is not a row of the engine's each, but hundreds: a chunk of bytes, which nothing on the way looks into.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.curator.aggregate.unit_list_loops import PARTS
from leastnoise.curator.aggregate.unit_lists import Block, Lists, RowKeeper

if TYPE_CHECKING:
    import pyarrow as pa

GROUPS = 2**8  # of units, by the first bits of their places
BLOCK_ROWS = 2**20  # that a task sorts at once, 36 bytes each
MAX_BYTES = 2**27  # of a task's lists, before it sends what is in them; what one block adds to them comes on top
CHUNK_ROWS = 2**8  # of 16 bytes each: ten thousand chunks, as Spark hands them to Python at once, are 40 MB
BATCH_CHUNKS = 2**12  # that are handed over at once


@dataclass(frozen=True, slots=True)
class Sender:
    """Record batches of `unit` and `code` in; out come those of `group` and `packed`, a chunk of places and x.

    factors: of the mixing of units, the same in all tasks: a place is a unit.
    """

    keeper: RowKeeper
    factors: tuple[int, int]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        block, lists = Block(self.keeper.key, self.factors, size=BLOCK_ROWS), Lists(self.keeper, 0, PARTS)
        for _ in block.filled(batches):
            block.sort_into([lists])
            if lists.nbytes > MAX_BYTES:
                yield from _packed(*lists.rows())
                lists = Lists(self.keeper, 0, PARTS)
        yield from _packed(*lists.rows())


@dataclass(frozen=True, slots=True)
class Receiver:
    """All chunks of one group in, the codes that are kept of its units out."""

    keeper: RowKeeper

    def __call__(self, chunks: pa.Table) -> pa.Table:
        import pyarrow as pa

        group, parts = chunks["group"][0].as_py(), PARTS // GROUPS
        lists = Lists(self.keeper, group * parts, (group + 1) * parts)
        for packed in chunks["packed"].chunks:
            rows = _unpacked(packed)
            places, x = np.ascontiguousarray(rows[:, 0]).view(np.uint64), np.ascontiguousarray(rows[:, 1])
            lists.add(places, x, 0, len(rows))
        return pa.table({"code": lists.codes().astype(np.int64)})


def _packed(rows: NDArray[np.int64], ends: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """Chunks that begin where a group does, and after so many rows."""
    import pyarrow as pa

    bounds = ends[:: PARTS // GROUPS].tolist()
    starts = [np.arange(begin, end, CHUNK_ROWS) for begin, end in pairwise(bounds)]
    groups = np.repeat(np.arange(GROUPS, dtype=np.int32), list(map(len, starts)))
    offsets = np.append(np.concatenate(starts), len(rows)) * rows.strides[0]
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(rows)]
    packed = pa.Array.from_buffers(pa.binary(), len(groups), buffers)
    made = pa.record_batch({"group": groups, "packed": packed})
    for begin in range(0, made.num_rows, BATCH_CHUNKS):
        yield made.slice(begin, BATCH_CHUNKS)


def _unpacked(packed: pa.Array) -> NDArray[np.int64]:
    """The rows of all chunks of an array: the bytes of one follow those of the other."""
    import pyarrow as pa

    kind: Any = np.int64 if pa.types.is_large_binary(packed.type) else np.int32
    ends = np.frombuffer(packed.buffers()[1], kind)[packed.offset : packed.offset + len(packed) + 1]
    return np.frombuffer(packed.buffers()[2], np.uint8)[ends[0] : ends[-1]].view(np.int64).reshape(-1, 2)
