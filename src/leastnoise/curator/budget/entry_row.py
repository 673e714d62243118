"""One entry as it is written, and the hash that chains it to the one before.

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
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from leastnoise import errors
from leastnoise.curator.budget.terms import Cost

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
        amounts = fields[len(WORDS) : -2]
        numbers = [int(amount) for amount in amounts]
        if list(map(str, numbers)) != list(amounts):
            raise ValueError  # " 7" and "07" are 7 too, and not what was written
        _facts(fields[-1])
        return cls(*fields[: len(WORDS)], Cost(*numbers[:3]), Cost(*numbers[3:]), *fields[-2:])  # type: ignore[call-arg]

    def hash_after(self, previous: str) -> str:
        return hash_of(previous, self.to_fields())

    @property
    def facts(self) -> Mapping[str, Any]:
        """The details, as values."""
        return _facts(self.details)


@lru_cache(maxsize=1024)  # of most entries they are the same
def _facts(details: str) -> dict[str, Any]:
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
    return json.dumps(there, sort_keys=True, separators=(",", ":")) if there else ""


def written_time(now: datetime) -> str:
    """A moment in UTC, as entries have it."""
    return now.isoformat(timespec="milliseconds")


def checked_line(name: str, words: object, *, needed: bool = True) -> str:
    """A reason or a note: one line, which the ledger keeps."""
    if not isinstance(words, str):
        raise errors.WrongType(f"{name} must be a sentence. Got {type(words).__name__} instead.", parameter=name)
    line = words.strip()
    if (needed and not line) or len(line) > MAX_CHARACTERS or not line.isprintable():
        raise errors.InvalidParameter(
            f"{name} must be one line of {int(needed)} to {MAX_CHARACTERS} characters: the ledger keeps it for whoever "
            "asks later.",
            parameter=name,
            example={name: "the disk was full; it has room now" if name == "reason" else "the weekly map"},
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
