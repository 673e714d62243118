"""Variances and standard deviations: a noisy sum of squares, a noisy sum and a noisy count, and an honest interval.

With t in [-1, 1] the centred values over half the clip's width, theta their mean and V their variance, the published
numbers are S = sum t, Q = sum (2 t^2 - 1) and N, each with noise of known law, and for the true theta and V

    L(theta, V) = Q/2 - 2 theta S + (theta^2 + 1/2 - V) N

is noise alone: without noise it is n (V + theta^2) - 2 n theta^2 + n theta^2 - n V = 0. So |L| <= h(theta, V), a
half-width of the same combination of the noises, with the confidence asked for. V follows for each theta, and theta
lies in its own interval (Fieller's, as of a mean) with the rest of the confidence: a tenth of the chance to miss. All
V of any theta in there are in the interval. L changes with theta only to second order around S/N, so that little is
lost to the delta method where that is right; and nothing is assumed where it is not.

Where the 95% interval of the count reaches down to zero, the rows are too few to tell, as for a mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.privacy.noise_sums import RatioNoise, half_widths
from leastnoise.releases import ratio_interval
from leastnoise.releases.block import ENOUGH_CONFIDENCE, Blocks, Interval, Reading, ReadingText, Words, difference
from leastnoise.releases.noise import Noise

OF_THE_MEAN = 0.1  # of the chance to miss
ROUNDS = 4  # in which what is known of V narrows the factor of N's noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Variance(Reading):
    """Mean square less squared mean, or with `root` the standard deviation.

    squares, sum: the blocks of Q and S. rows: those that add up to N, the first less the others (rows without a value).
    span: what a number of `sum` is divided by to be S. half_range: half the clip's width: values are within that of its
    middle. rounding: by which one row's part of Q may be off. column: whose variance it is.
    """

    squares: str
    sum: str
    rows: tuple[str, ...]
    span: int
    half_range: float
    rounding: float
    root: bool = False
    column: str | None = None

    @property
    def kind(self) -> str:
        """Which of the two."""
        return "std" if self.root else "variance"

    @property
    def needs(self) -> tuple[str, ...]:
        """Squares, sum and rows."""
        return self.squares, self.sum, *self.rows

    def _sum_noise(self, blocks: Blocks) -> Noise:
        return blocks[self.sum].number_noise.times(1 / self.span)

    def _count_noise(self, blocks: Blocks) -> RatioNoise:
        below = tuple((1.0, blocks[name].value_noise.distribution) for name in self.rows)
        return RatioNoise(self._sum_noise(blocks).distribution, below)

    def counts(self, blocks: Blocks) -> Floats:
        """N, bin by bin."""
        return difference(blocks, self.rows)

    def _sums(self, blocks: Blocks) -> tuple[Floats, Floats]:
        return blocks[self.sum].numbers / self.span, blocks[self.squares].values.astype(np.float64)

    def reliable(self, blocks: Blocks) -> NDArray[np.bool_]:
        """Whether the noisy count is larger than 95% of its noise."""
        return np.asarray(self.counts(blocks) > self._count_noise(blocks).half_width(ENOUGH_CONFIDENCE))

    def values(self, blocks: Blocks) -> Floats:
        """Mean square less squared mean, at least 0."""
        enough, (sums, squares) = self.reliable(blocks), self._sums(blocks)
        n = np.where(enough, self.counts(blocks), 1.0)
        found = np.clip((squares / n + 1) / 2 - np.clip(sums / n, -1, 1) ** 2, 0.0, 1.0)
        return np.where(enough, self._in_unit(found), np.nan)

    def interval(self, blocks: Blocks, confidence: float) -> Interval:
        """All that the clip allows where the count may be zero."""
        miss, (sums, squares), counts = 1 - confidence, self._sums(blocks), self.counts(blocks)
        low, high = np.zeros(counts.size), np.ones(counts.size)
        known = counts > self._count_noise(blocks).half_width(1 - OF_THE_MEAN * miss)
        if known.any():
            low[known], high[known] = self._ends(blocks, sums[known], squares[known], counts[known], miss)
        return Interval(np.nextafter(self._in_unit(low), -np.inf).clip(0), np.nextafter(self._in_unit(high), np.inf))

    def _ends(self, blocks: Blocks, s: Floats, q: Floats, n: Floats, miss: float) -> tuple[Floats, Floats]:
        of_count = self._count_noise(blocks)
        first, last = ratio_interval.ends(s, n, of_count, 1 - OF_THE_MEAN * miss)

        def at(theta: Floats) -> Floats:
            return q / 2 - 2 * theta * s + (theta**2 + 0.5) * n

        most, least = np.maximum(at(first), at(last)), at(np.clip(s / n, first, last))
        farthest = np.maximum(np.abs(first), np.abs(last))
        nearest = np.where(first * last <= 0, 0.0, np.minimum(np.abs(first), np.abs(last)))
        low, high = np.zeros_like(n), 1 - nearest**2
        # n is the true count at most, with the confidence that N is known to; each row's square is rounded
        rounding = self.rounding * (n + of_count.half_width(1 - OF_THE_MEAN * miss))
        for _ in range(ROUNDS):
            factor = np.maximum(np.abs(farthest**2 + 0.5 - low), np.abs(nearest**2 + 0.5 - high))
            terms = [
                (np.full_like(n, 0.5), blocks[self.squares].value_noise.distribution),
                (2 * farthest, self._sum_noise(blocks).distribution),
                *((factor, blocks[name].value_noise.distribution) for name in self.rows),
            ]
            half = half_widths(terms, 1 - (1 - OF_THE_MEAN) * miss) + rounding
            low, high = np.maximum(low, (least - half) / n), np.minimum(high, (most + half) / n)
            low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
        return np.minimum(low, high), high

    def _in_unit(self, variance: Floats) -> Floats:
        return self.half_range * np.sqrt(variance) if self.root else self.half_range**2 * variance

    def columns(self, blocks: Blocks) -> dict[str, Any]:
        """`enough` and `count`."""
        return {"enough": self.reliable(blocks), "count": self.counts(blocks)}

    def text(self, words: Words, noise: str) -> ReadingText:
        """Three noisy numbers: no law of one noise holds for what is computed from them."""
        noun = "standard deviation" if self.root else "variance"
        return ReadingText(
            noun=noun,
            label=self.column,
            first_sentence=f"from a noisy sum of squares, a noisy sum and a noisy count ({noise}), released under one "
            "guarantee.",
            noisy_number="a centred sum of squares",
            divisor="count",
            why_not_denoised=f"A {noun} is computed from a noisy sum of squares, a noisy sum and a noisy count, and no "
            "denoiser knows the law of that. It is not denoised; its interval allows for all three.",
        )

    def fits(self, blocks: Blocks) -> bool:
        """Three blocks or more, and a clip."""
        return Reading.fits(self, blocks) and bool(self.rows) and self.span > 0 and self.half_range > 0
