"""The noise's distribution: the probability of a cell, of a tail, and how far a published number may be off.

Two distributions, each continuous (grid = 0) or on a grid of step g, as it is really drawn:

    Gaussian on a grid   k = round(sigma Z / g),   P(k) = Phi((k+1/2) g/sigma) - Phi((k-1/2) g/sigma)
    Laplace on a grid    P(k) proportional to exp(-|k| g/scale), the two-sided geometric distribution

Intervals must use the distribution on the grid: at sigma = g = 1 the interval +-1.96 covers 86.6 %, not 95 %.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from leastnoise import errors
from leastnoise._support.rounding import next_up
from leastnoise._support.validation import Floats
from leastnoise.privacy.calibration import proof

LARGEST_SCALE = 1e306  # of noise that we draw or wrap: its quantiles are doubles, too


class Distribution(ABC):
    """The noise on one number, continuous or on a grid."""

    __slots__ = ()
    grid: float

    @property
    @abstractmethod
    def width(self) -> float:
        """sigma, or Laplace's b: of the noise without its grid."""

    @property
    @abstractmethod
    def std(self) -> float:
        """The standard deviation of what is drawn."""

    @abstractmethod
    def cell(self, k: int) -> float:
        """P(noise = k grid)."""

    @abstractmethod
    def tail(self, error: float) -> float:
        """P(|noise| >= error)."""

    @abstractmethod
    def at_or_above(self, k: Floats | NDArray[np.int64]) -> Floats:
        """P(noise >= k grid), on a grid."""

    @abstractmethod
    def within(self, error: float, bins: int = 1) -> proof.RealBall:
        """P(all `bins` draws lie within +-error) as a ball at the precision in force."""

    @abstractmethod
    def farthest(self, chance: float) -> float:
        """How far the noise without its grid is off but for this chance."""

    @abstractmethod
    def _reach(self, confidence: float, bins: int) -> float:
        """Nearly the half-width without the grid."""

    @abstractmethod
    def _log_above(self, k: Floats) -> Floats:
        """log P(noise >= k), and between the steps of the grid what continues it."""

    def half_width(self, confidence: float, bins: int = 1) -> float:
        """The least h with P(all `bins` draws lie within +-h) >= confidence, rounded up."""
        return _least(self, self._reach(confidence, bins), confidence, bins)

    def truth_given_shown(self, values: Floats, at_least: float, chance: float) -> Floats:
        """For noisy values that show because they reached `at_least`: the truth c, 0 or more, at which a value as large
        as this one, *given that it shows*, has this chance. It grows with the chance.

        P(Y >= y | Y >= T) grows with c, because the noise is log-concave: bisection. (Of Laplace noise it is q^(y - T)
        for every c below T: a value says nothing about such a c.)
        """
        low, high = np.zeros(values.shape), values + 1.2 * self.farthest(1e-300) + 1
        for _ in range(100):
            c = (low + high) / 2
            small = self._log_above(values - c) - self._log_above(at_least - c) < math.log(chance)
            low, high = np.where(small, c, low), np.where(small, high, c)
        return (low + high) / 2

    def sum_half_width(self, count: int, confidence: float) -> float:
        """An h with P(|sum of `count` draws| <= h) >= confidence."""
        from leastnoise.privacy.noise_sums import sum_half_width

        return sum_half_width(self, count, confidence)

    def pair_half_width(self, ratio: float, confidence: float) -> float:
        """Nearly the h with P(|X + ratio Y| <= h) = confidence for two draws; never less."""
        return float(self.pair_half_widths([ratio], [ratio], confidence)[0]) if ratio else self.half_width(confidence)

    def pair_half_widths(self, low: ArrayLike, high: ArrayLike, confidence: float) -> Floats:
        """The same for each pair of ends: an h that holds for every ratio between them."""
        from leastnoise.privacy.noise_sums import RatioNoise

        return RatioNoise(self, ((1.0, self),)).pair_half_widths(low, high, confidence)


