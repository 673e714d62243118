"""The ledger: what its entries say, wherever they are kept, and the one way to add one.

Opening it reads and checks every entry. Each later look checks that the last entry it saw is still there as it was, and
every one since; the table `head` repeats the last number and hash, so that cutting off the tail shows too.
An older copy of all of it, put in its place while nobody has it open, is a sound ledger: where its users must not be
able to do that, keep it on a server.

It is kept in a file (`sqlite_store.py`) or on a server (`postgres_store.py`). A store begins a transaction, reads,
appends one entry, and commits; it decides nothing. What the entries say, and which may follow, is one code over both
(`state.py`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from leastnoise import errors
from leastnoise.curator.budget.state import (
    COLUMNS,
    Head,
    Row,
    State,
    WrongEntry,
    WrongTerms,
    fold,
    written_details,
    written_time,
)
from leastnoise.curator.budget.terms import NO_COST, Cost, Terms, can_be_kept

Query = Callable[[str, Sequence[Any]], Iterable[tuple[Any, ...]]]
LISTED = ", ".join(f'"{name}"' for name in (*COLUMNS, "hash"))


@dataclass(frozen=True, slots=True)
class Reader:
    """One state of what is kept, inside a transaction."""

    query: Query  # SQL with a ? for each value
    who: str  # is at the other end: a user of this machine, a role of the server
    now: datetime  # by the clock of whatever keeps the ledger, in UTC

    def terms(self) -> list[tuple[Any, ...]]:
        return list(self.query("SELECT name, value FROM terms", []))

    def heads(self) -> list[tuple[Any, ...]]:
        """One, in a sound ledger."""
        return list(self.query("SELECT number, hash FROM head", []))

    def last_number(self) -> int:
        """That of the last entry; 0 where there is none."""
        ((number,),) = self.query("SELECT coalesce(max(number), 0) FROM entries", [])
        return int(number)

    def entries(self, since: int = 1) -> Iterable[tuple[Any, ...]]:
        """The fields of the entries from this number on, each with the hash that is written beside it."""
        return self.query(f"SELECT {LISTED} FROM entries WHERE number >= ? ORDER BY number", [since])


class Conflict(errors.LedgerBusy):
    """Another writer came between, and all of this transaction was taken back: it may be tried again."""


class Writer(Protocol):
    """A transaction that writes: what it saw is still true when its entry is committed."""

    @property
    def reader(self) -> Reader: ...

    def append(self, fields: Sequence[Any], head: Head) -> None:
        """Add one entry, whose fields are those of COLUMNS, and make it the head."""


class Store(Protocol):
    """Where one ledger is kept, if it `exists`. `name` and `location` are for people: neither has a password in it."""

    @property
    def name(self) -> str: ...

    @property
    def location(self) -> str: ...

    def exists(self) -> bool:
        """Whether there is something, a ledger or not."""

    def create(self, terms: Terms) -> None:
        """A new ledger, whole or not at all; FileExistsError if somebody was faster."""

    def check_format(self) -> None:
        """Refuse what is not there, not ours, or of a newer version."""

    def reading(self) -> AbstractContextManager[Reader]:
        """One state of the ledger."""

    def writing(self) -> AbstractContextManager[Writer]:
        """The only writer: committed, and durable, when the block ends; whatever it raises leaves all as it was."""

    def check_writable(self) -> None:
        """Refuse a ledger that this user cannot write to. Nothing is written."""

    def check_pages(self) -> bool:
        """Whether what keeps the ledger finds its own pages sound."""


MAX_CONFLICTS = 20  # with other writers, after each of which a server takes all back
Make = Callable[[State, Reader], Row]


def first_terms(terms: Terms) -> dict[str, str]:
    """What a new ledger begins with: its own number too, so that entries of another one, even with the same limits, do
    not continue this chain."""
    made = datetime.now(UTC).isoformat(timespec="seconds")
    return {"id": secrets.token_hex(8), "made": made} | terms.to_texts()


def next_entry(
    state: State,
    reader: Reader,
    kind: str,
    release: str,
    words: str,
    cost: Cost = NO_COST,
    account: str = "",
    **facts: Any,
) -> Row:
    """The next entry, of the budget itself where no other account is named. The store says who writes it, and when."""
    number, at = state.head.number + 1, written_time(reader.now)
    spent, details = state.spent[account] + cost, written_details({"who": reader.who} | facts)
    return Row(number, at, kind, release, words, "", "", "", cost, spent, account, details)


class Ledger:
    """A ledger that exists, and what it said when it was last looked at."""

    def __init__(self, store: Store) -> None:
        self.store = store
        store.check_format()
        with store.reading() as reader:
            self.terms = self._read_terms(reader)  # that it was begun with
            try:
                self._state = State.begun(self.terms)
            except WrongTerms:
                raise self.broken("its terms are not as they were written") from None
            self._state = self._now(reader)

    def state(self) -> State:
        """What it says now."""
        with self.store.reading() as reader:
            return self._keep(self._now(reader))

    def checked(self) -> tuple[State, list[Row]]:
        """What it says now, and all its entries, each of which is checked anew."""
        with self.store.reading() as reader:
            state, stored = self._keep(self._now(reader)), list(reader.entries())
        if self._folded(State.begun(self.terms), stored).head != state.head:
            raise self.broken("an earlier entry was changed since it was opened")
        return state, [Row.from_fields(fields[: len(COLUMNS)]) for fields in stored]

    def append(self, make: Make) -> State:
        """Write the entry that `make` returns for the present end of the ledger; durable when this returns.

        Nobody else writes between what `make` saw and the commit. Whatever it raises leaves the ledger as it was. Where
        other writers came between on a server, all of it is done again: `make` judges anew, by what they left.
        """
        for _ in range(MAX_CONFLICTS):
            with suppress(Conflict):
                return self._append(make)
        return self._append(make)

    def _append(self, make: Make) -> State:
        with self.store.writing() as writer:
            state = self._now(writer.reader)
            row = make(state, writer.reader)
            check_text(row)
            head, fields = Head(row.number, row.hash_after(state.head.hash)), row.to_fields()
            after = _following(state, [*fields, head.hash])
            writer.append(fields, head)
        return self._keep(after)

    def check(self, make: Make) -> None:
        """Refuse the entry where `append` would; nothing is written."""
        self.store.check_writable()
        with self.store.reading() as reader:
            state = self._now(reader)
            row = make(state, reader)
            check_text(row)
            _following(state, [*row.to_fields(), row.hash_after(state.head.hash)])

    def _now(self, reader: Reader) -> State:
        """The state that was last seen, and what came since."""
        seen = self._state
        if self._read_terms(reader) != self.terms:
            raise self._replaced()
        heads = reader.heads()
        if len(heads) != 1 or heads[0][0] != reader.last_number():
            raise self.broken("its end was cut off or added to by hand")
        if heads[0][0] < seen.head.number:
            raise self._replaced()
        state = self._folded(seen, self._since(seen, reader))
        if state.head != heads[0]:
            number = state.head.number
            raise self._wrong(number) if number else self.broken("its terms are not as they were written")
        return state

    def _since(self, seen: State, reader: Reader) -> Iterator[Any]:
        """The entries after the last that was seen, which must be there as it was."""
        entries = iter(reader.entries(since=max(1, seen.head.number)))
        if seen.last is not None:
            *fields, written = next(entries, (None,))
            if fields and written != seen.head.hash:
                raise self._replaced()
            if fields != seen.last.to_fields():
                raise self._wrong(seen.head.number)
        return entries

    def _folded(self, state: State, entries: Any) -> State:
        try:
            return fold(state, entries)
        except WrongEntry as wrong:
            raise self._wrong(wrong.number) from None

    def _keep(self, state: State) -> State:
        if state.head.number >= self._state.head.number:  # another thread may have seen more
            self._state = state
        return state

    def _read_terms(self, reader: Reader) -> dict[str, str]:
        terms = dict(reader.terms())
        if not all(isinstance(word, str) for pair in terms.items() for word in pair):
            raise self.broken("its terms are not as they were written")
        return terms

    def _replaced(self) -> errors.LedgerBroken:
        return self.broken("another copy took its place since it was opened")

    def _wrong(self, number: int) -> errors.LedgerBroken:
        return self.broken(f"entry {number} is not as it was written, or what is before it")

    def broken(self, what: str) -> errors.LedgerBroken:
        return errors.LedgerBroken(
            f"The ledger {self.store.location!r} cannot be trusted: {what}. Nothing more is released against it, "
            "because nobody can say what was spent. Find out what happened; restore a copy only if no release was made "
            "since."
        )


def _following(state: State, stored: list[Any]) -> State:
    """The state after an entry that is about to be written: by the rules by which it will be read."""
    try:
        return fold(state, [stored])
    except WrongEntry as wrong:
        raise errors.NotProved(
            f"Entry {wrong.number} may not follow those that the ledger has, so it is not written. Nothing was debited "
            "and nothing released."
        ) from None


def check_text(row: Row) -> None:
    """Refuse what a ledger cannot keep: names of tables and units, and questions, may have any characters."""
    for words in row.to_fields():
        if isinstance(words, str) and not can_be_kept(words):
            raise errors.InvalidParameter(
                f"No ledger can keep {words!r}: it has a character 0, or half of one that is written in two. Nothing "
                "was debited and nothing released. Give the table, its unit and its columns other names."
            )
