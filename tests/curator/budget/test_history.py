"""The history of a budget: every entry, also those that give a debit back."""

from __future__ import annotations

from fractions import Fraction

import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import charge
from leastnoise.curator.request import PrivacyRequest
from spending import spend, void


def test_history_tells_when_what_how_much_and_which_release(budget: ln.Budget) -> None:
    made = [spend(budget, share=0.1), spend(budget, sigma=100)]
    first, second = budget.history()
    assert (first.number, first.kind, first.release, first.gaussian) == (1, "release", made[0].id, Fraction(1, 10))
    assert first.query == "a vector of 3 values"
    assert "sigma 100" in second.noise
    assert first.created_at <= second.created_at
    assert made[0].id in str(first)
    assert "2 releases" in str(budget)


def test_a_void_is_read_and_verified_once(budget: ln.Budget) -> None:
    receipt = charge.decide(PrivacyRequest(budget=budget, share=0.6), bins=1, integers=True, sensitivity=1).pay(
        query="q"
    )
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
