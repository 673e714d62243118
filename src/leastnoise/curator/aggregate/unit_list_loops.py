"""The loops of `unit_lists`: rows are sorted by the first bits of their places, and those that are alike are counted.
`draw_loops` has those that draw.

A place is the unit, mixed one to one. Its first bits say in which part of the rows it is. A part that is larger than
others takes more memory and time, so nobody may know beforehand which units share one: the mixing has two random
factors. The first bits of x b, for a random odd b, are the same for two different x with a chance of 2/PARTS at most.

A row is two words, its place and its x = copies * 2^32 + code: so many rows of one unit and code. A code of more than
32 bits has its last ones in a third word, `low`.

What is compiled is kept until *this* file changes: numbers of other files are arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise._support.compilation import compiled

WORD_MASK = 2**32 - 1
MOST_COPIES = 2**20 - 1  # as in `bounding`: more of one unit and code are taken for so many
FIRST_SIZE = 2**15  # rows that are looked through at once, unless one part has more


@compiled
def make_rows(units: Any, codes: Any, low_bits: int, factors: Any, classes: Any, rows: Any) -> Any:
    """The words of every row; of rows that are alike and follow each other, one. How many there are now.

    factors: two odd numbers. classes: a class is a shifted place, up to a mask, and from which class on to which rows
    are made.
    """
    one, half, low = np.uint64(1), np.uint64(32), np.uint64(low_bits)
    wide, count, begin = rows.shape[1] == 3, 0, 0
    place, outside = np.int64(0), False
    for row in range(units.size):
        if row == 0 or units[row] != units[row - 1]:
            place = place_of(np.uint64(units[row]), factors)
            outside = not in_classes(place, classes)
            begin = count
        if outside:
            continue
        code = np.uint64(codes[row])
        x, x_low = np.int64((one << half) | (code >> low)), np.int64(code & ((one << low) - one))
        if count > begin and alike(rows, count - 1, place, x, x_low):
            rows[count - 1, 1] = added(rows[count - 1, 1], x)
            continue
        rows[count, 0], rows[count, 1] = place, x
        if wide:
            rows[count, 2] = x_low
        count += 1
    return count


@compiled
def place_of(unit: Any, factors: Any) -> Any:
    """A shift and xor, and a product with an odd number, are one to one on 64 bits."""
    mixed = (unit ^ (unit >> np.uint64(32))) * factors[0]
    mixed = (mixed ^ (mixed >> np.uint64(29))) * factors[1]
    return np.int64(mixed ^ (mixed >> np.uint64(32)))  # the last bits of a product know those of its factors alone


@compiled
def alike(rows: Any, row: int, place: Any, x: Any, low: Any) -> bool:
    """Whether a row is of this place and of the code of x and low."""
    same = rows[row, 0] == place and (rows[row, 1] ^ x) & WORD_MASK == 0
    return bool(same and (rows.shape[1] == 2 or rows[row, 2] == low))


@compiled
def added(x: Any, y: Any) -> Any:
    """The x of the copies of both."""
    return (min((x >> 32) + (y >> 32), MOST_COPIES) << 32) | (x & WORD_MASK)


@compiled
def in_classes(place: Any, classes: Any) -> bool:
    """Whether the rows of this place are looked at now."""
    shift, mask, begin, end = classes
    return bool(begin <= (place >> shift) & mask < end)


@compiled
def copy(rows: Any, begin: int, copies: Any, to: int, count: int) -> None:
    """`count` rows from `begin` on; word by word, which is several times as quick as slices are here."""
    for row in range(count):
        copies[to + row, 0], copies[to + row, 1] = rows[begin + row, 0], rows[begin + row, 1]
        if rows.shape[1] == 3:
            copies[to + row, 2] = rows[begin + row, 2]


@compiled
def sort_rows(unsorted: Any, rows: Any, begin: int, ends: Any, shift: int) -> None:
    """The rows sorted by part, from `begin` on in `rows`: part p begins at ends[p]. Their number is a power of two; a
    part is the last bits of a place that is shifted."""
    parts = ends.size - 1
    ends[:] = 0
    for row in range(unsorted.shape[0]):
        ends[((unsorted[row, 0] >> shift) & (parts - 1)) + 1] += 1
    ends[0] = begin
    for part in range(parts):
        ends[part + 1] += ends[part]
    for row in range(unsorted.shape[0]):
        part = (unsorted[row, 0] >> shift) & (parts - 1)
        copy(unsorted, row, rows, ends[part], 1)
        ends[part] += 1
    for part in range(parts, 0, -1):  # each has moved on to where the next begins
        ends[part] = ends[part - 1]
    ends[0] = begin


@compiled
def merge_some(rows: Any, count: int, factors: Any, table: Any) -> int:
    """Of the first `count` rows those that are alike in one; how many are left, at the front of all."""
    bits = 4
    while 1 << bits < 2 * count:
        bits += 1
    size, shift, kept = 1 << bits, np.uint64(64 - bits), 0
    table[:size] = 0  # else the number of a row, from 1 on
    for row in range(count):
        place, x, low = rows[row, 0], rows[row, 1], rows[row, rows.shape[1] - 1]
        mixed = np.uint64(place) ^ (np.uint64((x & WORD_MASK) ^ (low if rows.shape[1] == 3 else 0)) * factors[0])
        slot = np.int64(((mixed ^ (mixed >> np.uint64(29))) * factors[1]) >> shift)
        while table[slot] != 0 and not alike(rows, table[slot] - 1, place, x, low):
            slot = (slot + 1) & (size - 1)
        if table[slot] == 0:
            copy(rows, row, rows, kept, 1)
            kept += 1
            table[slot] = kept
        else:
            rows[table[slot] - 1, 1] = added(rows[table[slot] - 1, 1], x)
    return kept


@compiled
def merge_rows(rows: Any, ends: Any, stops: Any, first: int, last: int, factors: Any) -> None:
    """Of parts first ... last - 1 leave those that are alike in one. Block b has part p from ends[b, p] to stops[b, p],
    before and after."""
    words, size = rows.shape[1], FIRST_SIZE
    some, table = np.empty((size, words), np.int64), np.empty(2 * size, np.int64)
    for part in range(first, last):
        count, copied = 0, 0
        for block in range(ends.shape[0]):
            begin = ends[block, part]
            while begin < stops[block, part]:
                if count == size:
                    count = merge_some(some, count, factors, table)
                    if count > size // 2:
                        size *= 2
                        larger, table = np.empty((size, words), np.int64), np.empty(2 * size, np.int64)
                        copy(some, 0, larger, 0, count)
                        some = larger
                more = min(stops[block, part] - begin, size - count)
                copy(rows, begin, some, count, more)
                begin, count = begin + more, count + more
        count = merge_some(some, count, factors, table)
        for block in range(ends.shape[0]):
            more = min(stops[block, part] - ends[block, part], count - copied)
            copy(some, copied, rows, ends[block, part], more)
            stops[block, part] = ends[block, part] + more
            copied += more


@compiled
def close_up(rows: Any, ends: Any, stops: Any, classes: Any) -> int:
    """Bring what is left of these classes to the front of all rows; how many. Blocks and parts stay, and `ends` are
    where they begin now. A row moves to the front or not at all, so none is written over that is still to be read."""
    to = 0
    for block in range(ends.shape[0]):
        for part in range(stops.shape[1]):
            begin, ends[block, part] = ends[block, part], to
            for row in range(begin, stops[block, part]):
                if in_classes(rows[row, 0], classes):
                    copy(rows, row, rows, to, 1)
                    to += 1
        ends[block, stops.shape[1]] = to
    return to


@compiled
def copy_rows(rows: Any, ends: Any, stops: Any, first: int, last: int, copies: Any, to: int, part_ends: Any) -> None:
    """What is left of parts first ... last - 1, from `to` on in `copies`; part p ends at part_ends[p + 1]."""
    for part in range(first, last):
        for block in range(ends.shape[0]):
            count = stops[block, part] - ends[block, part]
            copy(rows, ends[block, part], copies, to, count)
            to += count
        part_ends[part + 1] = to


@compiled
def copy_codes(rows: Any, ends: Any, stops: Any, codes: Any, low_bits: int) -> None:
    """The codes of what is left, each as often as there are copies."""
    to = 0
    for block in range(ends.shape[0]):
        for part in range(stops.shape[1]):
            for row in range(ends[block, part], stops[block, part]):
                code = (rows[row, 1] & WORD_MASK) << low_bits
                if low_bits > 0:
                    code |= rows[row, 2]
                for _ in range(rows[row, 1] >> 32):
                    codes[to] = code
                    to += 1
