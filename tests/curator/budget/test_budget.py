"""The budget as laws: what is spent never passes what was promised, and the debit always comes first."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.noise import entropy
from spending import COUNTS, charge, close, spend


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
    waiting = charge(budget, share=0.1)
    first, second = waiting.pay(query="a"), waiting.pay(query="b")
    for receipt in (first, second):
        receipt.close(errors.ReadingFailed("x"))
    assert budget.closed
    with pytest.raises(errors.BudgetClosed, match=second.id):
        spend(budget, share=0.1)
    assert budget.verify()
    budget.reopen(reason="mended")
    spend(budget, share=0.1)
    assert [entry.kind for entry in budget.history()][-4:] == ["close", "close", "reopen", "release"]
    assert budget.verify()


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "\x1b[2J", "\udcff", "x" * 501, None, 7])
def test_a_reason_is_one_line_of_words(budget: ln.Budget, reason: Any) -> None:
    close(budget)
    with pytest.raises(errors.InvalidParameter):
        budget.reopen(reason=reason)
    assert budget.closed


def test_a_budget_is_about_one_unit_one_table_and_one_kind_of_neighbours(budget: ln.Budget) -> None:
    decided = charge(budget, share=0.1)
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


class Life(RuleBasedStateMachine):
    """Spends of every kind, refusals, crashes after the debit and reopening, against sums of fractions."""

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
