"""The loops of `unit_lists`: rows are sorted by the first bits of their places, and of every unit some are kept.

A place is the unit, mixed one to one. Its first bits say in which part of the rows it is, its last bits where a search
for it begins. A part that is larger than others takes more memory and time, so nobody may know beforehand which units
share one: the mixing has two random factors. The first bits of x b, for a random odd b, are the same for two different
x with a chance of 2/PARTS at most.

A row is two words, its place and its x; a code of more than 32 bits has its last ones in a third word, `low`.

What is compiled is kept until *this* file changes: numbers of other files are arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise._support.compilation import compiled

WORD_MASK = 2**32 - 1
FIRST_SIZE = 2**15  # rows that are looked through at once, unless more than half as many are kept of one part


@compiled
def make_rows(units: Any, codes: Any, low_bits: int, key: Any, multipliers: Any, factors: Any, rows: Any) -> None:
    """The words of every row. multipliers: of the hash. factors: two odd numbers.

    The hash is `bounding.with_hash` of `bounding.fold`, in 64 bits that wrap: the lower 32 bits of a product are the
    same.
    """
    word, one, half, most = np.uint64(WORD_MASK), np.uint64(1), np.uint64(16), np.uint64(32)
    first, second, third = multipliers[0], multipliers[1], multipliers[2]
    low = np.uint64(low_bits)
    for row in range(units.size):
        unit, code = np.uint64(units[row]), np.uint64(codes[row])
        h = (((unit >> most) * first) & word) ^ (unit & word) ^ key
        h = (((h ^ (h >> half)) * first) & word) ^ (((code >> most) * first) & word) ^ (code & word)
        h = ((h ^ (h >> half)) * second) & word
        h = ((h ^ (h >> np.uint64(15))) * third) & word
        h = (h ^ (h >> half)) >> one
        # A shift and xor, and a product with an odd number, are one to one on 64 bits.
        place = (unit ^ (unit >> most)) * factors[0]
        place = (place ^ (place >> np.uint64(29))) * factors[1]
        place = place ^ (place >> most)  # the last bits of a product know the last bits of its factors alone
        rows[row, 0] = np.int64(place)
        rows[row, 1] = np.int64((h << most) | (code >> low))
        if rows.shape[1] == 3:
            rows[row, 2] = np.int64(code & ((one << low) - one))


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
def listed(x: Any, low: Any, begin: int, end: int, max_rows: int, max_per_bin: int, shift: int) -> int:
    """Bring those of rows begin ... end - 1 that the rule keeps to their front, in ascending order; how many.

    shift: a row's bin is what is left of the last 32 bits of its x.
    """
    size = 0
    for row in range(begin, end):
        new, new_low = x[row], low[row]
        last = begin + size - 1
        if size == max_rows and (new > x[last] or (new == x[last] and new_low >= low[last])):
            continue
        gap = last + (size < max_rows)  # up to here rows move by one; behind the last one, the list gets longer
        if max_per_bin < max_rows:
            in_bin, largest = 0, begin
            for member in range(begin, begin + size):
                if (x[member] & WORD_MASK) >> shift == (new & WORD_MASK) >> shift:
                    in_bin, largest = in_bin + 1, member
            if in_bin == max_per_bin:
                if new > x[largest] or (new == x[largest] and new_low >= low[largest]):
                    continue
                gap = largest
        size += gap == begin + size
        while gap > begin and (x[gap - 1] > new or (x[gap - 1] == new and low[gap - 1] > new_low)):
            x[gap], low[gap] = x[gap - 1], low[gap - 1]
            gap -= 1
        x[gap], low[gap] = new, new_low
    return size


@compiled
def keep_some(rows: Any, count: int, max_rows: int, max_per_bin: int, shift: int, scratch: Any) -> int:
    """Bring those of the first `count` rows that the rule keeps to the front of all; how many. The rows of a unit come
    together in `scratch`, as many columns as there are rows at least."""
    places, ends, x, low = scratch[0], scratch[1], scratch[2], scratch[3]
    table, units, wide = scratch[4:].reshape(-1), 0, rows.shape[1] == 3
    size = 16
    while size < 2 * count:
        size *= 2
    table[:size] = 0  # else the number of a unit, from 1 on
    for row in range(count):
        place = rows[row, 0]
        slot = place & (size - 1)
        while table[slot] != 0 and places[table[slot] - 1] != place:
            slot = (slot + 1) & (size - 1)
        if table[slot] == 0:
            places[units], ends[units] = place, 0
            units += 1
            table[slot] = units
        number = table[slot] - 1
        ends[number] += 1
        rows[row, 0] = number
    begin = 0
    for number in range(units):
        begin, ends[number] = begin + ends[number], begin
    for row in range(count):
        to = ends[rows[row, 0]]
        ends[rows[row, 0]] = to + 1
        x[to] = rows[row, 1]
        if wide:
            low[to] = rows[row, 2]
    begin, kept = 0, 0
    for number in range(units):
        end = ends[number]
        size = end - begin
        if size > min(max_rows, max_per_bin):
            size = listed(x, low, begin, end, max_rows, max_per_bin, shift)
        for row in range(begin, begin + size):
            rows[kept, 0], rows[kept, 1] = places[number], x[row]
            if wide:
                rows[kept, 2] = low[row]
            kept += 1
        begin = end
    return kept


@compiled
def keep_rows(
    rows: Any, ends: Any, stops: Any, first: int, last: int, max_rows: int, max_per_bin: int, shift: int
) -> int:
    """Of parts first ... last - 1 the rows that the rule keeps, in place of all; how many.

    ends: block b has part p from ends[b, p] to ends[b, p + 1]; after this, what is kept of it until stops[b, p].
    """
    words, total = rows.shape[1], 0
    some, scratch = np.empty((FIRST_SIZE, words), np.int64), np.zeros((6, FIRST_SIZE), np.int64)
    for part in range(first, last):
        count = 0
        for block in range(ends.shape[0]):
            begin = ends[block, part]
            while begin < ends[block, part + 1]:
                if count == some.shape[0]:
                    count = keep_some(some, count, max_rows, max_per_bin, shift, scratch)
                    if count > some.shape[0] // 2:
                        larger = np.empty((2 * some.shape[0], words), np.int64)
                        copy(some, 0, larger, 0, count)
                        some, scratch = larger, np.zeros((6, larger.shape[0]), np.int64)
                more = min(ends[block, part + 1] - begin, some.shape[0] - count)
                copy(rows, begin, some, count, more)
                begin, count = begin + more, count + more
        count = keep_some(some, count, max_rows, max_per_bin, shift, scratch)
        total += count
        copied = 0
        for block in range(ends.shape[0]):
            begin = ends[block, part]
            more = min(ends[block, part + 1] - begin, count - copied)
            copy(some, copied, rows, begin, more)
            stops[block, part] = begin + more
            copied += more
    return total


@compiled
def copy_rows(rows: Any, ends: Any, stops: Any, first: int, last: int, copies: Any, to: int, part_ends: Any) -> None:
    """What was kept of parts first ... last - 1, from `to` on in `copies`; part p ends at part_ends[p + 1]."""
    for part in range(first, last):
        for block in range(ends.shape[0]):
            count = stops[block, part] - ends[block, part]
            copy(rows, ends[block, part], copies, to, count)
            to += count
        part_ends[part + 1] = to


@compiled
def copy_codes(rows: Any, ends: Any, stops: Any, first: int, last: int, codes: Any, to: int, low_bits: int) -> None:
    """The codes of what was kept of parts first ... last - 1, from `to` on."""
    for part in range(first, last):
        for block in range(ends.shape[0]):
            for row in range(ends[block, part], stops[block, part]):
                codes[to] = (rows[row, 1] & WORD_MASK) << low_bits
                if low_bits > 0:
                    codes[to] |= rows[row, 2]
                to += 1
