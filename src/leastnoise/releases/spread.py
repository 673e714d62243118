"""Variances and standard deviations: a noisy sum of squares, a noisy sum and a noisy count, and an honest interval.

With t in [-1, 1] the centred values over half the clip's width, theta their mean and V their variance, the published
numbers are S = sum t, Q = sum (2 t^2 - 1) and N, each with noise of known law, and for the true theta and V

    L(theta, V) = Q/2 - 2 theta S + (theta^2 + 1/2 - V) N

is noise alone: without noise it is n (V + theta^2) - 2 n theta^2 + n theta^2 - n V = 0. So |L| <= h(theta, V), a
half-width of the same combination of the noises, with the confidence asked for. V follows for each theta, and theta
lies in its own interval (Fieller's, as of a mean) with the rest of the confidence: a tenth of the chance to miss. All
V of any theta in there are in the interval. L changes with theta only to second order around S/N, so that little is
lost to the delta method where that is right; and nothing is assumed where it is not.

Where the 95 % interval of the count reaches down to zero, the rows are too few to tell, as for a mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.validation import Floats, Number
from leastnoise.domain import Domain
from leastnoise.privacy.ratio_noise import RatioNoise
from leastnoise.privacy.weighted_noise import half_widths
from leastnoise.releases import ratio_interval
from leastnoise.releases.columns import key_columns
from leastnoise.releases.interval import Interval
from leastnoise.releases.mean import ENOUGH_CONFIDENCE
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.summary_part import SummaryPart

OF_THE_MEAN = 0.1  # of the chance to miss
ROUNDS = 4  # in which what is known of V narrows the factor of N's noise


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SpreadRelease(SummaryPart):
    """Variances, or with `root` standard deviations, one a bin.

    sums, squares, counts: S, Q and N above, as published. `noise` is that of Q.
    """

    sums: Floats
    squares: Floats
    counts: Floats
    noise: Noise
    sum_noise: Noise
    count_noise: tuple[Noise, ...]
    half_range: float  # half the clip's width: values are within that of its middle
    rounding: float  # by which one row's part of Q may be off
    root: bool = False
    domain: Domain | None = None
    column: str | None = None
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def kind(self) -> str:
        """Which of the two."""
        return "std" if self.root else "variance"

    @property
    def noun(self) -> str:
        """In words."""
        return "standard deviation" if self.root else "variance"

    @property
    def noise_added_to(self) -> str:
        """What the noise was added to."""
        return "a centred sum of squares"

    @property
    def bins(self) -> int:
        """How many."""
        return int(self.counts.size)

    @property
    def _ratio_noise(self) -> RatioNoise:
        below = tuple((1.0, one.distribution) for one in self.count_noise)
        return RatioNoise(self.sum_noise.distribution, below)

    @property
    def enough(self) -> NDArray[np.bool_]:
        """Whether it can be told: the noisy count is larger than 95 % of its noise."""
        return np.asarray(self.counts > self._ratio_noise.half_width(ENOUGH_CONFIDENCE))

    @property
    def values(self) -> Floats:
        """Mean square less squared mean, at least 0; not a number (NaN) where the rows are too few to tell."""
        enough = self.enough
        n = np.where(enough, self.counts, 1.0)
        found = np.clip((self.squares / n + 1) / 2 - np.clip(self.sums / n, -1, 1) ** 2, 0.0, 1.0)
        return np.where(enough, self._in_unit(found), np.nan)

    def interval(self, confidence: Number = 0.95) -> Interval:
        """Where the truth lies with this `confidence`, each bin by itself; all that the clip allows where the count
        may be zero."""
        confidence = validation.number("confidence", confidence)
        miss = 1 - confidence
        low, high = np.zeros(self.bins), np.ones(self.bins)
        known = self.counts > self._ratio_noise.half_width(1 - OF_THE_MEAN * miss)
        if known.any():
            s, q, n = (part[known] for part in (self.sums, self.squares, self.counts))
            low[known], high[known] = self._ends(s, q, n, miss)
        return Interval(np.nextafter(self._in_unit(low), -np.inf).clip(0), np.nextafter(self._in_unit(high), np.inf))

    def _ends(self, s: Floats, q: Floats, n: Floats, miss: float) -> tuple[Floats, Floats]:
        first, last = ratio_interval.ends(s, n, self._ratio_noise, 1 - OF_THE_MEAN * miss)

        def at(theta: Floats) -> Floats:
            return q / 2 - 2 * theta * s + (theta**2 + 0.5) * n

        most, least = np.maximum(at(first), at(last)), at(np.clip(s / n, first, last))
        farthest = np.maximum(np.abs(first), np.abs(last))
        nearest = np.where(first * last <= 0, 0.0, np.minimum(np.abs(first), np.abs(last)))
        low, high = np.zeros_like(n), 1 - nearest**2
        # n is the true count at most, with the confidence that N is known to; each row's square is rounded
        rounding = self.rounding * (n + self._ratio_noise.half_width(1 - OF_THE_MEAN * miss))
        for _ in range(ROUNDS):
            factor = np.maximum(np.abs(farthest**2 + 0.5 - low), np.abs(nearest**2 + 0.5 - high))
            terms = [
                (np.full_like(n, 0.5), self.noise.distribution),
                (2 * farthest, self.sum_noise.distribution),
                *((factor, one.distribution) for one in self.count_noise),
            ]
            half = half_widths(terms, 1 - (1 - OF_THE_MEAN) * miss) + rounding
            low, high = np.maximum(low, (least - half) / n), np.minimum(high, (most + half) / n)
            low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
        return np.minimum(low, high), high

    def _in_unit(self, variance: Floats) -> Floats:
        return self.half_range * np.sqrt(variance) if self.root else self.half_range**2 * variance

    @property
    def why_not_denoised(self) -> str:
        """No law of one noise holds for what is computed from three noisy numbers."""
        return (
            f"A {self.noun} is computed from a noisy sum of squares, a noisy sum and a noisy count, and no denoiser "
            "knows the law of that. It is not denoised; its interval allows for all three."
        )

    def explain(self) -> str:
        """What was protected, how well, and what the noise is, in plain words."""
        many = f"{self.bins:,} {self.noun}s, each" if self.bins != 1 else f"1 {self.noun},"
        return (
            f"{many} from a noisy sum of squares, a noisy sum and a noisy count ({self.mechanism.capitalize()} noise), "
            f"released under one guarantee.\n{self.promise_in_words(self.errors_in_words())}"
        )

    def __repr__(self) -> str:
        return f"<SpreadRelease of {self.bins:,} {self.noun}s, {self.mechanism} noise{self._seeded_mark}>"

    def _columns(self) -> dict[str, Any]:
        """Key columns, `variance` or `std`, `low` and `high` (95 %), `enough` and `count`."""
        keys = {} if self.domain is None else dict(key_columns(self.domain, self.bins))
        low, high = self.interval(0.95)
        return {**keys, self.kind: self.values, "low": low, "high": high, "enough": self.enough, "count": self.counts}
