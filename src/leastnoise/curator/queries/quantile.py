"""Quantiles of a column, in all or in each group: by the exponential mechanism on ranks, or through a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from leastnoise._support import progress
from leastnoise._support.rounding import sqrt_up
from leastnoise._support.validation import Number
from leastnoise.curator import description
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.expectation import Expectation
from leastnoise.curator.quantile_mechanism import counts_between, quantile_steps
from leastnoise.curator.queries.binned import BinnedQuery
from leastnoise.curator.queries.options import column_names, limits_of, listed_domain
from leastnoise.curator.queries.quantile_choice import Alternatives, Chosen, Histogram, expected
from leastnoise.curator.queries.quantile_options import (
    FINE_STEPS,
    HISTOGRAM_STEPS,
    checked_levels,
    checked_rows,
    checked_steps,
)
from leastnoise.curator.queries.query import NamedRows, Query, released
from leastnoise.curator.release import Answer, Batch, Decision, add_noise
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.rows.clipping import Clip
from leastnoise.curator.rows.placing import place
from leastnoise.curator.rows.totals import Aggregate, joined, saturate, to_int64
from leastnoise.domain import Domain, Steps
from leastnoise.domain.around_values import edges_around
from leastnoise.domain.round_numbers import step_weights
from leastnoise.errors import BadDomain, MissingParameter
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.comparison import Comparison
from leastnoise.privacy.rank_noise import RankPlan, RankPlanner
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.privacy.vector_noise import NUMBERS, VectorPlan, VectorPlanner
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.quantile_errors import judged_rows
from leastnoise.releases.quantile_histogram import HistogramQuantiles
from leastnoise.releases.quantile_ranks import RankQuantiles
from leastnoise.workload.ordered import MAX_KEYS, IntegerStrategy

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

MAX_COUNTS = 2**26
RANKS = "ranks"  # the block of steps that were drawn


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Quantile(BinnedQuery):
    """The values below which the fractions `levels` of the rows lie, in each group of `by`.

    The integers are how many rows fell into each step of the clip, of steps that have any.
    """

    kind: ClassVar[str] = "quantile"
    mechanisms: ClassVar[tuple[str, ...]] = ("auto", "exponential", "gaussian", "laplace")
    column: str
    levels: tuple[Fraction, ...]
    steps: Steps
    chosen_with: str | None  # the release that proposed the clip; None: it is somebody's own
    fixed: bool  # whether the number of steps was asked for
    intervals: bool
    expected_rows: float | None
    strategy: IntegerStrategy | None = None  # the sums of a histogram's counts that get noise; None: every count does

    @classmethod
    def of(
        cls,
        data: Dataset,
        column: str,
        levels: Any,
        *,
        clip: object,
        bins: Any,
        by: str | Sequence[str],
        keys: Any,
        nulls: str,
        intervals: bool,
        expected_rows: Any,
        **limits: int | None,
    ) -> Quantile:
        """The question, checked."""
        data.check_usable(column)
        exact, count, rows = checked_levels(levels), checked_steps(bins), checked_rows(expected_rows)
        names = column_names(by)
        if names and keys is None:
            raise MissingParameter(
                f"quantiles by {', '.join(names)} need the public keys. Histograms and summaries find them.",
                parameter="keys",
                example={"keys": ["a", "b"]},
            )
        domain = listed_domain(data, names, keys, nulls) if names else Domain()
        ends = Clip.of(clip, data.rows[column].type())
        most = count or max(HISTOGRAM_STEPS)
        if domain.sparse or domain.size * most > MAX_COUNTS:
            raise BadDomain(
                f"quantiles may have {MAX_COUNTS:,} counts in all, and {domain.size:,} groups with "
                f"{most:,} steps each have more. Use coarser keys, or fewer steps."
            )
        return cls(
            _data=data,
            _bins=domain,
            by=names,
            column=column,
            levels=exact,
            steps=Steps(low=ends.low, high=ends.high, bins=count or FINE_STEPS),
            chosen_with=ends.chosen_with,
            fixed=count is not None,
            intervals=bool(intervals),
            expected_rows=rows,
            limits=limits_of(data, bins=domain.size, by=names, **limits),
        )

    def __post_init__(self) -> None:
        """Build both expressions once, so that a wrong type is found before any row is read."""
        BinnedQuery.__post_init__(self)
        place(self.steps, self.rows, self.column, "_step")

    @property
    def columns(self) -> tuple[str, ...]:
        """The column whose quantiles are asked for."""
        return (self.column,)

    @property
    def size(self) -> int:
        """How many counts there are: of every step, in every group."""
        return self._bins.size * self.steps.bins

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the counts of all steps: a unit's rows of one group may all lie in one step."""
        return sensitivities.of_sum(self.limits, low=0, high=1, bins=self.size, neighbours=self.neighbours)

    def _values_left_out(self) -> Sequence[LeftOut]:
        ends = (self.steps.low, self.steps.high)
        clip = LeftOut("clip", columns=self.columns, numbers=ends, text=self.chosen_with)
        return [*BinnedQuery._values_left_out(self), LeftOut("null", columns=self.columns), clip]

    def _subject(self) -> str:
        return f"quantiles {description.shortened([f'{float(q):g}' for q in self.levels])} of {self.column}"

    def _size_in_words(self) -> str:
        groups = f"{description.counted(self._bins.size, 'bin')}, " if self.by else ""
        return groups + (description.counted(self.steps.bins, "step") if self.fixed else "any steps")

    def _clip_in_words(self) -> str:
        rows = "" if self.expected_rows is None else f", judged by about {self.expected_rows:,.12g} rows"
        return f", clipped to [{self.steps.low!r}, {self.steps.high!r}]{rows}"

    def _clip_facts(self) -> dict[str, object]:
        rows = {} if self.expected_rows is None else {"expected_rows": self.expected_rows}
        return {"clip": [self.steps.low, self.steps.high], "steps": self.steps.bins, **rows}

    # Reading

    @property
    def _codes(self) -> tuple[str, ...]:
        return ("code",)

    def _with_codes(self, rows: ir.Table, named: NamedRows) -> ir.Table:
        (column,) = named.columns
        rows = place(self.steps, rows, column, "_step")
        rows = rows.filter(rows["_step"].notnull())
        return rows.mutate(code=rows["_step"].cast("int64") + 1)

    def _of_each_bin(self, kept: ir.Table) -> ir.Table:
        kept = kept.mutate(step=kept["code"] - 1)
        return kept.group_by("bin", "step").aggregate(rows=kept.count())

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        """The steps that have rows, in order."""
        where = joined(parts, "bin").astype(np.int64) * self.steps.bins + joined(parts, "step").astype(np.int64)
        places, at = np.unique(where, return_inverse=True)
        rows = joined(parts, "rows")
        totals = np.zeros(len(places), dtype=rows.dtype)
        np.add.at(totals, at, rows)
        return Aggregate(values=to_int64(totals), indices=places)

    # Deciding

    @property
    def ranks(self) -> RankPlanner:
        """What the exponential mechanism on ranks is asked."""
        counts = self.fine.sensitivity if self.intervals else None  # its steps are what cells are made of
        return RankPlanner(self.levels, self._bins.size, self.limits, self.neighbours, counts)

    @property
    def fine(self) -> Quantile:
        """The same question with as many steps as candidates have: more of them cost next to nothing."""
        return replace(self, steps=replace(self.steps, bins=FINE_STEPS)) if self.fixed else self

    def counted(self, steps: int) -> Quantile:
        """The same question with so many steps of a histogram."""
        return replace(self, steps=replace(self.steps, bins=steps))

    @property
    def alternatives(self) -> Alternatives:
        """By rank, or by histograms: of the steps asked for, or of few and of many."""
        names, fine = self._level_names, self.fine.steps
        expected = None if self.expected_rows is None else self.expected_rows / self._bins.size
        rows = judged_rows(self.limits.max_per_bin, expected)
        made = []
        for steps in (self.steps.bins,) if self.fixed else HISTOGRAM_STEPS:
            counted = self.counted(steps)
            many = self.fixed or steps == max(HISTOGRAM_STEPS)  # sums lose little by having many
            sums = counted.sums_planner if many and 2 <= steps <= MAX_KEYS else None
            made.append(Histogram(names, steps, rows, counted.planner, sums))
        return Alternatives(self.ranks, tuple(made), fine)

    @property
    def _level_names(self) -> tuple[float, ...]:
        return tuple(float(level) for level in self.levels)

    def sums_planner(self, strategy: IntegerStrategy) -> VectorPlanner:
        """The ways to add noise to the sums S x of every group.

        k rows of a unit in one group move S x by at most k times the longest column of S. No entry of S is negative,
        so neither is a product of two such moves, and replaced rows move it by at most the sum of both squares.
        """
        assert (strategy.matrix >= 0).all()
        moved = 2 if self.neighbours == "replace" else 1
        square = self.limits.squared_norm * strategy.squared_sensitivity * moved
        l2 = sqrt_up(Fraction(square))
        return VectorPlanner(bins=self.size, integers=True, sensitivity=l2, neighbours=self.neighbours)

    def choose(self, request: PrivacyRequest) -> Chosen:
        """The mechanism and its cost."""
        return self.alternatives.choose(request)

    def decide(self, request: PrivacyRequest) -> Decision[Any]:
        """The mechanism and its cost, and the question that has these steps."""
        return self._as_chosen(self.choose(request))

    def _as_chosen(self, chosen: Chosen) -> Decision[Any]:
        asked = self.fine if chosen.steps is None else replace(self.counted(chosen.steps), strategy=chosen.strategy)
        return Decision(chosen.charge, asked)

    def priced(self, request: PrivacyRequest) -> tuple[Charge[Any], float]:
        """What the request costs, and by how many rows ranks are typically off."""
        chosen = self.choose(request)
        return chosen.charge, chosen.typical_error

    def _prepare(self) -> None:
        """The weights of the steps: computed once, before anything is paid."""
        step_weights(self.fine.steps)

    # The loop

    def measure(self, plan: RankPlan | VectorPlan) -> Batch:
        """The counts of the steps that have rows; for a histogram of all steps, or sums of these."""
        exact = self._totals()
        rows, indices = saturate(exact.values), np.asarray(exact.indices)
        if isinstance(plan, RankPlan):
            return Batch({NUMBERS: rows}, indices=indices)
        numbers = np.zeros(self.size, dtype=np.int64)
        numbers[indices] = rows
        if self.strategy is not None:
            numbers = self.strategy.apply(numbers.reshape(self._bins.size, self.steps.bins)).ravel()
        return Batch({NUMBERS: numbers})

    def draw(self, plan: RankPlan | VectorPlan, batch: Batch) -> Batch:
        """Noise on every number; or the quantiles of each group by rank, one after the other, and the noisy counts
        around them."""
        if not isinstance(plan, RankPlan):
            return Query.draw(self, plan, batch)
        weights, count, rows = step_weights(self.steps), self.steps.bins, batch.blocks[NUMBERS]
        assert batch.indices is not None
        cuts = np.searchsorted(batch.indices, np.arange(self._bins.size + 1) * count)
        found, between = [], []
        with progress.bar("drawing quantiles", self._bins.size) as advance:
            for group in range(self._bins.size):
                own = slice(cuts[group], cuts[group + 1])
                steps = batch.indices[own] - group * count
                found.append(quantile_steps(steps, rows[own], plan.rates, weights))
                between.append(counts_between(steps, rows[own], edges_around(found[-1], count)))
                advance(1)
        drawn = {RANKS: np.array(found)}
        if plan.counts is None:
            return Batch(drawn)
        return Batch({**drawn, **add_noise(plan.counts, Batch({NUMBERS: np.concatenate(between)})).blocks})

    def read(self, plan: RankPlan | VectorPlan, noisy: Batch, provenance: Provenance) -> Answer:
        """The quantiles."""
        numbers = noisy.blocks.get(NUMBERS)
        vector = plan.counts if isinstance(plan, RankPlan) else plan
        counts = None
        if numbers is not None and vector is not None:
            counts = released(numbers, vector, provenance, kind="quantile", domain=None)
        found: HistogramQuantiles | RankQuantiles
        if isinstance(plan, RankPlan):
            found = RankQuantiles(noisy.blocks[RANKS], counts, plan.rates, self.steps, provenance)
        else:
            assert counts is not None
            found = HistogramQuantiles(counts, self.steps, self._bins.size, self.strategy)
        domain = self.domain if self.by else None
        return QuantileRelease(found=found, levels=self._level_names, domain=domain, column=self.column)

    def _expectation(self, request: PrivacyRequest) -> Expectation:
        chosen = self.choose(request)
        steps = self._as_chosen(chosen).query.steps  # type: ignore[attr-defined]
        return expected(chosen, self._level_names, steps=steps, limits=self.limits)

    def compare(self, *, epsilon: Number, delta: Number) -> Comparison:
        """The mechanisms side by side: how far off the ranks are."""
        return self.alternatives.compared(epsilon=epsilon, delta=delta)
