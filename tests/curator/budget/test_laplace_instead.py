"""A budget that Laplace releases alone may spend instead: every adversary of a small game, and what users see of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import charge
from leastnoise.curator.budget.opening import AskedTerms
from leastnoise.curator.budget.privacy_filter import Cost, Terms
from leastnoise.curator.budget.promise import promised_instead, strength
from leastnoise.curator.budget.store import Snapshot
from leastnoise.curator.request import PrivacyRequest
from spending import COUNTS, budget_of_before, spend, void

EPSILON, DELTA = 1.0, 2.0**-10
Filter = Callable[[Cost, "Move"], bool]


@dataclass(frozen=True)
class Move:
    """A release with finitely many outcomes: their chances with a person and without, and what it costs."""

    name: str
    outcomes: tuple[tuple[float, float], ...]
    cost: Cost
    pure: bool


def terms_of(**limits: object) -> Terms:
    names = dict.fromkeys(AskedTerms.__slots__) | {"pure_epsilon": 0, "threshold_delta": 0}
    return AskedTerms(**(names | limits)).terms()  # type: ignore[arg-type]


@cache
def moves(terms: Terms) -> tuple[Move, ...]:
    """Randomised response, clamped discrete Laplace noise, and Gaussian noise of which three outcomes are told."""
    found = []
    for part in (0.25, 0.5, 1.0):
        epsilon = part * EPSILON
        yes = 1 / (1 + math.exp(-epsilon))
        answer = ((yes, 1 - yes), (1 - yes, yes))
        found.append(Move(f"response {part}", answer, terms.pure_cost(Fraction(epsilon)), pure=True))
        cost = terms.laplace_cost(l1_sensitivity=2, scale=2 / epsilon, l2_sensitivity=2, grid=1)
        found.append(Move(f"laplace {part}", clamped(epsilon / 2), cost, pure=True))
        mu = math.sqrt(part) * float(terms.mu)
        cuts = (EPSILON / mu + mu / 2, 0.3)  # the first is where the likelihood ratio is e^epsilon
        told = tuple(zip(cells(cuts, mu), cells(cuts, 0.0), strict=True))
        paid = terms.gaussian_cost(sensitivity=1, sigma=float(np.nextafter(1 / mu, 9)))
        found.append(Move(f"gaussian {part}", told, paid, pure=False))
    return tuple(found)


def clamped(step: float) -> tuple[tuple[float, float], ...]:
    """P[k] ~ e^(-step |k|) about 2 and about 0, clamped to 0 ... 2: post-processing."""
    p = math.exp(-step)

    def law(centre: int) -> list[float]:
        below, above = p**centre / (1 + p), p ** (2 - centre) / (1 + p)
        return [below, 1 - below - above, above]

    return tuple(zip(law(2), law(0), strict=True))


def cells(cuts: tuple[float, ...], centre: float) -> list[float]:
    edges = norm.sf([*cuts, -np.inf], centre)
    return list(np.diff(edges, prepend=0.0))


def lost(terms: Terms, allows: Filter, *, at: float, turns: int, first: str | None = None) -> float:
    """The most that any adaptive adversary gets of sum (P - e^at Q)^+, by backward induction over all of them."""

    def best(p: float, q: float, spent: Cost, left: int) -> float:
        stop = max(0.0, p - math.exp(at) * q)
        if not left:
            return stop
        tried = [move for move in moves(terms) if left < turns or first is None or move.name == first]
        return max(
            (stop, *(go(p, q, spent + move.cost, left, move) for move in tried if allows(spent, move))), default=stop
        )

    def go(p: float, q: float, spent: Cost, left: int, move: Move) -> float:
        return sum(best(p * here, q * there, spent, left - 1) for here, there in move.outcomes)

    return best(1.0, 1.0, Cost(), turns)


def by_the_filter(terms: Terms) -> Filter:
    return lambda spent, move: terms.allows(spent + move.cost)


def mixed(terms: Terms) -> Filter:
    """What must not be: each release by the rule of its own kind."""
    caps = terms.caps

    def allows(spent: Cost, move: Move) -> bool:
        pure = spent.pure % (caps.pure + 1)  # of the pure ones alone
        if move.pure:
            return pure + move.cost.pure <= caps.pure
        return spent.gaussian + move.cost.gaussian <= caps.gaussian

    return allows


def test_no_adaptive_adversary_passes_the_promise_and_it_is_reached() -> None:
    terms = terms_of(epsilon=EPSILON, delta=DELTA)
    found = lost(terms, by_the_filter(terms), at=EPSILON, turns=4)
    assert 0.999 * DELTA < found <= DELTA * (1 + 1e-12)


def test_mixing_both_rules_release_by_release_is_caught() -> None:
    terms = terms_of(epsilon=EPSILON, delta=DELTA)
    assert lost(terms, mixed(terms), at=EPSILON, turns=2) > 5 * DELTA


@pytest.mark.parametrize("at", [0.0, 0.25, 0.5, 1.0, 1.5])
def test_the_first_release_decides_what_is_promised(at: float) -> None:
    """A Gaussian one keeps everybody to mu, Laplace noise beyond the caps to epsilon with a delta of 0."""
    terms = terms_of(epsilon=EPSILON, delta=DELTA)
    allows, mu = by_the_filter(terms), float(terms.mu)
    by_mu = norm.sf(at / mu - mu / 2) - math.exp(at) * norm.sf(at / mu + mu / 2)
    by_epsilon = max(0.0, math.exp(EPSILON) - math.exp(at)) / (1 + math.exp(EPSILON))
    named = {move.name: move.cost for move in moves(terms)}
    assert promised_instead(terms, named["gaussian 0.25"]) is None
    assert lost(terms, allows, at=at, turns=3, first="gaussian 0.25") <= by_mu * (1 + 1e-12)
    assert promised_instead(terms, named["response 0.5"]) == ln.PureDP(EPSILON)
    assert lost(terms, allows, at=at, turns=3, first="response 0.5") <= by_epsilon + 1e-15
    assert promised_instead(terms, named["response 0.25"]) == ln.ApproxDP(EPSILON, DELTA)


def test_in_between_no_mu_is_promised() -> None:
    """Or it would be said of what is not so: a little Laplace noise, and then all of epsilon."""
    terms = terms_of(epsilon=EPSILON, delta=DELTA)
    mu = float(terms.mu)
    assert terms.keeps_caps(next(move.cost for move in moves(terms) if move.name == "response 0.25"))
    found = lost(terms, by_the_filter(terms), at=0.5, turns=4, first="response 0.25")
    assert found > norm.sf(0.5 / mu - mu / 2) - math.exp(0.5) * norm.sf(0.5 / mu + mu / 2)


def one_row(budget: ln.Budget, **how: object) -> ln.Release:
    return ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, budget=budget, **how)  # type: ignore[arg-type]


def test_all_of_a_budget_buys_the_noise_that_one_release_would_have(budget: ln.Budget) -> None:
    expected = budget.expect(l1_sensitivity=1, share=1, bins=3)
    made = one_row(budget, share=1)
    assert (made.mechanism, made.scale, round(made.std, 3)) == ("laplace", expected.noise.scale, 1.357)
    assert made.guarantee == ln.PureDP(1)
    assert "less than the 4.235 of Gaussian" in made.explain()
    assert budget.remaining == (0.0, 0.0, 0.0, 0.0, 0.0)
    assert "0 % left  epsilon 0" in str(budget)
    assert "every release is of Laplace noise" in str(budget)
    assert budget.verify()
    for how in ({"share": 0.1}, {"epsilon": 0.1, "delta": 0}, {"epsilon": 0.1, "delta": 1e-6}):
        with pytest.raises(ln.BudgetExhausted, match="Nothing more"):
            one_row(budget, **how)


def test_auto_gives_up_nothing_that_later_releases_could_have(budget: ln.Budget) -> None:
    assert one_row(budget, share=0.5).mechanism == "gaussian"
    assert one_row(budget, share=0.5).mechanism == "gaussian"


def test_after_laplace_noise_beyond_the_caps_only_laplace_noise_is_released(budget: ln.Budget) -> None:
    assert one_row(budget, share=0.5, mechanism="laplace").guarantee == ln.PureDP(0.5)
    assert budget.remaining == (0.5, 0.0, 0.5, 0.5, 0.0)
    with pytest.raises(ln.BudgetExhausted, match="only Laplace noise") as refused:
        spend(budget, share=0.25)
    assert refused.value.largest_share == 0
    assert one_row(budget, share=0.25).guarantee == ln.PureDP(0.25)
    assert one_row(budget, epsilon=0.125, delta=1e-7).guarantee == ln.PureDP(0.125)
    with pytest.raises(ln.BudgetExhausted, match=r"or 25 % of pure epsilon.*has .*12\.5 %") as refused:
        one_row(budget, epsilon=0.25, delta=0)
    assert one_row(budget, share=refused.value.largest_share).guarantee == ln.PureDP(0.125)
    assert budget.verify()


def test_a_little_laplace_noise_leaves_both_ways_open(budget: ln.Budget) -> None:
    one_row(budget, epsilon=0.05, delta=0)
    left = budget.remaining
    assert 0.9 < left.share < left.pure_epsilon == 0.95
    other = ln.Budget.open(budget.path)
    spend(other, share=left.share)
    assert budget.remaining.pure_epsilon == 0
    with pytest.raises(ln.BudgetExhausted):
        one_row(budget, epsilon=0.05, delta=0)
    assert budget.verify()


def test_what_is_left_for_laplace_noise_can_be_spent_as_printed(tmp_path: Path) -> None:
    for number, epsilon in enumerate((0.1, 0.3, 1 / 3, Fraction(5, 7), 2.7)):
        budget = ln.Budget.open(tmp_path / f"{number}", epsilon=epsilon, delta=1e-6)
        one_row(budget, epsilon=float(epsilon) / 7, delta=0)
        one_row(budget, epsilon=budget.remaining.pure_epsilon, delta=0)
        assert budget.remaining.pure_epsilon < 1e-15
        assert budget.verify()


def test_unknown_keys_are_not_pure(tmp_path: Path) -> None:
    from spending import spend_on_unknown_keys

    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, threshold_delta=5e-7)
    assert budget.remaining.pure_epsilon == 1
    spend_on_unknown_keys(budget, people=500, share=0.1, mechanism="laplace")
    assert budget.remaining.pure_epsilon == 0
    (entry,) = budget.history()
    assert (entry.gaussian, entry.pure, entry.threshold) == (Fraction(1, 10), 0, Fraction(1, 10))


def test_the_strength_is_that_of_what_is_promised(tmp_path: Path) -> None:
    terms = terms_of(epsilon=3, delta=1e-6)
    assert strength(terms, None).band == "moderate"
    assert strength(terms, terms.gaussian_share(Fraction(1, 2))).band == "moderate"
    for first in (terms.pure_cost(Fraction(3)), terms.pure_cost(Fraction(1, 100)), Cost()):
        assert strength(terms, first).band == "very weak"
    budget = ln.Budget.open(tmp_path / "b", epsilon=3, delta=1e-6)
    with pytest.warns(errors.WeakPromise, match="whole budget is very weak"):
        assert one_row(budget, share=1).strength.found > 0.9  # type: ignore[union-attr]


def test_a_faster_process_decides_what_is_promised(tmp_path: Path) -> None:
    """The release says what is true when its debit is on disk, not when it was decided."""
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)
    decided = charge.decide(PrivacyRequest(budget=budget, share=0.5), bins=1, integers=True, sensitivity=1)
    assert decided.strength.found < 0.09
    one_row(ln.Budget.open(budget.path), epsilon=0.05, delta=0)
    assert decided.pay(query="q").strength.found > 0.13


def test_where_a_release_was_given_back_no_mu_is_promised(budget: ln.Budget) -> None:
    """Nothing is seen of what was given back; so the order of the others, which decides, is not that of the file."""
    decided = charge.decide(PrivacyRequest(budget=budget, share=0.5), bins=1, integers=True, sensitivity=1)
    void(budget, decided.pay(query="q"))
    assert budget.remaining == (1.0, pytest.approx(0.2367, abs=1e-4), 1.0, 1.0, 0.0)
    assert spend(budget, share=0.5).strength.found == pytest.approx(0.136, abs=1e-3)  # type: ignore[union-attr]
    assert budget.verify()


def test_entries_are_looked_through_once_and_one_given_back_later_is_seen(
    budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, find = list[int](), Snapshot.with_kind

    def watched(state: Snapshot, kind: str, *, after: int = 0) -> list[int]:
        looked.append(after)
        return find(state, kind, after=after)

    monkeypatch.setattr(Snapshot, "with_kind", watched)
    for _ in range(3):
        spend(budget, share=0.1)
    assert looked == sorted(looked)
    assert looked[-1] == 2  # of the third release: what it finds before its own entry
    decided = charge.decide(PrivacyRequest(budget=budget, share=0.1), bins=1, integers=True, sensitivity=1)
    void(budget, decided.pay(query="q"))
    assert budget._account.read(budget._account.first_cost) == Cost()


def test_a_ledger_of_before_keeps_its_rules_and_its_promise(tmp_path: Path) -> None:
    old = budget_of_before(tmp_path / "b", epsilon=1, delta=1e-6)
    assert not old.terms.pure_instead
    assert one_row(old, share=0.5).mechanism == "gaussian"
    assert old.remaining.pure_epsilon == 0
    with pytest.raises(ln.BudgetExhausted, match="% of mu"):
        one_row(old, epsilon=0.5, delta=0)
    laplace = one_row(old, share=0.5, mechanism="laplace")
    assert laplace.guarantee.epsilon < 0.15  # type: ignore[union-attr]
    assert laplace.strength.found < 0.09  # type: ignore[union-attr]
    assert [entry.pure for entry in old.history()] == [0, 0]
    assert old.verify()
    assert "Laplace" not in str(old)


def test_a_reserve_is_a_division_made_beforehand(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, pure_epsilon=0.3)
    assert not budget.terms.pure_instead
    with pytest.raises(ln.BudgetExhausted, match="pure epsilon"):
        one_row(budget, epsilon=0.5, delta=0)


def test_the_picture_shows_the_limit_that_holds(budget: ln.Budget) -> None:
    one_row(budget, epsilon=0.05, delta=0)
    assert _drawn(budget) == {"Gaussian (mu²)", "Laplace (epsilon)"}
    other = ln.Budget.open(budget.path.with_name("other"), epsilon=1, delta=1e-6)
    one_row(other, share=1)
    assert _drawn(other) == {"Laplace (epsilon)"}
    spend(budget, share=0.5)
    assert _drawn(budget) == {"Gaussian (mu²)"}


def _drawn(budget: ln.Budget) -> set[str]:
    return set(budget.plot().get_legend_handles_labels()[1])


def test_the_shares_of_the_history_and_what_is_left_add_up_to_one(tmp_path: Path) -> None:
    """In mu^2 where a Gaussian release was made, which closes the other way to pay, and while both are open; in epsilon
    where Laplace releases have passed mu^2."""
    ways: dict[str, list[dict[str, Any]]] = {
        "both": [{"share": 0.05, "mechanism": "laplace"}, {"share": 0.2}, {"share": 0.7}],
        "open": [{"share": 0.05, "mechanism": "laplace"}],
        "laplace": [{"epsilon": 0.5, "delta": 0}, {"epsilon": 0.3, "delta": 0}],
    }
    for name, asked in ways.items():
        budget = ln.Budget.open(tmp_path / name, epsilon=1, delta=1e-6)
        expected = []
        for each in asked:
            expected.append(budget.expect(**each).share)
            one_row(budget, **each)
        shares = [entry.share for entry in budget.history()]
        assert sum(shares) + budget.remaining.share == pytest.approx(1, abs=1e-12)
        assert shares[1:] == expected[1:]  # the first may have come to count in the other
