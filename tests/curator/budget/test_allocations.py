"""Allocations: what is paid from them never passes the budget, wherever they are kept."""

from __future__ import annotations

import shutil
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
from leastnoise.curator.budget import account, sqlite_store
from leastnoise.curator.budget.entry_row import Row
from leastnoise.curator.budget.privacy_filter import Cost
from ledger_faults import edit, nothing_drawn
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
    else:  # what Laplace releases alone could have spent is gone with the first allocation
        assert budget.remaining.pure_epsilon == 0
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
    monkeypatch.setattr(sqlite_store, "_now", lambda: datetime.now(UTC) - account.CLOCK - timedelta(minutes=1))
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
        ("reconcile", "PART", Cost(), Cost(gaussian=2 * 10**29), ""),  # of one that has no file
        ("arrive", "x", Cost(), Cost(gaussian=2 * 10**29), ""),  # of what was never moved
    ],
)
def test_wrong_entries_are_found_though_the_chain_holds(
    budget: ln.Budget, kind: str, release: str, cost: Cost, spent: Cost, of: str
) -> None:
    """Of a budget with a reserve for none: 20 % are allocated, and nothing is spent."""
    part = budget.allocate("part", share=0.2)._account.id
    names = {"PART": part}
    before = budget._spent()
    cost, spent = (Cost(each.gaussian, before.pure if i and not of else 0) for i, each in enumerate((cost, spent)))
    row = Row(2, "2026-01-01T00:00:00+00:00", kind, names.get(release, release), "q", "", "", "", cost, spent,
              names.get(of, of), "")  # fmt: skip
    budget._account.ledger.append(lambda state, head, last: row)
    with pytest.raises(errors.LedgerBroken, match="entry 2 "):
        budget.verify()


def test_a_file_of_its_own_appears_after_its_debit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6, unit="taxi")
    office = tmp_path / "office.ledger"

    def crash(*_: Any) -> None:
        assert budget.history()[-1].kind == "allocate"
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.link", crash)
        with pytest.raises(KeyboardInterrupt):
            budget.allocate("lost", share=0.1, path=office)
    assert not office.exists()
    part = budget.allocate("office", share="1/5", path=office)
    assert budget.remaining.share == 0.7
    assert (part.unit, part.remaining.share, part.terms.mu) == ("taxi", 1, budget.terms.mu)
    spend(part, share=0.25)
    for what in (budget.allocation("office").return_unused, lambda: spend(budget.allocation("office"), share=0.1)):
        with pytest.raises((errors.BudgetMismatch, errors.BudgetClosed), match="file of its own"):
            what()
    with pytest.raises(errors.BadOutput):
        budget.allocate("again", share=0.1, path=office)
    assert budget.remaining.share == 0.7
    edit(office, "UPDATE terms SET value = '900000000000000000000000000000 0 0' WHERE name = 'part'")
    with pytest.raises(errors.LedgerBroken):
        ln.Budget.open(office).verify()
    assert budget.verify()


def test_two_copies_that_both_spent_are_found(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)
    office, copy = tmp_path / "office.ledger", tmp_path / "copy.ledger"
    part = budget.allocate("office", share=0.2, path=office)
    spend(part, share=0.25)
    (first,) = budget.reconcile(office)
    assert (first.allocation, first.entries, first.spent, first.left) == ("office", 1, 0.25, 0.75)
    shutil.copy(office, copy)
    spend(part, share=0.25)
    budget.reconcile(office, copy)  # an older copy that nobody spent from
    assert not budget.closed
    spend(ln.Budget.open(copy), share=0.5)
    with pytest.raises(errors.LedgerBroken, match="Two copies"):
        budget.reconcile(copy)
    assert budget.closed
    with nothing_drawn(), pytest.raises(errors.BudgetClosed, match="two copies"):
        spend(budget, share=0.1)
    budget.reopen(reason="the copy was destroyed")
    with pytest.raises(errors.LedgerBroken, match="Two copies"):
        budget.reconcile(office, copy)
    other = ln.Budget.open(tmp_path / "other.ledger", epsilon=1, delta=1e-6)
    budget.reopen(reason="once more")
    with pytest.raises(errors.BudgetMismatch, match="not the file of an allocation"):
        budget.reconcile(other.path)
    with pytest.raises(errors.MissingParameter):
        budget.reconcile()
    assert budget.verify()


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


def test_a_damaged_index_hides_no_entry(tmp_path: Path) -> None:
    """No hash covers an index: where it leads to no entry of an account, that has not spent nothing."""
    path = tmp_path / "b.ledger"
    spend(ln.Budget.open(path, epsilon=1, delta=1e-6), share=0.5)
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'entries_by_account'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    content = bytearray(path.read_bytes())
    cells = (page - 1) * size + 3  # of the page: how many
    assert content[cells : cells + 2] == b"\0\1"
    content[cells : cells + 2] = b"\0\0"
    path.write_bytes(content)
    damaged = ln.Budget.open(path)
    with pytest.raises(errors.LedgerBroken, match="index"):
        _ = damaged.remaining
    with pytest.raises(errors.LedgerBroken, match="index"):
        spend(damaged, share=0.5)


def changed(path: Path, change: str) -> ln.Budget:
    """With an allocation, and one entry that is not the last as somebody changed it."""
    budget = ln.Budget.open(path, epsilon=1, delta=1e-6)
    spend(budget, share=0.25)
    part = budget.allocate("maps", share=0.25)
    spend(budget, share=0.125)
    spend(part, share=0.5)
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TRIGGER entries_stay")
        db.execute(f"UPDATE entries SET {change}")
        db.commit()
    return ln.Budget.open(path)


def test_every_entry_since_the_last_of_an_account_is_checked(tmp_path: Path) -> None:
    budget = changed(tmp_path / "b.ledger", "account = 'elsewhere' WHERE number = 3")
    with nothing_drawn(), pytest.raises(errors.LedgerBroken, match="entry 3"):
        spend(budget, share=0.5)


def test_the_entry_that_made_an_allocation_is_checked(tmp_path: Path) -> None:
    budget = changed(tmp_path / "b.ledger", "gaussian = '9' || gaussian WHERE number = 2")
    with nothing_drawn(), pytest.raises(errors.LedgerBroken, match="entry 2"):
        spend(budget.allocation("maps"), share=0.5)


@pytest.mark.parametrize("reserve", [{}, {"pure_epsilon": 0.25}], ids=["no reserve", "reserve"])
def test_all_of_a_new_allocation_is_left_in_every_currency(tmp_path: Path, reserve: dict[str, float]) -> None:
    """What is left is told as a part of the allocation, not of the budget."""
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, threshold_delta=5e-7, **reserve)
    part = budget.allocate("maps", share=0.3)
    assert str(part).count("% left") == str(part).count("  100 % left") == 2 + len(reserve)
    spend_on_unknown_keys(part, people=500, share=0.5)
    assert [line.split(" % left")[0].split()[-1] for line in str(part).splitlines() if "(delta)" in line] == ["50"]
