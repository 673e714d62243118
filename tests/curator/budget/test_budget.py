"""The budget as laws: what is spent never passes what was promised, and the debit always comes first."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flint import arb, ctx, fmpq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import charge, ledger, privacy_filter
from leastnoise.curator.noise import entropy
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy import noise_choice
from leastnoise.privacy.sensitivity import Limits

COUNTS = np.array([120, 0, 45])


@pytest.fixture
def budget(tmp_path: Path) -> ln.Budget:
    return ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)


def spend(budget: ln.Budget, **how: Any) -> ln.Release:
    return ln.release(COUNTS, sensitivity=1, budget=budget, **how)


def spend_on_unknown_keys(budget: ln.Budget, *, people: int, **how: Any) -> Any:
    """Of so many people, all in one bin that nobody listed."""
    rows = pa.table({"person": range(people), "ward": ["a"] * people})
    return ln.table(rows, unit="person", name="people").histogram("ward", max_rows=1).release(budget=budget, **how)


# Shares


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


@pytest.mark.parametrize("share", [0, -0.1, 1.01, float("nan"), True, "0.1", 9.99e-7])
def test_a_share_lies_between_0_and_1(budget: ln.Budget, share: Any) -> None:
    with pytest.raises(errors.InvalidParameter):
        spend(budget, share=share)
    assert budget.history() == []


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
    whole=st.booleans(),
)
def test_a_share_pays_for_its_noise_and_no_less_noise_would_do(
    epsilon: float, delta: float, share: Decimal, sensitivity: float, bins: int, whole: bool
) -> None:
    """(charged/sigma)^2 <= share * mu_limit^2 in exact rationals, the grid's charge included; one ulp less fails."""
    terms = terms_of(epsilon=epsilon, delta=delta)
    paid = terms.gaussian_share(privacy_filter.share_of(share))
    squared = terms.mu_squared_for(paid)
    made = noise_choice.choose(
        bins=bins, whole=whole, sensitivity=sensitivity, mu_squared=squared, mechanism="gaussian"
    )
    charged, sigma = Fraction(made.charged), Fraction(made.scale)
    assert charged >= Fraction(sensitivity) + (0 if whole else Fraction(made.grid) * Fraction(int(bins**0.5)))
    assert (charged / sigma) ** 2 <= squared
    assert (charged / Fraction(np.nextafter(made.scale, 0))) ** 2 > squared
    assert terms.gaussian_cost(sensitivity=made.charged, sigma=made.scale).gaussian <= paid.gaussian


def is_private(epsilon: float | Fraction, mu: Fraction, delta: float | Fraction) -> bool:
    """Theorem 8 as printed, in wide balls: an oracle that shares nothing with the library."""
    with ctx.workprec(6000):
        eps, m, most = (arb(fmpq(*Fraction(x).as_integer_ratio())) for x in (epsilon, mu, delta))
        ball = phi(m / 2 - eps / m) - eps.exp() * phi(-m / 2 - eps / m)
        assert ball <= most or ball > most
        return bool(ball <= most)


def phi(x: Any) -> Any:
    return (-x / arb(2).sqrt()).erfc() / 2


def terms_of(**limits: Any) -> privacy_filter.Terms:
    named = {"pure_epsilon": 0, "threshold_delta": 0, "unit": None, "table": None, "neighbours": None}
    return privacy_filter.Terms.of(**(named | limits))


