"""The rows of a set of tables: the position of each in every column's keys, weights that rows of a unit share, and how
many rows are in each cell.

A row that is outside the keys of any column leaves all tables: else they would not be sums of one table, and what is
rebuilt from them would be biased.

The positions of a hundred columns do not fit into one integer, so they are packed into several words: these, and the
row's weight if it has one, are its content (`rows.keeping`).

*All tables go the same way.* Rows compete also where no unit has too many of them. To look for such a unit first, and
to leave the rest out without one, would be faster then; but it needs more memory to choose, so one person's second row
would decide whether a limit of memory is reached: an error, and it would tell of that row.

*All tables are counted at once*, in one pass over the packed positions. A group-by a table would read the rows once for
each. Here a batch of rows is counted in every table before the next one is read; the counts of all tables lie one after
the other in one vector.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from leastnoise.curator.rows import keeping
from leastnoise.curator.rows.keeping import Rule
from leastnoise.curator.rows.placing import Packing, place
from leastnoise.domain import Axis

WEIGHT = "weight"


@dataclass(frozen=True, slots=True)
class CellCounter:
    """What runs where the rows are: record batches of words (see `placing.Packing`) in, the counts of every cell out.

    sizes: how many keys each column has. tables: the columns of each table, by number; none of them is empty.
    weighted: whether rows have a column `weight`, integers that are added up instead of ones.
    """

    sizes: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]
    weighted: bool = False

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each table begins in the vector of all counts, and where the last ends."""
        cells = [math.prod(self.sizes[column] for column in table) for table in self.tables]
        return np.concatenate([[0], np.cumsum(np.array(cells, np.int64))]).astype(np.int64)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> NDArray[np.int64]:
        total = np.zeros(int(self.starts[-1]), np.int64)
        tables = list(zip(self.tables, np.split(total, self.starts[1:-1]), strict=True))  # views of one vector
        packing = Packing(self.sizes)
        for batch in batches:
            words = [_column(batch, name) for name in packing.words]
            positions = [
                words[word] >> shift & (1 << bits) - 1
                for (word, shift), bits in zip(packing.places, packing.bits, strict=True)
            ]
            weights = _column(batch, WEIGHT) if self.weighted else 1
            for table, counts in tables:
                cells = np.zeros(batch.num_rows, np.int64)
                for column in table:
                    cells = cells * self.sizes[column] + positions[column]
                np.add.at(counts, cells, weights)  # exact; as many steps as there are rows, whatever the table's size
        return total

    def split(self, total: NDArray[Any]) -> list[NDArray[Any]]:
        """The counts of each table, in its shape."""
        shapes = [tuple(self.sizes[column] for column in table) for table in self.tables]
        return [part.reshape(shape) for part, shape in zip(np.split(total, self.starts[1:-1]), shapes, strict=True)]


def _column(batch: pa.RecordBatch, name: str) -> NDArray[np.int64]:
    return np.asarray(batch.column(name).to_numpy(zero_copy_only=False), np.int64)


SHARED_PARTS = 2**12  # into which one unit's weight is divided, where its rows share it


def place_rows(rows: ir.Table, columns: Sequence[str], axes: Sequence[Axis]) -> ir.Table:
    """`rows` with their positions on all axes, packed into words; rows outside any of them are gone."""
    names = [f"_position{number}" for number in range(len(columns))]
    for name, column, axis in zip(names, columns, axes, strict=True):
        rows = place(axis, rows, column, name)
    rows = rows.filter([rows[name].notnull() for name in names])
    return Packing(tuple(axis.size for axis in axes)).pack(rows, names)


def shared(rows: ir.Table, rule: Rule, words: Sequence[str]) -> ir.Table:
    """Words of the rows that are kept, and as their weight a part of that of their unit.

    The j rows of a unit that are kept share SHARED_PARTS parts. Each has SHARED_PARTS // j of them, and the first
    SHARED_PARTS % j one more: so they add up to SHARED_PARTS exactly, and one unit is a convex combination of rows,
    which moves nothing further than one whole row does.
    """
    most = rule.limits.max_rows
    rows = keeping.ranked(rows, rule, rule.unit, most, rule.key)
    rows = rows.mutate(_rows=rows.count().over(ibis.window(group_by=list(rule.unit))))
    rows = rows.mutate(_rows=ibis.least(rows["_rows"], most))
    rows = rows.filter(rows["_rank"] <= most)
    # A quotient of integers below 2^53 is floored right: it is a whole number exactly, or 1/j away from one.
    each = (float(SHARED_PARTS) / rows["_rows"].cast("float64")).floor().cast("int64")
    rows = rows.mutate(_each=each)
    more = rows["_rank"] <= SHARED_PARTS - rows["_each"] * rows["_rows"]
    return rows.mutate(**{WEIGHT: rows["_each"] + more.cast("int64")}).select(*words, WEIGHT)
