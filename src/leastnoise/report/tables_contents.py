"""What the page of a set of tables shows: every table with its errors, and the cells of as many as it can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, SupportsFloat, runtime_checkable

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.releases.crosstab_errors import cell_half_width
from leastnoise.releases.crosstabs import CrosstabsRelease

MAX_CELLS_SHOWN = 150_000  # some 11 bytes each, and as many for their denoised values
MAX_TABLES_SHOWN = 5_000  # in the list

Columns = tuple[str, ...]


class TableEstimate(Protocol):
    """The denoised values of one table."""

    @property
    def values(self) -> Any:
        """One value a cell, in the order of the release's table."""

    @property
    def rmse(self) -> float | None:
        """The estimated error of a cell; None where it is not known."""

    def rmse_at_most(self, confidence: float = 0.95) -> SupportsFloat | None:
        """An upper limit for it, with this confidence; None where there is none."""


@runtime_checkable
class TablesEstimate(Protocol):
    """The denoised values of a set of tables: what the page needs of them."""

    @property
    def seeded(self) -> bool:
        """Whether the noise came from a test's seed."""

    @property
    def rmse(self) -> float | None:
        """The estimated error of a cell, over all tables; None where it is not known."""

    def rmse_at_most(self, confidence: float = 0.95) -> SupportsFloat | None:
        """An upper limit for it, with this confidence; None where there is none."""

    def __getitem__(self, columns: Columns) -> TableEstimate: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTable:
    """One table. half_width: of the 95 % interval of a cell.

    maybe_zero: how many cells have an interval that reaches down to zero; no cell is negative in truth. It, values and
    denoised are None where the page does not hold the cells. rmse, rmse_at_most: of the denoised values.
    """

    columns: Columns
    cells: int
    std: float
    half_width: float
    maybe_zero: int | None
    values: Floats | None
    denoised: Floats | None
    rmse: float | None
    rmse_at_most: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesContents:
    """All that the page shows. `listed` are the tables that it names, those of fewer columns first."""

    of: CrosstabsRelease
    estimate: TablesEstimate | None
    listed: Sequence[ShownTable]

    @property
    def seeded(self) -> bool:
        """Whether some of it hides nothing."""
        return self.of.seeded or (self.estimate is not None and self.estimate.seeded)

    @property
    def held(self) -> Sequence[ShownTable]:
        """The tables whose cells are in the page."""
        return [table for table in self.listed if table.values is not None]


def gather(of: CrosstabsRelease, estimate: TablesEstimate | None = None) -> TablesContents:
    """The contents for a release, with an estimate beside it where there is one."""
    if estimate is not None and not isinstance(estimate, TablesEstimate):
        raise errors.WrongType(
            f"What is shown beside a set of tables is what release.denoise() returned. Got {type(estimate).__name__} "
            "instead.",
            parameter="estimate",
        )
    room, listed = MAX_CELLS_SHOWN, []
    for columns in sorted(of.tables, key=len)[:MAX_TABLES_SHOWN]:
        held = of.workload.cells_of(columns) <= room
        listed.append(_table(of, columns, estimate, held=held))
        room -= listed[-1].cells if held else 0
    return TablesContents(of=of, estimate=estimate, listed=tuple(listed))


def _table(of: CrosstabsRelease, columns: Columns, estimate: TablesEstimate | None, *, held: bool) -> ShownTable:
    better = None if estimate is None else estimate[columns]
    limit = None if better is None else better.rmse_at_most(0.95)
    cells, half = of.workload.cells_of(columns), cell_half_width(of.errors, columns, 0.95)
    values = np.asarray(of[columns].values, dtype=float).ravel() if held else None
    return ShownTable(
        columns=columns,
        cells=cells,
        std=of.std[columns],
        half_width=half,
        maybe_zero=None if values is None else int((values <= half).sum()),
        values=values,
        denoised=_denoised(better, columns, cells) if held and better is not None else None,
        rmse=None if better is None or better.rmse is None else float(better.rmse),
        rmse_at_most=None if limit is None else float(limit),
    )


def _denoised(better: TableEstimate, columns: Columns, cells: int) -> Floats:
    values = np.asarray(better.values, dtype=float).ravel()
    if values.size != cells:
        raise errors.InvalidParameter(
            f"The estimate has {values.size:,} values for the {cells:,} cells of {' x '.join(columns) or 'the total'}: "
            "it was made from another release.",
            parameter="estimate",
        )
    return values
