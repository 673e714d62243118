"""How accurate every table of a workload is, and every sum over its cells: any noise, any tree, in closed form.

Noise of variance y_Ak is on one cell of C_A m_A in every node of level k, and least squares along the tree
(`tree_least_squares`; of a root alone the variance is y_A) makes one estimate of each residual. A sum over table B
has factors alpha over the nodes of its level, and factors q_i over the keys of each other column i. With G_i and v_i of
the columns' strategies (`columns`) the covariance of two sums is

    Cov = sum over A in B and B' of  Cov_A(alpha, alpha')  prod over A of (q_i'G_i G_i'q'_i step_i^2)
                                                            prod over B without A of v_j'q_j
                                                            prod over B' without A of v_j'q'_j,

Cov_A being that of the estimates of residual A in these nodes. Of plain counts the indicator of s keys splits into
1_S - s/n, which the residuals with the column see, and the even part s/n, which those without see; a column that is
summed whole has s = n, so the first factor is zero, the others are one, and it drops out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.workload.columns import AxisSums, Table
from leastnoise.workload.incidence import subsets
from leastnoise.workload.optimum import means_of
from leastnoise.workload.tables import Workload
from leastnoise.workload.tree_least_squares import TreeFit

Positions: TypeAlias = int | Iterable[int]  # of keys on an axis
Sum: TypeAlias = tuple[str | Iterable[str], Mapping[str, Positions]]  # a table, and the keys summed by column
Axes: TypeAlias = Mapping[str, AxisSums]


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A sum over cells of one table.

    keys: the positions summed of each column that is no level and is not summed whole; `factors`: 1 for these keys.
    nodes: by level, factors of its nodes.
    """

    keys: dict[str, frozenset[int]]
    factors: dict[str, Floats]
    nodes: dict[int, Floats]


def rectangle(workload: Workload, table: str | Iterable[str], keys: Mapping[str, Positions]) -> Rectangle:
    """A sum over cells, checked.

    table: within one that was asked for. keys: the positions summed, by column; a column that is not named, whole.
    """
    names = workload.within(table)
    made = Rectangle({}, {}, {0: np.ones(1)})
    for column in keys:
        if column not in names:
            raise errors.UnknownColumn.among_columns(column, names)
    for column in names:
        if column not in keys:
            continue
        given, size = keys[column], workload.sizes[column]
        chosen = frozenset([int(given)] if isinstance(given, int | np.integer) else map(int, given))
        if chosen and not (min(chosen) >= 0 and max(chosen) < size):
            raise errors.InvalidParameter(
                f'"{column}" has {size} keys, at the positions 0 to {size - 1}.', parameter="rectangle", value=given
            )
        if len(chosen) == size:
            continue
        factors = np.zeros(size)
        factors[list(chosen)] = 1.0
        if column in workload.levels:
            made.nodes.clear()
            made.nodes[workload.level_of([column])] = factors
        else:
            made.keys[column], made.factors[column] = chosen, factors
    return made


