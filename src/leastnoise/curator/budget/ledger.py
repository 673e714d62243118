"""The file: SQLite, a rollback journal, and a chain of hashes over everything written.

A commit returns only when the entry would survive a power cut. That takes synchronous=EXTRA, one step past FULL: a
transaction is committed by *deleting* its journal, and only EXTRA syncs the directory after that, so under FULL a
power cut could bring the journal back and roll a committed debit away.

Each operation opens its own connection and closes it: nothing is carried over a fork, no lock outlives a call.
Nobody else in this process may open the file: closing *any* descriptor of it drops SQLite's POSIX locks.

hash of entry n = SHA-256(hash of entry n - 1, all fields of entry n); the first one follows the hash of the terms. The
table `head` repeats the last number and hash, so that cutting off the tail shows too. There is no key: the chain
finds accidents and careless edits, not a forger who recomputes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from leastnoise import errors
from leastnoise._support import atomic_files, outputs
from leastnoise.curator.budget.privacy_filter import Cost

FORMAT = 3  # 2 had no term pure_instead; 1 no entries of the kinds close and reopen
CLOSING_FORMAT = 2
MAX_CELL_BYTES = 2**20  # of a cell, or of a table's definition
LOCK_TIMEOUT_SECONDS = 30.0  # for other processes to finish their commit
_APPLICATION = int.from_bytes(outputs.APPLICATION, "big")

_BEGIN = "or begin a budget at a new path by giving its limits."
_LIMITS = errors.Code("epsilon=3, delta=1e-6", "leastnoise budget create FILE --epsilon 3 --delta 1e-6")

_SCHEMA = """
CREATE TABLE terms (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    made TEXT NOT NULL,              -- UTC, ISO 8601
    kind TEXT NOT NULL,              -- release, or void: the cost of an earlier one, given back
    release TEXT NOT NULL,           -- the id that the Release carries
    query TEXT NOT NULL,
    noise TEXT NOT NULL,
    unit TEXT NOT NULL,
    "table" TEXT NOT NULL,
    gaussian TEXT NOT NULL,          -- whole numbers of 10^-30 of each cap: too long for SQLite's integers
    pure TEXT NOT NULL,
    threshold TEXT NOT NULL,
    spent_gaussian TEXT NOT NULL,    -- the sums up to and including this entry
    spent_pure TEXT NOT NULL,
    spent_threshold TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE TABLE head (number INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_keep BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;
"""
_COLUMNS = (
    'number, made, kind, release, query, noise, unit, "table", '
    "gaussian, pure, threshold, spent_gaussian, spent_pure, spent_threshold"
)

# A view or a computed column in their place could give rows without end from a file of a kilobyte.
_DEFINITIONS = "SELECT type, name, sql FROM sqlite_schema"


class Head(NamedTuple):
    """How far a ledger has come."""

    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class Row:
    """One entry as it is written, without its hash."""

    number: int
    created_at: str  # the column "made"
    kind: str
    release: str
    query: str
    noise: str
    unit: str
    table: str
    cost: Cost
    spent: Cost

    def to_fields(self) -> list[int | str]:
        words: list[int | str] = [
            self.number,
            self.created_at,
            self.kind,
            self.release,
            self.query,
            self.noise,
            self.unit,
            self.table,
        ]
        return [*words, *map(str, self.cost.parts + self.spent.parts)]

    @classmethod
    def from_fields(cls, values: tuple[Any, ...]) -> Row:
        amounts = [int(part) for part in values[8:14]]
        words_only = all(isinstance(word, str) for word in values[1:])
        if not words_only or [str(amount) for amount in amounts] != list(values[8:14]):
            raise ValueError  # " 7" and "07" are 7 too, and not what was written
        datetime.fromisoformat(values[1])
        number, created_at, kind, release, query, noise, unit, table = values[:8]
        return cls(number, created_at, kind, release, query, noise, unit, table, Cost(*amounts[:3]), Cost(*amounts[3:]))

    def hash_after(self, previous: str) -> str:
        return _hash(previous, self.to_fields())


class Ledger:
    """A ledger file that exists."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if os.path.isdir(path):  # (os.path answers False where pathlib would raise: no permission to look)
            raise errors.FileProblem(
                f"{str(path)!r} is a directory. A ledger is one file: give a path to a file in it."
            )
        if not os.path.lexists(path):
            raise errors.NoSuchFile(f"There is no ledger {str(path)!r}. Check the path, {_BEGIN}", example=_LIMITS)
        with self.reading() as db:
            self._check_format(db)
            outputs.ledgers.add(str(path))
            self.terms = self.read_terms(db)
        self.root = _hash("", [sorted(self.terms.items())])

    @classmethod
    def create(cls, path: Path, terms: dict[str, str]) -> None:
        """A new ledger, whole or not at all; FileExistsError if somebody was faster.

        Written under another name and *linked* into place: unlike a rename, that never replaces a file.
        """
        # The ledger's own number: entries of another one, even with the same limits, do not continue this chain.
        terms = terms | {"id": secrets.token_hex(8), "made": datetime.now(UTC).isoformat(timespec="seconds")}
        atomic_files.sweep(path)
        unfinished = path.with_name(f".{path.name}.{secrets.token_hex(6)}.unfinished")
        try:
            with _translated(path), closing(_connect(unfinished, "rwc")) as db:
                _make_durable(db)
                db.executescript(f"BEGIN IMMEDIATE; PRAGMA application_id = {_APPLICATION}; {_SCHEMA}")
                db.execute(f"PRAGMA user_version = {FORMAT}")
                db.executemany("INSERT INTO terms VALUES (?, ?)", sorted(terms.items()))
                db.execute("INSERT INTO head VALUES (0, ?)", [_hash("", [sorted(terms.items())])])
                db.execute("COMMIT")
            os.link(unfinished, path)
            atomic_files.sync(path.parent)
        except FileExistsError:
            raise
        except OSError as problem:
            if isinstance(problem, errors.FileProblem):
                raise
            raise errors.FileProblem(
                f"Cannot write {str(path)!r}: {problem.strerror}. No ledger was begun. Give another path."
            ) from None
        finally:
            with suppress(OSError):
                unfinished.unlink()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one state of the file."""
        with _translated(self.path), closing(_connect(self.path, "rw")) as db:
            db.execute("BEGIN")
            yield db

    def head(self, db: sqlite3.Connection) -> tuple[Head, Row | None]:
        """The last number and hash, and the entry they belong to.

        The first link and the last are checked every time, so that edited terms and an edited end stop every release;
        what lies between is for `verify`.
        """
        if self.read_terms(db) != self.terms:
            raise self.replaced()
        stored = db.execute("SELECT number, hash FROM head").fetchall()
        if len(stored) != 1 or db.execute("SELECT max(number) FROM entries").fetchone()[0] != (stored[0][0] or None):
            raise self.broken("its end was cut off or added to by hand")
        head = Head(*stored[0])
        if head.number == 0:
            if head.hash != self.root:
                raise self.broken("its terms are not as they were written")
            return head, None
        self._check_link(db, 1)
        last, written = self._check_link(db, head.number)
        if written != head.hash:
            raise self.broken(f"entry {head.number} is not as it was written")
        return head, last

    def _check_link(self, db: sqlite3.Connection, number: int) -> tuple[Row, str]:
        """Entry `number`, whose hash follows from its fields and the hash before it."""
        found = {row.number: (row, written) for row, written in self.rows(db, since=number - 1, until=number)}
        row, written = found.get(number, (None, ""))
        previous = self.root if number == 1 else found.get(number - 1, (None, ""))[1]
        if row is None or row.hash_after(previous) != written:
            raise self.broken(f"entry {number} is not as it was written, or what is before it")
        return row, written

    def rows(self, db: sqlite3.Connection, *, since: int = 1, until: int = 2**62) -> Iterator[tuple[Row, str]]:
        """The entries with these numbers, each with the hash that is written beside it."""
        which = "WHERE number BETWEEN ? AND ? ORDER BY number"
        for values in db.execute(f"SELECT {_COLUMNS}, hash FROM entries {which}", [since, until]):
            try:
                yield Row.from_fields(values), values[-1]
            except (TypeError, ValueError):
                raise self.broken(f"entry {values[0]} is not as it was written") from None

    def first_cost(self, db: sqlite3.Connection) -> Cost | None:
        """What the first release costs, before which nothing was seen; None: there is none yet.

        Where a release was given back, nothing is known of the order of the others: no cost at all stands for that.
        """
        if db.execute("SELECT number FROM entries WHERE kind = 'void' LIMIT 1").fetchone():
            return Cost()
        return next((row.cost for row, _ in self.rows(db, until=1)), None)

    def last_but_voids(self, db: sqlite3.Connection) -> Row | None:
        """The last entry that is no void, checked like the end of the chain."""
        found = db.execute("SELECT number FROM entries WHERE kind <> 'void' ORDER BY number DESC LIMIT 1").fetchone()
        return self._check_link(db, found[0])[0] if found else None

    def append(self, make: Callable[[sqlite3.Connection, Head, Row | None], Row]) -> tuple[Row, Head]:
        """Write the row that `make` returns for the present end of the ledger; durable when this returns.

        BEGIN IMMEDIATE takes the only writer's lock before anything is read, so what `make` saw is still true
        when its row is committed. Whatever it raises leaves the ledger as it was.
        """
        with _translated(self.path), closing(_connect(self.path, "rw")) as db:
            _make_durable(db)
            db.execute("BEGIN IMMEDIATE")
            try:
                head, last = self.head(db)
                row = make(db, head, last)
                new = Head(row.number, row.hash_after(head.hash))
                marks = ", ".join("?" * 15)
                db.execute(f"INSERT INTO entries ({_COLUMNS}, hash) VALUES ({marks})", [*row.to_fields(), new.hash])
                db.execute("UPDATE head SET number = ?, hash = ?", new)
                if row.kind in ("close", "reopen"):
                    (written,) = db.execute("PRAGMA user_version").fetchone()  # 1 would release from a closed budget
                    db.execute(f"PRAGMA user_version = {max(written, CLOSING_FORMAT)}")
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise
        return row, new

    def check_pages(self, db: sqlite3.Connection) -> None:
        """SQLite's own check of every page."""
        if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise self.broken("its pages do not fit together")

    def replaced(self) -> errors.LedgerBroken:
        return self.broken("another copy took its place since it was opened")

    def broken(self, what: str) -> errors.LedgerBroken:
        return errors.LedgerBroken(
            f"The ledger {str(self.path)!r} cannot be trusted: {what}. Nothing more is released against it, because "
            "nobody can say what was spent. Find out what happened; restore a copy only if no release was made since."
        )

    def _check_format(self, db: sqlite3.Connection) -> None:
        (owner,), (written,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version"))
        if owner != _APPLICATION:
            raise errors.NotOurs(
                f"{str(self.path)!r} is not a ledger of leastnoise (or was cut short). Give the path of one, {_BEGIN}",
                example=_LIMITS,
            )
        if written > FORMAT:
            raise errors.NotOurs(
                f"{str(self.path)!r} was written by a newer leastnoise. Upgrade: pip install -U leastnoise"
            )
        if not set(db.execute(_DEFINITIONS)) <= _our_definitions():  # one that is missing is found when it is used
            raise self.broken("its tables are not those that leastnoise makes")

    def read_terms(self, db: sqlite3.Connection) -> dict[str, str]:
        terms = dict(db.execute("SELECT name, value FROM terms"))
        if not all(isinstance(word, str) for pair in terms.items() for word in pair):
            raise self.broken("its terms are not as they were written")
        return terms


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # isolation_level None: transactions begin and end where we say. mode=rw never creates a file.
    uri = f"{path.as_uri()}?mode={mode}"
    db = sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
    return db


@cache
def _our_definitions() -> set[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_SCHEMA)
        return set(db.execute(_DEFINITIONS))


def _make_durable(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("PRAGMA synchronous = EXTRA")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """SQLite's errors as ours. None of them is followed by noise: what was to be released is not."""
    try:
        yield
    except sqlite3.Error as problem:
        code = getattr(problem, "sqlite_errorcode", -1) & 0xFF
        raise _as_ours(str(path), code) from None
    except UnicodeDecodeError:  # a text that is none
        raise _as_ours(str(path), sqlite3.SQLITE_CORRUPT) from None


def _as_ours(path: str, code: int) -> errors.FileProblem:
    if code == sqlite3.SQLITE_BUSY:
        return errors.LedgerBusy(
            f"The ledger {path!r} was locked by other processes for {LOCK_TIMEOUT_SECONDS:g} seconds, so nothing was "
            "debited and nothing released. Try again; if nobody else uses it, look for a stopped process that "
            "holds it open."
        )
    if code == sqlite3.SQLITE_NOTADB:
        return errors.NotOurs(
            f"{path!r} is not a ledger of leastnoise. Give the path of one, {_BEGIN}", example=_LIMITS
        )
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return errors.FileProblem(
            f"The disk refused to write the ledger {path!r}: it may be full. Nothing was released. Make room and try "
            "again; should the debit have been written after all, it stays, because that is the safe side."
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return errors.FileProblem(
            f"The ledger {path!r} cannot be opened or written, so nothing was released: a debit must be on disk first. "
            "Check that its directory exists and that you may write to the file and to its directory (for the journal)."
        )
    return errors.LedgerBroken(
        f"The ledger {path!r} is damaged or was cut short: SQLite cannot read it. Nothing was released. Restore a copy "
        "only if no release was made since it was taken."
    )


def _hash(previous: str, values: list[Any]) -> str:
    return hashlib.sha256(json.dumps([previous, *values]).encode()).hexdigest()
