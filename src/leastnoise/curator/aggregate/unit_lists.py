"""Which rows of a unit are kept, in one pass over rows in any order: a short list for every unit, in compiled loops.

It is the rule of `bounding` for units that are one integer, without a limit on bins. A row is the integer
x = hash * 2^32 + code, and of each unit the max_rows smallest x are kept, at most max_per_bin of them in one bin. Then
after any number of rows the list S of a unit holds what the rule keeps of those rows. Let x be the next row:

- S is full and x is not below its largest member: all members come before x, or are equal to it. S stays.
- There are max_per_bin members in the bin of x: if all are at most x, S stays; else the largest of them, y, leaves for
  x. What S has lost to its length before is above all its members, so y is the only row that is to go.
- Otherwise x enters, and the largest member leaves if there is one too many.

Rows that tie are equal in all that is read of them, so no order of the rows shows in the codes that are kept.

Rows are worked off in blocks, each sorted by the first bits of the unit's place in the table (a mixed form of the unit,
one to one, so units are compared whole): what is looked up in turn is then in the processor's cache. Threads share the
places, which are drawn anew each time: nobody can choose units that need more memory than others. What is done depends
on the rows in time and memory alone.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.curator.aggregate import unit_list_loops as loops
from leastnoise.curator.aggregate.unit_list_loops import FULL, NO_ROOM, PARTS, SIZE_BITS

if TYPE_CHECKING:
    import pyarrow as pa

MANY_ROWS = 2**22  # from here on it is quicker than SQL although a compiler has to be loaded first, most of a second
BLOCK_ROWS = 2**21  # that are sorted at once, 36 bytes each
FIRST_SLOTS = 8  # of each part, a power of two
UNIT_BYTES = 80  # a slot of 16 bytes, a third to 0.7 of them filled, and half as many again while they grow
ROW_BYTES = 24  # in a list that has been doubled, of which another may be left over, in room that grows by a half


@dataclass(frozen=True, slots=True)
class RowKeeper:
    """What runs where the rows are: record batches of `unit` (int64) and `code` (uint32) in, the kept codes out.

    max_rows: at most 2^10 - 1. value_bits: a row's bin is its code without these. key: of the hash.
    """

    max_rows: int
    max_per_bin: int
    value_bits: int
    key: int
    threads: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> NDArray[np.uint32]:
        bounds = [PARTS * thread // self.threads for thread in range(self.threads + 1)]
        tables = [Lists(self, first, last) for first, last in pairwise(bounds)]
        block = Block(self.key, random_factors(), threads=self.threads)
        with ThreadPoolExecutor(self.threads) as workers:
            for _ in block.filled(batches):
                block.sort_into(tables, workers.map)
            return np.concatenate(list(workers.map(Lists.codes, tables)))


def bytes_needed(units: int, rows: int, *, max_rows: int) -> int:
    """What the lists of so many units with so many rows take at most; the block comes on top."""
    return UNIT_BYTES * units + ROW_BYTES * min(rows, units * max_rows)


def prepare() -> None:
    """Compile on a made-up row: what can fail does so before anything is paid for, and tells nothing of a row."""
    import pyarrow as pa

    made_up = pa.record_batch({"unit": pa.array([0] * 9, pa.int64()), "code": pa.array(range(9), pa.uint32())})
    RowKeeper(max_rows=9, max_per_bin=1, value_bits=0, key=0, threads=1)(iter([made_up]))


def random_factors() -> tuple[int, int]:
    """Two odd numbers below 2^64, by which units are mixed."""
    first, second = np.frombuffer(os.urandom(16), np.uint64) | np.uint64(1)
    return int(first), int(second)


class Block:
    """Rows that wait to be sorted, in as many segments as there are threads."""

    def __init__(self, key: int, factors: tuple[int, int], *, threads: int = 1, size: int = BLOCK_ROWS) -> None:
        self.rows, self._size, self._key = 0, size, np.uint64(key)
        self._factors = np.array(factors, np.uint64)
        self._units, self._codes = np.empty(size, np.int64), np.empty(size, np.uint32)
        self._places, self._x = np.empty(size, np.uint64), np.empty(size, np.int64)
        self._unsorted = np.empty(size, np.int64)
        self._ends = np.zeros((threads, PARTS + 1), np.int64)

    def filled(self, batches: Iterator[pa.RecordBatch]) -> Iterator[None]:
        """Once for each time that the block is full, and once for what is left."""
        for batch in batches:
            units, codes = _column(batch, "unit", np.int64), _column(batch, "code", np.uint32)
            begin = 0
            while begin < len(units):
                begin = self._fill(units, codes, begin)
                if self.rows == self._size:
                    yield
        yield

    def _fill(self, units: NDArray[np.int64], codes: NDArray[np.uint32], begin: int) -> int:
        """Take rows from `begin` on; where those that did not fit begin."""
        count = min(self._size - self.rows, len(units) - begin)
        self._units[self.rows : self.rows + count] = units[begin : begin + count]
        self._codes[self.rows : self.rows + count] = codes[begin : begin + count]
        self.rows += count
        return begin + count

    def sort_into(self, tables: list[Lists], run: Callable[..., Iterable[object]] = map) -> None:
        """Every segment is sorted by one thread; of every segment each table takes its own parts."""
        threads = len(tables)
        bounds = [self.rows * thread // threads for thread in range(threads + 1)]
        segments = [slice(first, last) for first, last in pairwise(bounds)]

        def sort(number: int) -> None:
            sort_rows = _kernels()[1]
            at = segments[number]
            mine = self._units[at], self._codes[at], self._unsorted[at], self._places[at], self._x[at]
            sort_rows(*mine, self._ends[number], self._key, self._factors)

        def take(table: Lists) -> None:
            for segment, ends in zip(segments, self._ends, strict=True):
                table.add(self._places[segment], self._x[segment], int(ends[table.first]), int(ends[table.last]))

        list(run(sort, range(threads)))
        list(run(take, tables))
        self.rows = 0


class Lists:
    """The lists of the units whose places begin with `first` to `last` - 1: a slot for each, and room for the rows.

    slots: a place and where its list is; those of one part follow each other. filled: how many slots of each part are.
    room: the lists. free: where a list of 2^i rows was left over; in it stands where the one before is. held: how much
    of the room was ever used, how many rows are in lists, and a number that nobody reads.
    """

    def __init__(self, keeper: RowKeeper, first: int, last: int) -> None:
        self.first, self.last, self._limits = first, last, (keeper.max_rows, keeper.max_per_bin, keeper.value_bits)
        self._slots = np.zeros((FIRST_SLOTS * (last - first), 2), np.uint64)
        self._filled = np.zeros(last - first, np.int64)
        self._room = np.zeros(2**12, np.int64)
        self._free = np.full(SIZE_BITS + 1, -1, np.int64)
        self._held = np.zeros(3, np.int64)

    def add(self, places: NDArray[np.uint64], x: NDArray[np.int64], begin: int, end: int) -> None:
        """Rows begin ... end - 1 of a sorted segment."""
        add_rows, _, move_slots, *_ = _kernels()
        while begin < end:
            state = self._slots, self._filled, self._room, self._free, self._held
            begin, why = add_rows(places, x, begin, end, *self._limits, self.first, *state)
            if why == FULL:
                larger = np.zeros((2 * len(self._slots), 2), np.uint64)
                move_slots(self._slots, larger, self.first, len(self._filled))
                self._slots = larger
            elif why == NO_ROOM:
                self._room.resize(len(self._room) * 3 // 2, refcheck=False)

    def codes(self) -> NDArray[np.uint32]:
        """Of all rows in all lists."""
        codes = np.empty(int(self._held[1]), np.uint32)
        _kernels()[3](self._slots, self._room, codes)
        return codes

    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Place and x of all rows in all lists, and where those of each part end, from 0 on."""
        rows, ends = np.empty((int(self._held[1]), 2), np.int64), np.zeros(len(self._filled) + 1, np.int64)
        _kernels()[4](self._slots, self._room, rows, ends)
        return rows, ends

    @property
    def nbytes(self) -> int:
        return self._slots.nbytes + self._room.nbytes


def _column(batch: pa.RecordBatch, name: str, kind: Any) -> NDArray[Any]:
    return np.ascontiguousarray(batch.column(name).to_numpy(zero_copy_only=False), dtype=kind)


@functools.cache
def _kernels() -> tuple[Any, ...]:
    """The loops over rows and slots, in machine code."""
    from leastnoise._support.compilation import compiled

    written = loops.add_rows, loops.sort_rows, loops.move_slots, loops.copy_codes, loops.copy_rows
    return tuple(compiled(loop) for loop in written)