class TableErrors:
    """The errors of the tables put together from blocks that have independent noise.

    workload: the tables.
    noise: y_Ak, the variance of the noise on one cell of C_A m_A: one row per residual of the workload and one column
    per level; infinite where it is not measured.
    """

    def __init__(self, workload: Workload, noise: Floats) -> None:
        self.workload, self.noise = workload, noise
        self._fits: dict[Table, TreeFit] = {}

    @cached_property
    def block_variances(self) -> Floats:
        """y of each block, in the order of `workload.blocks`; infinite where it is not measured."""
        levels = np.arange(self.noise.shape[1])
        return np.asarray(self.noise[levels <= self.workload.incidence.deepest[:, None]])

    @cached_property
    def variances(self) -> Mapping[Table, float]:
        """y of each block: the variance of the noise on one cell of C_A m_A, before it is projected."""
        return dict(zip(self.workload.blocks, self.block_variances.tolist(), strict=True))

    @cached_property
    def table_variances(self) -> Floats:
        """The variance of a cell of each table asked for, in order, the mean over its nodes; where cumulative sums or
        ranges are asked for along a column, the mean variance of these."""
        tables, means = self.workload.incidence, self.noise
        if self.workload.levels:
            means = means_of(1 / self.noise, tables.orbits, tables.deepest).means
        made = tables.variances(means)
        made.setflags(write=False)
        return made

    @property
    def std(self) -> ByTable:
        """The standard deviation of one cell of each table, by its columns in any order; () is the total. Tables that
        were not asked for, but are sums of one that was, can be looked up, too. Along a tree it is the root of the mean
        variance of the nodes. With ordered columns cells have different ones, and this is the largest."""
        return ByTable(self)

    @property
    def rmse(self) -> float:
        """The root of the mean squared error over all cells of all tables asked for; along a column with cumulative
        sums or ranges it is that of these."""
        cells = self.workload.incidence.cells
        return math.sqrt(float(cells @ self.table_variances) / float(cells.sum()))

    @property
    def largest_std(self) -> float:
        """The largest standard deviation of any table asked for: the root of the largest of `table_variances`, along a
        tree of the least accurate node."""
        if self.workload.levels:
            return math.sqrt(max(float(self.node_variances(table).max()) for table in self.workload.tables))
        return math.sqrt(float(self.table_variances.max()))

    def mean_variance(self, table: str | Iterable[str]) -> float:
        """The mean variance of the sums asked for in a table: its entry of `table_variances`.

        table: the columns of a table asked for.
        """
        place = self.workload.place(table)
        assert place is not None
        return float(self.table_variances[place])

    # Sums over rectangles

    def covariances(self, sums: Sequence[Sum]) -> Floats:
        """The covariance matrix of the errors of several sums over rectangles of cells, of one table or of several.

        sums: pairs of a table and a rectangle: the positions of the keys that are summed, by column; a column that is
        not named is summed whole. A cell is a rectangle of one key a column, the total one without a column.

        The variance of a difference is 1, -1 from both sides; Fieller's interval for a ratio needs the 2 x 2 matrix.
        """
        return self.covariances_of([rectangle(self.workload, *one) for one in sums])

    def covariances_of(self, chosen: Sequence[Rectangle]) -> Floats:
        """`covariances` of sums that were checked."""
        made = np.empty((len(chosen), len(chosen)))
        for i, j in itertools.combinations_with_replacement(range(len(chosen)), 2):
            made[i, j] = made[j, i] = self._covariance(chosen[i], chosen[j])
        return made

    def difference_variance(
        self,
        table1: str | Iterable[str],
        rectangle1: Mapping[str, Positions],
        table2: str | Iterable[str],
        rectangle2: Mapping[str, Positions],
    ) -> float:
        """The variance of the sum over one rectangle minus that over another.

        table1, table2: the columns of the tables the rectangles are in.
        rectangle1, rectangle2: the positions of the keys summed, by column; a column that is not named, whole.
        """
        matrix = self.covariances([(table1, rectangle1), (table2, rectangle2)])
        return max(0.0, float(matrix[0, 0] + matrix[1, 1] - 2 * matrix[0, 1]))

    def _covariance(self, one: Rectangle, other: Rectangle) -> float:
        shared, apart = [name for name in one.keys if name in other.keys], 1.0
        for name, factors in (*one.factors.items(), *other.factors.items()):
            if name not in shared:
                apart *= float(self.workload.column(name).null_vector @ factors)
        axes = {name: self.workload.column(name).products(one.factors[name], other.factors[name]) for name in shared}
        total = 0.0
        for residual in subsets(shared):
            factor = apart * math.prod(within if name in residual else s * t for name, (within, s, t) in axes.items())
            if factor:  # zero for a column with one key, which is in no residual
                total += factor * self._in_nodes(residual, one, other)
        return total

    def _in_nodes(self, residual: Table, one: Rectangle, other: Rectangle) -> float:
        """The covariance of the estimates of a residual."""
        if not self.workload.levels:
            return float(self.noise[self.workload.number_of[residual], 0])
        return self.fit(residual).covariance(one.nodes, other.nodes)

    def fit(self, residual: Table) -> TreeFit:
        """Least squares along the tree for a residual, down to the last level at which it is measured.

        residual: its columns.
        """
        if residual not in self._fits:
            precisions = 1 / self.noise[self.workload.number_of[residual]]
            last = int(np.flatnonzero(precisions)[-1])
            self._fits[residual] = TreeFit(self.workload.shape, tuple(precisions[: last + 1].tolist()))
        return self._fits[residual]

    # All sums of one kind in a table

    def sum_variances(self, table: str | Iterable[str], cumulative: Iterable[str] = ()) -> Floats:
        """The variance of every cell of a table, an axis a column, or of its cumulative sums.

        table: the columns. cumulative: the columns along which cells are added up from the first key.
        """
        named = self.workload.within(table)
        axes = self._axes(named, cumulative)
        return self._of_cells(named, self.variances_of(axes, self.workload.level_of(named)))

    def largest_variance(self, table: str | Iterable[str], cumulative: Iterable[str] = ()) -> float:
        """The largest of `sum_variances`.

        table, cumulative: as there.
        """
        return float(self.node_variances(table, cumulative).max())

    def node_variances(self, table: str | Iterable[str], cumulative: Iterable[str] = ()) -> Floats:
        """The variance of a cell of a table in each node of its level, with the least accurate keys of ordered columns:
        those of others make no difference.

        table: the columns. cumulative: the columns along which cells are added up from the first key.
        """
        named = self.workload.within(table)
        worst = {name: sums.worst for name, sums in self._axes(named, cumulative).items()}
        return over_keys(self.variances_of(worst, self.workload.level_of(named)))

    def below_variances(self, table: str | Iterable[str]) -> Floats:
        """The same, from what was measured of a node and below it alone.

        table: the columns.
        """
        named = self.workload.within(table)
        level, axes = self.workload.level_of(named), self._axes(named, ())
        found = combined(axes, lambda a: self.fit(a).below(level), lambda s: s.within, lambda s: s.without**2)
        return over_keys(found)

    def _axes(self, table: Table, cumulative: Iterable[str]) -> dict[str, AxisSums]:
        """The sums along each column that is no level: every key, or cumulative sums."""
        along = set(cumulative)
        names = self.workload.others(table)
        return {name: self.workload.column(name).sums("prefix" if name in along else "cells") for name in names}

    def variances_of(self, axes: Axes, level: int) -> Floats:
        """Of these sums in every node of a level: an axis for each column, and one for the nodes."""
        return combined(axes, lambda a: self._of_nodes(a, level), lambda s: s.within, lambda s: s.without**2)

    def _of_nodes(self, residual: Table, level: int) -> Floats:
        """The variance of the estimate of a residual in every node of a level."""
        if not self.workload.levels:
            return np.asarray(self.noise[self.workload.number_of[residual]])
        return self.fit(residual).variances[level]

    def _of_cells(self, table: Table, values: Floats) -> Floats:
        """The numbers of every cell, an axis a column, where columns whose keys are alike have one for all."""
        names = self.workload.others(table)
        sizes = [self.workload.sizes[name] for name in names]
        return self.workload.nodes_in_place(table, np.broadcast_to(values, [*sizes, values.shape[-1]]))


