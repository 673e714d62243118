"""`unit_lists` where rows are on several machines: every task sends its rows in groups of units, those that are alike
as one with their number; where a group comes together, some are drawn.

What is kept of a unit depends on how many rows it has of each code, and these numbers add up. So it does not show how
rows are divided among tasks, or when a task sends what it has. (Of a task that ran a second time Spark hands on what it
sent once.)

What is sent is not a row of the engine's each, but hundreds: a chunk of bytes, which nothing on the way looks into.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.curator.aggregate.row_blocks import blocks
from leastnoise.curator.aggregate.row_keeper import WORD_BYTES, RowKeeper
from leastnoise.curator.aggregate.unit_lists import PART_BITS, PARTS, Passes, Waiting

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_BITS = 8  # of a place: by these units are in groups
GROUPS = 2**GROUP_BITS
BLOCK_ROWS = 2**18  # that a task sorts at once; two blocks are in memory twice
MAX_BYTES = 2**27  # of rows that wait in a task, before it sends them
CHUNK_ROWS = 2**8  # of 24 bytes each at most: ten thousand chunks, as Spark hands them to Python at once, are 60 MB
BATCH_CHUNKS = 2**12  # that are handed over at once


@dataclass(frozen=True, slots=True)
class Rule:
    """What an engine does with rows to keep some of each unit, wherever they are: a `RowRule`.

    factors: of the mixing of units, the same in all tasks: a place is a unit. once: whether all rows fit into memory
    where they are in one place.
    """

    keeper: RowKeeper
    factors: tuple[int, int]
    once: bool = True

    def passes(self, *, rows: int, threads: int, memory: float) -> Passes:
        """The codes that are kept, where all rows are in one place."""
        return Passes(self.keeper, self.factors, rows=rows, memory=memory, threads=threads, once=self.once)

    def send(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of a task: batches of `group` and `packed`, a chunk of them."""
        room = MAX_BYTES // self.keeper.row_bytes
        with Waiting(self.keeper, self.factors, room=room, most=room, threads=1) as rows:
            for units, codes in blocks(batches, BLOCK_ROWS):
                if not rows.fits(len(units)):
                    yield from _packed(*rows.take())
                rows.add(units, codes)
            yield from _packed(*rows.take())

    def receive(self, chunks: pa.Table) -> pa.Table:
        """The codes that are kept of the units of one group, from all its chunks. Its parts are of its own, by what
        follows in their places."""
        import pyarrow as pa

        from leastnoise.curator.aggregate.unit_list_loops import copy_codes, sort_rows

        words = self.keeper.row_bytes // WORD_BYTES
        sent = np.concatenate([_unpacked(packed, words) for packed in chunks["packed"].chunks])
        rows, ends = np.empty_like(sent), np.empty((1, PARTS + 1), np.int64)
        sort_rows(sent, rows, 0, ends[0], 64 - PART_BITS - GROUP_BITS)
        stops = ends[:, 1:].copy()
        codes = np.empty(self.keeper.draw_parts(rows, ends, stops, 0, PARTS, self.factors), np.int64)
        copy_codes(rows, ends, stops, codes, self.keeper.low_bits)
        return pa.table({"code": codes})


def _packed(rows: NDArray[np.int64], ends: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """Chunks that begin where a group does, and after so many rows."""
    import pyarrow as pa

    bounds = ends[:: PARTS // GROUPS].tolist()
    starts = [np.arange(begin, end, CHUNK_ROWS) for begin, end in pairwise(bounds)]
    groups = np.repeat(np.arange(GROUPS, dtype=np.int32), list(map(len, starts)))
    edges = np.append(np.concatenate(starts), len(rows))
    for begin in range(0, len(groups), BATCH_CHUNKS):
        some = groups[begin : begin + BATCH_CHUNKS]
        own = edges[begin : begin + len(some) + 1]
        offsets = ((own - own[0]) * rows.strides[0]).astype(np.int32)  # at most 25 MB
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(rows[own[0] : own[-1]])]
        packed = pa.Array.from_buffers(pa.binary(), len(some), buffers)
        yield pa.record_batch({"group": some, "packed": packed})


def _unpacked(packed: pa.Array, words: int) -> NDArray[np.int64]:
    """The rows of all chunks of an array: the bytes of one follow those of the other."""
    import pyarrow as pa

    kind: Any = np.int64 if pa.types.is_large_binary(packed.type) else np.int32
    ends = np.frombuffer(packed.buffers()[1], kind)[packed.offset : packed.offset + len(packed) + 1]
    return np.frombuffer(packed.buffers()[2], np.uint8)[ends[0] : ends[-1]].view(np.int64).reshape(-1, words)