@dataclass(frozen=True, slots=True)
class Gaussian(Distribution):
    """Gaussian noise of standard deviation `sigma`, rounded to multiples of `grid` when grid > 0.

    >>> Gaussian(sigma=1, grid=1).half_width(0.95)
    2.0
    >>> round(Gaussian(sigma=1).half_width(0.95), 3)
    1.96
    """

    sigma: float
    grid: float = 0.0

    @property
    def width(self) -> float:
        """sigma."""
        return self.sigma

    @property
    def std(self) -> float:
        """The standard deviation of what is drawn: rounding to a grid adds g^2/12, nearly exactly.

        The variance of round(sigma Z) in grid units is sum (2k-1) P(|K| >= k); the correction to
        s^2 + 1/12 is of order exp(-2 pi^2 s^2), below an ulp for s >= 2.
        """
        if not self.grid:
            return self.sigma
        s = self.sigma / self.grid
        if s >= 2:
            return self.grid * math.sqrt(s * s + 1 / 12)
        terms = ((2 * k - 1) * math.erfc((k - 0.5) / s / math.sqrt(2)) for k in range(1, 200))
        return self.grid * math.sqrt(math.fsum(terms))

    def cell(self, k: int) -> float:
        """P(noise = k grid); through balls, because neighbouring tails are nearly equal."""
        if not self.grid:
            return 0.0
        with proof.precision(192):
            s = arb(self.sigma) / arb(self.grid)
            low, high = (abs(k) - arb(1) / 2) / s, (abs(k) + arb(1) / 2) / s
            return float(proof.upper_tail(low) - proof.upper_tail(high))

    def tail(self, error: float) -> float:
        """P(|noise| >= error)."""
        if error <= 0:
            return 1.0
        if self.grid:
            error = (_grid_index(error, self.grid) - 0.5) * self.grid
        return math.erfc(error / self.sigma / math.sqrt(2))

    def farthest(self, chance: float) -> float:
        """sigma z."""
        return -NormalDist().inv_cdf(chance / 2) * self.sigma

    def _reach(self, confidence: float, bins: int) -> float:
        return normal_reach(confidence, bins) * self.sigma

    def _log_above(self, k: Floats) -> Floats:
        """log Phi(-(k - g/2)/sigma), for any k."""
        from scipy.special import log_ndtr

        return np.asarray(log_ndtr(-(k - self.grid / 2) / self.sigma))

    def at_or_above(self, k: Floats | NDArray[np.int64]) -> Floats:
        """P(noise >= k grid), on a grid."""
        from scipy.special import ndtr

        return np.asarray(ndtr((0.5 - k) * (self.grid / self.sigma)))

    def within(self, error: float, bins: int = 1) -> proof.RealBall:
        """P(all `bins` draws lie within +-error) as a ball at the precision in force."""
        edge = (steps_within(error, self.grid) + arb(1) / 2) * arb(self.grid) if self.grid else arb(error)
        return (edge / arb(self.sigma) / arb(2).sqrt()).erf() ** bins


