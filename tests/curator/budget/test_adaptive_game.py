"""What adds up in a budget: every adversary of a small game, who chooses each release after seeing those before."""

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
from leastnoise.curator.budget.opening import AskedTerms
from leastnoise.curator.budget.terms import Cost, Terms
from leastnoise.privacy.gaussian_price import laplace_mu_squared
from spending import COUNTS, spend, spend_on_unknown_keys

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
        found.append(Move(f"response {part}", answer(epsilon), terms.pure_cost(Fraction(epsilon)), pure=True))
        scale = Fraction(2 / epsilon)
        cost = terms.pure_cost(2 / scale, laplace_mu_squared(l1=Fraction(2), l2=Fraction(2), scale=scale))
        found.append(Move(f"laplace {part}", clamped(epsilon / 2), cost, pure=True))
        mu = math.sqrt(part) * float(terms.mu)
        cuts = (EPSILON / mu + mu / 2, 0.3)  # the first is where the likelihood ratio is e^epsilon
        told = tuple(zip(cells(cuts, mu), cells(cuts, 0.0), strict=True))
        paid = terms.mu_squared_cost(1 / Fraction(float(np.nextafter(1 / mu, 9))) ** 2)
        found.append(Move(f"gaussian {part}", told, paid, pure=False))
    return tuple(found)


def answer(epsilon: float) -> tuple[tuple[float, float], ...]:
    """Randomised response."""
    yes = 1 / (1 + math.exp(-epsilon))
    return ((yes, 1 - yes), (1 - yes, yes))


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


def lost(terms: Terms, allows: Filter, *, at: float, turns: int) -> float:
    """The most that any adaptive adversary gets of sum (P - e^at Q)^+, by backward induction over all of them."""

    def best(p: float, q: float, spent: Cost, left: int) -> float:
        stop = max(0.0, p - math.exp(at) * q)
        if not left:
            return stop
        return max(
            stop, *(go(p, q, spent + move.cost, left, move) for move in moves(terms) if allows(spent, move)), 0.0
        )

    def go(p: float, q: float, spent: Cost, left: int, move: Move) -> float:
        return sum(best(p * here, q * there, spent, left - 1) for here, there in move.outcomes)

    return best(1.0, 1.0, Cost(), turns)


def by_the_filter(terms: Terms) -> Filter:
    return lambda spent, move: terms.allows(spent + move.cost)


def each_alone(terms: Terms) -> Filter:
    """What must not be: Laplace noise that keeps to the caps by itself, whatever was spent before."""
    return lambda spent, move: terms.allows(move.cost if move.pure else spent + move.cost)


def test_no_adaptive_adversary_passes_the_promise_and_it_is_reached() -> None:
    terms = terms_of(epsilon=EPSILON, delta=DELTA)
    found = lost(terms, by_the_filter(terms), at=EPSILON, turns=4)
    assert 0.999 * DELTA < found <= DELTA * (1 + 1e-12)


def test_laplace_noise_that_does_not_add_up_is_caught() -> None:
    terms = terms_of(epsilon=EPSILON, delta=DELTA)
    assert lost(terms, each_alone(terms), at=EPSILON, turns=4) > 2 * DELTA


@pytest.mark.parametrize("at", [0.0, 0.25, 0.5, 1.0, 1.5])
def test_all_of_it_is_held_to_mu(at: float) -> None:
    """Also at every other epsilon, since each kind of noise pays for what it tells at its worst."""
    terms = terms_of(epsilon=EPSILON, delta=DELTA)
    mu = float(terms.mu)
    by_mu = norm.sf(at / mu - mu / 2) - math.exp(at) * norm.sf(at / mu + mu / 2)
    assert lost(terms, by_the_filter(terms), at=at, turns=4) <= by_mu * (1 + 1e-12)


def test_epsilon_adds_up_where_delta_is_zero() -> None:
    terms = terms_of(epsilon=EPSILON, delta=0)
    halves = [Move("response 0.5", answer(0.5), terms.pure_cost(Fraction(1, 2)), pure=True)] * 2
    assert terms.allows(halves[0].cost + halves[1].cost)
    assert not terms.allows(halves[0].cost + halves[1].cost + Cost(pure=1))


def one_row(budget: ln.Budget, **how: object) -> ln.Release:
    return ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, budget=budget, **how)  # type: ignore[arg-type]


def test_a_budget_with_a_delta_adds_up_mu_squared_whatever_the_noise(budget: ln.Budget) -> None:
    one_row(budget, epsilon=0.05, delta=0)
    (entry,) = budget.history()
    assert 0 < entry.gaussian < Fraction(1, 10)
    assert entry.pure == 0
    for how in ({"epsilon": 1, "delta": 0}, {"epsilon": 0.5, "delta": 0}):
        with pytest.raises(ln.BudgetExhausted, match="% of mu"):
            one_row(budget, **how)
    spend(budget, share=budget.remaining.share)
    assert budget.remaining.share < 1e-15
    assert budget.remaining.pure_epsilon == 0
    assert budget.verify()


def test_what_is_left_for_laplace_noise_can_be_spent_as_printed(tmp_path: Path) -> None:
    for number, epsilon in enumerate((0.1, 0.3, 1 / 3, Fraction(5, 7), 2.7)):
        budget = ln.Budget.open(tmp_path / f"{number}", epsilon=epsilon, delta=0)
        one_row(budget, epsilon=float(epsilon) / 7, delta=0)
        one_row(budget, epsilon=budget.remaining.pure_epsilon, delta=0)
        assert budget.remaining.pure_epsilon < 1e-15
        assert budget.verify()


def test_laplace_noise_of_unknown_keys_pays_mu_squared_and_the_chance(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, threshold_delta=5e-7)
    spend_on_unknown_keys(budget, people=500, share=0.1, mechanism="laplace")
    (entry,) = budget.history()
    assert (entry.gaussian, entry.pure, entry.threshold) == (Fraction(1, 10), 0, Fraction(1, 10))


def test_a_reserve_is_a_division_made_beforehand(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, pure_epsilon=0.3)
    with pytest.raises(ln.BudgetExhausted, match="pure epsilon"):
        one_row(budget, epsilon=0.5, delta=0)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_shares_of_the_history_and_what_is_left_add_up_to_one(tmp_path: Path, delta: float) -> None:
    """In mu^2 with a delta, in epsilon without."""
    asked: list[dict[str, Any]] = [{"share": 0.05, "mechanism": "laplace"}, {"share": 0.2}, {"share": 0.7}]
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=delta)
    expected = []
    for each in asked:
        expected.append(budget.expect(l1_sensitivity=1, **each).share)
        one_row(budget, **each)
    shares = [entry.share for entry in budget.history()]
    assert sum(shares) + budget.remaining.share == pytest.approx(1, abs=1e-12)
    assert shares == expected
