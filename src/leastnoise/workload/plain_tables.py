"""Noise on the plain tables themselves, instead of on residual blocks: for a handful of tables, with Laplace noise.

Some tables are released as whole numbers with noise of their own, Laplace (which needs no delta) or Gaussian; all
tables asked for come from them by least squares, block by block (`shares`): unbiased, consistent with each other. The
tables released need not be those asked for: fewer, larger ones may cost less than they lose when summed up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import next_up
from leastnoise._support.validation import Number
from leastnoise.privacy.distributions import Gaussian, Laplace, normal_reach
from leastnoise.workload import laplace_sums, rectangles, released_tables
from leastnoise.workload.noisy_cells import coefficients, kinds_of_cells
from leastnoise.workload.plain_cost import Mechanism, scaled_to
from leastnoise.workload.rectangles import Sum
from leastnoise.workload.residuals import project
from leastnoise.workload.strategy import Weights, table_weights
from leastnoise.workload.table_errors import NoisyTables
from leastnoise.workload.tables import Table, Workload

_LEAST_STD = 1e-100  # noise of a tiny scale is zero but for a chance that no double holds


class PlainTables(NoisyTables):
    """Tables released with noise of their own, and the errors of all tables that come from them.

    workload: the tables asked for.
    scales: the scale (Laplace) or standard deviation (Gaussian) of the noise on the integers of each table released.
    mechanism: "laplace" or "gaussian".
    unit: how many whole steps a row of weight one counts.
    """

    def __init__(
        self, workload: Workload, scales: Mapping[Table, float], *, mechanism: Mechanism, unit: float = 1
    ) -> None:
        self._scales = dict(scales)
        self._mechanism: Mechanism = mechanism
        self._unit = unit
        noise = [self._noise(scale) for scale in self._scales.values()]
        self._precisions = np.array([(unit / max(each.std, _LEAST_STD)) ** 2 for each in noise])
        self._factors = released_tables.block_precisions(workload, list(self._scales))
        blocks = np.asarray(self._factors.T @ self._precisions)
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

    def combination_half_width(
        self, sums: Sequence[Sum], factors: Sequence[float], *, confidence: float, bins: int = 1
    ) -> float:
        """How far a combination of sums over rectangles is off at most, with at least this confidence.

        sums: pairs of a table and the positions of the keys summed, by column; a column that is not named, whole.
        factors: what each sum is multiplied by.
        confidence: between 0 and 1.
        bins: how many such combinations are to hold all at once, however they depend on each other.
        """
        level = validation.number("confidence", confidence)
        count = validation.integer("bins", bins)
        terms = self.noise_terms(sums, factors)
        if self._mechanism == "laplace":
            return laplace_sums.half_width(terms, miss=(1 - level) / count)  # the chances to miss add up
        std = math.sqrt(math.fsum(term.count * (term.step * term.scale) ** 2 for term in terms))
        rounding = math.fsum(term.count * term.step for term in terms) / 2  # a draw is rounded by at most 1/2
        return next_up((normal_reach(level, count) * std + rounding) * (1 + 1e-12))

    def sum_half_widths(
        self, table: str | Iterable[str], cumulative: Iterable[str] = (), *, confidence: float, bins: int = 1
    ) -> NDArray[np.float64]:
        """How far each cell of a table, or each cumulative sum, is off at most, with at least this confidence.

        table: the columns. cumulative: the columns along which cells are added up from the first key.
        confidence: between 0 and 1. bins: how many such sums are to hold all at once.

        Sums over equally many keys have the same noise.
        """
        names, along = self.workload.table(table), set(cumulative)
        sizes = [self.workload.sizes[column] for column in names]
        made = np.empty([size if column in along else 1 for column, size in zip(names, sizes, strict=True)])
        for cell in np.ndindex(made.shape):
            keys = {column: place + 1 for column, place in zip(names, cell, strict=True)}
            made[cell] = self.half_width(names, keys, confidence=confidence, bins=bins)
        return np.broadcast_to(made, sizes).copy()

    def cell_half_width(self, table: str | Iterable[str], *, confidence: float, bins: int = 1) -> float:
        """How far a cell of a table is off at most, with at least this confidence: every cell has the same noise.

        table: the columns. confidence: between 0 and 1. bins: how many such cells are to hold all at once.
        """
        names = self.workload.table(table)
        return self.half_width(names, dict.fromkeys(names, 1), confidence=confidence, bins=bins)

    def noise_terms(self, sums: Sequence[Sum], factors: Sequence[float]) -> list[laplace_sums.Term]:
        """The error of a combination of sums over rectangles as a sum of independent draws: the step, the number and
        the scale of each kind. A draw is a whole number (here before rounding, if Gaussian) times its step.

        sums: pairs of a table and the positions of the keys summed, by column; a column that is not named, whole.
        factors: what each sum is multiplied by.

        In the sum over one rectangle S a cell t of a released table R counts

            sum over A in R and C of pi_RA prod over A of (1[t in S] - s/n) prod over C without A of s_j/n_j,

        where C are the columns that are not summed whole, and pi_RA is the part that R has in the precision of A. That
        is the same for all cells which on every axis are in the same ones of the rectangles.
        """
        chosen = [rectangles.rectangle(self.workload, table, keys) for table, keys in sums]
        found: dict[tuple[float, float], int] = {}
        sizes = self.workload.sizes
        for row, (released, scale) in enumerate(self._scales.items()):
            weights = {self.workload.blocks[place]: each for place, each in self._parts(row)}
            shared = [[column for column in released if column in one] for one in chosen]
            made = [coefficients(weights, one, these, sizes) for one, these in zip(chosen, shared, strict=True)]
            for where, count in kinds_of_cells(released, chosen, sizes):
                coefficient = math.fsum(
                    factor * float(made[i][tuple(int(i in where[column]) for column in shared[i])])
                    for i, factor in enumerate(factors)
                )
                step = float(f"{abs(coefficient) / self._unit:.14e}")
                if step > 1e-14 / self._unit:
                    found[step, scale] = found.get((step, scale), 0) + count
        return [laplace_sums.Term(step, count, scale) for (step, scale), count in found.items()]

    def _noise(self, scale: float) -> Laplace | Gaussian:
        return Laplace(scale, 1.0) if self._mechanism == "laplace" else Gaussian(scale, 1.0)

    def _parts(self, row: int) -> list[tuple[int, float]]:
        """The blocks that a released table tells about, and its part in their precision."""
        start, end = self._factors.indptr[row : row + 2]
        places, factors = self._factors.indices[start:end], self._factors.data[start:end]
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
) -> NoisyTables:
    """Laplace noise on plain tables, with the shares of epsilon that make the stated error least.

    workload: the tables asked for. epsilon: of all of them together. weights: as for `Workload.optimize`.
    unit: how many whole steps a row of weight one counts.
    larger: whether tables that were not asked for may be released, to sum those asked for from.
    unit_limits: neighbours, max_rows, row_weight, parts, always_counted, as for `squared_cost`.
    """
    spend = Fraction(validation.number("epsilon", epsilon))
    scales = _within(workload, "laplace", spend, weights, larger, unit_limits)
    return workload.with_laplace(scales, unit=unit)


def gaussian_tables(
    workload: Workload,
    *,
    mu_squared: Fraction,
    weights: Weights = "tables",
    unit: int = 1,
    larger: bool = False,
    **unit_limits: Any,
) -> PlainTables:
    """Gaussian noise on plain tables: under add-remove never better than the optimal strategy, for comparison and for
    few tables.

    workload: the tables asked for. mu_squared: what a unit may cost in all. weights: as for `Workload.optimize`.
    unit: how many whole steps a row of weight one counts.
    larger: whether tables that were not asked for may be released, to sum those asked for from.
    unit_limits: neighbours, max_rows, row_weight, parts, always_counted, as for `squared_cost`.
    """
    scales = _within(workload, "gaussian", Fraction(mu_squared), weights, larger, unit_limits)
    return PlainTables(workload, scales, mechanism="gaussian", unit=unit)


def _within(
    workload: Workload,
    mechanism: Mechanism,
    limit: Fraction,
    weights: Weights,
    larger: bool,
    unit_limits: Mapping[str, Any],
) -> dict[Table, float]:
    """The scales of the noise of least error that costs no more than the limit."""
    if not limit > 0:
        raise errors.InvalidParameter("No noise costs nothing: the limit must be above 0.", value=limit)
    wanted = None if isinstance(weights, str) and weights == "worst" else table_weights(workload, weights)
    power = 2 if mechanism == "laplace" else 1
    shares = released_tables.choose(workload, power=power, weights=wanted, larger=larger)
    scales = {table: float(share) ** (-power / 2) for table, share in shares.items()}
    return scaled_to(limit, scales, workload.sizes, mechanism=mechanism, **unit_limits)
