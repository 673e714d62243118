"""What is left of a budget, and what a release would take of it, can be spent as printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import leastnoise as ln
from spending import COUNTS, spend


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
