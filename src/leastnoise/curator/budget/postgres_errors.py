"""The driver's errors as ours. None of them quotes what the driver or the server wrote: that may hold a password."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise import errors
from leastnoise.curator.budget.postgres_url import Address
from leastnoise.curator.budget.store import Conflict

if TYPE_CHECKING:
    import psycopg

_NOTHING = "Nothing was debited and nothing released."
_BEGIN = errors.Code("epsilon=3, delta=1e-6", "leastnoise budget create URL --epsilon 3 --delta 1e-6")
RETRIES = ("40001", "40P01")  # serialization_failure, deadlock_detected: the server took all of it back


def hashed_differently() -> errors.LedgerBroken:
    return errors.LedgerBroken(
        f"The server's hash of the entry is not ours: its function append_entry was changed. {_NOTHING} Find out what "
        "happened."
    )


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
    if code[:2] in ("53",):
        return errors.FileProblem(f"The server of {place!r} has no room left: disk, memory or connections. {_NOTHING}")
    if code[:2] in ("42", "XX"):
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
    return said if said in _SENTENCES else "it breaks a rule"


_SENTENCES = {
    "a field is too long",
    "an amount is a whole number, 0 or more",
    "a sum is wrong",
    "an entry is written under the name of its role",
    "entries are never changed",
    "more than is left",
    "only the owner closes a budget for another reason than a failed reading",
    "only the owner writes other entries than releases",
    "the budget is closed",
    "the budget was moved elsewhere",
    "the details are not as they are written",
    "the entry is not of this time",
    "there is no such allocation to spend from",
    "this allocation has expired",
    "this allocation is for other people",
    "this release is paid for",
}


def no_such_budget(address: Address) -> errors.NoSuchFile:
    return errors.NoSuchFile(
        f"There is no ledger {address.location!r}. Check the address, or begin a budget there by giving its limits.",
        example=_BEGIN,
    )


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
