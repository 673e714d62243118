"""Carrying a ledger over to a server: every entry with its hash, and the old file sealed.

The order is what keeps one part of the budget from being spent twice. Under the file's lock, all entries are written on
the server, in a transaction that is not yet committed; then the file is sealed, durably, by an entry that says where
to; then the server gets that entry and one that says it arrived, and commits. If that commit fails, the file is sealed
and the server has nothing: the same move can be done again. A copy of the file that was made before is beyond reach.
"""

from __future__ import annotations

import os
import secrets

from leastnoise import errors
from leastnoise.curator.budget import postgres_url
from leastnoise.curator.budget.budget import Budget
from leastnoise.curator.budget.ledger import Reader, next_entry
from leastnoise.curator.budget.postgres_store import PostgresStore, PostgresWriter
from leastnoise.curator.budget.state import COLUMNS, Head, Row, State, written_details, written_time

_KIND = COLUMNS.index("kind")


def move(source: str | os.PathLike[str], target: str) -> Budget:
    """Carry the budget in this file over to this address; the budget there.

    - `source`: a ledger file, which is sealed: nothing is paid from it any more.
    - `target`: postgresql://host/db?budget=NAME, where no budget of that name is.
    """
    if postgres_url.is_url(source) or not postgres_url.is_url(target):
        raise errors.InvalidParameter(
            "A budget is moved from a file to an address that begins with postgresql://.", parameter="path"
        )
    old = Budget.open(source)
    old.verify()
    store = PostgresStore(postgres_url.parsed(target))
    if store.exists():
        return _there_already(old, target, store.location)
    with store.importing(old._ledger.terms, old.terms) as draft:
        moved, head = _sealed(old, draft, store.location)
        arrived = moved._replace(
            number=moved.number + 1,
            created_at=written_time(draft.reader.now),
            kind="arrive",
            query=f"moved from {old.name}",
            details=written_details({"who": draft.reader.who}),
        )
        draft.insert(moved.to_fields(), head)
        draft.insert(arrived.to_fields(), Head(arrived.number, arrived.hash_after(head.hash)))
    return Budget.open(target)


def _sealed(old: Budget, draft: PostgresWriter, target: str) -> tuple[Row, Head]:
    """Copy all entries and seal the file, all under its lock; the entry that seals it, which is not copied."""

    def copy(reader: Reader) -> None:
        for *fields, written in reader.entries():
            if fields[_KIND] != "move":
                draft.insert(fields, Head(fields[0], written))

    def make(state: State, reader: Reader) -> Row:
        copy(reader)
        return next_entry(state, reader, "move", secrets.token_hex(8), target)

    state = old._state()
    if state.moving is None:
        state = old._append(make)  # of the terms whose caps the server has
    elif state.moving.query != target:  # only the move that did not arrive can be done again
        raise errors.BudgetClosed(
            f"The budget {old.name!r} was moved to {state.moving.query}, and this ledger is sealed."
        )
    else:
        with old._ledger.store.reading() as reader:
            copy(reader)
    assert state.moving is not None
    return state.moving, state.head


def _there_already(old: Budget, target: str, location: str) -> Budget:
    """The budget there, if it is this one and arrived, though nobody was told."""
    moving = old._state().moving
    if moving is not None and moving.query == location:
        there = Budget.open(target)
        if there._ledger.terms == old._ledger.terms:
            return there
    raise errors.BadOutput(f"There is something at {location!r} already. Nothing was moved. Give another name.")
