"""The history of a budget: every entry."""

from __future__ import annotations

from fractions import Fraction

import leastnoise as ln
from spending import spend


def test_history_tells_when_what_how_much_and_which_release(budget: ln.Budget) -> None:
    made = [spend(budget, share=0.1), spend(budget, sigma=100)]
    first, second = budget.history()
    assert (first.number, first.kind, first.release, first.gaussian) == (1, "release", made[0].id, Fraction(1, 10))
    assert first.query == "a vector of 3 values"
    assert "sigma 100" in second.noise
    assert first.created_at <= second.created_at
    assert made[0].id in str(first)
    assert "2 releases" in str(budget)