@given(epsilon=st.floats(1e-3, 50), delta=st.floats(1e-100, 0.9), sensitivity=st.floats(1e-6, 1e6))
def test_the_limit_is_proved_and_its_own_calibration_fits(epsilon: float, delta: float, sensitivity: float) -> None:
    terms = terms_of(epsilon=epsilon, delta=delta)
    assert terms.is_proved()
    sigma = ln.sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    cost = terms.gaussian_cost(sensitivity=sensitivity, sigma=sigma).gaussian
    assert privacy_filter.ATOMS * (1 - 3e-12) < cost <= privacy_filter.ATOMS
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
    for paid, truth, cap, whole in (
        (
            plain.gaussian_cost(sensitivity=sensitivity, sigma=scale).gaussian,
            ratio**2,
            plain.mu**2,
            plain.caps.gaussian,
        ),
        (roomy.laplace_cost(l1_sensitivity=sensitivity, scale=scale).pure, ratio, Fraction(2, 7), roomy.caps.pure),
        (roomy.threshold_cost(chance).threshold, Fraction(chance), Fraction("3e-7"), roomy.caps.threshold),
    ):
        assert 0 <= Fraction(paid, whole) - truth / cap <= max(truth / cap, 1) / 10**27
    as_mu = plain.laplace_cost(l1_sensitivity=sensitivity, scale=scale).gaussian
    assert Fraction(as_mu, privacy_filter.ATOMS) * plain.mu**2 >= Fraction(ln.PureDP(ratio).to_gaussian().mu) ** 2  # type: ignore[arg-type]


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


@given(share=st.fractions(privacy_filter.LEAST_SHARE, 1))
def test_what_is_printed_as_left_can_be_typed(share: Fraction) -> None:
    assert (
        share * (1 - Fraction(1, 2**51)) - Fraction(1, 10**30)
        <= privacy_filter.share_of(privacy_filter.spendable(share))
        <= share
    )


@given(squared=st.fractions(Fraction(1, 10**12), 10_000))
def test_laplace_charged_as_mu_costs_no_more_than_its_share(squared: Fraction) -> None:
    epsilon = privacy_filter.pure_epsilon_of(squared)
    assert Fraction(ln.PureDP(epsilon).to_gaussian().mu) ** 2 <= squared
    assert Fraction(ln.PureDP(epsilon * (1 + 1e-12)).to_gaussian().mu) ** 2 > squared


# What is left


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sigma=st.floats(4.3, 1e6), sensitivity=st.floats(0.01, 1))
def test_what_remains_can_be_spent_as_printed(tmp_path: Path, sigma: float, sensitivity: float) -> None:
    for name, how in (("share", lambda left: {"share": left.share}), ("epsilon", _as_epsilon)):
        path = tmp_path / f"{name}{sigma!r}{sensitivity!r}"
        budget = ln.Budget.open(path, epsilon=1, delta=1e-6)
        ln.release(COUNTS, sensitivity=sensitivity, sigma=sigma, budget=budget)
        if budget.remaining.share > 0:
            spend(budget, **how(budget.remaining))
            assert budget.remaining.share < 1e-9


def _as_epsilon(left: Any) -> dict[str, float]:
    return {"epsilon": left.epsilon, "delta": 1e-6}


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


def test_a_preview_is_free_and_true(budget: ln.Budget) -> None:
    seen = budget.expect(share=0.25, sensitivity=2)
    assert (budget.history(), seen.fits, seen.share) == ([], True, 0.25)
    made = ln.release(COUNTS, sensitivity=2, budget=budget, share=0.25)
    assert made.sigma == seen.noise.scale
    assert budget.remaining == seen.remaining
    assert not budget.expect(share=0.76).fits
    assert "does not fit" in str(budget.expect(sigma=0.1))


def test_exhaustion_says_what_was_asked_what_is_left_and_what_fits(budget: ln.Budget) -> None:
    spend(budget, share=0.75)
    with pytest.raises(ln.BudgetExhausted, match=r"asks for 30 %.*has 25 %.*share=0\.25") as refused:
        spend(budget, share=0.3)
    assert refused.value.largest_share == 0.25
    spend(budget, share=refused.value.largest_share)


# Mechanisms and currencies


def test_auto_takes_gaussian_in_a_budget(budget: ln.Budget) -> None:
    made = ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, epsilon=0.5, delta=1e-6, budget=budget)
    assert made.mechanism == "gaussian"
    alone = ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, epsilon=0.5, delta=1e-6)
    assert alone.mechanism == "laplace"


