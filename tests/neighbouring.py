"""What one unit may change, held against what it does change: exact integers of neighbouring tables, compared exactly."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import queries_at_random as queries
import tables_at_random as tables
from leastnoise.errors import InvalidParameter, LeastnoiseError
from leastnoise.query import Aggregate, Query
from leastnoise.testing import aggregate

Integers = dict[Any, int]
WITHOUT_ARRAYS = "CSV"  # a form


def integers(found: Aggregate) -> Integers:
    """The answer by bin, whatever names the bins."""
    names = found.keys if found.keys is not None else found.indices
    places = range(len(found.values)) if names is None else (names if isinstance(names, tuple) else names.tolist())
    return dict(zip(places, (int(value) for value in found.values), strict=True))


def change(before: Integers, after: Integers) -> dict[Any, int]:
    """What differs, bin by bin."""
    moved = {bin: after.get(bin, 0) - before.get(bin, 0) for bin in {*before, *after}}
    return {bin: size for bin, size in moved.items() if size}


def exceeded(query: Query, moved: dict[Any, int], relation: str) -> list[str]:
    """Which claims the change breaks; what belongs to nobody may change nothing."""
    sizes, step, claim = [abs(size) for size in moved.values()], Fraction(query.grid), query.sensitivity
    if relation == "nobody":
        return ["rows of nobody count"] if moved else []
    broken = {
        "L1": step * sum(sizes) > Fraction(claim.l1),
        "L2": step**2 * sum(size**2 for size in sizes) > Fraction(claim.l2) ** 2,
        "Linf": step * max(sizes, default=0) > Fraction(claim.linf),
        "bins": query.kind == "count" and not query.spread and len(sizes) > query.limits.max_bins * (1 + (relation == "replace")),
    }
    return [name for name, is_broken in broken.items() if is_broken]


def units_exceeded(before: Aggregate, after: Aggregate) -> list[str]:
    """One unit adds itself at most once to the units of a bin."""
    if before.units is None or after.units is None or before.keys is None or after.keys is None:
        return []
    counts = [dict(zip(found.keys, found.units.tolist(), strict=True)) for found in (before, after)]
    return ["units"] if max((abs(size) for size in change(*counts).values()), default=0) > 1 else []


def compare(
    seed: int,
    *,
    kinds: tuple[str, ...] = tuple(queries.KINDS),
    forms: tuple[str, ...] = tables.FORMS,
    engine: str | None = None,
    count: int = 3,
    run: Callable[[Query], Aggregate] = aggregate,
) -> Iterator[tuple[str, list[str]]]:
    """For a table and a query of this seed: each neighbour's kind of query, and the claims that it breaks."""
    chance = random.Random(seed)
    given, kind = tables.rows(chance), kinds[seed % len(kinds)]
    relation, form = chance.choice(tables.RELATIONS), chance.choice(forms)
    ask = queries.ask(kind, given.schema, chance)
    with tempfile.TemporaryDirectory() as folder:

        def answer(rows: tables.Rows) -> tuple[Query, Aggregate]:
            place = Path(tempfile.mkdtemp(dir=folder))
            query = ask(tables.opened(rows, form, place, relation=relation, engine=engine))
            return query, run(query)

        try:
            query, before = answer(given)
        except InvalidParameter:  # a type that this query does not take: known before any row is read
            return
        except LeastnoiseError as error:
            yield kind, [f"{form}: {type(error).__name__}"]
            return
        for named, other in tables.neighbours(given, relation, count, chance):
            try:
                after = answer(other)[1]
            except LeastnoiseError as error:
                yield kind, [f"{form}: {type(error).__name__}"]
                continue
            moved = change(integers(before), integers(after))
            yield kind, [f"{form}, {named}: {claim}" for claim in exceeded(query, moved, named) + units_exceeded(before, after)]
