"""Noise: which distribution was added, how wide, and on which grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from leastnoise.privacy.distributions import LARGEST_SCALE, Distribution, Gaussian, Laplace
from leastnoise.privacy.noise_choice import Mechanism
from leastnoise.releases.facts import Facts

MECHANISMS: tuple[Mechanism, ...] = ("gaussian", "laplace")
NEGLIGIBLE = 1e-9  # of a grid step: the standard deviation of noise that is none
MAX_GRID_STEPS = 2.0**53  # a scale of more grid steps has no exact double


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of one published value.

    >>> Noise("laplace", scale=2.0).sigma
    2.8284271247461903
    """

    mechanism: Mechanism  # of quantiles drawn by rank: "exponential", whose ranks are off about as by Laplace noise
    scale: float  # sigma, or Laplace's b
    grid: float = 0.0  # 0: no grid (noise from elsewhere)

    @classmethod
    def of(cls, mechanism: Mechanism, *, sigma: float) -> Noise:
        """The noise of this standard deviation, on no grid."""
        return cls(mechanism, sigma if mechanism == "gaussian" else sigma / math.sqrt(2))

    @property
    def sigma(self) -> float:
        """The standard deviation that was calibrated (Laplace: scale * sqrt 2)."""
        return self.scale if self.mechanism == "gaussian" else math.sqrt(2) * self.scale

    @property
    def distribution(self) -> Distribution:
        """The distribution of one value's noise, on its grid."""
        return Gaussian(self.scale, self.grid) if self.mechanism == "gaussian" else Laplace(self.scale, self.grid)

    @property
    def std(self) -> float:
        """The standard deviation of what was drawn, the grid's rounding included."""
        return self.distribution.std

    @property
    def is_none(self) -> bool:
        """Whether a draw is 0 but for a chance of 1e-18: it is 0 or a grid step away, so P[not 0] <= std^2/grid^2."""
        return self.std <= NEGLIGIBLE * self.grid


def write_noise(noise: Noise) -> dict[str, Any]:
    """As JSON holds it."""
    return {"mechanism": noise.mechanism, "scale": noise.scale, "grid": noise.grid}


def read_noise(facts: Facts) -> Noise:
    """What `write_noise` wrote.

    A scale or a grid that nobody can have drawn with is refused, so that no quantile of it is searched for. Whatever
    was released or wrapped passes: noise far finer than its grid is all zeros, and was still released.
    """
    noise = Noise(facts.word("mechanism", MECHANISMS), facts.number("scale"), facts.number("grid"))
    facts.check("scale", 0 < noise.scale <= LARGEST_SCALE)
    facts.check("grid", 0 <= noise.grid <= LARGEST_SCALE)
    facts.check("grid", noise.grid == 0 or noise.scale / noise.grid < MAX_GRID_STEPS)
    facts.finish()
    return noise
