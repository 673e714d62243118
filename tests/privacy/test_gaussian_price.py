"""What Laplace noise costs in mu^2: its Gaussian curve lies below every corner of its own, and no smaller one does."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from leastnoise import LaplaceDP, PureDP
from leastnoise.privacy.accounting import BoundedRangeDP
from leastnoise.privacy.gaussian_price import geometric_mu, laplace_mu, laplace_mu_squared

epsilons = st.floats(1e-3, 12)


def misses(mu: float, alarms: float) -> float:
    """G_mu."""
    return float(ndtr(-ndtri(alarms) - mu))


@pytest.mark.parametrize(
    ("epsilon", "one", "ten", "bins"),
    [(0.5, 0.3892, 0.3163, 0.0785), (1, 1.5179, 1.0655, 0.3137), (5, 24.47, 12.29, 7.59)],
)
def test_the_price_of_one_release(epsilon: float, one: float, ten: float, bins: float) -> None:
    exact = Fraction(epsilon)
    assert geometric_mu(exact, 1) ** 2 == pytest.approx(one, rel=2e-4)
    assert geometric_mu(exact, 1) == PureDP(epsilon).to_gaussian().mu
    assert geometric_mu(exact, 10) ** 2 == pytest.approx(ten, rel=5e-4)
    assert LaplaceDP(epsilon, bins=5, grid_steps=1).to_gaussian().mu ** 2 == pytest.approx(bins, rel=1e-3)
    five = laplace_mu_squared(l1=Fraction(5), l2=Fraction(math.sqrt(5)), scale=5 / exact)
    assert float(five) == pytest.approx(bins, rel=1e-3)


@given(epsilons, st.integers(1, 60))
def test_the_curve_lies_below_every_corner_on_a_grid(epsilon: float, steps: int) -> None:
    """Alarm from t on: chance p^t/(1 + p), and p^(s + 1 - t)/(1 + p) of a miss. The middle corner is touched."""
    mu, p = geometric_mu(Fraction(epsilon), steps), math.exp(-epsilon / steps)
    for t in range(1, steps + 1):
        assert misses(mu, p**t / (1 + p)) <= p ** (steps + 1 - t) / (1 + p) * (1 + 1e-9)
    if steps % 2:
        middle = p ** ((steps + 1) // 2) / (1 + p)
        assert misses(mu * (1 - 1e-6), middle) > middle


@given(epsilons)
def test_the_curve_lies_below_that_of_continuous_noise(epsilon: float) -> None:
    mu = laplace_mu(Fraction(epsilon))
    for alarms in np.linspace(1e-3, 0.999, 60):
        low, high = math.exp(-epsilon) / 2, 0.5
        own = math.exp(-epsilon) / (4 * alarms)
        if alarms < low:
            own = 1 - math.exp(epsilon) * alarms
        elif alarms > high:
            own = math.exp(-epsilon) * (1 - alarms)
        assert misses(mu, alarms) <= own * (1 + 1e-9) + 1e-12
    assert laplace_mu(Fraction(epsilon)) <= geometric_mu(Fraction(epsilon), 1000) <= geometric_mu(Fraction(epsilon), 3)


@given(epsilons)
def test_the_curve_lies_below_that_of_the_exponential_mechanism(epsilon: float) -> None:
    """(1 + C alpha)(1 + C beta) = e^epsilon, C = e^epsilon - 1."""
    mu, c = BoundedRangeDP(epsilon).to_gaussian().mu, math.expm1(epsilon)
    for alarms in np.linspace(1e-3, 0.999, 60):
        own = (math.exp(epsilon) / (1 + c * alarms) - 1) / c
        assert misses(mu, alarms) <= own * (1 + 1e-9) + 1e-9


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12).filter(any), st.floats(0.05, 200))
def test_no_way_to_move_the_bins_costs_more(moves: list[int], scale: float) -> None:
    """Independent noise adds up mu^2, whichever bins one unit moves."""
    b = Fraction(scale)
    spent = sum(Fraction(geometric_mu(s / b, s)) ** 2 for s in moves if s)
    l1, l2 = Fraction(sum(moves)), Fraction(math.nextafter(math.hypot(*moves), math.inf))
    assert spent <= laplace_mu_squared(l1=l1, l2=l2, scale=b) * (1 + Fraction(1, 10**12))


def test_a_large_epsilon_is_priced_upward() -> None:
    below, above = (geometric_mu(Fraction(epsilon), 7) for epsilon in (700, 701))
    assert below < above < below * 1.05
    assert laplace_mu(Fraction(1, 10**300)) > 0
