"""A debit is an entry within every cap, or a refusal that says what fits."""

from __future__ import annotations

from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget.charge import Debit, check_same_labels, check_same_neighbours
from leastnoise.curator.budget.terms import Cost


@pytest.fixture
def budget(tmp_path: Path) -> ln.Budget:
    return ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)


def debit(cost: Cost) -> Debit:
    return Debit(cost=cost, release="id", query="q", noise="n", neighbours="add-remove", unit="taxi")


def test_what_is_left_can_be_spent_to_the_last_and_no_more(budget: ln.Budget) -> None:
    caps = budget.terms.caps
    before = Cost(gaussian=caps.gaussian - 7)
    debit(Cost(gaussian=7)).check(before, budget.terms, "city")
    for cost in (Cost(gaussian=8), Cost(gaussian=7, pure=1), Cost(gaussian=7, threshold=1)):
        with pytest.raises(errors.BudgetExhausted, match="budget 'city' has"):
            debit(cost).check(before, budget.terms, "city")


def test_a_refusal_names_the_largest_share_that_fits(budget: ln.Budget) -> None:
    caps = budget.terms.caps
    half, whole = (Cost(gaussian=part) for part in (caps.gaussian // 2, caps.gaussian))
    with pytest.raises(errors.BudgetExhausted) as caught:
        debit(whole).check(half, budget.terms, "city")
    assert caught.value.largest_share == 0.5
    with pytest.raises(errors.BudgetExhausted, match="Nothing more can be released"):
        debit(whole).check(whole, budget.terms, "city")


def test_other_people_and_other_neighbours_are_refused(budget: ln.Budget) -> None:
    check_same_neighbours("add-remove", budget.terms)
    check_same_labels("taxi", None, {"unit": "taxi", "table": "trips"}.get)
    check_same_labels("taxi", "trips", lambda _: None)
    with pytest.raises(errors.BudgetMismatch, match="about the unit 'rider'"):
        check_same_labels("taxi", None, {"unit": "rider"}.get)
    with pytest.raises(errors.BudgetMismatch, match="about the neighbours 'add-remove'"):
        check_same_neighbours("replace", budget.terms)
