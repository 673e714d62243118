"""The pairs of distributions that dominate each kind of release, as the distribution of their privacy loss.

(P, Q) dominates a mechanism M if H_alpha(M(D), M(D')) <= H_alpha(P, Q) for all neighbours D, D' and every alpha >= 0,
H_alpha(P, Q) = sup P(S) - alpha Q(S) being delta at epsilon = log alpha. Where (P_i, Q_i) dominates the i-th release
whatever was seen before it, the product pair dominates all of them together, although what is asked may depend on the
past (Zhu, Dong and Wang 2022, Theorem 10). The pairs themselves, their number among them, are fixed beforehand.

Most pairs look the same in both directions (a unit more, a unit less). Two do not, and since the neighbours are the
same in all releases, each direction is composed by itself and the worse one is taken at the end.

A `DiscreteLoss` has its losses at equally spaced numbers and is held exactly. A `Density` is known by its survival
functions P[L > t] and Q[L > t], which the discretisation asks in balls.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np
from flint import arb

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.calibration.proof import RealBall, ball

Direction = Literal["remove", "add"]
FloatGrid = tuple[Floats, Floats]  # losses in rising order, and the logarithms of their chances: floats, for the search


class LossPair(ABC):
    """What the accountant knows of a kind of release, in one direction; `symmetric`: it is the same in both."""

    __slots__ = ()
    symmetric: ClassVar[bool] = True

    @property
    def spacing(self) -> Fraction | None:
        """The distance of losses that must stay nodes of a grid, where there are such."""
        return None

    def oriented(self, direction: Direction) -> Self:
        """The pair in this direction."""
        return self

    @abstractmethod
    def float_grid(self) -> FloatGrid:
        """Losses and the logarithms of their chances, nearly."""


@dataclass(frozen=True, slots=True)
class DiscreteLoss(LossPair):
    """Losses first, first + step, ...: `chances` gives their P-masses as balls, and `infinite` is P[L = inf]."""

    first: Fraction
    step: Fraction
    chances: Callable[[], list[RealBall]]
    infinite: Fraction = Fraction(0)

    @property
    def spacing(self) -> Fraction:
        return self.step

    def float_grid(self) -> FloatGrid:
        with proof.precision(64):
            chances: Floats = np.array([float(chance) for chance in self.chances()], dtype=np.float64)
        losses: Floats = float(self.first) + float(self.step) * np.arange(len(chances), dtype=np.float64)
        kept = chances > 0
        return losses[kept], np.log(chances[kept])


def randomised_response(epsilon: Fraction, delta: Fraction = Fraction(0)) -> DiscreteLoss:
    """(epsilon, delta)-DP at its worst: with chance delta everything shows, else a bit that is true with chance
    e^epsilon/(1 + e^epsilon) (Kairouz, Oh and Viswanath 2015). Losses -epsilon and epsilon; 0 alone at epsilon 0."""
    if not epsilon:
        return DiscreteLoss(epsilon, Fraction(1), lambda: [1 - ball(delta)], delta)

    def chances() -> list[RealBall]:
        kept, decay = 1 - ball(delta), (-ball(epsilon)).exp()  # which no epsilon overflows
        return [kept * decay / (1 + decay), kept / (1 + decay)]

    return DiscreteLoss(-epsilon, 2 * epsilon, chances, delta)


def two_sided_geometric(epsilon: Fraction, sensitivity: int) -> DiscreteLoss:
    """Laplace noise on the whole numbers, P[k] = (1 - p)/(1 + p) p^|k| with p = e^(-epsilon/sensitivity), of a total
    that one unit moves by `sensitivity` at most.

    At noise k the loss is (|k - s| - |k|) epsilon/s: epsilon for k <= 0, all chance 1/(1 + p) of it; epsilon (s - 2k)/s
    between; -epsilon for k >= s, p^s/(1 + p). A smaller move has a smaller profile: the noise is log-concave, so the
    best tests are thresholds, and P[noise > t - s] rises in s.
    """

    def chances() -> list[RealBall]:
        p = (-ball(epsilon / sensitivity)).exp()
        between = [(1 - p) / (1 + p) * p**k for k in range(sensitivity - 1, 0, -1)]
        return [p**sensitivity / (1 + p), *between, 1 / (1 + p)]

    return DiscreteLoss(-epsilon, 2 * epsilon / sensitivity, chances)


@dataclass(frozen=True, slots=True)
class ThresholdPair(LossPair):
    """Bins that nobody listed: with chance `chance` at most one that only this unit has is shown.

    remove: P = (1 - D) Q + D R with R apart from Q, so the loss is infinite with chance D and log(1 - D) else;
    add: the loss is -log(1 - D), always. Both profiles, max(D, 1 - e^epsilon) and (1 - (1 - D) e^epsilon)^+, rise in D.
    """

    chance: Fraction
    direction: Direction = "remove"

    symmetric = False

    def oriented(self, direction: Direction) -> ThresholdPair:
        return ThresholdPair(self.chance, direction)

    def loss(self) -> RealBall:
        kept = (-ball(self.chance)).log1p()
        return kept if self.direction == "remove" else -kept

    def float_grid(self) -> FloatGrid:
        kept = math.log1p(-float(self.chance))
        return np.array([kept if self.direction == "remove" else -kept]), np.array([0.0])


class Density(LossPair):
    """A pair known by its survival functions."""

    __slots__ = ()

    @property
    def ends(self) -> tuple[Fraction, Fraction] | None:
        """The least and the largest loss, where there are any."""
        return None

    @abstractmethod
    def survival(self, loss: Fraction) -> tuple[RealBall, RealBall]:
        """P[L > loss] and Q[L > loss]."""

    def end_masses(self) -> tuple[RealBall, RealBall]:
        """The P-masses at both ends."""
        return arb(0), arb(0)


@dataclass(frozen=True, slots=True)
class GaussianPair(Density):
    """N(mu, 1) against N(0, 1): the loss is N(mu^2/2, mu^2) under P, N(-mu^2/2, mu^2) under Q. All Gaussians of a
    composition are one, mu^2 = sum mu_i^2."""

    mu_squared: Fraction

    def survival(self, loss: Fraction) -> tuple[RealBall, RealBall]:
        mu = ball(self.mu_squared).sqrt()
        middle = ball(loss) / mu
        return proof.upper_tail(middle - mu / 2), proof.upper_tail(middle + mu / 2)

    def float_grid(self) -> FloatGrid:
        mu, z = math.sqrt(self.mu_squared), np.linspace(-14, 60, 40_001)
        return mu * mu / 2 + mu * z, -z * z / 2 + math.log((z[1] - z[0]) / math.sqrt(2 * math.pi))


@dataclass(frozen=True, slots=True)
class LaplacePair(Density):
    """Continuous Laplace noise of scale sensitivity/epsilon: P[L > t] = 1 - e^(-(epsilon - t)/2)/2 and
    Q[L > t] = e^(-(epsilon + t)/2)/2 for -epsilon <= t < epsilon, with the P-masses 1/2 at epsilon and e^-epsilon/2 at
    -epsilon.
    """

    epsilon: Fraction

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return -self.epsilon, self.epsilon

    @property
    def spacing(self) -> Fraction:
        return 2 * self.epsilon

    def survival(self, loss: Fraction) -> tuple[RealBall, RealBall]:
        if loss >= self.epsilon:
            return arb(0), arb(0)
        if loss < -self.epsilon:
            return arb(1), arb(1)
        far, near = (self.epsilon - loss) / 2, (self.epsilon + loss) / 2
        return 1 - (-ball(far)).exp() / 2, (-ball(near)).exp() / 2

    def end_masses(self) -> tuple[RealBall, RealBall]:
        return (-ball(self.epsilon)).exp() / 2, arb(1) / 2

    def float_grid(self) -> FloatGrid:
        own, x = float(self.epsilon), (np.arange(4000) + 0.5) / 4000
        losses = np.concatenate([[-own], own * (2 * x - 1), [own]])
        inner = math.log(own) - math.log(8000) - own * (1 - x)
        return losses, np.concatenate([[-own - math.log(2)], inner, [-math.log(2)]])


@dataclass(frozen=True, slots=True)
class BoundedRangePair(Density):
    """Every mechanism whose losses lie in some [t - epsilon, t], as those of the exponential mechanism do.

    For one t the worst has its losses at both ends (spread r with its mean kept), with the profile (1 - e^(t -
    epsilon))(1 - e^(x - t))/(1 - e^-epsilon) at x; the largest over t, at t = (x + epsilon)/2, is

        delta(x) = (e^(epsilon/2) - e^(x/2))^2 / (e^epsilon - 1),  |x| <= epsilon,

    and P, Q follow from it: Q[L > x] = -e^-x delta'(x), P[L > x] = delta(x) + e^x Q[L > x]. No one mechanism has this
    profile, so a lower bound of a composition with it is one of the pair, not of a mechanism.
    """

    epsilon: Fraction

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return -self.epsilon, self.epsilon

    @property
    def spacing(self) -> Fraction:
        return 2 * self.epsilon

    def survival(self, loss: Fraction) -> tuple[RealBall, RealBall]:
        if loss >= self.epsilon:
            return arb(0), arb(0)
        if loss <= -self.epsilon:
            return arb(1), arb(1)
        scale = ball(self.epsilon).expm1()
        short, long = (self.epsilon - loss) / 2, (self.epsilon + loss) / 2
        return ball(long).exp() * ball(short).expm1() / scale, ball(short).expm1() / scale

    def float_grid(self) -> FloatGrid:
        own, x = float(self.epsilon), (np.arange(4000) + 0.5) / 4000
        losses = own * (2 * x - 1)
        return losses, math.log(own) - math.log(4000) + (losses - own) / 2 - math.log(-math.expm1(-own))


@dataclass(frozen=True, slots=True)
class SampledGaussianPair(Density):
    """Each unit takes part with chance q, by itself (Poisson sampling), then Gaussian noise of sigma = z sensitivities.

    remove: P = (1 - q) N(0, z^2) + q N(1, z^2) against Q = N(0, z^2); add: the same pair swapped (Zhu, Dong and Wang
    2022, Theorem 11). At x, L = log(1 - q + q e^((2x - 1)/(2 z^2))); so L > t where x > z^2 log((e^t - 1 + q)/q) + 1/2,
    and everywhere where t <= log(1 - q).
    """

    noise: Fraction  # z
    rate: Fraction  # q
    direction: Direction = "remove"

    symmetric = False

    def oriented(self, direction: Direction) -> SampledGaussianPair:
        return SampledGaussianPair(self.noise, self.rate, direction)

    def survival(self, loss: Fraction) -> tuple[RealBall, RealBall]:
        add = self.direction == "add"
        edge = -loss if add else loss  # the loss of adding is minus that of removing
        if not self._reached(edge):
            return (arb(0), arb(0)) if add else (arb(1), arb(1))
        z, q = ball(self.noise), ball(self.rate)
        x = z * z * ((ball(edge).expm1() + q) / q).log() + arb(1) / 2
        side = -1 if add else 1
        plain = proof.upper_tail(side * x / z)
        mixed = (1 - q) * plain + q * proof.upper_tail(side * (x - 1) / z)
        return (plain, mixed) if add else (mixed, plain)

    def _reached(self, loss: Fraction) -> bool:
        """Whether loss > log(1 - q). They are never equal (e^t is irrational for rational t but 0, where q = 0 would
        have to be), so enough bits decide."""
        for bits in (64, 256, 1024, 4096):
            with proof.precision(bits):
                above = ball(loss).expm1() + ball(self.rate)
                if above > 0 or above < 0:
                    return bool(above > 0)
        raise errors.NotProved(
            "4096 bits could not tell a loss from the least loss of a sampled release. Change the sampling rate in its "
            "last digit."
        )

    def survival_floats(self, losses: Floats) -> tuple[Floats, Floats]:
        """`survival` in doubles, for the search."""
        from scipy.special import ndtr  # a quarter of a second to import

        z, q = float(self.noise), float(self.rate)
        signed = losses if self.direction == "remove" else -losses
        ratio = (np.expm1(signed) + q) / q
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.where(ratio > 0, z * z * np.log(np.maximum(ratio, 1e-300)) + 0.5, -np.inf)
        if self.direction == "remove":
            return (1 - q) * ndtr(-x / z) + q * ndtr((1 - x) / z), ndtr(-x / z)
        return ndtr(x / z), (1 - q) * ndtr(x / z) + q * ndtr((x - 1) / z)

    def float_grid(self) -> FloatGrid:
        z, q = float(self.noise), float(self.rate)
        x = np.linspace(-14 * z, 1 + 40 * z, 60_001)
        exponent = math.log(q) + (2 * x - 1) / (2 * z * z)
        losses = exponent if q == 1 else np.logaddexp(math.log1p(-q), exponent)
        plain = -x * x / (2 * z * z) + math.log((x[1] - x[0]) / (z * math.sqrt(2 * math.pi)))
        if self.direction == "remove":
            return losses, plain + losses
        return -losses[::-1], plain[::-1]
