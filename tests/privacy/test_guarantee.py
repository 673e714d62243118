"""Guarantees: profiles, the loss, the conversions that exist, the trade-off curve, and composition."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import leastnoise as ln
from leastnoise import ApproxDP, GaussianDP, PureDP, errors
from leastnoise.privacy.composition import summed_epsilon
from leastnoise.privacy.guarantees import Guarantee

mus = st.floats(0.01, 20)
positive_epsilons = st.floats(1e-3, 20)
small_deltas = st.floats(-12, -1).map(lambda x: 10.0**x)


@given(mus, st.floats(0, 30))
def test_profile_is_theorem_5_with_the_probabilities_of_lemma_6(mu: float, epsilon: float) -> None:
    g = GaussianDP(mu)
    both = g.loss_at_least(epsilon) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
    assert g.profile(epsilon) == pytest.approx(both, rel=1e-6, abs=1e-12)


@given(mus, st.floats(0, 10))
def test_the_loss_is_normal_with_mean_eta_and_variance_two_eta(mu: float, epsilon: float) -> None:
    eta = mu**2 / 2
    expected = 1 - ndtr((epsilon - eta) / math.sqrt(2 * eta))
    assert GaussianDP(mu).loss_at_least(epsilon) == pytest.approx(expected, abs=1e-12)


@given(mus, mus, st.floats(0, 10))
def test_profile_grows_with_mu(one: float, other: float, epsilon: float) -> None:
    """Lemma 7: h(eta) is increasing."""
    low, high = sorted((one, other))
    assert GaussianDP(low).profile(epsilon) <= GaussianDP(high).profile(epsilon)


def test_the_classical_condition_is_sufficient_but_not_necessary() -> None:
    g = GaussianDP.of(sigma=ln.sigma(epsilon=1, delta=1e-6))
    assert g.satisfies(epsilon=1, delta=1e-6)
    assert g.loss_at_least(1) > 1e-6
    assert g.loss_at_least(1) == pytest.approx(2.01e-5, rel=1e-3)
    for mu in (1e-6, 1e-3, 1.0):
        assert GaussianDP(mu).loss_at_least(0) >= 0.5


@given(positive_epsilons, st.floats(0, 25))
def test_pure_profile_is_that_of_randomised_response(epsilon: float, asked: float) -> None:
    keep, lie = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    truth = max(0.0, keep - math.exp(asked) * lie)
    assert PureDP(epsilon).profile(asked) == pytest.approx(truth, rel=1e-6, abs=1e-12)
    assert PureDP(epsilon).profile(epsilon) == 0.0


@pytest.mark.parametrize("g", [PureDP(1.3), ApproxDP(1.3, 1e-3), GaussianDP(0.8)], ids=repr)
def test_profile_and_tradeoff_are_the_same_promise(g: PureDP | ApproxDP | GaussianDP) -> None:
    """delta(epsilon) = max over alpha of 1 - f(alpha) - e^epsilon alpha."""
    alpha = np.unique(np.concatenate([np.linspace(0, 1, 200_001), np.geomspace(1e-12, 1, 20_001)]))
    miss = g.tradeoff(alpha)
    for epsilon in (0.0, 0.3, 1.0, 1.3, 2.0):
        conjugate = float(np.max(1 - miss - math.exp(epsilon) * alpha))
        assert g.profile(epsilon) == pytest.approx(conjugate, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("g", [PureDP(1.3), ApproxDP(1.3, 1e-3), GaussianDP(0.8)], ids=repr)
def test_profile_of_an_array_is_that_of_its_numbers(g: Guarantee) -> None:
    epsilon = np.linspace(0, 3, 7)
    np.testing.assert_allclose(g.profile(epsilon), [g.profile(float(e)) for e in epsilon], rtol=1e-11)


@given(positive_epsilons)
def test_a_pure_part_as_mu_lies_below_its_own_curve_and_is_tight(epsilon: float) -> None:
    alpha = np.linspace(1e-9, 1 - 1e-9, 2001)
    g = PureDP(epsilon).to_gaussian()
    assert (g.tradeoff(alpha) <= PureDP(epsilon).tradeoff(alpha) + 1e-12).all()
    # They touch where the two lines of the pure curve meet, alpha = beta = 1/(1 + e^epsilon).
    corner = 1 / (1 + math.exp(epsilon))
    assert float(g.tradeoff(corner)) == pytest.approx(corner, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 40.0, 699.0, 701.0, 1e300])
def test_a_pure_part_as_mu_exists_everywhere(epsilon: float) -> None:
    mu = PureDP(epsilon).to_gaussian().mu
    assert 0 < mu < math.inf
    assert mu <= 2 * math.sqrt(2) * math.sqrt(epsilon) * (1 + 1e-12) or epsilon == 0


def test_conversions_that_do_not_exist_are_refused_with_the_reason() -> None:
    with pytest.raises(errors.InvalidParameter, match="implies no GaussianDP"):
        ApproxDP(1, 1e-6).to_gaussian()
    with pytest.raises(errors.InvalidParameter, match="Laplace"):
        GaussianDP(1).to_pure()
    with pytest.raises(errors.InvalidParameter, match="Laplace"):
        ApproxDP(1, 1e-6).to_pure()
    with pytest.raises(errors.InvalidParameter, match="smaller delta"):
        ApproxDP(1, 1e-6).to_approx(delta=1e-9)


def test_conversions_that_exist() -> None:
    assert PureDP(1).to_pure() == PureDP(1)
    assert PureDP(1).to_approx(delta=1e-6) == ApproxDP(1, 1e-6)
    assert ApproxDP(1, 1e-6).to_approx(delta=1e-3) == ApproxDP(1, 1e-3)
    assert GaussianDP(0.2).to_gaussian() == GaussianDP(0.2)
    assert GaussianDP(0.2).to_approx(delta=1e-6).epsilon == ln.epsilon(sigma=1, sensitivity=0.2, delta=1e-6)
    assert PureDP(1, "replace").to_gaussian().neighbours == "replace"


def test_guarantees_are_frozen_and_checked() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PureDP(1).epsilon = 2  # type: ignore[misc]
    with pytest.raises(errors.InvalidParameter, match='Did you mean "replace"'):
        PureDP(1, "replaced")  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidParameter):
        PureDP(-1)
    with pytest.raises(errors.InvalidParameter):
        ApproxDP(1, 0)
    with pytest.raises(errors.InvalidParameter):
        GaussianDP(0)


def test_mu_is_rounded_up() -> None:
    assert GaussianDP.of(sigma=3.0).mu >= 1 / 3
    assert GaussianDP.of(sigma=0.1, sensitivity=0.3).mu * 0.1 >= 0.3


@pytest.mark.parametrize(
    ("sigma", "epsilon"), [(5, 10.997151214), (20, 2.254084650), (50, 0.834117549), (200, 0.189213173)]
)
def test_a_hundred_gaussian_releases(sigma: float, epsilon: float) -> None:
    total = ln.compose(*[GaussianDP.of(sigma=sigma)] * 100)
    assert isinstance(total, GaussianDP)
    assert total.to_approx(delta=1e-6).epsilon == pytest.approx(epsilon, abs=5e-10)


def test_four_releases_inside_1_and_1e_6_need_sigma_8_449() -> None:
    sigma = 2 * ln.sigma(epsilon=1, delta=1e-6)
    assert sigma == pytest.approx(8.449, abs=5e-4)
    total = ln.compose(*[GaussianDP.of(sigma=sigma)] * 4).to_approx(delta=1e-6)
    assert total.epsilon == pytest.approx(1, rel=1e-12)
    assert ln.sigma(epsilon=0.25, delta=1e-6 / 4) == pytest.approx(16.594, abs=5e-4)


@given(st.lists(mus, min_size=1, max_size=20), st.randoms())
def test_composition_does_not_care_about_order_and_never_rounds_down(parts: list[float], random: object) -> None:
    total = ln.compose(*map(GaussianDP, parts))
    assert isinstance(total, GaussianDP)
    assert total == ln.compose(*map(GaussianDP, reversed(parts)))
    assert total.mu**2 >= math.fsum(m * m for m in parts) * (1 - 1e-15)
    assert total.mu == pytest.approx(math.sqrt(math.fsum(m * m for m in parts)), rel=1e-14)


def test_pure_and_approximate_parts_add() -> None:
    assert ln.compose(PureDP(0.5), PureDP(0.25)) == PureDP(0.75)
    both = ln.compose(ApproxDP(0.5, 1e-6), PureDP(0.25), ApproxDP(0.25, 1e-7))
    assert isinstance(both, ApproxDP)
    assert both.epsilon == 1.0
    assert both.delta == pytest.approx(1.1e-6, rel=1e-6)
    assert both.delta < 1.1e-6  # 1 - (1 - a)(1 - b), not a + b


def test_many_small_pure_parts_gain_from_delta() -> None:
    many = ln.compose(*[PureDP(0.1)] * 100, delta=1e-6)
    assert isinstance(many, ApproxDP)
    assert many.epsilon < 6.4


def test_one_pure_part_is_never_turned_into_something_worse() -> None:
    """The mu route alone would make PureDP(1) epsilon 6.2 at 1e-6."""
    assert PureDP(1).to_gaussian().to_approx(delta=1e-6).epsilon == pytest.approx(6.2073, abs=1e-4)
    assert ln.compose(PureDP(1), delta=1e-6) == ApproxDP(1, 1e-6)


@settings(max_examples=12)
@given(st.lists(positive_epsilons, max_size=3), st.lists(mus, min_size=1, max_size=3), small_deltas)
def test_a_mixture_is_never_worse_than_basic_composition(pure: list[float], mu: list[float], delta: float) -> None:
    total = ln.compose(*map(PureDP, pure), *map(GaussianDP, mu), ApproxDP(0.1, delta / 10), delta=delta)
    assert isinstance(total, ApproxDP)
    share = delta * 0.899 / len(mu)
    basic = math.fsum(pure) + 0.1 + sum(ln.epsilon(sigma=1, sensitivity=m, delta=share) for m in mu)
    assert total.epsilon <= basic * (1 + 1e-9)
    assert total.delta == delta


@pytest.mark.parametrize(
    ("laplace", "gaussian"),
    [([0.1], [5.0]), ([0.1] * 20, [4.0, 8.0]), ([1.0, 0.5], [2.0]), ([0.02] * 50, [20.0]), ([3.0], [1.0])],
)
def test_a_mixture_is_valid_by_the_exact_loss_distribution(laplace: list[float], gaussian: list[float]) -> None:
    """dp-accounting's privacy-loss distribution, an optimistic (lower) one, must never need more epsilon."""
    delta = 1e-6
    total = ln.compose(*map(PureDP, laplace), *(GaussianDP.of(sigma=s) for s in gaussian), delta=delta)
    assert isinstance(total, ApproxDP)
    parts = [
        *(pld.from_laplace_mechanism(1 / e, value_discretization_interval=1e-3) for e in laplace),
        *(pld.from_gaussian_mechanism(s, value_discretization_interval=1e-3) for s in gaussian),
    ]
    exact = parts[0]
    for part in parts[1:]:
        exact = exact.compose(part)
    slack = 1e-3 * len(parts)  # its pessimistic grid
    assert exact.get_epsilon_for_delta(delta) - slack <= total.epsilon


