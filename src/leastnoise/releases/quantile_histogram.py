"""Quantiles read off a noisy histogram: monotone, with intervals from the noise of its cumulative sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.number_format import rounded
from leastnoise._support.validation import Floats
from leastnoise.domain import Steps
from leastnoise.privacy.distributions import Distribution, Laplace, normal_reach
from leastnoise.privacy.guarantee import GaussianDP
from leastnoise.releases.facts import Facts
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.release import Release, read_release, write_release
from leastnoise.releases.sum_moments import Moments, moments, strategy_from_text, strategy_to_text
from leastnoise.workload.ordered.integer_strategy import MAX_KEYS, IntegerStrategy


def rank_error(distribution: Distribution, known: Moments, *, level: float, confidence: float = 0.95) -> float:
    """By how many rows the rank of a quantile may be off, beyond the rows of its own step, wherever it lies.

    Let M be the largest |noise of a cumulative sum|. Made monotone by least squares, which moves no two vectors further
    apart in their largest entry, the cumulative sum is within M of the true one at every edge and so is its total, so
    where it reaches q of its total the true one is within M + q M of q of its own. By Levy's inequality P[M > h] <=
    2 P[|sum of all n| > h] for independent noises; for others every edge counts.
    """
    if known.independent:
        return (1 + level) * _reach(distribution, (1 + confidence) / 2) * distribution.std * known.largest
    return (1 + level) * normal_reach(confidence, len(known.variance) - 1) * distribution.std * known.largest


def rank_stds(distribution: Distribution, known: Moments, levels: Sequence[float]) -> tuple[float, ...]:
    """How far off the rank of each level is, in rows: the root mean square over where in the clip it lies."""
    return tuple(distribution.std * math.sqrt(known.of_gap(q).mean()) for q in levels)


def quantile_ends(
    counts: Floats, levels: Sequence[float], distribution: Distribution, confidence: float, known: Moments
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Between which edges of noisy counts each quantile lies with this confidence, by inverting a test at every edge.

    C_j - q T at the edge j has the variance of `Moments.of_gap`: with noise on every count, ((1-q)^2 j + q^2 (n-j))
    std^2. The quantile cannot lie where that is clearly on the wrong side; each side may fail with half of 1 -
    confidence.
    """
    reach, n = _reach(distribution, confidence) * distribution.std, len(counts)
    below = np.concatenate([[0.0], np.cumsum(counts)])
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
    """A noisy count of every step of the clip, group after group; or, of a strategy, noisy sums of these from which
    cumulative sums are best known."""

    components: Release
    steps: Steps
    groups: int = 1
    strategy: IntegerStrategy | None = None

    @property
    def moments(self) -> Moments:
        """Of the noise of cumulative sums."""
        return moments(self.steps.bins if self.strategy is None else self.strategy)

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
        return "a step of the histogram" if self.strategy is None else "a sum of steps of the histogram"

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
        return noisy if self.strategy is None else self.strategy.estimate(noisy)

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
        noise, known = self.noise.distribution, self.moments
        ends = [quantile_ends(counts, levels, noise, confidence, known) for counts in self._counts]
        return self.edges[[first for first, _ in ends]], self.edges[[last for _, last in ends]]

    def rank_errors(self, levels: Sequence[float], confidence: float) -> Floats:
        """By how many rows each rank is off at most, beyond the rows of its own step."""
        noise, known = self.noise.distribution, self.moments
        return np.array([rank_error(noise, known, level=q, confidence=confidence) for q in levels])

    def method_in_words(self) -> str:
        """How the quantiles were found."""
        noise, kind = self.noise.mechanism.capitalize(), "cumulative histogram" if self.strategy else "histogram"
        return f"read off a noisy {kind} of {self.steps.bins:,} steps ({noise} noise)"

    def spread_in_words(self, digits: int) -> str:
        """How wide the noise is, to so many digits."""
        if self.strategy is not None:
            most = self.noise.std * self.moments.largest
            return f"standard deviation {most:.{digits}g} at most in the rows up to any of {self.steps.bins:,} steps"
        return f"{self.components.spread_in_words(digits)} in each of {self.steps.bins:,} steps"

    def why_in_words(self) -> str:
        """What makes ranks be off."""
        return noise_in_words(self.noise.distribution, self.moments)

    def to_facts(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "components": {**write_release(self.components), "domain": None},  # its bins are the steps
            "counts": self.components.values.tolist(),
            "steps": [self.steps.low, self.steps.high, self.steps.bins],
            "groups": self.groups,
            "strategy": None if self.strategy is None else strategy_to_text(self.strategy),
        }


def noise_in_words(distribution: Distribution, known: Moments) -> str:
    """What makes ranks be off."""
    steps = len(known.variance) - 1
    if not known.independent:
        most = rounded(distribution.std * known.largest)
        return f"the rows up to any of the {steps:,} steps have noise of standard deviation {most} at most"
    return (
        f"noise of standard deviation {rounded(distribution.std)} was added to each of the histogram's {steps:,} "
        "steps, and it adds up"
    )


def read_histogram(facts: Facts) -> HistogramQuantiles:
    """What `to_facts` wrote."""
    counts, groups = np.array(facts.numbers("counts")), facts.integer("groups")
    components, steps = read_release(counts, None, facts.facts("components")), read_steps(facts)
    found = HistogramQuantiles(components, steps, groups, _read_strategy(facts, steps.bins))
    facts.check("counts", groups >= 1 and counts.size == groups * found.steps.bins)
    if found.strategy is not None:  # one row moves the sums by a column at least, and the noise must hide that
        promise, least = components.guarantee, found.strategy.squared_sensitivity / components.noise.sigma**2
        facts.check("strategy", isinstance(promise, GaussianDP) and least <= promise.mu**2 * (1 + 1e-9))
    facts.finish()
    return found


def _read_strategy(facts: Facts, steps: int) -> IntegerStrategy | None:
    text = facts.optional_text("strategy")
    if text is None:
        return None
    facts.check("strategy", 2 <= steps <= MAX_KEYS)
    try:
        return strategy_from_text(text, steps)
    except ValueError:
        facts.check("strategy", False)
        raise


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
