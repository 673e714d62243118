"""Guarantees as the pairs that dominate them, equal ones together and all Gaussians as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from flint import arb

from leastnoise.privacy.accounting.guarantees import BoundedRangeDP, LaplaceDP, SampledGaussianDP, ThresholdDP
from leastnoise.privacy.accounting.loss_measure import ball
from leastnoise.privacy.accounting.loss_pairs import (
    BoundedRangePair,
    GaussianPair,
    LaplacePair,
    Lattice,
    LossPair,
    SampledGaussianPair,
    Threshold,
    randomised_response,
    two_sided_geometric,
)
from leastnoise.privacy.guarantee import ApproxDP, GaussianDP, PureDP
from leastnoise.privacy.repeated import Repeated


def counted(guarantees: Iterable[Any]) -> Counter[Any]:
    """How often each guarantee stands among these, repeated ones counted."""
    counts: Counter[Any] = Counter()
    for guarantee in guarantees:
        if isinstance(guarantee, Repeated):
            counts[guarantee.guarantee] += guarantee.times
        else:
            counts[guarantee] += 1
    return counts


def parts_of(guarantees: Iterable[Any]) -> list[tuple[LossPair, int]]:
    """The pairs and how often each; what promises that nothing shows is left out."""
    parts: list[tuple[LossPair, int]] = []
    mu_squared = Fraction(0)
    for guarantee, times in counted(guarantees).items():
        if isinstance(guarantee, GaussianDP):
            mu_squared += times * Fraction(guarantee.mu) ** 2
        elif isinstance(guarantee, SampledGaussianDP) and guarantee.sampling == 1:
            mu_squared += times / Fraction(guarantee.noise_multiplier) ** 2
        else:
            parts += [(pair, times * each) for pair, each in _pairs(guarantee)]
    if mu_squared:
        parts.append((GaussianPair(mu_squared), 1))
    return parts


def _pairs(guarantee: Any) -> list[tuple[LossPair, int]]:
    """The pair of a guarantee, and how many of it one of them takes."""
    match guarantee:
        case SampledGaussianDP():
            return [(SampledGaussianPair(Fraction(guarantee.noise_multiplier), Fraction(guarantee.sampling)), 1)]
        case ThresholdDP():
            return [(Threshold(Fraction(guarantee.chance)), 1)]
        case ApproxDP(epsilon=0.0):
            return [(_always(Fraction(guarantee.delta)), 1)]
        case ApproxDP():
            return [(randomised_response(Fraction(guarantee.epsilon), Fraction(guarantee.delta)), 1)]
        case LaplaceDP() | PureDP() | BoundedRangeDP() if not guarantee.epsilon:
            return []
        case LaplaceDP(grid_steps=None):
            return [(LaplacePair(Fraction(guarantee.epsilon) / guarantee.bins), guarantee.bins)]
        case LaplaceDP(grid_steps=int(steps)):
            return [(two_sided_geometric(Fraction(guarantee.epsilon) / guarantee.bins, steps), guarantee.bins)]
        case PureDP():
            return [(randomised_response(Fraction(guarantee.epsilon)), 1)]
        case BoundedRangeDP():
            return [(BoundedRangePair(Fraction(guarantee.epsilon)), 1)]
    raise TypeError(type(guarantee).__name__)


def _always(delta: Fraction) -> Lattice:
    """(0, delta)-DP: no loss but the infinite one."""
    return Lattice(Fraction(0), Fraction(1), lambda: [arb(1) - ball(delta)], delta)
