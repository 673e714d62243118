"""Laws of sigma, epsilon and delta over the whole domain, judged by an independent oracle in wide balls."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise.privacy.calibration import arrays, proof
from leastnoise.privacy.calibration.paper_algorithm import algorithm_1
from oracle import delta_ball


def _powers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda x: 10.0**x)


# delta near 1e-300 with epsilon 0 makes sigma 1e300; the sensitivity may then push it past the largest double.
epsilons = st.just(0.0) | _powers(-12, 6)
wide_epsilons = epsilons | _powers(6, 15)
deltas = _powers(-300, -0.31) | _powers(-15, -0.31).map(lambda p: 1 - p)
sensitivities = st.just(1.0) | _powers(-150, 150)
sigmas = _powers(-3, 8)


def _sigma_or_skip(epsilon: float, delta: float, sensitivity: float) -> float:
    try:
        return ln.sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    except ln.errors.OutOfRange:
        assume(False)
        raise


@given(epsilons, deltas, sensitivities)
@example(0.0, 1e-300, 1.0)
@example(1e6, 1e-300, 1.0)
@example(1e-12, 1 - 1e-15, 1e150)
def test_delta_of_sigma_never_exceeds_delta_and_sigma_is_least(
    epsilon: float, delta: float, sensitivity: float
) -> None:
    sigma = _sigma_or_skip(epsilon, delta, sensitivity)
    assert delta_ball(epsilon, sigma, sensitivity) <= delta
    assert delta_ball(epsilon, sigma * (1 - 1e-12), sensitivity) > delta


@given(st.just(0.0) | _powers(-6, 3), _powers(-300, -0.31), st.just(1.0) | _powers(-100, 100))
@example(1.0, 1e-6, 5.0)
@example(0.0, 1e-12, 1.0)
@example(1e3, 0.5, 1.0)
def test_sigma_from_guess_is_that_of_the_search_or_less(epsilon: float, delta: float, sensitivity: float) -> None:
    """Where one ball near a proposal in doubles decides, the answer is the same double, or the one below it."""
    near = proof._sigma_from_guess(epsilon, delta, sensitivity)
    if near is not None:
        searched = proof._sigma_by_search(epsilon, delta, sensitivity)
        assert near == searched or near == math.nextafter(searched, 0)
        assert delta_ball(epsilon, near, sensitivity) <= delta
        assert delta_ball(epsilon, math.nextafter(near, 0), sensitivity) > delta


def test_everyday_sigmas_are_decided_near_doubles() -> None:
    """No search in balls is needed for any of these: that is what makes them fast."""
    for epsilon in np.logspace(-6, 3, 37).tolist():
        for delta in [0.5, 0.1, *np.logspace(-15, -2, 14).tolist(), 1e-30, 1e-100, 1e-300]:
            assert proof._sigma_from_guess(epsilon, delta, 1.0) is not None, (epsilon, delta)


@pytest.mark.parametrize(
    "lie", [1 + 1e-12, 1 - 1e-12, 1 + 1e-6, 1 - 1e-3, 2.0, 1e-3, 1e200, 0.0, -1.0, math.nan, math.inf]
)
def test_a_wrong_proposal_changes_no_sigma(monkeypatch: pytest.MonkeyPatch, lie: float) -> None:
    """The doubles are trusted in nothing."""
    points = [(1.0, 1e-6, 5.0), (0.01, 1e-3, 1.0), (30.0, 1e-12, 1e-3), (0.0, 0.1, 1.0), (1e-5, 1e-200, 1.0)]
    honest = [ln.sigma(epsilon=e, delta=d, sensitivity=s) for e, d, s in points]
    mu = proof.approximate_mu
    monkeypatch.setattr(proof, "approximate_mu", lambda epsilon, delta: mu(epsilon, delta) * lie)
    assert [ln.sigma(epsilon=e, delta=d, sensitivity=s) for e, d, s in points] == honest


@given(sigmas, deltas)
def test_epsilon_is_enough_and_least(sigma: float, delta: float) -> None:
    epsilon = ln.epsilon(sigma=sigma, delta=delta)
    assert delta_ball(epsilon, sigma) <= delta
    if epsilon > 0:
        assert delta_ball(epsilon * (1 - 1e-12), sigma) > delta


@given(sigmas, epsilons)
def test_delta_is_rounded_up_by_at_most_1e_12(sigma: float, epsilon: float) -> None:
    delta = ln.delta(sigma=sigma, epsilon=epsilon)
    truth = delta_ball(epsilon, sigma)
    assert truth <= delta or delta == 1.0
    assert delta == 5e-324 or truth > delta * (1 - 1e-12)


@given(wide_epsilons, deltas)
def test_epsilon_inverts_sigma(epsilon: float, delta: float) -> None:
    sigma = _sigma_or_skip(epsilon, delta, 1.0)
    back = ln.epsilon(sigma=sigma, delta=delta)
    # sigma is at most an ulp too large, so epsilon comes back at most its condition number of ulps too small.
    assert back <= epsilon * (1 + 1e-12)
    assert ln.sigma(epsilon=back, delta=delta) <= sigma * (1 + 1e-12)


@given(wide_epsilons, deltas)
def test_delta_inverts_sigma(epsilon: float, delta: float) -> None:
    sigma = _sigma_or_skip(epsilon, delta, 1.0)
    assert ln.delta(sigma=sigma, epsilon=epsilon) <= delta


@given(wide_epsilons, wide_epsilons, deltas)
def test_sigma_falls_as_epsilon_grows(one: float, other: float, delta: float) -> None:
    low, high = sorted((one, other))
    assert ln.sigma(epsilon=high, delta=delta) <= ln.sigma(epsilon=low, delta=delta) * (1 + 1e-12)


@given(epsilons, deltas, deltas)
def test_sigma_falls_as_delta_grows(epsilon: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert ln.sigma(epsilon=epsilon, delta=high) <= ln.sigma(epsilon=epsilon, delta=low) * (1 + 1e-12)


@given(epsilons, deltas, st.integers(-400, 400))
def test_sigma_scales_with_sensitivity_exactly_by_powers_of_two(epsilon: float, delta: float, power: int) -> None:
    sigma = ln.sigma(epsilon=epsilon, delta=delta)
    assume(1e-290 < sigma * 2.0**power < 1e290)
    assert ln.sigma(epsilon=epsilon, delta=delta, sensitivity=2.0**power) == sigma * 2.0**power


@given(st.lists(st.tuples(wide_epsilons, deltas, sensitivities), min_size=1, max_size=8))
def test_array_sigma_is_never_below_the_proved_one_and_within_1e_11(points: list[tuple[float, float, float]]) -> None:
    proved = []
    kept = []
    for point in points:
        try:
            proved.append(proof.sigma(*point))
            kept.append(point)
        except ln.errors.OutOfRange:
            continue
    assume(kept)
    epsilon, delta, sensitivity = np.array(kept).T
    vector = ln.sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    for got, want, point in zip(vector, proved, kept, strict=True):
        # Proved sigma is an ulp above the optimum at most, so being at or above it means being above the optimum.
        assert got >= want
        assert got <= want * (1 + 1e-11), point


@given(st.lists(st.tuples(sigmas, deltas), min_size=1, max_size=8))
def test_array_epsilon_is_never_below_and_close(points: list[tuple[float, float]]) -> None:
    sigma, delta = np.array(points).T
    vector = ln.epsilon(sigma=sigma, delta=delta)
    for got, s, d in zip(vector, sigma, delta, strict=True):
        want = proof.epsilon(float(s), float(d), 1.0)
        assert got >= want
        # The condition number of epsilon in delta and in mu, where it is worse than 1e-11 allows.
        wobble = (1 / s) * (want * s + 1 / s) + 3
        assert got <= want * (1 + 1e-11) + 1e-13 * wobble


@given(st.lists(st.tuples(sigmas, wide_epsilons), min_size=1, max_size=8))
def test_array_delta_is_never_below_and_close(points: list[tuple[float, float]]) -> None:
    sigma, epsilon = np.array(points).T
    vector = ln.delta(sigma=sigma, epsilon=epsilon)
    for got, s, e in zip(vector, sigma, epsilon, strict=True):
        want = proof.delta(float(s), float(e), 1.0)
        assert got >= want
        condition = 1 + (e * s + 1 / s) * (1 + abs(e * s - 0.5 / s))
        assert got <= max(want * (1 + 1e-11 + 1e-14 * condition), 1e-307)


def test_array_margins_hold_on_many_points() -> None:
    """20,000 points: the margin of each float path is several times the error without it (seen: 100, 20, 8 times)."""
    rng = np.random.default_rng(20180611)
    n = 20_000
    epsilon = np.where(rng.random(n) < 0.02, 0.0, 10 ** rng.uniform(-12, 6, n))
    delta = np.where(rng.random(n) < 0.7, 10 ** rng.uniform(-290, -0.31, n), 1 - 10 ** rng.uniform(-15, -0.31, n))
    vector = arrays.sigma(epsilon, delta, np.ones(n))
    proved = np.array([proof.sigma(float(e), float(d), 1.0) for e, d in zip(epsilon, delta, strict=True)])
    excess = vector / proved - 1
    assert excess.min() >= 0.9 * arrays._SIGMA_MARGIN
    assert excess.max() <= 1.1 * arrays._SIGMA_MARGIN


@given(_powers(-3, 2), _powers(-8, -0.31))
def test_algorithm_1_agrees(epsilon: float, delta: float) -> None:
    assert math.isclose(algorithm_1(epsilon=epsilon, delta=delta), ln.sigma(epsilon=epsilon, delta=delta), rel_tol=1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 1e-12, 1.0, 709.0, 1e6, 1e15, 1e100, 1e300, 1.7e308])
@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1e-6, 0.5, 1 - 1e-15, 1 - 2**-53])
def test_every_corner_of_the_domain_answers_and_is_proved_there(epsilon: float, delta: float) -> None:
    try:
        sigma = ln.sigma(epsilon=epsilon, delta=delta)
    except ln.errors.OutOfRange:
        assert epsilon == 0 or epsilon < 1e-300
        assert delta < 1e-300
        return
    assert 0 < sigma < math.inf
    assert ln.delta(sigma=sigma, epsilon=epsilon) <= delta
    assert ln.sigma(epsilon=[epsilon], delta=delta)[0] == pytest.approx(sigma, rel=1e-11)
