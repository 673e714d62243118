"""One account of a ledger, the budget itself or an allocation: what it has spent, and what may be written to it.

Every entry is made under the writer's lock, from what the ledger says at that moment; a ledger that has gone back
behind what this object saw before is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from leastnoise import errors
from leastnoise.curator.budget.allocation import Allocation
from leastnoise.curator.budget.debit import Debit, check_same_labels
from leastnoise.curator.budget.entry_row import Head, Row, written_details
from leastnoise.curator.budget.history import Entry, EntryOrder
from leastnoise.curator.budget.ledger import Ledger, check_text
from leastnoise.curator.budget.privacy_filter import Cost, Terms
from leastnoise.curator.budget.store import Snapshot

CLOCK = timedelta(minutes=5)  # by which two clocks may differ


class Account:
    """The budget itself (no allocation), or an allocation of it."""

    __slots__ = ("_no_void", "_seen", "allocation", "ledger", "terms", "whole")

    def __init__(self, ledger: Ledger, allocation: Allocation | None = None) -> None:
        self.ledger = ledger
        self.allocation = allocation
        try:
            self.whole = Terms.from_texts(ledger.current_terms)
        except (KeyError, ValueError, TypeError, AttributeError, ZeroDivisionError):
            raise ledger.broken("its terms are not as they were written") from None
        self.terms = self.whole if allocation is None else self.whole.part_of(allocation.caps)
        self._seen = Head(0, ledger.root)
        self._no_void = 0  # up to this entry none gave a debit back: entries do not change, so that is looked up once

    @property
    def id(self) -> str:
        return "" if self.allocation is None else self.allocation.id

    @property
    def name(self) -> str:
        return self.ledger.store.name if self.allocation is None else self.allocation.name

    # What the ledger says

    def read(self, of: Callable[[Snapshot], Any]) -> Any:
        """What this function makes of the present state of the ledger."""
        with self.ledger.store.reading() as state:
            self._seen = self._advance(state, self.ledger.head(state)[0])
            return of(state)

    def spent(self, state: Snapshot, account: str | None = None) -> Cost:
        """What an account has spent: by default this one."""
        name = self.id if account is None else account
        number = state.last_of_account(name)
        last = None if number is None else self.ledger.entry(state, number)
        later = any(row.account == name for row in self.ledger.chained(state, number or 0))
        if later or (last is not None and last.account != name):
            raise self.ledger.broken("its index does not lead to its entries")
        return Cost() if last is None else last.spent

    def label(self, name: str, state: Snapshot) -> str | None:
        """The unit or table of the budget: as opened, or as the first release that named one."""
        own: str | None = getattr(self.whole, name)
        return own if own is not None else state.first_label(name)

    def closing(self, state: Snapshot) -> Row | None:
        """The entry that closed the ledger, while it is closed."""
        number = state.last_that_may_close()
        row = None if number is None else self.ledger.entry(state, number)
        return row if row is not None and row.kind == "close" else None

    def first_cost(self, state: Snapshot) -> Cost | None:
        """What the first debit of the ledger costs, before which nothing was seen; None: there is none yet.

        Where a release was given back, nothing is known of the order of the others: no cost at all stands for that.
        """
        if state.with_kind("void", after=self._no_void):
            return Cost()
        self._no_void = state.last_number() or 0
        number = state.first_debit()
        return None if number is None else self.ledger.entry(state, number).cost

    def allocations(self, state: Snapshot) -> list[Allocation]:
        """All of the ledger, in the order in which they were made."""
        return Allocation.from_rows(self.ledger.chained(state), self.whole)

    def entries(self, state: Snapshot) -> list[Entry]:
        """The history: of the budget all of it, of an allocation its own, in parts of the allocation."""
        rows = [row for row, _ in self.ledger.rows(state)]
        names = {row.release: row.query for row in rows if row.kind == "allocate"}
        named = [(row, names.get(row.account, "")) for row in rows]
        if self.allocation is not None:
            named = [(row, "") for row in rows if row.account == self.id]
        counted = self.terms.counts_epsilon(self.spent(state))
        return [Entry.from_row(row, self.terms, name, of_epsilon=counted) for row, name in named]

    def verify(self) -> str:
        """Check everything; the hash of the last entry."""
        ledger = self.ledger
        if not ledger.store.check_pages():
            raise ledger.broken("its pages do not fit together")
        with ledger.store.reading() as state:
            head, _ = ledger.head(state)
            self._seen = self._advance(state, head)
            if not self.whole.is_proved():
                raise ledger.broken("its limit is more than its terms allow")
            previous, order = ledger.root, EntryOrder(Terms.from_texts(ledger.terms))
            for number, (row, stored) in enumerate(ledger.rows(state), start=1):
                previous = row.hash_after(previous)
                if row.number != number or stored != previous or not order.accepts(row):
                    raise ledger.broken(f"entry {number} is not as it was written")
            if previous != head.hash:
                raise ledger.broken("its end was cut off or added to by hand")
        return head.hash

    # What is written

    def append(self, make: Callable[[Snapshot, Head, Row | None], Row]) -> Row:
        """Write the entry that `make` returns; committed when this returns."""

        def checked(state: Snapshot, head: Head, last: Row | None) -> Row:
            self._advance(state, head)
            return make(state, head, last)

        row, self._seen = self.ledger.append(checked)
        return row

    def debit(self, debit: Debit) -> Cost:
        """Write one release; what the first one cost, which decides what is promised."""
        first = debit.cost

        def make(state: Snapshot, head: Head, last: Row | None) -> Row:
            nonlocal first
            first = debit.cost if (known := self.first_cost(state)) is None else known
            return self._entry(debit, state, head, last)

        self.append(make)
        return first

    def check(self, debit: Debit) -> None:
        """Refuse the debit where `debit` would, by the ledger as it is now; nothing is written."""
        self.ledger.store.check_writable()
        self.read(lambda state: check_text(self._entry(debit, state, *self.ledger.head(state))))

    def _entry(self, debit: Debit, state: Snapshot, head: Head, last: Row | None) -> Row:
        """The entry of one release, where it may follow the last one."""
        self.check_open(state, last)
        check_same_labels(debit.unit, debit.table, lambda name: self.label(name, state))
        number, at, before = head.number + 1, written_time(state.now), self.spent(state)
        return debit.entry(number, at, before, self.terms, self.name, account=self.id, who=state.who)

    def neutral(self, state: Snapshot, head: Head, kind: str, release: str, words: str, **facts: Any) -> Row:
        """An entry of the budget itself that costs nothing."""
        details, at = written_details({"who": state.who} | facts), written_time(state.now)
        spent = self.spent(state, "")
        return Row(head.number + 1, at, kind, release, words, "", "", "", Cost(), spent, "", details)

    def check_open(self, state: Snapshot, last: Row | None) -> None:
        """Refuse a debit whatever it costs: the ledger is closed or moved, its clock is wrong, the allocation ended."""
        closing = self.closing(state)
        if closing is not None:
            raise self._closed(closing)
        if last is not None and last.kind == "move":
            raise errors.BudgetClosed(
                f"The budget {self.name!r} was moved to {last.query}, and this ledger is sealed. Pay from that one."
            )
        if last is not None and state.now < datetime.fromisoformat(last.created_at) - CLOCK:
            raise errors.BudgetClosed(
                f"The clock behind {self.ledger.store.location!r} says {state.now:%Y-%m-%d %H:%M} UTC, which is before "
                "the last entry of the ledger. Nothing was debited and nothing released. Set the clock right; if that "
                "entry was dated wrongly, close and reopen the budget with that as the reason."
            )
        if self.allocation is not None:
            self._check_allocation(self.allocation, state)

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

    def _check_allocation(self, allocation: Allocation, state: Snapshot) -> None:
        """Its own entry is as it was when this object was made: entries do not change."""
        returned = any(self.ledger.entry(state, number).release == self.id for number in state.with_kind("return"))
        if returned or allocation.own_file:
            why = "was returned" if returned else "is spent from in a file of its own"
            raise errors.BudgetClosed(f"The allocation {self.name!r} {why}, so nothing can be paid from it here.")
        if allocation.expires_at is not None and state.now >= allocation.expires_at:
            raise errors.BudgetClosed(
                f"The allocation {self.name!r} expired on {allocation.expires_at:%Y-%m-%d %H:%M} UTC, so nothing can "
                "be paid from it. What it did not use can be returned."
            )
        if allocation.people and state.who not in allocation.people:
            raise errors.LedgerForbidden(
                f"The allocation {self.name!r} is for {', '.join(allocation.people)}, and you are {state.who}. Nothing "
                "was debited and nothing released."
            )

    def _advance(self, state: Snapshot, head: Head) -> Head:
        """Refuse a ledger that has gone back behind what this object saw: an old copy, or another budget."""
        here = self.ledger.root if self._seen.number == 0 else state.hash_of(self._seen.number)
        if here != self._seen.hash:
            raise self.ledger.replaced()
        return head


def written_time(now: datetime) -> str:
    """A moment in UTC, as entries have it."""
    return now.isoformat(timespec="milliseconds")