def combined(
    axes: Axes,
    of_nodes: Callable[[Table], Floats],
    within: Callable[[AxisSums], Floats],
    without: Callable[[AxisSums], Floats],
) -> Floats:
    """sum over A of the numbers of its nodes, times `within` of the columns in A, times `without` of the others: one
    number for each column and sum in each factor, so that whole tables are outer products."""

    def over(held: Table, rest: Sequence[str]) -> Floats:
        """Of the residuals that hold all of `held` and any of `rest`."""
        if not rest:
            return of_nodes(held)
        column, *others = rest
        sums = axes[column]
        made = np.multiply.outer(without(sums), over(held, others))
        if sums.within.any():  # else no residual has the column
            made = made + np.multiply.outer(within(sums), over((*held, column), others))
        return np.asarray(made)

    return over((), list(axes))


def over_keys(values: Floats) -> Floats:
    """The largest number in every node."""
    return np.asarray(values.max(axis=tuple(range(values.ndim - 1))))


class ByTable(Mapping[Table, float]):
    """Standard deviations by table; the tables asked for are listed."""

    def __init__(self, table_errors: TableErrors) -> None:
        self._errors = table_errors

    def __getitem__(self, columns: str | Iterable[str]) -> float:
        workload = self._errors.workload
        table = workload.table(columns)
        if any(column in workload.asked for column in table):
            return math.sqrt(self._errors.largest_variance(table))
        place = workload.place(table)
        if place is not None:
            return math.sqrt(float(self._errors.table_variances[place]))
        return math.sqrt(float(self._errors.node_variances(table).mean()))

    def __contains__(self, columns: object) -> bool:
        workload = self._errors.workload
        names = (columns,) if isinstance(columns, str) else columns
        if not isinstance(names, tuple) or not set(names) <= set(workload.columns):
            return False
        return workload.place(names) is not None

    def __iter__(self) -> Iterator[Table]:
        return iter(self._errors.workload.tables)

    def __len__(self) -> int:
        return len(self._errors.workload.incidence.cells)

    def __repr__(self) -> str:
        return f"<standard deviations of {len(self):,} tables>"
