"""Theorems 1, 9, 11 and 12 and what the paper says around them: what holds is tested to hold, what fails to fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import ndtr
from scipy.stats import poisson

import leastnoise as ln
from leastnoise import errors
from leastnoise.denoise import james_stein, james_stein_risk, soft_threshold
from leastnoise.privacy.calibration.paper_algorithm import algorithm_1, b_minus, b_plus, delta_0

inside = st.floats(1e-6, 0.999999)


@given(inside, inside)
@example(0.999999, 0.999999)
@example(0.999999, 1e-300)
def test_theorem_1_on_all_of_its_range(epsilon: float, delta: float) -> None:
    sigma = ln.baselines.classical_sigma(epsilon=epsilon, delta=delta)
    assert ln.delta(sigma=sigma, epsilon=epsilon) <= delta


@given(st.floats(1e-3, 50), st.floats(1e-3, 30))
def test_theorem_9_s_substitution(epsilon: float, alpha: float) -> None:
    """B(alpha) is delta at sigma = alpha/sqrt(2 epsilon), and u or v give it and alpha back."""
    share = (alpha - 1 / alpha) ** 2 / 2
    b = b_minus(epsilon, share) if alpha >= 1 else b_plus(epsilon, share)
    back = math.sqrt(1 + share / 2) + math.copysign(math.sqrt(share / 2), alpha - 1)
    assert back == pytest.approx(alpha, rel=1e-9)
    assert b == pytest.approx(ln.delta(sigma=alpha / math.sqrt(2 * epsilon), epsilon=epsilon), rel=1e-6, abs=1e-12)


@given(st.floats(1e-3, 50), st.floats(0, 20), st.floats(1e-3, 20))
def test_theorem_9_s_two_functions_are_monotone_and_meet(epsilon: float, low: float, step: float) -> None:
    assert b_plus(epsilon, low) <= b_plus(epsilon, low + step)
    assert b_minus(epsilon, low) >= b_minus(epsilon, low + step)
    assert b_plus(epsilon, 0.0) == b_minus(epsilon, 0.0) == pytest.approx(delta_0(epsilon), abs=1e-15)


@given(st.floats(-5, math.log10(600)), st.floats(-20, -0.001))
def test_algorithm_1_where_doubles_are_enough(log_epsilon: float, log_delta: float) -> None:
    epsilon, delta = 10**log_epsilon, 10**log_delta
    assert algorithm_1(epsilon=epsilon, delta=delta) == pytest.approx(ln.sigma(epsilon=epsilon, delta=delta), rel=1e-7)


def test_algorithm_1_where_they_are_not() -> None:
    assert algorithm_1(epsilon=1e-18, delta=0.1) == 0.0  # no noise at all; ln.sigma knows what is needed
    assert ln.sigma(epsilon=1e-18, delta=0.1) == pytest.approx(3.979, abs=1e-3)
    assert algorithm_1(epsilon=1e-20, delta=1e-15) < 0.97 * ln.sigma(epsilon=1e-20, delta=1e-15)
    with pytest.raises(ZeroDivisionError):
        algorithm_1(epsilon=0, delta=0.1)
    with pytest.raises(OverflowError):
        algorithm_1(epsilon=710, delta=0.1)


@pytest.mark.parametrize(("d", "sigma"), [(5, 1.0), (12, 0.3), (100, 4.0)])
def test_the_likelihood_is_largest_at_the_mean_square(d: int, sigma: float) -> None:
    """Of N(0, (w^2 + sigma^2) I), maximised numerically: ||y||^2/d - sigma^2, not ||y||^2/(d - 2) - sigma^2."""
    y = np.random.default_rng(d).normal(0, 3 * sigma, d)

    def minus_log(log_v: float) -> float:
        return d / 2 * log_v + float(y @ y) / (2 * math.exp(log_v))

    best = math.exp(minimize_scalar(minus_log, bracket=(-3, 6), options={"xtol": 1e-12}).x) - sigma**2
    assert best == pytest.approx(y @ y / d - sigma**2, rel=1e-6)
    plug_in = best / (best + sigma**2) * y
    assert np.allclose(plug_in, (1 - d * sigma**2 / (y @ y)) * y, rtol=1e-6)
    assert not np.allclose(plug_in, james_stein(y, sigma, positive_part=False).values, rtol=1e-3)


def test_the_maximum_likelihood_rule_risks_4_17_where_james_stein_risks_3_50() -> None:
    """200,000 draws at d = 5, w = sigma = 1: standard errors 0.012 and 0.006. Six are allowed: a false alarm in 5e8."""
    rng = np.random.default_rng(11)
    f = rng.standard_normal((200_000, 5))
    y = f + rng.standard_normal(f.shape)
    square = (y**2).sum(axis=1, keepdims=True)
    for c, risk in ((5, 25 / 6), (3, 3.5)):
        lost = (((1 - c / square) * y - f) ** 2).sum(axis=1)
        assert abs(lost.mean() - risk) < 6 * lost.std() / math.sqrt(lost.size)
    unbiased = 3 / square[:, 0]  # (d - 2)/||y||^2 for 1/(w^2 + sigma^2)
    assert abs(unbiased.mean() - 0.5) < 6 * unbiased.std() / math.sqrt(unbiased.size)


@given(st.integers(3, 500), st.floats(0, 30))
def test_james_stein_improves_on_every_truth(d: int, norm: float) -> None:
    """In squared error, exactly: so some rule does improve uniformly, which section 4 begins by denying."""
    k = np.arange(int(norm**2 / 2 + 60 * norm + 300))
    risk = d - (d - 2) ** 2 * float(np.sum(poisson.pmf(k, norm**2 / 2) / (d - 2 + 2 * k)))
    assert risk < d


def test_the_exact_risk_of_james_stein_is_the_library_s() -> None:
    """The truth (2, 0, 0): a gain of 0.2 with a standard error of 0.03; six are allowed, a false alarm in 5e8."""
    rng = np.random.default_rng(3)
    truth = np.array([2.0, 0.0, 0.0])
    gain = np.empty(4000)
    for i in range(4000):
        y = truth + rng.standard_normal(3)
        made = james_stein(y, 1.0, positive_part=False).values
        gain[i] = ((y - truth) ** 2).sum() - ((made - truth) ** 2).sum()
    k = np.arange(100)
    exact = float(np.sum(poisson.pmf(k, 2.0) / (1 + 2 * k)))
    assert abs(gain.mean() - exact) < 6 * gain.std() / math.sqrt(4000)


def test_james_stein_of_two_bins_is_the_raw_values_and_of_one_has_no_finite_risk() -> None:
    """At d = 2 the factor is 1 - 0; at d = 1 the mean of 1/y^2, of which it has a multiple, is infinite."""
    assert james_stein_risk(bins=2, sigma=3.0, prior_std=1.0) == 2 * 3.0**2
    assert james_stein_risk(bins=[2, 5], sigma=1.0, prior_std=1.0).tolist() == [2.0, 3.5]
    with pytest.raises(errors.InvalidParameter, match="infinite"):
        james_stein_risk(bins=1, sigma=1.0, prior_std=1.0)


def threshold_risk(t: float, x: float) -> float:
    """The soft threshold's risk at a truth x, sigma = 1, in closed form."""
    density = [math.exp(-((t + sign * x) ** 2) / 2) / math.sqrt(2 * math.pi) for sign in (1, -1)]
    within = float(ndtr(t - x) - ndtr(-t - x))
    return 1 + t * t + (x * x - t * t - 1) * within - (t - x) * density[0] - (t + x) * density[1]


