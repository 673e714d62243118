"""What a ledger says: a fold over its entries.

`fold` is the one reading of a ledger. A state is what the entries so far say together. The next entry is refused unless
its number and hash continue the chain, its sums are those of its account, no cap is passed and its kind may stand
there; then it gives the next state. Whoever opens a ledger folds all of it; whoever has it open folds what came since.
The server's function (`postgres_schema.py`) judges a debit by the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from leastnoise.curator.budget.allocations import Allocation
from leastnoise.curator.budget.entry_row import COLUMNS, Head, Row, hash_of, root_hash
from leastnoise.curator.budget.terms import Cost, Terms

_NOTHING = Cost()


class WrongTerms(Exception):
    """The terms are not as anything here writes them."""


class WrongEntry(Exception):
    """An entry may not follow those before it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(slots=True)
class State:
    """What the entries up to `head` say together. A value: only `fold` makes one, from a copy."""

    terms: Terms  # those that hold now
    head: Head
    caps: dict[str, Cost]  # what each account may spend; "" is the budget itself
    last: Row | None = None
    spent: dict[str, Cost] = field(default_factory=lambda: {"": _NOTHING})
    parts: dict[str, Allocation] = field(default_factory=dict)  # by account, as they were made
    returned: set[str] = field(default_factory=set)
    releases: set[str] = field(default_factory=set)  # the ids of those that are paid for
    unit: str | None = None
    table: str | None = None
    paid: bool = False  # something was, or is allocated, so that the terms are settled
    closing: Row | None = None  # the entry that closed the budget, while it is closed
    moving: Row | None = None  # the entry that says where the ledger was moved to, while it has not arrived

    @classmethod
    def begun(cls, texts: dict[str, str]) -> State:
        """The state of a ledger with these terms and no entry."""
        try:
            terms = Terms.from_texts(texts)
            head = Head(0, root_hash(texts))
        except (KeyError, ValueError, TypeError, AttributeError, ZeroDivisionError):
            raise WrongTerms from None
        return cls(terms, head, {"": terms.caps}, unit=terms.unit, table=terms.table)

    @property
    def allocations(self) -> list[Allocation]:
        """In the order in which they were made."""
        return [self.allocation(name) for name in self.parts]

    def allocation(self, account: str) -> Allocation:
        """The allocation that is this account, as it is now."""
        return replace(self.parts[account], spent=self.spent[account], returned=account in self.returned)

    def open_parts(self, account: str) -> list[str]:
        """The names of the allocations of an account that are not returned."""
        return [part.name for name, part in self.parts.items() if part.parent == account and name not in self.returned]

    def _copied(self) -> State:
        return replace(
            self,
            caps=dict(self.caps),
            spent=dict(self.spent),
            parts=dict(self.parts),
            returned=set(self.returned),
            releases=set(self.releases),
        )

    def _add(self, stored: Sequence[Any]) -> bool:
        """Whether the entry may follow; then it is one of those that this state is of."""
        number, fields = self.head.number + 1, stored[: len(COLUMNS)]
        row = Row.from_fields(fields)
        if row.number != number or hash_of(self.head.hash, fields) != stored[-1]:
            return False
        account, before = row.account, self.spent.get(row.account)
        if before is None or account in self.returned or (self.moving is not None and row.kind != "arrive"):
            return False
        after = before + row.cost
        if row.spent != after or not after.within(self.caps[account]) or not self._allows(row):
            return False
        self.spent[account] = after
        self.unit, self.table = self.unit or row.unit or None, self.table or row.table or None
        self.head, self.last = Head(number, stored[-1]), row
        return True

    def _allows(self, row: Row) -> bool:
        """Whether an entry of its kind may stand here; what it says, but for its sums, is then said."""
        if row.kind in ("release", "allocate"):
            self.paid = True
            return self.closing is None and min(row.cost) >= 0 and self._debits(row)
        if row.kind == "return":
            return self._returns(row)
        return row.cost == _NOTHING and self._says(row)

    def _debits(self, row: Row) -> bool:
        """A release, or an allocation, that is not there yet."""
        if row.kind == "release":
            new = row.release not in self.releases
            self.releases.add(row.release)
            return new
        new = bool(row.release) and row.release not in self.spent
        self.parts[row.release] = Allocation.made_by(row, self.caps[row.account])
        self.caps[row.release], self.spent[row.release] = row.cost, _NOTHING
        return new

    def _says(self, row: Row) -> bool:
        """What costs nothing."""
        match row.kind:
            case "close":
                self.closing = row
                return not row.release or row.release in self.releases
            case "reopen":
                closing, self.closing = self.closing, None
                return closing is not None and row.release == closing.release
            case "move":
                self.moving = row
                return bool(row.release)
            case "arrive":
                moving, self.moving = self.moving, None
                return moving is not None and row.release == moving.release
            case "terms":
                return self.closing is None and not self.paid and not row.account and self._changes_terms(row)
        return False

    def _returns(self, row: Row) -> bool:
        """All that an allocation did not use goes back to what it is a part of, once."""
        part = self.parts.get(row.release)
        if part is None or part.parent != row.account or row.release in self.returned or self.open_parts(row.release):
            return False
        self.returned.add(row.release)
        return _NOTHING - row.cost == self.caps[row.release] - self.spent[row.release]

    def _changes_terms(self, row: Row) -> bool:
        """Other terms of the same budget, before anything is paid: nobody has relied on those before."""
        before = self.terms
        try:
            self.terms = Terms.from_texts(row.facts["terms"])
        except (KeyError, ValueError, TypeError, AttributeError, ZeroDivisionError):
            return False
        self.caps[""] = self.terms.caps
        return self.terms.may_follow(before) and self.terms.is_proved()


def fold(state: State, entries: Iterable[Sequence[Any]]) -> State:
    """The state after these entries too: of each the fields in the order of COLUMNS, and its hash, as they are written.

    WrongEntry where one may not follow; `state` itself stays as it is.
    """
    after = state
    for stored in entries:
        after = state._copied() if after is state else after
        try:
            allowed = after._add(stored)
        except (TypeError, ValueError):  # not as anything here writes an entry
            allowed = False
        if not allowed:
            raise WrongEntry(after.head.number + 1)
    return after
