"""The charge covers whatever the rounding does, and stays small."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leastnoise.privacy import vector_noise

SIZES = st.floats(1e-9, 1e9)
BINS = st.integers(1, 10**6)


@given(SIZES, BINS)
def test_the_charge_is_rounded_up_and_small(size: float, bins: int) -> None:
    grid = vector_noise.l2_grid(size, bins, least=0.0)
    charged = vector_noise.l2_charged(size, bins, grid)
    assert (Fraction(charged) - Fraction(size)) ** 2 >= Fraction(grid) ** 2 * bins
    assert charged <= size * (1 + 1.000001 * vector_noise.MAX_L2_CHARGE)
    grid = vector_noise.l1_grid(size, bins, least=0.0)
    charged = vector_noise.l1_charged(size, bins, grid)
    assert Fraction(charged) >= Fraction(size) + Fraction(grid) * bins
    assert charged <= size * (1 + 1.000001 * vector_noise.MAX_L1_CHARGE)


@given(SIZES, BINS, SIZES)
def test_a_grid_is_a_power_of_two_at_or_above_the_least(size: float, bins: int, least: float) -> None:
    for grid in (vector_noise.l2_grid(size, bins, least=least), vector_noise.l1_grid(size, bins, least=least)):
        assert np.frexp(grid)[0] == 0.5
        assert grid >= least


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=1, max_size=20), st.integers(-20, 2))
def test_rounding_moves_neighbours_apart_by_no_more_than_the_charge(pairs: list[tuple[float, float]], log: int) -> None:
    x, y = np.array(pairs).T
    grid = 2.0**log
    apart, rounded = x - y, grid * (np.rint(x / grid) - np.rint(y / grid))
    l2, l1 = float(np.linalg.norm(apart)), float(np.abs(apart).sum())
    assert np.linalg.norm(rounded) <= vector_noise.l2_charged(l2, len(pairs), grid) * (1 + 1e-12)
    assert np.abs(rounded).sum() <= vector_noise.l1_charged(l1, len(pairs), grid) * (1 + 1e-12)
