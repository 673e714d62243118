"""The loop of `keeping`: over sorted rows, batch after batch, it finds those that are kept.

Each limit is a step: rows in, those that it keeps out, in the same order. So the next one sees sorted rows as well, in
which rows of one content stand in one run, and are numbered anew.

*Why it keeps what the rule says.*

1. max_per_bin and max_rows: a row's place is (hash, number), and numbers rise with the content: so places order rows by
   hash, then content. Rows of one content are numbered 0, 1, 2 ... for the hash; which of them has which number decides
   nothing. No two places are equal, so a heap has the smallest of all that were pushed, in whatever order they were.
2. max_bins: a unit's bins come in the order of their hashes, so the first are those with the smallest.
3. Nothing of this looks at a batch: from one to the next, only where a row is held is written anew. What is held when
   the rows end is what is kept of the last group.

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

    Tables = Iterator[pa.Table]

WORD = np.uint64(2**32 - 1)
MULTIPLIER_1, MULTIPLIER_2, MULTIPLIER_3 = np.uint64(0x7FEB352D), np.uint64(0x45D9F3B3), np.uint64(0x2C1B3C6D)
HALF, ODD_HALF, ONE = np.uint64(16), np.uint64(15), np.uint64(1)

NEW_UNIT, NEW_BIN, NEW_CONTENT = 4, 2, 1  # what differs from the row before, and with it what stands to the right
PLACE, ROW = range(2)  # of a row in the heap: its place in the order, and where it is
SIZE, COPY, NUMBER = range(3)  # of the state between two rows: of the heap, and of the last row


def kept(batches: Iterator[pa.RecordBatch], rule: Rule) -> Tables:
    """The rows that are kept, of rows that are sorted by unit and `rule.order`."""
    limits = rule.limits
    rows: Tables = (pa.Table.from_batches([batch]) for batch in batches)
    if rule.limits_rows_of_bins:
        rows = smallest(rows, rule, NEW_BIN, limits.max_per_bin, rule.key ^ int(MULTIPLIER_2))
    if rule.limits_bins:
        rows = first_bins(rows, rule)
    if rule.limits_rows:
        rows = smallest(rows, rule, NEW_UNIT, limits.max_rows, rule.key)
    return rows


def smallest(tables: Tables, rule: Rule, group: int, count: int, key: int) -> Tables:
    """Of each group the `count` rows with the smallest places. group: what is new in its first row."""
    heap, state = np.empty((count, 2), np.int64), np.zeros(3, np.int64)  # memory is taken where it is written to
    held: pa.Table | None = None  # rows of earlier tables that may be kept
    for fresh, new in _with_changes(tables, rule):
        units = _words([fresh["_unit" if "_unit" in fresh.column_names else rule.unit[0]]])
        contents = _words([fresh[name] for name in (rule.bin[0], *rule.codes)])
        rows = fresh if held is None else pa.concat_tables([held, fresh])
        marked = np.zeros(rows.num_rows, bool)
        mark_smallest(new, group, units, contents, np.uint64(key), rule.most_alike, heap, state, marked)
        yield rows.filter(pa.array(marked))
        held = hold(rows, heap[: state[SIZE]])
    if held is not None:
        yield held


def hold(rows: pa.Table, heap: NDArray[np.int64]) -> pa.Table:
    """The rows that may still be kept, in their order. Where they are is now counted among themselves."""
    order = np.argsort(heap[:, ROW])
    held = rows.take(heap[order, ROW]).combine_chunks()
    heap[order, ROW] = np.arange(len(order))
    return held


def first_bins(tables: Tables, rule: Rule) -> Tables:
    """The rows of the first `max_bins` bins of each unit."""
    bins = 0  # of the last unit
    for rows, new in _with_changes(tables, rule):
        seen = bins + np.cumsum(new >= NEW_BIN)
        before = np.maximum.accumulate(np.where(new >= NEW_UNIT, seen - 1, 0))  # bins of other units
        bins = int(seen[-1] - before[-1])
        yield rows.filter(pa.array(seen - before <= rule.limits.max_bins))


@compiled
def mark_smallest(
    new: Any, group: int, units: Any, contents: Any, key: Any, alike: int, heap: Any, state: Any, kept: Any
) -> None:
    """Mark the rows that are kept of all groups that end, and have in `heap` and `state` what may be kept of the last.

    new: in what a row differs from the one before. units, contents: 32 bits of each. alike: how many rows of one
    content compete. kept: also of rows that were held; those of this table are the last.
    """
    first = kept.size - new.size
    for row in range(new.size):
        state[COPY] += 1
        if new[row] > 0:
            state[COPY] = 0
        if new[row] >= group:
            for at in range(state[SIZE]):
                kept[heap[at, ROW]] = True
            state[:] = 0
        state[NUMBER] += 1
        if state[COPY] < alike:
            own = place(units[row], contents[row], key, state[COPY], state[NUMBER])
            state[SIZE] = push(heap, state[SIZE], own, first + row)


@compiled
def push(heap: Any, size: int, own: int, row: int) -> int:
    """Keep the smallest, as many as there is room for, the largest of them in front; how many there are."""
    if size < len(heap):
        at = size
        while at > 0 and heap[(at - 1) >> 1, PLACE] < own:
            heap[at] = heap[(at - 1) >> 1]
            at = (at - 1) >> 1
        size += 1
    elif own < heap[0, PLACE]:
        at, child = 0, 1
        while child < size:
            if child + 1 < size and heap[child + 1, PLACE] > heap[child, PLACE]:
                child += 1
            if heap[child, PLACE] <= own:
                break
            heap[at] = heap[child]
            at, child = child, 2 * child + 1
    else:
        return size
    heap[at, PLACE], heap[at, ROW] = own, row
    return size


@compiled
def place(unit: Any, content: Any, key: Any, copy: int, number: int) -> Any:
    """The place in the order of a row: by `priorities.with_hash`, then by its number, for rows come in the order of
    their content."""
    word = unit ^ key
    word = mixed((((word ^ (word >> HALF)) * MULTIPLIER_1) & WORD) ^ content)
    return np.int64((mixed(word ^ np.uint64(copy)) >> ONE) << np.uint64(32)) | min(number, 2**32 - 1)


@compiled
def mixed(word: Any) -> Any:
    """`priorities.mixed`."""
    word = ((word ^ (word >> HALF)) * MULTIPLIER_2) & WORD
    word = ((word ^ (word >> ODD_HALF)) * MULTIPLIER_3) & WORD
    return word ^ (word >> HALF)


@compiled
def add_word(words: Any, integers: Any) -> None:
    """`priorities.next_word`: 32 bits of a content with one more integer; `priorities.fold` of the first, where all are
    zero."""
    for row in range(words.size):
        whole = np.uint64(integers[row])
        folded = (((whole >> np.uint64(32)) * MULTIPLIER_1) & WORD) ^ (whole & WORD)
        words[row] = (words[row] * MULTIPLIER_2 + folded) & WORD


def _words(columns: Sequence[pa.ChunkedArray]) -> NDArray[np.uint64]:
    """32 bits of each row's integers."""
    words = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        integers = column.cast(pa.int64()).to_numpy()
        integers.flags.writeable = False  # as Arrow's are: else the loop would be compiled for both
        add_word(words, integers)
    return words


def _with_changes(tables: Tables, rule: Rule) -> Iterator[tuple[pa.Table, NDArray[np.uint8]]]:
    """Each table that has rows, and in what each of its rows differs from the one before."""
    last: pa.Table | None = None
    for rows in tables:
        if not rows.num_rows:
            continue
        new = np.zeros(rows.num_rows, np.uint8)
        for names, what in ((rule.unit, NEW_UNIT), (rule.bin, NEW_BIN), (rule.codes, NEW_CONTENT)):
            for name in names:
                new |= _changes(rows[name], None if last is None else last[name]) * np.uint8(what)
        yield rows, new
        last = rows.slice(rows.num_rows - 1)


def _changes(column: pa.ChunkedArray, before: pa.ChunkedArray | None) -> NDArray[np.bool_]:
    """Whether each value is another than the one before. One that is missing changes nothing: which are is told by
    another column."""
    one = pa.chunked_array([*([] if before is None else before.chunks), *column.chunks]).combine_chunks()
    one = one.dictionary_decode() if pa.types.is_dictionary(one.type) else one
    other = pc.not_equal(one.slice(1), one.slice(0, len(one) - 1)).fill_null(False).to_numpy(zero_copy_only=False)
    return other if before is not None else np.concatenate([[True], other])
