"""A strategy: how much noise each block gets, how accurate every table is then, and the noise in whole numbers.

prod (n_i I - J) m_A is N_A times C_A m_A, so noise of variance y_A on the latter is noise of standard deviation
N_A sqrt(y_A) on the former. Independent rounded Gaussians of these scales on the integers of all blocks are the
ordinary exact mechanism on one long vector of integers; the part of the noise outside the space of the residuals is
dropped by the projection afterwards, which is post-processing.

**The strategy of each ordered column**: the emphasis on the total, and how fine the integers are.

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
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import progress, validation
from leastnoise._support.validation import Floats, Number
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.unit_cost import least_noise
from leastnoise.workload.columns import ColumnStrategy, PlanFactors, Table
from leastnoise.workload.optimal_weights import OrderedQuestions
from leastnoise.workload.optimum import Optimum, least_largest, weighted_sum
from leastnoise.workload.ordered import BITS, MAX_KEYS, long_column, ordered_column, real_factors
from leastnoise.workload.table_errors import TableErrors
from leastnoise.workload.tables import Workload

Weights = Literal["tables", "cells", "worst"] | Mapping[Any, Number]
WORDS = ("tables", "cells", "worst")
EMPHASES = (0.0, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 1.0, 3.0, 10.0, 30.0)  # in numbers of keys
TRIED_KEYS = 64
ROUGH = 1e-4  # how well noise is divided along a tree while emphases are tried
MANY_BLOCKS = 20_000  # beyond, emphases are tried for all columns alike only
BLOCK_BITS = 28
LEAST_BITS = 6
_SAME = 1e-12  # variances this close, relatively, are the same number but for rounding


class Strategy(TableErrors):
    """Gaussian noise for every block of a workload, and the errors of its tables. Made by `Workload.optimize`.

    mu: what one row costs under add-remove: mu^2 = sum_A p_A/y_A.

    >>> s = Workload({"age": 100, "sex": 2}, ways=2).optimize(mu=1, weights="cells")
    >>> round(s.rmse, 3), round(s.std["sex", "age"], 3), s.gap < 1e-12
    (1.21, 1.079, True)
    """

    def __init__(self, workload: Workload, found: Optimum, *, mu: float, weights: Weights) -> None:
        super().__init__(workload, found.noise * mu**-2)
        self._found, self.mu = found, mu
        self._weights: Weights = weights

    @property
    def gap(self) -> float | None:
        """How far the error may be above the least that any Gaussian linear mechanism has under add-remove (certified,
        relative); along a tree, any that treats the nodes of a level alike. Of replace it says nothing: there a table
        of two keys that counts everybody has twice the least.

        None where a column has cumulative sums or ranges: nobody knows the least for sets of such tables."""
        return None if self.workload.strategies else max(0.0, self._found.value / self._found.bound - 1)

    @property
    def certificate(self) -> dict[str, Any]:
        """What is optimal, among what, under which neighbours: the value reached and the bound nobody can beat."""
        noise = "noise on these blocks" if self.workload.strategies else "linear mechanisms"
        alike = "Gaussian noise that treats the nodes of a level alike"
        return {
            "objective": "largest variance" if self._weights == "worst" else "weighted sum of variances",
            "weights": self._weights if isinstance(self._weights, str) else "given",
            "among": alike if self.workload.levels else f"all Gaussian {noise}",
            "neighbours": "add-remove",
            "mu": self.mu,
            "value": self._found.value * self.mu**-2,
            "lower_bound": self._found.bound * self.mu**-2,
            "gap": self.gap,
        }

    def at(self, mu: Number) -> Strategy:
        """The same strategy with noise for another mu: variances grow by (mu before/mu)^2.

        mu: what one row may cost, as in Gaussian DP.
        """
        return Strategy(self.workload, self._found, mu=validation.number("mu", mu), weights=self._weights)

    def __repr__(self) -> str:
        gap = "" if self.gap is None else f", gap={self.gap:.1e}"
        return f"Strategy({self.workload!r}, mu={self.mu:g}, rmse={self.rmse:.4g}{gap})"


def optimal(workload: Workload, *, mu: Number = 1.0, weights: Weights = "tables") -> Strategy:
    """`Workload.optimize`."""
    budget = validation.number("mu", mu)
    workload = with_best_strategies(workload, weights)
    if isinstance(weights, str) and validation.word("weights", weights, WORDS) == "worst":
        found = least_largest(workload.incidence)
    else:
        found = weighted_sum(workload.incidence, table_weights(workload, weights))
    return Strategy(workload, found, mu=budget, weights=weights if isinstance(weights, str) else dict(weights))


def with_best_strategies(workload: Workload, weights: Weights) -> Workload:
    """The same tables, their ordered columns with the strategies that are best for these weights; as they are, where
    they have strategies already or no column needs one.

    workload: the tables. weights: what is to be least, as for `Workload.optimize`; for "worst" every table counts.
    """
    if not workload.asked or workload.strategies:
        return workload
    c = np.ones(len(workload.tables)) if weights == "worst" else table_weights(workload, weights)
    key = c.tobytes()
    if key not in workload.known_strategies:
        workload.known_strategies[key] = best_columns(workload, c)
    return workload.with_strategies(workload.known_strategies[key])


def table_weights(workload: Workload, weights: Weights) -> Floats:
    """c_B for each table asked for, in order: what multiplies the variance of one of its cells in the sum."""
    cells = workload.incidence.cells
    if isinstance(weights, str):
        word = validation.word("weights", weights, WORDS)
        return cells.copy() if word == "cells" else np.ones(len(cells))
    if not isinstance(weights, Mapping):
        raise errors.WrongType(
            f"weights must be a word or a mapping of tables to numbers. Got {type(weights).__name__} instead.",
            parameter="weights",
            example=[{"weights": "tables"}, {"weights": {("age", "sex"): 10}}],
        )
    made = np.ones(len(cells))
    given: dict[int, Any] = {}
    for columns, weight in weights.items():
        place = workload.place(columns)
        if place is None or place in given:
            wrong = "was not asked for, so it can have no weight" if place is None else "has two weights"
            raise errors.InvalidParameter(
                f"The table {workload.table(columns)!r} {wrong}.", parameter="weights", value=columns
            )
        given[place] = weight
        made[place] = validation.number("weights", weight)
    return made


def integer_scales(strategy: Strategy, *, unit: int = 1) -> dict[Table, float]:
    """The standard deviation of the noise on the integers of each block: unit N_A sqrt(y_A), or for other columns than
    plain counts the product of their steps in place of N_A.

    strategy: from `Workload.optimize`.
    unit: how many whole steps a row of weight one counts: the number of parts where rows share one weight.

    Variances that are equal but for rounding become the same number, the largest of them: blocks that a symmetry
    exchanges then have equal noise exactly, and the symmetry can be used to bound what a unit costs.
    """
    steps, workload = validation.integer("unit", unit), strategy.workload
    roots = np.sqrt(_snapped(strategy.block_variances)).tolist()
    return {
        block: float(steps * workload.step_of(block)) * root
        for block, root in zip(workload.blocks, roots, strict=True)
        if root < np.inf  # else the block is not measured
    }


def scales_within(
    strategy: Strategy, mu_squared: Fraction, *, weight: int = 1, neighbours: Neighbours = "add-remove"
) -> dict[Table, float]:
    """Noise in the proportions of the strategy, as little as keeps what one unit costs within mu_squared: proved.

    strategy: from `Workload.optimize`; its own mu does not matter.
    mu_squared: what one unit may cost, exactly.
    weight: the most that its rows weigh together, in whole steps. neighbours: "add-remove" or "replace".
    """
    cost = strategy.workload.unit_cost(weight, neighbours)
    return least_noise(cost.mu_squared, integer_scales(strategy, unit=weight), mu_squared, power=2)[0]


def _snapped(variances: Floats) -> Floats:
    """Runs of variances without a gap between them become their largest."""
    order = np.argsort(variances)
    ascending = variances[order]
    starts = np.concatenate([[True], ascending[1:] > ascending[:-1] * (1 + _SAME)])
    ends = np.append(np.flatnonzero(starts)[1:], len(ascending)) - 1
    made = np.empty_like(variances)
    made[order] = ascending[ends][np.cumsum(starts) - 1]
    return made


# Of ordered columns


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
