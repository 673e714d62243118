"""Quantiles of a column, in all or in each group: by the exponential mechanism on ranks, or through a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from leastnoise._support import progress
from leastnoise._support.directed_rounding import sqrt_up
from leastnoise._support.validation import Number
from leastnoise.curator import description, mechanism, quantile_preview
from leastnoise.curator.aggregate.binning import place
from leastnoise.curator.aggregate.bounding import Coding
from leastnoise.curator.aggregate.clipping import Clip
from leastnoise.curator.aggregate.every_bin import joined
from leastnoise.curator.aggregate.exact_totals import Aggregate, clamped, narrow
from leastnoise.curator.budget import charge, quantile_charge
from leastnoise.curator.budget.charge import AnyCharge, Charge
from leastnoise.curator.budget.quantile_charge import Histogram, QuantileCharge
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.noise import entropy
from leastnoise.curator.preview import Expectation
from leastnoise.curator.publish import Decision, Facts
from leastnoise.curator.quantile_mechanism import counts_between, quantile_steps
from leastnoise.curator.queries.bin_totals import BinnedQuery
from leastnoise.curator.queries.domains import column_names, limits_of, listed_domain
from leastnoise.curator.queries.quantile_options import (
    FINE_STEPS,
    HISTOGRAM_STEPS,
    checked_levels,
    checked_rows,
    checked_steps,
)
from leastnoise.curator.queries.query import AnyDecision, NamedRows
from leastnoise.curator.request import PrivacyRequest
from leastnoise.domain import Domain, Steps
from leastnoise.domain.around_values import edges_around
from leastnoise.domain.round_numbers import step_weights
from leastnoise.errors import BadDomain, MissingParameter
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.comparison import Comparison
from leastnoise.privacy.noise_choice import NoiseChoice
from leastnoise.privacy.rank_noise import RankNoise, RankQuestion
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.quantile_errors import judged_rows
from leastnoise.releases.quantile_histogram import HistogramQuantiles
from leastnoise.releases.quantile_ranks import RankQuantiles
from leastnoise.workload.ordered.integer_strategy import MAX_KEYS, IntegerStrategy

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

MAX_COUNTS = 2**26


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

    def _coding(self) -> Coding:
        return Coding(bins=self._bins.size, value_bits=max(1, (self.steps.bins - 1).bit_length()))

    def _with_code(self, rows: ir.Table, named: NamedRows) -> ir.Table:
        (column,) = named.columns
        rows = place(self.steps, rows, column, "_step")
        rows = rows.filter(rows["_step"].notnull())
        return rows.mutate(code=(rows["_place"] << self._coding().value_bits) | rows["_step"])

    def _of_each_bin(self, kept: ir.Table) -> ir.Table:
        kept = kept.mutate(step=self._coding().value_of(kept["code"]))
        return kept.group_by("bin", "step").aggregate(rows=kept.count())

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        """The steps that have rows, in order."""
        where = joined(parts, "bin").astype(np.int64) * self.steps.bins + joined(parts, "step").astype(np.int64)
        places, at = np.unique(where, return_inverse=True)
        rows = joined(parts, "rows")
        totals = np.zeros(len(places), dtype=rows.dtype)
        np.add.at(totals, at, rows)
        return Aggregate(values=narrow(totals), indices=places)

    # Deciding

    @property
    def ranks(self) -> RankQuestion:
        """What the exponential mechanism on ranks is asked."""
        counts = self.fine.sensitivity if self.intervals else None  # its steps are what cells are made of
        return RankQuestion(self.levels, self._bins.size, self.limits, self.neighbours, counts)

    @property
    def fine(self) -> Quantile:
        """The same question with as many steps as candidates have: more of them cost next to nothing."""
        return replace(self, steps=replace(self.steps, bins=FINE_STEPS)) if self.fixed else self

    def counted(self, steps: int) -> Quantile:
        """The same question with so many steps of a histogram."""
        return replace(self, steps=replace(self.steps, bins=steps))

    @property
    def _histograms(self) -> tuple[Histogram, ...]:
        """The noises of histograms that compete: of the steps asked for, or of few and of many."""
        levels = tuple(float(level) for level in self.levels)
        expected = None if self.expected_rows is None else self.expected_rows / self._bins.size
        rows = judged_rows(self.limits.max_per_bin, expected)
        made = []
        for steps in (self.steps.bins,) if self.fixed else HISTOGRAM_STEPS:
            counted = self.counted(steps)
            many = self.fixed or steps == max(HISTOGRAM_STEPS)  # sums lose little by having many
            sums = counted._sums_charge if many and 2 <= steps <= MAX_KEYS else None
            made.append(Histogram(levels, steps, rows, counted._charge, sums))
        return tuple(made)

    def _sums_charge(self, request: PrivacyRequest, strategy: IntegerStrategy) -> Charge[NoiseChoice]:
        """Gaussian noise on the sums S x of every group, and its cost.

        k rows of a unit in one group move S x by at most k times the longest column of S. No entry of S is negative,
        so neither is a product of two such moves, and replaced rows move it by at most the sum of both squares.
        """
        assert (strategy.matrix >= 0).all()
        moved = 2 if self.neighbours == "replace" else 1
        square = self.limits.squared_norm * strategy.squared_sensitivity * moved
        return charge.decide(
            request, bins=self.size, integers=True, sensitivity=sqrt_up(Fraction(square)), neighbours=self.neighbours
        )

    def _chosen(self, request: PrivacyRequest) -> QuantileCharge:
        return quantile_charge.decide(request, self.ranks, self._histograms)

    def _decide(self, request: PrivacyRequest) -> AnyDecision:  # type: ignore[override]
        chosen = self._chosen(request)
        made = chosen.charge
        if isinstance(made.noise, RankNoise):
            return Decision(made, partial(self.fine._draw_ranks, made.noise), reads=self.fine)
        assert chosen.steps is not None
        counted = self.counted(chosen.steps)
        return Decision(made, partial(counted._draw_counts, made.noise, chosen.strategy), reads=counted)

    def _priced(self, request: PrivacyRequest) -> tuple[AnyCharge, float]:
        chosen = self._chosen(request)
        return chosen.charge, chosen.typical_error

    def _prepare(self) -> None:
        """The weights of the steps: computed once, before anything is paid."""
        step_weights(self.fine.steps)

    def _draw_counts(
        self, chosen: NoiseChoice, strategy: IntegerStrategy | None, exact: Aggregate, facts: Facts
    ) -> QuantileRelease:
        """Noise on the count of every step, or on sums of them."""
        numbers = np.zeros(self.size, dtype=np.int64)
        numbers[exact.indices] = clamped(exact.values)
        if strategy is not None:
            numbers = strategy.apply(numbers.reshape(self._bins.size, self.steps.bins)).ravel()
        noisy = mechanism.publish(numbers, chosen, kind="quantile", domain=None, **facts)
        return self._released(HistogramQuantiles(noisy, self.steps, self._bins.size, strategy))

    def _draw_ranks(self, noise: RankNoise, exact: Aggregate, facts: Facts) -> QuantileRelease:
        """The quantiles of each group, one after the other."""
        weights, count = step_weights(self.steps), self.steps.bins
        indices, rows = np.asarray(exact.indices), clamped(exact.values)
        cuts = np.searchsorted(indices, np.arange(self._bins.size + 1) * count)
        found, between = [], []
        with progress.bar("drawing quantiles", self._bins.size) as advance:
            for group in range(self._bins.size):
                own = slice(cuts[group], cuts[group + 1])
                steps = indices[own] - group * count
                found.append(quantile_steps(steps, rows[own], noise.rates, weights))
                between.append(counts_between(steps, rows[own], edges_around(found[-1], count)))
                advance(1)
        provenance = Provenance(
            guarantee=noise.guarantee, delta=noise.delta, reason=noise.reason, seeded=entropy.is_seeded(), **facts
        )
        counts = None
        if noise.counts is not None:
            counts = mechanism.publish(np.concatenate(between), noise.counts, domain=None, kind="quantile", **facts)
            counts = replace(counts, provenance=provenance)
        return self._released(RankQuantiles(np.array(found), counts, noise.rates, self.steps, provenance))

    def _released(self, found: HistogramQuantiles | RankQuantiles) -> QuantileRelease:
        levels = tuple(float(level) for level in self.levels)
        return QuantileRelease(found=found, levels=levels, domain=self.domain if self.by else None, column=self.column)

    # Expecting

    def _expectation(self, request: PrivacyRequest) -> Expectation:
        chosen = self._chosen(request)
        steps = (self.fine if chosen.steps is None else self.counted(chosen.steps)).steps
        return quantile_preview.expected(chosen, levels=self.levels, steps=steps, limits=self.limits)

    def compare(self, *, epsilon: Number, delta: Number) -> Comparison:
        """The mechanisms side by side: how far off the ranks are."""
        return quantile_preview.compared(self.ranks, self._histograms, self.fine.steps, epsilon=epsilon, delta=delta)
