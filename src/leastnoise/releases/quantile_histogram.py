"""Quantiles read off a noisy histogram: monotone, with intervals from the noise of its cumulative sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.number_format import rounded
from leastnoise._support.validation import Floats
from leastnoise.domain import Steps
from leastnoise.privacy.distributions import Distribution, Laplace, normal_reach
from leastnoise.releases.facts import Facts
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.release import Release, read_release, write_release
from leastnoise.workload.ordered import prefix_strategy
from leastnoise.workload.ordered.integer_strategy import MAX_KEYS


class Moments(NamedTuple):
    """Of the noise of the sum of the first 0, 1, ... n counts, in variances of one draw: its variance, and its
    covariance with the sum of all."""

    variance: Floats
    with_total: Floats

    def of_gap(self, level: float) -> Floats:
        """The variance of C_j - q T at every edge j: what decides on which side of it the quantile lies."""
        return np.asarray(np.maximum(self.variance - 2 * level * self.with_total + level**2 * self.variance[-1], 0.0))


@lru_cache(maxsize=16)
def moments(steps: int, cumulative: bool) -> Moments:
    """Of noise on every count; or on the sums of the strategy that is best for cumulative sums."""
    if not cumulative:
        return Moments(np.arange(steps + 1.0), np.arange(steps + 1.0))
    weights = prefix_strategy(steps).dual(np.tril(np.ones((steps, steps))))
    return Moments(np.concatenate([[0.0], (weights**2).sum(axis=1)]), np.concatenate([[0.0], weights @ weights[-1]]))


def rank_error(
    distribution: Distribution, *, steps: int, level: float, cumulative: bool = False, confidence: float = 0.95
) -> float:
    """By how many rows the rank of a quantile may be off, beyond the rows of its own step, wherever it lies.

    Let M be the largest |sum of the first noises|. Made monotone, the cumulative sum is within M of the true one at
    every edge and so is its total, so where it reaches q of its total the true one is within M + q M of q of its own.
    By Levy's inequality P[M > h] <= 2 P[|sum of all n| > h] for independent noises; for others every edge counts.
    """
    if cumulative:
        most = float(np.sqrt(moments(steps, True).variance.max()))
        return (1 + level) * normal_reach(confidence, steps) * distribution.std * most
    return (1 + level) * _reach(distribution, (1 + confidence) / 2) * distribution.std * float(np.sqrt(steps))


def rank_stds(
    distribution: Distribution, *, steps: int, levels: Sequence[float], cumulative: bool = False
) -> tuple[float, ...]:
    """How far off the rank of each level is, in rows: the root mean square over where in the clip it lies."""
    squares = [moments(steps, cumulative).of_gap(q).mean() for q in levels]
    return tuple(distribution.std * math.sqrt(square) for square in squares)


def quantile_ends(
    counts: Floats, levels: Sequence[float], distribution: Distribution, confidence: float, *, cumulative: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Between which edges of noisy counts each quantile lies with this confidence, by inverting a test at every edge.

    C_j - q T at the edge j has the variance of `Moments.of_gap`: with noise on every count, ((1-q)^2 j + q^2 (n-j))
    std^2. The quantile cannot lie where that is clearly on the wrong side; each side may fail with half of 1 -
    confidence.
    """
    reach, n = _reach(distribution, confidence) * distribution.std, len(counts)
    below, known = np.concatenate([[0.0], np.cumsum(counts)]), moments(n, cumulative)
    ends = np.empty((2, len(levels)), dtype=np.int64)
    for place, q in enumerate(levels):
        gap = below - q * below[-1]
        slack = reach * np.sqrt(known.of_gap(q))
        possible_low, possible_high = np.flatnonzero(gap + slack >= 0), np.flatnonzero(gap - slack <= 0)
        first = int(possible_low[0]) if possible_low.size else n
        last = int(possible_high[-1]) if possible_high.size else 0
        ends[:, place] = max(0, first - 1), min(n, last + 1)
    return ends[0], ends[1]


def _reach(distribution: Distribution, confidence: float) -> float:
    """In standard deviations; a sum of Laplace noises has lighter tails than one of them."""
    reach = normal_reach(confidence, 1)
    return max(reach, Laplace(1 / np.sqrt(2)).half_width(confidence)) if isinstance(distribution, Laplace) else reach


