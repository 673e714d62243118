"""A workload: which tables about the same people are wanted together. It knows columns and sizes, never data."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.workload.columns import ColumnStrategy, PlainColumn
from leastnoise.workload.incidence import MOST_PAIRS, Incidence, Integers, incidence
from leastnoise.workload.ordered.asked_columns import checked_sums
from leastnoise.workload.ordered.questions import KINDS, Kind
from leastnoise.workload.published_blocks import PublishedBlocks

if TYPE_CHECKING:
    from leastnoise.workload.strategy import Strategy, Weights

Table = tuple[str, ...]


class Workload(PublishedBlocks):
    """The tables wanted, over columns with these numbers of keys.

    sizes: how many keys each column has, by name; its order is the order of columns in every table.
    ways: 2 for every table of at most two columns, the total included; (2,) for the tables of two columns only.
    tables: the tables themselves, each a name or a tuple of names; () is the total. Either this or `ways`.
    cumulative: columns with ordered keys of which cumulative sums are to be accurate, in every table they are in.
    ranges: columns with ordered keys of which the sums over all ranges are.

    >>> w = Workload({"age": 100, "sex": 2}, ways=2)
    >>> w.tables
    ((), ('age',), ('sex',), ('age', 'sex'))
    >>> w.cells
    303
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        *,
        ways: int | Sequence[int] | None = None,
        tables: Iterable[str | Sequence[str]] | None = None,
        cumulative: Iterable[str] = (),
        ranges: Iterable[str] = (),
    ) -> None:
        self._sizes = _checked_sizes(sizes)
        self._asked = checked_sums(self._sizes, cumulative, ranges)
        self._strategies: dict[str, ColumnStrategy] = {}
        self._columns = self._all_columns()
        self.known_strategies: dict[bytes, Mapping[str, ColumnStrategy]] = {}  # by weights, once they were found
        self.known_shares: dict[tuple[Any, ...], dict[Table, float]] = {}  # of plain tables, by what makes them best
        if (ways is None) == (tables is None):
            raise errors.MissingParameter(
                "Which tables? Give either how many columns they may have, or the tables themselves, not both.",
                parameter="ways",
                example=[{"ways": 2}, {"tables": ["age", ("age", "sex")]}],
            )
        if ways is not None:
            rows = _of_orders(len(self._sizes), checked_ways(ways, len(self._sizes)))
            order = None
        else:
            rows, order = self._of_names(tables or ())
        self._lattice: Incidence = self._incidence(rows)
        self._order = order  # where the i-th table asked for stands in the lattice; None: in the same order

    def _incidence(self, tables: Sequence[Integers]) -> Incidence:
        sizes = np.array(list(self._sizes.values()), dtype=np.int64)
        return incidence(sizes, tables, [self.column(name).factors for name in self._sizes])

    def _all_columns(self) -> dict[str, ColumnStrategy]:
        plain = {name: PlainColumn(size, self._asked.get(name)) for name, size in self._sizes.items()}
        return {**plain, **self._strategies}

    @property
    def asked(self) -> Mapping[str, Kind]:
        """The columns of which other sums than counts are to be accurate: "prefix" or "ranges"."""
        return MappingProxyType(self._asked)

    @property
    def strategies(self) -> Mapping[str, ColumnStrategy]:
        """The columns that get noise on other integers than those of plain counts. `optimize` chooses them for the
        columns in `asked`; before, there are none."""
        return MappingProxyType(self._strategies)

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
            if self._sizes.get(name) != strategy.size:
                raise errors.InvalidParameter(f'The strategy of "{name}" is not for its keys.', parameter="strategies")
        made = copy.copy(self)
        made._strategies, made.known_strategies, made.known_shares = dict(strategies), {}, {}
        made._columns = made._all_columns()
        made._lattice = made._incidence(self._lattice.tables)
        return made

    def block_shape(self, block: Table) -> tuple[int, ...]:
        """How many integers of a block get noise, an axis a column.

        block: one of `blocks`.
        """
        return tuple(self.column(column).rows for column in block)

    def step_of(self, block: Table) -> int:
        """By how much the integers of a block are larger than its counts: N_A for plain counts.

        block: one of `blocks`.
        """
        return math.prod(self.column(column).step for column in block)

    @property
    def columns(self) -> Table:
        """The names of the columns, in order."""
        return tuple(self._sizes)

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many keys each column has."""
        return MappingProxyType(self._sizes)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables asked for, columns in order: as they were given, or with `ways` the smallest first."""
        names = self._names(self._lattice.tables)
        return tuple(names) if self._order is None else tuple(names[i] for i in self._order)

    @cached_property
    def blocks(self) -> tuple[Table, ...]:
        """Every subset of a table asked for, but for columns with one key: what noise is added to."""
        return tuple(self._names(self._lattice.blocks))

    @cached_property
    def maximal(self) -> tuple[Table, ...]:
        """The tables that no other table contains: all others are sums of these."""
        return tuple(
            table for table, most in zip(self.tables, self.in_order(self._lattice.maximal), strict=True) if most
        )

    @cached_property
    def cells(self) -> int:
        """How many cells the tables asked for have in all."""
        exact = self._lattice.cells.sum() < 2**52
        return int(self._lattice.cells.sum()) if exact else sum(map(self.cells_of, self.tables))

    @property
    def lattice(self) -> Incidence:
        """The tables and blocks as integer arrays; its tables are sorted by their number of columns."""
        return self._lattice

    @property
    def as_in_lattice(self) -> bool:
        """Whether `tables` has the order of the lattice."""
        return self._order is None

    def in_order(self, by_table: Any) -> Any:
        """An array of one entry a table of the lattice, in the order of `tables`."""
        return by_table if self._order is None else by_table[self._order]

    def in_lattice(self, by_table: Any) -> Any:
        """The inverse of `in_order`."""
        if self._order is None:
            return by_table
        made = np.empty_like(by_table)
        made[self._order] = by_table
        return made

    def cells_of(self, table: Table) -> int:
        """How many cells a table has."""
        return math.prod(self._sizes[column] for column in table)

    def table(self, columns: str | Iterable[str]) -> Table:
        """A table as it is named here: a tuple in the order of the columns.

        columns: a name, or names in any order.
        """
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        for name in names:
            if name not in self._sizes:
                raise errors.UnknownColumn.among_columns(name, self._sizes)
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

    def block_place(self, columns: str | Iterable[str]) -> int:
        """The place among `blocks` of a block."""
        table = columns if isinstance(columns, tuple) and columns in self._block_places else self.table(columns)
        if table not in self._block_places:
            raise errors.InvalidParameter(
                f"{_shown(table)} is within no table that was asked for, or holds a column with one key.",
                parameter="tables",
                value=table,
            )
        return self._block_places[table]

    def optimize(self, *, mu: Number = 1.0, weights: Weights = "tables") -> Strategy:
        """The noise of least error for these tables: optimal among all Gaussian linear mechanisms under add-remove.

        mu: what one row may cost, as in Gaussian DP: mu^2 = sum over blocks of p_A/y_A.
        weights: what is least. "tables": the sum of the variances of one cell of each table, so every table counts the
        same. "cells": that of all cells, so the RMSE. "worst": the largest variance. Or a mapping of tables to positive
        numbers: the sum of variances of one cell of each table times its number, which is 1 where none is given.

        With `cumulative` or `ranges` the variance of a table is the mean over these sums instead of one cell; their
        strategies are then chosen, too, and the `workload` of what is returned has them. Each is optimal for its column
        alone; that no other noise on the set has less error is not known.
        """
        from leastnoise.workload.strategy import optimal

        return optimal(self, mu=mu, weights=weights)

    def __repr__(self) -> str:
        return f"Workload({len(self._sizes)} columns, {len(self._lattice.cells):,} tables, {self.cells:,} cells)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        same = [*self._sizes.items()] == [*other._sizes.items()] and self.tables == other.tables
        return same and self._asked == other._asked and self._strategies == other._strategies

    def __hash__(self) -> int:
        return hash((tuple(self._sizes.items()), len(self._lattice.cells)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self._sizes, self.tables, self._asked, self._strategies)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self._sizes)}

    @cached_property
    def _places(self) -> dict[Table, int]:
        return {table: i for i, table in enumerate(self.tables)}

    @cached_property
    def _block_places(self) -> dict[Table, int]:
        return {block: i for i, block in enumerate(self.blocks)}

    def _names(self, arrays: Sequence[Integers]) -> list[Table]:
        names = np.array([*self._sizes, ""], dtype=object)
        return [tuple(row) for rows in arrays for row in names[rows].tolist()]

    def _of_names(self, tables: Iterable[str | Sequence[str]]) -> tuple[list[Integers], Integers]:
        """The tables as integer arrays by number of columns, and where each of those given stands among them."""
        if isinstance(tables, str):
            tables = [tables]
        named = [self.table(table) for table in tables]
        if not named:
            raise errors.MissingParameter(
                "There is no table to publish.", parameter="tables", example={"tables": ["age", ("age", "sex")]}
            )
        if len(set(named)) < len(named):
            twice = next(table for table in named if named.count(table) > 1)
            raise errors.InvalidParameter(
                f"The table {_shown(twice)} is asked for twice. Ask once; to give it more weight, use weights.",
                parameter="tables",
                value=twice,
            )
        longest = max(named, key=len)
        _check_pairs(sum(2 ** len(table) for table in named), f"{_shown(longest)} alone has {2 ** len(longest):,}. ")
        order = np.argsort([len(table) for table in named], kind="stable")
        rows = [
            np.array([[self._place[name] for name in named[i]] for i in group], dtype=np.int64).reshape(-1, length)
            if length
            else np.zeros((1, 0), dtype=np.int64)
            for length, group in itertools.groupby(order, key=lambda i: len(named[i]))
        ]
        return rows, np.argsort(order, kind="stable")


