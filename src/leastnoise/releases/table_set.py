"""What every set of tables about the same people has, as released, denoised or made whole: which tables, over which
keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from leastnoise._support.immutable import Frozen
from leastnoise.domain import Axis, Domain
from leastnoise.releases.column_labels import column_words
from leastnoise.releases.promised import Promised
from leastnoise.workload import Workload

Table = tuple[str, ...]


class TableSet(Promised):
    """Tables over some of the columns of one set of rows. It is iterated over their columns."""

    if TYPE_CHECKING:  # fields of every kind
        workload: Workload
        axes: Mapping[str, Axis]
        weight: str | None

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

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._many}, {self.bins:,} cells{self._seeded_mark}>"

    @property
    def _many(self) -> str:
        return f"{len(self.tables):,} tables" if len(self.tables) != 1 else "1 table"

    def _known_table(self, columns: str | Iterable[str]) -> Table:
        """The table over these columns, in any order, if it was asked for or is a sum of one that was."""
        table = self.workload.table(columns)
        self.workload.block_place(tuple(column for column in table if self.workload.sizes[column] > 1))
        return table

    def _domain(self, table: Table) -> Domain:
        return Domain(table, tuple(self.axes[column] for column in table))


def table_name(table: Table, labels: Mapping[str, str] = Frozen()) -> str:
    """What people call a table: "age x sex", "the total"; where columns have labels, by these."""
    return " x ".join(column_words(column, labels) for column in table) or "the total"
