"""A ledger on a PostgreSQL server.

An entry is written in one serialisable transaction, and its commit returns when it would survive a crash of the server:
synchronous_commit is on (or stricter, where the server asks for it), and a server that runs without fsync is refused.
Only then is noise read. If the connection is lost while committing, nobody knows whether the debit was written: nothing
is released, and if it was written it stays. That costs budget and never privacy.

An advisory lock queues the writers, so that they wait instead of failing; that they do not disturb each other rests on
the serialisable transaction alone, which is tried again where the server asks for it. As with a file, each operation
opens its own connection and closes it: nothing is carried over a fork.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise.curator.budget import postgres_errors, postgres_schema
from leastnoise.curator.budget.entry_row import COLUMNS, Head, Row, root_hash
from leastnoise.curator.budget.postgres_url import Address
from leastnoise.curator.budget.privacy_filter import Terms
from leastnoise.curator.budget.store import Snapshot

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
class PostgresDraft:
    """A serialisable transaction."""

    snapshot: Snapshot
    db: psycopg.Connection[Any]
    owner: bool

    def append(self, fields: Sequence[Any], head: Head) -> None:
        """A debit through the function that analysts have; other entries, which are the owner's, by themselves."""
        kind = fields[COLUMNS.index("kind")]
        if kind == "release" or (kind == "close" and not self.owner):
            texts = [str(field) for field in fields]
            (written,) = self.db.execute("SELECT append_entry(%s)", [texts]).fetchone() or ("",)
            if written != head.hash:  # the server does not hash as we do
                raise postgres_errors.hashed_differently()
            return
        self.insert(fields, head)
        if kind == "terms":
            _write_caps(self.db, Terms.from_texts(Row.from_fields(fields).facts["terms"]))

    def insert(self, fields: Sequence[Any], head: Head) -> None:
        """The same without the function, as its owner may."""
        names = ", ".join(f'"{name}"' for name in (*COLUMNS, "hash"))
        marks = ", ".join(["%s"] * (len(COLUMNS) + 1))
        self.db.execute(f"INSERT INTO entries ({names}) VALUES ({marks})".encode(), [*fields, head.hash])
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
                raise postgres_errors.no_such_budget(self._address)
            mark, allowed = found
            if mark != postgres_schema.MARK:
                raise postgres_errors.not_ours(
                    self._address, newer=str(mark).startswith("a privacy budget of leastnoise")
                )
            if not allowed:
                raise postgres_errors.forbidden(self._address)
            there = db.execute(
                "SELECT c.relname, c.relkind::text, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_class c "
                "JOIN pg_attribute a ON a.attrelid = c.oid WHERE a.attnum > 0 AND NOT a.attisdropped "
                "AND c.relkind <> 'i' AND c.relnamespace = %s::regnamespace",
                [self._schema],
            ).fetchall()
            if set(there) != postgres_schema.columns():
                raise postgres_errors.not_ours(self._address)

    def create(self, terms: Terms) -> None:
        """A new ledger, whole or not at all; FileExistsError if somebody was faster."""
        made = {"id": secrets.token_hex(8), "made": datetime.now(UTC).isoformat(timespec="seconds")}
        with self.importing(made | terms.to_texts(), terms):
            pass

    @contextmanager
    def importing(self, first: dict[str, str], terms: Terms) -> Iterator[PostgresDraft]:
        """A new ledger that was begun with these texts, to be filled before it is committed; FileExistsError if there
        is one. terms: those that hold once it is filled."""
        with self._connected() as db, self._transaction(db):
            _create(db, self._address.budget, first)
            _write_caps(db, terms)
            yield PostgresDraft(_snapshot(db), db, owner=True)

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """One state of the ledger."""
        with self._connected() as db:
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield _snapshot(db)

    @contextmanager
    def writing(self) -> Iterator[PostgresDraft]:
        """A serialisable transaction, after all who came before."""
        with self._connected() as db, self._transaction(db):
            found = db.execute(_OWNER, [self._schema]).fetchone()
            yield PostgresDraft(_snapshot(db), db, owner=bool(found and found[0]))

    def check_writable(self) -> None:
        """The role may call the function that writes, and the server keeps what it commits."""
        with self._connected() as db:
            self._check_durable(db)
            allowed = db.execute("SELECT has_function_privilege('append_entry(text[])', 'EXECUTE')").fetchone()
        if allowed != (True,):
            raise postgres_errors.forbidden(self._address)

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
        postgres_errors.commit(db, self._address)

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
            raise postgres_errors.as_ours(failed, self._address, LOCK_TIMEOUT_SECONDS) from None

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
    caps, instead = terms.caps, int(terms.pure_instead)
    amounts = {"gaussian": caps.gaussian, "pure": caps.pure, "threshold": caps.threshold, "pure_instead": instead}
    db.execute("DELETE FROM caps")
    for name, amount in amounts.items():
        db.execute("INSERT INTO caps VALUES (%s, %s)", [name, str(amount)])


def _snapshot(db: psycopg.Connection[Any]) -> Snapshot:
    def query(sql: str, values: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
        found: Iterable[tuple[Any, ...]] = db.execute(sql.replace("?", "%s").encode(), list(values))
        return found

    who, now = db.execute("SELECT session_user::text, clock_timestamp()").fetchone() or ("", datetime.now(UTC))
    return Snapshot(query, who, now.astimezone(UTC))


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise errors.MissingPackage.named("psycopg", "A budget in PostgreSQL", extra="postgres") from None
    return psycopg
