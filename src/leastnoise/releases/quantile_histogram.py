"""Quantiles read off a noisy histogram: monotone, with intervals from the noise of its cumulative sums.

A release is read by the strategy that it was made with, whatever another version or another machine would find, so the
whole numbers of the strategy are in its file. What they protect is computed from them when they are read.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.text import rounded
from leastnoise._support.validation import Floats
from leastnoise.domain import Steps
from leastnoise.privacy.distributions import Distribution, Laplace, normal_reach
from leastnoise.privacy.guarantees import GaussianDP
from leastnoise.releases import records
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.release import Release
from leastnoise.workload.optimal_weights import OrderedQuestions
from leastnoise.workload.ordered import BITS, MAX_KEYS, IntegerStrategy, OrderedColumn


class Moments(NamedTuple):
    """Of the noise of the sum of the first 0, 1, ... n counts, in variances of one draw: its variance, and its
    covariance with the sum of all. `independent`: the noises of the counts are."""

    variance: Floats
    with_total: Floats
    independent: bool

    def of_gap(self, level: float) -> Floats:
        """The variance of C_j - q T at every edge j: what decides on which side of it the quantile lies."""
        return np.asarray(np.maximum(self.variance - 2 * level * self.with_total + level**2 * self.variance[-1], 0.0))

    @property
    def largest(self) -> float:
        """The largest standard deviation of a cumulative sum."""
        return float(np.sqrt(self.variance.max()))


@lru_cache(maxsize=16)
def moments(strategy: IntegerStrategy | int) -> Moments:
    """Of noise on so many counts; or on the sums of a strategy."""
    if isinstance(strategy, int):
        return Moments(np.arange(strategy + 1.0), np.arange(strategy + 1.0), True)
    weights = strategy.dual(np.tril(np.ones((strategy.keys, strategy.keys))))
    variance, with_total = (weights**2).sum(axis=1), weights @ weights[-1]
    return Moments(np.concatenate([[0.0], variance]), np.concatenate([[0.0], with_total]), False)


def strategy_to_text(strategy: IntegerStrategy) -> str:
    """How many keys it has, and the numbers on and below the diagonal, row by row, as differences of 32 bits,
    compressed."""
    numbers = strategy.matrix[np.tril_indices(strategy.keys)]
    packed = zlib.compress(np.diff(numbers, prepend=0).astype("<i4").tobytes())
    return f"{strategy.keys}:{base64.b64encode(packed).decode()}"


def strategy_from_text(text: str) -> IntegerStrategy:
    """What `strategy_to_text` wrote of a strategy for cumulative sums; ValueError for all else."""
    size, _, packed = text.partition(":")
    keys = int(size) if re.fullmatch("[0-9]{1,5}", size) else 0
    if not 2 <= keys <= MAX_KEYS:
        raise ValueError("a strategy of no size")
    try:
        stream = zlib.decompressobj()
        found = stream.decompress(base64.b64decode(packed, validate=True), 2 * keys * (keys + 1) + 1)
    except (binascii.Error, zlib.error):
        raise ValueError("no strategy") from None
    if len(found) != 2 * keys * (keys + 1):
        raise ValueError("a strategy of another size")
    matrix = np.zeros((keys, keys))
    matrix[np.tril_indices(keys)] = np.cumsum(np.frombuffer(found, dtype="<i4"), dtype=np.int64)
    if matrix.min() < 0 or matrix.max() > 2 ** (BITS + 8) or matrix.diagonal().min() <= 0:
        raise ValueError("a strategy with numbers that none has")
    return IntegerStrategy(OrderedColumn(OrderedQuestions("prefix", keys), matrix, BITS))


records.TEXTS[IntegerStrategy] = records.Codec(strategy_to_text, strategy_from_text)


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

    levels: ClassVar[None] = None  # any level can be read off
    has_intervals: ClassVar[bool] = True

    def _fits(self) -> dict[str, bool]:
        return {
            "components": self.groups >= 1 and self.components.bins == self.groups * self.steps.bins,
            "strategy": self.strategy is None or self._hides(self.strategy),
        }

    def _hides(self, strategy: IntegerStrategy) -> bool:
        """Whether the noise can keep what is promised: one row moves the sums by a column at least."""
        promise, least = self.components.guarantee, strategy.squared_sensitivity / self.noise.sigma**2
        enough = isinstance(promise, GaussianDP) and least <= promise.mu**2 * (1 + 1e-9)
        return enough and strategy.keys == self.steps.bins

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


def _fits_steps(steps: Steps) -> dict[str, bool]:
    return {"low": steps.low < steps.high, "bins": 1 <= steps.bins <= 2**20}


records.CHECKS[Steps] = _fits_steps
