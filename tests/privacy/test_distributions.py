"""The noise's law: cells sum to one, tails are sums of cells, half-widths are the least that hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise.privacy.distributions import Distribution, Gaussian, Laplace, holds

scales = st.floats(0.05, 50)
grids = st.sampled_from([0.125, 1.0, 3.0])
confidences = st.floats(0.5, 0.9999)
laws = st.builds(Gaussian, scales, grids) | st.builds(Laplace, scales, grids)


def _last_cell(law: Distribution) -> int:
    """Beyond it less than 1e-15 is left."""
    return int((9 * law.sigma if isinstance(law, Gaussian) else 36 * law.width) / law.grid) + 5


@given(laws)
def test_cells_sum_to_one_and_tails_are_sums_of_cells(law: Distribution) -> None:
    k_max = _last_cell(law)
    cells = [law.cell(k) for k in range(-k_max, k_max + 1)]
    assert math.fsum(cells) == pytest.approx(1, abs=1e-12)
    for k in (1, 2, 5):
        assert law.tail(k * law.grid) == pytest.approx(1 - math.fsum(law.cell(j) for j in range(-k + 1, k)), abs=1e-12)
    assert law.tail(0) == 1.0


@given(laws)
def test_std_is_that_of_the_cells(law: Distribution) -> None:
    k_max = _last_cell(law)
    variance = 2 * math.fsum((k * law.grid) ** 2 * law.cell(k) for k in range(1, k_max))
    assert law.std == pytest.approx(math.sqrt(variance), rel=1e-9, abs=1e-100)


@given(laws, confidences, st.integers(1, 10_000))
def test_half_width_on_a_grid_is_the_least_multiple_that_holds(law: Distribution, confidence: float, bins: int) -> None:
    h = law.half_width(confidence, bins)
    assert (1 - law.tail(h + law.grid)) ** bins >= confidence * (1 - 1e-9)
    assert h == 0 or (1 - law.tail(h)) ** bins <= confidence * (1 + 1e-9)


@given(st.builds(Gaussian, scales) | st.builds(Laplace, scales), confidences, st.integers(1, 10_000))
def test_continuous_half_width_holds_and_is_least(law: Distribution, confidence: float, bins: int) -> None:
    h = law.half_width(confidence, bins)
    assert holds(law, h, confidence, bins)
    assert not holds(law, h * (1 - 1e-12), confidence, bins)


def test_rounding_widens_the_interval_that_is_needed() -> None:
    """At sigma = g = 1 the interval +-1.96 covers 86.6 %, not 95 %."""
    law = Gaussian(sigma=1, grid=1)
    assert 1 - law.tail(2) == pytest.approx(0.866, abs=5e-4)
    assert law.half_width(0.95) == 2.0


def test_continuous_laws_have_no_cells() -> None:
    assert Gaussian(1.0).cell(0) == Laplace(1.0).cell(0) == 0.0


def test_deep_cells_keep_their_relative_accuracy() -> None:
    law = Gaussian(sigma=2.0**30, grid=1)
    assert law.cell(0) == pytest.approx(1 / (2.0**30 * math.sqrt(2 * math.pi)), rel=1e-15)


@pytest.mark.parametrize("confidence", [1e-300, 1e-20, 1e-9, 1e-4])
def test_tiny_confidences_answer(confidence: float) -> None:
    for law in (Gaussian(1.0), Laplace(1.0)):
        h = law.half_width(confidence)
        assert holds(law, h, confidence)
        assert h < 2 * confidence


def test_sums_of_few_draws_on_a_middling_grid_are_covered() -> None:
    """Just past the exact range: the normal half-width, rounded up to the grid, covers by brute force."""
    law = Gaussian(34.59, 1.0)
    cells = np.array([law.cell(k) for k in range(-400, 401)])
    total = np.convolve(cells, cells)
    for confidence in (0.5, 0.9, 0.99):
        h = int(law.sum_half_width(2, confidence))
        assert total[800 - h : 800 + h + 1].sum() >= confidence
