"""What noise, decided from public facts alone: mechanism, scale, grid, and the guarantee that comes of it.

Nothing here sees data, so nothing here can leak it; `expect` and `release` both decide here, so what is expected is
what is released.

Whole numbers are published on the grid 1, exactly. Real numbers are first rounded to a grid, which is charged
(`rounding_charge`).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from flint import arb, fmpq

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import next_up
from leastnoise._support.validation import Number
from leastnoise.privacy import baselines, calibration, rounding_charge
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.distributions import LARGEST_SCALE, Distribution, Gaussian, Laplace
from leastnoise.privacy.guarantee import GaussianDP, PureDP
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.privacy.noise_reason import NoiseReason, ReasonCode
from leastnoise.privacy.sensitivity import l1_from_l2
from leastnoise.privacy.strength import protects_alone

Mechanism = Literal["gaussian", "laplace"]
Choice = Literal["auto", "gaussian", "laplace", "exponential"]  # the last one: of quantiles alone

# |noise| < 39 sigma and < 711 scales for every draw, so with these the noise is below 2^53 grid steps, and
# grid * noise is an exact double.
_GAUSSIAN_STEPS = 2.0**47
_LAPLACE_STEPS = 2.0**43
# Whole numbers need no double: the samplers' own limit, with which the noise is below 2^62.
_INTEGER_STEPS = 2.0**52


@dataclass(frozen=True, slots=True)
class NoiseChoice:
    """The noise of one release."""

    mechanism: Mechanism
    scale: float
    grid: float
    guarantee: GaussianDP | PureDP
    delta: float | None
    sensitivity: float
    l1_sensitivity: float | None
    reason: NoiseReason
    charged: float  # the sensitivity (L2, or L1 for Laplace) with the grid's charge: what the noise was scaled to

    @property
    def distribution(self) -> Distribution:
        """The distribution of one bin's noise, on its grid."""
        return Gaussian(self.scale, self.grid) if self.mechanism == "gaussian" else Laplace(self.scale, self.grid)

    @property
    def note(self) -> str:
        """Why this noise was chosen, in words."""
        return self.reason.in_words(self.mechanism, self.distribution.std)


def choose(
    *,
    bins: int,
    integers: bool,
    grid: float = 1.0,
    sensitivity: Number,
    l1_sensitivity: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    sigma: Number | None = None,
    mu_squared: Fraction | None = None,
    mechanism: Choice = "auto",
    neighbours: Neighbours = "add-remove",
) -> NoiseChoice:
    """The least standard deviation that the public facts allow, or the mechanism that was asked for.

    `integers`: the values are integers in steps of `grid`, a power of two; others are real numbers, to be rounded.

    Either epsilon and delta are given, or sigma, or `mu_squared`: what a budget allows, exactly, of Gaussian noise.
    """
    l2 = validation.number("sensitivity", sensitivity)
    l1 = None if l1_sensitivity is None else validation.number("l1_sensitivity", l1_sensitivity)
    if l1 is not None:
        validation.check_norms(l1, l2)
    validation.word("mechanism", mechanism, ("auto", "gaussian", "laplace"))
    check_neighbours(neighbours)
    ask = _Ask.of(epsilon, delta, sigma) if mu_squared is None else _Ask(None, None, None, mu_squared)
    facts = _Facts(bins, integers, grid, l2, l1, neighbours)
    if mechanism == "laplace" or ask.delta == 0:
        if mechanism == "gaussian":
            validation.number("delta", 0)  # raises: no Gaussian gives delta = 0
        return _laplace(facts, ask, "requested" if mechanism == "laplace" else "delta is zero")
    gaussian = _gaussian(facts, ask, _why_gaussian(mechanism, ask, l1))
    if mechanism == "gaussian" or l1 is None or ask.sigma is not None or ask.epsilon == 0:
        return gaussian
    try:
        laplace = _laplace(facts, ask, "smaller")
    except errors.OutOfRange:  # an L1 so large would not have won
        return gaussian
    return _lesser(gaussian, laplace)


def _why_gaussian(mechanism: Choice, ask: _Ask, l1: float | None) -> ReasonCode:
    if mechanism == "gaussian":
        return "requested"
    if ask.epsilon is None:
        return "sigma given" if ask.sigma is not None else "budget share"
    if ask.epsilon == 0:
        return "epsilon is zero"
    return "no L1 sensitivity" if l1 is None else "smaller"


