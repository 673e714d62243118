"""Which rows of a unit are kept, in one pass over rows in any order: compiled loops bring those of a unit together.

It is the rule of `bounding` for units that are one integer, without a limit on bins. A row is (hash, code), as the
integer x = hash * 2^32 + code; of a code of more than 32 bits x has the first 32, and the others are a second integer,
so that both in turn are in the order of (hash, code). A row is kept if before it, in this order, there are

- fewer than max_per_bin rows of its unit and bin, and
- fewer than max_rows rows of its unit, of which max_per_bin of one bin count at most.

Let K(A) be what is kept of rows A. Then K(A + B) = K(K(A) + B) for any rows A and B:

- A row that A does not keep, A + B does not keep: both numbers only grow with more rows.
- To take away a row r that is not kept changes nothing for another, s. If s is before r, r does not count for it. If s
  is behind r: where max_per_bin rows of the bin of r are before r, they are before s as well, and the bin counts no
  less without r. Else max_rows rows that count are before r, so before s, with r or without it, and s is not kept. So
  after r another such row may be taken away, and another, until none is left.

So K may be taken of what has come so far, at any time, and the rest left out. For one row x more, as `listed` does it,
in a list S = K(A) of a unit:

- S has max_rows members and x is not below the largest: S stays.
- There are max_per_bin members in the bin of x: if all are at most x, S stays; else the largest of them leaves for x.
- Otherwise x enters, and the largest member leaves if there is one too many.

Rows that tie are equal in all that is read of them, so no order of the rows shows in the codes that are kept.

Rows wait in blocks, each sorted by part (the first bits of the unit, mixed one to one, so units are compared whole).
Part by part, K is then taken of what waits: a part fits into the processor's cache. It is taken when there is no room
for another block, and at the end. Threads share blocks first, then parts. The mixing is drawn anew each time: nobody
can choose units that share a part. What is done depends on the rows in time and memory alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from leastnoise.curator.aggregate.bounding import MULTIPLIER_1, MULTIPLIER_2, MULTIPLIER_3

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
PART_BITS = 10  # of a mixed unit: by these rows are sorted
PARTS = 2**PART_BITS
MULTIPLIERS = np.array([MULTIPLIER_1, MULTIPLIER_2, MULTIPLIER_3], np.uint64)
MANY_ROWS = 2**22  # from here on it is quicker than SQL although a compiler has to be loaded first, most of a second
BLOCK_ROWS = 2**19  # that are sorted at once; one block a thread and another are in memory twice
MOST_WAITING, WAITING_SHARE = 2**24, 0.1  # rows that wait before K is taken, and how much of the memory they may be
WORD_BYTES = 8


@dataclass(frozen=True, slots=True)
class RowKeeper:
    """What runs where the rows are: record batches of `unit` and `code` (int64) in, the kept codes out.

    value_bits: a row's bin is its code without these. low_bits: as many of these as x has no room for. key: of the
    hash.
    """

    max_rows: int
    max_per_bin: int
    value_bits: int
    low_bits: int
    key: int

    @property
    def row_bytes(self) -> int:
        """Of a row that waits."""
        return WORD_BYTES * (3 if self.low_bits else 2)

    @property
    def limits(self) -> tuple[int, int, int]:
        """And which of the last 32 bits of x are not of the bin."""
        return self.max_rows, self.max_per_bin, self.value_bits - self.low_bits

    def kept(self, batches: Iterator[pa.RecordBatch], *, threads: int, memory: float) -> NDArray[np.int64]:
        """The codes that are kept of all rows. memory: bytes that may be used in all, by others as well."""
        room = int(min(MOST_WAITING, max(BLOCK_ROWS, WAITING_SHARE * memory / self.row_bytes)))
        with Waiting(self, random_factors(), room=room, threads=threads) as rows:
            for units, codes in blocks(batches, BLOCK_ROWS):
                rows.add(units, codes)
            return rows.codes()

    def bytes_needed(self, units: int, rows: int) -> int:
        """What so many units with so many rows take at most, besides the room for those that wait: all that are kept
        and half as many new ones, while the kept ones of these are copied."""
        return self.row_bytes * min(rows, units * self.max_rows) * 5 // 2


def prepare() -> None:
    """Compile on made-up rows: what can fail does so before anything is paid for, and tells nothing of a row."""
    import pyarrow as pa

    made_up = pa.record_batch({name: pa.array(range(9), pa.int64()) for name in ("unit", "code")})
    keeper = RowKeeper(max_rows=3, max_per_bin=1, value_bits=1, low_bits=1, key=0)
    with Waiting(keeper, (1, 1), room=9, threads=1) as rows:
        for units, codes in blocks(iter([made_up, made_up]), 9):  # for the second, room is to be made
            rows.add(units, codes)
        rows.codes()


def random_factors() -> tuple[int, int]:
    """Two odd numbers below 2^64, by which units are mixed."""
    first, second = np.frombuffer(os.urandom(16), np.uint64) | np.uint64(1)
    return int(first), int(second)


def blocks(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Units and codes of so many rows or more at a time, but for the last; what is large already is not copied."""
    some: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        some.append(batch)
        rows += batch.num_rows
        if rows >= size:
            yield _column(some, "unit"), _column(some, "code")
            some, rows = [], 0
    if some:
        yield _column(some, "unit"), _column(some, "code")


