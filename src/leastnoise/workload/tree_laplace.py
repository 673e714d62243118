"""Laplace noise on plain tables at levels of a tree: the errors of all tables, and intervals.

A row lies in one cell of every table that is released, so the epsilons of the tables add up, whatever their levels
(`plain_cost`). A table tells about every block of its other columns at its own level (`tree_shares`), and least squares
along the tree puts the levels together (`tree_least_squares`). An error is a sum of independent Laplace draws, each
with a coefficient that is known exactly, so intervals come from the distribution of such sums (`laplace_sums`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise.privacy.distributions import Laplace
from leastnoise.privacy.noise_choice import Mechanism
from leastnoise.workload import laplace_sums, node_bounds
from leastnoise.workload.incidence import Floats
from leastnoise.workload.noisy_cells import coefficients, kinds_of_cells
from leastnoise.workload.rectangles import Sum
from leastnoise.workload.tables import Table
from leastnoise.workload.tree_errors import NoisyLevels, refuse_cumulative
from leastnoise.workload.tree_least_squares import TreeFit
from leastnoise.workload.tree_shares import level_precisions
from leastnoise.workload.tree_tables import TreeWorkload

MOST_WORK = 2e7  # coefficients for the intervals of one table: beyond, `node_bounds`
_LEAST_STD = 1e-100  # noise of a tiny scale is zero but for a chance that no double holds
_DIGITS = 40  # bits of a coefficient: those that differ by less are of one kind


class LaplaceLevels(NoisyLevels):
    """Tables at levels of a tree with Laplace noise of their own, and the errors of all tables that come from them.

    workload: the tables asked for.
    scales: of the noise on the integers of each table released.
    unit: how many whole steps a row of weight one counts.
    """

    def __init__(self, workload: TreeWorkload, scales: Mapping[Table, float], *, unit: float = 1) -> None:
        self._scales, self._unit = dict(scales), unit
        noise = [Laplace(scale, 1.0) for scale in self._scales.values()]
        self._precisions = np.array([(unit / max(each.std, _LEAST_STD)) ** 2 for each in noise])
        self._factors = level_precisions(workload, list(self._scales))
        self._measured = (self._factors.T @ self._precisions).reshape(len(workload.deepest), -1)
        with np.errstate(divide="ignore"):
            variances = [
                1 / self._measured[number, level]
                for number, deepest in enumerate(workload.deepest.values())
                for level in range(deepest + 1)
            ]
        super().__init__(workload, np.array(variances))

    @property
    def mechanism(self) -> Mechanism:
        """Which noise."""
        return "laplace"

    @property
    def released(self) -> tuple[Table, ...]:
        """The tables that get noise."""
        return tuple(self._scales)

    @property
    def scales(self) -> dict[Table, float]:
        """The scale of the noise on the integers of each table released."""
        return dict(self._scales)

    @property
    def stds(self) -> dict[Table, float]:
        """The standard deviation of the noise on each whole number of the tables released."""
        return {table: Laplace(scale, 1.0).std for table, scale in self._scales.items()}

    @cached_property
    def fits(self) -> dict[Table, TreeFit]:
        """Least squares for each block of the other columns, down to the last level at which it is measured."""
        return {
            block: TreeFit(self._tree.shape, tuple(row[: int(np.flatnonzero(row)[-1]) + 1].tolist()))
            for block, row in zip(self._tree.deepest, self._measured, strict=True)
        }

    def residuals(self, noisy: Mapping[Table, NDArray[Any]]) -> dict[Table, NDArray[np.float64]]:
        """The residual of each block at each level, by least squares along the tree.

        noisy: the whole numbers published of each table released.
        """
        measured: dict[Table, dict[int, Floats]] = {block: {} for block in self.fits}
        for row, table in enumerate(self._scales):
            level = self._tree.level_of(table)
            values = np.asarray(noisy[table], dtype=np.float64) / self._unit
            for block, part in self._parts(row).items():
                one = part * self._block(values, table, block)
                measured[block][level] = measured[block][level] + one if level in measured[block] else one
        found = {}
        for block, fit in self.fits.items():
            for level, made in enumerate(fit.estimates(measured[block])):
                name = self._tree.at_level(block, level)
                found[name] = np.moveaxis(made, 0, name.index(self._tree.levels[level - 1])) if level else made[0]
        return found

    def _block(self, values: Floats, table: Table, block: Table) -> Floats:
        """The residual of a block, of one table: its nodes along the first axis."""
        level = self._tree.level_of(table)
        kept = (*block, *self._tree.levels[level - 1 : level]) if level else block
        values = values.sum(axis=tuple(i for i, name in enumerate(table) if name not in kept))
        names = [name for name in table if name in kept]
        values = np.moveaxis(values, names.index(self._tree.levels[level - 1]), 0) if level else values[None]
        for axis in range(1, values.ndim):
            values = values - values.mean(axis=axis, keepdims=True)
        return values

    def combination_half_width(
        self, sums: Sequence[Sum], factors: Sequence[float], *, confidence: float, bins: int = 1
    ) -> float:
        """How far a combination of sums over nodes and keys is off at most, with at least this confidence.

        sums: pairs of a table and the positions of the keys summed, by column; a column that is not named, whole.
        factors: what each sum is multiplied by. confidence: between 0 and 1.
        bins: how many such combinations are to hold all at once, however they depend on each other.
        """
        level = validation.number("confidence", confidence)
        miss = (1 - level) / validation.integer("bins", bins)  # the chances to miss add up
        return laplace_sums.half_width(self.noise_terms(sums, factors), miss=miss) * (1 + 1e-11)

    def noise_terms(self, sums: Sequence[Sum], factors: Sequence[float]) -> list[laplace_sums.Term]:
        """The error of a combination of sums over nodes and keys as a sum of independent draws: the step, the number
        and the scale of each kind.

        sums: pairs of a table and the positions of the keys summed, by column; a column that is not named, whole.
        factors: what each sum is multiplied by.

        In one sum, over the nodes with factors alpha and over keys S of other columns, the cell of a released table R
        at the node u and the keys t counts

            sum over A in R and C of  k_A(u) pi_RA  prod over A of (1[t in S] - s/n)  prod over C without A of s_j/n_j,

        C being the columns that are not summed whole, pi_RA the part that R has in the precision of block A at its
        level, and k_A(u) what the number measured of u counts in least squares along the tree (`coefficients`).
        """
        chosen = [self._functional(table, keys) for table, keys in sums]
        rectangles = [rectangle for _, rectangle in chosen]
        along = [
            {
                block: fit.coefficients(nodes)
                for block, fit in self.fits.items()
                if set(block) <= set(rectangle)  # else the sum has nothing of the block
            }
            for nodes, rectangle in chosen
        ]
        steps, counts, scales = [], [], []
        for row, (released, scale) in enumerate(self._scales.items()):
            level, others = self._tree.level_of(released), self._tree.others(released)
            shared = [[name for name in others if name in one] for one in rectangles]
            parts = self._parts(row)
            made = [
                coefficients({b: w * known[b][level] for b, w in parts.items() if b in known}, one, these, self._sizes)
                for known, one, these in zip(along, rectangles, shared, strict=True)
            ]
            for where, count in kinds_of_cells(others, rectangles, self._sizes):
                total = sum(
                    factor * made[i][tuple(int(i in where[name]) for name in shared[i])]
                    for i, factor in enumerate(factors)
                )
                step, many = _kinds(np.abs(np.atleast_1d(total)) / self._unit, 1e-14 / self._unit)
                steps.append(step)
                counts.append(many * count)
                scales.append(np.full(step.size, scale))
        return [
            laplace_sums.Term(step, count, scale)
            for step, count, scale in zip(
                *(np.concatenate(each).tolist() for each in (steps, counts, scales)), strict=True
            )
        ]

    def sum_half_widths(
        self, table: str | Iterable[str], cumulative: Iterable[str] = (), *, confidence: float, bins: int = 1
    ) -> Floats:
        """How far off each cell of a table may be, an axis a column: nodes of a level differ.

        table: the columns. cumulative: none, along a tree. confidence: between 0 and 1.
        bins: how many such cells are to hold all at once.

        Nodes that no renaming tells apart have one half-width. Where a tree has too many others, the bound of
        `node_bounds` is taken, which is wider.
        """
        refuse_cumulative(cumulative)
        named = self._tree.table(table)
        level = self._tree.level_of(named)
        orbit = self._tree.level_blocks.orbits.of[level]
        first = np.unique(orbit, return_index=True)[1]
        nodes = sum(self._tree.shape.sizes[: max(fit.depth for fit in self.fits.values()) + 1])
        if first.size * nodes * 2 ** len(self._tree.others(named)) <= MOST_WORK:
            halves = np.array([self._of_node(named, level, node, confidence, bins) for node in first.tolist()])[orbit]
        else:
            miss = (1 - validation.number("confidence", confidence)) / validation.integer("bins", bins)
            halves = self._bounds(named, level, miss)
        shape = [self._tree.sizes[name] if name in self._tree.levels else 1 for name in named]
        return np.broadcast_to(halves.reshape(shape), [self._tree.sizes[name] for name in named])

    def _of_node(self, table: Table, level: int, node: int, confidence: float, bins: int) -> float:
        keys = {name: node if name in self._tree.levels else 0 for name in table}
        return self.combination_half_width([(table, keys)], [1.0], confidence=confidence, bins=bins)

    def _bounds(self, table: Table, level: int, miss: float) -> Floats:
        """`node_bounds` for all nodes of a level, by the table at this level of which most of the error comes."""
        cells = self._cells_of_node(table, level)
        own = {row: made[(1,) * (made.ndim - 1)] for row, made in cells.items()}
        scales = np.array(list(self._scales.values())) / self._unit
        excess = float((2 * scales**2 * self._precisions).max())  # of 2 b^2 above the variance of a draw
        row = max(own, key=lambda each: float((own[each] ** 2).mean() / self._precisions[each]), default=None)
        most = self._most_of_others(table, level) * float(scales.max())
        for each, made in cells.items():
            kinds = np.abs(made).reshape(-1, made.shape[-1])
            most = np.maximum(most, scales[each] * (kinds[:-1] if each == row else kinds).max(axis=0, initial=0.0))
        rest, step, scale = self.node_variances(table), np.zeros_like(most), 0.0
        if row is not None:
            step, scale = np.abs(own[row]) / self._unit, self._scales[self.released[row]]
            rest = rest - own[row] ** 2 / self._precisions[row]
        return node_bounds.half_widths(step, scale, rest * excess, most, miss)

    def _cells_of_node(self, table: Table, level: int) -> dict[int, Floats]:
        """For each released table of a level, what its cells at the node of a cell count in that cell: by whether they
        have the same key (1) or another (0) on each column that both have, and by node."""
        first = {name: frozenset([0]) for name in self._tree.others(table)}
        counted = {block: self.fits[block].own_coefficients(level)[0] for block, _ in self._subsets(table)}
        found = {}
        for row, released in enumerate(self._scales):
            if self._tree.level_of(released) == level:
                shared = [name for name in self._tree.others(released) if name in first]
                told = {block: part * counted[block] for block, part in self._parts(row).items() if block in counted}
                found[row] = coefficients(told, first, shared, self._sizes)
        return found

    def _most_of_others(self, table: Table, level: int) -> Floats:
        """At least what any cell at another node counts, for every node of a level."""
        total = np.zeros(self._tree.shape.sizes[level])
        for block, left in self._subsets(table):
            factor = math.prod(1 - 1 / self._sizes[n] for n in block) / math.prod(self._sizes[n] for n in left)
            total += factor * self.fits[block].own_coefficients(level)[1]
        return total

    def _parts(self, row: int) -> dict[Table, float]:
        """The blocks that a released table tells about, and its part in their precision at its level."""
        start, end = self._factors.indptr[row : row + 2]
        places, told = self._factors.indices[start:end], self._factors.data[start:end]
        parts = told * self._precisions[row] / self._measured.ravel()[places]
        blocks, levels = list(self._tree.deepest), self._measured.shape[1]
        return {blocks[place // levels]: part for place, part in zip(places.tolist(), parts.tolist(), strict=True)}

    @property
    def _sizes(self) -> Mapping[str, int]:
        return self._tree.sizes

    def __repr__(self) -> str:
        return f"LaplaceLevels({len(self._scales)} released, rmse={self.rmse:.4g})"


def _kinds(steps: Floats, least: float) -> tuple[Floats, NDArray[np.int64]]:
    """The different numbers among these, up to rounding, and how many there are of each."""
    kept = steps[steps > least]
    mantissa, exponent = np.frexp(kept)
    kinds, counts = np.unique(np.ldexp(np.round(np.ldexp(mantissa, _DIGITS)), exponent - _DIGITS), return_counts=True)
    return kinds, counts
