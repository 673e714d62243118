"""Noise: which distribution was added, how wide, and on which grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leastnoise.privacy.distributions import LARGEST_SCALE, Distribution, Gaussian, Laplace
from leastnoise.privacy.noise_plan import Mechanism

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

    def times(self, unit: float) -> Noise:
        """The noise of numbers in a unit of which one step is `unit`."""
        return self if unit == 1 else Noise(self.mechanism, self.scale * unit, self.grid * unit)

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

    def in_words(self, digits: int) -> str:
        """How wide it is, to so many digits."""
        return "practically 0" if self.is_none else f"standard deviation {self.std:.{digits}g}"

    def _fits(self) -> dict[str, bool]:
        """Whether anybody can have drawn with it: else no quantile of it is searched for.

        Whatever was released or wrapped passes: noise far finer than its grid is all zeros, and was still released.
        """
        return {
            "scale": 0 < self.scale <= LARGEST_SCALE,
            "grid": 0 <= self.grid <= LARGEST_SCALE and (not self.grid or self.scale / self.grid < MAX_GRID_STEPS),
        }


class Noisy:
    """Something to which noise of one kind was added."""

    __slots__ = ()

    if TYPE_CHECKING:  # a field of some kinds, computed by others

        @property
        def noise(self) -> Noise:
            """The noise that was added."""

    @property
    def mechanism(self) -> Mechanism:
        """gaussian or laplace; of quantiles also exponential."""
        return self.noise.mechanism

    @property
    def scale(self) -> float:
        """The noise's parameter: sigma, or Laplace's b."""
        return self.noise.scale

    @property
    def grid(self) -> float:
        """The step that noise was drawn on; 0: no grid."""
        return self.noise.grid

    @property
    def sigma(self) -> float:
        """The standard deviation that was calibrated (Laplace: scale * sqrt 2)."""
        return self.noise.sigma

    @property
    def std(self) -> float:
        """The standard deviation of the noise that was drawn, the grid's rounding included."""
        return self.noise.std

    @property
    def distribution(self) -> Distribution:
        """The distribution of the noise, on its grid."""
        return self.noise.distribution