@given(st.integers(1, 10**9), st.floats(0, 60))
def test_each_step_of_theorem_12_s_proof(d: int, x: float) -> None:
    t = math.sqrt(2 * math.log(d))
    risk, zero = threshold_risk(t, x), threshold_risk(t, 0.0)
    assert risk <= 1 + t * t + 1e-9
    assert risk <= zero + x * x + 1e-9
    assert zero <= (1 + t * t) / d + 1e-12
    assert risk <= (1 + t * t) * (1 / d + min(x * x, 1)) + 1e-9


def test_the_closed_form_is_the_library_s_threshold() -> None:
    """2,000 draws of 50 values: a standard error of 0.05; six are allowed, a false alarm in 5e8."""
    rng = np.random.default_rng(12)
    truth = np.linspace(0, 5, 50)
    lost = np.empty(2000)
    for i in range(lost.size):
        values = soft_threshold(truth + rng.standard_normal(50), 1.0).values
        lost[i] = ((values - truth) ** 2).sum()
    t = math.sqrt(2 * math.log(50))
    exact = sum(threshold_risk(t, float(x)) for x in truth)
    assert abs(lost.mean() - exact) < 6 * lost.std() / math.sqrt(lost.size)


@pytest.mark.parametrize("d", [2, 10, 1000, 10**6])
def test_no_logarithm_bounds_the_threshold_over_all_balls(d: int) -> None:
    """Over a ball of radius B, p <= 2, no rule needs more than B^2; the threshold risks d r(0) at zero alone."""
    zero = d * threshold_risk(math.sqrt(2 * math.log(d)), 0.0)
    radius = math.sqrt(zero / (9 * math.log(d)))  # small enough, and not zero
    assert radius > 0
    assert zero / radius**2 > 4.44 * math.log(d)


@pytest.mark.parametrize("d", [2, 3, 10, 100, 500, 1000, 10**6])
def test_theorem_12_holds_with_2_22_too(d: int) -> None:
    """Coordinate by coordinate, with lower bounds in place of the least worst risk over [-x, x]."""
    t = math.sqrt(2 * math.log(d))
    for x in np.concatenate([np.linspace(0, 8, 801), [10.0, 30.0]]):
        least = max(min(x * x, 1.0) * 0.4495, 0.8 * x * x / (1 + x * x))
        assert threshold_risk(t, float(x)) <= (1 + t * t) * (1 / d + 2.22 * least) * (1 + 1e-12)


def test_the_two_balls_of_the_page() -> None:
    t = math.sqrt(2 * math.log(1000))
    assert (999 * threshold_risk(t, 0.0) + threshold_risk(t, 0.01)) / 0.01**2 == pytest.approx(221.9, abs=0.05)
    t = math.sqrt(2 * math.log(100))
    ratio = 100 * threshold_risk(t, 20.0) / ln.denoise.minimax_risk(bins=100, sigma=1, p=math.inf, radius=20)
    assert ratio == pytest.approx(10.24, abs=0.005)
    assert ratio > 2 * math.log(100)


def test_section_5_2_s_sensitivity_needs_the_radius_one_half() -> None:
    n, d = 500, 30
    centre = np.random.default_rng(5).standard_normal(d)
    points = np.tile(centre, (n, 1))

    def moved(old: float, new: float) -> float:
        before, after = points.copy(), points.copy()
        before[0] += old
        after[0] += new
        return float(np.linalg.norm(after.mean(axis=0) - before.mean(axis=0)))

    assert moved(-0.5, 0.5) == pytest.approx(math.sqrt(d) / n)  # what the experiment's data allow
    assert moved(1.0, 0.0) == pytest.approx(math.sqrt(d) / n)  # radius 1, one person removed
    assert moved(-1.0, 1.0) == pytest.approx(2 * math.sqrt(d) / n)  # radius 1, one person replaced
