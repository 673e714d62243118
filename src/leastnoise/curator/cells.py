"""A number for every private cell, whatever it holds: an error would tell about it, and so would a warning.

Each is a function of its own cell alone, and total. What is no number is NaN, which counts as 0; what is no integer is
None. A sum that one person turned into NaN moves by all of itself: clean people's rows before adding them up.
"""

from __future__ import annotations

import math
import operator
import re
import warnings
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 2**63 - 1
LARGEST = np.finfo(np.float64).max
_WHOLE = re.compile(rb"\s*[-+]?[0-9]{1,4000}\s*")


def reals(cells: Iterable[Any], count: int) -> NDArray[np.float64]:
    """Doubles, as `float` makes them: NaN for what is no number, infinity for what is larger than any double."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.fromiter(map(_real, cells), np.float64, count)


def finite(values: NDArray[Any]) -> NDArray[np.float64]:
    """A copy in doubles where NaN is 0 and an infinity the largest double of its sign."""
    with np.errstate(all="ignore"):  # a warning would tell about a value
        return np.nan_to_num(values.astype(np.float64), copy=False, nan=0.0, posinf=LARGEST, neginf=-LARGEST)


def whole(cell: Any) -> int | None:
    """The integer, or None for anything else."""
    try:
        return operator.index(cell)
    except Exception:
        return None


def whole_texts(cells: Iterable[bytes], count: int) -> NDArray[np.int64]:
    """The integers that are written in these cells, clamped to 64 bits; 0 for what is no integer."""
    return np.fromiter(map(_written, cells), np.int64, count)


def _real(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return math.copysign(math.inf, 1 if cell > 0 else -1) if isinstance(cell, (int, Fraction)) else math.nan
    except Exception:
        return math.nan


def _written(cell: bytes) -> int:
    return min(max(int(cell), -MOST), MOST) if _WHOLE.fullmatch(cell) else 0
