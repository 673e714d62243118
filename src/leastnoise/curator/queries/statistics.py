"""Counts, sums, means and summaries: statistics of the same rows in each bin of a public domain, released together.

The rows of a bin are counted once, for all statistics. Of each column of values only the missing ones are counted
besides, and they cost nothing: a row has a value or has none (`privacy.unit_cost`). A question that has one statistic
alone is released as that one: a count, a sum or a mean, with one noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from leastnoise._support.rounding import round_up, sqrt_up
from leastnoise.curator import description, expectation
from leastnoise.curator.arrays import SparseCut
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.expectation import Computed, SummaryExpectation
from leastnoise.curator.queries.binned import BinnedQuery
from leastnoise.curator.queries.options import check_names, column_names, limits_of, listed_domain
from leastnoise.curator.queries.query import NamedRows, Query
from leastnoise.curator.queries.statistic_options import Asked, by_part, checked, one_statistic, whole_numbers
from leastnoise.curator.release import Answer, Batch, Decision
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.rows.clipping import Clip
from leastnoise.curator.rows.totals import Aggregate, code_names, joined, summary_totals, to_dense, to_int64, with_codes
from leastnoise.domain import Domain, IntegerRange
from leastnoise.errors import BadDomain
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.distributions import Distribution
from leastnoise.privacy.noise_plan import NoisePlan, NoisePlanner
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.privacy.summary_noise import StatisticsPlanner
from leastnoise.privacy.vector_noise import VectorPlan
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.mean import MeanRelease, centred
from leastnoise.releases.measured import ROWS, FigureKind, part_name
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.release import Release
from leastnoise.releases.summary import SummaryRelease

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

MAX_NUMBERS = 2**26  # of all statistics together
MAX_BINS = 4_096  # that are made up, of which the share of one is told
One = TypeVar("One", bound="Sum")


# How many


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Counts(BinnedQuery):
    """The number of rows in each bin; in one that holds them all, where there are no columns of bins."""

    kind: ClassVar[str] = "count"

    @staticmethod
    def of(data: Dataset, by: Sequence[str], keys: Any, nulls: str, **limits: int | None) -> Counts:
        """The question, checked; a domain too large for a vector of all its bins has a sparse answer."""
        domain = listed_domain(data, by, keys, nulls) if by else Domain()
        kind = SparseCounts if domain.sparse else Counts
        kept = limits_of(data, bins=domain.size, by=by, **limits)
        return kind(_data=data, _bins=domain, by=tuple(by), limits=kept)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class DistinctUnits(Counts):
    """The number of distinct units: each counts once, however many rows it has."""

    kind: ClassVar[str] = "units"
    _limits_leave_out: ClassVar[bool] = False  # to count a unit once is the question

    @classmethod
    def of_all(cls, data: Dataset) -> DistinctUnits:
        """The question."""
        return cls(_data=data, _bins=Domain(), limits=limits_of(data, bins=1, max_rows=1))

    def _subject(self) -> str:
        return "distinct units"

    def _released_as(self) -> tuple[str, Domain | None]:
        return "count", self.domain


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class SparseCounts(Counts):
    """Counts in a huge domain: noise on *every* bin, and those that pass a threshold are published."""

    def decide(self, request: PrivacyRequest) -> Decision[VectorPlan]:
        """With Gaussian noise, and a threshold."""
        asked = request.with_threshold("A domain this large is released sparsely, with Gaussian noise and a threshold")
        decided: Decision[VectorPlan] = Decision(decide(asked, self.planner), self)
        self._cut(decided.charge.plan)  # refused before it is paid for
        return decided

    def _cut(self, plan: VectorPlan) -> SparseCut:
        return SparseCut.of(plan, self.size, "universal", "soft")

    def measure(self, plan: VectorPlan) -> Batch:
        """The occupied bins."""
        exact = self._totals()
        return Batch({"": exact.values}, indices=exact.indices)

    def draw(self, plan: VectorPlan, batch: Batch) -> Batch:
        """Noise on every bin, visited or not; those that show."""
        where, noisy = self._cut(plan).drawn(batch.indices, batch.blocks[""])
        return Batch({"": noisy}, indices=where)

    def read(self, plan: VectorPlan, noisy: Batch, provenance: Provenance) -> Answer:
        """The bins that show."""
        assert noisy.indices is not None
        return self._cut(plan).released(noisy.indices, noisy.blocks[""], provenance=provenance, domain=self.domain)

    def _threshold(self, plan: VectorPlan) -> int | None:
        return self._cut(plan).at_least

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        places, inverse = np.unique(joined(parts, "bin").astype(np.int64), return_inverse=True)
        totals = np.zeros(len(places), np.int64)
        np.add.at(totals, inverse, joined(parts, "rows"))
        return Aggregate(values=totals, indices=places)


# Statistics of columns of values


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class ValuesQuery(BinnedQuery):
    """What the rows of each bin of a public domain have in the columns that are asked about."""

    asked: Asked

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of values and conditions."""
        return self.asked.names

    def _values_left_out(self) -> Sequence[LeftOut]:
        return [*BinnedQuery._values_left_out(self), *self.asked.left_out]

    def _missing_in_words(self) -> Sequence[str]:
        return self.asked.missing_in_words()

    @property
    def _codes(self) -> tuple[str, ...]:
        return tuple(code_names(len(self.columns)))

    def _with_codes(self, rows: ir.Table, named: NamedRows) -> ir.Table:
        return with_codes(rows, named.columns, self.asked.clips, valued=self.asked.valued)

    def _of_each_bin(self, kept: ir.Table) -> ir.Table:
        asked = self.asked
        return summary_totals(kept, asked.columns, self._data.engine, pairs=asked.pairs, squares=asked.squared)

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        """The parts one after the other, each of all bins."""
        found = whole_numbers(self.asked, lambda name: to_dense(self._bins.size, parts, name))
        return Aggregate(values=to_int64(np.concatenate([found[part.name] for part in self.asked.parts])))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Statistics(ValuesQuery):
    """Several statistics of each bin of a public domain."""

    kind: ClassVar[str] = "summary"

    @classmethod
    def of(
        cls,
        data: Dataset,
        by: Sequence[str],
        statistics: Mapping[str, Any],
        *,
        keys: Any,
        nulls: str,
        weights: Mapping[str, float] | None,
        **limits: int | None,
    ) -> Query:
        """The question, checked; without keys, of those that are found."""
        from leastnoise.curator.queries.unknown_keys import UnknownKeys

        check_names(by)
        names = tuple(by)
        if names and keys is None:
            return UnknownKeys.of(data, names, statistics, nulls=nulls, weights=weights, **limits)
        domain = listed_domain(data, names, keys, nulls) if names else Domain()
        asked = checked(data, statistics, weights, names)
        if domain.sparse or domain.size * len(asked.parts) > MAX_NUMBERS:
            raise BadDomain(f"a summary may have 2^26 numbers, and this domain has {domain.size} bins. Use fewer keys.")
        kept = limits_of(data, bins=domain.size, by=names, **limits)
        return cls(_data=asked.data, _bins=domain, by=names, asked=asked, limits=kept)

    @property
    def size(self) -> int:
        """How many integers get noise."""
        return self._bins.size * len(self.asked.parts)

    @property
    def sensitivity(self) -> Sensitivity:
        """Of all whole numbers as one vector, each in its own steps. The noise of each suits its own size instead."""
        parts, cost = self.asked.parts, self._statistics_planner.unit_cost
        ones = {part.name: 1.0 for part in parts}
        twice = 2 if self.neighbours == "replace" else 1
        in_bin = min(self.limits.max_rows, self.limits.max_per_bin)
        most = max(part.largest * (twice if part.kind == "signed" else 1) for part in parts)
        return Sensitivity(
            l1=round_up(cost.epsilon(ones)),
            l2=sqrt_up(cost.mu_squared(ones)),
            linf=round_up(Fraction(in_bin * most)),
        )

    def _subject(self) -> str:
        return description.shortened(self.asked.in_words())

    def _clip_facts(self) -> Mapping[str, object]:
        return self.asked.clip_facts

    @property
    def _statistics_planner(self) -> StatisticsPlanner:
        asked = self.asked
        return StatisticsPlanner(asked.parts, asked.needed, self.limits, self._bins.size, self.neighbours)

    @property
    def planner(self) -> NoisePlanner[Any]:
        """Every part has noise of its own."""
        return self._statistics_planner

    def measure(self, plan: Any) -> Batch:
        """The integers of every part."""
        return Batch(by_part(self.asked.parts, self._totals()))

    def read(self, plan: Any, noisy: Batch, provenance: Provenance) -> Answer:
        """All statistics, bin by bin."""
        return self._released(plan, noisy, provenance, self._bins)

    def _released(self, plan: NoisePlan, noisy: Batch, provenance: Provenance, domain: Domain) -> SummaryRelease:
        return SummaryRelease.of(
            domain=domain,
            figures=self.asked.figures,
            columns=self.asked.columns,
            integers=noisy.blocks,
            scales=plan.scales,
            mechanism=plan.mechanism,  # type: ignore[arg-type]
            compared=plan.compared,
            provenance=provenance,
        )

    def _expectation(self, request: PrivacyRequest) -> SummaryExpectation | expectation.Expectation:
        """Of releases of made-up bins that all have so many rows."""
        decided, count = self.decide(request).charge, min(self._bins.size, MAX_BINS)
        domain = Domain(("bin",), (IntegerRange(0, count),))
        typical = {
            rows: self._released(decided.plan, Batch(self.asked.typical(rows, count)), Provenance(), domain)
            for rows in expectation.SOME_ROWS
        }
        return expectation.of_summary(
            decided, typical, bins=self._bins.size, limits=self.limits_used, labels=self._labels()
        )


