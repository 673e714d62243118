"""A ledger on a PostgreSQL server.

An entry is written in one serialisable transaction, and its commit returns when it would survive a crash of the server:
synchronous_commit is on (or stricter, where the server asks for it), and a server that runs without fsync is refused.
Only then is noise read. If the connection is lost while committing, nobody knows whether the debit was written: nothing
is released, and if it was written it stays. That costs budget and never privacy.

An advisory lock queues the writers, so that they wait instead of failing; that they do not disturb each other rests on
the serialisable transaction alone, which is tried again where the server asks for it. As with a file, each operation
opens its own connection and closes it: nothing is carried over a fork.

No error quotes what the driver or the server wrote: that may hold a password.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise.curator.budget import postgres_schema
from leastnoise.curator.budget.ledger import LISTED, Conflict, Reader, first_terms
from leastnoise.curator.budget.postgres_url import Address
from leastnoise.curator.budget.state import AMOUNTS, COLUMNS, Head, Row, root_hash
from leastnoise.curator.budget.terms import Terms

if TYPE_CHECKING:
    import psycopg

CONNECT_SECONDS = 10
LOCK_TIMEOUT_SECONDS = 30.0  # for others to finish their commit
_DURABLE = ("on", "remote_apply")  # values of synchronous_commit; the others return before all disks have it
_MAKE_DURABLE = """
SELECT set_config('synchronous_commit', CASE WHEN now.value = 'remote_apply' THEN now.value ELSE 'on' END, true),
    current_setting('fsync') FROM (SELECT current_setting('synchronous_commit') AS value) AS now
"""
_OWNER = "SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = %s"


@dataclass(frozen=True, slots=True)
class PostgresWriter:
    """A serialisable transaction."""

    reader: Reader
    db: psycopg.Connection[Any]
    owner: bool

    def append(self, fields: Sequence[Any], head: Head) -> None:
        """A debit through the function that analysts have; other entries, which are the owner's, by themselves."""
        kind = fields[COLUMNS.index("kind")]
        if kind == "release" or (kind == "close" and not self.owner):
            texts = [str(field) for field in fields]
            (written,) = self.db.execute("SELECT append_entry(%s)", [texts]).fetchone() or ("",)
            if written != head.hash:  # the server does not hash as we do
                raise errors.LedgerBroken(
                    "The server's hash of the entry is not ours: its function append_entry was changed. "
                    f"{_NOTHING} Find out what happened."
                )
            return
        self.insert(fields, head)
        if kind == "terms":
            _write_caps(self.db, Terms.from_texts(Row.from_fields(fields).facts["terms"]))

    def insert(self, fields: Sequence[Any], head: Head) -> None:
        """The same without the function, as its owner may."""
        marks = ", ".join(["%s"] * (len(COLUMNS) + 1))
        self.db.execute(f"INSERT INTO entries ({LISTED}) VALUES ({marks})".encode(), [*fields, head.hash])
        self.db.execute("UPDATE head SET number = %s, hash = %s", head)