def test_laplace_without_a_reserve_is_charged_as_mu(budget: ln.Budget) -> None:
    made = ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, epsilon=0.1, delta=0, budget=budget)
    assert made.mechanism == "laplace"
    expected = (ln.PureDP(0.1).to_gaussian().mu * ln.sigma(epsilon=1, delta=1e-6)) ** 2
    assert budget.history()[0].share == pytest.approx(expected, rel=1e-12)
    ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, share=0.5, mechanism="laplace", budget=budget)
    assert budget.history()[1].gaussian == Fraction(1, 2)


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


@pytest.mark.parametrize("zero", [0, 0.0, Fraction(0), Decimal(0), np.float32(0)])
def test_a_delta_of_0_is_0_however_it_is_written(tmp_path: Path, zero: Any) -> None:
    both = ln.Budget.open(tmp_path / "both", epsilon=1, delta=1e-6, pure_epsilon=0.5, threshold_delta=zero)
    made = ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, epsilon=0.25, delta=zero, budget=both)
    assert (made.mechanism, both.history()[0].pure) == ("laplace", Fraction(1, 2))
    ln.Budget.open(tmp_path / "pure", epsilon=1, delta=zero, pure_epsilon=1)
    assert ln.Budget.open(tmp_path / "pure", epsilon=1, delta=zero, pure_epsilon=1).terms.delta == 0


def test_the_old_names_say_the_new_ones(budget: ln.Budget) -> None:
    with pytest.raises(AttributeError, match="expect"):
        budget.preview(share=0.5)
    spend(budget, share=0.5)
    with pytest.raises(AttributeError, match="created_at"):
        _ = budget.history()[0].made


def test_a_budget_of_epsilon_0_is_gaussian(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=0, delta=1e-3)
    assert spend(budget, share=1).sigma == ln.sigma(epsilon=0, delta=1e-3)


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


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows", [(1, 1), (4, 2), (6, 6)])
def test_the_chance_that_a_lone_bin_shows_is_paid_for(rows: tuple[int, int], neighbours: Any) -> None:
    """Against a brute force over every way to spread one person's rows over bins of their own."""
    from scipy.stats import norm

    from leastnoise.privacy import partition_selection

    limits = Limits.of(max_rows=rows[0], max_per_bin=rows[1], bins=None)
    cut = partition_selection.within_chance(limits=limits, sigma=7.3, chance=1e-4, neighbours=neighbours)
    worst = {
        at_least: max(
            1 - np.prod([norm.cdf((at_least - 0.5 - c) / 7.3) for c in counts]) for counts in partitions(*rows)
        )
        * (2 if neighbours == "replace" else 1)
        for at_least in (cut.at_least, cut.at_least - 1)
    }
    assert worst[cut.at_least] <= 1e-4 < worst[cut.at_least - 1]
    shown = partition_selection.chance_shown(limits=limits, sigma=7.3, at_least=cut.at_least, neighbours=neighbours)
    assert shown == pytest.approx(worst[cut.at_least], rel=1e-9)


def partitions(total: int, largest: int) -> list[tuple[int, ...]]:
    """Every multiset of at most `total` rows, at most `largest` in a bin."""
    found: list[tuple[int, ...]] = [()]
    for part in range(1, min(total, largest) + 1):
        found += [(part, *rest) for rest in partitions(total - part, part)]
    return found


# Debit first


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


def test_a_share_needs_a_budget_and_a_budget_an_open_one() -> None:
    with pytest.raises(errors.MissingParameter, match="budget="):
        ln.release(COUNTS, sensitivity=1, share=0.5)
    with pytest.raises(errors.WrongType, match=r"Budget\.open"):
        ln.release(COUNTS, sensitivity=1, share=0.5, budget="city.ledger")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "How much of the budget"),
        (
            {"share": 0.1, "epsilon": 1, "delta": 1e-6},
            "A share already fixes the noise, so epsilon and delta cannot",
        ),
        ({"share": 0.1, "sigma": 3}, "A share already fixes the noise, so sigma cannot"),
        ({"sigma": 3, "epsilon": 1}, "sigma already fixes the noise"),
        ({"sigma": 3, "delta": 1e-6}, "sigma already fixes the noise"),
    ],
)
def test_a_request_says_in_one_way_how_private(budget: ln.Budget, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.InvalidParameter, match=words):
        PrivacyRequest(budget=budget, **asked)


