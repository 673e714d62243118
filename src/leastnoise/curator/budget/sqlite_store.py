"""A ledger in one file: SQLite with a rollback journal.

A commit returns only when the entry would survive a power cut. That takes synchronous=EXTRA, one step past FULL: a
transaction is committed by *deleting* its journal, and only EXTRA syncs the directory after that, so under FULL a
power cut could bring the journal back and roll a committed debit away.

Each operation opens its own connection and closes it: nothing is carried over a fork, no lock outlives a call.
Nobody else in this process may open the file: closing *any* descriptor of it drops SQLite's POSIX locks. They must be
locks.

Nothing is written to a network folder, which the system's list of mounts tells. Two machines that write to one file are
kept apart by its locks. Over NFS, SMB and the like a lock may be given to both,
or be lost when the server restarts, and both would spend the same part of a budget; a sync may return before anything
is on a disk. What cannot be known: a file system that calls itself local and is not (9p and virtiofs, by which virtual
machines and some containers see their host), and a machine without such a list.
"""

from __future__ import annotations

import getpass
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from leastnoise import errors
from leastnoise._support import files, outputs
from leastnoise.curator.budget.ledger import LISTED, Reader, first_terms
from leastnoise.curator.budget.state import Head, root_hash
from leastnoise.curator.budget.terms import Terms

FORMAT = 1
MAX_CELL_BYTES = 2**20  # of a cell, or of a table's definition
LOCK_TIMEOUT_SECONDS = 30.0  # for other processes to finish their commit
_APPLICATION = int.from_bytes(outputs.APPLICATION, "big")

BEGIN = "or begin a budget at a new path by giving its limits."
LIMITS = errors.Code("epsilon=3, delta=1e-6", "leastnoise budget create FILE --epsilon 3 --delta 1e-6")

_SCHEMA = """
CREATE TABLE terms (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    made TEXT NOT NULL,              -- UTC, ISO 8601
    kind TEXT NOT NULL,              -- release, close, reopen, allocate, return, move, arrive, terms
    release TEXT NOT NULL,           -- the id that the Release carries, or that of an allocation
    query TEXT NOT NULL,
    noise TEXT NOT NULL,
    unit TEXT NOT NULL,
    "table" TEXT NOT NULL,
    gaussian TEXT NOT NULL,          -- whole numbers of 10^-30 of each cap: too long for SQLite's integers
    pure TEXT NOT NULL,
    threshold TEXT NOT NULL,
    spent_gaussian TEXT NOT NULL,    -- the sums of the account, up to and including this entry
    spent_pure TEXT NOT NULL,
    spent_threshold TEXT NOT NULL,
    account TEXT NOT NULL,           -- "", or the allocation that it is spent from
    details TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE TABLE head (number INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_keep BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;
"""

# A view or a computed column in their place could give rows without end from a file of a kilobyte.
_DEFINITIONS = "SELECT type, name, sql FROM main.sqlite_schema"


@dataclass(frozen=True, slots=True)
class SqliteWriter:
    """A transaction that holds the only writer's lock."""

    reader: Reader
    db: sqlite3.Connection

    def append(self, fields: Sequence[Any], head: Head) -> None:
        marks = ", ".join("?" * (len(fields) + 1))
        self.db.execute(f"INSERT INTO entries ({LISTED}) VALUES ({marks})", [*fields, head.hash])
        self.db.execute("UPDATE head SET number = ?, hash = ?", head)


