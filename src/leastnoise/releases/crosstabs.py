"""A set of tables about the same people, released together: noisy whole numbers, and the tables put together from them.

What was published are the integers of the blocks (`workload.residuals`), each with independent noise. All tables are
computed from these, so they agree with each other to rounding, and every one is unbiased.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.calls import explained
from leastnoise._support.text import rounded
from leastnoise._support.validation import Number
from leastnoise.domain import Axis
from leastnoise.privacy.noise_plan import Mechanism
from leastnoise.releases import records, views
from leastnoise.releases.block import Total
from leastnoise.releases.crosstab_table import CrosstabTable, sums_in_words
from leastnoise.releases.file_format import Saved
from leastnoise.releases.noise import NEGLIGIBLE, Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.table_set import (
    StoredWorkload,
    Table,
    TableSet,
    in_shapes,
    is_whole,
    long_table,
    packed,
    table_name,
)
from leastnoise.workload import NoisyTables, Workload
from leastnoise.workload.tables_noise import noise_in_words

if TYPE_CHECKING:
    import pyarrow as pa

    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
    from leastnoise.synthetic import SyntheticRows


@explained
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CrosstabsRelease(TableSet, Saved):
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

    kind: ClassVar[str] = "tables"
    _what = "tables release"

    def _fits(self) -> dict[str, bool]:
        return {
            "scales": all(scale > 0 for scale in self.scales.values()),
            "workload": {name: axis.size for name, axis in self.axes.items()} == dict(self.workload.sizes)
            and is_whole(self.workload, self.mechanism, self.scales),
            "step": self.step > 0,
            "gap": self.gap is None or self.gap >= 0,
            "id": self.id != "",
        }

    def _file_table(self) -> pa.Table:
        """A row for every integer that was published, with the block or table that it is of, and its cell."""
        strategies = packed(self.workload.strategies)
        names = [*(" x ".join(block) for block in self.integers), *strategies]
        return long_table(names, {"integer": [*self.integers.values(), *strategies.values()]})

    @classmethod
    def _loaded(cls, facts: dict[str, Any], decoder: records.Decoder) -> CrosstabsRelease:
        """What was saved."""
        fields = decoder.fields(cls, facts)
        stored = decoder.value(StoredWorkload, facts["workload"], "workload")
        workload, values = stored.with_strategies(
            fields["workload"], np.asarray(records.column_of(decoder.columns, "integer"))
        )
        shapes = {workload.table(name): workload.block_shape(workload.table(name)) for name in fields["scales"]}
        found = cls(**{**fields, "workload": workload, "integers": in_shapes(values.astype(np.int64), shapes)})
        decoder.check(found)
        return found

    def __post_init__(self) -> None:
        for values in self.integers.values():
            values.flags.writeable = False

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
        gaussian = self.mechanism == "gaussian"  # on the integers of blocks; Laplace noise on those of whole tables
        with_noise = self.workload.with_noise if gaussian else self.workload.with_laplace
        return with_noise(self.scales, unit=1 / self.step)

    @cached_property
    def blocks(self) -> Mapping[Table, NDArray[np.float64]]:
        """The noisy residual of each block, in the unit of the tables."""
        return self.errors.residuals(self.integers)

    def __getitem__(self, columns: str | Iterable[str]) -> CrosstabTable:
        """The table over these columns, in any order; () is the total."""
        table = self._known_table(columns)
        values = self.workload.table_of(self.blocks, table)
        return CrosstabTable.of(
            values.ravel(),
            Noise.of(self.mechanism, sigma=self.std[table]),
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

    def rows(
        self,
        n: int | None = None,
        *,
        known: Mapping[Any, Any] | None = None,
        forbidden: Sequence[Mapping[str, Any]] = (),
        groups: int | None = None,
        seed: int = 0,
    ) -> SyntheticRows:
        """Synthetic rows whose tables are near these; they cost no privacy. Beyond these tables they are a guess.

        n: how many; left out, as many as were counted, by this release.
        known: public tables, which the rows have exactly, as for `denoise`; then n is their total.
        forbidden: combinations that no row has: [{"age": [0, 1], "job": "doctor"}] forbids rows with both.
        groups: how many groups the model has; left out, 500, or more where a column has many keys.
        seed: of the rows, not of the noise: the same seed gives the same rows.
        """
        return views.rows(self, n, known=known, forbidden=forbidden, groups=groups, seed=seed)

    def explain(self) -> str:
        """What was published, what it promises and how far off it is, in plain words."""
        return f"{self._counted()}\n{self.promise_in_words(self.errors_in_words())}"

    def errors_in_words(self) -> str:
        """How far off what is published is."""
        total = self._half_width(())
        curves = sums_in_words(self)
        worst, least = self._largest(), self._largest(but_total=True)
        half, every = self._half_width(least), self._half_width(worst, self.bins)
        name = table_name(least, self.provenance.labels)
        return (
            f"95% of the time the total is off by at most {total:,.4g}, and a cell of {name}, the least "
            f"accurate{'' if worst else ' other'} table, by at most {half:,.4g}. All {self.bins:,} cells together "
            f"are within {every:,.4g}, with 95% confidence.{curves} Tables agree with each other: what one adds up to "
            "is in the other."
        )

    def _half_width(self, table: Table, bins: int = 1) -> float:
        return self.errors.cell_half_width(table, confidence=0.95, bins=bins)

    def _largest(self, *, but_total: bool = False) -> Table:
        """The least accurate of the tables asked for; `but_total`: of those with a column, of which there is one."""
        named = zip(self.tables, self.errors.table_variances, strict=True)
        return max((variance, -i, table) for i, (table, variance) in enumerate(named) if table or not but_total)[2]

    def _counted(self) -> str:
        return f"{self._many} over {', '.join(map(self._words, self.axes))} ({self.bins:,} cells), released together."

    def overview(self) -> list[dict[str, Any]]:
        """Every table: its columns, how many cells, the standard deviation of one, and its half-width at 95%."""
        return [
            {
                "table": list(table),
                "cells": self.workload.cells_of(table),
                "std": self.std[table],
                "half_width": self._half_width(table),
            }
            for table in self.tables
        ]

    @property
    def note(self) -> str:
        """What the noise is best for."""
        return noise_in_words(self.mechanism, self.weights, self.guarantee, self.compared, self.workload)

    def plot(self, **options: Any) -> Any:
        """The tables of one column as a picture, by `leastnoise.plot.release`. The options `confidence` and `ax` are
        passed on."""
        return views.plot(self, **options)

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
        return views.report(path, self, estimate=estimate, title=title, allow_seeded=allow_seeded)

    def _line(self, table: Table) -> str:
        name, cells = table_name(table, self.provenance.labels), self.workload.cells_of(table)
        return f"{name}: {cells:,} x std {rounded(self.std[table])}"


records.HINTS[CrosstabsRelease, "integers"] = None  # they are in a column, one block below the other