def test_a_threshold_takes_gaussian_noise_and_a_delta() -> None:
    for other in ({"sigma": 3}, {"epsilon": 1, "delta": 0, "mechanism": "laplace"}):
        with pytest.raises(errors.InvalidParameter, match="leave mechanism and sigma out"):
            PrivacyRequest(**other).for_unknown_keys()  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidParameter, match="list the keys"):
        PrivacyRequest(epsilon=1, delta=0).for_unknown_keys()
    with pytest.raises(errors.MissingParameter, match="How private"):
        PrivacyRequest(epsilon=1).for_unknown_keys().promise()


# The budget


def test_history_tells_when_what_how_much_and_which_release(budget: ln.Budget) -> None:
    made = [spend(budget, share=0.1), spend(budget, sigma=100)]
    first, second = budget.history()
    assert (first.number, first.kind, first.release, first.gaussian) == (1, "release", made[0].id, Fraction(1, 10))
    assert first.query == "a vector of 3 values"
    assert "sigma 100" in second.noise
    assert first.created_at <= second.created_at
    assert made[0].id in str(first)
    assert "2 releases" in str(budget)


def void(budget: ln.Budget, receipt: charge.Receipt) -> None:
    """Give a debit back, by an entry that no release writes any more and an older ledger may have."""

    def make(db: sqlite3.Connection, head: ledger.Head, last: ledger.Row | None) -> ledger.Row:
        assert last is not None
        cost = next(row.cost for row, _ in ledger.Ledger(budget.path).rows(db) if row.release == receipt.id)
        back, made = privacy_filter.Cost() - cost, "2026-01-01T00:00:00+00:00"
        return ledger.Row(head.number + 1, made, "void", receipt.id, "unreachable", "", "", "", back, last.spent + back)

    ledger.Ledger(budget.path).append(make)


def test_a_void_is_read_and_verified_once(budget: ln.Budget) -> None:
    receipt = charge.decide(PrivacyRequest(budget=budget, share=0.6), bins=1, whole=True, sensitivity=1).pay(query="q")
    with pytest.raises(ln.BudgetExhausted):
        spend(budget, share=0.6)
    void(budget, receipt)
    assert budget.remaining.share == 1
    assert [entry.kind for entry in budget.history()] == ["release", "void"]
    assert budget.verify()
    assert "void" in str(budget)
    void(budget, receipt)
    with pytest.raises(errors.LedgerBroken, match="entry 3 "):
        budget.verify()


# Closed and reopened


def close(budget: ln.Budget) -> str:
    """As a release whose rows could not be read leaves it."""
    receipt = charge.decide(PrivacyRequest(budget=budget, share=0.1), bins=1, whole=True, sensitivity=1).pay(
        query="counts"
    )
    told = receipt.close(errors.ReadingFailed("the rows could not be read."))
    assert isinstance(told, errors.ReadingFailed)
    assert "reopen" in str(told)
    return receipt.id


def test_a_closed_budget_refuses_every_debit_until_it_is_reopened(budget: ln.Budget) -> None:
    assert not budget.closed
    with pytest.raises(errors.InvalidParameter, match="not closed"):
        budget.reopen(reason="for no reason")
    release = close(budget)
    other = ln.Budget.open(budget.path)
    assert budget.closed
    assert other.closed
    for how in ({"share": 0.1}, {"sigma": 100}, {"epsilon": 0.1, "delta": 1e-6}, {"share": 1}):
        with pytest.raises(errors.BudgetClosed) as refused:
            spend(other, **how)
    for words in (release, "rows could not be read", 'budget.reopen(reason="...")', "leastnoise budget reopen"):
        assert words in str(refused.value)
    assert "CLOSED" in str(budget)
    assert "closed" in repr(budget)
    other.reopen(reason=" the disk was full ")
    assert not budget.closed
    assert "CLOSED" not in str(budget)
    assert spend(budget, share=0.1).bins == 3
    kinds = [(entry.kind, entry.release == release, entry.share) for entry in budget.history()]
    assert kinds == [("release", True, 0.1), ("close", True, 0), ("reopen", True, 0), ("release", False, 0.1)]
    assert budget.history()[2].query == "the disk was full"
    assert "2 releases;" in str(budget)
    assert str(budget.history()[1]).endswith(f"close  {release}: rows could not be read")
    assert budget.verify()


