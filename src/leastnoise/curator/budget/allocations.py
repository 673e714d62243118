"""Allocations: parts of a budget that others spend from, in the same ledger.

An allocation is an entry that debits its parent with all of the allocation's caps at once. Releases are then paid from
it under those caps, and debit nobody else. What it did not use may be returned, which ends it.

Proof that the parent's promise is kept, each release being chosen after seeing all earlier ones, wherever they were
paid from. Let b be the sum of what the parent's own entries cost (releases, allocations in full, less what was
returned), and s the sum of what all releases cost, its own and those of its allocations. At every moment s <= b in
every amount: a release of the parent adds the same to both; an allocation adds its caps c >= 0 to b; a release of an
allocation adds to s alone, and all of its releases together at most c, which b already holds; a return takes c - (what
the allocation spent) from b, and nothing is paid from it afterwards.
The parent's filter allows b and asks of every amount only that it be small enough, so it allows s: the releases, in the
order of the ledger, are one adaptive sequence that the filter of `terms` stops in time. By induction that
holds for allocations of allocations.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING

from leastnoise import errors
from leastnoise.curator.budget.charge import check_fits
from leastnoise.curator.budget.ledger import Reader, next_entry
from leastnoise.curator.budget.state import Allocation, Row, State, checked_line
from leastnoise.curator.budget.terms import Share, share_of

if TYPE_CHECKING:
    from leastnoise.curator.budget.budget import Budget

MAX_NAME_CHARACTERS = 80


def named(allocations: Iterable[Allocation], name: str, budget: str) -> Allocation:
    """The allocation of this name that is not returned; else the last of this name."""
    found = [each for each in allocations if each.name == name]
    if not found:
        listed = ", ".join(f'"{each.name}"' for each in allocations) or "none"
        raise errors.InvalidParameter(
            f"The budget {budget!r} has no allocation {name!r}. Its allocations: {listed}.",
            parameter="allocation",
            value=name,
        )
    return next((each for each in found if not each.returned), found[-1])


def checked_people(people: object) -> list[str]:
    """Names of those who may spend, each one line."""
    single = isinstance(people, str)
    listed: Sequence[object] = [people] if single else list(people) if isinstance(people, Iterable) else [None]
    words = [each.strip() if isinstance(each, str) else "" for each in listed]
    if not all(word and word.isprintable() and len(word) <= MAX_NAME_CHARACTERS for word in words):
        raise errors.InvalidParameter(
            "people are names: of users of this machine, or with PostgreSQL of roles.",
            example={"people": ["ann", "ben"]},
        )
    return words


def checked_expiry(expires: object, now: datetime) -> datetime | None:
    """The moment from which on nothing can be paid any more: a day is the end of that day, in UTC."""
    if expires is None:
        return None
    moment: datetime | None = None
    if isinstance(expires, str):
        try:
            expires = date.fromisoformat(expires) if len(expires) == 10 else datetime.fromisoformat(expires)
        except ValueError:
            expires = None
    if isinstance(expires, datetime):
        moment = expires if expires.tzinfo is not None else expires.replace(tzinfo=UTC)
    elif isinstance(expires, date):
        moment = datetime.combine(expires, time.max, tzinfo=UTC)
    if moment is None or moment <= now:
        raise errors.InvalidParameter(
            "expires is a day, or a moment, in the future.", example={"expires": f"{now.year + 1}-12-31"}
        )
    return moment.astimezone(UTC)


def allocate(
    budget: Budget,
    name: str,
    *,
    share: Share,
    people: object,
    expires: object,
    note: str,
) -> Budget:
    """See `Budget.allocate`."""
    facts = {"people": checked_people(people), "note": checked_line("note", note, needed=False)}
    words, own_id = checked_line("name", name, most=MAX_NAME_CHARACTERS), secrets.token_hex(8)
    cost = budget.terms.portion(share_of(share))
    checked_expiry(expires, datetime.now(UTC))  # a mistake in it is refused before anything is looked at

    def make(state: State, reader: Reader) -> Row:
        budget._check_open(state, reader)
        _refuse_second(state, words)
        above = state.allocation(budget._id).expires_at if budget._id else None
        moments = [each for each in (checked_expiry(expires, reader.now), above) if each is not None]
        until = min(moments).isoformat(timespec="seconds") if moments else None
        check_fits(cost, state.spent[budget._id], budget.terms, budget.name)
        return next_entry(state, reader, "allocate", own_id, words, cost, budget._id, expires=until, **facts)

    budget._append(make)
    return budget.allocation(words)


def check_spendable(allocation: Allocation, reader: Reader) -> None:
    """Refuse a debit of an allocation that was returned or expired, or that is for others."""
    if allocation.returned:
        raise errors.BudgetClosed(f"The allocation {allocation.name!r} was returned, so nothing can be paid from it.")
    if allocation.expires_at is not None and reader.now >= allocation.expires_at:
        raise errors.BudgetClosed(
            f"The allocation {allocation.name!r} expired on {allocation.expires_at:%Y-%m-%d %H:%M} UTC, so nothing can "
            "be paid from it. What it did not use can be returned."
        )
    if allocation.people and reader.who not in allocation.people:
        raise errors.LedgerForbidden(
            f"The allocation {allocation.name!r} is for {', '.join(allocation.people)}, and you are {reader.who}. "
            "Nothing was debited and nothing released."
        )


def _refuse_second(state: State, name: str) -> None:
    """One open allocation of a name: people call it by that."""
    if any(each.name == name and not each.returned for each in state.allocations):
        raise errors.InvalidParameter(
            f"There is an allocation {name!r} already. Give another name, or return that one first.",
            parameter="name",
            value=name,
        )


def return_unused(budget: Budget, *, note: str) -> None:
    """See `Budget.return_unused`."""
    words = checked_line("note", note, needed=False)
    if not budget._id:
        raise errors.InvalidParameter("Only an allocation can be returned, and this is a budget of its own.")

    def make(state: State, reader: Reader) -> Row:
        mine = state.allocation(budget._id)
        _check_returnable(mine, state)
        back = mine.spent - mine.caps
        return next_entry(state, reader, "return", mine.id, mine.name, back, mine.parent, note=words)

    budget._append(make)


def _check_returnable(mine: Allocation, state: State) -> None:
    if state.moving is not None:
        raise errors.BudgetClosed(
            f"The budget was moved to {state.moving.query}, and this ledger is sealed. Return it there."
        )
    if mine.returned:
        raise errors.InvalidParameter(f"The allocation {mine.name!r} is returned already.")
    if below := state.open_parts(mine.id):
        raise errors.InvalidParameter(
            f"The allocation {mine.name!r} has parts that are still open: {', '.join(below)}. Return those first."
        )
