"""What the page of a set of tables shows: every table with its errors, and the cells of as many as it can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.releases.crosstab_errors import cell_half_width
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease

MAX_CELLS_SHOWN = 150_000  # some 11 bytes each, and as many for their denoised values
MAX_TABLES_SHOWN = 5_000  # in the list

Columns = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTable:
    """One table. half_width: of the 95 % interval of a cell; where they differ, of the least accurate cell.

    maybe_zero: how many cells have an interval that reaches down to zero; no cell is negative in truth. It, values,
    denoised, rmse, rmse_at_most and better_than_raw (of the denoised values) are None where the page does not hold the
    cells.
    """

    columns: Columns
    cells: int
    std: float
    half_width: float
    maybe_zero: int | None = None
    values: Floats | None = None
    denoised: Floats | None = None
    rmse: float | None = None
    rmse_at_most: float | None = None
    better_than_raw: bool | None = None
    kept: bool = False  # whether denoising kept the table as it was published


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesContents:
    """All that the page shows. `listed` are the tables that it names, those of fewer columns first."""

    of: CrosstabsRelease
    estimate: CrosstabsEstimate | None
    listed: Sequence[ShownTable]

    @property
    def held(self) -> Sequence[ShownTable]:
        """The tables whose cells are in the page."""
        return [table for table in self.listed if table.values is not None]


def gather(of: CrosstabsRelease, estimate: CrosstabsEstimate | None = None) -> TablesContents:
    """The contents for a release, with an estimate beside it where there is one."""
    if estimate is not None:
        _check(of, estimate)
    room, listed = MAX_CELLS_SHOWN, []
    for columns in sorted(of.tables, key=len)[:MAX_TABLES_SHOWN]:
        held = of.workload.cells_of(columns) <= room
        listed.append(_held(of, columns, estimate) if held else _named(of, columns))
        room -= listed[-1].cells if held else 0
    return TablesContents(of=of, estimate=estimate, listed=tuple(listed))


def _check(of: CrosstabsRelease, estimate: CrosstabsEstimate) -> None:
    if not isinstance(estimate, CrosstabsEstimate):
        raise errors.WrongType(
            f"What is shown beside a set of tables is what release.denoise() returned. Got {type(estimate).__name__} "
            "instead.",
            parameter="estimate",
        )
    if estimate.id != of.id:
        raise errors.InvalidParameter(
            f"The estimate was made from the release {estimate.id}, and this is {of.id}: show what its own "
            "release.denoise() returned.",
            parameter="estimate",
        )


def _named(of: CrosstabsRelease, columns: Columns) -> ShownTable:
    half = cell_half_width(of.errors, columns, 0.95)
    return ShownTable(columns=columns, cells=of.workload.cells_of(columns), std=of.std[columns], half_width=half)


def _held(of: CrosstabsRelease, columns: Columns, estimate: CrosstabsEstimate | None) -> ShownTable:
    values: Floats = np.asarray(of[columns].values, dtype=float)
    made = _named(of, columns)
    low = np.asarray(of[columns].interval(0.95).low, dtype=float)
    made = replace(made, values=values, maybe_zero=int((low <= 0).sum()))
    if estimate is None:
        return made
    beside = estimate[columns]
    return replace(
        made,
        denoised=np.asarray(beside.values, dtype=float),
        rmse=beside.rmse,
        rmse_at_most=beside.rmse_at_most(0.95).value,
        better_than_raw=beside.better_than_raw,
        kept=beside.kept,
    )
