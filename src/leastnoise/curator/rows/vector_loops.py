"""The loops of `vectors` over one column: norms of what is rounded, and sums of what is clipped.

Code that is compiled has files of its own, so that a tool that counts lines leaves it as it is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROUNDING_SHIFT = 1.5 * 2.0**52  # added and taken away again, it rounds to the nearest integer, halves to even


def add_squares(column: Any, step: float, reach: float, squares: Any) -> None:
    """Add each element, in steps of the grid, squared."""
    for row in range(column.size):
        x: Any = np.float64(column[row]) * step
        # NaN fails every comparison, so it stays NaN here and makes the norm NaN.
        x = reach if x > reach else (-reach if x < -reach else x)
        x = (x + ROUNDING_SHIFT) - ROUNDING_SHIFT
        squares[row] += x * x


def clipped_sum(column: Any, step: float, reach: float, scales: Any) -> int:
    """The sum of the elements, each scaled and cut toward zero."""
    total = 0
    for row in range(column.size):
        x: Any = np.float64(column[row]) * step
        x = reach if x > reach else (-reach if x < -reach else x)
        x = x if x == x else 0.0
        total += int(np.int32(((x + ROUNDING_SHIFT) - ROUNDING_SHIFT) * scales[row]))
    return total
