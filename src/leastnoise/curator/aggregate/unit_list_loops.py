"""The loops of `unit_lists`: rows are sorted by place, and added to the lists of their units.

A place is the unit, mixed one to one. Its first bits say in which part of the table its slot is, its last bits where in
that part the search for it begins. All parts have as many slots as the fullest needs, so nobody may know beforehand
which units share one: the mixing has two random factors. The first bits of x b, for a random odd b, are the same for
two different x with a chance of 2/PARTS at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise.curator.aggregate.bounding import MULTIPLIER_1, MULTIPLIER_2, MULTIPLIER_3

PART_BITS = 10  # of a place: by these a block is sorted
PARTS = 2**PART_BITS
SIZE_BITS = 10  # a slot's second word is start * 2^10 + size of a list
MAX_SIZE = 2**SIZE_BITS - 1  # of a list
AHEAD = 32  # rows
FULL, NO_ROOM = 1, 2  # why rows had to wait: a part's slots are filled, or there is no room for another list


def sort_rows(units: Any, codes: Any, unsorted: Any, places: Any, x: Any, ends: Any, key: Any, factors: Any) -> None:
    """Place and x of every row, sorted by the first bits of the place. After that part p begins at ends[p].

    units: is overwritten with places. The hash is `bounding.with_hash` of `bounding.fold`, in 64 bits that wrap: the
    lower 32 bits of a product are the same. factors: two odd numbers.
    """
    word, one, half, most = np.uint64(0xFFFFFFFF), np.uint64(1), np.uint64(16), np.uint64(32)
    first, second, third = np.uint64(MULTIPLIER_1), np.uint64(MULTIPLIER_2), np.uint64(MULTIPLIER_3)
    ends[:] = 0
    for row in range(units.size):
        unit, code = np.uint64(units[row]), np.uint64(codes[row])
        h = (((unit >> most) * first) & word) ^ (unit & word) ^ key
        h = (((h ^ (h >> half)) * first) & word) ^ code
        h = ((h ^ (h >> half)) * second) & word
        h = ((h ^ (h >> np.uint64(15))) * third) & word
        h = (h ^ (h >> half)) >> one
        unsorted[row] = np.int64((h << most) | code)
        # A shift and xor, and a product with an odd number, are one to one on 64 bits.
        place = (unit ^ (unit >> most)) * factors[0]
        place = (place ^ (place >> np.uint64(29))) * factors[1]
        place = place ^ (place >> most)  # the last bits of a product know the last bits of its factors alone
        units[row] = np.int64(place)
        ends[np.int64(place >> np.uint64(64 - PART_BITS)) + 1] += 1
    for end in range(1, PARTS + 1):
        ends[end] += ends[end - 1]
    for row in range(units.size):
        place = np.uint64(units[row])
        part = np.int64(place >> np.uint64(64 - PART_BITS))
        to = ends[part]
        ends[part] = to + 1
        places[to] = place
        x[to] = unsorted[row]
    for end in range(PARTS, 0, -1):  # each has moved on to where the next begins
        ends[end] = ends[end - 1]
    ends[0] = 0


def add_rows(
    places: Any,
    x: Any,
    begin: int,
    end: int,
    max_rows: int,
    max_per_bin: int,
    value_bits: int,
    first_part: int,
    slots: Any,
    filled: Any,
    room: Any,
    free: Any,
    held: Any,
) -> tuple[int, int]:
    """Add rows begin ... end - 1 to the lists of their units, as the rule says: each list is in ascending order.

    Which row is the next to be added, and why it could not be; a row is added whole or not at all.
    """
    in_part = slots.shape[0] // filled.size
    most = in_part * 7 // 10
    touched = 0
    for row in range(begin, end):
        if (row - begin) % AHEAD == 0:  # what the next rows need is fetched at once: each alone would be waited for
            for later in range(row, min(row + AHEAD, end)):
                place = places[later]
                part = np.int64(place >> np.uint64(64 - PART_BITS)) - first_part
                slot = part * in_part + np.int64(place & np.uint64(in_part - 1))
                touched ^= room[np.int64(slots[slot, 1] >> np.uint64(SIZE_BITS))]
        place, new = places[row], x[row]
        part = np.int64(place >> np.uint64(64 - PART_BITS)) - first_part
        offset = np.int64(place & np.uint64(in_part - 1))
        slot = part * in_part + offset
        while slots[slot, 1] != 0 and slots[slot, 0] != place:
            offset = (offset + 1) & (in_part - 1)
            slot = part * in_part + offset
        size = np.int64(slots[slot, 1] & np.uint64(MAX_SIZE))
        start = np.int64(slots[slot, 1] >> np.uint64(SIZE_BITS))
        if size == max_rows and new >= room[start + size - 1]:
            continue
        gap = start + size - (size == max_rows)  # up to here rows move by one; at the end of the list it gets longer
        if max_per_bin < max_rows:
            in_bin, largest = 0, np.int64(start)
            for member in range(start, start + size):
                if (room[member] & 0xFFFFFFFF) >> value_bits == (new & 0xFFFFFFFF) >> value_bits:
                    in_bin, largest = in_bin + 1, np.int64(member)
            if in_bin == max_per_bin:
                if new >= room[largest]:
                    continue
                gap = largest
        if gap == start + size:
            if size == 0 and filled[part] >= most:
                return row, FULL
            level = 0
            while (1 << level) < size:
                level += 1
            if size == 0 or (size > 1 and size == 1 << level):  # there is room for 2, 4, 8 ... rows, and it is used up
                larger = level + 1
                to = free[larger]
                if to < 0:
                    to = held[0]
                    if to + (1 << larger) > room.size:
                        return row, NO_ROOM
                    held[0] = to + (1 << larger)
                else:
                    free[larger] = room[to]
                for member in range(size):
                    room[to + member] = room[start + member]
                if size == 0:
                    slots[slot, 0] = place
                    filled[part] += 1
                else:
                    room[start], free[level] = free[level], start
                start, gap = to, to + size
            slots[slot, 1] = (np.uint64(start) << np.uint64(SIZE_BITS)) | np.uint64(size + 1)
            held[1] += 1
        for member in range(start, gap):  # without a branch: which rows move is a guess that the processor would lose
            other = room[member]
            room[member] = min(other, new)
            new = max(other, new)
        room[gap] = new
    held[2] = touched
    return end, 0


def move_slots(slots: Any, larger: Any, first_part: int, parts: int) -> None:
    """Every slot that is filled to where it belongs in a table that is larger."""
    in_part = larger.shape[0] // parts
    for old in range(slots.shape[0]):
        if slots[old, 1] == 0:
            continue
        place = slots[old, 0]
        part = np.int64(place >> np.uint64(64 - PART_BITS)) - first_part
        offset = np.int64(place & np.uint64(in_part - 1))
        while larger[part * in_part + offset, 1] != 0:
            offset = (offset + 1) & (in_part - 1)
        larger[part * in_part + offset, 0] = place
        larger[part * in_part + offset, 1] = slots[old, 1]


def copy_codes(slots: Any, room: Any, codes: Any) -> None:
    """The code of every row in every list."""
    to = 0
    for slot in range(slots.shape[0]):
        start = np.int64(slots[slot, 1] >> np.uint64(SIZE_BITS))
        for member in range(start, start + np.int64(slots[slot, 1] & np.uint64(MAX_SIZE))):
            codes[to] = room[member] & 0xFFFFFFFF
            to += 1


def copy_rows(slots: Any, room: Any, rows: Any, ends: Any) -> None:
    """Place and x of every row in every list; part p begins at ends[p]."""
    in_part = slots.shape[0] // (ends.size - 1)
    to = 0
    for slot in range(slots.shape[0]):
        start = np.int64(slots[slot, 1] >> np.uint64(SIZE_BITS))
        for member in range(start, start + np.int64(slots[slot, 1] & np.uint64(MAX_SIZE))):
            rows[to, 0] = np.int64(slots[slot, 0])
            rows[to, 1] = room[member]
            to += 1
        ends[slot // in_part + 1] = to