@dataclass(frozen=True, slots=True)
class _Ask:
    """What the caller wants: (epsilon, delta), or a sigma, or a part of a budget."""

    epsilon: float | None
    delta: float | None
    sigma: float | None
    mu_squared: Fraction | None = None

    @classmethod
    def of(cls, epsilon: Number | None, delta: Number | None, sigma: Number | None) -> _Ask:
        if sigma is not None:
            return cls(None, None, validation.number("sigma", sigma))
        if epsilon is None:
            raise errors.MissingParameter(
                "How private should this be? Give epsilon and delta, or the standard deviation of the noise.",
                parameter="epsilon",
                example=[{"epsilon": 1, "delta": 1e-6}, {"sigma": 3}],
            )
        if delta is None:
            raise errors.MissingParameter(
                "epsilon needs its delta: a small probability, or 0 for Laplace noise.",
                parameter="delta",
                example=[{"delta": 1e-6}, {"delta": 0}],
            )
        exact = 0.0 if validation.is_zero(delta) else validation.number("delta", delta)
        return cls(validation.number("epsilon", epsilon), exact, None)

    def gaussian_sigma(self, l2: float) -> float:
        if self.mu_squared is not None:
            return _least_sigma(l2, self.mu_squared)
        if self.epsilon is None or self.delta is None:
            return self.sigma or math.nan
        return calibration.sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=l2)

    def laplace_scale(self, l1: float) -> float:
        if self.epsilon is None:
            return (self.sigma or math.nan) / math.sqrt(2)
        return baselines.laplace_scale(epsilon=self.epsilon, l1_sensitivity=l1)


@dataclass(frozen=True, slots=True)
class _Facts:
    bins: int
    integers: bool
    grid: float
    l2: float
    l1: float | None
    neighbours: Neighbours


def _gaussian(facts: _Facts, ask: _Ask, why: ReasonCode) -> NoiseChoice:
    rough = ask.gaussian_sigma(facts.l2)
    grid, charged = facts.grid, facts.l2
    if not facts.integers:
        grid = rounding_charge.l2_grid(facts.l2, facts.bins, least=1.01 * rough / _GAUSSIAN_STEPS)
        charged = rounding_charge.l2_charged(facts.l2, facts.bins, grid)
    sigma = ask.gaussian_sigma(charged)
    _check_size(sigma, grid, _INTEGER_STEPS if facts.integers else _GAUSSIAN_STEPS)
    guarantee = GaussianDP.of(sigma=sigma, sensitivity=charged, neighbours=facts.neighbours)
    # mu was rounded up, by an ulp; sigma grows by as little until the mu that is published keeps the promise too.
    while (
        ask.epsilon is not None
        and ask.delta is not None
        and not guarantee.satisfies(epsilon=ask.epsilon, delta=ask.delta)
    ):
        sigma = next_up(sigma)
        guarantee = GaussianDP.of(sigma=sigma, sensitivity=charged, neighbours=facts.neighbours)
    return NoiseChoice("gaussian", sigma, grid, guarantee, ask.delta, facts.l2, facts.l1, NoiseReason(why), charged)


def _laplace(facts: _Facts, ask: _Ask, why: ReasonCode) -> NoiseChoice:
    l1 = _l1_or_warning(facts)
    rough = ask.laplace_scale(l1)
    grid, charged = facts.grid, l1
    if not facts.integers:
        grid = rounding_charge.l1_grid(l1, facts.bins, least=1.01 * rough / _LAPLACE_STEPS)
        charged = rounding_charge.l1_charged(l1, facts.bins, grid)
    scale = ask.laplace_scale(charged)
    epsilon = ask.epsilon
    if epsilon is None:
        with proof.precision(128):
            epsilon = proof.upward(arb(charged) / arb(scale))
    _check_size(scale, grid, _INTEGER_STEPS if facts.integers else _LAPLACE_STEPS)
    guarantee = PureDP(epsilon, facts.neighbours)
    return NoiseChoice("laplace", scale, grid, guarantee, 0.0, facts.l2, l1, NoiseReason(why), charged)


def _lesser(gaussian: NoiseChoice, laplace: NoiseChoice) -> NoiseChoice:
    """The one of the smaller standard deviation; Gaussian noise where Laplace noise alone protects nobody."""
    if laplace.distribution.std < gaussian.distribution.std and protects_alone(gaussian.guarantee, laplace.guarantee):
        return replace(gaussian, reason=NoiseReason("stronger", laplace.distribution.std))
    ours, theirs = (laplace, gaussian) if laplace.distribution.std < gaussian.distribution.std else (gaussian, laplace)
    return replace(ours, reason=NoiseReason("smaller", theirs.distribution.std))


def _least_sigma(sensitivity: float, mu_squared: Fraction) -> float:
    """The least double sigma that is proved to keep (sensitivity/sigma)^2 <= mu_squared."""
    with proof.precision(256):
        mu = arb(fmpq(mu_squared.numerator, mu_squared.denominator)).sqrt()
        sigma = proof.upward(arb(sensitivity) / mu)
    if math.isinf(sigma):
        raise errors.OutOfRange(proof.too_large("sigma"))
    return sigma


def _l1_or_warning(facts: _Facts) -> float:
    """The L1 sensitivity, or what is always true of it, with a warning where that may be too much."""
    if facts.l1 is not None:
        return facts.l1
    l1 = l1_from_l2(facts.l2, facts.bins)
    if facts.bins > 1:
        warnings.warn(
            f"Laplace noise is set by the L1 sensitivity, which was not given; sqrt(bins) * sensitivity = {l1:.4g} is "
            "used, which is always safe and often far too much. Give l1_sensitivity to have less noise.",
            errors.Wasteful,
            stacklevel=4,
        )
    return l1


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
