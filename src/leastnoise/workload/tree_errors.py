"""How accurate tables along a tree are: nodes of one level differ, as states have few counties or many."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import next_up
from leastnoise.privacy.distributions import Gaussian, normal_reach
from leastnoise.workload import rectangles
from leastnoise.workload.incidence import Floats
from leastnoise.workload.rectangles import Rectangle, Sum
from leastnoise.workload.table_errors import NoisyTables, TableErrors
from leastnoise.workload.tables import Table
from leastnoise.workload.tree_least_squares import TreeFit, factors_of
from leastnoise.workload.tree_tables import TreeWorkload

Functional = tuple[dict[int, Floats], Rectangle]  # factors of nodes by level, and the keys of the other columns


class TreeErrors(TableErrors):
    """The errors of tables put together from blocks with independent noise at every level.

    workload: the tables.
    block_variances: y of each block of `workload.blocks`, in that order; infinite where it is not measured.

    A sum over nodes with the factors alpha and over keys S of other columns has the variance

        sum over A of  Var_A(alpha)  prod over A of (s - s^2/n)  prod over the others of (s/n)^2,

    Var_A being that of least squares along the tree with the precisions of block A (`tree_least_squares`).
    """

    @property
    def _tree(self) -> TreeWorkload:
        assert isinstance(self.workload, TreeWorkload)
        return self.workload

    @cached_property
    def fits(self) -> dict[Table, TreeFit]:
        """Least squares for each block of the other columns."""
        found, start = {}, 0
        with np.errstate(divide="ignore"):
            precisions = 1 / self.block_variances
        for block, deepest in self._tree.deepest.items():
            found[block] = TreeFit(self._tree.shape, tuple(precisions[start : start + deepest + 1].tolist()))
            start += deepest + 1
        return found

    @cached_property
    def table_variances(self) -> Floats:
        """The variance of a cell of each table asked for, in order: the mean over its cells."""
        made = np.array([float(self.node_variances(table).mean()) for table in self._tree.tables])
        made.setflags(write=False)
        return made

    @property
    def largest_std(self) -> float:
        """The largest standard deviation of a cell of any table asked for."""
        return math.sqrt(max(float(self.node_variances(table).max()) for table in self._tree.tables))

    def node_variances(self, table: str | Iterable[str]) -> Floats:
        """The variance of a cell of a table in each node of its level: the other columns make no difference.

        table: the columns.
        """
        return self._over_blocks(table, lambda fit, level: fit.variances[level])

    def below_variances(self, table: str | Iterable[str]) -> Floats:
        """The variance of a cell of a table in each node of its level, from what was measured of it and below it alone.

        table: the columns.
        """
        return self._over_blocks(table, lambda fit, level: fit.below(level))

    def _over_blocks(self, table: str | Iterable[str], variances: Callable[[TreeFit, int], Floats]) -> Floats:
        """The sum over the table's blocks, each with its part of these variances in the nodes of the table's level."""
        named = self._tree.table(table)
        level, sizes = self._tree.level_of(named), self._tree.sizes
        total = np.zeros(self._tree.shape.sizes[level])
        for block, left in self._subsets(named):
            factor = math.prod(1 - 1 / sizes[name] for name in block) * math.prod(sizes[name] ** -2.0 for name in left)
            total += factor * variances(self.fits[block], level)
        return total

    def cell_variance(self, table: str | Iterable[str]) -> float:
        """The mean over the cells of a table."""
        return float(self.node_variances(table).mean())

    def sum_variances(self, table: str | Iterable[str], cumulative: Iterable[str] = ()) -> Floats:
        """The variance of every cell of a table, an axis a column.

        table: the columns. cumulative: none, along a tree.
        """
        refuse_cumulative(cumulative)
        named = self._tree.table(table)
        shape = [self._tree.sizes[name] if name in self._tree.levels else 1 for name in named]
        return np.broadcast_to(self.node_variances(named).reshape(shape), [self._tree.sizes[name] for name in named])

    def largest_variance(self, table: str | Iterable[str], cumulative: Iterable[str] = ()) -> float:
        """The largest of `sum_variances`.

        table, cumulative: as there.
        """
        refuse_cumulative(cumulative)
        return float(self.node_variances(table).max())

    def covariances(self, sums: Sequence[Sum]) -> Floats:
        """The covariance matrix of the errors of several sums over nodes and keys, of one table or of several."""
        chosen = [self._functional(table, keys) for table, keys in sums]
        made = np.empty((len(chosen), len(chosen)))
        for i, j in itertools.combinations_with_replacement(range(len(chosen)), 2):
            made[i, j] = made[j, i] = self._covariance(chosen[i], chosen[j])
        return made

    def rectangle_variance(self, table: str | Iterable[str], keys: Mapping[str, int]) -> float:
        """The variance of a sum over so many keys, where it is the same for all of them.

        table: the columns. keys: how many keys are summed, by column; a column that is not named is summed whole.
        """
        return float(self.covariances([(table, self._first(table, keys))])[0, 0])

    def _first(self, table: str | Iterable[str], keys: Mapping[str, int]) -> dict[str, range]:
        chosen = rectangles.counts(self._tree, table, keys)
        for name, count in chosen.items():
            if name in self._tree.levels and count < self._tree.sizes[name]:
                raise errors.InvalidParameter(
                    f'Nodes of "{name}" differ in accuracy, so it must be said which are summed.', parameter="keys"
                )
        return {name: range(count) for name, count in chosen.items()}

    def _functional(self, table: str | Iterable[str], keys: Mapping[str, Any]) -> Functional:
        named = self._tree.table(table)
        rectangle = rectangles.rectangle(self._tree, named, keys)
        level = self._tree.level_of(rectangle)
        if not level:
            return {0: np.ones(1)}, rectangle
        nodes = rectangle.pop(self._tree.levels[level - 1])
        return factors_of(level, sorted(nodes), self._tree.shape.sizes[level]), rectangle

    def _covariance(self, one: Functional, other: Functional) -> float:
        sizes = self._tree.sizes
        shared = [name for name in one[1] if name in other[1]]
        total = 0.0
        for count in range(len(shared) + 1):
            for block in itertools.combinations(shared, count):
                factor = 1.0
                for name in {*one[1], *other[1]}:
                    s, t = one[1].get(name), other[1].get(name)
                    if name in block and s is not None and t is not None:
                        factor *= len(s & t) - len(s) * len(t) / sizes[name]
                    else:
                        factor *= 1.0 if s is None else len(s) / sizes[name]
                        factor *= 1.0 if t is None else len(t) / sizes[name]
                if factor:
                    total += factor * self.fits[self._tree.table(block)].covariance(one[0], other[0])
        return total

    def _subsets(self, table: Table) -> Iterator[tuple[Table, Table]]:
        """The blocks in a table, and its other columns without them."""
        others = self._tree.others(table)
        wide = [name for name in others if self._tree.sizes[name] > 1]
        for count in range(len(wide) + 1):
            for block in itertools.combinations(wide, count):
                yield block, tuple(name for name in others if name not in block)


def refuse_cumulative(cumulative: Iterable[str]) -> None:
    """Raise where cumulative sums are asked for beside a tree."""
    if [*cumulative]:
        raise errors.InvalidParameter("Cumulative sums are not known along a tree.", parameter="cumulative")


class NoisyLevels(TreeErrors, NoisyTables):
    """Noise at levels of a tree as it is drawn: what both kinds of noise have."""

    @property
    @abstractmethod
    def stds(self) -> dict[Table, float]:
        """The standard deviation of the noise on each whole number that is released, by block or table."""

    def cell_half_width(self, table: str | Iterable[str], *, confidence: float, bins: int = 1) -> float:
        """How far a cell of a table is off at most: the largest of its cells.

        table: the columns. confidence: between 0 and 1. bins: how many such cells are to hold all at once.
        """
        return float(self.sum_half_widths(table, confidence=confidence, bins=bins).max())

    def half_width(
        self, table: str | Iterable[str], keys: Mapping[str, int], *, confidence: float, bins: int = 1
    ) -> float:
        """How far off a sum is at most over so many keys; of one node each, the least accurate.

        table: the columns. keys: how many keys are summed, by column; a column that is not named is summed whole.
        confidence: between 0 and 1. bins: how many such sums are to hold at once.
        """
        named = self._tree.table(table)
        chosen = rectangles.counts(self._tree, named, keys)
        if all(chosen[name] == 1 for name in named):
            return self.cell_half_width(named, confidence=confidence, bins=bins)
        return self.combination_half_width([(named, self._first(named, keys))], [1.0], confidence=confidence, bins=bins)


class GaussianLevels(NoisyLevels):
    """Rounded Gaussian noise on the integers of blocks at levels of a tree, and the errors of all tables.

    workload: the tables.
    scales: the standard deviation of the noise on the integers of each block that is measured, before it is rounded.
    unit: how many whole steps a row of weight one counts.
    """

    def __init__(self, workload: TreeWorkload, scales: Mapping[Table, float], *, unit: float = 1) -> None:
        self._scales, self._unit = dict(scales), unit
        variances = np.full(len(workload.blocks), math.inf)
        for block, sigma in self._scales.items():
            step = unit * workload.step_of(block)
            variances[workload.block_place(block)] = (Gaussian(sigma, 1.0).std / step) ** 2
        super().__init__(workload, variances)

    @property
    def scales(self) -> dict[Table, float]:
        """The standard deviation of the noise on the integers of each block, before it is rounded."""
        return dict(self._scales)

    @property
    def stds(self) -> dict[Table, float]:
        """The same, rounding included."""
        return {block: Gaussian(sigma, 1.0).std for block, sigma in self._scales.items()}

    def residuals(self, noisy: Mapping[Table, NDArray[Any]]) -> dict[Table, NDArray[np.float64]]:
        """The residual of each block at each level, by least squares along the tree.

        noisy: the whole numbers published of each block that was measured.
        """
        found = {}
        for others, fit in self.fits.items():
            names = [self._tree.at_level(others, level) for level in range(fit.depth + 1)]
            measured = {
                level: self._nodes_first(name, self._centred(name, noisy[name]))
                for level, name in enumerate(names)
                if name in self._scales
            }
            for level, (name, made) in enumerate(zip(names, fit.estimates(measured), strict=True)):
                found[name] = np.moveaxis(made, 0, name.index(self._tree.levels[level - 1])) if level else made[0]
        return found

    def _centred(self, block: Table, noisy: NDArray[Any]) -> Floats:
        values = np.asarray(noisy, dtype=np.float64) / (self._unit * self._tree.step_of(block))
        for axis, name in enumerate(block):
            if name not in self._tree.levels:
                values = values - values.mean(axis=axis, keepdims=True)
        return values

    def _nodes_first(self, block: Table, values: Floats) -> Floats:
        level = self._tree.level_of(block)
        return np.moveaxis(values, block.index(self._tree.levels[level - 1]), 0) if level else values[None]

    def sum_half_widths(
        self, table: str | Iterable[str], cumulative: Iterable[str] = (), *, confidence: float, bins: int = 1
    ) -> Floats:
        """How far off each cell of a table may be, an axis a column: nodes of a level differ.

        table: the columns. cumulative: none, along a tree. confidence: between 0 and 1.
        bins: how many such cells are to hold all at once.
        """
        refuse_cumulative(cumulative)
        named = self._tree.table(table)
        level = self._tree.level_of(named)
        rounding = np.zeros(self._tree.shape.sizes[level])
        for block, left in self._subsets(named):
            sizes = [self._tree.sizes[name] for name in (*block, *left)]
            factor = math.prod(2 / n * (1 - 1 / n) for n in sizes[: len(block)]) / math.prod(sizes[len(block) :])
            rounding += factor * self.fits[block].node_reaches(level) / self._tree.fineness(block)
        level_reach = normal_reach(validation.number("confidence", confidence), validation.integer("bins", bins))
        halves = level_reach * np.sqrt(self.node_variances(named)) * (1 + 1e-12) + rounding / (2 * self._unit)
        shape = [self._tree.sizes[name] if name in self._tree.levels else 1 for name in named]
        wide = np.nextafter(halves, np.inf).reshape(shape)
        return np.broadcast_to(wide, [self._tree.sizes[name] for name in named])

    def combination_half_width(
        self, sums: Sequence[Sum], factors: Sequence[float], *, confidence: float, bins: int = 1
    ) -> float:
        """How far a combination of sums over nodes and keys is off at most, with at least this confidence.

        sums: pairs of a table and the positions of the keys summed, by column; a column that is not named, whole.
        factors: what each sum is multiplied by. confidence: between 0 and 1.
        bins: how many such combinations are to hold all at once, however they depend on each other.

        The variance here is that of the rounded noise, a little above that of the normal noise before rounding.
        """
        level = validation.number("confidence", confidence)
        weights = np.asarray(factors, dtype=np.float64)
        variance = max(0.0, float(weights @ self.covariances(sums) @ weights))
        rounding = sum(abs(w) * self._reach(self._functional(*one)) for w, one in zip(weights, sums, strict=True))
        reach = normal_reach(level, validation.integer("bins", bins))
        return next_up(reach * math.sqrt(variance) * (1 + 1e-12) + float(rounding) / (2 * self._unit))

    def _reach(self, one: Functional) -> float:
        """The most by which a sum moves where every whole number moves by one."""
        nodes, rectangle = one
        part = {name: len(keys) / self._tree.sizes[name] for name, keys in rectangle.items()}
        total = 0.0
        for count in range(len(part) + 1):
            for block in itertools.combinations(part, count):
                factor = math.prod(2 * f * (1 - f) if name in block else f for name, f in part.items())
                named = self._tree.table(block)
                total += factor * self.fits[named].rounding_reach(nodes) / self._tree.fineness(named)
        return total
