"""Tables along a tree: counties, states and the nation, each by sex; a level of the tree is a column of a table.

A row lies in one node of every level. For each set A of the other columns the integers of block A (`residuals`) are
counted in every node of the levels 0, 1, ..., 0 being the whole, down to the deepest that a table with A asks for. Each
level of each block gets noise of its own, and least squares along the tree (`tree_least_squares`) makes one estimate of
them, so that levels add up; a table is put together from the blocks of its level as without a tree.

*Whole numbers.* Noise is added to K_A prod (n_i I - J) m, a power of two K_A times the integers of the block. That
changes nothing of the promise, noise being that much wider, and makes the rounding of noise to whole numbers small: a
table without other columns has no factor n_i, and least squares would mix many numbers rounded by one half each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support.validation import Number
from leastnoise.domain import TreeShape, orbits
from leastnoise.workload.incidence import Floats
from leastnoise.workload.residuals import CLAMP
from leastnoise.workload.tables import Table, Workload
from leastnoise.workload.tree_optimum import LevelBlocks

if TYPE_CHECKING:
    from leastnoise.workload.shares import Spreads
    from leastnoise.workload.strategy import Weights
    from leastnoise.workload.table_errors import NoisyTables
    from leastnoise.workload.tree_strategy import TreeStrategy

FINENESS = 2**10  # at least so many whole steps a row in every block


class TreeWorkload(Workload):
    """The tables wanted, where some columns are levels of a tree.

    sizes: how many keys each column has, by name, the levels of the tree among them.
    tables: each a name or a tuple of names, at most one of them a level; () is the total.
    levels: the names of the levels, from the coarsest to the finest. shape: the tree.

    >>> shape = TreeShape((np.array([2]), np.array([3, 2])))
    >>> w = TreeWorkload({"state": 2, "county": 5, "sex": 2}, tables=["county", ("state", "sex")],
    ...                  levels=["state", "county"], shape=shape)
    >>> w.maximal
    (('county',), ('state', 'sex'))
    >>> w.blocks
    ((), ('state',), ('county',), ('sex',), ('state', 'sex'))
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        *,
        tables: Iterable[str | Sequence[str]],
        levels: Sequence[str],
        shape: TreeShape,
    ) -> None:
        self._levels, self._shape = tuple(levels), shape
        if [sizes.get(name) for name in self._levels] != list(shape.sizes[1:]):
            raise errors.BadDomain("every level of a tree is a column with as many keys as it has nodes.")
        named = [(table,) if isinstance(table, str) else tuple(table) for table in tables]
        for table in named:
            two = [name for name in table if name in self._levels]
            if len(two) > 1:
                raise errors.InvalidParameter(
                    f'The table of {" and ".join(table)} has two levels of one tree: every "{two[1]}" lies in one '
                    f'"{two[0]}". Take the finer alone.',
                    parameter="tables",
                    value=table,
                )
        super().__init__(sizes, tables=named)

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the levels, from the coarsest to the finest."""
        return self._levels

    @property
    def shape(self) -> TreeShape:
        """The tree."""
        return self._shape

    def level_of(self, table: Iterable[str]) -> int:
        """Which level of the tree a table has; 0 for none, the whole."""
        return next((self._levels.index(name) + 1 for name in table if name in self._levels), 0)

    def others(self, table: Iterable[str]) -> Table:
        """The columns of a table that are no level."""
        return tuple(name for name in table if name not in self._levels)

    def at_level(self, others: Iterable[str], level: int) -> Table:
        """The table of these columns and of a level."""
        return self.table((*others, *(self._levels[level - 1 : level] if level else ())))

    @cached_property
    def deepest(self) -> dict[Table, int]:
        """For every set of other columns that is in a table, the deepest level that is asked for with it."""
        found: dict[Table, int] = {}
        for table in self.tables:
            level = self.level_of(table)
            wide = tuple(name for name in self.others(table) if self.sizes[name] > 1)
            for count in range(len(wide) + 1):
                for block in itertools.combinations(wide, count):
                    found[block] = max(level, found.get(block, 0))
        place = {name: i for i, name in enumerate(self.columns)}
        return {block: found[block] for block in sorted(found, key=lambda b: (len(b), [place[name] for name in b]))}

    @cached_property
    def blocks(self) -> tuple[Table, ...]:
        """Every block of the other columns at every level that a table asks for, or that is above one."""
        return tuple(
            self.at_level(block, level) for block, deepest in self.deepest.items() for level in range(deepest + 1)
        )

    @property
    def among(self) -> str:
        """Which Gaussian noise `optimize` finds the best of."""
        return "that is the same for all nodes of a level"

    def cells_alike(self, table: Table) -> bool:
        """Whether all cells of a table have the same error: nodes of a level differ.

        table: its columns.
        """
        return not self.level_of(table)

    @property
    def block_cells(self) -> int:
        """How many whole numbers get noise, at most: the cells of all blocks."""
        return sum(map(self.cells_of, self.blocks))

    @cached_property
    def maximal(self) -> tuple[Table, ...]:
        """The tables that are no sums of another."""
        return tuple(table for table in self.tables if not any(self.sums_up(other, table) for other in self.tables))

    def sums_up(self, table: Table, other: Table) -> bool:
        """Whether the other is a sum of a table, and not the same."""
        below = self.level_of(other) <= self.level_of(table) and set(self.others(other)) <= set(self.others(table))
        return below and table != other

    def union(self, tables: Iterable[Table]) -> Table:
        """The smallest table of which all these are sums."""
        given = list(tables)
        return self.at_level(set().union(*map(self.others, given)), max(map(self.level_of, given)))

    def smaller(self) -> Iterator[Table]:
        """The tables that are sums of those that no other contains, the smallest first; some occur twice."""
        for count in range(max(len(self.others(table)) for table in self.maximal) + 1):
            for table in self.maximal:
                for block in itertools.combinations(self.others(table), count):
                    yield from (self.at_level(block, level) for level in range(self.level_of(table) + 1))

    def spread(self, tables: Sequence[Table], *, power: int) -> Spreads:
        """What tables would tell about the blocks at every level if they were released, as `shares.divide` needs it."""
        from leastnoise.workload.tree_shares import tree_spread

        return tree_spread(self, tables, power=power)

    @cached_property
    def level_blocks(self) -> LevelBlocks:
        """The blocks and levels of every table, as arrays."""
        from scipy.sparse import csr_array

        number = {block: i for i, block in enumerate(self.deepest)}
        levels = self._shape.depth + 1
        rows, columns, factors = [], [], []
        for row, table in enumerate(self.tables):
            others, level = self.others(table), self.level_of(table)
            wide = [name for name in others if self.sizes[name] > 1]
            for count in range(len(wide) + 1):
                for block in itertools.combinations(wide, count):
                    rows.append(row)
                    columns.append(number[block] * levels + level)
                    factors.append(math.prod(self.sizes[name] ** -2.0 for name in others if name not in block))
        sizes = self._shape.sizes
        return LevelBlocks(
            orbits=orbits(self._shape),
            deepest=np.array(list(self.deepest.values())),
            probability=np.array([math.prod(1 - 1 / self.sizes[name] for name in block) for block in self.deepest]),
            weights=csr_array((factors, (rows, columns)), shape=(len(self.tables), levels * len(number))),
            levels=levels,
            idle=tuple(level for level in range(levels - 1) if sizes[level] == sizes[level + 1]),
        )

    def block_place(self, columns: str | Iterable[str]) -> int:
        """The place among `blocks` of a block."""
        table = self.table(columns)
        if table not in self._block_places:
            raise errors.InvalidParameter(
                f"({', '.join(map(repr, table))}) is within no table that was asked for.",
                parameter="tables",
                value=table,
            )
        return self._block_places[table]

    def fineness(self, block: Table) -> int:
        """K_A: a power of two, so that a row is at least `FINENESS` whole steps in a block."""
        return max(1, FINENESS >> (self._own_cells(block).bit_length() - 1))

    def step_of(self, block: Table) -> int:
        """How many whole steps the integers of a block are multiplied by: K_A prod n_i over the other columns."""
        return self.fineness(block) * self._own_cells(block)

    def _own_cells(self, block: Table) -> int:
        return math.prod(self.sizes[name] for name in self.others(block))

    def optimize(self, *, mu: Number = 1.0, weights: Weights = "tables") -> TreeStrategy:
        """The noise of least error for these tables, among all that treat the nodes of a level alike.

        mu: what one row may cost, as in Gaussian DP.
        weights: what is least, as without a tree. The nodes of a level differ in accuracy; the mean over them counts.
        """
        from leastnoise.workload.tree_strategy import optimal

        return optimal(self, mu=mu, weights=weights)

    def with_noise(self, scales: Mapping[Table, float], *, unit: float = 1) -> NoisyTables:
        """The errors of all tables where the integers of these blocks get Gaussian noise of these scales."""
        from leastnoise.workload.tree_errors import GaussianLevels

        return GaussianLevels(self, scales, unit=unit)

    def with_laplace(self, scales: Mapping[Table, float], *, unit: float = 1) -> NoisyTables:
        """The errors of all tables where the integers of these tables get Laplace noise of these scales."""
        from leastnoise.workload.tree_laplace import LaplaceLevels

        return LaplaceLevels(self, scales, unit=unit)

    def squared_cost(self, scales: Mapping[Table, float], **unit_limits: Any) -> float:
        """mu^2 of what one unit costs, rounded up: `tree_cost.squared_cost`."""
        from leastnoise.workload.tree_cost import squared_cost

        return squared_cost(self, scales, **unit_limits)

    def integers(self, block: Table, counts: NDArray[Any]) -> NDArray[Any]:
        """K_A prod (n_i I - J) m over the columns that are no level; numbers beyond +-2^62 are set to that, as in
        `residuals.integer_residual`."""
        axes = [axis for axis, name in enumerate(block) if name not in self._levels]
        factor = self.fineness(block)
        counts = counts.astype(np.int64, copy=False)
        reach = np.abs(counts.astype(np.float64)).sum() * self.step_of(block)
        if reach < 0.99 * CLAMP:
            return factor * _residual(counts, axes)
        made: NDArray[Any] = np.clip(factor * _residual(counts.astype(object), axes), -CLAMP, CLAMP).astype(np.int64)
        return made

    def sums_of(
        self, counts: Mapping[Table, NDArray[np.int64]], wanted: Iterable[Table]
    ) -> Iterator[tuple[Table, NDArray[np.int64]]]:
        """The exact tables that are wanted, each summed from the smallest of those that are known.

        counts: tables that contain all of those.
        """
        known = dict(counts)
        for table in sorted(wanted, key=lambda t: (self.level_of(t), len(t)), reverse=True):
            if table not in known:
                source = min((t for t in known if self.sums_up(t, table)), key=self.cells_of)
                known[table] = self._summed(known[source], source, table)
            yield table, known[table]

    def _summed(self, values: NDArray[np.int64], source: Table, table: Table) -> NDArray[np.int64]:
        above, below = self.level_of(table), self.level_of(source)
        if below:
            axis = source.index(self._levels[below - 1])
            values = self._shape.sums(values, above, of=below, axis=axis)
            if not above:
                values = values.sum(axis=axis)
                source = self.others(source)
            else:
                source = (*source[:axis], self._levels[above - 1], *source[axis + 1 :])
        values = values.sum(axis=tuple(i for i, name in enumerate(source) if name not in table))
        left = [name for name in source if name in table]
        return np.asarray(np.transpose(values, [left.index(name) for name in table]))

    def table_of(self, blocks: Mapping[Table, NDArray[Any]], table: Table) -> Floats:
        """The table over these columns, from the residuals of its blocks at its level."""
        level, others = self.level_of(table), self.others(table)
        axis = None if not level else table.index(self._levels[level - 1])
        total = np.zeros([self.sizes[name] for name in table])
        wide = [name for name in others if self.sizes[name] > 1]
        for count in range(len(wide) + 1):
            for block in itertools.combinations(wide, count):
                named = self.at_level(block, level)
                left = tuple(i for i, name in enumerate(table) if i != axis and name not in block)
                spread = math.prod(self.sizes[table[i]] for i in left)
                total += np.expand_dims(np.asarray(blocks[named], dtype=np.float64), left) / spread
        return total

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, levels {', '.join(self._levels)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeWorkload):
            return NotImplemented if not isinstance(other, Workload) else False
        return super().__eq__(other) is True and (self._levels, self._shape) == (other._levels, other._shape)

    def __hash__(self) -> int:
        return super().__hash__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (dict(self.sizes), self.tables, self._levels, self._shape)


def _remade(
    sizes: dict[str, int], tables: tuple[Table, ...], levels: tuple[str, ...], shape: TreeShape
) -> TreeWorkload:
    return TreeWorkload(sizes, tables=tables, levels=levels, shape=shape)


def _residual(table: NDArray[Any], axes: Sequence[int]) -> NDArray[Any]:
    for axis in axes:
        table = table.shape[axis] * table - table.sum(axis=axis, keepdims=True)
    return table
