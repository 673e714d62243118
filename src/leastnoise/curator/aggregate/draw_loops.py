"""The loops that draw: of all rows of a unit, those with the smallest lots, as `bounding` has them.

What is drawn depends on how many rows a unit has of each code. There are two ways, which draw the same. Where a unit
has few rows, or the codes are small numbers, rows are numbered as they come, and each has a key: its lot, its code, and
the last bit of the hash, which the lot is without; 31 + 32 + 1 bits. For one code the hash is one to one in the number,
so no two rows of a unit share a key, and the smallest keys are those of the smallest (lot, code): which of two rows
that tie in both is kept decides nothing. Else the rows of each code are counted first (`draw_counted`).

What is compiled is kept until *this* file changes: numbers of other files are arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise._support.compilation import compiled

WORD_MASK = 2**32 - 1
MOST_COPIES = 2**20 - 1  # as in `bounding`: more of one unit and code are taken for so many
SMALL_CODES = 2**16  # below this, a table has room for all
FEW_ROWS = 24  # of these all pairs are compared


@compiled
def unit_of(place: Any, inverses: Any) -> Any:
    """The unit at a place. inverses: of the two factors. y = x ^ (x >> k) is undone by y ^ (y >> k) ^ (y >> 2k) ..."""
    mixed = np.uint64(place)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * inverses[1]
    mixed = (mixed ^ (mixed >> np.uint64(29)) ^ (mixed >> np.uint64(58))) * inverses[0]
    return mixed ^ (mixed >> np.uint64(32))


@compiled
def copy(rows: Any, begin: int, copies: Any, to: int, count: int) -> None:
    """`count` rows from `begin` on; word by word, which is several times as quick as slices are here.

    As in `unit_list_loops`: called from there, it would stay as it was when that file was compiled.
    """
    for row in range(count):
        copies[to + row, 0], copies[to + row, 1] = rows[begin + row, 0], rows[begin + row, 1]
        if rows.shape[1] == 3:
            copies[to + row, 2] = rows[begin + row, 2]


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
def content_word(code: Any, value_bits: int, multipliers: Any) -> Any:
    """`bounding.Coding.content_of`, of a code whose bin is below 2^32."""
    word, code = np.uint64(WORD_MASK), np.uint64(code)
    if value_bits == 0:
        return code
    value = (code & ((np.uint64(1) << np.uint64(value_bits)) - np.uint64(1))) + np.uint64(1)
    folded = (((value >> np.uint64(32)) * multipliers[0]) & word) ^ (value & word)
    return ((code >> np.uint64(value_bits)) * multipliers[1] + folded) & word


@compiled
def draw(copies: Any, codes: Any, first: int, last: int, count: int, of_unit: Any, drawing: Any) -> None:
    """Of the rows of codes first ... last - 1, so many copies of each, leave `count` by lot, if there are more.

    lots: for `count` rows or more, the smallest lots in ascending order, with the number of the code of each. Rows that
    tie in lot and code are alike.
    """
    limits, _, multipliers, _, lots = drawing
    size, every = 0, 0
    for number in range(first, last):
        every += copies[number]
    if every <= count:
        return
    for number in range(first, last):
        word = mixed_word(of_unit ^ content_word(codes[number], limits[2], multipliers), multipliers)
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
def count_code(code: Any, more: Any, counted: Any, size: int, bits: int, factor: Any) -> int:
    """Count `more` rows of a code among `size` codes; how many codes there are now. counted: codes, their copies, and a
    table of 2^bits numbers of codes, from 1 on, or 0, more than twice as many as codes."""
    codes, copies, table = counted
    slot = np.int64((np.uint64(code) * factor) >> np.uint64(64 - bits))
    while table[slot] != 0 and codes[table[slot] - 1] != code:
        slot = (slot + 1) & ((1 << bits) - 1)
    if table[slot] == 0:
        codes[size], copies[size] = code, more
        table[slot] = size + 1
        return size + 1
    copies[table[slot] - 1] += more
    return size


@compiled
def empty_table(table: Any, rows: int) -> int:
    """Make room in it for the codes of so many rows; of how many bits a slot is."""
    bits = 4
    while 1 << bits < 2 * rows:
        bits += 1
    table[: 1 << bits] = 0
    return bits


@compiled
def draw_counted(counted: Any, size: int, unit: Any, drawing: Any) -> None:
    """Leave of the copies of a unit's codes, all that it has, those that are drawn. limits: max_rows, max_per_bin, by
    how many bits a code is longer than its bin, and how many of these are in the third word."""
    limits, keys, multipliers, _, _ = drawing
    max_rows, max_per_bin, value_bits, _ = limits
    codes, copies = counted[0], counted[1]
    alone = max_per_bin < max_rows and value_bits == 0  # all rows of a bin are alike
    for number in range(size):
        copies[number] = min(copies[number], max_per_bin if alone else MOST_COPIES)
    if max_per_bin < max_rows and value_bits > 0:
        order = np.argsort(codes[:size])
        codes[:size], copies[:size] = codes[:size][order], copies[:size][order]
        of_unit, first = unit_word(unit, keys[1], multipliers), 0
        for last in range(1, size + 1):
            if last == size or codes[last] >> value_bits != codes[first] >> value_bits:
                draw(copies, codes, first, last, max_per_bin, of_unit, drawing)
                first = last
    draw(copies, codes, 0, size, max_rows, unit_word(unit, keys[0], multipliers), drawing)


@compiled
def room_of(rows: int, max_rows: int) -> Any:
    """Room to draw from so many rows of a unit: for the codes, copies and slots of those that are counted; for numbers,
    keys, the count of every small code, 0 between units, and the smallest keys."""
    counted = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(4 * rows + 16, np.int64)
    counts = np.zeros(SMALL_CODES, np.int32)
    return counted, np.empty(rows, np.int64), np.empty(rows, np.uint64), counts, np.empty(max_rows, np.uint64)


@compiled
def number_rows(codes: Any, numbers: Any, counts: Any) -> bool:
    """Number the rows of each code, 0, 1, 2 ...; False where that takes more than a table of small codes, of 32 bits
    each: a number that wrapped would be below every limit."""
    if codes.size >= 2**31:
        return False
    largest = np.int64(0)
    for row in range(codes.size):
        largest = max(largest, codes[row])
    if largest < SMALL_CODES:
        for row in range(codes.size):
            numbers[row] = counts[codes[row]]
            counts[codes[row]] += 1
        for row in range(codes.size):
            counts[codes[row]] = 0
        return True
    if codes.size > FEW_ROWS:
        return False
    for row in range(codes.size):
        numbers[row] = 0
        for before in range(row):
            numbers[row] += codes[before] == codes[row]
    return True


@compiled
def make_keys(
    codes: Any, value_bits: int, numbers: Any, in_bin: int, of_unit: Any, multipliers: Any, keys: Any
) -> None:
    """The key of every row; of one whose number is `in_bin` or more, the largest that there is."""
    word, one = np.uint64(WORD_MASK), np.uint64(1)
    second, third, half = multipliers[1] & word, multipliers[2] & word, np.uint64(16)
    for row in range(codes.size):
        # Twice `mixed_word`, written out: so it is done for several rows at once.
        h = of_unit ^ content_word(codes[row], value_bits, multipliers)
        h = ((h ^ (h >> half)) * second) & word
        h = ((h ^ (h >> np.uint64(15))) * third) & word
        h = h ^ (h >> half) ^ np.uint64(numbers[row])
        h = ((h ^ (h >> half)) * second) & word
        h = ((h ^ (h >> np.uint64(15))) * third) & word
        h = h ^ (h >> half)
        key = ((h >> one) << np.uint64(33)) | (np.uint64(codes[row]) << one) | (h & one)
        keys[row] = key if numbers[row] < in_bin else ~np.uint64(0)


@compiled
def draw_numbered(codes: Any, numbers: Any, in_bin: int, keys: Any, smallest: Any, kept: Any, to: int) -> int:
    """The codes of the rows with the smallest keys, as many as `smallest` has room for, from `to` on; where they end.
    Of few rows, those with few smaller ones, without a branch; else by a list of the smallest, in ascending order."""
    count, size = smallest.size, 0
    if codes.size <= FEW_ROWS:
        for row in range(codes.size):
            smaller = 0
            for other in range(codes.size):
                smaller += keys[other] < keys[row]
            kept[to] = codes[row]
            to += (smaller < count) & (numbers[row] < in_bin)
        return to
    for row in range(codes.size):
        key = keys[row]
        if (size == count and key > smallest[size - 1]) or numbers[row] >= in_bin:
            continue
        gap = min(size, count - 1)
        while gap > 0 and smallest[gap - 1] > key:
            smallest[gap] = smallest[gap - 1]
            gap -= 1
        smallest[gap] = key
        size = min(size + 1, count)
    for place in range(size):
        kept[to + place] = np.int64((smallest[place] >> np.uint64(1)) & np.uint64(WORD_MASK))
    return to + size


@compiled
def most_in_bin(limits: Any) -> int:
    """Up to which number rows of one code are drawn from, where they can be numbered as they come; else 0."""
    max_rows, max_per_bin, value_bits, low_bits = limits
    if low_bits > 0 or (max_per_bin < max_rows and value_bits > 0):
        return 0
    return int(max_per_bin if max_per_bin < max_rows else MOST_COPIES)


@compiled
def draw_unit(rows: Any, begin: int, end: int, unit: Any, factor: Any, drawing: Any, counted: Any) -> int:
    """Bring what is drawn of rows begin ... end - 1, all that there is of one unit, to their front; how many rows are
    left."""
    low_bits, size, bits = drawing[0][3], 0, empty_table(counted[2], end - begin)
    for row in range(begin, end):
        code = (rows[row, 1] & WORD_MASK) << low_bits
        if low_bits > 0:
            code |= rows[row, 2]
        size = count_code(code, rows[row, 1] >> 32, counted, size, bits, factor)
    draw_counted(counted, size, unit, drawing)
    codes, copies, kept = counted[0], counted[1], begin
    for number in range(size):
        if copies[number] > 0:
            rows[kept, 1] = (copies[number] << 32) | (codes[number] >> low_bits)
            if low_bits > 0:
                rows[kept, 2] = codes[number] & ((1 << low_bits) - 1)
            kept += 1
    return kept - begin


@compiled
def draw_some(rows: Any, count: int, grouped: Any, scratch: Any, factor: Any, drawing: Any, room: Any) -> int:
    """Of the first `count` rows, all that there is of their units, bring those that are drawn to the front; how many.
    drawing: limits, keys, multipliers, the inverses of the factors, and room for lots."""
    limits, salts, multipliers, inverses, _ = drawing
    counted, numbers, keys, counts, smallest = room
    units, begin, kept, xs = group_units(rows, count, grouped, scratch), 0, 0, rows[:, 1]
    fewest, in_bin, codes = min(limits[0], limits[1]), most_in_bin(limits), scratch[2]
    for number in range(units):
        place, end, last, every = scratch[0, number], scratch[1, number], -1, 0
        for row in range(begin, end):
            codes[row] = grouped[row, 1] & WORD_MASK
            every += grouped[row, 1] >> 32
        unit, size = unit_of(place, inverses), end - begin
        if every > max(size, fewest) or (every > fewest and in_bin == 0):
            size = draw_unit(grouped, begin, end, unit, factor, drawing, counted)
        elif every > fewest:
            own, first, second = codes[begin:end], numbers[:size], keys[:size]
            if number_rows(own, first, counts):
                make_keys(own, limits[2], first, in_bin, unit_word(unit, salts[0], multipliers), multipliers, second)
                last = draw_numbered(own, first, in_bin, second, smallest, xs, kept)
                for row in range(kept, last):
                    xs[row] |= 1 << 32
            else:
                size = draw_unit(grouped, begin, end, unit, factor, drawing, counted)
        if last < 0:
            copy(grouped, begin, rows, kept, size)
            last = kept + size
        for row in range(kept, last):
            rows[row, 0] = place
        begin, kept = end, last
    return kept


@compiled
def draw_parts(rows: Any, ends: Any, stops: Any, first: int, last: int, factor: Any, drawing: Any) -> int:
    """Of parts first ... last - 1, the whole of their units, leave what is drawn; how many rows that stands for, with
    all copies. Block b has part p from ends[b, p] to stops[b, p], before and after."""
    words, size, total = rows.shape[1], 16, 0
    for part in range(first, last):
        size = max(size, (stops[:, part] - ends[:, part]).sum())
    some, grouped = np.empty((size, words), np.int64), np.empty((size, words), np.int64)
    scratch, room = np.empty((6, size), np.int64), room_of(size, drawing[0][0])
    for part in range(first, last):
        count, copied = 0, 0
        for block in range(ends.shape[0]):
            more = stops[block, part] - ends[block, part]
            copy(rows, ends[block, part], some, count, more)
            count += more
        count = draw_some(some, count, grouped, scratch, factor, drawing, room)
        for row in range(count):
            total += some[row, 1] >> 32
        for block in range(ends.shape[0]):
            more = min(stops[block, part] - ends[block, part], count - copied)
            copy(some, copied, rows, ends[block, part], more)
            stops[block, part] = ends[block, part] + more
            copied += more
    return total


@compiled
def ascend(units: Any) -> bool:
    """Whether no unit is before a smaller one."""
    descents = 0
    for row in range(1, units.size):
        descents += units[row] < units[row - 1]
    return descents == 0


@compiled
def draw_runs(units: Any, codes: Any, factor: Any, drawing: Any, kept: Any) -> int:
    """Of rows in the order of their units, all that there is of them, the codes that are drawn; how many."""
    limits, salts, multipliers, _, _ = drawing
    begin, count, longest = 0, 0, 0
    for row in range(units.size):
        begin = row if units[row] != units[begin] else begin
        longest = max(longest, row + 1 - begin)
    counted, numbers, keys, counts, smallest = room_of(longest, limits[0])
    begin, fewest, in_bin = 0, min(limits[0], limits[1]), most_in_bin(limits)
    for end in range(1, units.size + 1):
        if end < units.size and units[end] == units[begin]:
            continue
        unit, size = np.uint64(units[begin]), end - begin
        if size <= fewest:
            for row in range(begin, end):
                kept[count] = codes[row]
                count += 1
        elif in_bin > 0 and number_rows(codes[begin:end], numbers[:size], counts):
            own, first, second = codes[begin:end], numbers[:size], keys[:size]
            make_keys(own, limits[2], first, in_bin, unit_word(unit, salts[0], multipliers), multipliers, second)
            count = draw_numbered(own, first, in_bin, second, smallest, kept, count)
        else:
            differ, bits = 0, empty_table(counted[2], size)
            for row in range(begin, end):
                differ = count_code(codes[row], 1, counted, differ, bits, factor)
            draw_counted(counted, differ, unit, drawing)
            for number in range(differ):
                for _ in range(counted[1][number]):
                    kept[count] = counted[0][number]
                    count += 1
        begin = end
    return count