class SqliteStore:
    """A ledger in this file; `exists` says whether something is there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def location(self) -> str:
        return str(self.path)

    def exists(self) -> bool:
        """Whether there is a file of this name, ours or not."""
        return os.path.lexists(self.path)

    def check_format(self) -> None:
        """Refuse what is not there, not ours, or of a newer version."""
        path = self.path
        if not self.exists():
            raise errors.NoSuchFile(f"There is no ledger {str(path)!r}. Check the path, {BEGIN}", example=LIMITS)
        with _translated(path), closing(_connect(path, "rw")) as db:
            db.execute("BEGIN")
            self._check_format(db)
            outputs.ledgers.add(str(path))

    def create(self, terms: Terms) -> None:
        """A new ledger, whole or not at all; FileExistsError if somebody was faster.

        Written under another name and *linked* into place: unlike a rename, that never replaces a file.
        """
        path, texts = self.path, first_terms(terms)
        _refuse_network_folder(path)
        files.sweep(path)
        unfinished = path.with_name(f".{path.name}.{secrets.token_hex(6)}.unfinished")
        try:
            with _translated(path), closing(_connect(unfinished, "rwc")) as db:
                _make_durable(db)
                db.executescript(f"BEGIN IMMEDIATE; PRAGMA application_id = {_APPLICATION}; {_SCHEMA}")
                db.execute(f"PRAGMA user_version = {FORMAT}")
                db.executemany("INSERT INTO terms VALUES (?, ?)", sorted(texts.items()))
                db.execute("INSERT INTO head VALUES (0, ?)", [root_hash(texts)])
                db.execute("COMMIT")
            os.link(unfinished, path)
            files.sync(path.parent)
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
    def reading(self) -> Iterator[Reader]:
        """One state of the file."""
        with _translated(self.path), closing(_connect(self.path, "rw")) as db, ExitStack() as statements:
            db.execute("BEGIN")
            yield _reader(db, statements)

    @contextmanager
    def writing(self) -> Iterator[SqliteWriter]:
        """BEGIN IMMEDIATE takes the only writer's lock before anything is read."""
        _refuse_network_folder(self.path)
        with _translated(self.path), closing(_connect(self.path, "rw")) as db, ExitStack() as statements:
            _make_durable(db)
            db.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteWriter(_reader(db, statements), db)
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise

    def check_writable(self) -> None:
        """The file, and its folder for the journal."""
        _refuse_network_folder(self.path)
        if not all(os.access(place, os.W_OK) for place in (self.path, self.path.parent)):
            raise _as_ours(str(self.path), sqlite3.SQLITE_READONLY)

    def check_pages(self) -> bool:
        """SQLite's own check of every page."""
        with _translated(self.path), closing(_connect(self.path, "rw")) as db:
            found: tuple[str] = db.execute("PRAGMA integrity_check(1)").fetchone()
            return found == ("ok",)

    def _check_format(self, db: sqlite3.Connection) -> None:
        (owner,), (written,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version"))
        if owner != _APPLICATION:
            raise errors.NotOurs(
                f"{str(self.path)!r} is not a ledger of leastnoise (or was cut short). Give the path of one, {BEGIN}",
                example=LIMITS,
            )
        if written > FORMAT:
            raise errors.NotOurs(
                f"{str(self.path)!r} was written by a newer leastnoise. Upgrade: pip install -U leastnoise"
            )
        if not set(db.execute(_DEFINITIONS)) <= _our_definitions():  # a missing one is found when it is used
            raise errors.LedgerBroken(
                f"The ledger {str(self.path)!r} cannot be trusted: its tables are not those that leastnoise makes. "
                "Nothing was released. Find out what happened; restore a copy only if no release was made since."
            )


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # isolation_level None: transactions begin and end where we say. mode=rw never creates a file.
    uri = f"{path.as_uri()}?mode={mode}"
    db = sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
    db.execute("PRAGMA temp_store = MEMORY")
    return db


def _reader(db: sqlite3.Connection, statements: ExitStack) -> Reader:
    """Its statements end with the transaction: one that the traceback of a refusal keeps would hold the file's lock."""

    def query(text: str, values: Sequence[Any]) -> sqlite3.Cursor:
        return statements.enter_context(closing(db.execute(text, values)))

    return Reader(query, _user(), _now())


@cache
def _our_definitions() -> set[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_SCHEMA)
        return set(db.execute(_DEFINITIONS))


def _make_durable(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("PRAGMA synchronous = EXTRA")


def _now() -> datetime:
    return datetime.now(UTC)


def _user() -> str:
    """Who runs this, by the name that the system has; a number where it has none, as in many containers."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return str(os.getuid())


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
        return errors.NotOurs(f"{path!r} is not a ledger of leastnoise. Give the path of one, {BEGIN}", example=LIMITS)
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


MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "davfs", "glusterfs", "beegfs", "ceph",
    "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.mount-s3", "fuse.blobfuse", "fuse.blobfuse2",
    "fuse.glusterfs", "fuse.ceph-fuse", "fuse.curlftpfs", "fuse.davfs2", "fuse.goofys", "fuse.juicefs",
}  # fmt: skip


def _refuse_network_folder(path: Path) -> None:
    """Refuse to write a ledger into a network folder."""
    kind = file_system(path)
    if kind in _NETWORK:
        raise errors.FileProblem(
            f"The ledger {str(path)!r} is in a network folder ({kind}), whose locks cannot be trusted: two machines "
            "could spend the same part of the budget. Nothing was debited and nothing released. Copy it to a local "
            "disk while nobody uses it; for several machines carry it over from there to PostgreSQL, with "
            "leastnoise budget move"
        )


def file_system(path: Path) -> str:
    """The kind of the mount that holds this path, such as ext4 or nfs4; "" where nobody can say."""
    try:
        lines = MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    found = [(mount, kind) for mount, kind in map(_mount, lines) if mount is not None and path.is_relative_to(mount)]
    # The longest one holds the path; of several at one place the last was mounted over the others.
    longest = max((len(mount.parts) for mount, _ in found), default=0)
    return next((kind for mount, kind in reversed(found) if len(mount.parts) == longest), "")


def _mount(line: str) -> tuple[Path | None, str]:
    """Where, and of which kind: "36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw"."""
    before, dash, after = line.partition(" - ")
    fields = before.split(" ")
    if not dash or len(fields) < 5:
        return None, ""
    place = fields[4].encode("latin-1", "replace").decode("unicode_escape")  # a space is written \040
    return Path(place), after.split(" ")[0]
