"""One noise on all numbers of a vector: mechanism, scale, grid, and the guarantee that comes of it.

Whole numbers are published on the grid 1, exactly. Real numbers are first rounded to a grid, and what that adds to
their sensitivity is charged, so the guarantee covers it.

The grid g is a power of two taken from the sensitivity and the number of bins d. Rounding moves each of d coordinates
of f(x) - f(x') by at most g (half a step at either end), so the sensitivity grows by at most g sqrt(d) in L2 and g d in
L1. That is charged; g is chosen so that the charge is below 1e-4 (L2) or 1e-3 (L1) of the sensitivity.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, fmpq

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.rounding import next_up
from leastnoise._support.runtime import user_stacklevel
from leastnoise._support.validation import Number
from leastnoise.privacy import baselines, calibration
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.distributions import LARGEST_SCALE, Distribution, Gaussian, Laplace
from leastnoise.privacy.gaussian_price import laplace_mu_squared
from leastnoise.privacy.guarantees import GaussianDP, PureDP
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.privacy.noise_plan import Mechanism, NoisePlan, NoiseReason
from leastnoise.privacy.sensitivity import l1_from_l2

NUMBERS = "numbers"  # the block of a release that has one
# |noise| < 39 sigma and < 711 scales for every draw, so with these the noise is below 2^53 grid steps, and
# grid * noise is an exact double.
_GAUSSIAN_STEPS = 2.0**47
_LAPLACE_STEPS = 2.0**43
# Whole numbers need no double: the samplers' own limit, with which the noise is below 2^62.
_INTEGER_STEPS = 2.0**52


MAX_L2_CHARGE, MAX_L1_CHARGE = 1e-4, 1e-3  # of the sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorPlan(NoisePlan):
    """The noise of one release of a vector; `scale` is in its unit, those by block are in steps of the grid."""

    mechanism: Mechanism
    guarantee: GaussianDP | PureDP
    grid: float
    sensitivity: float
    charged: float  # the sensitivity (L2, or L1 for Laplace) with the grid's charge: what the noise was scaled to

    @property
    def scale(self) -> float:
        """sigma, or Laplace's b."""
        return self.scales[NUMBERS] * self.grid

    @property
    def distribution(self) -> Distribution:
        """The distribution of one number's noise, on its grid."""
        return _distribution(self.mechanism, self.scale, self.grid)

    @property
    def note(self) -> str:
        """Why this noise was chosen, in words."""
        reason = self.reason or NoiseReason("requested")
        return reason.in_words(self.mechanism, self.error)

    @property
    def described(self) -> str:
        """What a ledger says of it."""
        word = "sigma" if self.mechanism == "gaussian" else "scale"
        return f"{self.mechanism} noise of {word} {self.scale:.6g}"


