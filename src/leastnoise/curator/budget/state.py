"""What a ledger says: a fold over its entries.

`fold` is the one reading of a ledger. A state is what the entries so far say together. The next entry is refused unless
its number and hash continue the chain, its sums are those of its account, no cap is passed and its kind may stand
there; then it gives the next state. Whoever opens a ledger folds all of it; whoever has it open folds what came since.
The server's function (`postgres_schema.py`) judges a debit by the same rules.

hash of entry n = SHA-256(hash of entry n - 1, all fields of entry n), each but the last followed by a zero character,
which no field has; the first one follows the hash of the terms. There is no key: the chain finds accidents and careless
edits, not a forger who recomputes it.

An entry belongs to an account: "" is the budget itself, any other one an allocation of it (`allocations.py`). Its sums
are those of its account. `details` is an object in JSON: who wrote the entry, a note, the file of the release, and what
an allocation is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from leastnoise import errors
from leastnoise.curator.budget.terms import NO_COST, Cost, Terms

WORDS = ("number", "made", "kind", "release", "query", "noise", "unit", "table")
MAX_CHARACTERS = 500  # of a reason or a note
AMOUNTS = ("gaussian", "pure", "threshold")
COLUMNS = (*WORDS, *AMOUNTS, *(f"spent_{name}" for name in AMOUNTS), "account", "details")


class Head(NamedTuple):
    """How far a ledger has come."""

    number: int
    hash: str


class Row(NamedTuple):
    """One entry as it is written, without its hash."""

    number: int
    created_at: str  # the column "made"
    kind: str
    release: str  # an id; of an allocation, and of its return, that of its account
    query: str
    noise: str
    unit: str
    table: str
    cost: Cost
    spent: Cost  # of the account, up to and including this entry
    account: str = ""
    details: str = ""

    def to_fields(self) -> list[int | str]:
        """What is written, in the order of COLUMNS."""
        words = (self.created_at, self.kind, self.release, self.query, self.noise, self.unit, self.table)
        return [self.number, *words, *map(str, (*self.cost, *self.spent)), self.account, self.details]

    @classmethod
    def from_fields(cls, fields: Sequence[Any]) -> Row:
        """The entry of these fields; ValueError or TypeError where they are not as anything here writes them."""
        if type(fields[0]) is not int:
            raise ValueError
        if datetime.fromisoformat(fields[1]).tzinfo is None:
            raise ValueError  # no moment, and compared with none
        amounts = [_amount(text) for text in fields[len(WORDS) : -2]]
        read_details(fields[-1])
        return cls(*fields[: len(WORDS)], Cost(*amounts[:3]), Cost(*amounts[3:]), *fields[-2:])  # type: ignore[call-arg]

    def hash_after(self, previous: str) -> str:
        return hash_of(previous, self.to_fields())

    @property
    def facts(self) -> Mapping[str, Any]:
        """The details, as values."""
        return read_details(self.details)


@lru_cache(maxsize=1024)  # of most entries they are the same, as details are
def _amount(text: str) -> int:
    amount = int(text)
    if str(amount) != text:
        raise ValueError(f"{text!r} is that number too, and not how it was written")
    return amount


@lru_cache(maxsize=1024)
def read_details(details: str) -> dict[str, Any]:
    """The facts in `details`; ValueError where they are not as `written_details` writes them."""
    try:
        facts = json.loads(details) if details else {}
    except RecursionError:
        raise ValueError("details lie in each other without end") from None
    if not isinstance(facts, dict) or written_details(facts) != details:
        raise ValueError("details are an object, written in one way")
    return facts


def written_details(facts: Mapping[str, Any]) -> str:
    """The facts that are there, as `details` has them."""
    there = {name: value for name, value in facts.items() if value}
    return _encode(there).encode("utf-8", "backslashreplace").decode() if there else ""  # half a character: \udc80


# Made once, since json.dumps would make one each time. Text is written as the server's to_json writes it.
_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def written_time(now: datetime) -> str:
    """A moment in UTC, as entries have it."""
    return now.isoformat(timespec="milliseconds")


_LINES = {"reason": "the disk was full; it has room now", "note": "the weekly map", "name": "maps team"}


def checked_line(name: str, words: object, *, needed: bool = True, most: int = MAX_CHARACTERS) -> str:
    """A reason, a note or a name: one line, which the ledger keeps."""
    example = {name: _LINES[name]}
    if not isinstance(words, str):
        raise errors.WrongType(
            f"{name} must be a string. Got {type(words).__name__} instead.", parameter=name, example=example
        )
    line = words.strip()
    if (needed and not line) or len(line) > most or not line.isprintable():
        raise errors.InvalidParameter(
            f"{name} must be one line of {int(needed)} to {most} characters: the ledger keeps it for whoever asks "
            "later.",
            parameter=name,
            example=example,
        )
    return line


def hash_of(previous: str, fields: Sequence[Any]) -> str:
    """The hash of an entry of these fields after that one."""
    return chained_hash(previous, (str(fields[0]), *fields[1:]))


def chained_hash(previous: str, words: Sequence[str]) -> str:
    """The hash of these words after that one; TypeError or ValueError where one is none, or has a zero character."""
    text = "\0".join((previous, *words))
    if text.count("\0") != len(words):
        raise ValueError("a word with a zero character would hash as two")
    return hashlib.sha256(text.encode()).hexdigest()


def root_hash(terms: Mapping[str, str]) -> str:
    """The hash of the terms, which the first entry follows."""
    return chained_hash("", [word for pair in sorted(terms.items()) for word in pair])


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
    returned: bool

    @property
    def spent_share(self) -> float:
        """The part of it that is spent."""
        return float(max(self.spent.shares(self.caps)))

    def state(self, now: datetime) -> str:
        """open, expired or returned."""
        if self.returned:
            return "returned"
        return "expired" if self.expires_at is not None and now >= self.expires_at else "open"

    @classmethod
    def made_by(cls, row: Row, above: Cost) -> Allocation:
        """The allocation that this entry makes of an account with those caps."""
        expires = row.facts.get("expires")
        return cls(
            id=row.release,
            number=row.number,
            name=row.query,
            parent=row.account,
            caps=row.cost,
            share=max(row.cost.shares(above)),
            spent=Cost(),
            people=tuple(row.facts.get("people", ())),
            expires_at=None if expires is None else datetime.fromisoformat(expires),
            returned=False,
        )


class WrongTerms(Exception):
    """The terms are not as anything here writes them."""


class WrongEntry(Exception):
    """An entry may not follow those before it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(slots=True)