# One statistic of a column


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Sum(ValuesQuery):
    """The sum of the values in each bin, in steps of the clip's grid."""

    kind: ClassVar[FigureKind] = "sum"

    @classmethod
    def of_column(
        cls: type[One],
        data: Dataset,
        column: str,
        *,
        clip: object,
        by: str | Sequence[str],
        keys: Any,
        nulls: str,
        **limits: int | None,
    ) -> One:
        """The question, checked."""
        data.check_usable(column)
        names = column_names(by)
        domain = listed_domain(data, names, keys, nulls) if names else Domain()
        asked = one_statistic(data, cls.kind, column, clip)
        if domain.sparse:
            raise BadDomain(f"a {cls.kind} may have {2**26} bins, and this domain has {domain.size}. Use coarser keys.")
        kept = limits_of(data, bins=domain.size, by=names, **limits)
        return cls(_data=data, _bins=domain, by=names, asked=asked, limits=kept)

    @property
    def column(self) -> str:
        """Whose values are added up."""
        return self.asked.names[0]

    @property
    def clip(self) -> Clip:
        """The public ends of one value."""
        return self.asked.clips[0]

    @property
    def grid(self) -> float:
        """The step to which values are rounded."""
        return self.clip.grid

    @property
    def size(self) -> int:
        """A sum for each bin."""
        return self._bins.size

    @property
    def sensitivity(self) -> Sensitivity:
        """Of sums of values between the ends, after rounding."""
        low, high = (end * Fraction(self.clip.grid) for end in (self.clip.lowest, self.clip.highest))
        return sensitivities.of_sum(self.limits, low=low, high=high, bins=self._bins.size, neighbours=self.neighbours)

    def _subject(self) -> str:
        return f"{self.kind} of {self.column}"

    def _clip_in_words(self) -> str:
        return f", clipped to [{self.clip.low!r}, {self.clip.high!r}]"

    def _clip_facts(self) -> Mapping[str, object]:
        return {"clip": [self.clip.low, self.clip.high]}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Mean(Sum):
    """The mean of the values in each bin: a sum and a count, released together.

    The integers are, bin by bin, first the centred sums and then the counts times `clip.half`, so that one noise suits
    both.
    """

    kind: ClassVar[FigureKind] = "mean"

    @property
    def size(self) -> int:
        """A sum and a count for each bin."""
        return 2 * self._bins.size

    @property
    def sensitivity(self) -> Sensitivity:
        """Of centred sums and scaled counts together."""
        half = self.clip.half * Fraction(self.clip.grid)
        return sensitivities.of_mean(self.limits, half=half, bins=self._bins.size, neighbours=self.neighbours)

    @property
    def _centre(self) -> float:
        return self.clip.centre * self.grid

    @property
    def _half_range(self) -> float:
        return self.clip.half * self.grid

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        found = whole_numbers(self.asked, lambda name: to_dense(self._bins.size, parts, name))
        sums, counts = found[part_name("plain", 0)], found[ROWS].astype(object)
        return Aggregate(values=to_int64(np.concatenate([sums - counts * self.clip.centre, counts * self.clip.half])))

    def _released_as(self) -> tuple[str, Domain | None]:
        return self.kind, None

    def _wrap(self, noisy: Release) -> MeanRelease:
        return MeanRelease.of(
            noisy,
            centre=self._centre,
            half_range=self._half_range,
            within=(self.clip.low, self.clip.high),
            domain=self.domain,
            column=self.column,
        )

    def _computed(self, distribution: Distribution) -> Computed:
        return expectation.of_means(distribution, centre=self._centre, half_range=self._half_range)

    def _note(self, plan: VectorPlan) -> str:
        return centred(plan.reason, plan.note)
