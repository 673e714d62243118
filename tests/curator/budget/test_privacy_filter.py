"""The privacy filter as laws: costs are rounded up, limits down, and what was accepted composes within the limit."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget.terms import ATOMS, LEAST_SHARE, Terms, share_of, spendable
from leastnoise.privacy import gaussian_price
from leastnoise.privacy.vector_noise import VectorPlanner
from spending import COUNTS, spend, spend_on_unknown_keys


def test_no_release_costs_less_than_a_millionth(tmp_path: Path) -> None:
    """So a million at most are read for one budget, however much noise each asks for."""
    least = Fraction(1, 10**6)
    limits: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "pure_epsilon": 0.3, "threshold_delta": 1e-7}
    budget = ln.Budget.open(tmp_path / "b", **limits)
    assert budget.expect(sigma=1e9).share == budget.expect(share=1e-6).share == 1e-6
    spend(budget, sigma=1e9)
    spend(budget, epsilon=1e-9, delta=1e-9)
    spend(budget, share=1e-6)
    assert [entry.gaussian for entry in budget.history()] == [least] * 3
    spend(budget, epsilon=1e-9, delta=0, l1_sensitivity=1)
    assert budget.history()[-1].pure == least
    spend_on_unknown_keys(budget, people=5, epsilon=1e-4, delta=1e-30)
    last = budget.history()[-1]
    assert (last.gaussian, last.threshold) == (least, least)
    with pytest.raises(errors.InvalidParameter, match="at least 1e-06"):
        spend(budget, share=1e-7)
    spend(budget, share=1 - budget.history()[-1].gaussian * 4 - Fraction(1, 10**7))
    with pytest.raises(ln.BudgetExhausted, match="Nothing more") as refused:
        spend(budget, share=1e-6)
    assert refused.value.largest_share == 0
    assert budget.verify()


@given(
    epsilon=st.floats(1e-3, 20),
    delta=st.floats(1e-15, 0.5),
    share=st.decimals("1e-6", 1, places=12),
    sensitivity=st.floats(1e-3, 1e3),
    bins=st.integers(1, 10**6),
    integers=st.booleans(),
)
def test_a_share_pays_for_its_noise_and_no_less_noise_would_do(
    epsilon: float, delta: float, share: Decimal, sensitivity: float, bins: int, integers: bool
) -> None:
    """(charged/sigma)^2 <= share * mu_limit^2 in exact rationals, the grid's charge included; one ulp less fails."""
    terms = terms_of(epsilon=epsilon, delta=delta)
    paid = terms.gaussian_share(share_of(share))
    squared = terms.mu_squared_for(paid)
    made = VectorPlanner.of(bins=bins, integers=integers, sensitivity=sensitivity).gaussian(squared)
    charged, sigma = Fraction(made.charged), Fraction(made.scale)
    assert charged >= Fraction(sensitivity) + (0 if integers else Fraction(made.grid) * Fraction(int(bins**0.5)))
    assert (charged / sigma) ** 2 <= squared
    assert (charged / Fraction(np.nextafter(made.scale, 0))) ** 2 > squared
    assert terms.mu_squared_cost(made.cost).gaussian <= paid.gaussian


def is_private(epsilon: float | Fraction, mu: Fraction, delta: float | Fraction) -> bool:
    """Theorem 8 as printed, in wide balls: an oracle that shares nothing with the library."""
    with ctx.workprec(6000):
        eps, m, most = (arb(fmpq(*Fraction(x).as_integer_ratio())) for x in (epsilon, mu, delta))
        ball = phi(m / 2 - eps / m) - eps.exp() * phi(-m / 2 - eps / m)
        assert ball <= most or ball > most
        return bool(ball <= most)


def phi(x: Any) -> Any:
    return (-x / arb(2).sqrt()).erfc() / 2


def terms_of(**limits: Any) -> Terms:
    named = {"pure_epsilon": 0, "threshold_delta": 0, "unit": None, "table": None, "neighbours": None}
    return Terms.of(**(named | limits))


@given(epsilon=st.floats(1e-3, 50), delta=st.floats(1e-100, 0.9), sensitivity=st.floats(1e-6, 1e6))
def test_the_limit_is_proved_and_its_own_calibration_fits(epsilon: float, delta: float, sensitivity: float) -> None:
    terms = terms_of(epsilon=epsilon, delta=delta)
    assert terms.is_proved()
    sigma = ln.sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    cost = terms.mu_squared_cost((Fraction(sensitivity) / Fraction(sigma)) ** 2).gaussian
    assert ATOMS * (1 - 3e-12) < cost <= ATOMS
    assert is_private(epsilon, terms.mu, delta)
    assert not is_private(epsilon, terms.mu * (1 + Fraction(1, 2**90)), delta)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, Decimal("0.7"), 2])
def test_a_decimal_means_its_double_as_everywhere(epsilon: Any) -> None:
    assert terms_of(epsilon=epsilon, delta=1e-6).gaussian_promise == (float(str(epsilon)), 1e-6)


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(5, 7), Fraction(2, 9), Fraction(1, 13)])
def test_what_is_no_decimal_is_rounded_down(epsilon: Fraction) -> None:
    used, _ = terms_of(epsilon=epsilon, delta=1e-6).gaussian_promise
    assert used <= epsilon < np.nextafter(used, 9)