def _remade(
    sizes: dict[str, int],
    tables: tuple[Table, ...],
    asked: Mapping[str, Kind],
    strategies: Mapping[str, ColumnStrategy],
) -> Workload:
    by_kind = {kind: [name for name, sums in asked.items() if sums == kind] for kind in KINDS}
    made = Workload(sizes, tables=tables, cumulative=by_kind["prefix"], ranges=by_kind["ranges"])
    return made.with_strategies(strategies) if strategies else made


def _checked_sizes(sizes: Mapping[str, int]) -> dict[str, int]:
    if not isinstance(sizes, Mapping):
        raise errors.WrongType(
            f"sizes must be a mapping of names to numbers of keys. Got {type(sizes).__name__} instead.",
            parameter="sizes",
            example={"sizes": {"age": 100, "sex": 2}},
        )
    for name in sizes:
        if not isinstance(name, str):
            raise errors.WrongType(f"A column is named by a text. Got {name!r} instead.", parameter="sizes", value=name)
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
        raise errors.InvalidParameter(
            f"ways must name numbers of columns from 0 to {columns}, of which there are so many. Got {ways!r} instead.",
            parameter="ways",
            value=ways,
            example=[{"ways": 2}, {"ways": (2,)}],
        )
    return orders


def _of_orders(columns: int, orders: list[int]) -> list[Integers]:
    most = orders[-1]
    _check_pairs(
        sum(math.comb(columns, order) * 2**order for order in orders),
        f"There are {math.comb(columns, most):,} tables of {most} columns, each with {2**most:,}. ",
    )
    return [
        np.fromiter(
            itertools.chain.from_iterable(itertools.combinations(range(columns), order)),
            dtype=np.int64,
            count=math.comb(columns, order) * order,
        ).reshape(math.comb(columns, order), order)
        for order in orders
    ]


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
