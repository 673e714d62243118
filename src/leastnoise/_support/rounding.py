"""Doubles at or above a number, or at or below it: rounding whose direction is known.

An exact value (a Fraction) is rounded to the nearest double on the side that is asked for; the root of one, likewise.
`next_up` and `next_down` take a double that was rounded to nearest one step further, which covers that rounding.
Values known to a ball only are rounded by `privacy.calibration.proof`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def next_up(double: float) -> float:
    """The next double above."""
    return math.nextafter(double, math.inf)


def next_down(double: float) -> float:
    """The next double below."""
    return math.nextafter(double, -math.inf)


def step_where(mask: NDArray[np.bool_], doubles: Floats, *, up: bool) -> Floats:
    """The array, with the next double above (or below) where the mask says so."""
    return np.where(mask, np.nextafter(doubles, math.inf if up else -math.inf), doubles)


def round_up(value: Fraction) -> float:
    """The least double that is not below; OverflowError where there is none.

    >>> round_up(Fraction(1, 3)) > Fraction(1, 3) > round_down(Fraction(1, 3))
    True
    """
    near = float(value)
    return near if Fraction(near) >= value else next_up(near)


def round_down(value: Fraction) -> float:
    """The largest double that is not above; OverflowError where there is none."""
    near = float(value)
    return near if Fraction(near) <= value else next_down(near)


def sqrt_up(square: Fraction) -> float:
    """The least double >= 0 whose square is not below."""
    near = _nearly_sqrt(square)
    while Fraction(near) ** 2 < square:
        near = next_up(near)
    while near > 0 and Fraction(next_down(near)) ** 2 >= square:
        near = next_down(near)
    return near


def sqrt_down(square: Fraction) -> float:
    """The largest double whose square is not above."""
    least = sqrt_up(square)
    return least if Fraction(least) ** 2 == square else next_down(least)


def _nearly_sqrt(square: Fraction) -> float:
    """To an ulp or two, also where the square itself is no double: divided by a power of four first."""
    half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(square / Fraction(4) ** half), half)
