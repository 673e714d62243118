"""Public classes of sizes: of numbers of rows, which start at one, and of values, which may be anything.

They are finer than any answer needs to be and wide enough for every table, so nobody has to look at rows to choose
them. Steps are a constant factor, because a limit that is too high by a tenth costs a tenth.
"""

from __future__ import annotations

import numpy as np

from leastnoise._support.validation import Floats

MOST_ROWS = 2**20  # the last class of rows holds everything from here on
_SMALLEST, _LARGEST = -14, 40  # powers of two: a value nearer to zero is zero, one beyond counts in the last class

# 1, 2 ... 32, 36, 40 ... 64, 72 ...: where each class of numbers of rows begins. Each number below 32 is a class by
# itself, so that a table in which everybody has so many rows is seen as one; then an octave has eight.
ROW_STARTS: tuple[int, ...] = (
    *range(1, 32),
    *(part << power for power in range(2, 17) for part in range(8, 16)),
    MOST_ROWS,
)
# 1, 2 ... 8, 10, 12, 14, 16, 20 ...: the same for the rows of a unit in one bin, four classes an octave.
BIN_STARTS: tuple[int, ...] = (
    *range(1, 8),
    *(part << power for power in range(1, 18) for part in range(4, 8)),
    MOST_ROWS,
)
# 1, 2, 4 ...: the same, one class an octave.
OCTAVES: tuple[int, ...] = tuple(1 << power for power in range(21))
# 1, 16, 256 ...: the same, one class for four octaves.
WIDE: tuple[int, ...] = OCTAVES[::4]
# ... 1, 1.5, 2, 3, 4 ...: the ends of the classes of values above zero, two classes an octave.
VALUE_ENDS: tuple[float, ...] = (
    *(part * 2.0**power for power in range(_SMALLEST, _LARGEST) for part in (1.0, 1.5)),
    2.0**_LARGEST,
)
# Values have these classes on both sides of one for zero, which is in the middle; or wider ones, each of 2^n of them.
VALUE_LEVELS = {"values": 0, "value octaves": 1, "wide values": 3}


def signed_classes(level: str) -> int:
    """How many classes a level has: those of both signs, and zero."""
    wide = 1 << VALUE_LEVELS[level]
    return 2 * -(-(len(VALUE_ENDS) - 1) // wide) + 1


def last_of_each(starts: tuple[int, ...]) -> Floats:
    """The largest number of each class; the last class is taken to be as wide as one octave."""
    return np.array([*(start - 1 for start in starts[1:]), 2 * starts[-1] - 1], dtype=np.float64)


def octaves_of(starts: tuple[int, ...]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The octave of each class."""
    return np.searchsorted(OCTAVES, starts, side="right") - 1