@dataclass(frozen=True, slots=True, eq=False)
class HistogramQuantiles:
    """A noisy count of every step of the clip, group after group; or, where `cumulative`, noisy sums of these from
    which cumulative sums are best known."""

    components: Release
    steps: Steps
    groups: int = 1
    cumulative: bool = False

    @property
    def noise(self) -> Noise:
        """The noise of each step of the histogram."""
        return self.components.noise

    @property
    def provenance(self) -> Provenance:
        """That of the histogram."""
        return self.components.provenance

    @property
    def noise_added_to(self) -> str:
        """What the noise was added to."""
        return "a sum of steps of the histogram" if self.cumulative else "a step of the histogram"

    @property
    def note(self) -> str:
        """Why this noise was chosen."""
        return self.components.note

    @property
    def edges(self) -> Floats:
        """Where the steps begin, and where the last ends."""
        begins = [self.steps.key(place)[0] for place in range(self.steps.size)]
        return np.array([*begins, self.steps.high])

    @property
    def _counts(self) -> Floats:
        noisy = self.components.values.astype(np.float64).reshape(self.groups, self.steps.bins)
        return prefix_strategy(self.steps.bins).estimate(noisy) if self.cumulative else noisy

    def values(self, levels: Sequence[float]) -> Floats:
        """Where the nearest rising sums (least squares) reach each level of the total: a row a group."""
        from scipy.optimize import isotonic_regression

        edges, slope = self.edges, np.arange(self.steps.bins + 1) * 1e-9
        found = []
        for counts in self._counts:
            rising = np.maximum(isotonic_regression(np.cumsum(counts)).x, 0.0)
            heights = np.concatenate([[0.0], rising]) + slope
            found.append(np.interp(np.array(levels) * heights[-1], heights, edges))
        return np.array(found)

    def interval(self, levels: Sequence[float], confidence: float) -> tuple[Floats, Floats]:
        """Where each quantile of the (clipped) data lies with this confidence."""
        noise, cumulative = self.noise.distribution, self.cumulative
        ends = [quantile_ends(counts, levels, noise, confidence, cumulative=cumulative) for counts in self._counts]
        return self.edges[[first for first, _ in ends]], self.edges[[last for _, last in ends]]

    def rank_errors(self, levels: Sequence[float], confidence: float) -> Floats:
        """By how many rows each rank is off at most, beyond the rows of its own step."""
        known = {"steps": self.steps.bins, "cumulative": self.cumulative, "confidence": confidence}
        return np.array([rank_error(self.noise.distribution, level=q, **known) for q in levels])  # type: ignore[arg-type]

    def method_in_words(self) -> str:
        """How the quantiles were found."""
        noise, kind = self.noise.mechanism.capitalize(), "cumulative histogram" if self.cumulative else "histogram"
        return f"read off a noisy {kind} of {self.steps.bins:,} steps ({noise} noise)"

    def spread_in_words(self, digits: int) -> str:
        """How wide the noise is, to so many digits."""
        if self.cumulative:
            most = self.noise.std * float(np.sqrt(moments(self.steps.bins, True).variance.max()))
            return f"standard deviation {most:.{digits}g} at most in the rows up to any of {self.steps.bins:,} steps"
        return f"{self.components.spread_in_words(digits)} in each of {self.steps.bins:,} steps"

    def why_in_words(self) -> str:
        """What makes ranks be off."""
        return noise_in_words(self.noise.distribution, self.steps.bins, self.cumulative)

    def to_facts(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "components": {**write_release(self.components), "domain": None},  # its bins are the steps
            "counts": self.components.values.tolist(),
            "steps": [self.steps.low, self.steps.high, self.steps.bins],
            "groups": self.groups,
            "cumulative": self.cumulative,
        }


def noise_in_words(distribution: Distribution, steps: int, cumulative: bool) -> str:
    """What makes ranks be off."""
    if cumulative:
        most = distribution.std * float(np.sqrt(moments(steps, True).variance.max()))
        return f"the rows up to any of the {steps:,} steps have noise of standard deviation {rounded(most)} at most"
    return (
        f"noise of standard deviation {rounded(distribution.std)} was added to each of the histogram's {steps:,} "
        "steps, and it adds up"
    )


def read_histogram(facts: Facts) -> HistogramQuantiles:
    """What `to_facts` wrote."""
    counts, groups = np.array(facts.numbers("counts")), facts.integer("groups")
    cumulative = facts.flag("cumulative")
    components, steps = read_release(counts, None, facts.facts("components")), read_steps(facts)
    facts.check("cumulative", not cumulative or 2 <= steps.bins <= MAX_KEYS)
    found = HistogramQuantiles(components, steps, groups, cumulative)
    facts.check("counts", groups >= 1 and counts.size == groups * found.steps.bins)
    facts.finish()
    return found


def read_steps(facts: Facts) -> Steps:
    """Two ends and a number of steps."""
    ends = facts.numbers("steps")
    facts.check("steps", len(ends) == 3 and ends[0] < ends[1] and ends[2] == int(ends[2]) and 1 <= ends[2] <= 2**20)
    return Steps(low=float(ends[0]), high=float(ends[1]), bins=int(ends[2]))


def read_edges(facts: Facts) -> HistogramQuantiles:
    """A histogram as files before groups held it: its counts, and the edges of its steps."""
    values, edges = np.array(facts.numbers("values")), np.array(facts.numbers("edges"), dtype=np.float64)
    facts.check("edges", edges.size == values.size + 1 > 1 and bool((np.diff(edges) > 0).all()))
    steps = Steps(low=float(edges[0]), high=float(edges[-1]), bins=int(values.size))
    return HistogramQuantiles(read_release(values, None, facts.facts("components")), steps)