class PostgresStore:
    """A budget's schema on a server; `exists` says whether it is there."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._schema = postgres_schema.schema_name(address.budget)

    @property
    def name(self) -> str:
        return self._address.budget

    @property
    def location(self) -> str:
        return self._address.location

    def __repr__(self) -> str:
        return f"<PostgresStore {self.location}>"

    def exists(self) -> bool:
        """Whether there is a schema of this name, ours or not."""
        with self._connected() as db:
            found = db.execute("SELECT to_regnamespace(%s) IS NOT NULL", [self._schema]).fetchone()
            return bool(found and found[0])

    def check_format(self) -> None:
        """Refuse what is not there, not ours, or of a newer version."""
        with self._connected() as db:
            found = db.execute(
                "SELECT obj_description(oid, 'pg_namespace'), has_schema_privilege(oid, 'USAGE') "
                "FROM pg_namespace WHERE nspname = %s",
                [self._schema],
            ).fetchone()
            if found is None:
                raise errors.NoSuchFile(
                    f"There is no ledger {self.location!r}. Check the address, or begin a budget there by giving its "
                    "limits.",
                    example=_BEGIN,
                )
            mark, allowed = found
            if mark != postgres_schema.MARK:
                raise not_ours(self._address, newer=str(mark).startswith("a privacy budget of leastnoise"))
            if not allowed:
                raise forbidden(self._address)
            there = db.execute(
                "SELECT c.relname, c.relkind::text, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_class c "
                "JOIN pg_attribute a ON a.attrelid = c.oid WHERE a.attnum > 0 AND NOT a.attisdropped "
                "AND c.relkind <> 'i' AND c.relnamespace = %s::regnamespace",
                [self._schema],
            ).fetchall()
            if set(there) != postgres_schema.columns():
                raise not_ours(self._address)

    def create(self, terms: Terms) -> None:
        """A new ledger, whole or not at all; FileExistsError if somebody was faster."""
        with self.importing(first_terms(terms), terms):
            pass

    @contextmanager
    def importing(self, first: dict[str, str], terms: Terms) -> Iterator[PostgresWriter]:
        """A new ledger that was begun with these texts, to be filled before it is committed; FileExistsError if there
        is one. terms: those that hold once it is filled."""
        with self._connected() as db, self._transaction(db):
            _create(db, self._address.budget, first)
            _write_caps(db, terms)
            yield PostgresWriter(_reader(db), db, owner=True)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """One state of the ledger."""
        with self._connected() as db:
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield _reader(db)

    @contextmanager
    def writing(self) -> Iterator[PostgresWriter]:
        """A serialisable transaction, after all who came before."""
        with self._connected() as db, self._transaction(db):
            found = db.execute(_OWNER, [self._schema]).fetchone()
            yield PostgresWriter(_reader(db), db, owner=bool(found and found[0]))

    def check_writable(self) -> None:
        """The role may call the function that writes, and the server keeps what it commits."""
        with self._connected() as db:
            self._check_durable(db)
            allowed = db.execute("SELECT has_function_privilege('append_entry(text[])', 'EXECUTE')").fetchone()
        if allowed != (True,):
            raise forbidden(self._address)

    def check_pages(self) -> bool:
        """The server looks after its own pages."""
        return True

    @contextmanager
    def _transaction(self, db: psycopg.Connection[Any]) -> Iterator[None]:
        """Committed, durably, when the block ends; else nothing of it stays."""
        # The lock first: a snapshot is taken by the first statement of a transaction, also by one that waits.
        db.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [self._schema])
        db.execute("BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE")
        self._check_durable(db)
        try:
            yield
        except BaseException:
            with suppress(Exception):
                db.execute("ROLLBACK")
            raise
        commit(db, self._address)

    def _check_durable(self, db: psycopg.Connection[Any]) -> None:
        found = db.execute(_MAKE_DURABLE).fetchone()
        if found is None or found[0] not in _DURABLE or found[1] != "on":
            raise errors.FileProblem(
                f"The server of {self.location!r} does not write to disk what it commits (fsync or synchronous_commit "
                "is off), so that a debit could be lost. Nothing was debited and nothing released. Switch it on."
            )

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        driver = _driver()
        failed: BaseException | None = None
        db = None
        try:
            db = driver.connect(
                self._address.conninfo(),
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                application_name="leastnoise",
                prepare_threshold=None,
            )
            self._settle(db)
            yield db
        except driver.Error as problem:
            failed = problem
        finally:
            if db is not None:
                with suppress(Exception):
                    db.close()
        if failed is not None:
            raise as_ours(failed, self._address, LOCK_TIMEOUT_SECONDS) from None

    def _settle(self, db: psycopg.Connection[Any]) -> None:
        milliseconds = str(round(LOCK_TIMEOUT_SECONDS * 1000))
        chosen = {
            "search_path": f"{self._schema}, pg_temp",
            "lock_timeout": milliseconds,
            "statement_timeout": str(round(LOCK_TIMEOUT_SECONDS * 2000)),
            "idle_in_transaction_session_timeout": str(round(LOCK_TIMEOUT_SECONDS * 2000)),
            "timezone": "UTC",
            "client_encoding": "UTF8",
            "standard_conforming_strings": "on",
            # New entries are found by their index also while the server has no statistics of the table.
            "enable_sort": "off",
            "max_parallel_workers_per_gather": "0",
        }
        calls = ", ".join(["set_config(%s, %s, false)"] * len(chosen))
        asked = f"SELECT current_setting('server_encoding'), current_setting('server_version_num'), {calls}"
        found = db.execute(asked.encode(), [word for pair in chosen.items() for word in pair]).fetchone()
        if found is None or found[0] != "UTF8" or int(found[1]) < 120_000:
            raise errors.FileProblem(
                f"The database of {self.location!r} must be PostgreSQL 12 or newer, with the encoding UTF8. Nothing "
                "was debited and nothing released."
            )


def _create(db: psycopg.Connection[Any], budget: str, terms: dict[str, str]) -> None:
    """Make an empty ledger inside a transaction."""
    schema = postgres_schema.schema_name(budget)
    if db.execute("SELECT to_regnamespace(%s) IS NOT NULL", [schema]).fetchone() == (True,):
        raise FileExistsError
    for statement in postgres_schema.statements(budget):
        db.execute(statement.encode())
    for name, value in sorted(terms.items()):
        db.execute("INSERT INTO terms VALUES (%s, %s)", [name, value])
    db.execute("INSERT INTO head VALUES (0, %s)", [root_hash(terms)])


def _write_caps(db: psycopg.Connection[Any], terms: Terms) -> None:
    """What the server itself holds debits to, instead of what it did before."""
    db.execute("DELETE FROM caps")
    for name, amount in zip(AMOUNTS, terms.caps, strict=True):
        db.execute("INSERT INTO caps VALUES (%s, %s)", [name, str(amount)])


def _reader(db: psycopg.Connection[Any]) -> Reader:
    def query(sql: str, values: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
        return db.execute(sql.replace("?", "%s").encode(), list(values)).fetchall()

    who, now = db.execute("SELECT session_user::text, clock_timestamp()").fetchone() or ("", datetime.now(UTC))
    return Reader(query, who, now.astimezone(UTC))


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise errors.MissingPackage.named("psycopg", "A budget in PostgreSQL", extra="postgres") from None
    return psycopg


_NOTHING = "Nothing was debited and nothing released."
_BEGIN = errors.Code("epsilon=3, delta=1e-6", "leastnoise budget create URL --epsilon 3 --delta 1e-6")
RETRIES = ("40001", "40P01")  # serialization_failure, deadlock_detected: the server took all of it back


def commit(db: psycopg.Connection, address: Address) -> None:
    """Commit; LedgerUnreachable, where the connection is lost in the middle of it, says that nobody knows."""
    import psycopg

    lost = False
    try:
        lost = db.execute("COMMIT").statusmessage != "COMMIT"  # of what failed before, the server says ROLLBACK
    except psycopg.Error as problem:
        lost = not problem.sqlstate or problem.sqlstate.startswith(("08", "57"))
        if not lost:
            raise
    if lost:
        raise errors.LedgerUnreachable(
            f"The connection to {address.location!r} was lost while the debit was being committed, so nobody knows "
            "whether it was written. Nothing was released. If it was written, it stays, because that is the safe side: "
            "look at the history before you try again."
        )


def as_ours(problem: BaseException, address: Address, seconds: float) -> errors.LeastnoiseError:
    """The error to raise for one of the driver's, of which no message, and no frame with an address in it, is kept."""
    code = getattr(problem, "sqlstate", None) or _code_of(str(problem))
    refusal = _refusal(problem)
    problem.args, problem.__traceback__, problem.__context__ = (), None, None
    place = address.location
    if code in ("55P03", "57014"):  # lock_not_available, query_canceled by a timeout
        return errors.LedgerBusy(
            f"The ledger {place!r} was locked by others for {seconds:g} seconds, so nothing was debited and nothing "
            "released. Try again; if nobody else uses it, look for a connection that holds a lock: pg_stat_activity."
        )
    if code in RETRIES:
        return Conflict(
            f"Others wrote to the ledger {place!r} at the same moment, again and again. {_NOTHING} Try again."
        )
    if code.startswith("28"):
        return errors.LedgerForbidden(
            f"The server of {place!r} does not let this role in: unknown, a wrong password, or none. {_NOTHING} "
            "Put the password into ~/.pgpass or PGPASSWORD, not into the address."
        )
    if code == "42501":
        return forbidden(address)
    if code == "3D000":
        return errors.NoSuchFile(f"There is no such database on the server of {place!r}. {_NOTHING} Check the address.")
    if code == "25006":
        return errors.FileProblem(
            f"The server of {place!r} can only be read from: it is a copy. {_NOTHING} Give the address of the original."
        )
    if code == "P0001":
        return errors.LedgerForbidden(f"The server refused the entry for {place!r}: {refusal}. {_NOTHING}")
    if code.startswith("53"):
        return errors.FileProblem(f"The server of {place!r} has no room left: disk, memory or connections. {_NOTHING}")
    if code.startswith(("42", "XX")):
        return errors.LedgerBroken(
            f"The ledger {place!r} is damaged, or something in its tables was changed. {_NOTHING} Find out what "
            "happened; restore a copy only if no release was made since."
        )
    return errors.LedgerUnreachable(
        f"The server of {place!r} cannot be reached, or the connection was lost. {_NOTHING} Check the address, that "
        "the server runs, and that this machine may connect to it."
    )


