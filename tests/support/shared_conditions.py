"""Conditions whose parts stand in several places, drawn at random; each as Ibis and, with None for null, in Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ibis

Truth = bool | None
CELLS: list[tuple[Truth, ...]] = [
    (a, b, c) for a in (None, True, False) for b in (None, True, False) for c in (None, True, False)
]
COLUMNS = ("a", "b", "c")


def negated(value: Truth) -> Truth:
    return None if value is None else not value


def both(one: Truth, other: Truth) -> Truth:
    return False if one is False or other is False else (None if one is None or other is None else True)


def unlike(one: Truth, other: Truth) -> Truth:
    return None if one is None or other is None else one != other


@dataclass(frozen=True)
class Rule:
    """An operation on truth values: its meaning, and how Ibis writes it."""

    takes: int
    meaning: Callable[..., Truth]
    written: Callable[..., Any]


RULES = {
    "not": Rule(1, negated, lambda a: ~a),
    "and": Rule(2, both, lambda a, b: a & b),
    "or": Rule(2, lambda a, b: negated(both(negated(a), negated(b))), lambda a, b: a | b),
    "=": Rule(2, lambda a, b: negated(unlike(a, b)), lambda a, b: a == b),
    "<>": Rule(2, unlike, lambda a, b: a != b),
    "is null": Rule(1, lambda a: a is None, lambda a: a.isnull()),
    "is known": Rule(1, lambda a: a is not None, lambda a: a.notnull()),
    "in": Rule(1, lambda a: a, lambda a: a.isin([True])),
    "if": Rule(3, lambda a, b, c: b if a else c, ibis.ifelse),
    "coalesce": Rule(2, lambda a, b: b if a is None else a, ibis.coalesce),
    "less": Rule(
        2, lambda a, b: None if a is None or b is None else a < b, lambda a, b: a.cast("int64") < b.cast("int64")
    ),
}


@dataclass(frozen=True, eq=False)
class Condition:
    """A column, or an operation on conditions, some of which are the same object."""

    word: str
    parts: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        return f"{self.word}({', '.join(map(str, self.parts))})" if self.parts else self.word

    def meaning(self, row: dict[str, Truth]) -> Truth:
        """What it is in this row."""
        if not self.parts:
            return row[self.word]
        return RULES[self.word].meaning(*(part.meaning(row) for part in self.parts))

    def written(self, rows: Any, made: dict[int, Any] | None = None) -> Any:
        """The Ibis expression; a part that stands in several places is one expression in all of them."""
        made = {} if made is None else made
        if id(self) not in made:
            given = [part.written(rows, made) for part in self.parts]
            made[id(self)] = RULES[self.word].written(*given) if given else rows[self.word]
        return made[id(self)]


def condition(seed: int) -> Condition:
    """One of three to nine operations, each on some of the last few."""
    chance = random.Random(seed)
    made = [Condition(name) for name in COLUMNS]
    for _ in range(chance.randint(3, 9)):
        word = chance.choice(list(RULES))
        made.append(Condition(word, tuple(chance.choice(made[-4:]) for _ in range(RULES[word].takes))))
    return made[-1]
