"""How accurate every table of a workload is, given the variance of the noise of each of its blocks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.privacy.noise_choice import Mechanism
from leastnoise.workload import grids, rectangles
from leastnoise.workload.columns import Sums
from leastnoise.workload.incidence import Floats
from leastnoise.workload.rectangles import Positions, Sum
from leastnoise.workload.tables import Table, Workload


class TableErrors:
    """The errors of the tables put together from blocks that have independent noise.

    workload: the tables.
    block_variances: y_A of each block of `workload.blocks`, in that order: the noise on one cell of C_A m_A.
    """

    def __init__(self, workload: Workload, block_variances: Floats) -> None:
        self._workload = workload
        self._block_variances = np.array(block_variances, dtype=np.float64)
        self._block_variances.setflags(write=False)

    @property
    def workload(self) -> Workload:
        """The tables."""
        return self._workload

    @property
    def block_variances(self) -> Floats:
        """y_A of each block, in the order of `workload.blocks`."""
        return self._block_variances

    @property
    def std(self) -> ByTable:
        """The standard deviation of one cell of each table, by its columns in any order; () is the total. Tables that
        were not asked for, but are sums of one that was, can be looked up, too. With ordered columns the cells of a
        table have different ones, and this is the largest."""
        return ByTable(self)

    @cached_property
    def table_variances(self) -> Floats:
        """The variance of one cell of each table asked for, in order; where cumulative sums or ranges are asked for
        along a column, the mean variance of these."""
        made = np.asarray(self._workload.in_order(self._workload.lattice.variances(self._block_variances)))
        made.setflags(write=False)
        return made

    @property
    def rmse(self) -> float:
        """The root of the mean squared error over all cells of all tables asked for; along a column with cumulative
        sums or ranges it is that of these."""
        cells = np.asarray(self._workload.in_order(self._workload.lattice.cells))
        return math.sqrt(float(cells @ self.table_variances) / float(cells.sum()))

    @property
    def largest_std(self) -> float:
        """The largest standard deviation of any table asked for: the root of the largest of `table_variances`."""
        return math.sqrt(float(self.table_variances.max()))

    def covariance(
        self,
        table1: str | Iterable[str],
        cell1: int | Sequence[int],
        table2: str | Iterable[str],
        cell2: int | Sequence[int],
    ) -> float:
        """The covariance of the errors of two cells.

        table1, table2: the columns of the two tables, each in any order.
        cell1, cell2: the positions of the keys of the two cells, in the order in which the columns are given.
        """
        return float(self.covariances([(table1, _cell(table1, cell1)), (table2, _cell(table2, cell2))])[0, 1])

    def covariances(self, sums: Sequence[Sum]) -> Floats:
        """The covariance matrix of the errors of several sums over rectangles of cells, of one table or of several.

        sums: pairs of a table and a rectangle: the positions of the keys that are summed, by column; a column that is
        not named is summed whole. A cell is a rectangle of one key a column, the total one without a column.

        The variance of a difference is 1, -1 from both sides; Fieller's interval for a ratio needs the 2 x 2 matrix.
        """
        return rectangles.covariances(self._workload, self._block_variances, sums)

    def rectangle_variance(self, table: str | Iterable[str], keys: Mapping[str, int]) -> float:
        """The variance of a sum over a rectangle of cells; every rectangle with so many keys has the same.

        table: the columns. keys: how many keys are summed, by column; a column that is not named is summed whole.
        """
        return rectangles.variance(self._workload, self._block_variances, table, keys)

    def cell_variance(self, table: str | Iterable[str]) -> float:
        """The variance of one cell of a table: of all the same, or their mean.

        table: the columns.
        """
        return self.rectangle_variance(table, dict.fromkeys(self._workload.table(table), 1))

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

    def mean_variance(self, table: str | Iterable[str]) -> float:
        """The mean variance of the sums asked for in a table: its entry of `table_variances`.

        table: the columns of a table asked for.
        """
        place = self._workload.place(table)
        assert place is not None
        return float(self.table_variances[place])

    def sum_variances(self, table: str | Iterable[str], cumulative: Iterable[str] = ()) -> Floats:
        """The variance of every cell of a table, an axis a column, or of its cumulative sums.

        table: the columns. cumulative: the columns along which cells are added up from the first key.
        """
        names = self._workload.table(table)
        return grids.variances(self._workload, self._block_variances, names, dict.fromkeys(cumulative, "prefix"))

    def largest_variance(self, table: str | Iterable[str], cumulative: Iterable[str] = ()) -> float:
        """The largest of `sum_variances`.

        table, cumulative: as there.
        """
        names, along = self._workload.table(table), dict[str, Sums](dict.fromkeys(cumulative, "prefix"))
        return grids.largest(self._workload, self._block_variances, names, along)[0]

    def rounding_reach(self, table: str | Iterable[str], keys: Mapping[str, int]) -> float:
        """How far the rounding of the noise to whole numbers can move a sum over a rectangle, at the very most.

        table: the columns. keys: how many keys are summed, by column; a column that is not named is summed whole.
        """
        return rectangles.rounding_reach(self._workload, table, keys)


class NoisyTables(TableErrors, ABC):
    """Errors of noise as it is drawn, so that intervals have at least the coverage that is stated."""

    @property
    def mechanism(self) -> Mechanism:
        """Which noise: "gaussian", of which sums are normal but for rounding, or "laplace"."""
        return "gaussian"

    @property
    @abstractmethod
    def scales(self) -> dict[Table, float]:
        """The scale of the noise on the whole numbers of everything that is released."""

    @abstractmethod
    def residuals(self, noisy: Mapping[Table, NDArray[Any]]) -> dict[Table, Floats]:
        """r_A of each block, from the whole numbers as published: what `table_of_blocks` makes all tables of.

        noisy: the whole numbers published, by block or by table released.
        """

    @abstractmethod
    def combination_half_width(
        self, sums: Sequence[Sum], factors: Sequence[float], *, confidence: float, bins: int = 1
    ) -> float:
        """How far a combination of sums over rectangles is off at most, with at least this confidence.

        sums: pairs of a table and the positions of the keys summed, by column; a column that is not named, whole.
        factors: what each sum is multiplied by: 1, -1 for a difference; 1, -ratio for Fieller's interval of a ratio.
        confidence: between 0 and 1.
        bins: how many such combinations are to hold all at once, however they depend on each other.
        """

    def half_width(
        self, table: str | Iterable[str], keys: Mapping[str, int], *, confidence: float, bins: int = 1
    ) -> float:
        """How far a sum over a rectangle is off at most, with at least this confidence. Every rectangle with so many
        keys has the same; a cell has one key of each column.

        table: the columns. keys: how many keys are summed, by column; a column that is not named is summed whole.
        confidence: between 0 and 1.
        bins: how many such sums are to hold all at once: the cells of a table, or of all tables.
        """
        names = self.workload.table(table)
        chosen = rectangles.counts(self.workload, names, keys)
        first = {column: range(count) for column, count in chosen.items()}
        return self.combination_half_width([(names, first)], [1.0], confidence=confidence, bins=bins)

    @abstractmethod
    def sum_half_widths(
        self, table: str | Iterable[str], cumulative: Iterable[str] = (), *, confidence: float, bins: int = 1
    ) -> Floats:
        """How far each cell of a table, or each cumulative sum, is off at most, with at least this confidence: an axis
        a column.

        table: the columns. cumulative: the columns along which cells are added up from the first key.
        confidence: between 0 and 1.
        bins: how many such sums are to hold all at once: the cells of a table, or of all tables.
        """

    @abstractmethod
    def cell_half_width(self, table: str | Iterable[str], *, confidence: float, bins: int = 1) -> float:
        """How far a cell of a table is off at most, with at least this confidence: the largest of its cells.

        table: the columns. confidence: between 0 and 1.
        bins: how many such cells are to hold all at once.
        """


class ByTable(Mapping[Table, float]):
    """Standard deviations by table; the tables asked for are listed."""

    def __init__(self, table_errors: TableErrors) -> None:
        self._errors = table_errors

    def __getitem__(self, columns: str | Iterable[str]) -> float:
        workload = self._errors.workload
        table = workload.table(columns)
        place = workload.place(table)
        if any(column in workload.asked for column in table):
            return math.sqrt(self._errors.largest_variance(table))
        if place is not None:
            return math.sqrt(float(self._errors.table_variances[place]))
        return math.sqrt(self._errors.cell_variance(table))

    def __contains__(self, columns: object) -> bool:
        workload = self._errors.workload
        names = (columns,) if isinstance(columns, str) else columns
        if not isinstance(names, tuple) or not set(names) <= set(workload.columns):
            return False
        return workload.place(names) is not None

    def __iter__(self) -> Iterator[Table]:
        return iter(self._errors.workload.tables)

    def __len__(self) -> int:
        return len(self._errors.workload.lattice.cells)

    def __repr__(self) -> str:
        return f"<standard deviations of {len(self):,} tables>"


class ByBlock(Mapping[Table, float]):
    """Numbers by block."""

    def __init__(self, workload: Workload, values: Floats) -> None:
        self._workload, self._values = workload, values

    def __getitem__(self, columns: str | Iterable[str]) -> float:
        return float(self._values[self._workload.block_place(columns)])

    def __iter__(self) -> Iterator[Table]:
        return iter(self._workload.blocks)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<numbers of {len(self):,} blocks>"


def _cell(table: str | Iterable[str], cell: int | Sequence[int]) -> dict[str, list[int]]:
    names = (table,) if isinstance(table, str) else tuple(table)
    places = [cell] if isinstance(cell, int | np.integer) else list(cell)
    return {name: [int(place)] for name, place in zip(names, places, strict=True)}
