"""A denoised set of tables in whole numbers: none below zero, and every sum is exact."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise.domain import Axis, Domain
from leastnoise.releases.columns import key_columns
from leastnoise.releases.frames import Frames
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.table_set import Table, TableSet, table_name
from leastnoise.workload import Workload

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CrosstabsIntegers(TableSet):
    """Denoised tables in whole numbers. `integers["age", "sex"]` is one of them.

    They keep the promise of the release that they were made from. A cell is within about one of its estimate, so that
    their error is that of the estimate, and at most one more.
    """

    workload: Workload
    axes: Mapping[str, Axis]
    arrays: Mapping[Table, Integers] = field(repr=False)  # of every table asked for, an axis a column
    provenance: Provenance
    weight: str | None = None

    @property
    def kind(self) -> str:
        """Whole tables."""
        return "whole tables"

    def __getitem__(self, columns: str | Iterable[str]) -> CrosstabTableIntegers:
        """The table over these columns, in any order; () is the total."""
        table = self._known_table(columns)
        for whole, values in self.arrays.items():
            if set(table) <= set(whole):  # whichever it is summed from: they agree
                summed = values.sum(axis=tuple(i for i, column in enumerate(whole) if column not in table))
                return CrosstabTableIntegers(values=np.asarray(summed).ravel(), domain=self._domain(table))
        raise errors.InvalidParameter(f"There is no table over {table_name(table)}.", parameter="columns")

    def to_csv(self, folder: str | os.PathLike[str], *, allow_seeded: bool = False) -> Path:
        """A folder of CSV files, one a table, for spreadsheets: keys and value, below what was promised.

        folder: a new or empty one, or one with earlier tables of leastnoise, which are replaced.
        allow_seeded: lets a test write what a seed made.
        """
        from leastnoise.releases import crosstab_csv

        return crosstab_csv.write_integers(self, folder, allow_seeded=allow_seeded)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CrosstabTableIntegers(Frames):
    """One table of whole numbers of a set."""

    values: Integers
    domain: Domain

    @property
    def columns(self) -> Table:
        """The columns of the table; none of the total."""
        return self.domain.names

    @property
    def shape(self) -> tuple[int, ...]:
        """How many keys each column has."""
        return tuple(axis.size for axis in self.domain.axes)

    def to_numpy(self) -> Integers:
        """The values as an array with an axis a column."""
        return self.values.reshape(self.shape).copy()

    def _columns(self) -> dict[str, Any]:
        """Key columns, and `value`."""
        return {**key_columns(self.domain, self.values.size), "value": self.values}

    def __repr__(self) -> str:
        return f"<CrosstabTableIntegers {table_name(self.columns)}: {self.values.size:,} cells>"
