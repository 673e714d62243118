"""The errors of a ratio whose two numbers have noise of different scales: what `ratio_interval` asks of a noise.

The number above has noise X; the one below is made of several, each with its own noise times a factor (a count of rows
less a count of missing ones), together Y. `releases.mean` asks for half-widths of Y and of X + r Y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leastnoise._support.validation import Floats
from leastnoise.privacy.distributions import Distribution
from leastnoise.privacy.weighted_noise import half_widths


@dataclass(frozen=True, slots=True)
class RatioNoise:
    """above: the noise of the number above. below: those of the number below, and what each of them counts."""

    above: Distribution
    below: tuple[tuple[float, Distribution], ...]

    def half_width(self, confidence: float) -> float:
        """Of the number below."""
        return float(half_widths(self.below, confidence))

    def pair_half_width(self, ratio: float, confidence: float) -> float:
        """Of X + ratio Y."""
        return float(self.pair_half_widths([ratio], [ratio], confidence)[0])

    def pair_half_widths(self, low: ArrayLike, high: ArrayLike, confidence: float) -> Floats:
        """For each pair of ends an h that holds for every ratio between them: that of the farther end."""
        ratio = np.asarray(np.maximum(np.abs(low), np.abs(high)), dtype=np.float64)
        terms = [(np.ones_like(ratio), self.above), *((ratio * factor, noise) for factor, noise in self.below)]
        return half_widths(terms, confidence)

    def total_half_width(self, count: int, confidence: float) -> float:
        """Of the sum of `count` numbers below: each noise by itself, all of them together with this confidence."""
        each = 1 - (1 - confidence) / len(self.below)
        return float(sum(abs(factor) * noise.sum_half_width(count, each) for factor, noise in self.below))
