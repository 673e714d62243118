"""Noise on the plain tables themselves, instead of on residual blocks: for a handful of tables, with Laplace noise.

Some tables are released as whole numbers with noise of their own, Laplace (which needs no delta) or Gaussian; all
tables asked for come from them by least squares, block by block (`shares`): unbiased, consistent with each other. The
tables released need not be those asked for: fewer, larger ones may cost less than they lose when summed up.

What one unit costs, W being what its rows weigh together: with Laplace noise of scales b_R the epsilons of the tables
add up. One unit adds W times a convex combination of zero and of single rows, and the sum of L1 distances over b_R is
convex, so it is largest at the ends: a row that comes or goes, W sum_R 1/b_R; and with "replace" also a row against one
that differs everywhere, 2 W sum of 1/b_R over the tables with more than one cell. With Gaussian noise likewise W^2
times the sum of 1/sigma_R^2, and 2 W^2 times that over the tables with more than one cell.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.distributions import Gaussian, Laplace
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.workload import laplace_sums, released_tables
from leastnoise.workload.residuals import project
from leastnoise.workload.strategy import Weights, table_weights
from leastnoise.workload.table_errors import TableErrors
from leastnoise.workload.workload import Table, Workload

Mechanism = Literal["laplace", "gaussian"]


class PlainTables(TableErrors):
    """Tables released with noise of their own, and the errors of all tables that come from them.

    workload: the tables asked for.
    scales: the scale (Laplace) or standard deviation (Gaussian) of the noise on the integers of each table released.
    mechanism: "laplace" or "gaussian".
    unit: how many whole steps a row of weight one counts.
    """

    def __init__(
        self, workload: Workload, scales: Mapping[Table, float], *, mechanism: Mechanism, unit: int = 1
    ) -> None:
        self._scales = dict(scales)
        self._mechanism: Mechanism = mechanism
        self._unit = unit
        noise = [self._noise(scale) for scale in self._scales.values()]
        self._precisions = np.array([(unit / each.std) ** 2 for each in noise])
        self._told = released_tables.told(workload, list(self._scales))
        blocks = np.asarray(self._told.T @ self._precisions)
        super().__init__(workload, 1 / blocks)

    @property
    def mechanism(self) -> Mechanism:
        """Which noise."""
        return self._mechanism

    @property
    def released(self) -> tuple[Table, ...]:
        """The tables that get noise."""
        return tuple(self._scales)

    @property
    def scales(self) -> dict[Table, float]:
        """The scale (Laplace) or standard deviation (Gaussian) of the noise on the integers of each table released."""
        return dict(self._scales)

    def residuals(self, noisy: Mapping[Table, NDArray[Any]]) -> dict[Table, NDArray[np.float64]]:
        """r_A of each block, from the tables as published: what `table_of_blocks` makes all tables of.

        noisy: the whole numbers published of each table released, in steps of 1/unit.
        """
        sizes = self.workload.sizes
        made = {block: np.zeros([sizes[c] for c in block]) for block in self.workload.blocks}
        for row, table in enumerate(self._scales):
            values = np.asarray(noisy[table], dtype=np.float64) / self._unit
            for place, part in self._parts(row):
                block = self.workload.blocks[place]
                others = tuple(i for i, column in enumerate(table) if column not in block)
                made[block] += part * values.sum(axis=others)
        return {block: project(values) for block, values in made.items()}

    def half_width(self, table: str | Iterable[str], keys: Mapping[str, int], *, confidence: float) -> float:
        """How far a sum over a rectangle is off at most, with at least this confidence.

        table: the columns. keys: how many keys are summed, by column; a column that is not named is summed whole.
        confidence: between 0 and 1.
        """
        level = validation.number("confidence", confidence)
        if self._mechanism == "gaussian":
            raise errors.InvalidParameter("Gaussian noise needs no more than its standard deviation.")
        return laplace_sums.half_width(self.noise_terms(table, keys), level)

    def noise_terms(self, table: str | Iterable[str], keys: Mapping[str, int]) -> list[laplace_sums.Term]:
        """The error of a sum over a rectangle as a sum of independent draws: step, number of draws and scale of each
        kind. A draw is a whole number times its step.

        table: the columns. keys: how many keys are summed, by column; a column that is not named is summed whole.

        A cell of a released table R counts sum over A in R and C of pi_RA prod over A of (1[t in S] - s/n) prod over
        C without A of s_j/n_j, where C are the columns that are not summed whole and pi_RA is the part that R has in
        the precision of A: the same for all cells that are inside or outside of S on the same columns.
        """
        sizes = self.workload.sizes
        part = {c: keys.get(c, sizes[c]) / sizes[c] for c in self.workload.table(table)}
        chosen = [column for column, fraction in part.items() if fraction < 1]
        found: dict[tuple[float, float], int] = {}
        for row, (released, scale) in enumerate(self._scales.items()):
            weights = {self.workload.blocks[place]: each for place, each in self._parts(row)}
            shared = [column for column in chosen if column in released]
            outside = math.prod(part[column] for column in chosen if column not in released)
            spread = math.prod(sizes[column] for column in released if column not in shared)
            for inside in itertools.product((True, False), repeat=len(shared)):
                count = spread * math.prod(
                    keys[column] if yes else sizes[column] - keys[column]
                    for column, yes in zip(shared, inside, strict=True)
                )
                coefficient = outside * sum(
                    weights[block] * _factor(block, shared, inside, part) for block in _subsets(shared)
                )
                step = abs(coefficient) / self._unit
                if count and step > 1e-14 / self._unit:
                    key = float(f"{step:.14e}"), scale
                    found[key] = found.get(key, 0) + count
        return [laplace_sums.Term(step, count, scale) for (step, scale), count in found.items()]

    def _noise(self, scale: float) -> Laplace | Gaussian:
        return Laplace(scale, 1.0) if self._mechanism == "laplace" else Gaussian(scale, 1.0)

    def _parts(self, row: int) -> list[tuple[int, float]]:
        """The blocks that a released table tells about, and its part in their precision."""
        start, end = self._told.indptr[row : row + 2]
        places, factors = self._told.indices[start:end], self._told.data[start:end]
        parts = factors * self._precisions[row] * self.block_variances[places]
        return list(zip(places.tolist(), parts.tolist(), strict=True))

    def __repr__(self) -> str:
        return f"PlainTables({self._mechanism}, {len(self._scales)} released, rmse={self.rmse:.4g})"


def laplace_tables(
    workload: Workload,
    *,
    epsilon: Number,
    weights: Weights = "tables",
    unit: int = 1,
    larger: bool = True,
    **unit_limits: Any,
) -> PlainTables:
    """Laplace noise on plain tables, with the shares of epsilon that make the stated error least.

    workload: the tables asked for. epsilon: of all of them together. weights: as for `Workload.optimize`.
    unit: how many whole steps a row of weight one counts.
    larger: whether tables that were not asked for may be released, to sum those asked for from.
    unit_limits: neighbours, max_rows, row_weight, parts, always_counted, as for `squared_cost`.
    """
    limit = Fraction(validation.number("epsilon", epsilon))
    if limit == 0:
        raise errors.InvalidParameter("No Laplace noise gives epsilon = 0.", parameter="epsilon", value=epsilon)
    return _within(workload, "laplace", limit, weights, unit, larger, unit_limits)


def gaussian_tables(
    workload: Workload,
    *,
    mu_squared: Fraction,
    weights: Weights = "tables",
    unit: int = 1,
    larger: bool = False,
    **unit_limits: Any,
) -> PlainTables:
    """Gaussian noise on plain tables: never better than the optimal strategy, for comparison and for few tables.

    workload: the tables asked for. mu_squared: what a unit may cost in all. weights: as for `Workload.optimize`.
    unit: how many whole steps a row of weight one counts.
    larger: whether tables that were not asked for may be released, to sum those asked for from.
    unit_limits: neighbours, max_rows, row_weight, parts, always_counted, as for `squared_cost`.
    """
    return _within(workload, "gaussian", Fraction(mu_squared), weights, unit, larger, unit_limits)


def plain_cost(
    scales: Mapping[Table, float],
    sizes: Mapping[str, int],
    *,
    mechanism: Mechanism,
    neighbours: Neighbours = "add-remove",
    max_rows: int = 1,
    row_weight: int = 1,
    parts: int | None = None,
    always_counted: bool = False,
) -> float:
    """What one unit costs: epsilon of Laplace noise, mu^2 of Gaussian noise, rounded up over the scales as they are.

    scales: of the noise on the integers of each table. sizes: how many keys each column has.
    mechanism: "laplace" or "gaussian". neighbours: "add-remove" or "replace".
    max_rows, row_weight, parts: what a unit weighs at most, as for `squared_cost`.
    always_counted: whether every unit certainly weighs the whole amount.
    """
    check_neighbours(neighbours)
    together = validation.integer("max_rows", max_rows) * validation.integer("row_weight", row_weight)
    together = together if parts is None else validation.integer("parts", parts)
    power = 1 if mechanism == "laplace" else 2
    with proof.precision(256):
        every, moved = arb(0), arb(0)
        for table, scale in scales.items():
            cost = (arb(together) / arb(scale)) ** power
            every += cost
            moved += 2 * cost if math.prod(sizes[column] for column in table) > 1 else arb(0)
        if neighbours == "add-remove":
            return float(proof.upward(every))
        return float(proof.upward(moved if always_counted else moved.max(every)))


def _within(
    workload: Workload,
    mechanism: Mechanism,
    limit: Fraction,
    weights: Weights,
    unit: int,
    larger: bool,
    unit_limits: Mapping[str, Any],
) -> PlainTables:
    wanted = None if isinstance(weights, str) and weights == "worst" else table_weights(workload, weights)
    chosen = released_tables.choose(workload, power=2 if mechanism == "laplace" else 1, weights=wanted, larger=larger)
    scales = {table: float(share) ** (-1.0 if mechanism == "laplace" else -0.5) for table, share in chosen.items()}
    step = 0.0
    while True:
        cost = plain_cost(scales, workload.sizes, mechanism=mechanism, **unit_limits)
        if step and Fraction(cost) <= limit:
            return PlainTables(workload, scales, mechanism=mechanism, unit=unit)
        factor = _ratio_up(cost, limit, root=mechanism == "gaussian") * (1 + step)
        scales = {table: scale * factor for table, scale in scales.items()}
        step = 2 * step or 2.0**-52


def _ratio_up(cost: float, limit: Fraction, *, root: bool) -> float:
    with proof.precision(128):
        ratio = arb(cost) / arb(fmpq(limit.numerator, limit.denominator))
        return float(proof.upward(ratio.sqrt() if root else ratio))


def _subsets(columns: list[str]) -> Iterable[Table]:
    return itertools.chain.from_iterable(itertools.combinations(columns, k) for k in range(len(columns) + 1))


def _factor(block: Table, shared: list[str], inside: tuple[bool, ...], part: Mapping[str, float]) -> float:
    """prod over the block of (1[inside] - s/n), times s/n of the other columns."""
    made = 1.0
    for column, yes in zip(shared, inside, strict=True):
        made *= (yes - part[column]) if column in block else part[column]
    return made
