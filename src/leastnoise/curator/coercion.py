"""A number for every private cell, whatever it holds: an error would tell about it, and so would a warning.

Each is a function of its own cell alone, and total. What is no number is NaN, which counts as 0; what is no integer is
None. A sum that one person turned into NaN moves by all of itself: clean people's rows before adding them up.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import library_warnings

MAX_INT64 = 2**63 - 1
MAX_DOUBLE = np.finfo(np.float64).max
_INTEGER = re.compile(rb"\s*[-+]?[0-9]{1,4000}\s*")


def as_doubles(cells: Iterable[Any], count: int) -> NDArray[np.float64]:
    """Doubles, as `float` makes them: NaN for what is no number, infinity for what is larger than any double."""
    with library_warnings.withheld():
        return np.fromiter(map(_as_double, cells), np.float64, count)


def finite(values: NDArray[Any]) -> NDArray[np.float64]:
    """A copy in doubles where NaN is 0 and an infinity the largest double of its sign."""
    with np.errstate(all="ignore"):  # a warning would tell about a value
        return np.nan_to_num(values.astype(np.float64), copy=False, nan=0.0, posinf=MAX_DOUBLE, neginf=-MAX_DOUBLE)


def as_integer(cell: Any) -> int | None:
    """The integer, or None for anything else."""
    try:
        return operator.index(cell)
    except Exception:
        return None


def parse_integers(cells: Iterable[bytes], count: int) -> NDArray[np.int64]:
    """The integers that are written in these cells, clamped to 64 bits; 0 for what is no integer."""
    return np.fromiter(map(_parse_integer, cells), np.int64, count)


def within_int64(integer: int) -> int:
    """The integer clamped to 64 bits."""
    return min(max(integer, -MAX_INT64), MAX_INT64)


def _as_double(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return math.copysign(math.inf, 1 if cell > 0 else -1) if isinstance(cell, (int, Fraction)) else math.nan
    except Exception:
        return math.nan


def _parse_integer(cell: bytes) -> int:
    return within_int64(int(cell)) if _INTEGER.fullmatch(cell) else 0
