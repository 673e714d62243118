"""The ledger: a chain of hashes over everything written, wherever it is kept.

The table `head` repeats the last number and hash, so that cutting off the tail shows too. The first link and the last
are checked at every look, so that edited terms and an edited end stop every release; what lies between is for `verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from leastnoise import errors
from leastnoise.curator.budget.entry_row import COLUMNS, Head, Row, root_hash
from leastnoise.curator.budget.store import Conflict, Snapshot, Store

MAX_CONFLICTS = 20  # with other writers, after each of which a server takes all back
Make = Callable[[Snapshot, Head, Row | None], Row]


class Ledger:
    """A ledger that exists."""

    def __init__(self, store: Store) -> None:
        self.store = store
        with store.reading() as state:
            self.terms = self.read_terms(state)
            self.root = root_hash(self.terms)
            changes = state.with_kind("terms")
            self._change = self.entry(state, changes[-1]) if changes else None
            self._looked = state.last_number() or 0  # up to this entry no later one changes the terms

    @property
    def current_terms(self) -> dict[str, str]:
        """Those that it was begun with, or that its last entry about terms says (`opening.revised`)."""
        if self._change is None:
            return self.terms
        changed = self._change.facts.get("terms")
        return dict(changed) if isinstance(changed, dict) else {}

    def read_terms(self, state: Snapshot) -> dict[str, str]:
        """What the ledger was begun with."""
        terms = dict(state.terms())
        if not all(isinstance(word, str) for pair in terms.items() for word in pair):
            raise self.broken("its terms are not as they were written")
        return terms

    def head(self, state: Snapshot) -> tuple[Head, Row | None]:
        """The last number and hash, and the entry they belong to."""
        if self.read_terms(state) != self.terms:
            raise self.replaced()
        stored = state.heads()
        if len(stored) != 1 or state.last_number() != (stored[0][0] or None):
            raise self.broken("its end was cut off or added to by hand")
        head = Head(*stored[0])
        if state.with_kind("terms", after=self._looked):
            raise errors.BudgetMismatch(
                f"The budget {self.store.location!r} was reopened with other terms since it was opened here, by which "
                "noise and costs are others. Nothing was debited and nothing released. Open it again."
            )
        self._looked = head.number
        if head.number == 0:
            if head.hash != self.root:
                raise self.broken("its terms are not as they were written")
            return head, None
        self._check_link(state, 1)
        last, written = self._check_link(state, head.number)
        if written != head.hash:
            raise self.broken(f"entry {head.number} is not as it was written")
        return head, last

    def entry(self, state: Snapshot, number: int) -> Row:
        """Entry `number`, whose hash follows from its fields and the hash before it."""
        return self._check_link(state, number)[0]

    def _check_link(self, state: Snapshot, number: int) -> tuple[Row, str]:
        found = {row.number: (row, written) for row, written in self.rows(state, since=number - 1, until=number)}
        row, written = found.get(number, (None, ""))
        previous = self.root if number == 1 else found.get(number - 1, (None, ""))[1]
        if row is None or row.hash_after(previous) != written:
            raise self.broken(f"entry {number} is not as it was written, or what is before it")
        return row, written

    def rows(self, state: Snapshot, *, since: int = 1, until: int = 2**62) -> Iterator[tuple[Row, str]]:
        """The entries with these numbers, each with the hash that is written beside it."""
        for values in state.rows(since=since, until=until):
            try:
                yield Row.from_fields(values[: len(COLUMNS)]), values[-1]
            except (TypeError, ValueError):
                raise self.broken(f"entry {values[0]} is not as it was written") from None

    def chained(self, state: Snapshot, after: int = 0) -> Iterator[Row]:
        """The entries after this number up to the end, each as it was written: an index, which no hash covers, may lead
        past them."""
        number, previous = after, state.hash_of(after) if after else self.root
        for row, written in self.rows(state, since=after + 1):
            number += 1
            if row.number != number or row.hash_after(previous or "") != written:
                raise self.broken(f"entry {number} is not as it was written, or what is before it")
            previous = written
            yield row
        if state.heads() != [(number, previous)]:
            raise self.broken("its end was cut off or added to by hand")

    def append(self, make: Make) -> tuple[Row, Head]:
        """Write the entry that `make` returns for the present end of the ledger; durable when this returns.

        Nobody else writes between what `make` saw and the commit. Whatever it raises leaves the ledger as it was.
        """
        for _ in range(MAX_CONFLICTS):
            with suppress(Conflict):
                return self._append(make)
        return self._append(make)

    def _append(self, make: Make) -> tuple[Row, Head]:
        with self.store.writing() as draft:
            head, last = self.head(draft.snapshot)
            row = make(draft.snapshot, head, last)
            check_text(row)
            new = Head(row.number, row.hash_after(head.hash))
            draft.append(row.to_fields(), new)
        return row, new

    def replaced(self) -> errors.LedgerBroken:
        return self.broken("another copy took its place since it was opened")

    def broken(self, what: str) -> errors.LedgerBroken:
        return errors.LedgerBroken(
            f"The ledger {self.store.location!r} cannot be trusted: {what}. Nothing more is released against it, "
            "because nobody can say what was spent. Find out what happened; restore a copy only if no release was made "
            "since."
        )


def check_text(row: Row) -> None:
    """Refuse what a ledger cannot keep: names of tables and units, and questions, may have any characters."""
    for words in row.to_fields():
        if isinstance(words, str) and ("\0" in words or any("\ud800" <= sign <= "\udfff" for sign in words)):
            raise errors.InvalidParameter(
                f"No ledger can keep {words!r}: it has a character 0, or half of one that is written in two. Nothing "
                "was debited and nothing released. Give the table, its unit and its columns other names."
            )
