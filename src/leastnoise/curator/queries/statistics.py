"""Counts, sums, means and summaries: statistics of the same rows in each bin of a public domain, released together.

The rows of a bin are counted once, for all statistics. Of each column of values only the missing ones are counted
besides, and they cost nothing: a row has a value or has none (`privacy.unit_cost`).

Several statistics have noise of their own each, and are a summary. One that is asked for by its own method has one
noise on all its integers, and is released as itself: a count, a sum or a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from leastnoise._support.rounding import round_up, sqrt_up
from leastnoise.curator import description, expectation
from leastnoise.curator.arrays import SparseCut
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.expectation import Preview
from leastnoise.curator.queries.binned import BinnedQuery
from leastnoise.curator.queries.options import left_out_by_domain, limits_of, listed_domain
from leastnoise.curator.queries.query import Facts, NamedRows, clipped_to, released
from leastnoise.curator.queries.statistic_options import Asked, whole_numbers
from leastnoise.curator.release import Answer, Batch, Decision
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.rows.clipping import Clip
from leastnoise.curator.rows.totals import (
    by_place,
    code_names,
    integers,
    summary_totals,
    to_dense,
    with_codes,
)
from leastnoise.domain import Domain, IntegerRange
from leastnoise.errors import BadDomain
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.noise_plan import NoisePlan, NoisePlanner
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.privacy.summary_noise import StatisticsPlanner
from leastnoise.privacy.vector_noise import NUMBERS, VectorPlan
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.measured import ROWS, part_name
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.summary import SummaryRelease

MAX_NUMBERS = 2**26  # of all statistics together
MAX_BINS = 4_096  # that are made up, of which the share of one is told
Kind = Literal["count", "units", "sum", "mean", "summary"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Statistics(BinnedQuery):
    """Statistics of each bin of a public domain; of one that holds all rows, where there are no columns of bins.

    `kind` is the method that asked. The integers of a "mean" are, bin by bin, first the centred sums and then the
    counts times `clip.half`, so that one noise suits both. "units" counts each unit once, however many rows it has.
    """

    kind: Kind
    asked: Asked
    _in_series: ClassVar[bool] = True

    @staticmethod
    def of(
        kind: Kind,
        asked: Asked,
        by: str | Sequence[str],
        *,
        keys: Any = None,
        nulls: str = "drop",
        **limits: int | None,
    ) -> Statistics:
        """The question, checked; counts in a domain too large for a vector of all its bins have a sparse answer."""
        names, data = tuple(by), asked.data
        domain = listed_domain(data, names, keys, nulls) if names else Domain()
        kept = limits_of(data, bins=domain.size, by=names, **limits)
        made = SparseCounts if domain.sparse and kind == "count" else Statistics
        numbers = domain.size * len(asked.parts) if kind == "summary" else domain.size
        if made is Statistics and (domain.sparse or numbers > MAX_NUMBERS):
            raise BadDomain(f"a {kind} may have 2^26 numbers, and this domain has {domain.size} bins. Use fewer keys.")
        return made(_data=data, kind=kind, _bins=domain, by=names, asked=asked, limits=kept)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of values and conditions."""
        return self.asked.names

    @property
    def clip(self) -> Clip:
        """Of a sum or a mean: the public ends of one value."""
        return self.asked.clips[0]

    @property
    def _of_values(self) -> bool:
        """Whether one statistic of a column was asked for."""
        return self.kind in ("sum", "mean")

    @property
    def grid(self) -> float:
        """The step to which values are rounded."""
        return self.clip.grid if self._of_values else 1.0

    @property
    def size(self) -> int:
        """How many integers get noise."""
        return self._bins.size * len(self.asked.parts)

    @property
    def sensitivity(self) -> Sensitivity:
        """Of all integers as one vector. Those of a summary are each in its own steps, and get noise of their own."""
        facts: Any = {"bins": self._bins.size, "neighbours": self.neighbours}
        if self.kind == "summary":
            return self._sensitivity_of_parts
        if self.kind == "mean":
            return sensitivities.of_mean(self.limits, half=self.clip.half * Fraction(self.grid), **facts)
        low, high = (self.clip.lowest, self.clip.highest) if self._of_values else (0, 1)
        grid = Fraction(self.grid)
        return sensitivities.of_sum(self.limits, low=low * grid, high=high * grid, **facts)

    @property
    def _sensitivity_of_parts(self) -> Sensitivity:
        parts, cost = self.asked.parts, self._parts_planner.unit_cost
        ones = {part.name: 1.0 for part in parts}
        twice = 2 if self.neighbours == "replace" else 1
        in_bin = min(self.limits.max_rows, self.limits.max_per_bin)
        most = max(part.largest * (twice if part.kind == "signed" else 1) for part in parts)
        return Sensitivity(
            l1=round_up(cost.epsilon(ones)),
            l2=sqrt_up(cost.mu_squared(ones)),
            linf=round_up(Fraction(in_bin * most)),
        )

    def _facts(self) -> Facts:
        asked = self.asked
        clip, salt = "", asked.clip_facts if self.kind == "summary" else {}
        subject = "distinct units" if self.kind == "units" else description.shortened(asked.in_words())
        if self._of_values:
            low, high = self.clip.low, self.clip.high
            subject, clip, salt = f"{self.kind} of {self.columns[0]}", clipped_to(low, high), {"clip": [low, high]}
        return Facts(
            subject=subject,
            clip=clip,
            salt=salt,
            left_out=[*left_out_by_domain(self._bins), *asked.left_out],
            missing=asked.missing_in_words(),
            limits_leave_out=self.kind != "units",  # there to count a unit once is the question
            bins=self._bins.size,
        )

    # Reading

    @property
    def _codes(self) -> tuple[str, ...]:
        return tuple(code_names(len(self.columns)))

    def _with_codes(self, rows: ir.Table, named: NamedRows) -> ir.Table:
        return with_codes(rows, named.columns, self.asked.clips, valued=self.asked.valued)

    def _added_up(self, kept: ir.Table) -> ir.Table:
        asked = self.asked
        return summary_totals(kept, asked.columns, self._data.engine, pairs=asked.pairs, squares=asked.squared)

    def _integers(self, totals: pa.Table) -> Batch:
        """Every part, each of all bins; of a mean both as one vector."""
        found = whole_numbers(self.asked, lambda name: to_dense(self._bins.size, totals, name))
        if self.kind == "mean":
            sums, counts = found[part_name("plain", 0)], found[ROWS].astype(object)
            return Batch({NUMBERS: np.concatenate([sums - counts * self.clip.centre, counts * self.clip.half])})
        names = {part.name: part.name if self.kind == "summary" else NUMBERS for part in self.asked.parts}
        return Batch({name: found[part] for part, name in names.items()})

    # The loop

    @property
    def _parts_planner(self) -> StatisticsPlanner:
        asked = self.asked
        return StatisticsPlanner(asked.parts, asked.needed, self.limits, self._bins.size, self.neighbours)

    @property
    def planner(self) -> NoisePlanner[Any]:
        """One noise on a vector; in a summary every part has noise of its own."""
        return self._parts_planner if self.kind == "summary" else self._vector_planner

    def read(self, plan: Any, noisy: Batch, provenance: Provenance) -> Answer:
        """The counts, sums or means; or all statistics of a summary, bin by bin."""
        if self.kind == "summary":
            return self._summary(plan, noisy, provenance, self._bins)
        if self.kind == "mean":
            return MeanRelease.of(
                released(noisy, plan, provenance, kind="mean", domain=None),
                **self._centred(),
                within=(self.clip.low, self.clip.high),
                domain=self.domain,
                column=self.columns[0],
            )
        return released(noisy, plan, provenance, kind="sum" if self._of_values else "count", domain=self.domain)

    def _summary(self, plan: NoisePlan, noisy: Batch, provenance: Provenance, domain: Domain) -> SummaryRelease:
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

    def _centred(self) -> dict[str, float]:
        if self.kind != "mean":
            return {}
        return {"centre": self.clip.centre * self.grid, "half_range": self.clip.half * self.grid}

    def expected(self, charge: Charge[Any], request: PrivacyRequest) -> Preview:
        """Of a summary by releases of made-up bins that all have so many rows."""
        if self.kind != "summary":
            return BinnedQuery.expected(self, charge, request)
        count = min(self._bins.size, MAX_BINS)
        domain = Domain(("bin",), (IntegerRange(0, count),))
        typical = {
            rows: self._summary(charge.plan, Batch(self.asked.typical(rows, count)), Provenance(), domain)
            for rows in expectation.SOME_ROWS
        }
        return expectation.of_summary(
            charge, typical, bins=self._bins.size, limits=self.limits_used, labels=self._labels()
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class SparseCounts(Statistics):
    """Counts in a huge domain: noise on *every* bin, and those that pass a threshold are published."""

    _in_series: ClassVar[bool] = False

    def decide(self, request: PrivacyRequest) -> Decision[VectorPlan]:
        """With Gaussian noise, and a threshold."""
        asked = request.with_threshold("A domain this large is released sparsely, with Gaussian noise and a threshold")
        decided: Decision[VectorPlan] = Decision(decide(asked, self.planner), self)
        self._cut(decided.charge.plan)  # refused before it is paid for
        return decided

    def _cut(self, plan: VectorPlan) -> SparseCut:
        return SparseCut.of(plan, self.size, "universal", "soft")

    def draw(self, plan: VectorPlan, batch: Batch) -> Batch:
        """Noise on every bin, visited or not; those that show."""
        where, noisy = self._cut(plan).drawn(batch.indices, batch.blocks[NUMBERS])
        return Batch({NUMBERS: noisy}, indices=where)

    def read(self, plan: VectorPlan, noisy: Batch, provenance: Provenance) -> Answer:
        """The bins that show."""
        assert noisy.indices is not None
        return self._cut(plan).released(noisy.indices, noisy.blocks[NUMBERS], provenance=provenance, domain=self.domain)

    def expected(self, charge: Charge[VectorPlan], request: PrivacyRequest) -> Preview:
        """With the threshold."""
        cut = self._cut(charge.plan)
        return expectation.of_vector(charge, size=self.size, limits=self.limits, threshold=cut.at_least)

    def _integers(self, totals: pa.Table) -> Batch:
        places, rows = by_place(integers(totals["bin"]), integers(totals["rows"]))
        return Batch({NUMBERS: rows}, indices=places)