class State:
    """What the entries up to `head` say together. A value: only `fold` makes one, from a copy."""

    terms: Terms  # those that hold now
    head: Head
    caps: dict[str, Cost]  # what each account may spend; "" is the budget itself
    last: Row | None = None
    spent: dict[str, Cost] = field(default_factory=lambda: {"": NO_COST})
    parts: dict[str, Allocation] = field(default_factory=dict)  # by account, as they were made
    returned: set[str] = field(default_factory=set)
    releases: set[str] = field(default_factory=set)  # the ids of those that are paid for
    unit: str | None = None
    table: str | None = None
    paid: bool = False  # something was, or is allocated, so that the terms are settled
    closing: Row | None = None  # the entry that closed the budget, while it is closed
    moving: Row | None = None  # the entry that says where the ledger was moved to, while it has not arrived

    @classmethod
    def begun(cls, texts: dict[str, str]) -> State:
        """The state of a ledger with these terms and no entry."""
        try:
            terms = Terms.from_texts(texts)
            head = Head(0, root_hash(texts))
        except (KeyError, ValueError, TypeError, AttributeError, ZeroDivisionError):
            raise WrongTerms from None
        return cls(terms, head, {"": terms.caps}, unit=terms.unit, table=terms.table)

    @property
    def allocations(self) -> list[Allocation]:
        """In the order in which they were made."""
        return [self.allocation(name) for name in self.parts]

    def allocation(self, account: str) -> Allocation:
        """The allocation that is this account, as it is now."""
        return replace(self.parts[account], spent=self.spent[account], returned=account in self.returned)

    def open_parts(self, account: str) -> list[str]:
        """The names of the allocations of an account that are not returned."""
        return [part.name for name, part in self.parts.items() if part.parent == account and name not in self.returned]

    def _copied(self) -> State:
        return replace(
            self,
            caps=dict(self.caps),
            spent=dict(self.spent),
            parts=dict(self.parts),
            returned=set(self.returned),
            releases=set(self.releases),
        )

    def _add(self, stored: Sequence[Any]) -> bool:
        """Whether the entry may follow; then it is one of those that this state is of."""
        number, fields = self.head.number + 1, stored[: len(COLUMNS)]
        row = Row.from_fields(fields)
        if row.number != number or hash_of(self.head.hash, fields) != stored[-1]:
            return False
        account, before = row.account, self.spent.get(row.account)
        if before is None or account in self.returned or (self.moving is not None and row.kind != "arrive"):
            return False
        after = before + row.cost
        if row.spent != after or not after.within(self.caps[account]) or not self._allows(row):
            return False
        self.spent[account] = after
        self.unit, self.table = self.unit or row.unit or None, self.table or row.table or None
        self.head, self.last = Head(number, stored[-1]), row
        return True

    def _allows(self, row: Row) -> bool:
        """Whether an entry of its kind may stand here; what it says, but for its sums, is then said.

        (It may be said before that is known: `fold` throws a state away in which an entry was refused.)
        """
        if row.kind in ("release", "allocate"):
            self.paid = True
            return self.closing is None and min(row.cost) >= 0 and self._debits(row)
        if row.kind == "return":
            return self._returns(row)
        return row.cost == NO_COST and self._says(row)

    def _debits(self, row: Row) -> bool:
        """A release, or an allocation, that is not there yet."""
        if row.kind == "release":
            new = row.release not in self.releases
            self.releases.add(row.release)
            return new
        new = bool(row.release) and row.release not in self.spent
        self.parts[row.release] = Allocation.made_by(row, self.caps[row.account])
        self.caps[row.release], self.spent[row.release] = row.cost, NO_COST
        return new

    def _says(self, row: Row) -> bool:
        """What costs nothing."""
        match row.kind:
            case "close":
                self.closing = row
                return not row.release or row.release in self.releases
            case "reopen":
                closing, self.closing = self.closing, None
                return closing is not None and row.release == closing.release
            case "move":
                self.moving = row
                return bool(row.release)
            case "arrive":
                moving, self.moving = self.moving, None
                return moving is not None and row.release == moving.release
            case "terms":
                return self.closing is None and not self.paid and not row.account and self._changes_terms(row)
        return False

    def _returns(self, row: Row) -> bool:
        """All that an allocation did not use goes back to what it is a part of, once."""
        part = self.parts.get(row.release)
        if part is None or part.parent != row.account or row.release in self.returned or self.open_parts(row.release):
            return False
        self.returned.add(row.release)
        return NO_COST - row.cost == self.caps[row.release] - self.spent[row.release]

    def _changes_terms(self, row: Row) -> bool:
        """Other terms of the same budget, before anything is paid: nobody has relied on those before."""
        before = self.terms
        try:
            self.terms = Terms.from_texts(row.facts["terms"])
        except (KeyError, ValueError, TypeError, AttributeError, ZeroDivisionError):
            return False
        self.caps[""] = self.terms.caps
        return self.terms.may_follow(before) and self.terms.is_proved()


def fold(state: State, entries: Iterable[Sequence[Any]]) -> State:
    """The state after these entries too: of each the fields in the order of COLUMNS, and its hash, as they are written.

    WrongEntry where one may not follow; `state` itself stays as it is.
    """
    after = state
    for stored in entries:
        after = state._copied() if after is state else after
        try:
            allowed = after._add(stored)
        except (TypeError, ValueError):  # not as anything here writes an entry
            allowed = False
        if not allowed:
            raise WrongEntry(after.head.number + 1)
    return after