def _distribution(mechanism: str, scale: float, grid: float) -> Distribution:
    return Gaussian(scale, grid) if mechanism == "gaussian" else Laplace(scale, grid)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorPlanner:
    """The ways to add noise to a vector of so many numbers.

    integers: whether they are integers in steps of `grid`, a power of two; others are real numbers, to be rounded.
    sensitivity, l1_sensitivity: how far one unit can move it, in L2 and in L1 (None: not known).
    """

    bins: int
    integers: bool
    sensitivity: float
    l1_sensitivity: float | None = None
    grid: float = 1.0
    neighbours: Neighbours = "add-remove"
    explains: bool = True

    @classmethod
    def of(
        cls,
        *,
        bins: int,
        integers: bool,
        sensitivity: Number,
        l1_sensitivity: Number | None = None,
        neighbours: Neighbours = "add-remove",
    ) -> VectorPlanner:
        """As it was asked for, checked."""
        l2 = validation.number("sensitivity", sensitivity)
        l1 = None if l1_sensitivity is None else validation.number("l1_sensitivity", l1_sensitivity)
        if l1 is not None:
            validation.check_norms(l1, l2)
        side = check_neighbours(neighbours)
        return cls(bins=bins, integers=integers, sensitivity=l2, l1_sensitivity=l1, neighbours=side)

    @property
    def compares(self) -> bool:
        """Whether "auto" may take Laplace noise."""
        return self.l1_sensitivity is not None

    def promised(self, epsilon: Number, delta: Number) -> VectorPlan:
        """The least Gaussian noise that keeps this promise."""
        spend, chance = validation.number("epsilon", epsilon), validation.number("delta", delta)

        def keeps(guarantee: GaussianDP) -> bool:
            return guarantee.satisfies(epsilon=spend, delta=chance)

        return self._gaussian(
            lambda l2: calibration.sigma(epsilon=spend, delta=chance, sensitivity=l2), delta=chance, keeps=keeps
        )

    def gaussian(self, mu_squared: Fraction) -> VectorPlan:
        """The least Gaussian noise of which one unit costs at most this."""
        return self._gaussian(lambda l2: _least_sigma(l2, mu_squared))

    def laplace(self, epsilon: Number) -> VectorPlan:
        """The least Laplace noise that is epsilon-DP."""
        spend = validation.number("epsilon", epsilon)
        return self._laplace(lambda l1: baselines.laplace_scale(epsilon=spend, l1_sensitivity=l1), epsilon=spend)

    def of_sigma(self, sigma: Number, *, laplace: bool) -> VectorPlan:
        """Noise of this standard deviation."""
        std = validation.number("sigma", sigma)
        return self._laplace(lambda _: std / math.sqrt(2)) if laplace else self._gaussian(lambda _: std)

    def price(self, plan: VectorPlan) -> Fraction:
        """mu^2, rounded up."""
        if plan.mechanism == "gaussian":
            return plan.cost
        l2 = plan.sensitivity
        if not self.integers:
            l2 = l2_charged(l2, self.bins, plan.grid)
        steps = [Fraction(each) / Fraction(plan.grid) for each in (plan.charged, l2, plan.scale)]
        return laplace_mu_squared(l1=steps[0], l2=steps[1], scale=steps[2])

    def _gaussian(
        self,
        sigma_of: Callable[[float], float],
        *,
        delta: float | None = None,
        keeps: Callable[[GaussianDP], bool] = lambda _: True,
    ) -> VectorPlan:
        """sigma_of: a sensitivity. keeps: whether the guarantee is what was asked for."""
        grid, charged = self.grid, self.sensitivity
        if not self.integers:
            grid = l2_grid(charged, self.bins, least=1.01 * sigma_of(charged) / _GAUSSIAN_STEPS)
            charged = l2_charged(charged, self.bins, grid)
        sigma = sigma_of(charged)
        _check_size(sigma, grid, _INTEGER_STEPS if self.integers else _GAUSSIAN_STEPS)
        guarantee = GaussianDP.of(sigma=sigma, sensitivity=charged, neighbours=self.neighbours)
        # mu was rounded up, by an ulp; sigma grows by as little until the mu that is published keeps the promise too.
        while not keeps(guarantee):
            sigma = next_up(sigma)
            guarantee = GaussianDP.of(sigma=sigma, sensitivity=charged, neighbours=self.neighbours)
        cost = (Fraction(charged) / Fraction(sigma)) ** 2
        return self._plan("gaussian", sigma, grid, charged, cost, guarantee, delta, self.l1_sensitivity)

    def _laplace(self, scale_of: Callable[[float], float], *, epsilon: float | None = None) -> VectorPlan:
        """scale_of: an L1 sensitivity. epsilon: None where it follows from the scale."""
        l1 = self._l1_or_warning()
        grid, charged = self.grid, l1
        if not self.integers:
            grid = l1_grid(l1, self.bins, least=1.01 * scale_of(l1) / _LAPLACE_STEPS)
            charged = l1_charged(l1, self.bins, grid)
        scale = scale_of(charged)
        if epsilon is None:
            with proof.precision(128):
                epsilon = proof.upward(arb(charged) / arb(scale))
        _check_size(scale, grid, _INTEGER_STEPS if self.integers else _LAPLACE_STEPS)
        cost, guarantee = Fraction(charged) / Fraction(scale), PureDP(epsilon, self.neighbours)
        return self._plan("laplace", scale, grid, charged, cost, guarantee, 0.0, l1)

    def _plan(
        self,
        mechanism: Mechanism,
        scale: float,
        grid: float,
        charged: float,
        cost: Fraction,
        guarantee: GaussianDP | PureDP,
        delta: float | None,
        l1: float | None,
    ) -> VectorPlan:
        return VectorPlan(
            mechanism=mechanism,
            scales={NUMBERS: scale / grid},
            cost=cost,
            error=_distribution(mechanism, scale, grid).std,
            guarantee=guarantee,
            delta=delta,
            grid=grid,
            sensitivity=self.sensitivity,
            l1_sensitivity=l1,
            charged=charged,
        )

    def _l1_or_warning(self) -> float:
        """The L1 sensitivity, or what is always true of it, with a warning where that may be too much."""
        if self.l1_sensitivity is not None:
            return self.l1_sensitivity
        l1 = l1_from_l2(self.sensitivity, self.bins)
        if self.bins > 1:
            warnings.warn(
                f"Laplace noise is set by the L1 sensitivity, which was not given; sqrt(bins) * sensitivity = {l1:.4g} "
                "is used, which is always safe and often far too much. Give l1_sensitivity to have less noise.",
                errors.Wasteful,
                stacklevel=user_stacklevel(),
            )
        return l1


