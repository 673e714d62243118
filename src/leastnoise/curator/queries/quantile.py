"""Quantiles of a column, in all or in each group: by the exponential mechanism on ranks, or through a histogram."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from leastnoise._support import progress
from leastnoise._support.rounding import sqrt_up
from leastnoise._support.validation import Floats, Number
from leastnoise.curator import description
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.expectation import Expectation
from leastnoise.curator.quantile_mechanism import counts_between, quantile_steps
from leastnoise.curator.queries import quantile_choice
from leastnoise.curator.queries.binned import BinnedQuery
from leastnoise.curator.queries.options import left_out_by_domain
from leastnoise.curator.queries.query import Facts, NamedRows, Query, clipped_to, released
from leastnoise.curator.release import Answer, Batch, Decision, add_noise
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.rows.placing import place
from leastnoise.curator.rows.totals import by_place, integers
from leastnoise.domain import Domain, Steps
from leastnoise.domain.around_values import edges_around
from leastnoise.domain.round_numbers import step_weights
from leastnoise.errors import BadDomain, InvalidParameter, MissingParameter, WrongType
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.comparison import Comparison
from leastnoise.privacy.rank_noise import RankPlan, RankPlanner
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.privacy.vector_noise import NUMBERS, VectorPlan, VectorPlanner
from leastnoise.releases.block import Block
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.quantile import QuantileRelease, judged_rows
from leastnoise.releases.quantile_readings import HistogramQuantiles, Moments, RankQuantiles, moments
from leastnoise.workload.ordered import MAX_KEYS, IntegerStrategy

MAX_COUNTS = 2**26
MAX_STEPS = 2**20
FINE_STEPS = 2**20  # that candidates are taken from where nobody says
HISTOGRAM_STEPS = (32, 128, 1000)  # that are counted where nobody says: every one adds noise, few blur values
MAX_LEVELS = 1000
MOST_ROWS = 10**18
RANKS = "ranks"  # the block of steps that were drawn


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Quantile(BinnedQuery):
    """The values below which the fractions `levels` of the rows lie, in each group of `by`.

    The integers are how many rows fell into each step of the clip, of steps that have any.
    """

    kind: str = "quantile"
    mechanisms: ClassVar[tuple[str, ...]] = ("auto", "exponential", "gaussian", "laplace")
    column: str
    levels: tuple[Fraction, ...]
    steps: Steps
    chosen_with: str | None  # the release that proposed the clip; None: it is somebody's own
    fixed: bool  # whether the number of steps was asked for
    intervals: bool
    expected_rows: float | None
    strategy: IntegerStrategy | None = None  # the sums of a histogram's counts that get noise; None: every count does

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

    def _facts(self) -> Facts:
        ends, groups, rows, salt = (self.steps.low, self.steps.high), "", "", {}
        if self.by:
            groups = f"{description.counted(self._bins.size, 'bin')}, "
        if self.expected_rows is not None:
            rows = f", judged by about {self.expected_rows:,.12g} rows"
            salt = {"expected_rows": self.expected_rows}
        clip = LeftOut("clip", columns=self.columns, numbers=ends, text=self.chosen_with)
        return Facts(
            subject=f"quantiles {description.shortened([f'{float(q):g}' for q in self.levels])} of {self.column}",
            size=groups + (description.counted(self.steps.bins, "step") if self.fixed else "any steps"),
            clip=clipped_to(*ends) + rows,
            salt={"clip": list(ends), "steps": self.steps.bins, **salt},
            left_out=[*left_out_by_domain(self._bins), LeftOut("null", columns=self.columns), clip],
            bins=self._bins.size,
        )

    # Reading

    @property
    def _codes(self) -> tuple[str, ...]:
        return ("code",)

    def _with_codes(self, rows: ir.Table, named: NamedRows) -> ir.Table:
        (column,) = named.columns
        rows = place(self.steps, rows, column, "_step")
        rows = rows.filter(rows["_step"].notnull())
        return rows.mutate(code=rows["_step"].cast("int64") + 1)

    def _added_up(self, kept: ir.Table) -> ir.Table:
        kept = kept.mutate(step=kept["code"] - 1)
        return kept.group_by("bin", "step").aggregate(rows=kept.count())

    def _integers(self, totals: pa.Table) -> Batch:
        """The steps that have rows, in order."""
        where = integers(totals["bin"]) * self.steps.bins + integers(totals["step"])
        places, rows = by_place(where, integers(totals["rows"]))
        return Batch({NUMBERS: rows}, indices=places)

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

    @property
    def histograms(self) -> tuple[Quantile, ...]:
        """The same question with the steps of a histogram: those asked for, or few and many."""
        every = (self.steps.bins,) if self.fixed else HISTOGRAM_STEPS
        return tuple(replace(self, steps=replace(self.steps, bins=steps)) for steps in every)

    @property
    def may_have_sums(self) -> bool:
        """Whether noise may be on sums of the counts: these lose little by having many."""
        steps = self.steps.bins
        return (self.fixed or steps == max(HISTOGRAM_STEPS)) and 2 <= steps <= MAX_KEYS

    @property
    def judged_rows(self) -> Floats:
        """Of a group, in the tables by which mechanisms are compared."""
        expected = None if self.expected_rows is None else self.expected_rows / self._bins.size
        return judged_rows(self.limits.max_per_bin, expected)

    @property
    def level_names(self) -> tuple[float, ...]:
        """The levels as numbers."""
        return tuple(float(level) for level in self.levels)

    @property
    def moments(self) -> Moments:
        """Of the noise of a histogram's cumulative sums."""
        return moments(self.strategy or self.steps.bins)

    @property
    def planner(self) -> VectorPlanner:
        """Of a histogram: noise on its counts, or on the sums of the strategy."""
        return self._vector_planner if self.strategy is None else self.sums_planner(self.strategy)

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

    def decide(self, request: PrivacyRequest) -> Decision[Any]:
        """The mechanism and its cost, and the question that has these steps."""
        return quantile_choice.choose(self, request)

    # The loop

    def measure(self, plan: RankPlan | VectorPlan) -> Batch:
        """The counts of the steps that have rows; for a histogram of all steps, or sums of these."""
        exact = BinnedQuery.measure(self, plan)
        if isinstance(plan, RankPlan):
            return exact
        numbers = np.zeros(self.size, dtype=np.int64)
        numbers[exact.indices] = exact.blocks[NUMBERS]
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
        vector = plan.counts if isinstance(plan, RankPlan) else plan
        blocks: dict[str, Block] = {}
        if vector is not None:
            counted = released(noisy, vector, provenance, kind="quantile", domain=None).blocks["value"]
            blocks["around" if isinstance(plan, RankPlan) else "counts"] = counted
        asked: dict[str, Any] = {"levels": self.level_names, "steps": self.steps, "column": self.column}
        reading: HistogramQuantiles | RankQuantiles
        if isinstance(plan, RankPlan):
            blocks["drawn"] = Block(noisy.blocks[RANKS].ravel(), (*self.domain.names, "level"), None)
            reading = RankQuantiles(**asked, rates=plan.rates, around="around" in blocks)
        else:
            reading = HistogramQuantiles(**asked, strategy=self.strategy)
        domain = self.domain if self.by else None
        return QuantileRelease(blocks=blocks, reading=reading, domain=domain, provenance=provenance)

    def expected(self, charge: Charge[Any], request: PrivacyRequest) -> Expectation:
        """By how many rows the ranks are off."""
        return quantile_choice.expected(self, charge)

    def compare(self, *, epsilon: Number, delta: Number) -> Comparison:
        """The mechanisms side by side: how far off the ranks are."""
        return quantile_choice.compared(self, epsilon=epsilon, delta=delta)


