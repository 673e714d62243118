"""A clip from two quantiles: drawn by rank, and then the rows beyond each counted with noise.

The quantiles and their price are those of `quantile`. The three counts, of the rows below the lower end, between both
and above the upper one, take the place of the counts around quantiles that `quantile` makes intervals of: one unit
moves them by as many rows, so they cost the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from leastnoise import errors
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.quantile_mechanism import counts_between, quantile_steps
from leastnoise.curator.queries.quantile import Quantile
from leastnoise.curator.queries.quantile_choice import by_rank
from leastnoise.curator.queries.query import released
from leastnoise.curator.release import Batch, Decision, add_noise
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.rows.clipping import checked_ends
from leastnoise.domain.round_numbers import step_weights
from leastnoise.privacy.rank_noise import RankPlan
from leastnoise.privacy.vector_noise import NUMBERS
from leastnoise.releases.clip_suggestion import ClipSuggestion, rounded_outwards
from leastnoise.releases.provenance import Provenance

USUAL_LEVELS = (0.005, 0.995)


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
        found = Quantile.of(
            data,
            column,
            drawn,
            clip=_checked_within(within),
            bins=None,
            by=(),
            keys=None,
            nulls="drop",
            intervals=True,
            expected_rows=None,
            max_rows=max_rows,
        )
        given = {field.name: getattr(found, field.name) for field in fields(found)}
        return cls(**given, ends=(low, high))

    def _subject(self) -> str:
        return f"a clip of {self.column}, from its quantiles {', '.join(f'{float(q):g}' for q in self.levels)}"

    def _size_in_words(self) -> str:
        return "and how many rows lie beyond"

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
    except errors.LeastnoiseError as problem:
        words = problem.message.replace("clip must be", "within must be", 1)
        raise type(problem)(words, parameter="within", value=within) from None


def _checked_levels(levels: Any) -> tuple[float, float]:
    given = levels.tolist() if hasattr(levels, "tolist") else levels
    pair = isinstance(given, tuple | list) and len(given) == 2
    if not pair or any(isinstance(one, bool | str) or not hasattr(one, "__float__") for one in given):
        raise errors.WrongType(
            f"levels must be a pair (low, high) of shares of the rows. Got {levels!r} instead.",
            parameter="levels",
            value=levels,
            example={"levels": (0.005, 0.995)},
        )
    low, high = map(float, given)
    if not 0 <= low < high <= 1 or (low, high) == (0, 1):
        raise errors.InvalidParameter(
            "levels must rise from 0 to 1: the share of the rows below the lower end, and below the upper end. A 0 or "
            f"1 keeps the public end of that side, and one of both is to be found. Got {levels!r} instead.",
            parameter="levels",
            value=levels,
            example=[{"levels": (0.005, 0.995)}, {"levels": (0, 0.995)}],
        )
    return low, high
