"""Which strategy each ordered column of a set of tables gets: the emphasis on the total, and how fine the integers are.

A column's strategy is optimal for its own sums and, `emphasis` times, for the total (`optimal_weights`). How much the
total matters depends on the other tables: those without the column, and those that cross it with columns of many keys.
So a few emphases are tried, for all ordered columns alike and then column by column, and those are taken that make the
error of the whole set least. Columns of many keys are tried at 64, where the answer is nearly the same. Beyond 4,096
keys a strategy is no matrix any more: it has a closed form (`ordered.LongColumn`), whatever the total is worth.

The integers of a block are larger than its counts by the product of the steps of its columns, and must leave room for
counts and noise below 2^62: a table of plain counts has up to 2^28 cells, and the steps of ordered columns are as large
as keeps every block within the same 2^28, between 6 and 16 bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from leastnoise._support import progress
from leastnoise.workload.columns import ColumnStrategy, PlanFactors
from leastnoise.workload.incidence import Floats
from leastnoise.workload.optimal_weights import OrderedQuestions
from leastnoise.workload.optimum import weighted_sum
from leastnoise.workload.ordered import BITS, MAX_KEYS, long_column, ordered_column, real_factors

if TYPE_CHECKING:
    from leastnoise.workload.tables import Workload

EMPHASES = (0.0, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 1.0, 3.0, 10.0, 30.0)  # in numbers of keys
TRIED_KEYS = 64
ROUGH = 1e-4  # how well noise is divided along a tree while emphases are tried
MANY_BLOCKS = 20_000  # beyond, emphases are tried for all columns alike only
BLOCK_BITS = 28
LEAST_BITS = 6


def best_columns(workload: Workload, weights: Floats) -> dict[str, ColumnStrategy]:
    """The strategy of each column that is asked for.

    workload: the tables. weights: c_B of each table, in the order of `workload.tables`.
    """
    emphases = _emphases(workload, weights)
    bits = _bits(workload)
    made: dict[str, ColumnStrategy] = {}
    with progress.bar("making strategies", len(emphases)) as advance:
        for name, emphasis in emphases.items():
            size = workload.sizes[name]
            if size > MAX_KEYS:
                made[name] = long_column(OrderedQuestions(workload.asked[name], size), bits)
            else:
                made[name] = ordered_column(OrderedQuestions(workload.asked[name], size, emphasis * size), bits)
            advance(1)
    return made


def _emphases(workload: Workload, weights: Floats) -> dict[str, float]:
    """By column, in numbers of its keys."""
    asked = workload.asked.items()

    def error(emphases: Mapping[str, float]) -> float:
        tried = {name: _tried(OrderedQuestions(kind, workload.sizes[name]), emphases[name]) for name, kind in asked}
        return weighted_sum(workload.incidence_with(tried), weights, gap=ROUGH).value

    found = min((dict.fromkeys(workload.asked, each) for each in EMPHASES), key=error)
    if len(asked) == 1 or len(workload.blocks) > MANY_BLOCKS:
        return found
    for name, _ in asked:
        place = EMPHASES.index(found[name])
        near = EMPHASES[max(place - 1, 0) : place + 2]
        found = min(({**found, name: each} for each in near), key=error)
    return found


def _tried(questions: OrderedQuestions, emphasis: float) -> PlanFactors:
    size = min(questions.size, TRIED_KEYS)
    return real_factors(replace(questions, size=size, emphasis=emphasis * size))


def _bits(workload: Workload) -> int:
    """After the binary point of every ordered column."""
    return max(LEAST_BITS, min([BITS, *_rooms(workload)]))


def _rooms(workload: Workload) -> Iterable[int]:
    """For each table with ordered columns, the bits that each of them may have."""
    for table in workload.maximal:
        ordered = sum(column in workload.asked for column in table)
        plain = sum(math.log2(workload.sizes[column]) for column in table if column not in workload.asked)
        if ordered:
            yield int((BLOCK_BITS - plain) / ordered)
