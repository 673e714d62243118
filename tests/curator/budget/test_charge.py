"""What a release pays: its share and no less, in the right currency, and before any noise is drawn."""

from __future__ import annotations

import math
import os
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise import LaplaceDP, errors
from leastnoise.curator.noise import entropy
from spending import COUNTS, spend, spend_on_unknown_keys


def test_a_hundred_shares_of_one_percent_fit_and_no_more(budget: ln.Budget) -> None:
    for _ in range(100):
        spend(budget, share=0.01)
    assert budget.remaining == (0.0, 0.0, 0.0, 0.0, 0.0)
    with pytest.raises(ln.BudgetExhausted, match="Nothing more"):
        spend(budget, share=0.01)
    with pytest.raises(ln.BudgetExhausted):
        spend(budget, sigma=1e12)
    assert len(budget.history()) == 100
    assert budget.verify()


def test_four_quarters_inside_1_1e_6(budget: ln.Budget) -> None:
    made = [spend(budget, share=0.25) for _ in range(4)]
    assert {round(r.sigma, 3) for r in made} == {8.449}
    assert made[0].sigma == pytest.approx(2 * ln.sigma(epsilon=1, delta=1e-6), rel=1e-15)


@pytest.mark.parametrize("share", [Fraction(1, 11), Decimal("0.1"), 0.1, 1, np.float64(0.2), np.float32(0.2)])
def test_whole_numbers_of_equal_shares_fit(tmp_path: Path, share: Any) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)
    for _ in range(round(1 / float(share))):
        spend(budget, share=share)
    with pytest.raises(ln.BudgetExhausted):
        spend(budget, share=share)


def test_an_explicit_promise_costs_what_it_says(budget: ln.Budget) -> None:
    spend(budget, epsilon=0.5, delta=1e-6)
    cost = (1 / ln.sigma(epsilon=0.5, delta=1e-6)) ** 2 * ln.sigma(epsilon=1, delta=1e-6) ** 2
    assert budget.remaining.share == pytest.approx(1 - cost, rel=1e-12)
    assert budget.remaining.mu == pytest.approx(np.sqrt(1 - cost) / ln.sigma(epsilon=1, delta=1e-6), rel=1e-12)


def test_real_numbers_pay_for_their_grid(budget: ln.Budget) -> None:
    real = ln.release(np.array([1.5, 2.5]), sensitivity=1, budget=budget, sigma=100)
    whole = spend(budget, sigma=100)
    assert budget.history()[0].gaussian > budget.history()[1].gaussian
    assert real.guarantee.mu > whole.guarantee.mu  # type: ignore[union-attr]


def test_auto_takes_gaussian_in_a_budget(budget: ln.Budget) -> None:
    made = ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, epsilon=0.5, delta=1e-6, budget=budget)
    assert made.mechanism == "gaussian"
    alone = ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, epsilon=0.5, delta=1e-6)
    assert alone.mechanism == "laplace"


def test_laplace_without_a_reserve_is_charged_as_mu(budget: ln.Budget) -> None:
    made = ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, epsilon=0.1, delta=0, budget=budget)
    assert made.mechanism == "laplace"
    expected = (ln.PureDP(0.1).to_gaussian().mu * ln.sigma(epsilon=1, delta=1e-6)) ** 2
    assert float(budget.history()[0].gaussian) == pytest.approx(expected, rel=1e-12)
    spend(budget, share=0.1)  # from here on Laplace releases alone cannot spend all of epsilon
    ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, share=0.5, mechanism="laplace", budget=budget)
    assert budget.history()[2].gaussian == Fraction(1, 2)


def test_a_reserve_is_spent_by_itself(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, pure_epsilon=0.3)
    for _ in range(3):
        made = ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, epsilon=0.1, delta=0, budget=budget)
        assert made.mechanism == "laplace"
    assert (budget.remaining.share, budget.remaining.pure_epsilon) == (1.0, 0.0)
    with pytest.raises(ln.BudgetExhausted, match="pure epsilon"):
        ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, share=0.01, mechanism="laplace", budget=budget)
    spend(budget, share=1)
    assert "Laplace" in str(budget)


def test_a_budget_of_laplace_releases_only(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=2, pure_epsilon=2)
    made = ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, share=0.25, budget=budget)
    assert (made.mechanism, made.scale, made.guarantee) == ("laplace", 2.0, ln.PureDP(0.5))
    assert budget.remaining == (0.75, 0.0, 1.5, 1.5, 0.0)
    with pytest.raises(errors.BudgetMismatch, match="Laplace"):
        spend(budget, share=0.25, mechanism="gaussian")
    assert len(budget.history()) == 1


def test_unknown_keys_need_their_reserve_and_pay_in_two_currencies(tmp_path: Path, budget: ln.Budget) -> None:
    with pytest.raises(errors.BudgetMismatch, match="threshold_delta"):
        spend_on_unknown_keys(budget, people=50, share=0.5)
    roomy = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, threshold_delta=5e-7)
    made = spend_on_unknown_keys(roomy, people=500, share=0.5)
    assert made.domain is not None
    (entry,) = roomy.history()
    assert (entry.gaussian, entry.threshold) == (Fraction(1, 2), Fraction(1, 2))
    assert isinstance(made.guarantee, ln.ApproxDP)
    assert made.guarantee.epsilon < 1
    spend_on_unknown_keys(roomy, people=500, epsilon=0.5, delta=2e-7)
    assert 0 < roomy.history()[1].threshold < Fraction(1, 2)
    assert roomy.verify()