def _code_of(message: str) -> str:
    """Why a connection was not made: the driver has no code for that, so the server's words (in English) must do."""
    if "authentication failed" in message or "no password" in message or ('role "' in message and "exist" in message):
        return "28P01"
    return "3D000" if 'database "' in message and "does not exist" in message else ""


def _refusal(problem: BaseException) -> str:
    """What our own function says: one of its fixed sentences."""
    said = getattr(getattr(problem, "diag", None), "message_primary", "") or ""
    return said if said in postgres_schema.REFUSALS else "it breaks a rule"


def not_ours(address: Address, *, newer: bool = False) -> errors.NotOurs:
    if newer:
        return errors.NotOurs(
            f"The ledger {address.location!r} was written by a newer leastnoise. Upgrade: pip install -U leastnoise"
        )
    return errors.NotOurs(
        f"At {address.location!r} lies something that leastnoise did not make: a schema of that name with other "
        f"tables. {_NOTHING} Give the budget another name."
    )


def forbidden(address: Address) -> errors.LedgerForbidden:
    return errors.LedgerForbidden(
        f"This role may not do that to the ledger {address.location!r}. {_NOTHING} An analyst needs SELECT on its "
        "tables and EXECUTE on its function append_entry; closing, reopening, allocating and moving are the owner's."
    )
