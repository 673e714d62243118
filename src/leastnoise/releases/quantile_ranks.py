"""Quantiles that were drawn by the exponential mechanism on ranks, and noisy counts around them for intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.text import rounded
from leastnoise._support.validation import Floats
from leastnoise.domain import Steps
from leastnoise.domain.around_values import edges_around
from leastnoise.domain.round_numbers import step_weights
from leastnoise.privacy.rank_noise import RankRates
from leastnoise.releases import records
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.quantile_histogram import moments, quantile_ends
from leastnoise.releases.release import Release


def rank_noise(rates: RankRates) -> Noise:
    """How far ranks are off, in rows, where rows lie densely: as Laplace noise would make them, on no grid."""
    return Noise("exponential", rates.rank_std / math.sqrt(2))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class RankQuantiles:
    """The steps that were drawn, one row a group and one column a level; and noisy counts of the rows between public
    cuts around them, group after group (None: none were paid for)."""

    drawn: NDArray[np.int64]
    counts: Release | None
    rates: RankRates
    steps: Steps
    provenance: Provenance

    components: ClassVar[None] = None  # there is no noisy histogram
    noise_added_to: ClassVar[str] = "a rank"

    def _fits(self) -> dict[str, bool]:
        drawn = self.drawn.ndim == 2 and self.drawn.size and self.drawn.shape[1] == len(self.rates.levels)
        drawn = drawn and self.drawn.min() >= 0 and self.drawn.max() < self.steps.bins
        counts = self.counts
        return {
            "drawn": bool(drawn),
            "counts": counts is None
            or (counts.bins == sum(len(edges) - 1 for edges in self.edges) and counts.provenance == self.provenance),
            "id": self.provenance.id != "",
        }

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels that were drawn."""
        return tuple(map(float, self.rates.levels))

    @property
    def has_intervals(self) -> bool:
        """Only where counts around what was drawn were paid for."""
        return self.counts is not None

    @property
    def groups(self) -> int:
        """How many groups."""
        return len(self.drawn)

    @property
    def noise(self) -> Noise:
        """How far ranks are off, in rows, where rows lie densely."""
        return rank_noise(self.rates)

    def values(self, levels: Sequence[float]) -> Floats:
        """What stands for the steps that were drawn: the roundest number in each, or its middle."""
        return step_weights(self.steps).values[self.drawn]

    @property
    def edges(self) -> list[NDArray[np.int64]]:
        """The cuts of each group, in steps."""
        return [edges_around(steps, self.steps.bins) for steps in self.drawn]

    def interval(self, levels: Sequence[float], confidence: float) -> tuple[Floats, Floats]:
        """By the noisy counts around each quantile; the whole clip where none were paid for."""
        low, high = np.full(self.drawn.shape, self.steps.low), np.full(self.drawn.shape, self.steps.high)
        if self.counts is None:
            return low, high
        begin, width = 0, (self.steps.high - self.steps.low) / self.steps.bins
        for group, edges in enumerate(self.edges):
            end = begin + len(edges) - 1
            counts = self.counts.values[begin:end].astype(np.float64)
            first, last = quantile_ends(counts, levels, self.counts.distribution, confidence, moments(len(counts)))
            # A value is placed by doubles, 2^-31 of a step off at most; intervals allow for it.
            low[group] = np.maximum(self.steps.low + width * (edges[first] - 2.0**-30), self.steps.low)
            high[group] = np.minimum(self.steps.low + width * (edges[last] + 2.0**-30), self.steps.high)
            begin = end
        return low, high

    def rank_errors(self, levels: Sequence[float], confidence: float) -> Floats:
        """By how many rows each rank is off at most, beyond the rows of its own step."""
        return np.array(self.rates.rank_errors(spread=step_weights(self.steps).total, confidence=confidence))

    def method_in_words(self) -> str:
        """How the quantiles were found."""
        return f"drawn from {self.steps.bins:,} steps of the clip by the exponential mechanism on ranks"

    def spread_in_words(self, digits: int) -> str:
        """How far ranks are off, to so many digits."""
        return f"standard deviation {self.noise.std:.{digits}g} rows in the rank, where rows lie densely"

    def why_in_words(self) -> str:
        """What makes ranks be off."""
        typical = rounded(self.noise.std, 3)
        return f"that holds whatever the rows are; where they lie densely a rank is off by about {typical} rows"


def _fits_rates(rates: RankRates) -> dict[str, bool]:
    return {"rate": rates.rate > 0, "levels": all(0 <= level <= 1 for level in rates.levels)}


records.CHECKS[RankRates] = _fits_rates
