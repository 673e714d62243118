"""Random steps in the life of a budget, through public names; and forged entries, which only the ledger's own rules
judge.

A step is told as a function of a budget's address and of those who hold it, so that the same one is taken at a file and
at a server.
"""

from __future__ import annotations

import functools
import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

import leastnoise as ln

COUNTS = np.array([120, 0, 45])
SHARES: list[Any] = [0.01, 0.02, 0.05, 0.1, "1/7", 0.25, 1, "1/1000000"]
NAMES = ["maps", "trips", "süd"]
TERMS: list[dict[str, Any]] = [
    {"epsilon": 1, "delta": 1e-6},
    {"epsilon": 1, "delta": 0},
    {"epsilon": 2, "delta": 1e-6, "pure_epsilon": 0.5, "threshold_delta": 5e-7},
    {"epsilon": 1, "delta": 1e-6, "threshold_delta": 1e-7, "unit": "person", "table": "people"},
    {"epsilon": 3, "delta": 1e-5, "neighbours": "replace", "threshold_delta": 1e-6},
    {"epsilon": 1, "delta": 1e-6, "releases": 4},
]


@dataclass(slots=True)
class Holder:
    """Whoever has a budget open: at one place, as one or several users, of whom each step names one."""

    places: tuple[str, ...]  # addresses of the same ledger: the owner's first
    people: tuple[str, ...]  # the names of these users
    held: list[ln.Budget] = field(default_factory=list)

    def open(self, **terms: Any) -> None:
        """By the owner with these terms, then by everybody."""
        first = ln.Budget.open(self.places[0], **terms)
        self.held = [first, *(ln.Budget.open(place) for place in self.places[1:])]

    def budget(self, user: int, part: str | None) -> ln.Budget:
        whole = self.held[user % len(self.held)]
        return whole if part is None else whole.allocation(part)


Step = Callable[[Holder], Any]


def rows_of(people: int, unit: str = "person") -> pl.DataFrame:
    return pl.DataFrame({unit: range(people), "ward": ["a"] * people})


def unreadable(frame: pl.DataFrame) -> pl.LazyFrame:
    """Rows that cannot be read, which shows when they are."""

    def fail(_: pl.DataFrame) -> pl.DataFrame:
        raise OSError

    return frame.lazy().map_batches(fail, schema=frame.schema)


@functools.cache
def questions() -> dict[str, Any]:
    people = ln.table(rows_of(30), unit="person", name="people")
    return {
        "people": people.count_units(),
        "unknown keys": people.histogram("ward", max_rows=1),
        "another table": ln.table(rows_of(30), unit="person", name="others").count_units(),
        "another unit": ln.table(rows_of(30, "taxi"), unit="taxi", name="people").count_units(),
        "replaced": ln.table(rows_of(30), unit="person", name="people", neighbours="replace").count_units(),
        "unreadable": ln.table(unreadable(rows_of(30)), unit="person", name="people").count_units(),
    }


def price(chance: random.Random) -> dict[str, Any]:
    """How much is asked for: from next to nothing to far too much, in every way to say it."""
    return chance.choice(
        [
            *[lambda: {"share": chance.choice(SHARES)}] * 4,
            lambda: {"epsilon": chance.choice([1e-6, 0.02, 0.1, 0.3, 50]), "delta": chance.choice([1e-9, 1e-6])},
            lambda: {"epsilon": chance.choice([1e-6, 0.02, 0.1, 0.3, 50]), "delta": 0},
            lambda: {"sigma": chance.choice([1e-3, 20.0, 100.0, 1e9])},
        ]
    )()


def vector(chance: random.Random, user: int, part: str | None) -> Step:
    """A vector, under either relation, with either noise."""
    other = chance.choice([None] * 6 + ["add-remove", "replace"])
    how: dict[str, Any] = chance.choice([{}, {"mechanism": "gaussian"}, {"mechanism": "laplace", "l1_sensitivity": 1}])
    how |= price(chance) | {"note": chance.choice(["", "the weekly map", 'süd \\ "東" 👩'])}

    def step(holder: Holder) -> None:
        budget = holder.budget(user, part)
        ln.release(COUNTS, sensitivity=1, neighbours=other or budget.terms.neighbours, budget=budget, **how)

    return step


def question(chance: random.Random, user: int, part: str | None) -> Step:
    """A question of a table: the budget's or another, of its unit or another, of unknown keys, or of rows that fail."""
    asked = questions()[chance.choice([*questions(), "people", "people", "unknown keys", "unreadable", "unreadable"])]
    paid = {"share": chance.choice(SHARES)} if chance.random() < 0.8 else {"epsilon": 0.1, "delta": 1e-8}
    return lambda holder: asked.release(budget=holder.budget(user, part), **paid) and None


def allocate(chance: random.Random, _: int, part: str | None) -> Step:
    """By the owner: for everybody, for those who hold the budget, or for somebody else."""
    name, share, whom = chance.choice(NAMES), chance.choice(SHARES), chance.choice(["all", "us", "others", "others"])
    note = chance.choice(["", "for spring"])

    def step(holder: Holder) -> None:
        people = {"all": (), "us": holder.people, "others": ("nobody",)}[whom]
        holder.budget(0, part).allocate(name, share=share, people=people, note=note)

    return step


