"""One account of a ledger, the budget itself or an allocation: what it has spent, and what may be written to it.

Every entry is made under the writer's lock, from what the ledger says at that moment.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from leastnoise import errors
from leastnoise.curator.budget.charge import Debit, check_same_labels
from leastnoise.curator.budget.history import Entry
from leastnoise.curator.budget.ledger import Ledger, Make, Reader
from leastnoise.curator.budget.state import Allocation, Row, State, written_details, written_time
from leastnoise.curator.budget.terms import Cost

_NOTHING = Cost()
CLOCK = timedelta(minutes=5)  # by which two clocks may differ


class Account:
    """The budget itself (""), or an allocation of it."""

    __slots__ = ("id", "ledger", "name", "terms", "whole")

    def __init__(self, ledger: Ledger, allocation: Allocation | None = None) -> None:
        self.ledger = ledger
        self.whole = ledger.state().terms
        self.id, self.name, self.terms = "", ledger.store.name, self.whole
        if allocation is not None:
            self.id, self.name, self.terms = allocation.id, allocation.name, self.whole.part_of(allocation.caps)

    # What the ledger says

    def state(self) -> State:
        """What the ledger says now, of the terms that this was opened with."""
        return self._same_terms(self.ledger.state())

    def spent(self) -> Cost:
        """What this account has spent."""
        return self.state().spent[self.id]

    def entries(self) -> list[Entry]:
        """The history: of the budget all of it, of an allocation its own, in parts of the allocation."""
        state, rows = self.ledger.checked()
        self._same_terms(state)
        if self.id:
            return [Entry.from_row(row, self.terms) for row in rows if row.account == self.id]
        names = {"": ""} | {each.id: each.name for each in state.allocations}
        return [Entry.from_row(row, self.terms, names[row.account]) for row in rows]

    def verify(self) -> str:
        """Check everything; the hash of the last entry."""
        ledger = self.ledger
        if not ledger.store.check_pages():
            raise ledger.broken("its pages do not fit together")
        state, _ = ledger.checked()
        if not state.terms.is_proved():
            raise ledger.broken("its limit is more than its terms allow")
        return state.head.hash

    # What is written

    def append(self, make: Make) -> State:
        """Write the entry that `make` returns; committed when this returns."""
        return self.ledger.append(lambda state, reader: make(self._same_terms(state), reader))

    def debit(self, debit: Debit) -> None:
        """Write one release."""
        self.append(partial(self._entry, debit))

    def check(self, debit: Debit) -> None:
        """Refuse the debit where `debit` would, by the ledger as it is now; nothing is written."""
        self.ledger.check(lambda state, reader: self._entry(debit, self._same_terms(state), reader))

    def _entry(self, debit: Debit, state: State, reader: Reader) -> Row:
        """The entry of one release, where it may follow the last one."""
        self.check_open(state, reader)
        check_same_labels(debit.unit, debit.table, {"unit": state.unit, "table": state.table}.get)
        debit.check(state.spent[self.id], self.terms, self.name)
        row = self.entry(
            state, reader, "release", debit.release, debit.query, debit.cost, self.id, note=debit.note, file=debit.file
        )
        return row._replace(noise=debit.noise, unit=debit.unit or "", table=debit.table or "")

    @staticmethod
    def entry(
        state: State,
        reader: Reader,
        kind: str,
        release: str,
        words: str,
        cost: Cost = _NOTHING,
        account: str = "",
        **facts: Any,
    ) -> Row:
        """The next entry: of the budget itself, where no other account is named. Who writes it, and when, the store
        says."""
        number, at = state.head.number + 1, written_time(reader.now)
        spent, details = state.spent[account] + cost, written_details({"who": reader.who} | facts)
        return Row(number, at, kind, release, words, "", "", "", cost, spent, account, details)

    def check_open(self, state: State, reader: Reader) -> None:
        """Refuse a debit whatever it costs: the ledger is closed or moved, its clock is wrong, the allocation ended."""
        if state.closing is not None:
            raise self._closed(state.closing)
        if state.moving is not None:
            raise errors.BudgetClosed(
                f"The budget {self.name!r} was moved to {state.moving.query}, and this ledger is sealed. Pay from that "
                "one."
            )
        if state.last is not None and reader.now < datetime.fromisoformat(state.last.created_at) - CLOCK:
            raise errors.BudgetClosed(
                f"The clock behind {self.ledger.store.location!r} says {reader.now:%Y-%m-%d %H:%M} UTC, which is "
                "before the last entry of the ledger. Nothing was debited and nothing released. Set the clock right; "
                "if that entry was dated wrongly, close and reopen the budget with that as the reason."
            )
        if self.id:
            self._check_allocation(state.allocation(self.id), reader)

    def _same_terms(self, state: State) -> State:
        if state.terms != self.whole:
            raise errors.BudgetMismatch(
                f"The budget {self.ledger.store.location!r} was reopened with other terms since it was opened here, by "
                "which noise and costs are others. Nothing was debited and nothing released. Open it again."
            )
        return state

    def how_to_reopen(self, closed: str) -> str:
        return (
            f"{closed}, so nothing more is released from it. Find out why the rows could not be read and mend it; then "
            f"{self.reopening}"
        )

    @property
    def reopening(self) -> str:
        """What to say or type, once its cause is mended."""
        store = self.ledger.store
        typed = f"'{store.location}'" if "://" in store.location else store.name
        return f'say budget.reopen(reason="...") or type: leastnoise budget reopen {typed} --reason "..."'

    def _closed(self, closing: Row) -> errors.BudgetClosed:
        when = datetime.fromisoformat(closing.created_at)
        what = f"The budget {self.name!r} was closed on {when:%Y-%m-%d %H:%M} UTC: {closing.query}"
        if closing.release:
            return errors.BudgetClosed(self.how_to_reopen(f"{what} (release {closing.release})"))
        return errors.BudgetClosed(f"{what}. Nothing is released from it until its owner reopens it.")

    def _check_allocation(self, allocation: Allocation, reader: Reader) -> None:
        if allocation.returned:
            raise errors.BudgetClosed(f"The allocation {self.name!r} was returned, so nothing can be paid from it.")
        if allocation.expires_at is not None and reader.now >= allocation.expires_at:
            raise errors.BudgetClosed(
                f"The allocation {self.name!r} expired on {allocation.expires_at:%Y-%m-%d %H:%M} UTC, so nothing can "
                "be paid from it. What it did not use can be returned."
            )
        if allocation.people and reader.who not in allocation.people:
            raise errors.LedgerForbidden(
                f"The allocation {self.name!r} is for {', '.join(allocation.people)}, and you are {reader.who}. "
                "Nothing was debited and nothing released."
            )