def _column(batches: list[pa.RecordBatch], name: str) -> NDArray[np.int64]:
    columns = [batch.column(name).to_numpy() for batch in batches]  # where a null is, it raises, and makes no doubles
    column = columns[0] if len(columns) == 1 else np.concatenate(columns)
    column.flags.writeable = False  # as Arrow's are: else loops would be compiled for both
    return column


class Waiting:
    """Rows that wait, block behind block, each block sorted by part.

    room: how many new rows may wait, or half as many as are kept if that is more.
    """

    def __init__(self, keeper: RowKeeper, factors: tuple[int, int], *, room: int, threads: int) -> None:
        self._keeper, self._room, self._threads = keeper, room, threads
        self._factors = np.array(factors, np.uint64)
        self._workers = ThreadPoolExecutor(threads)
        self._sorting: list[Future[None]] = []
        self._rows = self._empty(room)
        self._count = 0
        self._ends: list[NDArray[np.int64]] = []

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.shutdown()

    def add(self, units: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        """A block: it is sorted while the next one is read."""
        if not self.fits(len(units)):
            self._keep(lambda kept: kept + max(self._room, kept // 2, len(units)))
        ends = np.empty(PARTS + 1, np.int64)
        self._sorting.append(self._workers.submit(self._sort, units, codes, self._count, ends))
        self._ends.append(ends)
        self._count += len(units)
        if len(self._sorting) > self._threads:
            self._sorting.pop(0).result()

    def fits(self, count: int) -> bool:
        """Whether there is room for so many rows more."""
        return self._count + count <= len(self._rows)

    def codes(self) -> NDArray[np.int64]:
        """Of all rows that are kept."""
        from leastnoise.curator.aggregate.unit_list_loops import copy_codes

        kept, begins = self._kept()
        codes = np.empty(begins[-1], np.int64)
        self._in_parts(lambda first, last, to: copy_codes(*kept, first, last, codes, to, self._keeper.low_bits), begins)
        return codes

    def take(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All rows that are kept, sorted by part, and where each part ends, from 0 on; none is left here."""
        self._keep(lambda kept: kept)
        taken = self._rows, self._ends[0]
        self._rows, self._count, self._ends = self._empty(self._room), 0, []
        return taken

    def _keep(self, size: Callable[[int], int]) -> None:
        """Let the kept rows be all, with room for so many rows together."""
        from leastnoise.curator.aggregate.unit_list_loops import copy_rows

        kept, begins = self._kept()
        rows, ends = self._empty(size(begins[-1])), np.zeros(PARTS + 1, np.int64)
        self._in_parts(lambda first, last, to: copy_rows(*kept, first, last, rows, to, ends), begins)
        self._rows, self._count, self._ends = rows, begins[-1], [ends]

    def _kept(self) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], list[int]]:
        """The rows, where the parts of their blocks begin, and until where they are kept now; and for each thread how
        many are kept in the parts of those before it."""
        from leastnoise.curator.aggregate.unit_list_loops import keep_rows

        for block in self._sorting:
            block.result()
        self._sorting = []
        ends = np.array(self._ends, np.int64).reshape(-1, PARTS + 1)
        stops = np.empty((len(ends), PARTS), np.int64)
        counts = self._in_parts(
            lambda first, last, _: keep_rows(self._rows, ends, stops, first, last, *self._keeper.limits),
            [0] * self._threads,
        )
        return (self._rows, ends, stops), [0, *accumulate(counts)]

    def _in_parts(self, work: Callable[[int, int, int], T], given: list[int]) -> list[T]:
        """`work` on the parts of each thread, which also gets its own of the numbers that are given."""
        bounds = [PARTS * thread // self._threads for thread in range(self._threads + 1)]
        return list(self._workers.map(work, bounds, bounds[1:], given))

    def _sort(self, units: NDArray[np.int64], codes: NDArray[np.int64], begin: int, ends: NDArray[np.int64]) -> None:
        from leastnoise.curator.aggregate.unit_list_loops import make_rows, sort_rows

        unsorted = self._empty(len(units))
        keeper = self._keeper
        make_rows(units, codes, keeper.low_bits, np.uint64(keeper.key), MULTIPLIERS, self._factors, unsorted)
        sort_rows(unsorted, self._rows, begin, ends, 64 - PART_BITS)

    def _empty(self, count: int) -> NDArray[np.int64]:
        return np.empty((count, self._keeper.row_bytes // WORD_BYTES), np.int64)