@dataclass(frozen=True, slots=True)
class Laplace(Distribution):
    """Laplace noise of scale b (standard deviation sqrt(2) b), or its two-sided geometric distribution on a grid.

    >>> round(Laplace(scale=1).half_width(0.95), 3)
    2.996
    >>> Laplace(scale=1, grid=1).half_width(0.95)
    3.0
    """

    scale: float
    grid: float = 0.0

    @property
    def width(self) -> float:
        """b."""
        return self.scale

    @property
    def std(self) -> float:
        """sqrt(2) b; on a grid g sqrt(2 q)/(1 - q) with q = exp(-g/b), that is g/(sqrt 2 sinh(g/(2 b)))."""
        if not self.grid:
            return math.sqrt(2) * self.scale
        half = self.grid / (2 * self.scale)
        return self.grid / math.sqrt(2) / math.sinh(half) if half < 700 else 0.0

    def cell(self, k: int) -> float:
        """P(noise = k grid) = tanh(g/(2b)) exp(-|k| g/b)."""
        if not self.grid:
            return 0.0
        step = self.grid / self.scale
        return math.tanh(step / 2) * math.exp(-abs(k) * step)

    def tail(self, error: float) -> float:
        """P(|noise| >= error): exp(-error/b), and on a grid 2 exp(-k g/b)/(1 + exp(-g/b)) from k >= 1."""
        if error <= 0:
            return 1.0
        if not self.grid:
            return math.exp(-error / self.scale)
        step = self.grid / self.scale
        return 2 * math.exp(-_grid_index(error, self.grid) * step) / (1 + math.exp(-step))

    def farthest(self, chance: float) -> float:
        """-b log(chance)."""
        return -math.log(chance) * self.scale

    def _reach(self, confidence: float, bins: int) -> float:
        return laplace_reach(confidence, bins) * self.scale

    def _log_above(self, k: Floats) -> Floats:
        """log P(noise >= k) on the grid 1, and between whole numbers what continues it."""
        step = 1 / self.scale
        ahead = -np.maximum(k, 1.0) * step - math.log1p(math.exp(-step))
        with np.errstate(divide="ignore"):  # log 0, where noise is far finer than its grid
            behind = np.log1p(-np.exp(-(1 - np.minimum(k, 1.0)) * step) / (1 + math.exp(-step)))
        return np.where(k > 1, ahead, behind)

    def at_or_above(self, k: Floats | NDArray[np.int64]) -> Floats:
        """P(noise >= k grid), on a grid: q^k/(1 + q) from k = 1 on, q = exp(-g/b)."""
        step = self.grid / self.scale
        tail = np.exp(-np.where(k > 0, k, 1 - k) * step) / (1 + math.exp(-step))
        return np.where(k > 0, tail, 1 - tail)

    def within(self, error: float, bins: int = 1) -> proof.RealBall:
        """P(all `bins` draws lie within +-error) as a ball at the precision in force."""
        if not self.grid:
            return (1 - (-arb(error) / arb(self.scale)).exp()) ** bins
        step = arb(self.grid) / arb(self.scale)
        k = steps_within(error, self.grid) + 1
        return (1 - 2 * (-k * step).exp() / (1 + (-step).exp())) ** bins


def normal_reach(confidence: float, bins: int) -> float:
    """Nearly the t with P(|Z_1|, ..., |Z_bins| <= t) = confidence, for standard normal Z."""
    if bins == 1 and confidence <= 1e-5:  # 1 - confidence would round; the density is flat there
        return confidence * math.sqrt(math.pi / 2)
    return -NormalDist().inv_cdf(_miss(confidence, bins) / 2)


def laplace_reach(confidence: float, bins: int) -> float:
    """The same for Laplace noise of scale 1."""
    return -math.log1p(-confidence) if bins == 1 else -math.log(_miss(confidence, bins))


def _miss(confidence: float, bins: int) -> float:
    """The chance each bin may miss so that all hold together: 1 - confidence^(1/bins)."""
    return -math.expm1(math.log(confidence) / bins)


def _grid_index(error: float, grid: float) -> int:
    """The least k with k grid >= error."""
    return math.ceil(Fraction(error) / Fraction(grid))


def steps_within(error: float, grid: float) -> int:
    """The largest k with k grid <= error."""
    return math.floor(Fraction(error) / Fraction(grid))


def _least(distribution: Distribution, guess: float, confidence: float, bins: int) -> float:
    """The least half-width that is proved to hold, at or just above the guess (a multiple of the grid)."""
    if not distribution.grid:
        step = 2e-16
        while not holds(distribution, guess, confidence, bins):
            guess, step = next_up(guess * (1 + step)), 2 * step
        return guess
    k = max(0, math.floor(guess / distribution.grid) - 2)
    while not holds(distribution, k * distribution.grid, confidence, bins):
        k += 1
    return float(k * distribution.grid)


def holds(distribution: Distribution, error: float, confidence: float, bins: int = 1) -> bool:
    """Whether all `bins` draws lie within +-error with at least this confidence, proved."""
    for bits in (128, 512, 2048):
        with proof.precision(bits):
            chance = distribution.within(error, bins)
            if chance >= confidence:
                return True
            if chance < confidence:
                return False
    raise errors.NotProved("2048 bits of rigorous arithmetic could not decide this confidence. Change its last digit.")
