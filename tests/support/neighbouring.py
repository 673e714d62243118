"""What one unit may change, and what it does change: exact integers of neighbouring tables, compared exactly."""

from __future__ import annotations

import functools
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import ibis
import pyarrow as pa
from ibis.backends.sql import SQLBackend

import queries_at_random as queries
import tables_at_random as tables
from leastnoise.curator.engines import duckdb as engine
from leastnoise.curator.queries.query import Query
from leastnoise.curator.queries.statistics import Statistics
from leastnoise.curator.queries.unknown_keys import UnknownCounts, UnknownKeys
from leastnoise.curator.rows.totals import Aggregate
from leastnoise.errors import InvalidParameter, ReadingFailed
from leastnoise.privacy.thresholds import KeySelection
from leastnoise.testing import aggregate

Integers = dict[Any, int]
COUNTS = ("count", "units")  # of whole rows, so that a unit changes few bins


@contextmanager
def remembered_sql() -> Iterator[None]:
    """Within the block Ibis writes the SQL of equal expressions once: most of the time of a query on few rows."""
    write = SQLBackend.compile
    memory: dict[Any, str] = {}

    def remembered(backend: Any, expression: Any, **options: Any) -> str:
        if any(options.values()):
            return write(backend, expression, **options)
        if len(memory) > 64:
            memory.clear()
        asked = backend, expression.op()
        if asked not in memory:
            memory[asked] = write(backend, expression)
        return memory[asked]

    make, of_keys = ibis.memtable, dict[Any, Any]()

    def memtable(rows: pa.Table) -> Any:
        asked = rows.schema, tuple(map(tuple, rows.to_pydict().values()))
        return of_keys.setdefault(asked, make(rows))

    functions = mock.patch.object(engine, "builtin", functools.cache(engine.builtin))
    with functions, mock.patch.object(ibis, "memtable", memtable), mock.patch.object(SQLBackend, "compile", remembered):
        yield


def integers(found: Aggregate) -> Integers:
    """The answer by bin, whatever names the bins."""
    names = found.keys if found.keys is not None else found.indices
    places = list(range(len(found.values)) if names is None else names)
    if places and len(found.values) > len(places):  # several numbers of each key
        places = [(part, key) for part in range(len(found.values) // len(places)) for key in places]
    return dict(zip(places, (int(value) for value in found.values), strict=True))


def change(before: Integers, after: Integers) -> dict[Any, int]:
    """What differs, bin by bin."""
    moved = {key: after.get(key, 0) - before.get(key, 0) for key in {*before, *after}}
    return {key: size for key, size in moved.items() if size}


def exceeded(query: Query, moved: dict[Any, int], relation: str) -> list[str]:
    """Which claims the change breaks; what belongs to nobody may change nothing."""
    sizes, step, claim = [abs(size) for size in moved.values()], Fraction(query.grid), query.sensitivity
    if relation == "nobody":
        return ["rows of nobody count"] if moved else []
    if isinstance(query, UnknownKeys) and not isinstance(query, UnknownCounts):
        return costlier(query, moved)
    units = 2 if relation == "replace" else 1
    broken = {
        "L1": step * sum(sizes) > Fraction(claim.l1),
        "L2": step**2 * sum(size**2 for size in sizes) > Fraction(claim.l2) ** 2,
        "Linf": step * max(sizes, default=0) > Fraction(claim.linf),
        "bins": isinstance(query, Statistics | UnknownCounts)
        and query.kind in COUNTS
        and len(sizes) > units * query.limits.max_bins,
    }
    found = [name for name, is_broken in broken.items() if is_broken]
    return [*found, *costlier(query, moved)] if isinstance(query, Statistics) and query.kind == "summary" else found


def costlier(query: Statistics | UnknownKeys, moved: dict[Any, int]) -> list[str]:
    """The noise for which the change, each part in units of its own noise, costs more than is charged."""
    if isinstance(query, Statistics):
        planner, bins = query.planner, query._bins.size
        names = {place: query.asked.parts[place // bins].name for place in moved}
        normal, pure = planner.gaussian(Fraction(1, 3)), planner.laplace(7)
        charged = {"gaussian": (normal.scales, normal.cost), "laplace": (pure.scales, pure.cost)}
    else:
        several = len(query.parts) > 1
        names = {place: query.parts[place[0] if several else 0].name for place in moved}
        twice, limits, division = 2 if query.neighbours == "replace" else 1, query.limits, query._division
        cuts = {"gaussian": KeySelection("gaussian", 2.5, 9), "laplace": KeySelection("laplace", 1.7, 9)}
        sizes = {"gaussian": limits.squared_norm / Fraction(2.5) ** 2, "laplace": limits.max_rows / Fraction(1.7)}
        charged = {kind: (division.scales(cut), twice * sizes[kind]) for kind, cut in cuts.items()}
    powers = {"gaussian": 2, "laplace": 1}
    paid = {
        kind: sum((abs(size) / Fraction(scales[names[place]])) ** powers[kind] for place, size in moved.items())
        for kind, (scales, _) in charged.items()
    }
    return [f"{kind} cost" for kind, (_, cost) in charged.items() if paid[kind] > cost]


@dataclass(frozen=True)
class Search:
    """Which queries are asked of which tables, and who answers."""

    kinds: tuple[str, ...] = tuple(queries.KINDS)
    forms: tuple[str, ...] = tables.FORMS
    engine: str | None = None
    bases: int = 1
    count: int = 6
    run: Callable[[Query], Aggregate] = aggregate

    def broken(self, seed: int) -> Iterator[list[str]]:
        """For the query of this seed and some tables, the claims that each neighbour breaks."""
        chance = random.Random(seed)
        schema, relation, form = tables.schema(chance), chance.choice(tables.RELATIONS), chance.choice(self.forms)
        ask = queries.ask(self.kind(seed), schema, chance)
        with tempfile.TemporaryDirectory() as folder:

            def answer(rows: tables.Rows) -> tuple[Query, Aggregate | str]:
                place = Path(tempfile.mkdtemp(dir=folder))
                query = ask(tables.opened(rows, form, place, relation=relation, engine=self.engine))
                try:
                    return query, self.run(query)
                except ReadingFailed:
                    return query, f"{form} fails"

            for _base in range(self.bases):
                given = tables.rows(schema, chance)
                try:
                    query, before = answer(given)
                except InvalidParameter:  # a column of another type than the query takes
                    return
                for named, other in tables.neighbours(given, relation, self.count, chance):
                    yield [f"{form}, {named}: {claim}" for claim in judged(query, before, answer(other)[1], named)]

    def kind(self, seed: int) -> str:
        return self.kinds[seed % len(self.kinds)]


def judged(query: Query, before: Aggregate | str, after: Aggregate | str, named: str) -> list[str]:
    """The claims that two answers break; one that failed breaks the first of all."""
    if isinstance(before, str) or isinstance(after, str):
        return [failed for failed in (before, after) if isinstance(failed, str)]
    return exceeded(query, change(integers(before), integers(after)), named)
