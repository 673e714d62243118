"""The loops of `unit_lists`: rows that are alike are counted, sorted by the first bits of their places, and of every
unit some are drawn.

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
def unit_of(place: Any, inverses: Any) -> Any:
    """The unit at a place. inverses: of the two factors. y = x ^ (x >> k) is undone by y ^ (y >> k) ^ (y >> 2k) ..."""
    mixed = np.uint64(place)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * inverses[1]
    mixed = (mixed ^ (mixed >> np.uint64(29)) ^ (mixed >> np.uint64(58))) * inverses[0]
    return mixed ^ (mixed >> np.uint64(32))


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
def group_units(rows: Any, count: int, grouped: Any, scratch: Any) -> int:
    """Bring the rows of a unit together in `grouped`; how many units. Unit n is at place scratch[0, n], and its rows
    end at scratch[1, n]."""
    places, ends, table, units = scratch[0], scratch[1], scratch[2:].reshape(-1), 0
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
    return units


@compiled
def unit_word(unit: Any, key: Any, multipliers: Any) -> Any:
    """Of a unit and a key: the first steps of `bounding.with_hash` and `bounding.fold`, in 64 bits that wrap: the lower
    32 bits of a product are the same."""
    word, half = np.uint64(WORD_MASK), np.uint64(16)
    folded = (((unit >> np.uint64(32)) * multipliers[0]) & word) ^ (unit & word) ^ key
    return ((folded ^ (folded >> half)) * multipliers[0]) & word


@compiled
def mixed_word(h: Any, multipliers: Any) -> Any:
    """`bounding.mixed`."""
    word, half = np.uint64(WORD_MASK), np.uint64(16)
    h = ((h ^ (h >> half)) * multipliers[1]) & word
    h = ((h ^ (h >> np.uint64(15))) * multipliers[2]) & word
    return h ^ (h >> half)


@compiled
def code_word(of_unit: Any, code: Any, multipliers: Any) -> Any:
    """Of a unit's word and a code: what the lots of its copies are made from."""
    word = np.uint64(WORD_MASK)
    return mixed_word(of_unit ^ (((code >> np.uint64(32)) * multipliers[0]) & word) ^ (code & word), multipliers)


@compiled
def draw(copies: Any, codes: Any, first: int, last: int, count: int, of_unit: Any, multipliers: Any, lots: Any) -> None:
    """Of the rows of codes first ... last - 1, so many copies of each, leave `count` by lot, if there are more.

    lots: for `count` rows or more, the smallest lots in ascending order, with the number of the code of each. Rows that
    tie in lot and code are alike.
    """
    size, every = 0, 0
    for number in range(first, last):
        every += copies[number]
    if every <= count:
        return
    for number in range(first, last):
        word = code_word(of_unit, np.uint64(codes[number]), multipliers)
        for one in range(copies[number]):
            lot = np.int64(mixed_word(word ^ np.uint64(one), multipliers) >> np.uint64(1))
            if size == count:
                largest = lots[size - 1, 0]
                if lot > largest or (lot == largest and codes[number] >= codes[lots[size - 1, 1]]):
                    continue
            gap = min(size, count - 1)
            while gap > 0 and (
                lots[gap - 1, 0] > lot or (lots[gap - 1, 0] == lot and codes[lots[gap - 1, 1]] > codes[number])
            ):
                lots[gap, 0], lots[gap, 1] = lots[gap - 1, 0], lots[gap - 1, 1]
                gap -= 1
            lots[gap, 0], lots[gap, 1] = lot, number
            size = min(size + 1, count)
        copies[number] = 0
    for place in range(size):
        copies[lots[place, 1]] += 1


@compiled
def draw_unit(rows: Any, begin: int, end: int, unit: Any, limits: Any, keys: Any, multipliers: Any, lots: Any) -> int:
    """Bring what is drawn of rows begin ... end - 1, all that there is of one unit, each code once, to their front; how
    many rows of them are left. limits: max_rows, max_per_bin, by how many bits a code is longer than its bin, and how
    many of these are in the third word."""
    max_rows, max_per_bin, value_bits, low_bits = limits
    codes, copies = np.empty(end - begin, np.int64), np.empty(end - begin, np.int64)
    for row in range(begin, end):
        codes[row - begin] = (rows[row, 1] & WORD_MASK) << low_bits
        if low_bits > 0:
            codes[row - begin] |= rows[row, 2]
        copies[row - begin] = rows[row, 1] >> 32
    if max_per_bin < max_rows and value_bits == 0:
        copies = np.minimum(copies, max_per_bin)  # all rows of a bin are alike
    elif max_per_bin < max_rows:
        order = np.argsort(codes)
        codes, copies = codes[order], copies[order]
        of_unit, first = unit_word(unit, keys[1], multipliers), 0
        for last in range(1, codes.size + 1):
            if last == codes.size or codes[last] >> value_bits != codes[first] >> value_bits:
                draw(copies, codes, first, last, max_per_bin, of_unit, multipliers, lots)
                first = last
    draw(copies, codes, 0, codes.size, max_rows, unit_word(unit, keys[0], multipliers), multipliers, lots)
    kept, place = begin, rows[begin, 0]
    for number in range(codes.size):
        if copies[number] > 0:
            rows[kept, 0], rows[kept, 1] = place, (copies[number] << 32) | (codes[number] >> low_bits)
            if low_bits > 0:
                rows[kept, 2] = codes[number] & ((1 << low_bits) - 1)
            kept += 1
    return kept - begin


@compiled
def draw_some(rows: Any, count: int, grouped: Any, scratch: Any, drawing: Any) -> int:
    """Of the first `count` rows, all that there is of their units, bring those that are drawn to the front; how many.
    drawing: limits, keys, multipliers, the inverses of the factors, and room for lots."""
    limits, keys, multipliers, inverses, lots = drawing
    units, begin, kept = group_units(rows, count, grouped, scratch), 0, 0
    fewest = min(limits[0], limits[1])
    for number in range(units):
        end, size, every = scratch[1, number], scratch[1, number] - begin, 0
        for row in range(begin, end):
            every += grouped[row, 1] >> 32
        if every > fewest:
            unit = unit_of(scratch[0, number], inverses)
            size = draw_unit(grouped, begin, end, unit, limits, keys, multipliers, lots)
        copy(grouped, begin, rows, kept, size)
        for row in range(kept, kept + size):
            rows[row, 0] = scratch[0, number]
        begin, kept = end, kept + size
    return kept


@compiled
def keep_rows(rows: Any, ends: Any, stops: Any, first: int, last: int, factors: Any, drawing: Any, whole: bool) -> int:
    """Of parts first ... last - 1 what is left of their rows, in place of all, if those that are alike are one; and, if
    that is the whole of their units, if some are drawn. How many rows that stands for, with all copies.

    ends: block b has part p from ends[b, p] to ends[b, p + 1]; after this, what is left of it until stops[b, p].
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
                    count = merge_some(some, count, factors, scratch[2:].reshape(-1))
                    if count > size // 2:
                        size *= 2
                        larger = np.empty((size, words), np.int64)
                        copy(some, 0, larger, 0, count)
                        some, grouped = larger, np.empty((size, words), np.int64)
                        scratch = np.zeros((4, size), np.int64)
                more = min(ends[block, part + 1] - begin, size - count)
                copy(rows, begin, some, count, more)
                begin, count = begin + more, count + more
        count = merge_some(some, count, factors, scratch[2:].reshape(-1))
        if whole:
            count = draw_some(some, count, grouped, scratch, drawing)
        for row in range(count):
            total += some[row, 1] >> 32
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
