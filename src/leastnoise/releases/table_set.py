"""What every set of tables about the same people has, as released, denoised or made whole: which tables, over which
keys.

**In files**: which tables there are, and all that is needed to put them together.

The numbers stand in three columns, with the block or table that each is of and its cell. A release is read back by the
strategy that it was made with, whatever a later version would choose: after the integers of the blocks stand the
numbers of each strategy on and above the diagonal, row by row; of more than 4,096 keys its coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support.immutable import Frozen
from leastnoise.domain import Axis, Domain, TreeShape
from leastnoise.releases import display, records
from leastnoise.releases.columns import column_words
from leastnoise.releases.provenance import Promised
from leastnoise.releases.published import Frames, Spreadsheets
from leastnoise.workload import Workload
from leastnoise.workload.optimal_weights import Kind, OrderedQuestions
from leastnoise.workload.ordered import MAX_KEYS, LongColumn, OrderedColumn

if TYPE_CHECKING:
    import pyarrow as pa

    from leastnoise.workload.columns import ColumnStrategy

Table = tuple[str, ...]


class TableSet(Promised, Spreadsheets, Mapping[Table, Any]):
    """Tables over some of the columns of one set of rows: a mapping of them by their columns."""

    is_set = True
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    if TYPE_CHECKING:  # fields of every kind
        workload: Workload
        axes: Mapping[str, Axis]
        weight: str | None

        def __getitem__(self, columns: str | Iterable[str]) -> Cells:
            """The table over these columns, in any order; () is the total."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that were asked for, each by its columns; () is the total."""
        return self.workload.tables

    @property
    def bins(self) -> int:
        """How many cells all tables have."""
        return self.workload.cells

    def __iter__(self) -> Iterator[Table]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __contains__(self, table: object) -> bool:
        return table in self.tables

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._many}, {cells_in_words(self.bins)}{self._seeded_mark}>"

    def __str__(self) -> str:
        """What it is, a line for each of the first tables, and the numbers of the smallest."""
        first = self.tables[:TABLES_SHOWN]
        more = [f"  … {len(self.tables) - len(first):,} more"] if len(self.tables) > len(first) else []
        numbers = [f"\n{display.as_text(self[table])}" for table in self._smallest]
        return "\n".join([repr(self).strip("<>"), *(f"  {self._line(table)}" for table in first), *more, *numbers])

    def _line(self, table: Table) -> str:
        return f"{table_name(table, self.provenance.labels)}: {cells_in_words(self.workload.cells_of(table))}"

    @property
    def _smallest(self) -> list[Table]:
        """The smallest tables, as many as have CELLS_SHOWN cells together, and at least one."""
        ranked = sorted(self.tables, key=self.workload.cells_of)
        cells = np.cumsum([self.workload.cells_of(table) for table in ranked])
        return ranked[: max(1, int((cells <= CELLS_SHOWN).sum()))]

    @property
    def _many(self) -> str:
        return f"{len(self.tables):,} tables" if len(self.tables) != 1 else "1 table"

    def _known_table(self, columns: str | Iterable[str]) -> Table:
        """The table over these columns, in any order, if it was asked for or is a sum of one that was."""
        return self.workload.within(columns)

    def _domain(self, table: Table) -> Domain:
        return Domain(table, tuple(self.axes[column] for column in table))


class Cells(Promised, Frames):
    """One table: a value for each cell of its domain."""

    __slots__ = ()

    if TYPE_CHECKING:  # fields of every kind

        @property
        def values(self) -> NDArray[Any]:
            """A value for each cell."""

        @property
        def domain(self) -> Domain | None:
            """The cells."""

    @property
    def columns(self) -> Table:
        """The columns of the table; none of the total."""
        return () if self.domain is None else self.domain.names

    @property
    def shape(self) -> tuple[int, ...]:
        """How many keys each column has."""
        return () if self.domain is None else tuple(axis.size for axis in self.domain.axes)

    def to_numpy(self) -> Any:
        """The values as an array with an axis a column."""
        return self.values.reshape(self.shape).copy()

    def released_in_words(self) -> str:
        """Which table it is, too."""
        return f"{table_name(self.columns, self.provenance.labels)}, {Promised.released_in_words(self)}"


def cells_in_words(cells: int) -> str:
    """So many cells."""
    return f"{cells:,} cell" if cells == 1 else f"{cells:,} cells"


def table_name(table: Table, labels: Mapping[str, str] = Frozen()) -> str:
    """What people call a table: "age x sex", "the total"; where columns have labels, by these."""
    return " x ".join(column_words(column, labels) for column in table) or "the total"


Ordered = OrderedColumn | LongColumn
MAX_BITS = 24
TABLES_SHOWN = 20  # by print()
CELLS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class StoredSums:
    """The sums that were asked for along a column. bits: of its strategy's numbers; None: it has none."""

    column: str
    kind: Kind
    bits: int | None

    def _fits(self) -> dict[str, bool]:
        return {"bits": self.bits is None or 1 <= self.bits <= MAX_BITS}


