"""Public classes of sizes: of numbers of rows, which start at one, and of values, which may be anything.

They are finer than any answer needs to be and wide enough for every table, so nobody has to look at rows to choose
them. Steps are a constant factor, because a limit that is too high by a tenth costs a tenth.
"""

from __future__ import annotations

import numpy as np

from leastnoise._support.validation import Floats

MOST_ROWS = 2**20  # the last class of rows holds everything from here on
_SMALLEST, _LARGEST = -14, 40  # powers of two: a value nearer to zero is zero, one beyond counts in the last class

# 1, 2 ... 8, 10, 12, 14, 16, 20 ...: where each class of numbers of rows begins; four classes an octave.
ROW_STARTS: tuple[int, ...] = (
    *range(1, 8),
    *(part << power for power in range(1, 18) for part in (4, 5, 6, 7)),
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
# Values have these classes on both sides of one for zero, which is in the middle.
SIGNED_CLASSES = 2 * (len(VALUE_ENDS) - 1) + 1


def last_of_each(starts: tuple[int, ...]) -> Floats:
    """The largest number of each class; the last class is taken to be as wide as one octave."""
    return np.array([*(start - 1 for start in starts[1:]), 2 * starts[-1] - 1], dtype=np.float64)


def octave_of_rows() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The octave of each class of ROW_STARTS."""
    return np.searchsorted(OCTAVES, ROW_STARTS, side="right") - 1