def test_a_second_failure_closes_again_and_one_reopening_is_enough(budget: ln.Budget) -> None:
    waiting = charge.decide(PrivacyRequest(budget=budget, share=0.1), bins=1, whole=True, sensitivity=1)
    first, second = waiting.pay(query="a"), waiting.pay(query="b")
    third = waiting.pay(query="never begun")
    for receipt in (first, second):
        receipt.close(errors.ReadingFailed("x"))
    void(budget, third)
    assert budget.closed
    with pytest.raises(errors.BudgetClosed, match=second.id):
        spend(budget, share=0.1)
    assert budget.verify()
    budget.reopen(reason="mended")
    spend(budget, share=0.1)
    assert [entry.kind for entry in budget.history()][-4:] == ["close", "void", "reopen", "release"]
    assert budget.verify()


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "\x1b[2J", "\udcff", "x" * 501, None, 7])
def test_a_reason_is_one_line_of_words(budget: ln.Budget, reason: Any) -> None:
    close(budget)
    with pytest.raises(errors.InvalidParameter):
        budget.reopen(reason=reason)
    assert budget.closed


def test_a_closed_ledger_of_the_first_format_is_refused_by_its_library(budget: ln.Budget) -> None:
    """Which would not know the entry, and go on. Before it is closed it may still be used by both."""

    def version(new: int | None = None) -> int:
        db = sqlite3.connect(budget.path)
        with closing(db):
            if new is not None:
                db.execute(f"PRAGMA user_version = {new}")
            return int(db.execute("PRAGMA user_version").fetchone()[0])

    assert version() == ledger.FORMAT == 2
    version(1)
    old = ln.Budget.open(budget.path)
    spend(old, share=0.1)
    assert version() == 1
    close(old)
    assert version() == 2
    assert ln.Budget.open(budget.path).closed
    assert old.verify()