# What is asked with, checked before any row is read


def checked_levels(levels: Any) -> tuple[Fraction, ...]:
    """One level or several, above 0 and below 1 and rising, as typed: 0.1 is 1/10."""
    if levels is None:
        raise MissingParameter(
            "Which quantiles? Levels are shares of the rows: one half is the median.",
            example=[{"levels": 0.5}, {"levels": [0.1, 0.5, 0.9]}],
        )
    given = levels.tolist() if hasattr(levels, "tolist") else levels
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]
    if any(isinstance(one, bool) or not isinstance(one, Real) for one in listed):
        raise WrongType(
            f"levels must be numbers between 0 and 1. Got {levels!r} instead.", example={"levels": [0.1, 0.5, 0.9]}
        )
    for one in listed:
        if one in (0, 1):
            raise InvalidParameter(
                "The least and the largest value are single people's, and no noise hides them. Ask for a level near "
                "the end instead; the ends of the clip are public anyway.",
                value=levels,
                example={"levels": 0.01 if one == 0 else 0.99},
            )
        if not 0 < one < 1:
            raise InvalidParameter(
                f"levels must be between 0 and 1. Got {one!r} instead. The median is at one half.",
                value=levels,
                example={"levels": 0.5},
            )
    exact = tuple(Fraction(str(float(one))) for one in listed)
    if not 1 <= len(exact) <= MAX_LEVELS:
        raise InvalidParameter(
            f"levels must be from 1 to {MAX_LEVELS:,} numbers. Got {len(exact):,} instead.",
            example={"levels": [0.1, 0.5, 0.9]},
        )
    if any(after <= before for before, after in pairwise(exact)):
        raise InvalidParameter(
            f"levels must rise, each given once. Got {levels!r} instead.",
            value=levels,
            example={"levels": sorted({float(one) for one in exact})},
        )
    return exact


def checked_steps(bins: Any) -> int | None:
    """Into how many steps the clip is cut; None: as many as the mechanism likes."""
    if bins is None:
        return None
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or not 1 <= bins <= MAX_STEPS:
        raise BadDomain(
            f"bins must be a whole number from 1 to 2^20. Got {bins!r} instead.", parameter="bins", value=bins
        )
    return int(bins)


def check_counts(domain: Domain, steps: int | None) -> None:
    """Refuse more counts than a histogram may have, in so many steps for each group."""
    most = steps or max(HISTOGRAM_STEPS)
    if domain.sparse or domain.size * most > MAX_COUNTS:
        raise BadDomain(
            f"quantiles may have {MAX_COUNTS:,} counts in all, and {domain.size:,} groups with {most:,} steps each "
            "have more. Use coarser keys, or fewer steps."
        )


def checked_rows(expected: Any) -> float | None:
    """How many rows somebody expects; None: nobody says."""
    if expected is None:
        return None
    number = isinstance(expected, Real) and not isinstance(expected, bool)
    if not number or not 1 <= expected <= MOST_ROWS:
        raise (InvalidParameter if number else WrongType)(
            f"expected_rows must be a number, about how many rows there are, from 1 to 1e18. Got {expected!r} instead.",
            example={"expected_rows": 30_000},
        )
    return float(expected)
