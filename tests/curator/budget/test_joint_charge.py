"""What is expected, compared and debited is one thing, for every kind of question; and sets pay for their own noise."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.gaussian_price import geometric_mu, pure_epsilon_within
from leastnoise.workload import Workload
from queries_of_every_kind import KINDS, QUERIES, WARDS

FRAME = pd.DataFrame({"person": [1, 2], "ward": ["north", "east"], "age": [30, 40], "cost": [9.0, 8.0]})
SETS = ["crosstabs", "summary"]


def query_of(kind: str, **limits: int) -> Any:
    table = ln.table(FRAME, unit="person", name="people")
    keys = {"ward": WARDS, "age": range(100)}
    if kind == "crosstabs":
        return table.crosstabs("ward", ("ward", "age"), keys=keys, **({"max_rows": 3} | limits))
    if kind == "summary":
        statistics = {"rows": ln.stats.count(), "mean": ln.stats.mean("age", clip=(0, 99))}
        return table.summarize("ward", keys=WARDS, **statistics, **({"max_rows": 3} | limits))
    return QUERIES[kind](table)


SHARE: dict[str, Any] = {"mechanism": "auto", "share": 0.25}
LAPLACE: dict[str, Any] = {"mechanism": "laplace", "epsilon": 0.02, "delta": 0}
ASKED = [*((kind, SHARE) for kind in [*KINDS, *SETS]), *((kind, LAPLACE) for kind in ["histogram", "mean", *SETS])]


@pytest.mark.parametrize(("kind", "how"), ASKED)
def test_what_is_expected_of_a_budget_is_what_is_drawn_and_debited(
    kind: str, how: dict[str, Any], tmp_path: Path
) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, threshold_delta=5e-7)
    query = query_of(kind)
    expected = query.expect(budget=budget, **how)
    decided = query.decide(PrivacyRequest(budget=budget, **how)).charge
    made = query.release(budget=budget, **how)
    assert budget._spent() == decided.cost
    assert made.mechanism == expected.mechanism
    if kind in SETS:
        assert dict(made.scales) == dict(decided.plan.scales)
    else:
        assert getattr(made, "noise", made).std == expected.std
    (entry,) = budget.history()
    assert entry.pure == 0
    worst = ln.PureDP(0.02).to_gaussian().mu ** 2
    assert entry.share == 0.25 if how is SHARE else 0 < float(entry.gaussian * budget.terms.mu**2) <= worst
    assert budget.verify()


@pytest.mark.parametrize("kind", SETS)
def test_all_of_a_budget_with_a_delta_of_zero_buys_a_set_the_noise_of_one_release(kind: str, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=0)
    query = query_of(kind, max_rows=1)
    alone = query.release(epsilon=1, delta=0)
    made = query.release(budget=budget, share=1)
    assert alone.mechanism == made.mechanism == "laplace"
    assert dict(made.scales) == pytest.approx(dict(alone.scales), rel=1e-12)
    assert budget.history()[0].pure == 1


@pytest.mark.parametrize("kind", SETS)
def test_sets_pay_for_their_own_noise(kind: str, tmp_path: Path) -> None:
    """Beside a Gaussian release, so that Laplace noise is paid from mu^2: less than epsilon-DP at its worst costs."""
    budget = ln.Budget.open(tmp_path / "b", epsilon=3, delta=1e-6)
    query_of("count").release(budget=budget, share=0.01)
    query_of(kind).release(budget=budget, epsilon=0.1, delta=0)
    worst = ln.PureDP(0.1).to_gaussian().mu ** 2
    assert 0 < float(budget.history()[1].gaussian * budget.terms.mu**2) < 0.75 * worst
    bought = query_of(kind).release(budget=budget, mechanism="laplace", share=0.5)
    assert budget.history()[2].gaussian == Fraction(1, 2)
    assert bought.guarantee.epsilon > 1.1 * pure_epsilon_within(budget.terms.mu**2 / 2)


@cache
def mu_squared(steps: int, scale: float) -> Fraction:
    return Fraction(geometric_mu(Fraction(steps) / Fraction(scale), steps)) ** 2


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows", [1, 2])
def test_no_unit_moves_tables_by_more_than_their_price(neighbours: Any, rows: int) -> None:
    """Every way to put rows of one unit (and of another in its place) into two small tables and their total."""
    sizes = {"a": 2, "b": 3}
    scales: dict[tuple[str, ...], float] = {(): 4.0, ("a",): 2.5, ("a", "b"): 7.0}
    cells = list(itertools.product(range(2), range(3)))
    worst = Fraction(0)
    units = [unit for n in range(rows + 1) for unit in itertools.combinations_with_replacement(cells, n)]
    for one, other in itertools.product(units, units if neighbours == "replace" else [()]):
        total = Fraction(0)
        for table, scale in scales.items():
            shape = tuple(sizes[column] for column in table)
            moved = np.zeros(shape, dtype=int)
            for sign, unit in ((1, one), (-1, other)):
                for a, b in unit:
                    moved[tuple({"a": a, "b": b}[column] for column in table)] += sign
            steps = [int(abs(move)) for move in moved.ravel() if move]
            total += sum(mu_squared(s, scale) for s in steps)
        worst = max(worst, total)
    price = Workload(sizes, ways=2).unit_cost(rows, neighbours).laplace_mu_squared(scales)
    assert worst <= price
    if neighbours == "add-remove":
        assert price < float(worst) * (1 + 1e-9)
    epsilon = float(Workload(sizes, ways=2).unit_cost(rows, neighbours).epsilon(scales))
    assert price < ln.PureDP(epsilon).to_gaussian().mu ** 2