def _least_sigma(sensitivity: float, mu_squared: Fraction) -> float:
    """The least double sigma that is proved to keep (sensitivity/sigma)^2 <= mu_squared."""
    with proof.precision(256):
        mu = arb(fmpq(mu_squared.numerator, mu_squared.denominator)).sqrt()
        sigma = proof.upward(arb(sensitivity) / mu)
    if math.isinf(sigma):
        raise errors.OutOfRange(proof.too_large("sigma"))
    return sigma


def _check_size(scale: float, grid: float, most: float) -> None:
    if scale / grid > most:
        raise errors.OutOfRange(
            f"The noise has scale {scale:.3g}, more than 2^{math.log2(most):.0f} steps of the grid {grid:g}: too large "
            "for exact 64-bit arithmetic. Allow more epsilon, or publish in larger units."
        )
    if scale > LARGEST_SCALE:
        raise errors.OutOfRange(
            f"Noise of scale {scale:.3g} overflows doubles, so what is published could not hold it. "
            "Publish in larger units (a smaller sensitivity)."
        )


# What rounding to a grid costs


def l2_grid(l2: float, bins: int, *, least: float) -> float:
    """The grid for values of this L2 sensitivity; at or above `least`, whatever that charges."""
    return max(_power_below(MAX_L2_CHARGE * l2 / math.sqrt(bins)), _power_above(least))


def l1_grid(l1: float, bins: int, *, least: float) -> float:
    """The grid for values of this L1 sensitivity; at or above `least`, whatever that charges."""
    return max(_power_below(MAX_L1_CHARGE * l1 / bins), _power_above(least))


def l2_charged(l2: float, bins: int, grid: float) -> float:
    """The L2 sensitivity after rounding, rounded up."""
    with proof.precision(128):
        return proof.upward(arb(l2) + arb(grid) * arb(bins).sqrt())


def l1_charged(l1: float, bins: int, grid: float) -> float:
    """The L1 sensitivity after rounding, rounded up."""
    with proof.precision(128):
        return proof.upward(arb(l1) + arb(grid) * bins)


def _power_below(x: float) -> float:
    """The largest power of two at or below x."""
    return math.ldexp(1.0, max(math.frexp(x)[1] - 1, -1000)) if x > 0 else 2.0**-1000


def _power_above(x: float) -> float:
    """The least power of two at or above x."""
    return math.ldexp(1.0, max(math.frexp(x)[1], -1000)) if x > 0 else 2.0**-1000