@pytest.mark.parametrize("e", [0.0, 0.7])
@pytest.mark.parametrize("spent", [None, 5e-5])
def test_the_plain_sum_is_enough(e: float, spent: float | None) -> None:
    """Randomised response, then Gaussian noise, and with chance `spent` everything: their delta, which is exact here,
    stays below the one that was asked for, and is that one where there is nothing to add."""
    mu, keep = 0.5, 1 / (1 + math.exp(-e))
    parts = [PureDP(e), GaussianDP(mu), *([] if spent is None else [ApproxDP(0, spent)])]
    epsilon = summed_epsilon(Counter(parts), 1e-4)

    def excess(p: float, q: float) -> float:
        """The integral of p phi(x - mu) - e^epsilon q phi(x) where it is positive: above a cut."""
        cut = mu / 2 + (epsilon + math.log(q / p)) / mu
        return float(p * ndtr(mu - cut) - math.exp(epsilon) * q * ndtr(-cut))

    everything = spent or 0.0
    delta = everything + (1 - everything) * (excess(keep, 1 - keep) + excess(1 - keep, keep))
    assert delta <= 1e-4 * (1 + 1e-9)
    assert e or delta == pytest.approx(1e-4, rel=1e-9)


def test_what_cannot_be_composed_is_refused() -> None:
    with pytest.raises(errors.InvalidParameter, match="same neighbours"):
        ln.compose(PureDP(1), PureDP(1, "replace"))
    with pytest.raises(errors.MissingParameter, match="delta=1e-6"):
        ln.compose(PureDP(1), GaussianDP(1))
    with pytest.raises(errors.MissingParameter, match="Nothing"):
        ln.compose()
    with pytest.raises(errors.WrongType, match="guarantee"):
        ln.compose(1.0)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidParameter, match="Ask for delta"):
        ln.compose(ApproxDP(1, 1e-3), GaussianDP(1), delta=1e-6)
    with pytest.raises(errors.InvalidParameter, match="none is left"):
        ln.compose(ApproxDP(1, 1e-6), GaussianDP(1), delta=1e-6)


