"""Expressions asked of a table in such a way that the answer tells the value in each row."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from expressions_at_random import COLUMNS, Grammar, Node
from extreme_rows import extreme_rows
from leastnoise.curator.queries.query import Query
from leastnoise.curator.table import Table
from leastnoise.errors import LeastnoiseError, ReadingFailed
from leastnoise.testing import aggregate

ROWS = 300
NUMBERS, KEYS = ("integer", "real"), ("integer", "text", "boolean", "date")


@dataclass(frozen=True)
class Question:
    """An expression of a kind, in one of its two writings, used in one of three ways."""

    node: Node
    in_ibis: bool
    way: str

    def __str__(self) -> str:
        return f"{self.way}, {'Ibis' if self.in_ibis else 'text'}: {self.node}"

    def query(self, rows: Table) -> Query:
        given: Any = self.node.ibis if self.in_ibis else str(self.node)
        every = {"keys": range(ROWS), "max_rows": 1}
        if self.way == "where":
            return rows.where(given).histogram("row", **every)
        derived = rows.derive(made=given)
        if self.way == "sum":
            return derived.sum("made", clip=(-1000, 1000), by="row", **every)
        return derived.histogram("made", max_rows=1, nulls="bin")

    def answer(self, rows: Table) -> dict[Any, int] | str:
        """The integers by row or by value; or what was wrong before any row was read."""
        try:
            query = self.query(rows)
        except ReadingFailed:
            raise
        except LeastnoiseError as error:
            return f"{type(error).__name__}: {error}"
        found = aggregate(query)
        bins = range(len(found.values)) if found.keys is None else found.keys
        return {key: int(value) for key, value in zip(bins, found.values, strict=True) if value}


def question(seed: int, *, kinds: tuple[str, ...] = ("boolean", *COLUMNS), **grammar: Any) -> Question:
    """The question of this seed."""
    chance = random.Random(seed)
    kind = chance.choice(kinds)
    node = Grammar(chance, **grammar).draw(kind, chance.choice([1, 2, 2, 3, 4]))
    ways = ["where"] * (kind == "boolean") + ["sum"] * (kind in NUMBERS) + ["keys"] * (kind in KEYS)
    if not ways:
        node, ways = Node("is null", "boolean", ("", node)), ["where"]
    return Question(node, chance.random() < 0.5, chance.choice(ways))


def added(parts: list[dict[Any, int]]) -> dict[Any, int]:
    """The integers of parts of a table, together."""
    total: dict[Any, int] = {}
    for part in parts:
        for key, value in part.items():
            total[key] = total.get(key, 0) + value
    return {key: value for key, value in total.items() if value}


def parts_of(seed: int = 1) -> dict[str, Any]:
    """The extreme rows: all of them, none, and two parts that together are all."""
    rows = extreme_rows(ROWS, seed)
    return {"all": rows, "none": rows.slice(0, 0), "some": rows.slice(0, 100), "rest": rows.slice(100)}