def release_vector(budget: ln.Budget) -> object:
    return spend(budget, share=0.1)


def release_sparse(budget: ln.Budget) -> object:
    return ln.release_sparse([3], [9], domain_size=100, sensitivity=1, budget=budget, share=0.1)


def release_unknown(budget: ln.Budget) -> object:
    return spend_on_unknown_keys(budget, people=9, share=0.1)


CALLS = [release_vector, release_sparse, release_unknown]


@pytest.mark.parametrize("call", CALLS)
def test_the_entry_is_on_disk_before_noise_is_read(tmp_path: Path, call: Any) -> None:
    path = tmp_path / "b"
    budget = ln.Budget.open(path, epsilon=1, delta=1e-6, threshold_delta=5e-7)
    seen = []

    def read(size: int) -> bytes:
        seen.append([entry.share for entry in ln.Budget.open(path).history()])
        assert not Path(f"{path}-journal").exists()
        return os.urandom(size)

    with entropy.source(read):
        made = call(budget)
    assert seen
    assert all(shares == [0.1] for shares in seen)
    assert budget.history()[0].release == made.id


@pytest.mark.parametrize("call", CALLS)
def test_no_randomness_no_refund(tmp_path: Path, call: Any) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, threshold_delta=5e-7)
    with entropy.source(lambda size: b""), pytest.raises(errors.EntropyFailure):
        call(budget)
    assert budget.remaining.share == 0.9


@pytest.mark.parametrize("values", [np.array([1.0, np.nan]), [1.0, "x"], [1.0, float("inf")], [[1.0], [2.0]]])
def test_no_value_makes_a_release_fail_or_cost_another_share(budget: ln.Budget, values: Any) -> None:
    assert ln.release(values, sensitivity=1, budget=budget, share=0.5).bins == 2
    assert budget.remaining.share == 0.5


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": np.zeros((2, 2))},
        {"values": np.array([])},
        {"values": []},
        {"values": "abc"},
        {"sensitivity": 0},
        {"sensitivity": float("nan")},
        {"mechanism": "gausian"},
        {"neighbours": "replace"},
        {"domain": ["a", "b"]},
        {"l1_sensitivity": 0.1},
        {"epsilon": 1},
        {"share": None},
        {"sigma": -1, "share": None},
        {"sensitivity": 1e305, "share": 0.001},
    ],
)
def test_what_is_typed_wrong_costs_nothing(budget: ln.Budget, wrong: dict[str, Any]) -> None:
    how = {"values": COUNTS, "sensitivity": 1, "budget": budget, "share": 0.1} | wrong
    with pytest.raises(errors.LeastnoiseError):
        ln.release(how.pop("values"), **how)
    assert budget.history() == []


def test_sparse_parameters_cost_nothing(budget: ln.Budget) -> None:
    with pytest.raises(errors.InvalidParameter):
        ln.release_sparse([1], [2], domain_size=10**12, sensitivity=1, budget=budget, share=0.1, threshold=1)
    assert budget.history() == []


def test_laplace_noise_in_several_bins_pays_its_own_price(tmp_path: Path) -> None:
    """Counts, one row a bin and five bins a unit: 0.0785 of mu^2 at epsilon 0.5, where epsilon-DP would pay 0.389."""
    budget = ln.Budget.open(tmp_path / "b", epsilon=3, delta=1e-6)
    ln.release(COUNTS, sensitivity=math.sqrt(5), l1_sensitivity=5, epsilon=0.5, delta=0, budget=budget)
    paid = float(budget.history()[0].gaussian * budget.terms.mu**2)
    assert paid == pytest.approx(0.07851, rel=1e-3)
    spend(budget, share=0.01)
    made = ln.release(COUNTS, sensitivity=math.sqrt(5), l1_sensitivity=5, mechanism="laplace", share=0.3, budget=budget)
    bought = LaplaceDP(made.guarantee.epsilon, bins=5, grid_steps=1).to_gaussian().mu ** 2  # type: ignore[union-attr]
    assert bought == pytest.approx(0.3 * float(budget.terms.mu) ** 2, rel=1e-6)
    assert budget.history()[2].gaussian == Fraction(3, 10)


def test_auto_takes_laplace_from_a_budget_where_it_is_less(tmp_path: Path) -> None:
    with pytest.warns(errors.WeakPromise):
        budget = ln.Budget.open(tmp_path / "b", epsilon=30, delta=1e-6)
    with pytest.warns(errors.WeakPromise):
        made = ln.release(COUNTS, sensitivity=100, l1_sensitivity=100, share=0.9, budget=budget)
    assert made.mechanism == "laplace"
    gaussian = 100 / float(budget.terms.mu) / 0.9**0.5
    assert made.std < gaussian
    assert budget.history()[0].gaussian == Fraction(9, 10)
