"""Shares as people write them: a fraction is that fraction, and as many fit as should."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import terms
from leastnoise.curator.budget.terms import share_of, spendable
from spending import charge


@pytest.mark.parametrize("whole", [3, 7, 52, 365])
@pytest.mark.parametrize("written", ["double", "fraction", "text"])
def test_as_many_as_should_fit_do_and_no_more(tmp_path: Path, whole: int, written: str) -> None:
    share: Any = {"double": 1 / whole, "fraction": Fraction(1, whole), "text": f"1/{whole}"}[written]
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)
    cost = budget.terms.gaussian_share(share_of(share))
    caps = budget.terms.caps.gaussian
    assert whole * cost.gaussian <= caps < whole * cost.gaussian + whole
    assert (whole + 1) * cost.gaussian > caps


def test_fifty_two_weeks_fit_and_the_next_is_refused_readably(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)
    decided = charge(budget, share=1 / 52)
    for _ in range(52):
        decided.pay(query="a week")
    with pytest.raises(ln.BudgetExhausted, match="has 0 % of mu"):
        decided.pay(query="one too many")
    assert "0 % left" in str(budget)
    assert budget.verify()


@given(below=st.integers(2, terms.MAX_DENOMINATOR), data=st.data())
def test_a_double_of_a_simple_fraction_is_that_fraction(below: int, data: st.DataObject) -> None:
    share = Fraction(data.draw(st.integers(1, below)), below)
    assert terms.exact_share(float(share)) == share
    assert terms.exact_share(np.float64(float(share))) == share
    assert terms.exact_share(str(share)) == share


@given(st.decimals(Decimal("1e-6"), 1, places=9))
def test_a_decimal_is_what_was_typed(typed: Decimal) -> None:
    assert terms.exact_share(float(typed)) == Fraction(str(float(typed))) == Fraction(typed)
    assert terms.exact_share(str(typed)) == Fraction(typed)


@given(st.floats(1e-6, 1))
def test_no_double_is_taken_for_more_than_its_neighbour(share: float) -> None:
    """What is taken is nearer to the double than the next one is, whatever it is."""
    assert float(terms.exact_share(share)) == share


@given(st.fractions(Fraction(1, 10**6), 1, max_denominator=10**9))
def test_what_is_left_can_be_spent_as_it_is_printed(left: Fraction) -> None:
    assert terms.exact_share(spendable(left)) <= left


@pytest.mark.parametrize("share", ["", "a", "1/0", "1/2/3", "nan", "1e999999999", "1/", "/2", "0x1", None, True, [1]])
def test_what_is_no_share_is_refused(share: Any) -> None:
    with pytest.raises(errors.InvalidParameter):
        terms.exact_share(share)
