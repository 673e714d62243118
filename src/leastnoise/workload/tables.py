"""A workload: which tables about the same people are wanted together. It knows columns and sizes, never data.

A table has some columns, and at most one level of a tree; without a tree, level 0 of the tree of a root alone. For each
set A of columns that are no level, the integers of residual A (`residuals`) are counted in every node of the levels 0
(the whole), 1, ... down to the deepest that a table with A asks for. Each of these blocks gets noise of its own, least
squares along the tree (`tree_least_squares`) makes one estimate of the levels of a residual, so that they add up, and a
table is put together from the residuals at its level.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.immutable import Frozen
from leastnoise._support.validation import Floats, Number
from leastnoise.domain import TreeShape
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.workload.columns import ColumnStrategy, PlainColumn, PlanFactors, Table
from leastnoise.workload.incidence import MOST_PAIRS, Incidence, Integers, TableRows, incidence
from leastnoise.workload.optimal_weights import Kind, check_keys
from leastnoise.workload.residuals import block_integers, spread_blocks
from leastnoise.workload.unit_cost import TableBlocks

if TYPE_CHECKING:
    from leastnoise.workload.noisy_tables import NoisyTables
    from leastnoise.workload.strategy import Strategy, Weights

ROOT = TreeShape(())  # of a root alone
FINENESS = 2**10  # at least so many whole steps a row in every block along a tree


class Workload:
    """The tables wanted, over columns with these numbers of keys.

    sizes: how many keys each column has, by name; its order is the order of columns in every table.
    ways: 2 for every table of at most two columns, the total included; (2,) for the tables of two columns only.
    tables: the tables themselves, each a name or a tuple of names; () is the total. Either this or `ways`.
    cumulative: columns with ordered keys of which cumulative sums are to be accurate, in every table they are in.
    ranges: columns with ordered keys of which the sums over all ranges are.
    levels: columns that are the levels of a tree, from the coarsest to the finest; a table has at most one of them.
    shape: the tree; where there is none it is that of a root alone.

    `asked` says of which columns other sums than counts are to be accurate: "prefix" or "ranges". `strategies` are
    those of columns that get noise on other integers than those of plain counts: `optimize` chooses them for the
    columns in `asked`; before, there are none. `incidence` has the tables as arrays.

    >>> w = Workload({"age": 100, "sex": 2}, ways=2)
    >>> w.tables
    ((), ('age',), ('sex',), ('age', 'sex'))
    >>> w.cells
    303
    >>> shape = TreeShape((np.array([2]), np.array([3, 2])))
    >>> w = Workload({"state": 2, "county": 5, "sex": 2}, tables=["county", ("state", "sex")],
    ...              levels=["state", "county"], shape=shape)
    >>> w.maximal
    (('county',), ('state', 'sex'))
    >>> w.blocks
    ((), ('state',), ('county',), ('sex',), ('state', 'sex'))
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        *,
        ways: int | Sequence[int] | None = None,
        tables: Iterable[str | Sequence[str]] | None = None,
        cumulative: Iterable[str] = (),
        ranges: Iterable[str] = (),
        levels: Sequence[str] = (),
        shape: TreeShape = ROOT,
    ) -> None:
        self.sizes: Mapping[str, int] = Frozen(_checked_sizes(sizes))
        self.levels, self.shape = tuple(levels), shape
        if [self.sizes.get(name) for name in self.levels] != list(shape.sizes[1:]):
            raise errors.BadDomain("every level of a tree is a column with as many keys as it has nodes.")
        self.asked: Mapping[str, Kind] = Frozen(checked_sums(self.sizes, cumulative, ranges))
        for name in self.asked:
            if name in self.levels:
                raise errors.InvalidParameter(
                    f'"{name}" is a level of a tree, whose nodes are added up by the tree. Name a column that is none.',
                    parameter="cumulative" if self.asked[name] == "prefix" else "ranges",
                    value=name,
                )
        self.strategies: Mapping[str, ColumnStrategy] = Frozen()
        self.known_strategies: dict[bytes, Mapping[str, ColumnStrategy]] = {}  # by weights, once they were found
        self.known_shares: dict[tuple[Any, ...], dict[Table, float]] = {}  # of plain tables, by what makes them best
        if (ways is None) == (tables is None):
            raise errors.MissingParameter(
                "Which tables? Give either how many columns they may have, or the tables themselves, not both.",
                parameter="ways",
                example=[{"ways": 2}, {"tables": ["age", ("age", "sex")]}],
            )
        orders = [] if ways is None else checked_ways(ways, len(self.sizes))
        if self.levels and ways is not None:
            every = (table for order in orders for table in itertools.combinations(self.sizes, order))
            tables = [table for table in every if len(self._of_tree(table)) <= 1]
        self._named: tuple[Table, ...] | None = None if tables is None else self._checked(tables)
        self._rows = _of_orders(len(self.sizes), orders) if self._named is None else self._rows_of(self._named)
        self._columns = self._all_columns()
        self.incidence = self.incidence_with({})

    def _all_columns(self) -> dict[str, ColumnStrategy]:
        plain = {name: PlainColumn(size, self.asked.get(name)) for name, size in self.sizes.items()}
        return {**plain, **self.strategies}

    def incidence_with(self, factors: Mapping[str, PlanFactors]) -> Incidence:
        """The incidence of these tables, where these columns multiply other factors than their own.

        factors: by column.
        """
        names = self.others(self.sizes)
        sizes = np.array([self.sizes[name] for name in names], dtype=np.int64)
        made = [factors.get(name) or self._columns[name].factors for name in names]
        return incidence(sizes, self._rows, made, self.shape)

    # What is asked for

    def column(self, name: str) -> ColumnStrategy:
        """How one column enters the blocks.

        name: which.
        """
        return self._columns[name]

    def with_strategies(self, strategies: Mapping[str, ColumnStrategy]) -> Workload:
        """The same tables, with these columns published by strategies of their own.

        strategies: by column; the other columns have plain counts.
        """
        for name, strategy in strategies.items():
            if self.sizes.get(name) != strategy.size or not strategy.null_vector.any():  # (of a column alone v = 0)
                raise errors.InvalidParameter(f'The strategy of "{name}" is not for its keys.', parameter="strategies")
        made = copy.copy(self)
        made.strategies = Frozen(strategies)
        made.known_strategies, made.known_shares = {}, {}
        made._columns = made._all_columns()
        made.incidence = made.incidence_with({})
        return made

    @property
    def columns(self) -> Table:
        """The names of the columns, in order."""
        return tuple(self.sizes)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables asked for, columns in order: as they were given, or with `ways` the smallest first."""
        return self._names(self._rows.columns) if self._named is None else self._named

    @cached_property
    def residuals(self) -> tuple[Table, ...]:
        """Every set of columns that are no level and have several keys, within a table asked for."""
        return self._names(self.incidence.residuals)

    @cached_property
    def number_of(self) -> dict[Table, int]:
        """The place of each residual among `residuals`."""
        return {residual: i for i, residual in enumerate(self.residuals)}

    @cached_property
    def deepest(self) -> dict[Table, int]:
        """For every residual the deepest level that is asked for with it."""
        return dict(zip(self.residuals, self.incidence.deepest.tolist(), strict=True))

    @cached_property
    def blocks(self) -> tuple[Table, ...]:
        """Every residual at every level that a table asks for, or that is above one: what noise is added to."""
        if not self.levels:
            return self.residuals
        return tuple(self.at_level(each, level) for each, last in self.deepest.items() for level in range(last + 1))

    @cached_property
    def maximal(self) -> tuple[Table, ...]:
        """The tables that no other table contains: all others are sums of these."""
        return tuple(itertools.compress(self.tables, self.incidence.maximal))

    @cached_property
    def cells(self) -> int:
        """How many cells the tables asked for have in all."""
        cells = float(self.incidence.cells.sum())
        return int(cells) if cells < 2**52 else sum(map(self.cells_of, self.tables))

    @property
    def block_cells(self) -> int:
        """How many cells the blocks have in all."""
        if self.levels:
            return sum(map(self.cells_of, self.blocks))
        sizes = np.array(list(self.sizes.values()), dtype=np.float64)
        return int(sum(np.prod(sizes[rows], axis=1).sum() for rows in self.incidence.residuals))

    # Names

    def cells_of(self, table: Table) -> int:
        """How many cells a table has."""
        return math.prod(self.sizes[column] for column in table)

    def block_shape(self, block: Table) -> tuple[int, ...]:
        """How many integers of a block get noise, an axis a column.

        block: one of `blocks`.
        """
        return tuple(self.column(column).rows for column in block)

    def table(self, columns: str | Iterable[str]) -> Table:
        """A table as it is named here: a tuple in the order of the columns.

        columns: a name, or names in any order.
        """
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        for name in names:
            if name not in self.sizes:
                raise errors.UnknownColumn.among_columns(name, self.sizes)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise errors.InvalidParameter(
                f'The table {_shown(names)} has the column "{twice}" twice. Name each column once.',
                parameter="tables",
                value=names,
            )
        return tuple(sorted(names, key=self._place.__getitem__))

    def place(self, columns: str | Iterable[str]) -> int | None:
        """The place among `tables` of a table, None where it was not asked for.

        columns: a name, or names in any order.
        """
        return self._places.get(self.table(columns))

    def within(self, columns: str | Iterable[str]) -> Table:
        """A table as it is named here, which must be within one that was asked for.

        columns: a name, or names in any order.
        """
        table = self.table(columns)
        wide = tuple(name for name in self.others(table) if self.sizes[name] > 1)
        if self.deepest.get(wide, -1) < self.level_of(table):
            raise errors.InvalidParameter(
                f"{_shown(table)} is within no table that was asked for.", parameter="tables", value=table
            )
        return table

    def level_of(self, table: Iterable[str]) -> int:
        """Which level of the tree a table has; 0 for none, the whole."""
        return self.levels.index(found[0]) + 1 if self.levels and (found := self._of_tree(table)) else 0

    def others(self, table: Iterable[str]) -> Table:
        """The columns of a table that are no level."""
        return tuple(name for name in table if name not in self.levels) if self.levels else tuple(table)

    def at_level(self, others: Iterable[str], level: int) -> Table:
        """The table of these columns and of a level."""
        return self.table((*others, *(self.levels[level - 1 : level] if level else ())))

    def union(self, tables: Iterable[Table]) -> Table:
        """The smallest table of which all these are sums."""
        given = list(tables)
        return self.at_level(set().union(*map(self.others, given)), max(map(self.level_of, given)))

    def sums_up(self, table: Table, other: Table) -> bool:
        """Whether the other is a sum of a table, and not the same."""
        below = self.level_of(other) <= self.level_of(table) and set(self.others(other)) <= set(self.others(table))
        return below and table != other

    def smaller(self) -> Iterator[Table]:
        """The tables that are sums of those that no other contains, and these, the smallest first; some twice."""
        for count in range(max(len(self.others(table)) for table in self.maximal) + 1):
            for table in self.maximal:
                for block in itertools.combinations(self.others(table), count):
                    yield from (self.at_level(block, level) for level in range(self.level_of(table) + 1))

    def cells_alike(self, table: Table) -> bool:
        """Whether all cells of a table have the same error: nodes of a level differ, and ordered keys.

        table: its columns.
        """
        return not self.level_of(table) and not any(column in self.strategies for column in table)

    # The noise, and what it costs

    def optimize(self, *, mu: Number = 1.0, weights: Weights = "tables") -> Strategy:
        """The noise of least error for these tables: optimal among all Gaussian linear mechanisms under add-remove;
        along a tree, among Gaussian noise that treats the nodes of a level alike.

        mu: what one row may cost, as in Gaussian DP: mu^2 = sum over blocks of p_A/y_A.
        weights: what is least. "tables": the sum of the variances of one cell of each table, so every table counts the
        same. "cells": that of all cells, so the RMSE. "worst": the largest variance. Or a mapping of tables to positive
        numbers: the sum of variances of one cell of each table times its number, which is 1 where none is given.
        Where the cells of a table differ, along a tree, the mean over them counts.

        With `cumulative` or `ranges` the variance of a table is the mean over these sums instead of one cell; their
        strategies are then chosen, too, and the `workload` of what is returned has them. Each is optimal for its column
        alone; that no other noise on the set has less error is not known.
        """
        from leastnoise.workload.strategy import optimal

        return optimal(self, mu=mu, weights=weights)

    def with_noise(self, scales: Mapping[Table, float], *, unit: float = 1) -> NoisyTables:
        """The errors of all tables where the integers of the blocks get Gaussian noise of these scales.

        scales: by block, before rounding. unit: how many whole steps a row of weight one counts.
        """
        from leastnoise.workload.noisy_tables import NoisyTables

        return NoisyTables(self, scales, "gaussian", unit=unit)

    def with_laplace(self, scales: Mapping[Table, float], *, unit: float = 1) -> NoisyTables:
        """The errors of all tables where the integers of these tables get Laplace noise of these scales.

        scales: by table released. unit: how many whole steps a row of weight one counts.
        """
        from leastnoise.workload.noisy_tables import NoisyTables

        return NoisyTables(self, scales, "laplace", unit=unit)

    def unit_cost(self, weight: int = 1, neighbours: Neighbours = "add-remove") -> TableBlocks:
        """What one unit costs.

        weight: the most that its rows weigh together, in whole steps. neighbours: "add-remove" or "replace".
        """
        return TableBlocks(self, weight, neighbours)

    def squared_cost(
        self, scales: Mapping[Table, float], *, parts: int = 1, neighbours: Neighbours = "add-remove"
    ) -> float:
        """mu^2 of what one unit costs where the integers of the blocks get noise of these scales, rounded up.

        scales: by block. parts: the most that its rows weigh together. neighbours: "add-remove" or "replace".
        """
        return float(self.unit_cost(parts, neighbours).mu_squared(scales))

    # From counts to integers, and from residuals to tables

    def fineness(self, block: Table) -> int:
        """K_A: without a tree 1; along one a power of two, so that a row is at least `FINENESS` whole steps in a block.

        Noise is added to K_A times the integers of the block. That changes nothing of what is promised, noise being
        that much wider, and makes the rounding of noise to integers small: a table without other columns has no factor
        n_i, and least squares would mix many numbers rounded by one half each.
        """
        return max(1, FINENESS >> (self._own_step(block).bit_length() - 1)) if self.levels else 1

    def step_of(self, block: Table) -> int:
        """By how much the integers of a block are larger than its counts: K_A times N_A for plain counts.

        block: one of `blocks`.
        """
        return self.fineness(block) * self._own_step(block)

    def _own_step(self, block: Table) -> int:
        return math.prod([self._columns[name].step for name in self.others(block)])

    def integers(self, block: Table, counts: NDArray[Any]) -> NDArray[Any]:
        """The integers of a block that get noise, from its exact table.

        block: its columns. counts: the table.
        """
        columns = {i: self.column(name) for i, name in enumerate(block) if name not in self.levels}
        return block_integers(counts, columns, factor=self.fineness(block))

    def sums_of(
        self, counts: Mapping[Table, NDArray[np.int64]], wanted: Iterable[Table]
    ) -> Iterator[tuple[Table, NDArray[np.int64]]]:
        """The exact tables that are wanted: one column less, or one level up, at a time, from the smallest table.

        counts: tables that contain all of those. wanted: which.
        """
        known = dict(counts)
        for rank in range(max(map(self._rank, known)), 0, -1):
            for table in sorted((table for table in known if self._rank(table) == rank), key=self.cells_of):
                for name in table:
                    smaller = self._without(table, name)
                    if smaller not in known:
                        known[smaller] = self._summed(known[table], table, name)
        for table in wanted:
            yield table, known[table]

    def _rank(self, table: Table) -> int:
        return len(self.others(table)) + self.level_of(table)

    def _without(self, table: Table, name: str) -> Table:
        """The table without a column, or with the level above it."""
        if name not in self.levels:
            return tuple(other for other in table if other != name)
        return self.at_level(self.others(table), self.level_of(table) - 1)

    def _summed(self, values: NDArray[np.int64], table: Table, name: str) -> NDArray[np.int64]:
        axis = table.index(name)
        level = self.level_of([name])
        if level < 2:
            return np.asarray(values.sum(axis=axis))
        above = self.levels[level - 2]
        found = self.shape.sums(values, level - 1, of=level, axis=axis)
        made = (*table[:axis], above, *table[axis + 1 :])
        return np.transpose(found, [made.index(each) for each in self.table(made)])

    def nodes_last(self, table: Table, values: NDArray[Any]) -> NDArray[Any]:
        """The cells of a table with the other columns first, in order, and the nodes of its level last: one, the whole,
        where it has no level.

        table: its columns. values: an axis a column.
        """
        level = self.level_of(table)
        if not level:
            return np.asarray(values)[..., None]
        return np.moveaxis(values, table.index(self.levels[level - 1]), -1)

    def nodes_in_place(self, table: Table, values: NDArray[Any]) -> NDArray[Any]:
        """The inverse of `nodes_last`.

        table: its columns. values: an axis for each column that is no level, and one for the nodes.
        """
        level = self.level_of(table)
        return np.moveaxis(values, -1, table.index(self.levels[level - 1])) if level else values[..., 0]

    def table_of(self, residuals: Mapping[Table, NDArray[Any]], table: Table) -> Floats:
        """The table over these columns, from the residuals at its level.

        residuals: by the columns of their blocks. table: its columns, in order.
        """
        level, parts = self.level_of(table), {name: each.null_vector for name, each in self.strategies.items()}

        def nodes_last(held: Table) -> NDArray[Any]:
            name = self.at_level(held, level) if level else held
            return self.nodes_last(name, residuals[name])

        made = spread_blocks(nodes_last, self.others(table), self.sizes, parts)
        return self.nodes_in_place(table, made)

    # Python's own

    def __repr__(self) -> str:
        along = f", levels {', '.join(self.levels)}" if self.levels else ""
        return f"Workload({len(self.sizes)} columns, {len(self.incidence.cells):,} tables, {self.cells:,} cells{along})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        same = [*self.sizes.items()] == [*other.sizes.items()] and self.tables == other.tables
        same = same and (self.levels, self.shape) == (other.levels, other.shape)
        return same and self.asked == other.asked and self.strategies == other.strategies

    def __hash__(self) -> int:
        return hash((tuple(self.sizes.items()), len(self.incidence.cells)))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.sizes)}

    @cached_property
    def _places(self) -> dict[Table, int]:
        return {table: i for i, table in enumerate(self.tables)}

    def _names(self, arrays: Sequence[Integers]) -> tuple[Table, ...]:
        names = np.array([*self.others(self.sizes), ""], dtype=object)
        return tuple(tuple(row) for rows in arrays for row in names[rows].tolist())

    def _of_tree(self, table: Iterable[str]) -> list[str]:
        """The levels among these names."""
        return [name for name in table if name in self.levels]

    def _checked(self, tables: Iterable[str | Sequence[str]]) -> tuple[Table, ...]:
        """The tables that were given, as they are named here."""
        named = tuple(self.table(table) for table in ([tables] if isinstance(tables, str) else tables))
        if not named:
            raise errors.MissingParameter(
                "There is no table to publish.", parameter="tables", example={"tables": ["age", ("age", "sex")]}
            )
        for table in named if self.levels else ():
            two = sorted(self._of_tree(table), key=self.levels.index)
            if len(two) > 1:
                raise errors.InvalidParameter(
                    f'The table of {" and ".join(table)} has two levels of one tree: every "{two[1]}" lies in one '
                    f'"{two[0]}". Take the finer alone.',
                    parameter="tables",
                    value=table,
                )
        if len(set(named)) < len(named):
            twice = next(table for table in named if named.count(table) > 1)
            raise errors.InvalidParameter(
                f"The table {_shown(twice)} is asked for twice. Ask once; to give it more weight, use weights.",
                parameter="tables",
                value=twice,
            )
        return named

    def _rows_of(self, named: Sequence[Table]) -> TableRows:
        """The tables as arrays."""
        others = list(map(self.others, named))
        longest = max(others, key=len)
        _check_pairs(sum(2 ** len(table) for table in others), f"{_shown(longest)} alone has {2 ** len(longest):,}. ")
        distinct = sorted(dict.fromkeys(others), key=len)
        number = {name: i for i, name in enumerate(self.others(self.sizes))}
        rows = [
            np.array([[number[name] for name in table] for table in group], dtype=np.int64).reshape(-1, length)
            if length
            else np.zeros((1, 0), dtype=np.int64)
            for length, group in itertools.groupby(distinct, key=len)
        ]
        row_of = {table: i for i, table in enumerate(distinct)}
        place = np.array([row_of[table] for table in others], dtype=np.int64)
        level = np.array([self.level_of(table) for table in named], dtype=np.int64) if self.levels else None
        return TableRows(rows, place, level)


def _checked_sizes(sizes: Mapping[str, int]) -> dict[str, int]:
    if not isinstance(sizes, Mapping):
        raise errors.WrongType.must(
            "sizes", "be a mapping of names to numbers of keys", sizes, example={"sizes": {"age": 100, "sex": 2}}
        )
    for name in sizes:
        if not isinstance(name, str):
            raise errors.WrongType.must("A column", "be named by a string", name, parameter="sizes")
    checked = {name: validation.integer(f'The size of "{name}"', size) for name, size in sizes.items()}
    for name, size in checked.items():
        if size >= 2**31:
            raise errors.BadDomain(f'"{name}" has {size:,} keys, more than a table can have.', parameter="sizes")
    return checked


def checked_ways(ways: int | Sequence[int], columns: int) -> list[int]:
    """The numbers of columns that are asked for, in order: of so many columns."""
    orders = list(ways) if isinstance(ways, Sequence | range) and not isinstance(ways, str) else None
    if orders is None:
        return list(range(min(validation.integer("ways", ways, least=0), columns) + 1))
    orders = sorted({validation.integer("ways", order, least=0) for order in orders})
    if not orders or orders[-1] > columns:
        rule = f"name numbers of columns from 0 to {columns}, of which there are so many"
        raise errors.InvalidParameter.must("ways", rule, ways, example=[{"ways": 2}, {"ways": (2,)}])
    return orders


def checked_sums(sizes: Mapping[str, int], cumulative: Iterable[str], ranges: Iterable[str]) -> dict[str, Kind]:
    """The columns of which other sums than counts are asked for, checked: each with one kind of sums.

    sizes: how many keys each column has. cumulative, ranges: names of columns.
    """
    found: dict[str, Kind] = {}
    kinds: tuple[tuple[str, Any, Kind], ...] = (("cumulative", cumulative, "prefix"), ("ranges", ranges, "ranges"))
    for parameter, names, kind in kinds:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise errors.WrongType.must(parameter, "be a list of columns", names, example={parameter: ["age"]})
        for name in names:
            if not isinstance(name, str):
                raise errors.WrongType.must(parameter, "be names of columns", name, example={parameter: ["age"]})
            if name not in sizes:
                raise errors.UnknownColumn(
                    f'{parameter} names "{name}", and no table that is asked for has that column. The columns of the '
                    f"tables are {', '.join(sizes)}. Name one of them, or ask for a table with it.",
                    parameter=parameter,
                    value=name,
                    example={parameter: [next(iter(sizes), "age")]},
                )
            if name in found:
                raise errors.InvalidParameter(
                    f'"{name}" is named twice: cumulative sums and ranges have different strategies, so a column has '
                    "one of them. Ranges are the differences of cumulative sums, so either gives both.",
                    parameter=parameter,
                    value=name,
                )
            check_keys(f'"{name}"', sizes[name], parameter, name)
            if sizes[name] > 1:
                found[name] = kind
    return found


def _of_orders(columns: int, orders: list[int]) -> TableRows:
    """Every table of so many columns."""
    most = orders[-1]
    _check_pairs(
        sum(math.comb(columns, order) * 2**order for order in orders),
        f"There are {math.comb(columns, most):,} tables of {most} columns, each with {2**most:,}. ",
    )
    rows = [
        np.fromiter(
            itertools.chain.from_iterable(itertools.combinations(range(columns), order)),
            dtype=np.int64,
            count=math.comb(columns, order) * order,
        ).reshape(math.comb(columns, order), order)
        for order in orders
    ]
    return TableRows(rows)


def _check_pairs(pairs: int, largest: str) -> None:
    if pairs > MOST_PAIRS:
        raise errors.BadDomain(
            f"These tables have {pairs:,} subsets in all, counted once for every table they are in, and more than "
            f"{MOST_PAIRS:,} do not fit in memory. {largest}Ask for fewer tables, or of fewer columns.",
            parameter="tables",
            example={"ways": 2},
        )


def _shown(table: Sequence[str]) -> str:
    return "(" + ", ".join(f'"{name}"' for name in table) + ")"
