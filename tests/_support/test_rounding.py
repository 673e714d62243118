"""Rounding in a known direction: never on the wrong side, and no further than the next double."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise._support.rounding import (
    next_down,
    next_up,
    round_down,
    round_up,
    sqrt_down,
    sqrt_up,
    step_where,
)

fractions = st.builds(
    lambda top, bottom, power: Fraction(top, bottom) * Fraction(2) ** power,
    st.integers(1, 2**80),
    st.integers(1, 2**80),
    st.integers(-300, 300),
)


@given(fractions, st.sampled_from([1, -1]))
def test_a_fraction_lies_between_the_two_nearest_doubles(value: Fraction, sign: int) -> None:
    low, high = round_down(sign * value), round_up(sign * value)
    assert Fraction(low) <= sign * value <= Fraction(high)
    assert high == low if Fraction(low) == sign * value else high == next_up(low)


@given(fractions)
def test_a_root_lies_between_the_two_nearest_doubles(square: Fraction) -> None:
    low, high = sqrt_down(square), sqrt_up(square)
    assert Fraction(low) ** 2 <= square <= Fraction(high) ** 2
    assert high == low if Fraction(low) ** 2 == square else high == next_up(low)


@pytest.mark.parametrize("power", [-500, -170, 0, 160, 500])
def test_roots_of_squares_that_are_no_doubles(power: int) -> None:
    root = Fraction(3) * Fraction(2) ** power
    assert sqrt_up(root**2) == sqrt_down(root**2) == float(root)
    assert sqrt_up(Fraction(0)) == sqrt_down(Fraction(0)) == 0.0


def test_past_the_largest_double_there_is_none() -> None:
    with pytest.raises(OverflowError):
        round_up(Fraction(10) ** 400)
    with pytest.raises(OverflowError):
        sqrt_up(Fraction(10) ** 800)


def test_neighbours() -> None:
    assert next_down(next_up(1.0)) == 1.0 < next_up(1.0)
    assert next_up(0.0) == 5e-324
    assert math.isinf(next_up(1.7976931348623157e308))
    moved = step_where(np.array([True, False]), np.ones(2), up=False)
    assert moved.tolist() == [next_down(1.0), 1.0]
