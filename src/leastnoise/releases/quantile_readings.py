"""How quantiles are read: off a noisy histogram, monotone, with intervals from the noise of its cumulative sums; or as
they were drawn by the exponential mechanism on ranks, with intervals from noisy counts around them.

A release is read by the strategy that it was made with, whatever another version or another machine would find, so the
whole numbers of the strategy are in its file. What they protect is computed from them when they are read.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import zlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.text import rounded
from leastnoise._support.validation import Floats
from leastnoise.domain import Steps
from leastnoise.domain.around_values import edges_around
from leastnoise.domain.round_numbers import step_weights
from leastnoise.privacy.distributions import Distribution, Laplace, normal_reach
from leastnoise.privacy.guarantees import GaussianDP
from leastnoise.privacy.rank_noise import RankRates
from leastnoise.releases import records
from leastnoise.releases.block import ENOUGH_CONFIDENCE, Blocks, Interval, Reading, ReadingText, Words
from leastnoise.releases.noise import Noise
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles(Reading):
    """Quantiles of steps of a clip: a row for each group, and a column for each level.

    Where the 95% interval is the whole clip, nothing is known of a quantile. The rule reads the interval alone, which
    is made from what was published. column: whose quantiles they are; None: not known.
    """

    levels: tuple[float, ...]
    steps: Steps
    column: str | None = None

    kind = "quantile"
    has_intervals: ClassVar[bool] = True

    @abstractmethod
    def groups(self, blocks: Blocks) -> int:
        """How many groups."""

    def hides(self, blocks: Blocks, promise: object) -> bool:
        """Whether the noise that was added can keep what is promised."""
        return True

    @abstractmethod
    def found(self, blocks: Blocks) -> Floats:
        """Every quantile, whether or not it can be told."""

    @abstractmethod
    def ends(self, blocks: Blocks, confidence: float) -> tuple[Floats, Floats]:
        """Where each quantile of the (clipped) data lies with this confidence."""

    @abstractmethod
    def rank_errors(self, blocks: Blocks, confidence: float) -> Floats:
        """By how many rows each rank is off at most, beyond the rows of its own step."""

    @abstractmethod
    def method(self, noise: str) -> str:
        """How the quantiles were found, in words; `noise` is which there is."""

    @abstractmethod
    def spread_in_words(self, blocks: Blocks, digits: int) -> str:
        """How wide the noise is, to so many digits."""

    @abstractmethod
    def why_in_words(self, blocks: Blocks) -> str:
        """What makes ranks be off."""

    def values(self, blocks: Blocks) -> Floats:
        """Not a number where the rows are too few to tell."""
        return np.where(self.reliable(blocks), self.found(blocks), np.nan)

    def reliable(self, blocks: Blocks) -> NDArray[np.bool_]:
        """Whether a quantile can be told. Without intervals nobody knows, and all are taken for known."""
        low, high = self.interval(blocks, ENOUGH_CONFIDENCE)
        return np.asarray((low > self.steps.low) | (high < self.steps.high) | (not self.has_intervals))

    def interval(self, blocks: Blocks, confidence: float) -> Interval:
        """Lengthened up to a quantile that noise has outside: drawn by rank, or made to rise, it may be there."""
        (low, high), values = self.ends(blocks, confidence), self.found(blocks)
        return Interval(np.minimum(low, values), np.maximum(high, values))

    def columns(self, blocks: Blocks) -> dict[str, Any]:
        """`enough`."""
        return {"enough": self.reliable(blocks)}

    def text(self, words: Words, noise: str) -> ReadingText:
        """A quantile is where a noisy count crosses a level, or a draw among candidates."""
        method = self.method(noise)
        return ReadingText(
            noun=self.kind,
            label=self.column,
            first_sentence=f"{method}.",
            noisy_number=self.noisy_number,
            why_not_denoised=f"Quantiles are {method}: what is left of the noise is no sum of a truth and a draw, "
            "so no denoiser's law holds. They are not denoised; their intervals are right as they are.",
        )

    @property
    @abstractmethod
    def noisy_number(self) -> str:
        """What the noise was added to."""

    def fits(self, blocks: Blocks) -> bool:
        """Levels, and whole groups."""
        levels = bool(self.levels) and all(0 <= level <= 1 for level in self.levels)
        return levels and Reading.fits(self, blocks) and self.groups(blocks) >= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramQuantiles(Quantiles):
    """Off a noisy count of every step of the clip, group after group; or, of a strategy, off noisy sums of these from
    which cumulative sums are best known."""

    strategy: IntegerStrategy | None = None

    needs = ("counts",)

    def groups(self, blocks: Blocks) -> int:
        """A histogram each."""
        return blocks["counts"].numbers.size // self.steps.bins

    def hides(self, blocks: Blocks, promise: object) -> bool:
        """Whether the noise on sums can keep what is promised: one row moves them by a column at least."""
        if self.strategy is None:
            return True
        least = self.strategy.squared_sensitivity / blocks["counts"].value_noise.sigma ** 2
        return isinstance(promise, GaussianDP) and least <= promise.mu**2 * (1 + 1e-9)

    @property
    def moments(self) -> Moments:
        """Of the noise of cumulative sums."""
        return moments(self.steps.bins if self.strategy is None else self.strategy)

    @property
    def edges(self) -> Floats:
        """Where the steps begin, and where the last ends."""
        begins = [self.steps.key(place)[0] for place in range(self.steps.size)]
        return np.array([*begins, self.steps.high])

    def _counts(self, blocks: Blocks) -> Floats:
        noisy = blocks["counts"].values.astype(np.float64).reshape(-1, self.steps.bins)
        return noisy if self.strategy is None else self.strategy.estimate(noisy)

    def found(self, blocks: Blocks) -> Floats:
        """Where the nearest rising sums (least squares) reach each level of the total."""
        from scipy.optimize import isotonic_regression

        edges, slope = self.edges, np.arange(self.steps.bins + 1) * 1e-9
        found = []
        for counts in self._counts(blocks):
            rising = np.maximum(isotonic_regression(np.cumsum(counts)).x, 0.0)
            heights = np.concatenate([[0.0], rising]) + slope
            found.append(np.interp(np.array(self.levels) * heights[-1], heights, edges))
        return np.array(found)

    def ends(self, blocks: Blocks, confidence: float) -> tuple[Floats, Floats]:
        """By the noise of cumulative sums."""
        noise, known = blocks["counts"].value_noise.distribution, self.moments
        ends = [quantile_ends(counts, self.levels, noise, confidence, known) for counts in self._counts(blocks)]
        return self.edges[[first for first, _ in ends]], self.edges[[last for _, last in ends]]

    def rank_errors(self, blocks: Blocks, confidence: float) -> Floats:
        """Of each level by itself."""
        noise, known = blocks["counts"].value_noise.distribution, self.moments
        return np.array([rank_error(noise, known, level=q, confidence=confidence) for q in self.levels])

    def method(self, noise: str) -> str:
        """Which histogram."""
        kind = "cumulative histogram" if self.strategy else "histogram"
        return f"read off a noisy {kind} of {self.steps.bins:,} steps ({noise})"

    @property
    def noisy_number(self) -> str:
        """A count, or a sum of counts."""
        return "a step of the histogram" if self.strategy is None else "a sum of steps of the histogram"

    def spread_in_words(self, blocks: Blocks, digits: int) -> str:
        """Of a count; of a strategy the largest."""
        noise = blocks["counts"].value_noise
        if self.strategy is not None:
            most = noise.std * self.moments.largest
            return f"standard deviation {most:.{digits}g} at most in the rows up to any of {self.steps.bins:,} steps"
        return f"{noise.in_words(digits)} in each of {self.steps.bins:,} steps"

    def why_in_words(self, blocks: Blocks) -> str:
        """Noise adds up."""
        return noise_in_words(blocks["counts"].value_noise.distribution, self.moments)

    def fits(self, blocks: Blocks) -> bool:
        """A number for each step of each group; the strategy is of so many."""
        counts, strategy = blocks.get("counts"), self.strategy
        if counts is None or counts.noise is None or counts.numbers.size % self.steps.bins:
            return False
        return (strategy is None or strategy.keys == self.steps.bins) and Quantiles.fits(self, blocks)


def rank_noise(rates: RankRates) -> Noise:
    """How far ranks are off, in rows, where rows lie densely: as Laplace noise would make them, on no grid."""
    return Noise("exponential", rates.rank_std / math.sqrt(2))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankQuantiles(Quantiles):
    """The steps that were drawn by the exponential mechanism on ranks, one row a group and one column a level.

    around: whether noisy counts of the rows between public cuts around them, group after group, were paid for.
    """

    rates: RankRates
    around: bool

    noisy_number = "a rank"

    @property
    def needs(self) -> tuple[str, ...]:
        """What was drawn, and the counts."""
        return ("drawn", "around") if self.around else ("drawn",)

    @property
    def has_intervals(self) -> bool:  # type: ignore[override]
        """Only where counts around what was drawn were paid for."""
        return self.around

    def groups(self, blocks: Blocks) -> int:
        """A draw for each level of each."""
        return blocks["drawn"].numbers.size // len(self.levels)

    def value_noise(self, blocks: Blocks) -> Noise:
        """How far ranks are off, in rows, where rows lie densely."""
        return rank_noise(self.rates)

    def _drawn(self, blocks: Blocks) -> NDArray[np.int64]:
        return np.asarray(blocks["drawn"].numbers, dtype=np.int64).reshape(-1, len(self.levels))

    def found(self, blocks: Blocks) -> Floats:
        """What stands for the steps that were drawn: the roundest number in each, or its middle."""
        return step_weights(self.steps).values[self._drawn(blocks)]

    def _edges(self, blocks: Blocks) -> list[NDArray[np.int64]]:
        """The cuts of each group, in steps."""
        return [edges_around(steps, self.steps.bins) for steps in self._drawn(blocks)]

    def ends(self, blocks: Blocks, confidence: float) -> tuple[Floats, Floats]:
        """By the noisy counts around each quantile; the whole clip where none were paid for."""
        shape = self._drawn(blocks).shape
        low, high = np.full(shape, self.steps.low), np.full(shape, self.steps.high)
        if not self.around:
            return low, high
        begin, width, noise = 0, (self.steps.high - self.steps.low) / self.steps.bins, blocks["around"].value_noise
        for group, edges in enumerate(self._edges(blocks)):
            end = begin + len(edges) - 1
            counts = blocks["around"].values[begin:end].astype(np.float64)
            first, last = quantile_ends(counts, self.levels, noise.distribution, confidence, moments(len(counts)))
            # A value is placed by doubles, 2^-31 of a step off at most; intervals allow for it.
            low[group] = np.maximum(self.steps.low + width * (edges[first] - 2.0**-30), self.steps.low)
            high[group] = np.minimum(self.steps.low + width * (edges[last] + 2.0**-30), self.steps.high)
            begin = end
        return low, high

    def rank_errors(self, blocks: Blocks, confidence: float) -> Floats:
        """Of all levels of a group at once."""
        return np.array(self.rates.rank_errors(spread=step_weights(self.steps).total, confidence=confidence))

    def method(self, noise: str) -> str:
        """Which mechanism."""
        return f"drawn from {self.steps.bins:,} steps of the clip by the exponential mechanism on ranks"

    def spread_in_words(self, blocks: Blocks, digits: int) -> str:
        """How far ranks are off."""
        return f"standard deviation {rank_noise(self.rates).std:.{digits}g} rows in the rank, where rows lie densely"

    def why_in_words(self, blocks: Blocks) -> str:
        """It holds for every column."""
        typical = rounded(rank_noise(self.rates).std, 3)
        return f"that holds whatever the rows are; where they lie densely a rank is off by about {typical} rows"

    def fits(self, blocks: Blocks) -> bool:
        """Steps that there are, and counts between all cuts."""
        drawn, counts = blocks.get("drawn"), blocks.get("around")
        if drawn is None or drawn.noise is not None or not drawn.numbers.size or drawn.numbers.dtype != np.int64:
            return False
        whole = drawn.numbers.size % len(self.levels) == 0 and self.levels == tuple(map(float, self.rates.levels))
        inside = whole and drawn.numbers.min() >= 0 and bool(drawn.numbers.max() < self.steps.bins)
        if not inside or (counts is not None) != self.around:
            return False
        cells = sum(len(edges) - 1 for edges in self._edges(blocks))
        return Quantiles.fits(self, blocks) and (counts is None or counts.numbers.size == cells)


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


def _fits_rates(rates: RankRates) -> dict[str, bool]:
    return {"rate": rates.rate > 0, "levels": all(0 <= level <= 1 for level in rates.levels)}


records.CHECKS |= {Steps: _fits_steps, RankRates: _fits_rates}
