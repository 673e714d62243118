"""Quantiles that were drawn by the exponential mechanism on ranks, and noisy counts around them for intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.number_format import rounded
from leastnoise._support.validation import Floats
from leastnoise.domain import Steps
from leastnoise.domain.around_values import edges_around
from leastnoise.domain.round_numbers import step_weights
from leastnoise.privacy.rank_noise import RankRates
from leastnoise.releases.facts import Facts
from leastnoise.releases.noise import Noise, read_noise, write_noise
from leastnoise.releases.provenance import Provenance, read_provenance, write_provenance
from leastnoise.releases.quantile_histogram import quantile_ends, read_steps
from leastnoise.releases.release import Release
from leastnoise.releases.sum_moments import moments


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

    @property
    def groups(self) -> int:
        """How many groups."""
        return len(self.drawn)

    @property
    def noise(self) -> Noise:
        """How far ranks are off, in rows, where rows lie densely."""
        return rank_noise(self.rates)

    @property
    def noise_added_to(self) -> str:
        """What is noisy."""
        return "a rank"

    @property
    def note(self) -> str:
        """Why this mechanism was chosen."""
        reason = self.provenance.reason
        return "" if reason is None else reason.in_words(self.noise.mechanism, self.noise.std)

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

    def to_facts(self) -> dict[str, Any]:
        """As JSON holds it."""
        counts = self.counts
        return {
            "provenance": write_provenance(self.provenance),
            "drawn": self.drawn.ravel().tolist(),
            "rate": float(self.rates.rate),
            "steps": [self.steps.low, self.steps.high, self.steps.bins],
            "counts": None if counts is None else counts.values.tolist(),
            "noise": None if counts is None else write_noise(counts.noise),
        }


def read_ranks(facts: Facts, levels: Sequence[float]) -> RankQuantiles:
    """What `to_facts` wrote."""
    steps, rate, drawn = read_steps(facts), facts.number("rate"), np.array(facts.numbers("drawn"))
    facts.check("rate", rate > 0)
    facts.check("drawn", drawn.dtype.kind == "i" and drawn.size % len(levels) == 0 < drawn.size)
    facts.check("drawn", drawn.min() >= 0 and drawn.max() < steps.bins)
    provenance = read_provenance(facts.facts("provenance"))
    noise, counts = facts.optional_facts("noise"), None
    if noise is not None:
        counts = Release(
            values=np.array(facts.numbers("counts")), noise=read_noise(noise), provenance=provenance, kind="quantile"
        )
    else:
        facts.check("counts", facts.take("counts") is None)
    rates = RankRates(tuple(Fraction(str(level)) for level in levels), Fraction(rate))
    found = RankQuantiles(drawn.reshape(-1, len(levels)), counts, rates, steps, provenance)
    facts.check("counts", counts is None or counts.bins == sum(len(edges) - 1 for edges in found.edges))
    facts.finish()
    return found
