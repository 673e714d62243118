"""Allocations: what is paid from them never passes the budget, wherever they are kept."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import sqlite_store
from leastnoise.curator.budget.budget import CLOCK
from leastnoise.curator.budget.state import Row
from leastnoise.curator.budget.terms import Cost
from ledger_faults import edit, forge, nothing_drawn
from spending import spend, spend_on_unknown_keys


def test_an_allocation_is_a_budget_of_its_own_in_the_same_ledger(budget: ln.Budget) -> None:
    spend(budget, share=0.1)
    part = budget.allocate("maps team", share=0.25, note="for the year")
    assert budget.remaining.share == 0.65
    assert part.remaining.share == 1
    half = spend(part, share="1/2", note="the first map")
    assert half.sigma == pytest.approx(ln.sigma(epsilon=1, delta=1e-6) / (0.125) ** 0.5)
    assert part.remaining.share == 0.5
    assert budget.remaining.share == 0.65
    with nothing_drawn(), pytest.raises(ln.BudgetExhausted, match="'maps team'"):
        spend(part, share=0.6)
    again = ln.Budget.open(budget.path, allocation="maps team")
    assert [entry.note for entry in again.history()] == ["the first map"]
    assert [(entry.kind, entry.allocation) for entry in budget.history()] == [
        ("release", ""),
        ("allocate", ""),
        ("release", "maps team"),
    ]
    (listed,) = budget.allocations
    assert (listed.name, listed.share, listed.spent_share, listed.returned) == ("maps team", Fraction(1, 4), 0.5, False)
    again.return_unused(note="not needed")
    assert budget.remaining.share == 0.775
    for closed in (part, again, budget.allocation("maps team")):
        with nothing_drawn(), pytest.raises(errors.BudgetClosed, match="was returned"):
            spend(closed, share=0.1)
    with pytest.raises(errors.InvalidParameter, match="returned already"):
        part.return_unused()
    assert "maps team" in str(budget)
    assert budget.verify() == part.verify()


def test_parts_of_parts_end_from_below(budget: ln.Budget) -> None:
    team = budget.allocate("team", share=0.5)
    ann = team.allocate("ann", share=0.5)
    assert [(each.name, each.parent != "") for each in budget.allocations] == [("team", False), ("ann", True)]
    assert [each.name for each in team.allocations] == ["ann"]
    spend(ann, share=0.5)
    with pytest.raises(errors.InvalidParameter, match="ann"):
        team.return_unused()
    ann.return_unused()
    assert team.remaining.share == 0.75
    team.return_unused()
    assert budget.remaining.share == 0.875
    with pytest.raises(errors.InvalidParameter, match="Only an allocation"):
        budget.return_unused()
    assert budget.verify()


@pytest.mark.parametrize("limits", [{}, {"pure_epsilon": 0.25, "threshold_delta": 5e-7}])
def test_an_allocation_has_its_part_of_every_cap(tmp_path: Path, limits: dict[str, Any]) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, unit="person", table="people", **limits)
    part = budget.allocate("half", share=0.5)
    if limits:
        ln.release([1, 2], sensitivity=1, l1_sensitivity=1, budget=part, share=1, mechanism="laplace")
        assert budget.history()[-1].pure == Fraction(1, 2)
        spend_on_unknown_keys(part, people=50, share=0.5)
        assert budget.history()[-1].threshold == Fraction(1, 4)
    else:
        made = ln.release([1, 2], sensitivity=1, l1_sensitivity=1, budget=part, share=1, mechanism="laplace")
        assert made.mechanism == "laplace"
        assert budget.history()[-1].gaussian <= Fraction(1, 2)
    with pytest.raises(ln.BudgetExhausted):
        ln.release([1, 2], sensitivity=1, l1_sensitivity=1, budget=part, share=1, mechanism="laplace")
    assert budget.verify()


def test_people_and_expiry_are_kept_to(budget: ln.Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "_user", lambda: "ann")
    part = budget.allocate("maps", share=0.1, people=["ann", "ben"], expires="2999-12-31")
    spend(part, share=0.1)
    monkeypatch.setattr(sqlite_store, "_user", lambda: "cid")
    with nothing_drawn(), pytest.raises(errors.LedgerForbidden, match="is for ann, ben, and you are cid"):
        spend(part, share=0.1)
    monkeypatch.setattr(sqlite_store, "_user", lambda: "ben")
    monkeypatch.setattr(sqlite_store, "_now", lambda: datetime(2999, 12, 31, 23, 59, tzinfo=UTC))
    spend(part, share=0.1)
    monkeypatch.setattr(sqlite_store, "_now", lambda: datetime(3000, 1, 1, tzinfo=UTC))
    with nothing_drawn(), pytest.raises(errors.BudgetClosed, match="expired"):
        spend(part, share=0.1)
    with pytest.raises(errors.BudgetClosed, match="expired"):
        part.allocate("more", share=0.5)
    part.return_unused()
    assert budget.remaining.share == pytest.approx(0.98)


def test_a_clock_that_is_behind_pays_nothing(budget: ln.Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    spend(budget, share=0.1)
    monkeypatch.setattr(sqlite_store, "_now", lambda: datetime.now(UTC) - CLOCK - timedelta(minutes=1))
    with nothing_drawn(), pytest.raises(errors.BudgetClosed, match="clock"):
        spend(budget, share=0.1)
    budget.close(reason="the last entry was dated wrongly")
    budget.reopen(reason="the clock is right now")
    spend(budget, share=0.1)
    assert budget.verify()


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""}, {"name": "two\nlines"}, {"name": 7}, {"name": "x" * 81}, {"name": "taken"}, {"share": 0},
        {"share": "a"}, {"share": 1.5}, {"people": [7]}, {"people": [""]}, {"expires": "yesterday"},
        {"expires": "2001-01-01"}, {"expires": 7}, {"note": "two\nlines"},
    ],
)  # fmt: skip
def test_what_is_no_allocation_debits_nothing(budget: ln.Budget, wrong: dict[str, Any]) -> None:
    budget.allocate("taken", share=0.1)
    asked: dict[str, Any] = {"name": "maps", "share": 0.1} | wrong
    with pytest.raises(errors.InvalidParameter):
        budget.allocate(asked.pop("name"), **asked)
    assert len(budget.history()) == 1
    with pytest.raises(ln.BudgetExhausted):
        budget.allocate("too much", share=0.95)
    with pytest.raises(errors.InvalidParameter, match="no allocation 'none'"):
        budget.allocation("none")


@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 3), st.sampled_from(["spend", "allocate", "return", "spend", "spend"]), st.integers(1, 60)
        ),
        max_size=14,
    )
)
def test_spending_in_allocations_never_passes_the_budget(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, int]]
) -> None:
    """Whatever is allocated, spent and returned in whatever order: all releases together are within the caps."""
    budget = ln.Budget.open(tmp_path_factory.mktemp("b") / "b", epsilon=1, delta=1e-6)
    parts = [budget]
    for which, what, percent in steps:
        part = parts[which % len(parts)]
        try:
            if what == "spend":
                spend(part, share=percent / 100)
            elif what == "allocate":
                parts.append(part.allocate(f"part {len(parts)}", share=percent / 100))
            else:
                part.return_unused()
        except (ln.BudgetExhausted, errors.BudgetClosed):
            pass
        except errors.InvalidParameter:
            assert what == "return"  # of the whole budget, or again
    used = sum(entry.gaussian for entry in budget.history() if entry.kind == "release")
    booked = sum(entry.gaussian for entry in budget.history() if not entry.allocation)
    assert 0 <= used <= booked <= 1
    assert budget.verify()


@pytest.mark.parametrize(
    ("kind", "release", "cost", "spent", "of"),
    [
        ("return", "PART", Cost(gaussian=-(10**29)), Cost(gaussian=10**29), ""),  # less than all that is unused
        ("return", "PART", Cost(gaussian=-3 * 10**29), Cost(gaussian=-(10**29)), ""),  # more than it is
        ("release", "new", Cost(gaussian=3 * 10**29), Cost(gaussian=3 * 10**29), "PART"),  # past its own cap
        ("release", "new", Cost(gaussian=1), Cost(gaussian=1), "nobody"),
        ("allocate", "PART", Cost(gaussian=1), Cost(gaussian=2 * 10**29 + 1), ""),  # a second one of that id
        ("arrive", "x", Cost(), Cost(gaussian=2 * 10**29), ""),  # of what was never moved
    ],
)
def test_wrong_entries_are_found_though_the_chain_holds(
    budget: ln.Budget, kind: str, release: str, cost: Cost, spent: Cost, of: str
) -> None:
    """Of a budget with a reserve for none: 20 % are allocated, and nothing is spent."""
    part = budget.allocate("part", share=0.2)._id
    names = {"PART": part}
    row = Row(2, "2026-01-01T00:00:00+00:00", kind, names.get(release, release), "q", "", "", "", cost, spent,
              names.get(of, of), "")  # fmt: skip
    with pytest.raises(errors.NotProved, match="Entry 2 may not follow"):
        budget._ledger.append(lambda state, reader: row)
    forge(budget.path, row)
    with pytest.raises(errors.LedgerBroken, match="entry 2 "):
        budget.verify()


def test_every_entry_says_who_and_why(budget: ln.Budget) -> None:
    spend(budget, share=0.1, note=" the weekly map ")
    entry = budget.history()[0]
    assert (entry.note, entry.who) == ("the weekly map", sqlite_store._user())
    assert str(entry).endswith("a vector of 3 values (the weekly map)")
    for note in ("two\nlines", 7, "x" * 501):
        with pytest.raises(errors.InvalidParameter, match="note"):
            spend(budget, share=0.1, note=note)
    with pytest.raises(errors.MissingParameter, match="note"):
        ln.release([1, 2], sensitivity=1, epsilon=1, delta=1e-6, note="nowhere to be kept")
    with closing(sqlite3.connect(budget.path)) as db:
        assert db.execute("SELECT count(*) FROM entries").fetchone() == (1,)


def test_the_least_share_is_of_the_whole_budget(tmp_path: Path) -> None:
    """Else parts of parts would let the rows be read any number of times."""
    kinds: list[dict[str, Any]] = [{"delta": 1e-6, "pure_epsilon": Fraction(1, 3)}, {"delta": 0}]
    for number, terms in enumerate(kinds):
        budget = ln.Budget.open(tmp_path / str(number), epsilon=Fraction(2, 3), **terms)
        part = budget.allocate("maps", share=1e-3)
        with nothing_drawn(), pytest.raises(errors.InvalidParameter, match="of the whole budget") as refused:
            spend(part, share=0.9e-3, l1_sensitivity=1)
        assert refused.value.parameter == "share"
        spend(part, share=1e-3, l1_sensitivity=1)
        spend(budget, share=1e-6, l1_sensitivity=1)
        budget.allocate("none", share=1e-6).return_unused()
        assert budget.verify()


@pytest.mark.parametrize(
    ("change", "number"),
    [("account = 'elsewhere' WHERE number = 3", 3), ("gaussian = '9' || gaussian WHERE number = 2", 2)],
)
def test_every_entry_of_every_account_is_checked_before_anything_is_paid(
    tmp_path: Path, change: str, number: int
) -> None:
    """One that made an allocation, and one of another account than is asked for; neither is the last."""
    path = tmp_path / "b.ledger"
    budget = ln.Budget.open(path, epsilon=1, delta=1e-6)
    spend(budget, share=0.25)
    part = budget.allocate("maps", share=0.25)
    spend(budget, share=0.125)
    spend(part, share=0.5)
    edit(path, f"UPDATE entries SET {change}")
    with pytest.raises(errors.LedgerBroken, match=f"entry {number} "):
        ln.Budget.open(path)


@pytest.mark.parametrize("reserve", [{}, {"pure_epsilon": 0.25}], ids=["no reserve", "reserve"])
def test_all_of_a_new_allocation_is_left_in_every_currency(tmp_path: Path, reserve: dict[str, float]) -> None:
    """What is left is told as a part of the allocation, not of the budget."""
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, threshold_delta=5e-7, **reserve)
    part = budget.allocate("maps", share=0.3)
    assert str(part).count("% left") == str(part).count("  100 % left") == 2 + len(reserve)
    spend_on_unknown_keys(part, people=500, share=0.5)
    assert [line.split(" % left")[0].split()[-1] for line in str(part).splitlines() if "(delta)" in line] == ["50"]
