"""Units by the value of one of their rows, with noise: in classes of both signs around one for zero, at several levels.

At each level there are as many classes below zero as above it, the nearest to zero in the middle (`VALUE_LEVELS`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.domain.size_classes import VALUE_ENDS, VALUE_LEVELS
from leastnoise.releases import unit_size_fit
from leastnoise.releases.unit_size_fit import Fit

# Less than this on one side of zero is taken for nothing: one standard deviation, or three where these are a part of
# all values that is small. To miss a side costs all of its values; to count one that is empty costs a sum nothing, and
# doubles the noise of a mean.
VISIBLE, SURELY, SMALL = 1.0, 3.0, 0.02
# Octaves, as a standard deviation of the median of |value|: where more is open, no clip is better than a guess.
UNKNOWN = 3.0
Side = Literal[1, -1]  # of zero


@dataclass(frozen=True, slots=True, eq=False)
class SignedCounts:
    """The counts of each level, the finest first, and the standard deviation of their noise."""

    levels: tuple[tuple[Floats, float], ...]

    @property
    def zeros(self) -> float:
        """How many units have the value zero, or one so near to it that it counts as zero: by inverse variance, for
        every level has a class for it."""
        weights = [1 / std**2 for _, std in self.levels]
        found = [float(noisy[noisy.size // 2]) for noisy, _ in self.levels]
        return max(float(np.average(found, weights=weights)), 0.0)

    @property
    def finest(self) -> SignedCounts:
        """The finest level alone."""
        return SignedCounts(self.levels[:1])

    def one_side(self, side: Side) -> Fit:
        """Which counts there may be on one side of zero."""
        return unit_size_fit.of_values(*self._side(side))

    def both_sides(self) -> Fit:
        """Which counts of |value| there may be."""
        both = zip(self._side(1), self._side(-1), strict=True)
        return unit_size_fit.of_values(*((above + below, std * math.sqrt(2)) for (above, std), (below, _) in both))

    @property
    def hidden(self) -> bool:
        """Whether noise hides how large values are, to the order of magnitude: how far the medians of |value| are apart
        over the tables that the counts cannot tell apart. Values of zero count for nothing here."""
        counts = self.both_sides().counts
        upto = np.cumsum(counts, axis=1)
        medians = np.log2(np.array(VALUE_ENDS[1:]))[(upto < upto[:, -1:] / 2).sum(axis=1)]
        return float(medians.std()) > UNKNOWN

    def visible(self, side: Side, expected: Floats) -> bool:
        """Whether there are values on this side of zero, of the counts that are expected of both sides.

        By least squares their part of all is sum(noisy . expected / std^2) / sum(|expected|^2 / std^2) over all levels,
        and the inverse of the square root of that denominator is its standard deviation.
        """
        found = known = 0.0
        for (noisy, std), wide in zip(self._side(side), VALUE_LEVELS.values(), strict=False):
            there = np.bincount(np.arange(expected.size) >> wide, weights=expected, minlength=noisy.size)
            found, known = found + float(noisy @ there) / std**2, known + float(there @ there) / std**2
        if not known:
            return False
        off = 1 / math.sqrt(known)
        return found / known > max(VISIBLE * off, min(SURELY * off, SMALL))

    def _side(self, side: Side) -> list[tuple[Floats, float]]:
        """The counts on one side of zero, the nearest to it first."""
        return [(noisy[noisy.size // 2 :: side][1:], std) for noisy, std in self.levels]
