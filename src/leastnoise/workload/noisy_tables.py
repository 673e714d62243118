"""Noise as it is drawn on whole numbers: the errors of all tables, intervals, and the residuals it leaves.

Gaussian noise is on the integers of blocks, so that each tells about one residual at one level. Laplace noise is on
whole tables, which tell about every residual of their columns at their level (`incidence.informs`). Precisions add up:
with t the matrix of what is told and w the precisions of the noise, q = t'w (`shares`).

**Gaussian noise.** What is normal is the noise before rounding. Rounding moves every whole number by 1/2 at most, and
a sum by at most the sum over A of 1/(2 K_A) prod over A of |G'q|_1 prod over B without A of |v'q|, times what least
squares along the tree makes of it (`TreeFit.rounding_reach`): for plain counts without a tree
1/2 prod (2 f (1 - f) + f) with f = s/n, so 1/2 for a total, and far less for a cell.

**Laplace noise.** A row lies in one cell of every table that is released, so the epsilons of the tables add up. An
error is a sum of independent Laplace draws. In the sum over the nodes with factors alpha and over keys S of other
columns, the cell of a released table R at the node u and the keys t counts

    sum over A in R and C of  k_A(u) pi_RA  prod over A of (1[t in S] - s/n)  prod over C without A of s_j/n_j,

C being the columns that are not summed whole, pi_RA the part that R has in the precision of residual A at its level,
and k_A(u) what the number measured of u counts in least squares along the tree (`TreeFit.coefficients`; of a root alone
1). That is the same for all cells which on every axis are in the same ones of the rectangles, and intervals come from
the distribution of such sums (`privacy.noise_sums`).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.validation import Floats
from leastnoise.privacy.distributions import Gaussian, Laplace, normal_reach
from leastnoise.privacy.noise_plan import Mechanism
from leastnoise.privacy.noise_sums import Draws, laplace_bounds, laplace_half_width
from leastnoise.workload.columns import AxisSums, Table
from leastnoise.workload.incidence import informs, subsets
from leastnoise.workload.table_errors import Rectangle, Sum, TableErrors, combined, over_keys, rectangle
from leastnoise.workload.tables import Workload

Keys: TypeAlias = Mapping[str, frozenset[int]]  # of the columns that are not summed whole
MOST_WORK = 2e7  # coefficients for the intervals of one table along a tree: beyond, `noise_sums.laplace_bounds`
_LEAST_STD = 1e-100  # noise of a tiny scale is zero but for a chance that no double holds


class NoisyTables(TableErrors):
    """Errors of noise as it is drawn, so that intervals have at least the coverage that is stated.

    workload: the tables asked for.
    scales: of the noise on the whole numbers of everything that is released: standard deviations before rounding of
    blocks, or scales of Laplace noise of tables.
    mechanism: "gaussian" or "laplace". unit: how many whole steps a row of weight one counts.
    """

    def __init__(
        self, workload: Workload, scales: Mapping[Table, float], mechanism: Mechanism, *, unit: float = 1
    ) -> None:
        self.scales, self.mechanism, self._unit = dict(scales), mechanism, unit
        self.released = tuple(self.scales)  # the blocks or tables that get noise
        std = functools.cache(lambda scale: self._distribution(scale).std)
        stds = np.array([std(scale) for scale in self.scales.values()])
        if mechanism == "gaussian":
            places = [(workload.number_of[workload.others(name)], workload.level_of(name)) for name in self.scales]
            steps = np.array([float(unit * workload.step_of(name)) for name in self.scales])
            noise, unrounded = np.full((2, *workload.incidence.shape), math.inf)
            at = tuple(np.array(places).T)
            noise[at], unrounded[at] = (stds / steps) ** 2, (np.array(list(self.scales.values())) / steps) ** 2
            self._unrounded = TableErrors(workload, unrounded)  # what is normal
        else:
            self._told = informs(workload, list(self.scales))
            self._precisions = (unit / np.maximum(stds, _LEAST_STD)) ** 2
            with np.errstate(divide="ignore"):
                noise = 1 / (self._told.T @ self._precisions).reshape(workload.incidence.shape)
        super().__init__(workload, noise)
        self._cells: dict[Table, tuple[Floats, Floats]] = {}  # of Gaussian noise, once they were found

    def _distribution(self, scale: float) -> Gaussian | Laplace:
        return Gaussian(scale, 1.0) if self.mechanism == "gaussian" else Laplace(scale, 1.0)

    @property
    def stds(self) -> dict[Table, float]:
        """The standard deviation of the noise on each whole number that is released, rounding included."""
        return {name: self._distribution(scale).std for name, scale in self.scales.items()}

    def _parts(self, row: int) -> Iterator[tuple[Table, int, float]]:
        """The residuals that a block or table tells about, the level, and its part in their precision there."""
        if self.mechanism == "gaussian":
            name = self.released[row]
            yield self.workload.others(name), self.workload.level_of(name), 1.0
            return
        start, end = self._told.indptr[row : row + 2]
        places, levels = self._told.indices[start:end], self.noise.shape[1]
        parts = self._told.data[start:end] * self._precisions[row] * self.noise.ravel()[places]
        for place, part in zip(places.tolist(), parts.tolist(), strict=True):
            yield self.workload.residuals[place // levels], place % levels, part

    def residuals(self, noisy: Mapping[Table, NDArray[Any]]) -> dict[Table, Floats]:
        """r_A of each residual at each level, from the whole numbers as published: what `Workload.table_of` makes all
        tables of.

        noisy: the whole numbers published, by block or by table released.
        """
        workload = self.workload
        measured: dict[Table, dict[int, Floats]] = {residual: {} for residual in workload.residuals}
        for row, name in enumerate(self.scales):
            values = workload.nodes_last(name, np.asarray(noisy[name], dtype=np.float64) / self._unit)
            own = workload.others(name)
            for residual, level, part in self._parts(row):
                apart = tuple(i for i, column in enumerate(own) if column not in residual)
                one = part * (values.sum(axis=apart) if apart else values)
                known = measured[residual]
                known[level] = known[level] + one if level in known else one
        found = {}
        for residual, known in measured.items():
            restored = {level: self._restored(residual, values) for level, values in known.items()}
            if not workload.levels:
                found[residual] = restored[0][..., 0]
                continue
            nodes_first = {level: np.moveaxis(values, -1, 0) for level, values in restored.items()}
            for level, values in enumerate(self.fit(residual).estimates(nodes_first)):
                name = workload.at_level(residual, level)
                found[name] = workload.nodes_in_place(name, np.moveaxis(values, 0, -1))
        return found

    def _restored(self, residual: Table, values: Floats) -> Floats:
        """r_A in every node, of the integers of blocks or the sums of tables."""
        for axis, name in enumerate(residual):
            if self.mechanism == "gaussian":
                values = self.workload.column(name).restore(values, axis)
            else:
                values = values - values.mean(axis=axis, keepdims=True)
        return values / self.workload.fineness(residual) if self.mechanism == "gaussian" else values

    # Intervals

    def combination_half_width(
        self, sums: Sequence[Sum], factors: Sequence[float], *, confidence: float, bins: int = 1
    ) -> float:
        """How far a combination of sums over rectangles is off at most, with at least this confidence.

        sums: pairs of a table and the positions of the keys summed, by column; a column that is not named, whole.
        factors: what each sum is multiplied by: 1, -1 for a difference; 1, -ratio for Fieller's interval of a ratio.
        confidence: between 0 and 1.
        bins: how many such combinations are to hold all at once, however they depend on each other. Of Gaussian noise
        several hold at least as often as if they were independent (Sidak 1967), of Laplace noise the chances to miss
        add up.
        """
        if self.mechanism == "laplace":
            return laplace_half_width(self.noise_terms(sums, factors), miss=_miss(confidence, bins))
        weights = np.asarray(factors, dtype=np.float64)
        chosen = [rectangle(self.workload, *one) for one in sums]
        variance = max(0.0, float(weights @ self._unrounded.covariances_of(chosen) @ weights))
        reaches = [self._reach(one) for one in chosen]
        return float(self._half_widths(variance, np.abs(weights) @ reaches, confidence, bins))

    def sum_half_widths(
        self, table: str | Iterable[str], cumulative: Iterable[str] = (), *, confidence: float, bins: int = 1
    ) -> Floats:
        """How far each cell of a table, or each cumulative sum, is off at most, with at least this confidence: an axis
        a column.

        table: the columns. cumulative: the columns along which cells are added up from the first key.
        confidence: between 0 and 1.
        bins: how many such sums are to hold all at once: the cells of a table, or of all tables.
        """
        named = self.workload.within(table)
        if self.mechanism == "laplace":
            return self._of_cells(named, self._laplace_half_widths(named, set(cumulative), _miss(confidence, bins)))
        axes, level = self._axes(named, cumulative), self.workload.level_of(named)
        variances, reaches = self._unrounded.variances_of(axes, level), self._reaches(axes, level)
        return self._of_cells(named, self._half_widths(variances, reaches, confidence, bins))

    def cell_half_width(self, table: str | Iterable[str], *, confidence: float, bins: int = 1) -> float:
        """How far a cell of a table is off at most, with at least this confidence: the largest of its cells.

        table: the columns. confidence: between 0 and 1.
        bins: how many such cells are to hold all at once.
        """
        named = self.workload.within(table)
        if self.mechanism == "laplace":
            return float(self._laplace_half_widths(named, set(), _miss(confidence, bins)).max())
        if named not in self._cells:
            level = self.workload.level_of(named)
            worst = {name: sums.worst for name, sums in self._axes(named, ()).items()}
            self._cells[named] = self._unrounded.node_variances(named), over_keys(self._reaches(worst, level))
        return float(self._half_widths(*self._cells[named], confidence, bins).max())

    def _half_widths(self, variances: Any, reaches: Any, confidence: float, bins: int) -> Floats:
        """Of noise that is normal but for rounding, which moves a sum by a half of its reach."""
        normal = normal_reach(validation.number("confidence", confidence), validation.integer("bins", bins))
        made = normal * np.sqrt(variances) * (1 + 1e-12) + np.asarray(reaches) / (2 * self._unit)
        return np.asarray(np.nextafter(made, np.inf))

    def _reach(self, one: Rectangle) -> float:
        """The most by which a sum moves where every whole number moves by one."""
        reaches = {name: self.workload.column(name).rounding_bounds(factors) for name, factors in one.factors.items()}
        total = 0.0
        for residual in subsets(list(reaches)):
            factor = math.prod(own if name in residual else even for name, (own, even) in reaches.items())
            if factor and self.workload.levels:
                factor *= self.fit(residual).rounding_reach(one.nodes) / self.workload.fineness(residual)
            total += factor
        return total

    def _reaches(self, axes: dict[str, AxisSums], level: int) -> Floats:
        """The same of several sums in every node of a level."""

        if not self.workload.levels:  # the sum over all residuals is a product
            return functools.reduce(
                lambda made, sums: np.multiply.outer(sums.rounding + np.abs(sums.without), made),
                reversed(axes.values()),
                np.ones(1),
            )

        def of_nodes(residual: Table) -> Floats:
            return self.fit(residual).node_reaches(level) / self.workload.fineness(residual)

        return combined(axes, of_nodes, lambda sums: sums.rounding, lambda sums: np.abs(sums.without))

    # Of Laplace noise

    def noise_terms(self, sums: Sequence[Sum], factors: Sequence[float]) -> list[Draws]:
        """The error of a combination of sums over rectangles as a sum of independent draws: the step, the number and
        the scale of each kind. A draw is a whole number times its step.

        sums: pairs of a table and the positions of the keys summed, by column; a column that is not named, whole.
        factors: what each sum is multiplied by.
        """
        workload, found = self.workload, Counter[tuple[float, float]]()
        chosen = [rectangle(workload, *one) for one in sums]
        known = [self._coefficients(one) for one in chosen]
        for row, (released, scale) in enumerate(self.scales.items()):
            others = workload.others(released)
            shared = [[column for column in others if column in one.keys] for one in chosen]
            made = []
            for of_nodes, one, these in zip(known, chosen, shared, strict=True):
                told = {a: part * of_nodes[a][level] for a, level, part in self._parts(row) if a in of_nodes}
                made.append(coefficients(told, one.keys, these, workload.sizes))
            for where, count in kinds_of_cells(others, [one.keys for one in chosen], workload.sizes):
                total = sum(
                    factor * made[i][tuple(int(i in where[column]) for column in shared[i])]
                    for i, factor in enumerate(factors)
                )
                steps, many = np.unique(np.abs(np.atleast_1d(total)) / self._unit, return_counts=True)
                for step, times in zip(steps.tolist(), many.tolist(), strict=True):
                    if step > 1e-14 / self._unit:
                        found[float(f"{step:.14e}"), scale] += count * times
        return [Draws(step, count, scale) for (step, scale), count in found.items()]

    def _coefficients(self, one: Rectangle) -> dict[Table, list[Any]]:
        """What the number measured of each node counts in a sum over nodes: by residual and level."""
        within = [residual for residual in subsets(list(one.keys)) if residual in self.workload.number_of]
        if not self.workload.levels:
            return {residual: [1.0] for residual in within}
        return {residual: list(self.fit(residual).coefficients(one.nodes)) for residual in within}

    def _laplace_half_widths(self, table: Table, along: set[str], miss: float) -> Floats:
        """Of every cell, or cumulative sum: an axis for each column that is no level, and one for the nodes.

        Sums over equally many keys have the same noise, and so have nodes that no renaming tells apart. Where a tree
        has too many others, the bound of `noise_sums.laplace_bounds` is taken, which is wider.
        """
        workload, level = self.workload, self.workload.level_of(table)
        names = workload.others(table)
        orbit = workload.incidence.orbits.of[level]
        first = np.unique(orbit, return_index=True)[1].tolist()
        counts = [range(1, workload.sizes[name] + 1) if name in along else (1,) for name in names]
        nodes = sum(workload.shape.sizes)
        work = len(first) * nodes * 2 ** len(names) * math.prod(map(len, counts))
        made = np.empty([*map(len, counts), orbit.size])
        for cell, chosen in zip(np.ndindex(made.shape[:-1]), itertools.product(*counts), strict=True):
            keys: dict[str, Any] = {name: range(count) for name, count in zip(names, chosen, strict=True)}
            if workload.levels and work > MOST_WORK:
                made[cell] = self._bounds(table, keys, miss)
                continue
            halves = []
            for node in first:
                at = {workload.levels[level - 1]: node} if level else {}
                halves.append(laplace_half_width(self.noise_terms([(table, keys | at)], [1.0]), miss=miss))
            made[cell] = np.array(halves)[orbit]
        return made

    def _bounds(self, table: Table, keys: Mapping[str, Any], miss: float) -> Floats:
        """`noise_sums.laplace_bounds` of a sum over these keys for all nodes of a level, by the table at this level of
        which most of the error comes."""
        level, one = self.workload.level_of(table), rectangle(self.workload, table, keys)
        scales = np.array(list(self.scales.values())) / self._unit
        excess = float((2 * scales**2 * self._precisions).max())  # of 2 b^2 above the variance of a draw
        cells = self._cells_of_node(one, level)
        own = {row: made[(1,) * (made.ndim - 1)] for row, made in cells.items() if self._has_one_cell(row, one)}
        row = max(own, key=lambda each: float((own[each] ** 2).mean() / self._precisions[each]), default=None)
        most = self._most_of_others(one, level) * float(scales.max())
        for each, made in cells.items():
            kinds = np.abs(made).reshape(-1, made.shape[-1])
            most = np.maximum(most, scales[each] * (kinds[:-1] if each == row else kinds).max(axis=0, initial=0.0))
        rest, step, scale = self.variances_of(self._axes_of(one), level).ravel(), np.zeros_like(most), 0.0
        if row is not None:
            step, scale = np.abs(own[row]) / self._unit, self.scales[self.released[row]]
            rest = rest - own[row] ** 2 / self._precisions[row]
        return laplace_bounds(step, scale, rest * excess, most, miss)

    def _has_one_cell(self, row: int, one: Rectangle) -> bool:
        """Whether one cell of a released table alone is inside a rectangle in each node."""
        others, sizes = self.workload.others(self.released[row]), self.workload.sizes
        return all(len(one.keys.get(name, range(sizes[name]))) == 1 for name in others)

    def _axes_of(self, one: Rectangle) -> dict[str, AxisSums]:
        products = {name: self.workload.column(name).products(each, each) for name, each in one.factors.items()}
        return {name: AxisSums(np.array([w]), np.array([s]), np.zeros(1)) for name, (w, s, _) in products.items()}

    def _cells_of_node(self, one: Rectangle, level: int) -> dict[int, Floats]:
        """For each released table of a level, what its cells in a node count in the sum over a rectangle in this node:
        by whether they are inside (1) or not (0) on each column that both have, and by node."""
        counted = {a: self.fit(a).own_coefficients(level)[0] for a in self._coefficients(one)}
        found = {}
        for row, released in enumerate(self.scales):
            if self.workload.level_of(released) == level:
                shared = [name for name in self.workload.others(released) if name in one.keys]
                told = {a: part * counted[a] for a, _, part in self._parts(row) if a in counted}
                found[row] = coefficients(told, one.keys, shared, self.workload.sizes)
        return found

    def _most_of_others(self, one: Rectangle, level: int) -> Floats:
        """At least what any cell in another node counts, for every node of a level."""
        part = {name: len(keys) / self.workload.sizes[name] for name, keys in one.keys.items()}
        total = np.zeros(self.workload.shape.sizes[level])
        for residual in self._coefficients(one):
            factor = math.prod(max(f, 1 - f) if name in residual else f for name, f in part.items())
            total += factor * self.fit(residual).own_coefficients(level)[1]
        return total

    def __repr__(self) -> str:
        return f"NoisyTables({self.mechanism}, {len(self.scales)} released, rmse={self.rmse:.4g})"


def _miss(confidence: float, bins: int) -> float:
    """The chance to miss of each of several, which add up."""
    return (1 - validation.number("confidence", confidence)) / validation.integer("bins", bins)


def kinds_of_cells(
    released: Sequence[str], chosen: Sequence[Keys], sizes: Mapping[str, int]
) -> Iterator[tuple[dict[str, frozenset[int]], int]]:
    """For each kind of cell of a released table: in which rectangles it is on every axis, and how many there are.

    released: the columns of the table. chosen: the rectangles. sizes: how many keys each column has.
    """
    axes = []
    for column in released:
        size = sizes[column]
        cutting = [i for i, one in enumerate(chosen) if column in one]
        if not cutting:
            axes.append({frozenset[int](): size})
            continue
        inside = Counter(frozenset(i for i in cutting if key in chosen[i][column]) for key in range(size))
        axes.append(dict(inside))
    for kind in itertools.product(*(axis.items() for axis in axes)):
        where = {column: inside for column, (inside, _) in zip(released, kind, strict=True)}
        yield where, math.prod(count for _, count in kind)


def coefficients(weights: Mapping[Table, Any], one: Keys, shared: Sequence[str], sizes: Mapping[str, int]) -> Floats:
    """What a cell of a released table counts in the sum over a rectangle, by whether it is inside (1) or not (0) on
    each of the columns that both have: one axis at a time, as there are 2^k kinds of cells and 2^k blocks.

    weights: of each block of columns, a number, or an array along the last axis of what is returned.
    one: the rectangle. shared: the columns that it and the table have. sizes: how many keys each column has.
    """
    part = {column: len(keys) / sizes[column] for column, keys in one.items()}
    made = np.zeros((*(2 for _ in shared), *np.shape(next(iter(weights.values()), 0.0))))
    for block, weight in weights.items():
        if set(block) <= set(shared):
            made[tuple(int(column in block) for column in shared)] = weight
    for axis, column in enumerate(shared):
        s = part[column]
        step = np.array([[s, -s], [s, 1 - s]])  # a row: outside, inside; a column: blocks without, with the column
        made = np.moveaxis(np.tensordot(step, made, axes=(1, axis)), 0, axis)
    return np.asarray(made * math.prod(fraction for column, fraction in part.items() if column not in shared))
