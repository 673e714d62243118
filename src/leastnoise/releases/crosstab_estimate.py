"""A set of tables with its noise taken back out: no count below zero, and still consistent with each other."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.calls import explained
from leastnoise._support.text import rounded
from leastnoise._support.validation import Number
from leastnoise.domain import Axis, Domain
from leastnoise.privacy.noise_plan import Mechanism
from leastnoise.releases import records
from leastnoise.releases.block import EstimateInterval
from leastnoise.releases.columns import key_columns
from leastnoise.releases.estimate import KEPT, Estimate, RiskEstimate
from leastnoise.releases.file_format import Saved
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.risk_limits import RmseLimit
from leastnoise.releases.table_set import Cells, Table, TableSet, cells_in_words, in_shapes, long_table, table_name
from leastnoise.workload import Workload

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SAVED_CONFIDENCE = 0.95  # of the limits that a file has
TABLES_NAMED = 5  # of those that are not better


class Risks(Protocol):
    """How wrong an estimate of several tables is believed to be. Without a table it is of the cells of all."""

    def rmse(self, table: Table | None = None) -> float:
        """The root mean squared error of a cell."""

    def rmse_at_most(self, confidence: float = 0.95, table: Table | None = None, *, proved: bool = False) -> RmseLimit:
        """An upper limit for it."""

    def is_below(self, rmse: float, table: Table | None = None) -> bool | None:
        """Whether it is below this one by more than chance; None where that is not known."""


@explained
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CrosstabsEstimate(TableSet, Saved):
    """Denoised tables. `estimate["age", "sex"]` is one of them.

    It keeps the promise of the release that it was made from. `rmse` is an estimate, made without the truth, of the
    error of a cell, over all tables; `rmse_at_most` its upper limit; `better_than_raw` whether it is below that of the
    tables as published by more than chance.
    """

    workload: Workload
    axes: Mapping[str, Axis]
    blocks: Mapping[Table, Floats]  # without noise
    noisy: Mapping[Table, Floats]  # as they were released
    std: Mapping[Table, float]  # of a cell of each table, as released
    mechanism: Mechanism
    risks: Risks = field(repr=False)
    provenance: Provenance
    known: tuple[Table, ...] = ()  # the public tables that were held
    weight: str | None = None
    make_integers: Callable[[], dict[Table, NDArray[np.int64]]] | None = field(default=None, repr=False)

    kind: ClassVar[str] = "tables estimate"
    is_estimate = True
    _what = "tables estimate"

    def _fits(self) -> dict[str, bool]:
        tables = set(self.tables)
        return {
            "std": set(self.std) == tables and all(std >= 0 for std in self.std.values()),
            "risks": isinstance(self.risks, StatedRisks) and set(self.risks.by_table) == tables,
            "workload": {name: axis.size for name, axis in self.axes.items()} == dict(self.workload.sizes),
        }

    def _facts(self) -> dict[str, Any]:
        """With the errors of every table, as they are now."""
        stated = StatedRisks(
            SAVED_CONFIDENCE, self._stated(None), {table: self._stated(table) for table in self.tables}
        )
        return Saved._facts(replace(self, risks=stated))

    def _stated(self, table: Table | None) -> StatedRisk:
        better = self.risks.is_below(self.published_rmse if table is None else self.std[table], table)
        return StatedRisk(self.risks.rmse(table), self.risks.rmse_at_most(SAVED_CONFIDENCE, table).value, better)

    def _file_table(self) -> pa.Table:
        """A row for every cell of every block, denoised and as it was released."""
        names, each = self.workload.blocks, {"value": self.blocks, "noisy": self.noisy}
        return long_table(
            [" x ".join(block) for block in names],
            {column: [blocks[block] for block in names] for column, blocks in each.items()},
        )

    @classmethod
    def _loaded(cls, facts: dict[str, Any], decoder: records.Decoder) -> CrosstabsEstimate:
        """What was saved."""
        fields = decoder.fields(cls, facts)
        axes, names = fields["axes"], fields["workload"].blocks
        shapes = {block: tuple(axes[column].size for column in block) for block in names}
        arrays: dict[str, Any] = {
            field: in_shapes(records.column_of(decoder.columns, column).astype(np.float64), shapes)
            for field, column in {"blocks": "value", "noisy": "noisy"}.items()
        }
        found = cls(**fields, **arrays)
        decoder.check(found)
        return found

    @property
    def rmse(self) -> float:
        """The root mean squared error of a cell, over the cells of all tables: estimated without the truth."""
        return self.risks.rmse()

    def rmse_at_most(self, confidence: float = 0.95, *, proved: bool = False) -> RmseLimit:
        """An upper limit for it.

        confidence: how often the limit holds. proved: by a theorem for every truth (Gaussian noise, and wider), which
        leaves out that noise is rounded to whole numbers.
        """
        return self.risks.rmse_at_most(confidence, proved=proved)

    @property
    def better_than_raw(self) -> bool | None:
        """Whether a cell of these tables is nearer to the truth than one as published, by more than chance.

        The error of what was published is known; that of these is estimated, and so is the gain, the one squared less
        the other squared, with a standard error (`denoise/tables/risk.py` has it, and `denoise/tree_levels.py` along a
        tree). True where the gain is above 1.645 of them: that it is said, and the published tables are nearer to the
        truth in this release, has a chance of at most one in twenty, to an approximation. False says no more than that
        the gain cannot be told from chance, as it seldom can be of few cells. It is about the cells of all tables
        together; each table has its own.
        """
        return self.risks.is_below(self.published_rmse)

    @property
    def tables_not_better(self) -> tuple[Table, ...]:
        """The tables of which it cannot be said that they are better than as published, each judged by itself."""
        found = {table: self.risks.is_below(self.std[table], table) for table in self.tables}
        return tuple(t for t, better in found.items() if better is False or (better and self[t].kept))

    @property
    def published_rmse(self) -> float:
        """The root mean squared error of a cell as published, over the cells of all tables: known, not estimated."""
        squares = sum(self.workload.cells_of(table) * self.std[table] ** 2 for table in self.tables)
        return math.sqrt(squares / self.bins)

    def __getitem__(self, columns: str | Iterable[str]) -> CrosstabTableEstimate:
        """The table over these columns, in any order; () is the total."""
        table = self._known_table(columns)
        values, noisy = (self.workload.table_of(each, table).ravel() for each in (self.blocks, self.noisy))
        return CrosstabTableEstimate(
            values=np.maximum(values, 0.0),
            noisy=noisy,
            noise=Noise.of(self.mechanism, sigma=self._std_of(table)),
            method="the whole set",
            estimate_risk=lambda: RiskEstimate(None, None),
            nonnegative=True,
            domain=self._domain(table),
            provenance=self.provenance,
            risks=self.risks,
        )

    def _std_of(self, table: Table) -> float:
        """Of a cell as released. A file has it of the tables that were asked for, and not of their sums."""
        try:
            return self.std[table]
        except KeyError:
            name = ", ".join(map(repr, table)) or "()"
            raise errors.InvalidParameter(
                f"The file holds the tables that were asked for, and {table_name(table)} is only a sum of one of them: "
                f"how far off it is, it does not say. Denoise the release again: release.denoise()[{name}].",
                parameter="columns",
                value=table,
            ) from None

    def integers(self) -> CrosstabsIntegers:
        """Whole numbers, none below zero, that add up exactly: for tables of at most two columns."""
        if self.make_integers is None:
            raise errors.InvalidParameter(
                "Whole numbers are made when tables are denoised: denoise the release again, and ask that estimate."
            )
        return CrosstabsIntegers(
            workload=self.workload,
            axes=self.axes,
            arrays=self.make_integers(),
            provenance=self.provenance,
            weight=self.weight,
        )

    def plot(self, **options: Any) -> Any:
        """The denoised tables of one column as a picture: `leastnoise.plot.release`. The option `ax` is passed on."""
        from leastnoise.releases import views

        return views.plot(self, **options)

    def explain(self) -> str:
        """What was done, what it promises and how far off it is, in plain words."""
        held = f" Public tables were held: {', '.join(map(table_name, self.known))}." if self.known else ""
        return (
            f"{self._many} ({self.bins:,} cells) with noise taken back out, which costs no privacy: no cell is below "
            f"zero, and the tables agree with each other.{held}\n{self.promise_in_words(self.errors_in_words())}"
        )

    @property
    def kept(self) -> bool:
        """Whether every table is as it was published: then its error is that of the noise, which is known."""
        off = KEPT * min(self.std.values())
        return all(np.abs(block - self.noisy[table]).max(initial=0.0) <= off for table, block in self.blocks.items())

    def errors_in_words(self) -> str:
        """How far off a cell is, and was."""
        if self.kept:
            return (
                "The tables are kept as they were published, and so is their error: the standard deviation of a cell "
                f"is {rounded(self.published_rmse, 3)} over all tables."
            )
        return (
            f"The error of a cell, over all tables, is about {rounded(self.rmse, 3)}, and at most "
            f"{rounded(self.rmse_at_most(0.95).value, 3)} with 95% confidence; it was "
            f"{rounded(self.published_rmse, 3)} before.{self._advice()} Single cells may be further off: intervals are "
            "about the release."
        )

    def _advice(self) -> str:
        if self.better_than_raw is False:
            return " That is not better beyond chance: use the tables as published."
        worse = self.tables_not_better
        if not worse:
            return ""
        named = ", ".join(map(table_name, worse[:TABLES_NAMED]))
        more = f" and {len(worse) - TABLES_NAMED:,} more" if len(worse) > TABLES_NAMED else ""
        are = "is" if len(worse) == 1 else "are"
        return (
            f" Each by itself, {len(worse):,} of the {self._many} {are} not better beyond chance ({named}{more}): "
            "where one alone matters, use it as published."
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class CrosstabTableEstimate(Estimate, Cells):
    """One denoised table of a set: an estimate whose error is told with those of the other tables."""

    risks: Risks = field(repr=False)

    to_numpy = Cells.to_numpy

    @property
    def kept(self) -> bool:
        """Whether the table is as it was published: then its error is that of the noise, which is known."""
        return bool(np.abs(self.values - self.noisy).max(initial=0.0) <= KEPT * self.std)

    @property
    def rmse(self) -> float:
        """The root mean squared error of a cell of this table, estimated without the truth; where the table was kept as
        it was published, it is known."""
        return self.std if self.kept else self.risks.rmse(self.columns)

    def rmse_at_most(self, confidence: Number = 0.95, *, proved: bool = False) -> RmseLimit:
        """An upper limit for it.

        confidence: how often the limit holds. proved: by a theorem for every truth (Gaussian noise, and wider), which
        leaves out that noise is rounded to whole numbers.
        """
        sure = validation.number("confidence", confidence)
        found = self.risks.rmse_at_most(sure, self.columns, proved=proved)
        return replace(found, value=max(found.value, self.std)) if self.kept else found

    def interval(self, confidence: Number = 0.95) -> EstimateInterval:
        """None is known to hold around a denoised cell: those of the release hold."""
        raise errors.InvalidParameter(
            "No interval is known to hold around the cells of a denoised table. Those of the table as it was released "
            "do: release[columns].interval(0.95)."
        )

    @property
    def better_than_raw(self) -> bool | None:
        """Whether a cell of this table is nearer to the truth than one as published, by more than chance: see
        `CrosstabsEstimate.better_than_raw`."""
        return False if self.kept else self.risks.is_below(self.std, self.columns)

    def errors_in_words(self) -> str:
        """How far off a cell is on average, and whether that is better than as published."""
        return f"{Estimate.errors_in_words(self)}{'' if self.kept else ' Single cells may be further off.'}"

    def _counted(self) -> str:
        return f"{cells_in_words(self.bins)} of {table_name(self.columns, self.provenance.labels)}"

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> NoReturn:
        """Refused: the set is saved whole.

        path, allow_seeded: those of the set.
        """
        raise errors.InvalidParameter(
            f"One table of a set is not saved by itself. Save the set: estimate.save({os.fspath(path)!r}); or write "
            "this table by to_pandas()."
        )


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CrosstabsIntegers(TableSet):
    """Denoised tables in whole numbers: none below zero, and every sum is exact. `integers["age", "sex"]` is one.

    They keep the promise of the release that they were made from. A cell is within about one of its estimate, so that
    their error is that of the estimate, and at most one more.
    """

    workload: Workload
    axes: Mapping[str, Axis]
    arrays: Mapping[Table, Integers] = field(repr=False)  # of every table asked for, an axis a column
    provenance: Provenance
    weight: str | None = None

    kind: ClassVar[str] = "whole tables"
    is_estimate = True

    def __getitem__(self, columns: str | Iterable[str]) -> CrosstabTableIntegers:
        """The table over these columns, in any order; () is the total."""
        table = self._known_table(columns)
        for whole, values in self.arrays.items():
            if set(table) <= set(whole):  # whichever it is summed from: they agree
                summed = values.sum(axis=tuple(i for i, column in enumerate(whole) if column not in table))
                whole_sums = np.asarray(summed).ravel()
                return CrosstabTableIntegers(values=whole_sums, domain=self._domain(table), provenance=self.provenance)
        raise errors.InvalidParameter(f"There is no table over {table_name(table)}.", parameter="columns")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CrosstabTableIntegers(Cells):
    """One table of whole numbers of a set."""

    values: Integers
    domain: Domain
    provenance: Provenance

    kind: ClassVar[str] = "whole table"
    is_estimate = True

    def _columns(self) -> dict[str, Any]:
        """Key columns, and `value`."""
        return {**key_columns(self.domain, self.values.size), "value": self.values}

    def _shown_columns(
        self, confidence: Number = 0.95, estimate: Any = None, *, for_people: bool = False
    ) -> dict[str, Any]:
        keys = key_columns(self.domain, self.values.size, for_people=for_people)
        return {**Cells._shown_columns(self, confidence, estimate), **keys}

    def explain(self) -> str:
        """What was done, and what it promises, in plain words."""
        cells, name = cells_in_words(self.values.size), table_name(self.columns, self.provenance.labels)
        return (
            f"{cells} of {name} with noise taken back out, as whole numbers that add up in all tables. They are "
            f"estimates: single cells may be further off than the release's intervals say.\n{self.promise_in_words()}"
        )

    def __repr__(self) -> str:
        return f"<CrosstabTableIntegers {table_name(self.columns)}: {cells_in_words(self.values.size)}>"


class NoError:
    """The risks of tables without noise."""

    def rmse(self, table: Table | None = None) -> float:
        """Zero."""
        return 0.0

    def rmse_at_most(self, confidence: float = 0.95, table: Table | None = None, *, proved: bool = False) -> RmseLimit:
        """Zero."""
        return RmseLimit(0.0, confidence, proved)

    def is_below(self, rmse: float, table: Table | None = None) -> bool | None:
        """Nothing is better than the truth."""
        return False


@dataclass(frozen=True, slots=True)
class StatedRisk:
    """An error, its limit, and whether it is below that of what was published by more than chance."""

    rmse: float
    rmse_at_most: float
    better_than_raw: bool | None


@dataclass(frozen=True, slots=True)
class StatedRisks:
    """Errors as a file holds them: those of every table, and their limits at one confidence."""

    confidence: float
    all_tables: StatedRisk
    by_table: Mapping[Table, StatedRisk]

    def rmse(self, table: Table | None = None) -> float:
        """The root mean squared error of a cell."""
        return self._of(table).rmse

    def rmse_at_most(self, confidence: float = 0.95, table: Table | None = None, *, proved: bool = False) -> RmseLimit:
        """An upper limit for it, at the confidence that the file has."""
        if proved or confidence != self.confidence:
            raise errors.InvalidParameter(
                f"The file holds limits at {self.confidence:g} that are not proved. Denoise the release again for "
                "others.",
                parameter="confidence",
                value=confidence,
            )
        return RmseLimit(self._of(table).rmse_at_most, confidence, False)

    def is_below(self, rmse: float, table: Table | None = None) -> bool | None:
        """Whether it is below that of what was published by more than chance, as the file says."""
        return None if table is not None and table not in self.by_table else self._of(table).better_than_raw

    def _of(self, table: Table | None) -> StatedRisk:
        if table is None:
            return self.all_tables
        if table not in self.by_table:
            raise errors.InvalidParameter(f"The file holds no error of {table_name(table)}, which was not asked for.")
        return self.by_table[table]


records.HINTS |= {(CrosstabsEstimate, "risks"): StatedRisks}
records.HINTS |= {(CrosstabsEstimate, name): None for name in ("blocks", "noisy", "make_integers")}