def give_back(chance: random.Random, _: int, part: str | None) -> Step:
    return lambda holder: holder.budget(0, part).return_unused(note="over")


def close(chance: random.Random, _: int, part: str | None) -> Step:
    return lambda holder: holder.budget(0, part).close(reason="looked into")


def reopen(chance: random.Random, _: int, part: str | None) -> Step:
    return lambda holder: holder.budget(0, part).reopen(reason="found")


def open_again(chance: random.Random, _: int, part: str | None) -> Step:
    """As it is, as the other kind, with a plan, or with limits that are not its own."""
    terms = chance.choice([{}, *TERMS, {"releases": 7}, {"epsilon": 1, "delta": 0}, {"epsilon": 1, "delta": 1e-6}])
    return lambda holder: holder.open(**terms)


STEPS = [*[vector] * 8, *[question] * 4, *[allocate] * 3, give_back, give_back, close, open_again]


def some_step(chance: random.Random, now: ln.Budget) -> tuple[str, Step]:
    """One that may follow on what a budget is now, or may not."""
    parts = [each.name for each in now.allocations]
    some: list[str | None] = [None, None, *parts[-2:]]
    part = chance.choice(some) if chance.random() < 0.97 else NAMES[0]
    early = [open_again] * 12 if not now.history() else []
    made = reopen if chance.random() < (0.5 if now.closed else 0.02) else chance.choice(STEPS + early)
    if made is give_back and parts:
        part = parts[-1]
    return made.__name__, made(chance, chance.randrange(2), part)


def outcome(step: Callable[[], Any]) -> Any:
    """What a step returns, or how it is refused: which error, about what, and the largest share that fits."""
    try:
        return step()
    except ln.errors.LeastnoiseError as refusal:
        facts = (getattr(refusal, "parameter", None), getattr(refusal, "largest_share", None))
        return type(refusal).__name__, *map(str, facts)


OF_AN_ENTRY = (
    "number", "kind", "gaussian", "pure", "threshold", "query", "noise", "unit", "table", "note", "allocation",
    "share",
)  # fmt: skip


def state(budget: ln.Budget) -> dict[str, Any]:
    """All that a budget says of itself, but for times, names of users and random ids."""
    known = {name: getattr(budget, name) for name in ("remaining", "unit", "table", "closed", "terms")}
    entries = [tuple(getattr(each, name) for name in OF_AN_ENTRY) for each in budget.history()]
    parts = [(each.name, each.returned, budget.allocation(each.name).remaining) for each in budget.allocations]
    return known | {"entries": entries, "parts": parts}


@dataclass(frozen=True, slots=True)
class Forgery:
    """What somebody who writes to a ledger by hand would like to be an entry: a debit, or the closing of one."""

    kind: str
    place: int  # of its account: the budget, its allocations in their order, and one that is not there
    amounts: tuple[int, int, int]  # which of `_amounts` in each currency
    off: int  # by which a sum is wrong
    paid_twice: bool

    @classmethod
    def drawn(cls, chance: random.Random) -> Forgery:
        amounts = [chance.choice([0, 0, 1, 4, 4, 4]) for _ in range(3)]
        if chance.random() < 0.4:
            amounts[chance.randrange(3)] = chance.choice([2, 3, 3])
        kind, off = chance.choice(["release"] * 9 + ["close"]), chance.choice([0] * 12 + [1, -1])
        return cls(kind, chance.choice([0, 0, 0, 1, 2, 9]), tuple(amounts), off, chance.random() < 0.05)  # type: ignore[arg-type]

    def fields(self, entries: list[dict[str, Any]], caps: dict[str, int], who: str) -> dict[str, Any]:
        """The next entry after these, as the table of entries names its columns. `caps`: of the budget, in atoms."""
        made = [each for each in entries if each["kind"] == "allocate"]
        accounts = ["", *(each["release"] for each in made)]
        account = accounts[self.place] if self.place < len(accounts) else "nobody"
        if self.kind == "close":
            account = ""
        own = caps if not account else next((each for each in made if each["release"] == account), caps)
        before = next((each for each in reversed(entries) if each["account"] == account), None)
        paid = [each["release"] for each in entries if each["kind"] == "release"]
        twice = (self.paid_twice or self.kind == "close") and paid
        fields = {
            "number": len(entries) + 1, "made": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "kind": self.kind, "release": paid[-1] if twice else f"forged{len(entries)}",
            "query": "rows could not be read" if self.kind == "close" else "forged", "noise": "", "unit": "",
            "table": "", "account": account, "details": json.dumps({"who": who}, separators=(",", ":")),
        }  # fmt: skip
        for which, name in zip(self.amounts, ("gaussian", "pure", "threshold"), strict=True):
            spent = int(before[f"spent_{name}"]) if before else 0
            left = max(int(own[name]) - spent, 0)
            cost = (0, 1, left, left + 1, left // 3)[0 if self.kind == "close" else which]
            fields |= {name: str(cost), f"spent_{name}": str(max(spent + cost + self.off, 0))}
        return fields


def next_hash(previous: str, fields: list[Any]) -> str:
    """The chain, as every ledger has it."""
    return hashlib.sha256("\0".join([previous, *map(str, fields)]).encode()).hexdigest()