def test_tradeoff_needs_a_rate() -> None:
    with pytest.raises(errors.InvalidParameter, match="between 0 and 1"):
        GaussianDP(1).tradeoff(1.5)
    assert float(GaussianDP(1).tradeoff(0.05)) == pytest.approx(ndtr(-ndtri(0.05) - 1))


def test_several_deltas_and_epsilons_at_once() -> None:
    gaussian, deltas = GaussianDP(0.7), [1e-3, 1e-6, 1e-9]
    for guarantee in (gaussian, PureDP(1.0), ApproxDP(1.0, 1e-10)):
        assert guarantee.to_approx(delta=deltas) == [guarantee.to_approx(delta=delta) for delta in deltas]
    with pytest.raises(errors.InvalidParameter, match="one row"):
        gaussian.to_approx(delta=[[1e-6]])
    with pytest.raises(errors.InvalidParameter, match="smaller delta"):
        ApproxDP(1.0, 1e-8).to_approx(delta=deltas)
    asked = np.array([[0.0, 0.3], [2.0, 30.0]])
    found = gaussian.loss_at_least(asked)
    assert found.shape == (2, 2)
    for place in np.ndindex(asked.shape):
        assert found[place] == pytest.approx(gaussian.loss_at_least(float(asked[place])), rel=1e-12)
        exact = mpmath.ncdf(mpmath.mpf(0.7) / 2 - mpmath.mpf(float(asked[place])) / mpmath.mpf(0.7))
        assert found[place] == pytest.approx(float(exact), rel=1e-11)
