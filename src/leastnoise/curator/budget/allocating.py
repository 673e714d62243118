"""Making an allocation, and returning what it did not use: the entries, and what is refused."""

from __future__ import annotations

import os
import secrets
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise.curator.budget import privacy_filter
from leastnoise.curator.budget.account import Account, written_time
from leastnoise.curator.budget.allocation import Allocation, checked_expiry, checked_name, checked_people
from leastnoise.curator.budget.debit import exhausted
from leastnoise.curator.budget.entry_row import Head, Row, written_details
from leastnoise.curator.budget.ledger import Ledger
from leastnoise.curator.budget.lines import checked_line
from leastnoise.curator.budget.opening import absolute_path
from leastnoise.curator.budget.privacy_filter import Cost
from leastnoise.curator.budget.shares import Share
from leastnoise.curator.budget.sqlite_store import SqliteStore
from leastnoise.curator.budget.store import Snapshot

if TYPE_CHECKING:
    from leastnoise.curator.budget.budget import Budget


def allocate(
    budget: Budget,
    name: str,
    *,
    share: Share,
    people: object,
    expires: object,
    path: str | os.PathLike[str] | None,
    note: str,
) -> Budget:
    """See `Budget.allocate`."""
    account = budget._account
    facts = {
        "people": checked_people(people),
        "note": checked_line("note", note, needed=False),
    }
    words, own_id = checked_name(name), secrets.token_hex(8)
    cost = account.terms.allocation_share(privacy_filter.share_of(share))
    checked_expiry(expires, datetime.now(UTC))  # a mistake in it is refused before anything is looked at

    def debit(root: str) -> None:
        account.append(
            lambda state, head, last: _entry(account, state, head, last, words, own_id, cost, expires, facts, root)
        )

    if path is None:
        debit("")
        return budget.allocation(words)
    return type(budget)(Account(_own_file(account, path, own_id, cost, debit)))


def _entry(
    account: Account,
    state: Snapshot,
    head: Head,
    last: Row | None,
    name: str,
    own_id: str,
    cost: Cost,
    expires: object,
    facts: dict[str, Any],
    root: str,
) -> Row:
    """The entry that debits the whole allocation."""
    account.check_open(state, last)
    _refuse_second(account, state, name)
    moment = checked_expiry(expires, state.now)
    above = account.allocation
    if above is not None and above.expires_at is not None:
        moment = above.expires_at if moment is None else min(moment, above.expires_at)
    before = account.spent(state)
    if not account.terms.allows(before + cost):
        raise exhausted(cost, before, account.terms, account.name)
    details = {
        "who": state.who,
        "expires": None if moment is None else moment.isoformat(timespec="seconds"),
        "root": root,
    }
    at, spent = written_time(state.now), before + cost
    return Row(
        head.number + 1,
        at,
        "allocate",
        own_id,
        name,
        "",
        "",
        "",
        cost,
        spent,
        account.id,
        written_details(details | facts),
    )


def _refuse_second(account: Account, state: Snapshot, name: str) -> None:
    """One open allocation of a name: people call it by that."""
    if any(each.name == name and not each.returned for each in account.allocations(state)):
        raise errors.InvalidParameter(
            f"There is an allocation {name!r} already. Give another name, or return that one first.",
            parameter="name",
            value=name,
        )


def _own_file(account: Account, path: str | os.PathLike[str], own_id: str, cost: Cost, debit: Any) -> Ledger:
    """A new ledger for the allocation. It appears after its debit: what fails between costs budget, not privacy."""
    place = absolute_path(path)
    if os.path.lexists(place):
        raise errors.BadOutput(f"{str(place)!r} is there already, and is never replaced. Give another path.")
    terms = account.whole.part_of(account.terms.part_in(cost)).to_texts()
    of = {"id": own_id, "part_of": account.name, "root": account.ledger.root}
    for label in ("unit", "table"):
        known: str | None = account.read(partial(account.label, label))
        if known is not None:
            terms[label] = known
    try:
        SqliteStore.create(place, terms | of, before_it_appears=debit)
    except FileExistsError:
        raise errors.BadOutput(f"{str(place)!r} is there already, and is never replaced. Give another path.") from None
    return Ledger(SqliteStore(place))


def return_unused(budget: Budget, *, note: str) -> None:
    """See `Budget.return_unused`."""
    account, words = budget._account, checked_line("note", note, needed=False)
    mine = account.allocation
    if mine is None:
        raise errors.InvalidParameter("Only an allocation can be returned, and this is a budget of its own.")

    def make(state: Snapshot, head: Head, last: Row | None) -> Row:
        _check_returnable(mine, account.allocations(state), last)
        back = Cost() - (account.terms.caps - account.spent(state))
        spent = account.spent(state, mine.parent) + back
        at, details = written_time(state.now), written_details({"who": state.who, "note": words})
        return Row(head.number + 1, at, "return", mine.id, mine.name, "", "", "", back, spent, mine.parent, details)

    account.append(make)


def _check_returnable(mine: Allocation, all_of_them: list[Allocation], last: Row | None) -> None:
    if last is not None and last.kind == "move":
        raise errors.BudgetClosed(f"The budget was moved to {last.query}, and this ledger is sealed. Return it there.")
    if mine.own_file:
        raise errors.BudgetMismatch(
            f"The allocation {mine.name!r} is in a file of its own, which may be spent from anywhere at any time, so "
            "it can never be returned."
        )
    if any(each.id == mine.id and each.returned for each in all_of_them):
        raise errors.InvalidParameter(f"The allocation {mine.name!r} is returned already.")
    below = [each.name for each in all_of_them if each.parent == mine.id and not each.returned and not each.own_file]
    if below:
        raise errors.InvalidParameter(
            f"The allocation {mine.name!r} has parts that are still open: {', '.join(below)}. Return those first."
        )
