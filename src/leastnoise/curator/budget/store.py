"""Where a ledger is kept: a file (`sqlite_store.py`) or a server (`postgres_store.py`).

A store begins a transaction, reads, appends one entry, and commits; it decides nothing. The chain of hashes, which
entry may follow which, and what may be spent are one code over both (`ledger.py`, `history.py`, `privacy_filter.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from leastnoise import errors
from leastnoise.curator.budget.entry_row import COLUMNS, Head

Query = Callable[[str, Sequence[Any]], Iterable[tuple[Any, ...]]]
_LISTED = ", ".join(f'"{name}"' for name in COLUMNS)
AFTER_CLOSING = ("void", "return", "reconcile", "move", "arrive")  # entries that do not reopen what was closed


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of a ledger, inside a transaction."""

    query: Query  # SQL with a ? for each value
    who: str  # is at the other end: a user of this machine, a role of the server
    now: datetime  # by the clock of whatever keeps the ledger, in UTC

    def terms(self) -> list[tuple[Any, ...]]:
        return list(self.query("SELECT name, value FROM terms", []))

    def heads(self) -> list[tuple[Any, ...]]:
        """One, in a sound ledger."""
        return list(self.query("SELECT number, hash FROM head", []))

    def last_number(self) -> int | None:
        return self._number("SELECT max(number) FROM entries", [])

    def rows(self, *, since: int = 1, until: int = 2**62) -> Iterable[tuple[Any, ...]]:
        """The fields of the entries with these numbers, each with the hash that is written beside it."""
        which = "WHERE number BETWEEN ? AND ? ORDER BY number"
        return self.query(f"SELECT {_LISTED}, hash FROM entries {which}", [since, until])

    def hash_of(self, number: int) -> str | None:
        return self._text("SELECT hash FROM entries WHERE number = ?", [number])

    def last_of_account(self, account: str) -> int | None:
        return self._number("SELECT number FROM entries WHERE account = ? ORDER BY number DESC LIMIT 1", [account])

    def last_that_may_close(self) -> int | None:
        """The last entry but those that leave a closed budget closed."""
        marks = ", ".join("?" * len(AFTER_CLOSING))
        which = f"WHERE kind NOT IN ({marks}) ORDER BY number DESC LIMIT 1"
        return self._number(f"SELECT number FROM entries {which}", AFTER_CLOSING)

    def with_kind(self, kind: str, *, after: int = 0) -> list[int]:
        """The numbers of the entries of this kind, those up to `after` left out. All the others are looked at."""
        which = "WHERE kind = ? AND number > ? ORDER BY number"
        return [number for (number,) in self.query(f"SELECT number FROM entries {which}", [kind, after])]

    def first_debit(self) -> int | None:
        return self._number(
            "SELECT number FROM entries WHERE kind IN ('release', 'allocate') ORDER BY number LIMIT 1", []
        )

    def first_label(self, name: str) -> str | None:
        """What the first entry that names a unit (or a table) names."""
        return self._text(f"""SELECT "{name}" FROM entries WHERE "{name}" <> '' ORDER BY number LIMIT 1""", [])

    def _number(self, sql: str, values: Sequence[Any] = ()) -> int | None:
        number: int | None = self._one(sql, values)
        return number

    def _text(self, sql: str, values: Sequence[Any] = ()) -> str | None:
        text: str | None = self._one(sql, values)
        return text

    def _one(self, sql: str, values: Sequence[Any]) -> Any:
        found: Iterator[tuple[Any, ...]] = iter(self.query(sql, values))
        return next(found, (None,))[0]


class Conflict(errors.LedgerBusy):
    """Another writer came between, and all of this transaction was taken back: it may be tried again."""


class Draft(Protocol):
    """A transaction that writes: what it saw is still true when its entry is committed."""

    @property
    def snapshot(self) -> Snapshot: ...

    def append(self, fields: Sequence[Any], head: Head) -> None:
        """Add one entry, whose fields are those of COLUMNS, and make it the head."""


class Store(Protocol):
    """Where one ledger is kept. `name` and `location` are for people: neither has a password in it."""

    @property
    def name(self) -> str: ...

    @property
    def location(self) -> str: ...

    def reading(self) -> AbstractContextManager[Snapshot]:
        """One state of the ledger."""

    def writing(self) -> AbstractContextManager[Draft]:
        """The only writer: committed, and durable, when the block ends; whatever it raises leaves all as it was."""

    def check_writable(self) -> None:
        """Refuse a ledger that this user cannot write to. Nothing is written."""

    def check_pages(self) -> bool:
        """Whether what keeps the ledger finds its own pages sound."""
