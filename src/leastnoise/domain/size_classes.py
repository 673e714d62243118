"""Public classes of numbers of rows, which start at one.

They are finer than any answer needs to be and wide enough for every table, so nobody has to look at rows to choose
them. Steps are a constant factor, because a limit that is too high by a tenth costs a tenth.
"""

from __future__ import annotations

import numpy as np

from leastnoise._support.validation import Floats

MOST_ROWS = 2**20  # the last class of rows holds everything from here on

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


def last_of_each(starts: tuple[int, ...]) -> Floats:
    """The largest number of each class; the last class is taken to be as wide as one octave."""
    return np.array([*(start - 1 for start in starts[1:]), 2 * starts[-1] - 1], dtype=np.float64)


def octaves_of(starts: tuple[int, ...]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The octave of each class."""
    return np.searchsorted(OCTAVES, starts, side="right") - 1
