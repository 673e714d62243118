"""Allocations: parts of a budget that others spend from, in the same ledger or in a file of their own.

An allocation is an entry that debits its parent with all of the allocation's caps at once. Releases are then paid from
it under those caps, and debit nobody else. What it did not use may be returned, which ends it.

Proof that the parent's promise is kept, each release being chosen after seeing all earlier ones, wherever they were
paid from. Let b be the sum of what the parent's own entries cost (releases, allocations in full, less what was
returned), and s the sum of what all releases cost, its own and those of its allocations. At every moment s <= b in
every amount: a release of the parent adds the same to both; an allocation adds its caps c >= 0 to b; a release of an
allocation adds to s alone, and all of its releases together at most c, which b already holds; a return takes c - (what
the allocation spent) from b, and nothing is paid from it afterwards. (Where Laplace releases alone may spend epsilon
instead, an allocation costs more than all of epsilon, which no return gives back: from then on only the caps decide.)
The parent's filter allows b and asks of every amount only that it be small enough, so it allows s: the releases, in the
order of the ledger, are one adaptive sequence that the filter of `privacy_filter` stops in time. By induction that
holds for allocations of allocations. With a file of its own an allocation is spent from out of the ledger's sight, so
its part can never be returned; and if that file is copied and both copies are spent from, s may pass b: no file can
prevent that, and `reconcile` finds it only when both are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from fractions import Fraction

from leastnoise import errors
from leastnoise.curator.budget.entry_row import Row
from leastnoise.curator.budget.privacy_filter import Cost, Terms

MAX_NAME_CHARACTERS = 80
_NAME = errors.Code('name="maps team"', '--name "maps team"')


@dataclass(frozen=True, slots=True)
class Allocation:
    """A part of a budget, and what became of it."""

    id: str
    number: int  # of the entry that made it
    name: str
    parent: str  # the id of the allocation that it is a part of; "" is the budget itself
    caps: Cost
    share: Fraction  # of the parent's caps, the largest
    spent: Cost
    people: tuple[str, ...]  # who may spend from it; nobody named: anybody who may spend from the budget
    expires_at: datetime | None
    root: str  # the hash of the terms of the file that it is spent from; "": it is spent from in this ledger
    returned: bool

    @property
    def own_file(self) -> bool:
        """Whether it is spent from in a file of its own."""
        return bool(self.root)

    @property
    def spent_share(self) -> float:
        """The part of it that is spent, as far as this ledger knows."""
        return float(max(self.spent.shares(self.caps)))

    def state(self, now: datetime) -> str:
        """open, expired, returned, or in a file of its own."""
        if self.returned:
            return "returned"
        if self.own_file:
            return "in a file of its own"
        return "expired" if self.expires_at is not None and now >= self.expires_at else "open"

    @classmethod
    def from_rows(cls, rows: Iterable[Row], terms: Terms) -> list[Allocation]:
        """All allocations of a ledger with these terms, in the order in which they were made."""
        made: dict[str, Row] = {}
        spent: dict[str, Cost] = {}
        returned: set[str] = set()
        for row in rows:
            spent[row.account] = row.spent
            if row.kind == "allocate":
                made[row.release] = row
            elif row.kind == "return":
                returned.add(row.release)
        found = []
        for row in made.values():
            caps, facts = terms.part_in(row.cost), row.facts
            above = terms.part_in(made[row.account].cost) if row.account else terms.caps
            expires = facts.get("expires")
            found.append(
                cls(
                    id=row.release,
                    number=row.number,
                    name=row.query,
                    parent=row.account,
                    caps=caps,
                    share=max(caps.shares(above)),
                    spent=spent.get(row.release, Cost()),
                    people=tuple(facts.get("people", ())),
                    expires_at=None if expires is None else datetime.fromisoformat(expires),
                    root=str(facts.get("root", "")),
                    returned=row.release in returned,
                )
            )
        return found


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


def checked_name(name: object) -> str:
    """The name of a new allocation, which people read in one line."""
    if not isinstance(name, str):
        raise errors.WrongType(
            f"An allocation has a name. Got {type(name).__name__} instead.",
            parameter="name",
            example=_NAME,
        )
    words = name.strip()
    if not words or len(words) > MAX_NAME_CHARACTERS or not words.isprintable():
        raise errors.InvalidParameter(
            f"The name of an allocation is one line of 1 to {MAX_NAME_CHARACTERS} characters.",
            parameter="name",
            example=_NAME,
        )
    return words


def checked_people(people: object) -> list[str]:
    """Names of those who may spend, each one line."""
    single = isinstance(people, str)
    listed: Sequence[object] = [people] if single else list(people) if isinstance(people, Iterable) else [None]
    words = [each.strip() if isinstance(each, str) else "" for each in listed]
    if not all(word and word.isprintable() and len(word) <= MAX_NAME_CHARACTERS for word in words):
        raise errors.InvalidParameter(
            "people are names: of users of this machine, or with PostgreSQL of roles.",
            parameter="people",
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
            "expires is a day, or a moment, in the future.",
            parameter="expires",
            example={"expires": f"{now.year + 1}-12-31"},
        )
    return moment.astimezone(UTC)
