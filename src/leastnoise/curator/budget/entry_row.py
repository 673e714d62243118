"""One entry as it is written, and the hash that chains it to the one before.

hash of entry n = SHA-256(hash of entry n - 1, all fields of entry n); the first one follows the hash of the terms.
There is no key: the chain finds accidents and careless edits, not a forger who recomputes it.

An entry belongs to an account: "" is the budget itself, any other one an allocation of it (`allocation.py`). Its sums
are those of its account. `details` is an object in JSON: who wrote the entry, a note, the file of the release, and what
an allocation is. An entry that has none of the fields that format 3 brought is hashed as it was before them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from leastnoise.curator.budget.privacy_filter import Cost

WORDS = ("number", "made", "kind", "release", "query", "noise", "unit", "table")
AMOUNTS = ("gaussian", "pure", "threshold")
NEWER = ("account", "details")
COLUMNS = (*WORDS, *AMOUNTS, *(f"spent_{name}" for name in AMOUNTS), *NEWER)


class Head(NamedTuple):
    """How far a ledger has come."""

    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class Row:
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
        words: list[int | str] = [
            self.number,
            self.created_at,
            self.kind,
            self.release,
            self.query,
            self.noise,
            self.unit,
            self.table,
        ]
        return [*words, *map(str, self.cost.parts + self.spent.parts), self.account, self.details]

    @classmethod
    def from_fields(cls, values: Sequence[Any]) -> Row:
        """The entry of these fields; ValueError where they are not as anything here writes them."""
        first, last = len(WORDS), len(WORDS) + 2 * len(AMOUNTS)
        words, amounts, newer = values[:first], values[first:last], values[last : len(COLUMNS)]
        numbers = [int(part) for part in amounts]
        words_only = type(words[0]) is int and all(isinstance(word, str) for word in values[1:])
        if not words_only or [str(number) for number in numbers] != list(amounts):
            raise ValueError  # " 7" and "07" are 7 too, and not what was written
        datetime.fromisoformat(words[1])
        half = len(AMOUNTS)
        row = cls(*words, Cost(*numbers[:half]), Cost(*numbers[half:]), *newer)  # type: ignore[call-arg]
        if row.details and row.details != written_details(row.facts):
            raise ValueError
        return row

    @property
    def facts(self) -> dict[str, Any]:
        """The details, as values."""
        facts = json.loads(self.details) if self.details else {}
        if not isinstance(facts, dict):
            raise ValueError("details must be an object")
        return facts

    def hash_after(self, previous: str) -> str:
        fields = self.to_fields()
        return chained_hash(previous, fields if any(fields[-len(NEWER) :]) else fields[: -len(NEWER)])


def written_details(facts: dict[str, Any]) -> str:
    """The facts that are there, as `details` has them."""
    there = {name: value for name, value in facts.items() if value}
    return json.dumps(there, sort_keys=True, separators=(",", ":")) if there else ""


def chained_hash(previous: str, values: Sequence[Any]) -> str:
    """The hash of these values after that one."""
    return hashlib.sha256(json.dumps([previous, *values]).encode()).hexdigest()


def root_hash(terms: dict[str, str]) -> str:
    """The hash of the terms, which the first entry follows."""
    return chained_hash("", [sorted(terms.items())])
