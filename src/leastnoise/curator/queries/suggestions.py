"""What limits and clips are proposed from: questions of their own, bought with a small release.

**Limits**: how many units have how many rows, in how many bins. Of each unit one row is drawn, uniformly, by a hash of
the unit and nothing else's: with N rows that lie in places 1, 2 ... in n_1, n_2 ... of them, it is the row number
(hash mod N) in the order of places. So what a unit adds depends on its own rows alone, is the same on every engine, and
is one number in each histogram (`releases.limit_suggestion`, with the sensitivity and its proof). A unit with no row in
the bins adds nothing.

**A clip**: two quantiles drawn by rank, and then the rows beyond each counted with noise. The quantiles and their price
are those of `quantile`. The three counts, of the rows below the lower end, between both and above the upper one, take
the place of the counts around quantiles that `quantile` makes intervals of: one unit moves them by as many rows, so
they cost the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from leastnoise._support import library_warnings
from leastnoise._support.rounding import round_up, sqrt_up
from leastnoise._support.validation import Number
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.budget.terms import Share, exact_share
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.quantile_mechanism import counts_between, quantile_steps
from leastnoise.curator.queries.binned import BinnedQuery
from leastnoise.curator.queries.options import left_out_by_domain, limits_of, listed_domain
from leastnoise.curator.queries.quantile import FINE_STEPS, Quantile, checked_levels
from leastnoise.curator.queries.quantile_choice import by_rank
from leastnoise.curator.queries.query import Facts, released
from leastnoise.curator.release import Batch, Decision, add_noise, check_question, release
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.rows import priorities
from leastnoise.curator.rows.clipping import Clip, checked_ends
from leastnoise.curator.rows.placing import with_bin_class, with_octave, with_row_class
from leastnoise.curator.rows.totals import to_dense
from leastnoise.domain import Domain, Steps
from leastnoise.domain.round_numbers import step_weights
from leastnoise.errors import BadDomain, InvalidParameter, LeastnoiseError, MissingParameter, WrongType
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.rank_noise import RankPlan
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.privacy.vector_noise import NUMBERS, VectorPlan, VectorPlanner
from leastnoise.releases.clip_suggestion import ClipSuggestion, rounded_outwards
from leastnoise.releases.left_out import MOST_BINS_WEIGHED
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.limit_suggestion import Layout, LimitSuggestion
from leastnoise.releases.provenance import Provenance

_WIDE, _HOPELESS = 1e6, 1e12  # sensitivities: large, so that rounding to whole numbers hardly matters
USUAL_LEVELS = (0.005, 0.995)


# Limits


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class UnitCounts(BinnedQuery):
    """Each unit counted once by its rows, by their spread over the bins, and by a bin."""

    kind: str = "unit counts"
    _keeps_rows: ClassVar[bool] = False
    asked: AskedNoise  # of the question that the limits are for

    @classmethod
    def of(cls, data: Dataset, by: Sequence[str], keys: Any, nulls: str, asked: AskedNoise) -> UnitCounts:
        """The question, checked."""
        if by and keys is None:
            raise MissingParameter(
                "Limits are proposed for bins that are public, so the keys must be listed.",
                example={"keys": ["a", "b"]},
            )
        domain = listed_domain(data, by, keys, nulls) if by else Domain()
        if domain.size > MOST_BINS_WEIGHED:
            raise BadDomain(
                f"Limits can be proposed for {MOST_BINS_WEIGHED:,} bins, and this domain has {domain.size:,}. Use "
                "coarser keys: how many rows a unit has hardly depends on them."
            )
        limits = limits_of(data, bins=1, by=by, max_rows=1)
        return cls(_data=data, _bins=domain, by=tuple(by), limits=limits, asked=asked)

    @property
    def layout(self) -> Layout:
        """Where each histogram is among the integers."""
        return Layout(self._bins.size)

    @property
    def size(self) -> int:
        """How many integers the answer has."""
        return self.layout.size

    @property
    def sensitivity(self) -> Sensitivity:
        """One entry of each histogram, by its weight; replaced, two (the proof is in `releases.limit_suggestion`)."""
        weights = self.layout.weights
        moved = 1 if self.neighbours == "add-remove" else 2
        return Sensitivity(
            l1=round_up(Fraction(moved * sum(weights))),
            l2=sqrt_up(Fraction(moved * sum(weight**2 for weight in weights))),
            linf=float(max(weights)),
        )

    @property
    def limits_used(self) -> dict[str, int]:
        """Each unit is counted once in each histogram, however many rows it has: there is no limit."""
        return {}

    def _facts(self) -> Facts:
        return Facts(
            subject="units counted by their number of rows",
            clip=", to propose limits",
            kept=f"{self._data.unit_name} counts once in each histogram",
            left_out=left_out_by_domain(self._bins),
            limits_leave_out=False,  # to count a unit once is the question
            bins=self._bins.size,
        )

    def read(self, plan: VectorPlan, noisy: Batch, provenance: Provenance) -> LimitSuggestion:
        """The noisy histograms, and what they propose."""
        counted = released(noisy, plan, provenance, kind="count", domain=None)
        return LimitSuggestion(components=counted, layout=self.layout, asked=self.asked, by=self.by)

    def _of_units(self, rows: ir.Table, unit: tuple[str, ...]) -> ir.Table:
        """How many units have each cell of the vector, which is called `bin`."""
        cells = self._size_cells(self._drawn(rows, unit))
        return cells.group_by("bin").aggregate(rows=cells.count())

    def _size_cells(self, drawn: ir.Table) -> ir.Table:
        """The cells of rows, spread and bins that each unit is counted in."""
        layout = self.layout
        drawn = with_octave(with_row_class(drawn, "_total", "_rows"), "_total", "_wide")
        if self._bins.size > 1:
            drawn = with_bin_class(with_octave(drawn, "_here", "_deep"), "_here", "_shared")
        octave = drawn["_wide"]
        cells = [drawn["_rows"], octave + layout.start("octaves"), (octave >> 2) + layout.start("wide")]
        if self._bins.size > 1:
            pair = ((octave * (octave + 1)) >> 1) + drawn["_deep"]
            cells += [pair + layout.start("spread"), drawn["_deep"] + layout.start("depths")]
            cells += [drawn["_shared"] + layout.start("shared"), drawn["bin"] + layout.start("bins")]
        return drawn.select(bin=ibis.array(cells).unnest())

    def _drawn(self, rows: ir.Table, unit: tuple[str, ...]) -> ir.Table:
        """One row of each unit: `bin`, how many of the unit's rows have it (_here), and how many rows it has (_total).

        With u the unit's hash, the row is number u mod N in the order of bins: exactly one holds it.
        """
        groups = rows.group_by([*unit, "_unit", "bin"]).aggregate(_here=rows.count())
        of_unit = ibis.window(group_by=list(unit))
        upto = ibis.cumulative_window(group_by=list(unit), order_by="bin")
        groups = groups.mutate(
            _total=groups["_here"].sum().over(of_unit).cast("int64"),
            _upto=groups["_here"].sum().over(upto).cast("int64"),
        )
        groups = groups.mutate(_hash=groups["_unit"] ^ self._salt)
        groups = priorities.mixed(groups, "_hash")
        groups = groups.mutate(_row=groups["_hash"] % groups["_total"])
        return groups.filter((groups["_upto"] - groups["_here"] <= groups["_row"]) & (groups["_row"] < groups["_upto"]))

    def _integers(self, totals: pa.Table) -> Batch:
        counts, start = to_dense(self.size, totals, "rows"), 0
        for _, size, weight in self.layout.histograms:
            counts[start : start + size] *= weight
            start += size
        return Batch({NUMBERS: counts})


def limit_question(
    data: Dataset,
    by: Sequence[str],
    *,
    keys: Any,
    nulls: str,
    request: PrivacyRequest,
    for_epsilon: Number | None,
    for_delta: Number | None,
    for_share: Share | None,
) -> UnitCounts:
    """The question that limits are proposed from: everything public is checked, nothing is read or paid."""
    if data.row_is_unit:
        raise InvalidParameter(
            f"Every {data.unit_name} has one row in this table, so there is nothing to limit: ask the question without "
            "limits."
        )
    later = later_request(request, epsilon=for_epsilon, delta=for_delta, share=for_share)
    return UnitCounts.of(data, by, keys, nulls, asked_noise(later, data.neighbours))


def suggest_limits(data: Dataset, by: Sequence[str], *, request: PrivacyRequest, **asked: Any) -> LimitSuggestion:
    """What one preliminary release proposes: one release, one debit."""
    question = limit_question(data, by, request=request, **asked)
    check_question(question)
    made = release(question, request)
    assert isinstance(made, LimitSuggestion)
    return made


def later_request(
    request: PrivacyRequest, *, epsilon: Number | None, delta: Number | None, share: Share | None
) -> PrivacyRequest:
    """How private the question itself will be: as was said, else as this release; of a budget, by all that is left."""
    if request.budget is None:
        same = epsilon is None and delta is None and share is None
        chosen = (request.epsilon, request.delta) if same else (epsilon, delta)
        return PrivacyRequest(epsilon=chosen[0], delta=chosen[1], share=share)
    if share is not None and request.share is not None:
        _check_both_fit(request, share)
    if epsilon is not None or delta is not None or share is not None:
        return PrivacyRequest(epsilon=epsilon, delta=delta, share=share, budget=request.budget)
    left = request.budget.remaining.share - (0.0 if request.share is None else float(exact_share(request.share)))
    if left <= 0:
        raise InvalidParameter(
            "After this nothing of the budget is left for the question that the limits are for.",
            value=request.share,
            example={"share": 0.02},
        )
    return PrivacyRequest(budget=request.budget, share=left)


def _check_both_fit(request: PrivacyRequest, for_share: Share) -> None:
    """Refuse a release after which the question could not be paid. (What is left is rounded down to a millionth.)"""
    assert request.budget is not None
    assert request.share is not None
    left, own = exact_share(request.budget.remaining.share), exact_share(request.share)
    if own <= left < own + exact_share(for_share, "for_share") - Fraction(1, 10**6):
        raise InvalidParameter(
            f"Of the budget {float(left):g} is left, and {request.share} of it for this release and {for_share} for "
            "the question do not both fit. Take less for one of them.",
            parameter="for_share",
            value=for_share,
            example={"share": float(left) / 50, "for_share": float(left) / 2},
        )


def asked_noise(later: PrivacyRequest, neighbours: Neighbours) -> AskedNoise:
    """The standard deviation for a sensitivity of one, of whichever noise such a request takes."""

    def of(l1: float) -> VectorPlan:
        wide = {"sensitivity": _WIDE, "l1_sensitivity": l1}
        return decide(later, VectorPlanner(bins=1, integers=True, neighbours=neighbours, **wide)).plan  # type: ignore[arg-type]

    with library_warnings.none_at_all():  # about noise that is not drawn here
        gaussian, least = of(_HOPELESS), of(_WIDE)
    if gaussian.mechanism == "laplace":
        return AskedNoise(None, gaussian.distribution.std / _HOPELESS, neighbours)
    per_l1 = least.distribution.std / _WIDE if least.mechanism == "laplace" else None
    return AskedNoise(gaussian.distribution.std / _WIDE, per_l1, neighbours)


# A clip


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class ClipQuestion(Quantile):
    """Two quantiles of a column as the ends of a clip; an end whose level is 0 or 1 is the public one."""

    kind: str = "clip"
    mechanisms: ClassVar[tuple[str, ...]] = ("auto", "exponential")
    ends: tuple[float, float]  # the two levels

    @classmethod
    def asked(
        cls,
        data: Dataset,
        column: str,
        *,
        within: object,
        max_rows: int | None,
        levels: Sequence[float] = USUAL_LEVELS,
    ) -> ClipQuestion:
        """The question, checked."""
        low, high = _checked_levels(levels)
        drawn = [level for level in (low, high) if 0 < level < 1]
        data.check_usable(column)
        exact, ends = checked_levels(drawn), Clip.of(_checked_within(within), data.rows[column].type())
        return cls(
            _data=data,
            _bins=Domain(),
            column=column,
            levels=exact,
            steps=Steps(low=ends.low, high=ends.high, bins=FINE_STEPS),
            chosen_with=ends.chosen_with,
            fixed=False,
            intervals=True,
            expected_rows=None,
            limits=limits_of(data, bins=1, max_rows=max_rows),
            ends=(low, high),
        )

    def _facts(self) -> Facts:
        levels = ", ".join(f"{float(q):g}" for q in self.levels)
        subject = f"a clip of {self.column}, from its quantiles {levels}"
        return replace(Quantile._facts(self), subject=subject, size="and how many rows lie beyond")

    def decide(self, request: PrivacyRequest) -> Decision[RankPlan]:
        """By rank, whatever else would have less error: the counts follow from the ends that are drawn."""
        return by_rank(self, request)

    def draw(self, plan: Any, batch: Batch) -> Batch:
        """The quantiles, and then the three counts."""
        steps, rows, count = batch.indices, batch.blocks[NUMBERS], self.steps.bins
        assert steps is not None
        drawn = list(quantile_steps(steps, rows, plan.rates, step_weights(self.steps)))
        low = int(drawn.pop(0)) if self.ends[0] > 0 else None
        high = int(drawn.pop()) if self.ends[1] < 1 else None
        low, high = rounded_outwards(self.steps, low, high)
        cuts = np.array([0, low or 0, count if high is None else high + 1, count])
        return add_noise(plan.counts, Batch({NUMBERS: counts_between(steps, rows, cuts)}, keys=(low, high)))

    def read(self, plan: Any, noisy: Batch, provenance: Provenance) -> ClipSuggestion:
        """The clip, and how many rows lie beyond."""
        assert noisy.keys is not None
        low, high = noisy.keys
        return ClipSuggestion(
            counts=released(noisy, plan.counts, provenance, kind="count", domain=None),
            drawn=(low, high),
            levels=self.ends,
            steps=self.steps,
            column=self.column,
        )


def _checked_within(within: object) -> tuple[float, float]:
    """The public ends; what is wrong with them is said of `within`."""
    try:
        return checked_ends(within)
    except LeastnoiseError as problem:
        words = problem.message.replace("clip must be", "within must be", 1)
        raise type(problem)(words, parameter="within", value=within) from None


def _checked_levels(levels: Any) -> tuple[float, float]:
    given = levels.tolist() if hasattr(levels, "tolist") else levels
    pair = isinstance(given, tuple | list) and len(given) == 2
    if not pair or any(isinstance(one, bool | str) or not hasattr(one, "__float__") for one in given):
        raise WrongType(
            f"levels must be a pair (low, high) of shares of the rows. Got {levels!r} instead.",
            value=levels,
            example={"levels": (0.005, 0.995)},
        )
    low, high = map(float, given)
    if not 0 <= low < high <= 1 or (low, high) == (0, 1):
        raise InvalidParameter(
            "levels must rise from 0 to 1: the share of the rows below the lower end, and below the upper end. A 0 or "
            f"1 keeps the public end of that side, and one of both is to be found. Got {levels!r} instead.",
            value=levels,
            example=[{"levels": (0.005, 0.995)}, {"levels": (0, 0.995)}],
        )
    return low, high