def test_a_ledger_that_cannot_be_written_does_not_hide_the_failure(
    budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = charge.decide(PrivacyRequest(budget=budget, share=0.1), bins=1, whole=True, sensitivity=1).pay(
        query="counts"
    )
    monkeypatch.setattr(ledger, "_connect", lambda *_: (_ for _ in ()).throw(sqlite3.OperationalError("secret")))
    told = receipt.close(errors.ReadingFailed("the rows could not be read."))
    assert isinstance(told, errors.ReadingFailed)
    assert "cannot be written" in str(told)
    assert "secret" not in str(told)
    assert told.__context__ is None


def test_an_existing_budget_needs_no_limits_and_refuses_others(tmp_path: Path) -> None:
    path = tmp_path / "b"
    ln.Budget.open(path, epsilon=3, delta=1e-6, threshold_delta=1e-7, unit="taxi", table="trips", neighbours="replace")
    ln.Budget.open(path)
    same = {"epsilon": 3.0, "delta": Decimal("1e-6"), "threshold_delta": 1e-7, "unit": "taxi", "table": "trips"}
    ln.Budget.open(path, **same)  # type: ignore[arg-type]
    for change in (
        {"epsilon": 4},
        {"delta": 1e-5},
        {"pure_epsilon": 1},
        {"threshold_delta": 0},
        {"threshold_delta": 2e-7},
        {"unit": "person"},
        {"table": "other"},
        {"neighbours": "add-remove"},
    ):
        with pytest.raises(errors.BudgetMismatch, match=next(iter(change))):
            ln.Budget.open(path, **(same | change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "limits",
    [
        {"epsilon": -1, "delta": 1e-6},
        {"epsilon": 1, "delta": 2},
        {"epsilon": 1},
        {"delta": 1e-6},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 0},
        {"epsilon": 1, "delta": 1e-6, "pure_epsilon": 2},
        {"epsilon": 1, "delta": 1e-6, "threshold_delta": 1e-6},
        {"epsilon": 1, "pure_epsilon": 1, "threshold_delta": 1e-7},
        {"epsilon": 1, "delta": 1e-6, "neighbours": "add"},
        {"epsilon": 1, "delta": 1e-6, "unit": 5},
    ],
)
def test_limits_that_make_no_budget_make_no_file(tmp_path: Path, limits: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidParameter):
        ln.Budget.open(tmp_path / "b", **limits)
    assert list(tmp_path.iterdir()) == []


def test_a_budget_is_about_one_unit_one_table_and_one_kind_of_neighbours(budget: ln.Budget) -> None:
    decided = charge.decide(PrivacyRequest(budget=budget, share=0.1), bins=1, whole=True, sensitivity=1)
    decided.pay(query="a", unit="taxi", table="trips")
    decided.pay(query="b")
    for other in ({"unit": "driver"}, {"table": "rides"}):
        with pytest.raises(errors.BudgetMismatch, match="adds up"):
            decided.pay(query="c", **other)
    with pytest.raises(errors.BudgetMismatch, match="neighbours"):
        spend(budget, share=0.1, neighbours="replace")
    assert len(budget.history()) == 2
    with pytest.raises(errors.BudgetMismatch, match="driver"):
        ln.Budget.open(budget.path, unit="driver")


def test_a_commit_is_as_durable_as_sqlite_can_make_it(budget: ln.Budget) -> None:
    db = ledger._connect(budget.path, "rw")
    ledger._make_durable(db)
    assert db.execute("PRAGMA synchronous").fetchone() == (3,)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    db.close()


def test_the_directory_is_synced_after_a_budget_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bool] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(handle).st_mode) and (tmp_path / "b").exists())
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)
    assert any(synced)
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


# The composed guarantee, by an accountant that shares no code with ours


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


# Any life of a budget


class Life(RuleBasedStateMachine):
    """Spends of every kind, refusals, crashes after the debit, voids and reopening, against sums of fractions."""

    @initialize()
    def begin(self) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "b"
        self.budget = ln.Budget.open(self.path, epsilon=1, delta=1e-6, pure_epsilon=0.25)
        self.gaussian, self.pure, self.entries = Fraction(0), Fraction(0), 0

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @rule(percent=st.integers(1, 60), laplace=st.booleans(), crash=st.booleans())
    def spend(self, percent: int, laplace: bool, crash: bool) -> None:
        def read(size: int) -> bytes:
            if crash:
                raise KeyboardInterrupt
            return os.urandom(size)

        cost = Fraction(percent, 100)
        fits = (self.pure if laplace else self.gaussian) + cost <= 1
        try:
            with entropy.source(read):
                ln.release(
                    COUNTS,
                    sensitivity=1,
                    l1_sensitivity=1,
                    budget=self.budget,
                    share=percent / 100,
                    mechanism="laplace" if laplace else "auto",
                )
        except KeyboardInterrupt:
            assert crash
            assert fits
        except ln.BudgetExhausted:
            assert not fits
        else:
            assert fits
            assert not crash
        if fits:
            self.pure, self.gaussian = (
                (self.pure + cost, self.gaussian) if laplace else (self.pure, self.gaussian + cost)
            )
            self.entries += 1

    @rule()
    def reopen(self) -> None:
        self.budget = ln.Budget.open(self.path)

    @precondition(lambda self: hasattr(self, "budget"))
    @invariant()
    def holds(self) -> None:
        entries = self.budget.history()
        assert len(entries) == self.entries
        assert (sum(e.gaussian for e in entries), sum(e.pure for e in entries)) == (self.gaussian, self.pure)
        assert self.budget.remaining.share == float(1 - self.gaussian)
        self.budget.verify()


Life.TestCase.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)
TestLife = Life.TestCase
