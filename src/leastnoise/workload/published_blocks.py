"""What is published of a set of tables: the whole numbers of its blocks, what they cost, and the tables made of them.

Tables along a tree (`tree_tables`) answer each of these in their own way.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.workload.incidence import Floats, Incidence
from leastnoise.workload.residuals import block_integers, table_of_blocks

if TYPE_CHECKING:
    from leastnoise.workload.columns import ColumnStrategy
    from leastnoise.workload.shares import Spreads
    from leastnoise.workload.table_errors import NoisyTables

Table = tuple[str, ...]


class PublishedBlocks:
    """The blocks of a workload as they are published."""

    if TYPE_CHECKING:

        @property
        def sizes(self) -> Mapping[str, int]:
            """How many keys each column has."""

        @property
        def lattice(self) -> Incidence:
            """The tables and blocks as integer arrays."""

        @property
        def strategies(self) -> Mapping[str, ColumnStrategy]:
            """The columns that get noise on other integers than those of plain counts."""

        @property
        def maximal(self) -> tuple[Table, ...]:
            """The tables that no other table contains."""

        def column(self, name: str) -> ColumnStrategy:
            """How one column enters the blocks."""

    @property
    def among(self) -> str:
        """Which Gaussian noise `optimize` finds the best of."""
        return "on linear sums"

    @property
    def loss_in_words(self) -> str:
        """How far cumulative sums and ranges over very many keys are from the best; nothing where there are none."""
        from leastnoise.workload.ordered.long_column import LongColumn

        long = [name for name, strategy in self.strategies.items() if isinstance(strategy, LongColumn)]
        if not long:
            return ""
        return (
            f" Over the keys of {' and '.join(long)}, more than a matrix can hold, it is the square root of the "
            "cumulative sum, whose error is 5 to 20 % above the least that is known."
        )

    def cells_alike(self, table: Table) -> bool:
        """Whether all cells of a table have the same error.

        table: its columns.
        """
        return not any(column in self.strategies for column in table)

    @property
    def block_cells(self) -> int:
        """How many cells the blocks have in all."""
        sizes = self.lattice.sizes.astype(np.float64)
        return int(sum(np.prod(sizes[rows], axis=1).sum() for rows in self.lattice.blocks))

    def with_noise(self, scales: Mapping[Table, float], *, unit: float = 1) -> NoisyTables:
        """The errors of all tables where the integers of the blocks get Gaussian noise of these scales.

        scales: by block, before rounding. unit: how many whole steps a row of weight one counts.
        """
        from leastnoise.workload.gaussian_blocks import GaussianBlocks

        return GaussianBlocks(self, scales, unit=unit)  # type: ignore[arg-type]

    def with_laplace(self, scales: Mapping[Table, float], *, unit: float = 1) -> NoisyTables:
        """The errors of all tables where the integers of these tables get Laplace noise of these scales.

        scales: by table released. unit: how many whole steps a row of weight one counts.
        """
        from leastnoise.workload.plain_tables import PlainTables

        return PlainTables(self, scales, mechanism="laplace", unit=unit)  # type: ignore[arg-type]

    def spread(self, tables: Sequence[Table], *, power: int) -> Spreads:
        """What tables would tell about the blocks if they were released, as `shares.divide` needs it.

        tables: that could be released. power: how precision grows with a share.
        """
        from leastnoise.workload.released_tables import plain_spread

        return plain_spread(self, tables, power=power)  # type: ignore[arg-type]

    def union(self, tables: Iterable[Table]) -> Table:
        """The smallest table of which all these are sums."""
        wanted = set().union(*tables)
        return tuple(name for name in self.sizes if name in wanted)

    def sums_up(self, table: Table, other: Table) -> bool:
        """Whether the other is a sum of a table, and not the same."""
        return set(other) < set(table)

    def smaller(self) -> Iterator[Table]:
        """The tables that are sums of those that no other contains, the smallest first; some occur twice."""
        for count in range(max(map(len, self.maximal))):
            for table in self.maximal:
                yield from itertools.combinations(table, count)

    def squared_cost(self, scales: Mapping[Table, float], **unit_limits: Any) -> float:
        """mu^2 of what one unit costs where the integers of the blocks get noise of these scales, rounded up.

        scales: by block. unit_limits: what `sensitivity.squared_cost` needs to know of a unit.
        """
        from leastnoise.workload.sensitivity import squared_cost

        return squared_cost(scales, self.sizes, strategies=self.strategies, **unit_limits)

    def integers(self, block: Table, counts: NDArray[Any]) -> NDArray[Any]:
        """The whole numbers of a block that get noise, from its exact table.

        block: its columns. counts: the table.
        """
        return block_integers(counts, [self.column(name) for name in block])

    def sums_of(
        self, counts: Mapping[Table, NDArray[np.int64]], wanted: Iterable[Table]
    ) -> Iterator[tuple[Table, NDArray[np.int64]]]:
        """The exact tables that are wanted, each added up along one axis of the smallest table with one column more.

        counts: tables that contain all of those. wanted: which.
        """
        known = dict(counts)
        for length in range(max(map(len, known)), 0, -1):
            tables = sorted((table for table in known if len(table) == length), key=lambda table: known[table].size)
            for table in tables:
                for axis in range(length):
                    smaller = (*table[:axis], *table[axis + 1 :])
                    if smaller not in known:
                        known[smaller] = np.asarray(known[table].sum(axis=axis))
        for table in wanted:
            yield table, known[table]

    def table_of(self, blocks: Mapping[Table, NDArray[Any]], table: Table) -> Floats:
        """The table over these columns, from the residuals of its blocks.

        blocks: by their columns. table: its columns, in order.
        """
        return table_of_blocks(blocks, table, self.sizes, self.strategies)
