"""The loop of `keeping`: over rows sorted by unit, bin and content, batch after batch, it finds those that are kept.

*Why it keeps what the rule says.* A unit's rows come in the order of their content.

1. A row's place is (hash, number), and numbers rise with the content: so places order rows by hash, then content. Rows
   of one content stand in one run, which is numbered 0, 1, 2 ...; which of them has which number decides nothing.
2. No two places are equal, so a heap has the smallest of all that were pushed, in whatever order they were.
3. Where the rows of a bin compete, its slot has those that the limit keeps when the bin ends. They alone are numbered
   anew, by content, and get places among the rows of the unit. Where rows of a bin are all alike, those with a number
   below the limit are any of them, and keep their numbers. Where nothing limits a bin alone, its slot has room for
   max_rows rows by their places in the unit: what it drops has max_rows rows of its own bin before it.
4. Where bins compete, one that finds or leaves no slot has max_bins other bins before it. That stays so, whatever bins
   follow, so none of its rows is needed again.
5. A unit with no more rows than the smallest limit has no more in a bin, and no more bins: it keeps all.
6. Nothing of this looks at a batch: from one to the next, only where a row is held is written anew.

(A unit with 2^32 rows would have equal places at the end of its order: of these the first is kept, so that still
nothing but its own rows decides.)

What is compiled is kept until *this* file changes: numbers of other files stand here once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from leastnoise._support.runtime import compiled

if TYPE_CHECKING:
    from leastnoise.curator.rows.keeping import Rule

WORD = np.uint64(2**32 - 1)
MULTIPLIER_1, MULTIPLIER_2, MULTIPLIER_3 = np.uint64(0x7FEB352D), np.uint64(0x45D9F3B3), np.uint64(0x2C1B3C6D)
HALF, ODD_HALF, ONE = np.uint64(16), np.uint64(15), np.uint64(1)

NEW_UNIT, NEW_BIN, NEW_CONTENT = 4, 2, 1  # what differs from the row before, and with it what stands to the right
KEY, ROW, CONTENT, HASH = range(4)  # of a row in a heap: its place in the order, where it is, and what it holds
SIZE = 1  # of a bin's slot, beside its KEY
UNIT, ROWS, BINS, SLOT, COPY, NUMBER, CONTENTS = range(7)  # of the state between two rows
IN_BIN, FEW_BINS, ALIKE, FEWEST = range(4)  # of the limits


@compiled
def add_word(words: Any, integers: Any) -> None:
    """`priorities.next_word`: 32 bits of a content with one more integer; `priorities.fold` of the first, where all are
    zero."""
    for row in range(words.size):
        whole = np.uint64(integers[row])
        folded = (((whole >> np.uint64(32)) * MULTIPLIER_1) & WORD) ^ (whole & WORD)
        words[row] = (words[row] * MULTIPLIER_2 + folded) & WORD


@compiled
def mixed(word: Any) -> Any:
    """`priorities.mixed`."""
    word = ((word ^ (word >> HALF)) * MULTIPLIER_2) & WORD
    word = ((word ^ (word >> ODD_HALF)) * MULTIPLIER_3) & WORD
    return word ^ (word >> HALF)


@compiled
def unit_content(unit: Any, key: Any, content: Any) -> Any:
    """32 bits of a unit and a content: the first steps of `priorities.with_hash`."""
    word = unit ^ key
    return mixed((((word ^ (word >> HALF)) * MULTIPLIER_1) & WORD) ^ content)


@compiled
def place(word: Any, copy: int, number: int) -> Any:
    """The place in the order of a row: by its hash, then by its number, for rows come in the order of their content."""
    return np.int64((mixed(word ^ np.uint64(copy)) >> ONE) << np.uint64(32)) | min(number, 2**32 - 1)


@compiled
def push(heap: Any, size: int, key: int, row: int, content: int, word: int) -> int:
    """Keep the smallest, as many as there is room for, the largest of them in front; how many there are."""
    if size < len(heap):
        at = size
        while at > 0 and heap[(at - 1) >> 1, KEY] < key:
            heap[at] = heap[(at - 1) >> 1]
            at = (at - 1) >> 1
        size += 1
    elif key < heap[0, KEY]:
        at, child = 0, 1
        while child < size:
            if child + 1 < size and heap[child + 1, KEY] > heap[child, KEY]:
                child += 1
            if heap[child, KEY] <= key:
                break
            heap[at] = heap[child]
            at, child = child, 2 * child + 1
    else:
        return size
    heap[at, KEY], heap[at, ROW], heap[at, CONTENT], heap[at, HASH] = key, row, content, word
    return size


@compiled
def number_anew(heap: Any, size: int, unit: Any, key: Any) -> None:
    """Give the rows of a bin their places among the rows of the unit: those of one content are numbered anew."""
    number = heap[:size, KEY] & (2**32 - 1)
    copy, before = 0, np.int64(-1)
    for at in np.argsort(number):
        copy = copy + 1 if heap[at, CONTENT] == before else 0
        before = heap[at, CONTENT]
        heap[at, KEY] = place(unit_content(unit, key, np.uint64(heap[at, HASH])), copy, number[at])


@compiled
def end_bin(heaps: Any, slot: int, state: Any, limits: Any, unit: Any, key: Any) -> None:
    """What is kept of a bin competes with the other rows of its unit."""
    rows, of_bin, slots = heaps[0], heaps[1][slot], heaps[2]
    if limits[IN_BIN]:
        number_anew(of_bin, slots[slot, SIZE], unit, key)
    for at in range(slots[slot, SIZE]):
        own = of_bin[at]
        state[ROWS] = push(rows, state[ROWS], own[KEY], own[ROW], own[CONTENT], own[HASH])
    slots[slot, SIZE] = 0


@compiled
def end_unit(heaps: Any, state: Any, limits: Any, key: Any, kept: Any) -> None:
    """Mark the rows of a unit that are kept; nothing of it is left in the state."""
    for slot in range(state[BINS]):
        end_bin(heaps, slot, state, limits, np.uint64(state[UNIT]), key)
    for at in range(state[ROWS]):
        kept[heaps[0][at, ROW]] = True
    state[:] = 0


@compiled
def whole_unit(new: Any, begin: int, most: int) -> int:
    """Where the unit ends that begins here, if that is among these rows and it has at most so many; else 0."""
    for row in range(begin + 1, min(begin + most + 1, new.size)):
        if new[row] >= NEW_UNIT:
            return row
    return 0


@compiled
def begin_bin(slots: Any, state: Any, unit: Any, key: Any, word: Any) -> None:
    """The slot for the rows of a bin: one that is free, or that of the bin which is no longer among those with the
    smallest hashes; -1 for none. Bins that tie are in order."""
    hashed = np.int64(unit_content(unit, key ^ MULTIPLIER_3, word) >> ONE) << 32 | min(state[NUMBER], 2**32 - 1)
    state[SLOT] = state[BINS]
    if state[BINS] < len(slots):
        state[BINS] += 1
    else:
        state[SLOT] = np.argmax(slots[:, KEY])
        if hashed > slots[state[SLOT], KEY]:
            state[SLOT] = -1
            return
    slots[state[SLOT], KEY], slots[state[SLOT], SIZE] = hashed, 0


@compiled
def keep(
    new: Any, units: Any, bins: Any, contents: Any, limits: Any, key: Any, heaps: Any, state: Any, kept: Any
) -> None:
    """Mark the rows that are kept of all units that end, and have in `heaps` and `state` what may be kept of the last.

    new: in what a row differs from the one before. units, bins, contents: 32 bits of each. limits: whether the rows of
    a bin compete with each other first; whether bins compete; how many rows of one content do; how many rows of a unit
    need not. kept: also of rows of earlier batches; those of this one are the last.
    """
    rows, of_bins, slots = heaps
    first, light = kept.size - new.size, 0
    for row in range(new.size):
        if new[row] >= NEW_UNIT:
            if state[NUMBER] > 0:
                end_unit(heaps, state, limits, key, kept)
            state[UNIT] = np.int64(units[row])
            light = whole_unit(new, row, limits[FEWEST])
        if row < light:  # of a unit with no more rows than any limit keeps
            kept[first + row] = True
            continue
        unit, own = np.uint64(state[UNIT]), contents[row]
        if new[row] >= NEW_BIN and limits[FEW_BINS]:
            begin_bin(slots, state, unit, key, bins[row])
        elif new[row] >= NEW_BIN and limits[IN_BIN]:
            end_bin(heaps, 0, state, limits, unit, key)
            state[BINS] = 1
        state[NUMBER] += 1
        state[COPY] += 1
        if new[row] > 0:
            state[CONTENTS] += 1
            state[COPY] = 0
        slot = state[SLOT]
        if slot < 0 or state[COPY] >= limits[ALIKE]:
            continue
        word = unit_content(unit, key ^ MULTIPLIER_2 if limits[IN_BIN] else key, own)
        at = place(word, state[COPY], state[NUMBER])
        if limits[IN_BIN] or limits[FEW_BINS]:
            slots[slot, SIZE] = push(of_bins[slot], slots[slot, SIZE], at, first + row, state[CONTENTS], int(own))
        else:
            state[ROWS] = push(rows, state[ROWS], at, first + row, state[CONTENTS], int(own))


class Keeper:
    """What is kept of the units that have ended, batch by batch, and what may be kept of the last one."""

    def __init__(self, rule: Rule) -> None:
        limits, alone = rule.limits, rule.bins_are_contents
        alike = limits.max_per_bin if rule.limits_rows_of_bins and alone else rule.most_alike
        fewest = min(limits.max_rows, limits.max_per_bin, limits.max_bins)
        self._rule, self._limits = rule, (rule.limits_rows_of_bins and not alone, rule.limits_bins, alike, fewest)
        rows = np.empty((limits.max_rows, 4), np.int64)  # memory is taken where it is written to
        of_bins = np.empty((rule.slots, rule.rows_of_bin, 4), np.int64)
        self._heaps = rows, of_bins, np.zeros((rule.slots, 2), np.int64)
        self._state = np.zeros(7, np.int64)
        self._held: pa.Table | None = None  # rows of earlier batches that may be kept
        self._last: pa.Table | None = None  # the row before

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Rows that follow those before: what is kept of the units that end among them."""
        rule, fresh = self._rule, pa.Table.from_batches([batch])
        units = _words([fresh["_unit" if "_unit" in fresh.column_names else rule.unit[0]]])
        bins = _words([fresh[rule.bin[0]]]) if rule.limits_bins else units
        contents = _words([fresh[name] for name in (rule.bin[0], *rule.codes)])
        held = fresh if self._held is None else pa.concat_tables([self._held, fresh])
        kept = np.zeros(held.num_rows, bool)
        new = self._differences(fresh)
        keep(new, units, bins, contents, self._limits, np.uint64(rule.key), self._heaps, self._state, kept)
        self._last = fresh.slice(fresh.num_rows - 1)
        yield from self._taken(held, kept)
        self._hold(held)

    def end(self) -> Iterator[pa.RecordBatch]:
        """What is kept of the last unit."""
        if self._held is not None:
            kept = np.zeros(self._held.num_rows, bool)
            end_unit(self._heaps, self._state, self._limits, np.uint64(self._rule.key), kept)
            yield from self._taken(self._held, kept)

    def _taken(self, rows: pa.Table, kept: NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
        taken = rows.select(list(self._rule.keep)).filter(pa.array(kept))
        yield from taken.combine_chunks().to_batches()

    def _hold(self, rows: pa.Table) -> None:
        """Rows that may still be kept, whose numbers in the heaps are now those among themselves."""
        of_unit, of_bins, slots = self._heaps
        sizes = slots[: self._state[BINS], SIZE]
        parts = [of_unit[: self._state[ROWS]], *(of_bins[slot, :size] for slot, size in enumerate(sizes))]
        numbers = np.concatenate([part[:, ROW] for part in parts])
        begin = 0
        for part in parts:
            part[:, ROW] = np.arange(begin, begin + len(part))
            begin += len(part)
        self._held = rows.take(numbers).combine_chunks()

    def _differences(self, fresh: pa.Table) -> NDArray[np.uint8]:
        """In what each row differs from the one before."""
        rule, found = self._rule, np.zeros(fresh.num_rows, np.uint8)
        sides = [(rule.unit, NEW_UNIT), (rule.bin, NEW_BIN), (rule.codes, NEW_CONTENT)]
        for names, what in sides:
            for name in names:
                before = None if self._last is None else self._last[name]
                found |= _changes(fresh[name], before) * np.uint8(what)
        return found


def _changes(column: pa.ChunkedArray, before: pa.ChunkedArray | None) -> NDArray[np.bool_]:
    """Whether each value is another than the one before. One that is missing changes nothing: which are is told by
    another column."""
    one = pa.chunked_array([*([] if before is None else before.chunks), *column.chunks]).combine_chunks()
    one = one.dictionary_decode() if pa.types.is_dictionary(one.type) else one
    other = pc.not_equal(one.slice(1), one.slice(0, len(one) - 1)).fill_null(False).to_numpy(zero_copy_only=False)
    return other if before is not None else np.concatenate([[True], other])


def _words(columns: Sequence[pa.ChunkedArray]) -> NDArray[np.uint64]:
    """32 bits of each row's integers."""
    words = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        integers = column.cast(pa.int64()).to_numpy()
        integers.flags.writeable = False  # as Arrow's are: else the loop would be compiled for both
        add_word(words, integers)
    return words