@given(sensitivity=st.floats(1e-3, 1e3), scale=st.floats(0.1, 1e4), chance=st.floats(1e-20, 1e-4))
def test_a_cost_is_never_less_than_the_truth(sensitivity: float, scale: float, chance: float) -> None:
    """In exact rationals, and above it by less than one part in 10^27 (of the cap)."""
    ratio = Fraction(sensitivity) / Fraction(scale)
    plain = terms_of(epsilon=1, delta=1e-6)
    roomy = terms_of(epsilon=Fraction(5, 7), delta=1e-6, pure_epsilon=Fraction(2, 7), threshold_delta=3e-7)
    for paid, truth, cap, integers in (
        (
            plain.mu_squared_cost(ratio**2).gaussian,
            ratio**2,
            plain.mu**2,
            plain.caps.gaussian,
        ),
        (roomy.pure_cost(ratio).pure, ratio, Fraction(2, 7), roomy.caps.pure),
        (roomy.threshold_cost(chance).threshold, Fraction(chance), Fraction("3e-7"), roomy.caps.threshold),
    ):
        assert 0 <= Fraction(paid, integers) - truth / cap <= max(truth / cap, 1) / 10**27
    as_mu = plain.pure_cost(ratio).gaussian
    assert Fraction(as_mu, ATOMS) * plain.mu**2 >= Fraction(ln.PureDP(ratio).to_gaussian().mu) ** 2  # type: ignore[arg-type]


@given(
    epsilon=st.floats(0.1, 10),
    delta=st.floats(1e-12, 0.1),
    pure=st.floats(0.01, 0.99),
    hidden=st.floats(0.01, 0.99),
)
def test_reserves_are_taken_off_the_limit_by_the_formula(
    epsilon: float, delta: float, pure: float, hidden: float
) -> None:
    """delta_G(epsilon - pure_epsilon; mu) + threshold_delta <= delta, and hardly less."""
    terms = terms_of(epsilon=epsilon, delta=delta, pure_epsilon=pure * epsilon, threshold_delta=hidden * delta)
    left = terms.delta - terms.threshold_delta
    assert is_private(terms.epsilon - terms.pure_epsilon, terms.mu, left)
    assert not is_private(terms.epsilon - terms.pure_epsilon, terms.mu * (1 + Fraction(1, 10**9)), left)


@given(share=st.fractions(LEAST_SHARE, 1))
def test_what_is_printed_as_left_can_be_typed(share: Fraction) -> None:
    assert share * (1 - Fraction(1, 2**51)) - Fraction(1, 10**30) <= share_of(spendable(share)) <= share


@given(squared=st.fractions(Fraction(1, 10**12), 10_000))
def test_laplace_charged_as_mu_costs_no_more_than_its_share(squared: Fraction) -> None:
    epsilon = gaussian_price.pure_epsilon_within(squared)
    assert Fraction(ln.PureDP(epsilon).to_gaussian().mu) ** 2 <= squared
    assert Fraction(ln.PureDP(epsilon * (1 + 1e-12)).to_gaussian().mu) ** 2 > squared


SPENDS = st.lists(
    st.one_of(
        st.tuples(st.just("share"), st.sampled_from([0.1, 0.25, 0.5, 1])),
        st.tuples(st.just("sigma"), st.floats(2, 50)),
        st.tuples(st.just("laplace"), st.sampled_from([0.1, 0.5, 1])),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spends=SPENDS, reserve=st.sampled_from([0.0, 0.5]))
def test_everything_that_was_accepted_composes_within_the_limit(
    tmp_path_factory: pytest.TempPathFactory, spends: list[tuple[str, float]], reserve: float
) -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    epsilon, delta = 2.0, 1e-4
    path = tmp_path_factory.mktemp("pld") / "b"
    budget = ln.Budget.open(path, epsilon=epsilon, delta=delta, pure_epsilon=reserve)
    losses = []
    for kind, amount in [*spends, ("rest", 0.0)]:  # the last one takes what is left, so that the budget is full
        how = {"share": budget.remaining.share} if kind == "rest" else {"share" if kind == "laplace" else kind: amount}
        try:
            made = ln.release(
                COUNTS,
                sensitivity=1,
                l1_sensitivity=1,
                budget=budget,
                mechanism="laplace" if kind == "laplace" else "gaussian",
                **how,  # type: ignore[arg-type]
            )
        except (ln.BudgetExhausted, errors.InvalidParameter):
            continue
        by_law = pld.from_gaussian_mechanism if made.mechanism == "gaussian" else pld.from_laplace_mechanism
        losses.append(by_law(made.scale, value_discretization_interval=1e-3, pessimistic_estimate=False))
    total = losses[0]
    for loss in losses[1:]:
        total = total.compose(loss)
    found = total.get_delta_for_epsilon(epsilon)
    assert found <= delta
    if all(r.noise.startswith("gaussian") for r in budget.history()) and not reserve:
        assert found > 0.9 * delta  # a full budget of Gaussian releases is used to the end
