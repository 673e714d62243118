"""A set of tables about the same people, released together: noisy whole numbers, and the tables put together from them.

What was published are the integers of the blocks (`workload.residuals`), each with independent noise. All tables are
computed from these, so they agree with each other to rounding, and every one is unbiased.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.calls import explained
from leastnoise._support.number_format import rounded
from leastnoise._support.validation import Number
from leastnoise.domain import Axis
from leastnoise.releases import views
from leastnoise.releases.crosstab_errors import cell_half_width, largest, noisy_tables
from leastnoise.releases.crosstab_table import CrosstabTable
from leastnoise.releases.cumulative import sums_in_words
from leastnoise.releases.interval import Total
from leastnoise.releases.noise import NEGLIGIBLE, Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.table_set import Table, TableSet, table_name
from leastnoise.workload import Workload
from leastnoise.workload.table_errors import NoisyTables
from leastnoise.workload.tables_noise import noise_in_words

if TYPE_CHECKING:
    from leastnoise.privacy.noise_choice import Mechanism
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate


TABLES_SHOWN = 20  # by print()


@explained
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CrosstabsRelease(TableSet):
    """Several tables about the same people. `release["age", "sex"]` is one of them, `release.total()` their total.

    workload: which tables. axes: the keys of each column.
    integers: what was published: whole numbers with noise, of each block (Gaussian) or of whole tables (Laplace).
    scales: the scale of the noise on each of them.
    step: what one of the integers that are counted is worth: 1, or the grid of weights.
    """

    workload: Workload
    axes: Mapping[str, Axis]
    integers: Mapping[Table, NDArray[np.int64]]
    scales: Mapping[Table, float]
    step: float
    mechanism: Mechanism
    provenance: Provenance
    weights: str = "tables"  # what the noise is optimal for
    # How far from the optimum it may be, under add-remove and before rounding to whole numbers; None: not known.
    gap: float | None = 0.0
    compared: float | None = None  # its error over that of the other mechanism; None: they were not compared
    weight: str | None = None  # the column whose sums were published instead of counts

    def __post_init__(self) -> None:
        for values in self.integers.values():
            values.flags.writeable = False

    @property
    def kind(self) -> str:
        """Tables."""
        return "tables"

    @property
    def rows_share_weight(self) -> bool:
        """Whether the rows of a unit share the weight of one, so that units are counted, not rows."""
        return self.weight is None and self.step < 1

    @property
    def std(self) -> Mapping[Table, float]:
        """The standard deviation of one cell of each table."""
        return self.errors.std

    @property
    def noise_is_none(self) -> bool:
        """Whether every cell is as it was counted, but for a chance of 1e-18: see `Noise.is_none`."""
        return max(self.std.values()) <= NEGLIGIBLE * self.step

    @cached_property
    def errors(self) -> NoisyTables:
        """The errors of the tables, the rounding of the noise included."""
        return noisy_tables(self.mechanism, self.workload, self.scales, self.step)

    @cached_property
    def blocks(self) -> Mapping[Table, NDArray[np.float64]]:
        """The noisy residual of each block, in the unit of the tables."""
        return self.errors.residuals(self.integers)

    def __getitem__(self, columns: str | Iterable[str]) -> CrosstabTable:
        """The table over these columns, in any order; () is the total."""
        table = self._known_table(columns)
        values = self.workload.table_of(self.blocks, table)
        return CrosstabTable(
            values=values.ravel(),
            noise=Noise.of(self.mechanism, sigma=self.std[table]),
            provenance=self.provenance,
            domain=self._domain(table),
            kind="count" if self.weight is None else "sum",
            within=self,
        )

    def total(self, confidence: Number = 0.95) -> Total:
        """All rows that were counted, with standard deviation and interval of this `confidence`."""
        return self[()].total(confidence=confidence)

    def intervals(self, confidence: Number = 0.95) -> dict[Table, tuple[Any, Any]]:
        """Intervals for every cell of every table that hold all at once with this `confidence`."""
        confidence = validation.number("confidence", confidence)
        found = {}
        for table in self.tables:
            half = np.ravel(self.errors.sum_half_widths(table, confidence=confidence, bins=self.bins))
            values: Any = self[table].values
            found[table] = (values - half, values + half)
        return found

    def denoise(self, *, known: Mapping[Any, Any] | None = None) -> CrosstabsEstimate:
        """The tables with noise taken back out, together; it costs no privacy.

        known: public tables, without noise, which are held exactly: {"district": totals}. The values are in the order
            of the keys, or by key; several columns make an array with an axis each.

        No cell is below zero, and the tables agree with each other. Sets with cumulative sums or ranges are refused,
        and sets along a tree with two tables of a level that none contains.
        """
        return views.denoise_tables(self, known or {})

    def explain(self) -> str:
        """What was published, what it promises and how far off it is, in plain words."""
        return f"{self._counted()}\n{self.promise_in_words(self.errors_in_words())}"

    def errors_in_words(self) -> str:
        """How far off what is published is."""
        total = cell_half_width(self.errors, (), 0.95)
        curves = sums_in_words(self)
        worst, least = largest(self.errors), largest(self.errors, but_total=True)
        half, every = cell_half_width(self.errors, least, 0.95), cell_half_width(self.errors, worst, 0.95, self.bins)
        name = table_name(least, self.provenance.labels)
        return (
            f"95 % of the time the total is off by at most {total:,.4g}, and a cell of {name}, the least "
            f"accurate{'' if worst else ' other'} table, by at most {half:,.4g}. All {self.bins:,} cells together "
            f"are within {every:,.4g}, with 95 % confidence.{curves} Tables agree with each other: what one adds up to "
            "is in the other."
        )

    def _counted(self) -> str:
        return f"{self._many} over {', '.join(map(self._words, self.axes))} ({self.bins:,} cells), released together."

    def overview(self) -> list[dict[str, Any]]:
        """Every table: its columns, how many cells, the standard deviation of one, and its half-width at 95 %."""
        return [
            {
                "table": list(table),
                "cells": self.workload.cells_of(table),
                "std": self.std[table],
                "half_width": cell_half_width(self.errors, table, 0.95),
            }
            for table in self.tables
        ]

    @property
    def note(self) -> str:
        """What the noise is best for."""
        sums, among = bool(self.workload.asked), self.workload.among
        loss = self.workload.loss_in_words
        return noise_in_words(
            self.mechanism, self.weights, self.guarantee, self.compared, sums=sums, among=among, loss=loss
        )

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> None:
        """One Parquet file at `path` with the whole set. `allow_seeded` lets a test write what a seed made."""
        from leastnoise.releases import crosstab_files

        crosstab_files.save(self, path, allow_seeded=allow_seeded)

    def to_csv(
        self,
        folder: str | os.PathLike[str],
        *,
        estimate: CrosstabsEstimate | None = None,
        confidence: Number = 0.95,
        round_to: Number | None = None,
        allow_seeded: bool = False,
    ) -> Path:
        """A folder of CSV files, one a table, for spreadsheets: keys, value, low and high, below what was promised.

        folder: a new or empty one, or one with earlier tables of leastnoise, which are replaced.
        estimate: what `denoise` made of this release, whose values and estimated error stand beside.
        confidence: that of low and high.
        round_to: round what is written to multiples of this, such as 5. Tables then add up only nearly; low and
            high are rounded outward.
        allow_seeded: lets a test write what a seed made.
        """
        from leastnoise.releases import crosstab_csv

        return crosstab_csv.write_release(
            self, folder, estimate=estimate, confidence=confidence, round_to=round_to, allow_seeded=allow_seeded
        )

    def to_excel(
        self,
        path: str | os.PathLike[str],
        *,
        estimate: CrosstabsEstimate | None = None,
        confidence: Number = 0.95,
        round_to: Number | None = None,
        allow_seeded: bool = False,
    ) -> Path:
        """One Excel workbook: a first sheet with the promise and a list of the tables, then a sheet a table.

        Texts are texts: nothing in it is a formula. It needs the extra `excel`.

        path: where it is written; an earlier file of ours is replaced, anything else there is refused.
        estimate: what `denoise` made of this release, whose values stand beside.
        confidence: that of low and high.
        round_to: round what is written to multiples of this, such as 5; low ends down and high ends up.
        allow_seeded: lets a test write what a seed made.
        """
        return views.export_tables(
            self, path, estimate, confidence=confidence, round_to=round_to, allow_seeded=allow_seeded
        )

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        estimate: CrosstabsEstimate | Literal["auto"] | None = None,
        title: str | None = None,
        allow_seeded: bool = False,
    ) -> Path:
        """One HTML page for people, with nothing to fetch: what was promised, and every table to choose from.

        path: where it is written. estimate: what `denoise` made of this release, shown beside it; "auto"
            denoises it, where it can be (`denoise` says of what sets it cannot); None: nothing.
        title: the page's heading. allow_seeded: lets a test write what a seed made.
        """
        return views.report_tables(path, self, estimate=estimate, title=title, allow_seeded=allow_seeded)

    def __str__(self) -> str:
        """What it is, and a line for each of the first tables."""
        first = self.tables[:TABLES_SHOWN]
        lines = [
            f"  {table_name(t, self.provenance.labels)}: {self.workload.cells_of(t):,} x std {rounded(self.std[t])}"
            for t in first
        ]
        more = [f"  … {len(self.tables) - len(first):,} more"] if len(self.tables) > len(first) else []
        return "\n".join([repr(self).strip("<>"), *lines, *more])
