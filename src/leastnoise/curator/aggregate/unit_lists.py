"""Which rows of a unit are kept, in few passes over rows in any order: compiled loops bring those of a unit together.

It is the rule of `bounding` for units that are one integer, without a limit on bins. What is kept of a unit is a
function of how many rows it has of each code, so rows that are alike are counted, where there are several in one place,
and nothing else is left out: that changes no number. Once all rows of a unit were read, and not before, those that are
kept are drawn: a row that is left out earlier would have to be numbered all the same. So no order of the rows shows in
the codes that are kept. While units ascend, the rows of one are known to be all (`unit_runs`).

Else rows wait in blocks, each sorted by part (the first bits of the unit, mixed one to one, so units are compared
whole). Part by part, they are drawn from in the end: a part fits into the processor's cache. Where there is no room for
another block, those that are alike are counted first, in place. Threads share blocks first, then parts. The mixing is
drawn anew each time: nobody can choose units that share a part.

Where most of the room is taken by rows that differ, a part of the units is left for a later pass over the rows, by the
bits that follow those of the part: a class of units. The rows of a unit are all of one class, so each class is drawn
from by itself. How many classes will fit is told by the rows that were read so far; where it was too many, half of them
are left.

What is done depends on the rows in time alone. Where even one class has more rows that differ than fit, as one unit may
by itself, nothing is kept here (`Passes.full`): SQL keeps the same rows, on disk.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from leastnoise.curator.aggregate import unit_runs
from leastnoise.curator.aggregate.row_blocks import Block, blocks, gathered, taken
from leastnoise.curator.aggregate.row_keeper import WORD_BYTES, RowKeeper

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
PART_BITS, CLASS_BITS = 10, 10  # of a mixed unit: by these rows are sorted; by those that follow they are in passes
PARTS: int = 2**PART_BITS
CLASSES: int = 2**CLASS_BITS
MANY_ROWS = 2**22  # from here on it is quicker than SQL although a compiler has to be loaded first, most of a second
BLOCK_ROWS, FEWEST_ROWS = 2**19, 2**12  # that are sorted at once; a block a thread and another are in memory twice
# Rows that wait before they are first counted; how much of the memory they may be, and how much all that wait may be:
# their codes are half as much, and are there at the same time.
MOST_WAITING, WAITING_SHARE, MEMORY_SHARE = 2**24, 0.1, 0.5
MOST_LEFT = 2 / 3  # of the room: else rows would be counted again and again for few new ones
MOST_USEFUL = 3 / 4  # of the rows: where more are left, they are counted again when there is no room at all
MOST_FILLED = 0.95  # of the room: so much is expected to be taken of it by rows of the classes of a pass


@dataclass(slots=True)
class Passes:
    """The codes that are kept, in as many passes over the same rows as fit into memory.

    rows: about how many there are. memory: bytes that may be used in all, by others as well. once: whether the rows
    are to be read once, because all fit. done: so many classes are. full: whether a class did not fit; then nothing of
    what was kept counts. in_order: whether units ascend, as far as is known.
    """

    keeper: RowKeeper
    factors: tuple[int, int]
    rows: int
    memory: float
    threads: int
    once: bool
    done: int = 0
    width: int = CLASSES
    full: bool = False
    in_order: bool = True

    @property
    def remain(self) -> bool:
        """Whether there is another pass to be made."""
        return self.done < CLASSES

    @property
    def block(self) -> int:
        """Of how many rows a batch is at best: with little memory, a small part of those that may wait."""
        return min(BLOCK_ROWS, max(FEWEST_ROWS, self._most_rows // 8))

    @property
    def _most_rows(self) -> int:
        return int(MEMORY_SHARE * self.memory / self.keeper.row_bytes)

    @property
    def _first_room(self) -> int:
        return int(min(MOST_WAITING, max(self.block, WAITING_SHARE / MEMORY_SHARE * self._most_rows)))

    def kept(self, batches: Iterator[pa.RecordBatch]) -> NDArray[np.integer]:
        """The codes that are kept: of all rows while units ascend, else of the next classes, as many as fit."""
        read = blocks(batches, min(self.block, unit_runs.FEWEST_ROWS))
        if not self.in_order:
            return self._kept_of_classes(read)
        first: deque[Block] = deque()
        codes = self._kept_in_order(read, first)
        self.in_order = codes is not None
        if codes is not None:
            self.done = CLASSES
            return codes
        return self._kept_of_classes(chain(taken(first), read)) if first else np.empty(0, np.int64)

    def _kept_in_order(self, read: Iterator[Block], first: deque[Block]) -> NDArray[np.integer] | None:
        """The codes that are kept, if units ascend and there is room. If not, `first` has all blocks that were read of
        rows that are to be read once, or if there is but one; without any, all are read again."""
        room = self.rows if self.once else int(MEMORY_SHARE * self.memory / self.keeper.code_type.itemsize)
        with unit_runs.Runs(self.keeper, self.factors, self._edges, room=room, threads=self.threads) as runs:
            for number, block in enumerate(read):
                if number == 1 and not self.once:
                    first.clear()
                if number == 0 or self.once:
                    first.append(block)
                if not runs.add(*block):
                    return None
            return runs.codes()

    def _edges(self) -> Waiting:
        room = self._first_room
        edges = Waiting(self.keeper, self.factors, room=room, most=room, threads=1)
        edges.divisible = not self.once
        return edges

    def _kept_of_classes(self, read: Iterator[Block]) -> NDArray[np.int64]:
        """The codes that are kept of the next classes, as many as fit. Where these are not all, most rows differ, and
        to count them early is of no use."""
        most = max(self._first_room, self.rows if self.once else self._most_rows)
        room = most if self.done else self._first_room
        with Waiting(self.keeper, self.factors, room=room, most=most, threads=self.threads) as rows:
            rows.look_at(range(self.done, min(self.done + self.width, CLASSES)), expected=self.rows)
            rows.divisible = not self.once
            for some in gathered(read, self.block):
                rows.add_all(some)
                if rows.full:
                    self.full = True
                    return np.empty(0, np.int64)
            most_more = MOST_FILLED * (most - self.block) / max(1, len(rows))
            kept = rows.codes()  # of fewer classes than might be, where a heavy unit was among them
            self.done, self.width = rows.classes.stop, max(1, int(min(2.0, most_more) * len(rows.classes)))
        return kept


def prepare() -> None:
    """Compile on made-up rows: what can fail does so before anything is paid for, and tells nothing of a row."""
    import pyarrow as pa

    made_up = pa.record_batch({name: pa.array(range(9), pa.int64()) for name in ("unit", "code")})
    keeper = RowKeeper(max_rows=3, max_per_bin=1, value_bits=1, low_bits=1, key=0)

    def waiting() -> Waiting:
        return Waiting(keeper, (1, 1), room=9, most=9, threads=1)

    with waiting() as rows, unit_runs.Runs(keeper, (1, 1), waiting, room=9, threads=1) as runs:
        for units, codes in blocks(iter([made_up, made_up]), 9):  # for the second, room is to be made
            rows.add(units, codes)
        rows.take()
        rows.codes()
        runs.add(units, codes)
        runs.codes()


def random_factors() -> tuple[int, int]:
    """Two odd numbers below 2^64, by which units are mixed."""
    first, second = np.frombuffer(os.urandom(16), np.uint64) | np.uint64(1)
    return int(first), int(second)


def expected_left(seen: float, left: float, rows: float) -> float:
    """How many of these rows differ, where `left` of `seen` do: with D kinds, each equally frequent, that would be
    D (1 - exp(-seen/D)). Where some are more frequent it is less."""
    low, high = 0.0, 100.0  # seen / D
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if -math.expm1(-middle) * seen > left * middle else (low, middle)
    return rows if high < 1e-9 else -math.expm1(-high * rows / seen) * seen / high


class Waiting:
    """Rows that wait, block behind block, each block sorted by part.

    room: how many may wait before they are first counted. most: how many may wait at any time, unless those that differ
    are more. classes: of these rows are looked at; if they are divisible, those that did not fit are no longer among
    them. expected: about how many rows are added in all. full: not even one class fits, and the rows that came last
    were not taken.
    """

    classes = range(CLASSES)
    divisible = False
    expected = 0
    full = False
    _first_classes = CLASSES

    def __init__(self, keeper: RowKeeper, factors: tuple[int, int], *, room: int, most: int, threads: int) -> None:
        self._keeper, self._first_room, self._room, self._threads = keeper, room, room, threads
        self._odd, self._factors = factors, np.array(factors, np.uint64)
        self._workers = ThreadPoolExecutor(threads)
        self._sorting: list[tuple[int, Future[None]]] = []  # and how many rows it may add
        self._lock = Lock()  # of the rows that wait
        self._most, self._rows = most, self._empty(most)  # memory is taken where it is written to
        self._count = self._added = 0
        self._ends: list[NDArray[np.int64]] = []

    @property
    def whole(self) -> bool:
        """Whether all rows that were added are here."""
        return not self.full and len(self.classes) == CLASSES

    @property
    def crowded(self) -> bool:
        """Whether half of the room is taken."""
        return 2 * (self._count + sum(rows for rows, _ in self._sorting)) > self._room

    def __len__(self) -> int:
        """How many rows wait."""
        self._finish()
        return self._count

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """No more rows are added."""
        self._workers.shutdown()

    def look_at(self, classes: range, *, expected: int) -> None:
        """Take rows of these classes alone, of so many in all."""
        self.classes, self.expected, self._first_classes = classes, expected, len(classes)

    def add(self, units: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        """A block: it is sorted while the next one is read."""
        self.add_all([(units, codes)])

    def add_all(self, some: list[Block]) -> None:
        """Blocks that become one."""
        count = sum(len(units) for units, _ in some)
        if not self.fits(count):
            self._make_room(count)
        if self.full:
            return
        self._added += count
        self._sorting.append((count, self._workers.submit(self._sort, some, count)))
        if len(self._sorting) > self._threads:
            self._sorting.pop(0)[1].result()

    def fits(self, count: int) -> bool:
        """Whether there is room for so many rows more."""
        if self._count + sum(rows for rows, _ in self._sorting) + count > self._room:
            self._finish()
        return self._count + count <= self._room

    def codes(self) -> NDArray[np.int64]:
        """Of all rows that are kept; none is left here. What waits is the whole of its units."""
        from leastnoise.curator.aggregate.unit_list_loops import copy_codes

        ends, stops, count = self._left(whole=True)
        codes = np.empty(count, np.int64)
        copy_codes(self._rows, ends, stops, codes, self._keeper.low_bits)
        self._rows, self._count, self._ends = self._empty(0), 0, []  # their memory is for the next pass, whoever waits
        return codes

    def take(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All rows, those that are alike in one, sorted by part, and where each part ends, from 0 on; none is left
        here."""
        from leastnoise.curator.aggregate.unit_list_loops import copy_rows

        ends, stops, _ = self._left(whole=False)
        of_part = (stops - ends[:, :-1]).sum(axis=0, dtype=np.int64)
        begins = [int(of_part[: PARTS * thread // self._threads].sum()) for thread in range(self._threads)]
        rows, part_ends = self._empty(int(of_part.sum())), np.zeros(PARTS + 1, np.int64)
        self._in_parts(
            lambda first, last, to: copy_rows(self._rows, ends, stops, first, last, rows, to, part_ends), begins
        )
        self._count, self._ends = 0, []
        return rows, part_ends

    def _make_room(self, count: int) -> None:
        """For so many rows: count those that are alike, and where too many differ, those of fewer classes."""
        from leastnoise.curator.aggregate.unit_list_loops import close_up

        before = self._count
        ends, stops, _ = self._left(whole=False)
        self._count = close_up(self._rows, ends, stops, self._in_classes)
        useful = self._count <= MOST_USEFUL * before
        most = MOST_LEFT * len(self._rows)
        share = 1.0 if useful else self._share_that_fits(count)
        while self.divisible and len(self.classes) > 1 and (share < 1.0 or self._count + count > most):
            self.classes = self.classes[: max(1, int(min(share, 0.5) * len(self.classes)))]
            self._count = close_up(self._rows, ends, ends[:, 1:].copy(), self._in_classes)
            share = 1.0
        self._ends = [own for own in ends if own[-1] > own[0]]
        self._room = min(max(self._first_room, 2 * self._count), len(self._rows)) if useful else len(self._rows)
        self.full = self.divisible and self._count > MOST_LEFT * self._most
        if self._count + count > self._room and not self.full:
            self._room = 2 * (self._count + count)
            rows = self._empty(self._room)
            rows[: self._count] = self._rows[: self._count]
            self._rows = rows

    def _share_that_fits(self, count: int) -> float:
        """Of the classes, how many will fit with all their rows, beside a block of so many; 1 if that is not known, as
        some were left out."""
        if len(self.classes) < self._first_classes:
            return 1.0
        seen, rows = (number * len(self.classes) / CLASSES for number in (self._added, self.expected))
        left = expected_left(seen, self._count, rows)
        left = left if left <= MOST_USEFUL * rows else rows  # it is then of no use to count them
        return MOST_FILLED * (len(self._rows) - count) / max(left, 1.0)

    def _finish(self) -> None:
        """Wait until all blocks are sorted."""
        for _, block in self._sorting:
            block.result()
        self._sorting = []

    def _left(self, *, whole: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Count rows that are alike or, of whole units, draw those that are kept: where the parts of the blocks begin,
        until where rows are left of them, and, if they were drawn, how many there are, each as often as it was there.
        """
        from leastnoise.curator.aggregate.unit_list_loops import merge_rows

        self._finish()
        ends = np.array(self._ends, np.int64).reshape(-1, PARTS + 1)
        stops = ends[:, 1:].copy()

        def work(first: int, last: int, _: int) -> int:
            if whole:
                return self._keeper.draw_parts(self._rows, ends, stops, first, last, self._odd)
            merge_rows(self._rows, ends, stops, first, last, self._factors)
            return 0

        return ends, stops, sum(self._in_parts(work, [0] * self._threads))

    def _in_parts(self, work: Callable[[int, int, int], T], given: list[int]) -> list[T]:
        """`work` on the parts of each thread, which also gets its own of the numbers that are given."""
        bounds = [PARTS * thread // self._threads for thread in range(self._threads + 1)]
        return list(self._workers.map(work, bounds, bounds[1:], given))

    def _sort(self, some: list[Block], most: int) -> None:
        from leastnoise.curator.aggregate.unit_list_loops import make_rows, sort_rows

        unsorted, ends, count = self._empty(most), np.empty(PARTS + 1, np.int64), 0
        for units, codes in some:
            low_bits, classes = self._keeper.low_bits, self._in_classes
            count += make_rows(units, codes, low_bits, self._factors, classes, unsorted[count:])
        with self._lock:
            begin, self._count = self._count, self._count + count
            self._ends.append(ends)
        sort_rows(unsorted[:count], self._rows, begin, ends, 64 - PART_BITS)

    @property
    def _in_classes(self) -> tuple[int, int, int, int]:
        return 64 - PART_BITS - CLASS_BITS, CLASSES - 1, self.classes.start, self.classes.stop

    def _empty(self, count: int) -> NDArray[np.int64]:
        return np.empty((count, self._keeper.row_bytes // WORD_BYTES), np.int64)