@dataclass(frozen=True, slots=True)
class StoredTree:
    """The tree that some columns are levels of, by how many children each node has."""

    levels: tuple[str, ...]
    children: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class StoredWorkload:
    """The tables that were asked for. sizes: how many keys each column has."""

    sizes: Mapping[str, int]
    tables: tuple[Table, ...]
    tree: StoredTree | None
    sums: tuple[StoredSums, ...]

    @classmethod
    def of(cls, workload: Workload) -> StoredWorkload:
        """What a file has of it; the numbers of strategies stand in its columns."""
        tree = None
        if workload.levels:
            tree = StoredTree(workload.levels, tuple(tuple(counts.tolist()) for counts in workload.shape.children))
        bits = {name: each.bits for name, each in workload.strategies.items() if isinstance(each, Ordered)}
        sums = tuple(StoredSums(name, kind, bits.get(name)) for name, kind in workload.asked.items())
        return cls(dict(workload.sizes), tuple(workload.tables), tree, sums)

    def plain(self) -> Workload:
        """The tables, without strategies."""
        levels, children = ((), ()) if self.tree is None else (self.tree.levels, self.tree.children)
        shape = TreeShape(tuple(np.array(counts, dtype=np.int64) for counts in children))
        named: dict[str, list[str]] = {"prefix": [], "ranges": []}
        for one in self.sums:
            named[one.kind].append(one.column)
        prefix, ranges = named["prefix"], named["ranges"]
        return Workload(self.sizes, tables=self.tables, cumulative=prefix, ranges=ranges, levels=levels, shape=shape)

    def with_strategies(self, workload: Workload, values: NDArray[np.int64]) -> tuple[Workload, NDArray[np.int64]]:
        """The tables with the strategies whose numbers stand last, and the integers that are left: of the blocks."""
        found: dict[str, ColumnStrategy] = {}
        for one in reversed([one for one in self.sums if one.bits is not None]):
            size = self.sizes[one.column]
            count = size - 1 if size > MAX_KEYS else size * (size + 1) // 2 - 1
            if len(values) < count:
                raise errors.WrongType("the numbers of a strategy are missing")
            values, numbers = values[: len(values) - count], values[len(values) - count :]
            found[one.column] = _strategy(OrderedQuestions(one.kind, size), numbers, one.bits or 1)
        in_order = {one.column: found[one.column] for one in self.sums if one.column in found}
        return (workload.with_strategies(in_order) if in_order else workload), values


def packed(strategies: Mapping[str, ColumnStrategy]) -> dict[str, NDArray[np.int64]]:
    """The numbers of each strategy, by what they are called in the file."""
    return {f"strategy of {name}": _numbers(each) for name, each in strategies.items() if isinstance(each, Ordered)}


def _numbers(strategy: Ordered) -> NDArray[np.int64]:
    if isinstance(strategy, LongColumn):
        return strategy.numbers
    return strategy.matrix[np.triu_indices(strategy.rows, m=strategy.size)]


def _strategy(questions: OrderedQuestions, numbers: NDArray[np.int64], bits: int) -> Ordered:
    """What `_numbers` wrote."""
    size = questions.size
    if size > MAX_KEYS:
        return LongColumn(questions, numbers, bits)
    matrix = np.zeros((size - 1, size), dtype=np.int64)
    matrix[np.triu_indices(size - 1, m=size)] = numbers
    return OrderedColumn(questions, matrix, bits)


def long_table(names: Sequence[str], columns: Mapping[str, Sequence[NDArray[Any]]]) -> pa.Table:
    """Arrays one below the other, with a column for which of them a number is of, and one for its cell.

    names: of the arrays. columns: by name, the arrays of each column, all alike in size.
    """
    import pyarrow as pa

    sizes = [part.size for part in next(iter(columns.values()))]
    place = pa.array(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))
    which = pa.DictionaryArray.from_arrays(place, pa.array(names, pa.string()))
    cell = np.concatenate([np.arange(size) for size in sizes])
    values = {name: np.concatenate([part.ravel() for part in parts]) for name, parts in columns.items()}
    return pa.table({"block": which, "cell": cell, **values})


def in_shapes(values: NDArray[Any], shapes: Mapping[Table, tuple[int, ...]]) -> dict[Table, NDArray[Any]]:
    """The arrays that stand one below the other, by what they are of."""
    sizes = list(map(math.prod, shapes.values()))
    if len(values) != sum(sizes):
        raise errors.WrongType("there are more numbers than cells, or fewer")
    pieces = np.split(values, np.cumsum(sizes)[:-1])
    return {name: piece.reshape(shape).copy() for (name, shape), piece in zip(shapes.items(), pieces, strict=True)}


def is_whole(workload: Workload, mechanism: str, scales: Mapping[Table, float]) -> bool:
    """Whether all tables can be put together from what was released: the blocks, or with Laplace noise tables."""
    gaussian = mechanism == "gaussian"
    if workload.levels:
        finest = [workload.at_level(block, level) for block, level in workload.deepest.items()]
        told = all(any(_tells(workload, mechanism, name, one) for name in scales) for one in finest)
        return told and (not gaussian or set(scales) <= set(workload.blocks))
    told = all(any(set(asked) <= set(name) for name in scales) for asked in workload.maximal)
    return told and (not gaussian or set(scales) == set(workload.blocks))


def _tells(workload: Workload, mechanism: str, released: Table, block: Table) -> bool:
    """Whether what was released has a block at its level, or along Laplace noise a table that it is a sum of."""
    return released == block or (mechanism == "laplace" and workload.sums_up(released, block))


records.RECORDS[Workload] = (StoredWorkload, StoredWorkload.of, StoredWorkload.plain)
