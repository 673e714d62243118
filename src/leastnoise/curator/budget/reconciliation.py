"""Files of allocations that come back: what each has spent, and whether two copies of one both did.

The chain of a file begins with the hash of its terms, which the allocation's entry here knows; so a file is known to be
that allocation's, and two copies that were both spent from have different entries of the same number. How far a file
had come when it was shown is written down here, so that a copy that is shown later is compared with it. A copy that
nobody ever shows is never found.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from leastnoise import errors
from leastnoise.curator.budget.account import Account
from leastnoise.curator.budget.allocation import Allocation
from leastnoise.curator.budget.entry_row import Head, Row
from leastnoise.curator.budget.store import Snapshot

if TYPE_CHECKING:
    from leastnoise.curator.budget.budget import Budget


@dataclass(frozen=True, slots=True)
class Reconciled:
    """One file: which allocation's, how many entries it has, and the share of the allocation that it has spent."""

    path: str
    allocation: str
    entries: int
    spent: float
    left: float


@dataclass(frozen=True, slots=True)
class _Shown:
    """How far a file had come: the number and hash of its last entry, and the hash of each."""

    facts: Reconciled
    allocation: Allocation
    hashes: tuple[str, ...]

    @property
    def head(self) -> Head:
        return Head(len(self.hashes), self.hashes[-1] if self.hashes else self.allocation.root)


def reconcile(budget: Budget, paths: Sequence[str | os.PathLike[str]]) -> list[Reconciled]:
    """See `Budget.reconcile`."""
    from leastnoise.curator.budget.budget import Budget

    if not paths:
        raise errors.MissingParameter("Which files of allocations are to be looked at?", parameter="paths")
    account = budget._account
    found = account.read(account.allocations)
    shown = [_look(Budget.open(path), found, account) for path in paths]
    for each in shown:
        before: list[Head] = account.read(partial(_heads, account, each.allocation))
        others = [(other.head, other.facts.path) for other in shown if other.allocation == each.allocation]
        for head, where in [*((head, "shown before") for head in before), *others]:
            if _differs(each, head):
                _close(account, each, where)
        if each.head not in before:
            account.append(partial(_entry, account, each))
    return [each.facts for each in shown]


def _look(file: Budget, allocations: list[Allocation], account: Account) -> _Shown:
    """The file, checked whole, and the allocation that it is the file of."""
    file.verify()
    ledger = file._account.ledger
    mine = next((each for each in allocations if each.own_file and each.root == ledger.root), None)
    if mine is None:
        raise errors.BudgetMismatch(f"{file.location!r} is not the file of an allocation of {account.name!r}.")
    hashes = file._account.read(lambda state: tuple(written for _, written in ledger.rows(state)))
    all_of_it = file._spent()
    spent = float(file.terms.share(all_of_it, all_of_it))
    return _Shown(Reconciled(file.location, mine.name, len(hashes), spent, file.remaining.share), mine, hashes)


def _entry(account: Account, shown: _Shown, state: Snapshot, head: Head, last: Row | None) -> Row:
    """That the file was shown, and how far it had come."""
    number, written = shown.head
    mine = shown.allocation
    return account.neutral(state, head, "reconcile", mine.id, mine.name, number=number, hash=written)


def _heads(account: Account, allocation: Allocation, state: Snapshot) -> list[Head]:
    """How far the file had come whenever it was shown."""
    rows: list[Row] = [account.ledger.entry(state, number) for number in state.with_kind("reconcile")]
    facts = [row.facts for row in rows if row.release == allocation.id]
    return [Head(each.get("number", 0), each["hash"]) for each in facts]


def _differs(shown: _Shown, other: Head) -> bool:
    """Whether the entry that the other one ended with is another in this file (one that is not there tells nothing)."""
    if other.number == 0 or other.number > len(shown.hashes):
        return False
    return shown.hashes[other.number - 1] != other.hash


def _close(account: Account, shown: _Shown, where: str) -> None:
    name = shown.allocation.name
    reason = f"two copies of the file of the allocation {name} were both spent from"

    def make(state: Snapshot, head: Head, last: Row | None) -> Row:
        return account.neutral(state, head, "close", "", reason)

    if account.read(account.closing) is None:
        account.append(make)
    other = "one that was shown before" if where == "shown before" else repr(where)
    raise errors.LedgerBroken(
        f"Two copies of the file of the allocation {name!r} were both spent from: {shown.facts.path!r} and {other} "
        f"have different entries of the same number. Together they may have told more than the budget {account.name!r} "
        "promises. It is closed now; reopen it with the reason when you know what happened."
    )
