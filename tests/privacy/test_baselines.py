"""What others do, and the paper's errata as tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant as rdp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

import leastnoise as ln
from leastnoise import denoise, errors
from leastnoise.privacy import baselines
from leastnoise.privacy.calibration.paper_algorithm import delta_0

small_deltas = st.floats(-12, -1).map(lambda x: 10.0**x)


@given(st.floats(1e-3, 0.999), small_deltas)
def test_theorem_1_is_enough_and_wasteful(epsilon: float, delta: float) -> None:
    sigma = baselines.classical_sigma(epsilon=epsilon, delta=delta)
    assert ln.delta(sigma=sigma, epsilon=epsilon) <= delta
    assert ln.sigma(epsilon=epsilon, delta=delta) < sigma


def test_theorem_1_is_refused_where_it_is_no_theorem_and_there_it_can_be_false() -> None:
    with pytest.raises(errors.InvalidParameter, match=r"ln\.sigma"):
        baselines.classical_sigma(epsilon=1, delta=1e-6)
    with pytest.raises(errors.InvalidParameter):
        baselines.classical_sigma(epsilon=0, delta=1e-6)
    stretched = baselines.classical_sigma(epsilon=100, delta=1e-6, extrapolate=True)
    assert ln.delta(sigma=stretched, epsilon=100) > 1e-6


@pytest.mark.parametrize(("delta", "gain"), [(1e-2, 2.75), (1e-4, 1.86), (1e-6, 1.58), (1e-9, 1.39)])
def test_variance_gain_over_the_classical_sigma_near_epsilon_1(delta: float, gain: float) -> None:
    classical = baselines.classical_sigma(epsilon=0.99, delta=delta)
    assert (classical / ln.sigma(epsilon=0.99, delta=delta)) ** 2 == pytest.approx(gain, abs=6e-3)


@given(small_deltas)
def test_theorem_2_is_enough_and_the_exact_one_is_less(delta: float) -> None:
    assert ln.delta(sigma=baselines.zero_epsilon_sigma(delta=delta), epsilon=0) <= delta
    exact = baselines.exact_zero_epsilon_sigma(delta=delta)
    assert exact < baselines.zero_epsilon_sigma(delta=delta)
    assert exact == pytest.approx(ln.sigma(epsilon=0, delta=delta), rel=1e-12)


def test_erratum_theorem_4_as_printed_is_false_and_as_corrected_holds() -> None:
    printed = 0.5 - math.exp(-3) / math.sqrt(4 * math.pi)
    assert printed > 0.4  # the printed condition admits (1, 0.4) ...
    assert ln.sigma(epsilon=1, delta=0.4) < 1 / math.sqrt(2)  # ... and its bound fails there
    assert baselines.lower_bound_sigma(epsilon=1, delta=0.4) == 0.0  # the corrected one claims nothing


@given(st.floats(1e-3, 50), st.floats(1e-9, 0.499))
def test_corrected_theorem_4_is_a_lower_bound(epsilon: float, delta: float) -> None:
    assert ln.sigma(epsilon=epsilon, delta=delta) >= baselines.lower_bound_sigma(epsilon=epsilon, delta=delta)
    # and the simpler condition of the correction is enough
    if delta < 0.5 - 1 / math.sqrt(4 * math.pi * epsilon):
        assert delta < baselines.lower_bound_delta(epsilon)


@given(st.floats(1e-3, 50))
def test_delta_0_three_ways(epsilon: float) -> None:
    direct = 0.5 - math.exp(epsilon) * ndtr(-math.sqrt(2 * epsilon))
    assert baselines.lower_bound_delta(epsilon) == pytest.approx(direct, rel=1e-9)
    assert baselines.lower_bound_delta(epsilon) == pytest.approx(delta_0(epsilon), rel=1e-9)
    assert ln.delta(sigma=1 / math.sqrt(2 * epsilon), epsilon=epsilon) == pytest.approx(direct, rel=1e-9)


@given(st.floats(1e-3, 50), small_deltas)
def test_the_routes_through_other_definitions_are_valid_and_ordered(epsilon: float, delta: float) -> None:
    exact = ln.sigma(epsilon=epsilon, delta=delta)
    renyi = baselines.renyi_sigma(epsilon=epsilon, delta=delta)
    zcdp = baselines.zcdp_sigma(epsilon=epsilon, delta=delta)
    assert exact <= renyi * (1 + 1e-9)
    assert renyi <= zcdp * (1 + 1e-9)


def test_zcdp_solves_its_own_equation() -> None:
    sigma = baselines.zcdp_sigma(epsilon=1, delta=1e-6, sensitivity=3)
    rho = 9 / (2 * sigma**2)
    assert rho + 2 * math.sqrt(rho * math.log(1e6)) == pytest.approx(1, rel=1e-12)


def test_renyi_agrees_with_dp_accounting_over_its_orders() -> None:
    for epsilon in (0.1, 1.0, 8.0):
        sigma = baselines.renyi_sigma(epsilon=epsilon, delta=1e-6)
        orders = [1 + x / 50 for x in range(1, 20_000)]
        theirs, _ = rdp.compute_epsilon(orders, [a / (2 * sigma**2) for a in orders], 1e-6)
        assert theirs == pytest.approx(epsilon, rel=1e-4)


def test_laplace() -> None:
    assert baselines.laplace_scale(epsilon=0.1, l1_sensitivity=1) >= 10
    assert baselines.laplace_distribution(epsilon=0.5, l1_sensitivity=5).std == pytest.approx(14.142, abs=1e-3)
    ratio = baselines.laplace_distribution(epsilon=2).std / baselines.laplace_distribution(epsilon=2, grid=1).std
    # The two-sided geometric has less variance than Laplace rounded to the grid, by cosh(epsilon/2).
    rounded = 2 * sum(k * k * (math.exp(-2 * (k - 0.5)) - math.exp(-2 * (k + 0.5))) / 2 for k in range(1, 100))
    assert rounded / baselines.laplace_distribution(epsilon=2, grid=1).std ** 2 == pytest.approx(math.cosh(1), rel=1e-9)
    assert ratio > 1
    with pytest.raises(errors.InvalidParameter):
        baselines.laplace_scale(epsilon=0)
    with pytest.raises(errors.OutOfRange):
        baselines.laplace_scale(epsilon=1e-300, l1_sensitivity=1e100)


EPSILONS, DELTAS = [0.01, 0.3, 0.9], [[1e-4], [1e-8]]
OVER_ARRAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "classical": (baselines.classical_sigma, {"epsilon": EPSILONS, "delta": DELTAS, "sensitivity": 2.0}),
    "zero": (baselines.zero_epsilon_sigma, {"delta": DELTAS, "sensitivity": [1.0, 5.0]}),
    "exact_zero": (baselines.exact_zero_epsilon_sigma, {"delta": DELTAS, "sensitivity": [1.0, 5.0]}),
    "lower": (baselines.lower_bound_sigma, {"epsilon": EPSILONS, "delta": [[1e-4], [0.4]]}),
    "lower_delta": (baselines.lower_bound_delta, {"epsilon": EPSILONS}),
    "zcdp": (baselines.zcdp_sigma, {"epsilon": EPSILONS, "delta": DELTAS}),
    "renyi": (baselines.renyi_sigma, {"epsilon": EPSILONS, "delta": DELTAS}),
    "laplace": (baselines.laplace_scale, {"epsilon": EPSILONS, "l1_sensitivity": [[1], [3]]}),
    "minimax": (denoise.minimax_risk, {"bins": [10, 1000], "sigma": 1.0, "p": [[1.0], [2.0], [math.inf]], "radius": 2}),
    "bayes": (denoise.bayes_risk, {"bins": 5, "sigma": [0.5, 1.0], "prior_std": [[1.0], [2.0]]}),
    "james_stein": (denoise.james_stein_risk, {"bins": [3, 50], "sigma": 1.0, "prior_std": [[1.0], [2.0]]}),
}


@pytest.mark.parametrize("name", OVER_ARRAYS)
def test_arrays_are_broadcast_and_every_element_is_what_it_is_alone(name: str) -> None:
    function, given = OVER_ARRAYS[name]
    found = function(**given)
    full = np.broadcast_arrays(*map(np.asarray, given.values()))
    assert found.shape == full[0].shape
    assert found.dtype == np.float64
    for place in np.ndindex(found.shape):
        alone = function(**{key: array[place].item() for key, array in zip(given, full, strict=True)})
        assert isinstance(alone, float)
        assert found[place] == alone


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(errors.InvalidParameter, match="broadcast"):
        baselines.zcdp_sigma(epsilon=[0.1, 0.2], delta=[1e-6, 1e-6, 1e-6])
    for wrong in ([], [[0.1], [0.1, 0.2]], ["a"]):
        with pytest.raises(errors.WrongType):
            baselines.zcdp_sigma(epsilon=wrong, delta=1e-6)
    with pytest.raises(errors.InvalidParameter, match="epsilon < 1"):
        baselines.classical_sigma(epsilon=[0.5, 2.0], delta=1e-6)
    assert baselines.lower_bound_delta(np.array([0.5, 2.0])).shape == (2,)  # by position too
