"""Half-widths of sums of Laplace draws, against distributions computed by convolution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.privacy.distributions import Laplace
from leastnoise.privacy.noise_sums import Draws, LaplaceSum
from leastnoise.privacy.noise_sums import laplace_half_width as half_width


def distribution(terms: list[Draws], grid: float) -> tuple[np.ndarray, int]:
    """P of every multiple of the grid, steps being multiples of it, and where zero is. Tails beyond 1e-18 are cut."""
    made, middle = np.ones(1), 0
    for term in terms:
        stride = round(term.step / grid)
        assert math.isclose(stride * grid, term.step)
        last = math.ceil(45 * term.scale) + 1
        one = np.zeros(2 * last * stride + 1)
        k = np.arange(-last, last + 1)
        one[(k + last) * stride] = np.tanh(0.5 / term.scale) * np.exp(-np.abs(k) / term.scale)
        for _ in range(term.count):
            made, middle = np.convolve(made, one), middle + last * stride
    return made, middle


def coverage(terms: list[Draws], grid: float, half: float) -> float:
    made, middle = distribution(terms, grid)
    reach = min(math.floor(half / grid * (1 + 1e-12)), middle)
    return float(made[middle - reach : middle + reach + 1].sum())


@settings(max_examples=60, deadline=None)
@given(
    terms=st.lists(st.builds(Draws, st.sampled_from([0.25, 0.5, 1.0, 1.25]), st.integers(1, 3), st.floats(0.3, 3)),
                   min_size=1, max_size=3),
    confidence=st.floats(0.3, 0.9999),
)  # fmt: skip
def test_the_coverage_is_at_least_what_is_stated_and_hardly_more(terms: list[Draws], confidence: float) -> None:
    half = half_width(terms, miss=1 - confidence)
    assert coverage(terms, 0.25, half) >= confidence - 1e-12
    # half a percent of the standard deviation narrower, or one step of the grid, it would not be enough
    shorter = half - 0.006 * LaplaceSum(terms).std - 1e-9
    if shorter > 0:
        assert coverage(terms, 0.25, shorter - 0.25) < confidence + 2e-4 * (1 - confidence) + 1e-10


def test_one_draw_has_its_exact_half_width() -> None:
    assert half_width([Draws(0.5, 1, 4.0)], miss=0.05) == pytest.approx(0.5 * Laplace(4.0, 1.0).half_width(0.95))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_two_wide_draws_are_as_continuous_ones(confidence: float) -> None:
    """P(|X + Y| > u) = (1 + u/2) exp(-u) for two Laplace draws of scale 1."""
    scale = 1e4
    u = half_width([Draws(1.0, 2, scale)], miss=1 - confidence) / scale
    assert (1 + u / 2) * math.exp(-u) <= 1 - confidence
    shorter = u - 0.01
    assert (1 + shorter / 2) * math.exp(-shorter) > 1 - confidence


def test_many_draws_are_as_normal_ones() -> None:
    terms = [Draws(1.0, 10_000, 20.0), Draws(0.3, 50_000, 5.0)]
    assert half_width(terms, miss=0.05) == pytest.approx(1.95996 * LaplaceSum(terms).std, rel=3e-3)


def test_the_bound_of_chernoff_holds_and_is_used_where_chances_are_tiny() -> None:
    terms = [Draws(1.0, 2, 2.0), Draws(0.5, 1, 3.0)]
    made = LaplaceSum(terms)
    for chance in (0.3, 1e-3, 1e-9):
        assert 1 - coverage(terms, 0.5, made.reach(chance) - 1e-9) <= chance + 1e-15
    assert half_width(terms, miss=1e-20) == made.reach(1e-20)
    assert half_width(terms, miss=1e-7) < made.reach(1e-7)


def test_draws_that_are_always_zero_do_not_count() -> None:
    assert half_width([], miss=0.05) == 0
    assert half_width([Draws(1.0, 5, 1e-4)], miss=0.05) == 0
    alone = half_width([Draws(1.0, 2, 3.0)], miss=0.05)
    assert half_width([Draws(1.0, 2, 3.0), Draws(1.0, 5, 1e-4)], miss=0.05) == alone
