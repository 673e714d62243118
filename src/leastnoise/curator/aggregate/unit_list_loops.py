"""The loops of `unit_lists`: rows are sorted by the first bits of their places, and of every unit some are kept.

A place is the unit, mixed one to one. Its first bits say in which part of the rows it is, its last bits where a search
for it begins. A part that is larger than others takes more memory and time, so nobody may know beforehand which units
share one: the mixing has two random factors. The first bits of x b, for a random odd b, are the same for two different
x with a chance of 2/PARTS at most.

A row is two words, its place and its x; a code of more than 32 bits has its last ones in a third word, `low`. `limits`
are max_rows, max_per_bin and by how much the last 32 bits of x are shifted to be a bin.

`largest` has, for some units of which max_rows rows were kept already, their place and the largest x of these: a row
with a larger x is none of those that are kept (see `unit_lists`). A place has one slot, by its first bits, so threads
that work on different parts write to different slots. An empty slot has the largest x there is.

What is compiled is kept until *this* file changes: numbers of other files are arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise._support.compilation import compiled

WORD_MASK = 2**32 - 1
MOST = 2**63 - 1  # an x is not larger
SHORT_LIST = 64  # up to so many rows a list is kept while rows are read: a longer one takes too long to be done twice
FIRST_SIZE = 2**15  # rows that are looked through at once, unless more than half as many are kept of one part


@compiled
def shift_of(slots: int) -> Any:
    """By how much a place is shifted to be one of so many slots, a power of two from 2 on."""
    shift = 63
    while 1 << (64 - shift) < slots:
        shift -= 1
    return np.uint64(shift)


@compiled
def make_rows(
    units: Any,
    codes: Any,
    low_bits: int,
    key: Any,
    multipliers: Any,
    factors: Any,
    limits: Any,
    classes: Any,
    largest: Any,
    rows: Any,
) -> Any:
    """The words of every row, but of those of a unit that follow each other only the rows that are kept of them; how
    many rows there are now, and how many were seen to be none of those that are kept.

    multipliers: of the hash. factors: two odd numbers. classes: a class is a shifted place, up to a mask, and from
    which class on to which rows are made.

    The hash is `bounding.with_hash` of `bounding.fold`, in 64 bits that wrap: the lower 32 bits of a product are the
    same.
    """
    word, one, half, most = np.uint64(WORD_MASK), np.uint64(1), np.uint64(16), np.uint64(32)
    first, second, third = multipliers[0], multipliers[1], multipliers[2]
    low, slot_shift = np.uint64(low_bits), shift_of(largest.shape[0])
    max_rows, in_lists, wide = limits[0], limits[0] <= SHORT_LIST, rows.shape[1] == 3
    begin, count, left_out = 0, 0, 0
    unit_hash, place, bound, outside = np.uint64(0), np.int64(0), np.int64(MOST), False
    for row in range(units.size):
        if row == 0 or units[row] != units[row - 1]:
            unit = np.uint64(units[row])
            unit_hash = (((unit >> most) * first) & word) ^ (unit & word) ^ key
            unit_hash = ((unit_hash ^ (unit_hash >> half)) * first) & word
            # A shift and xor, and a product with an odd number, are one to one on 64 bits.
            mixed = (unit ^ (unit >> most)) * factors[0]
            mixed = (mixed ^ (mixed >> np.uint64(29))) * factors[1]
            mixed = mixed ^ (mixed >> most)  # the last bits of a product know the last bits of its factors alone
            place = np.int64(mixed)
            slot = np.int64(mixed >> slot_shift)
            bound = largest[slot, 1] if largest[slot, 0] == place else np.int64(MOST)
            outside = not in_classes(place, classes)
            begin = count
        if outside:
            continue
        code = np.uint64(codes[row])
        h = unit_hash ^ (((code >> most) * first) & word) ^ (code & word)
        h = ((h ^ (h >> half)) * second) & word
        h = ((h ^ (h >> np.uint64(15))) * third) & word
        h = (h ^ (h >> half)) >> one
        x = np.int64((h << most) | (code >> low))
        if x > bound:
            left_out += 1
            continue
        x_low = np.int64(code & ((one << low) - one))
        if in_lists and count > begin:
            count = begin + entered(rows, begin, count - begin, x, x_low, limits)
        else:
            rows[count, 1] = x
            if wide:
                rows[count, 2] = x_low
            count += 1
        rows[count - 1, 0] = place
        if in_lists and count - begin == max_rows:
            bound = rows[count - 1, 1]
    return count, left_out


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
def above(rows: Any, row: int, x: Any, low: Any) -> bool:
    """Whether a row is behind (x, low)."""
    return bool(rows[row, 1] > x or (rows.shape[1] == 3 and rows[row, 1] == x and rows[row, 2] > low))


@compiled
def entered(rows: Any, begin: int, size: int, x: Any, low: Any, limits: Any) -> int:
    """Let a row of the same unit into the list of `size` rows from `begin` on, in ascending order, if the rule keeps it
    there; how long the list is then."""
    max_rows, max_per_bin, shift = limits
    last = begin + size - 1
    if size == max_rows and not above(rows, last, x, low):
        return size
    gap = last + (size < max_rows)  # up to here rows move by one; behind the last one, the list gets longer
    if max_per_bin < max_rows:
        in_bin, behind = 0, begin
        for member in range(begin, begin + size):
            if (rows[member, 1] & WORD_MASK) >> shift == (x & WORD_MASK) >> shift:
                in_bin, behind = in_bin + 1, member
        if in_bin == max_per_bin:
            if not above(rows, behind, x, low):
                return size
            gap = behind
    size += gap == begin + size
    while gap > begin and above(rows, gap - 1, x, low):
        rows[gap, 1] = rows[gap - 1, 1]
        if rows.shape[1] == 3:
            rows[gap, 2] = rows[gap - 1, 2]
        gap -= 1
    rows[gap, 1] = x
    if rows.shape[1] == 3:
        rows[gap, 2] = low
    return size


@compiled
def listed(rows: Any, begin: int, end: int, limits: Any) -> int:
    """Bring those of rows begin ... end - 1, all of one unit, that the rule keeps to their front, in ascending order;
    how many."""
    size = 0
    for row in range(begin, end):
        size = entered(rows, begin, size, rows[row, 1], rows[row, rows.shape[1] - 1], limits)
    return size


@compiled
def keep_some(rows: Any, count: int, limits: Any, largest: Any, grouped: Any, scratch: Any) -> int:
    """Bring those of the first `count` rows that the rule keeps to the front of all; how many. The rows of a unit come
    together in `grouped`, as many as there are rows at least, as `scratch` has columns."""
    max_rows, max_per_bin, _ = limits
    places, ends, table, units = scratch[0], scratch[1], scratch[2:].reshape(-1), 0
    slot_shift = shift_of(largest.shape[0])
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
        number = rows[row, 0]
        copy(rows, row, grouped, ends[number], 1)
        ends[number] += 1
    begin, kept = 0, 0
    for number in range(units):
        end = ends[number]
        size = end - begin
        if size > min(max_rows, max_per_bin):
            size = listed(grouped, begin, end, limits)
        copy(grouped, begin, rows, kept, size)
        most = np.int64(0)
        for row in range(kept, kept + size):
            rows[row, 0] = places[number]
            most = max(most, rows[row, 1])
        if size == max_rows:
            slot = np.int64(np.uint64(places[number]) >> slot_shift)
            largest[slot, 0], largest[slot, 1] = places[number], most
        begin, kept = end, kept + size
    return kept


@compiled
def keep_rows(rows: Any, ends: Any, stops: Any, first: int, last: int, limits: Any, largest: Any) -> int:
    """Of parts first ... last - 1 the rows that the rule keeps, in place of all; how many.

    ends: block b has part p from ends[b, p] to ends[b, p + 1]; after this, what is kept of it until stops[b, p].
    """
    words, total, size = rows.shape[1], 0, FIRST_SIZE
    some, grouped = np.empty((size, words), np.int64), np.empty((size, words), np.int64)
    scratch = np.zeros((4, size), np.int64)
    for part in range(first, last):
        count = 0
        for block in range(ends.shape[0]):
            begin = ends[block, part]
            while begin < ends[block, part + 1]:
                if count == size:
                    count = keep_some(some, count, limits, largest, grouped, scratch)
                    if count > size // 2:
                        size *= 2
                        larger = np.empty((size, words), np.int64)
                        copy(some, 0, larger, 0, count)
                        some, grouped = larger, np.empty((size, words), np.int64)
                        scratch = np.zeros((4, size), np.int64)
                more = min(ends[block, part + 1] - begin, size - count)
                copy(rows, begin, some, count, more)
                begin, count = begin + more, count + more
        count = keep_some(some, count, limits, largest, grouped, scratch)
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
def close_up(rows: Any, ends: Any, stops: Any, classes: Any) -> int:
    """Bring what was kept of these classes to the front of all rows; how many. Blocks and parts stay, and `ends` are
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
    """What was kept of parts first ... last - 1, from `to` on in `copies`; part p ends at part_ends[p + 1]."""
    for part in range(first, last):
        for block in range(ends.shape[0]):
            count = stops[block, part] - ends[block, part]
            copy(rows, ends[block, part], copies, to, count)
            to += count
        part_ends[part + 1] = to


@compiled
def copy_codes(rows: Any, ends: Any, stops: Any, codes: Any, low_bits: int) -> int:
    """The codes of what was kept; how many. `codes` may be the words of the rows themselves, in their order: a row is
    two words or more, so a code goes to a place that was read already."""
    to = 0
    for block in range(ends.shape[0]):
        for part in range(stops.shape[1]):
            for row in range(ends[block, part], stops[block, part]):
                code = (rows[row, 1] & WORD_MASK) << low_bits
                if low_bits > 0:
                    code |= rows[row, 2]
                codes[to] = code
                to += 1
    return to
