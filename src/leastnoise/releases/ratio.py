"""Ratios of two sums, one noisy sum over another, with an honest interval.

Which rows. A row adds to both sums or to neither: to both where it has a value in both columns. Fares over miles are
then those of the same trips; a sum over all fares would count trips whose miles are in no sum below. So the sum above
is not the one that `sum` publishes of its column, which is over all rows with a value, and neither may stand for the
other. Ratios of the same two columns, and of the one to the other and back, are of the same rows: their sums are
published once (`measured.paired_name`) and charged once. What one row adds to each is within its column's clip, or
nothing, so the price of both is that of two parts of `privacy.joint_cost`.

The interval. S = sum above + X and M = sum below + Y are published, X and Y independent, of one kind of noise and of
different scales. With c = scale(X)/scale(Y), S and cM have noises of equal size. Their ratio t/c, t being the ratio of
the true sums, lies in Fieller's set (`ratio_interval.unlimited_ends`) with the confidence asked for: all that is used
of the noises is that they are independent, and `privacy.weighted_noise` bounds every combination of them, whatever the
scales.

The public ends. Every row adds a <= a1 above and b in [b0, b1] below, b0 >= 0. With u = a1/b0 where a1 >= 0, and
u = a1/b1 otherwise, a <= a1 <= u b for each of them: so it is for the sums, and t <= u. (a1 > 0 and b0 = 0 have no such
u: t may be any number then.) The lower end is the same of -a. Values and intervals are kept within both.

Where the 95 % interval of the sum below reaches down to zero, a ratio says nothing: it is not a number, its interval
is all that the clips allow, and `enough` is False. The rule reads nothing that is not published.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.directed_rounding import next_up
from leastnoise._support.number_format import rounded
from leastnoise._support.validation import Floats, Number
from leastnoise.domain import Domain
from leastnoise.privacy.ratio_noise import RatioNoise
from leastnoise.releases import fieller, ratio_interval
from leastnoise.releases.columns import key_columns
from leastnoise.releases.interval import Interval, Overall
from leastnoise.releases.mean import ENOUGH_CONFIDENCE
from leastnoise.releases.measured import Measured
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.release import Release
from leastnoise.releases.summary_part import SummaryPart


def public_ends(above: Measured, below: Measured) -> tuple[float, float]:
    """Between which numbers a ratio lies, whatever the rows are.

    above, below: the columns of the two sums.
    """
    least = _end(above.lowest, below.highest if above.lowest >= 0 else below.lowest, -math.inf)
    most = _end(above.highest, below.lowest if above.highest >= 0 else below.highest, math.inf)
    scale = above.grid / below.grid  # both are powers of two
    return (-next_up(-least * scale) if least else 0.0), (next_up(most * scale) if most else 0.0)


def _end(above: int, below: int, otherwise: float) -> float:
    return above / below if below else otherwise if above else 0.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RatioRelease(SummaryPart):
    """Ratios of sums, one a bin. `above` and `below` are the two sums, of the rows with a value in both columns."""

    above: Release
    below: Release
    names: tuple[str, str]  # of the two columns
    within: tuple[float, float]  # what the clips allow

    @property
    def noise(self) -> Noise:
        """The noise of a sum above."""
        return self.above.noise

    @property
    def provenance(self) -> Provenance:
        """One guarantee for both sums together."""
        return self.above.provenance

    @property
    def domain(self) -> Domain | None:
        """The bins."""
        return self.above.domain

    @property
    def kind(self) -> str:
        """Ratios."""
        return "ratio"

    @property
    def names_in_words(self) -> tuple[str, str]:
        """What readers call the two columns."""
        return self._words(self.names[0]), self._words(self.names[1])

    @property
    def column(self) -> str:
        """Of what to what."""
        return f"{self.names_in_words[0]} to {self.names_in_words[1]}"

    @property
    def noise_added_to(self) -> str:
        """What the noise was added to."""
        return f"a sum of {self.names_in_words[0]}"

    @property
    def divided_by(self) -> str:
        """What may be too small."""
        return f"sum of {self.names_in_words[1]}"

    @property
    def bins(self) -> int:
        """How many ratios."""
        return self.above.bins

    @property
    def _scale(self) -> float:
        """c: the sum below times this has noise as wide as that of the sum above."""
        return self.above.scale / self.below.scale

    @property
    def _noise_of_both(self) -> RatioNoise:
        return RatioNoise(self.above.distribution, ((self._scale, self.below.distribution),))

    @property
    def _sums(self) -> tuple[Floats, Floats]:
        return self.above.values.astype(np.float64), self.below.values.astype(np.float64)

    @property
    def enough(self) -> NDArray[np.bool_]:
        """Whether a ratio can be told: the noisy sum below is larger than 95 % of its noise."""
        return np.asarray(self._sums[1] > self.below.distribution.half_width(ENOUGH_CONFIDENCE))

    @property
    def values(self) -> Floats:
        """Sum over sum, kept within what the clips allow; not a number (NaN) where the sum below is too small."""
        (above, below), enough = self._sums, self.enough
        return np.where(enough, np.clip(above / np.where(enough, below, 1.0), *self.within), np.nan)

    def interval(self, confidence: Number = 0.95) -> Interval:
        """Fieller's interval of this `confidence` for each ratio; all that the clips allow where the sum below may be
        zero."""
        confidence = validation.number("confidence", confidence)
        (above, below), c = self._sums, self._scale
        low, high = ratio_interval.unlimited_ends(above, c * below, self._noise_of_both, confidence)
        low, high = np.nextafter(c * low, -np.inf), np.nextafter(c * high, np.inf)
        return Interval(np.clip(low, *self.within), np.clip(high, *self.within))

    def overall(self, confidence: Number = 0.95) -> Overall:
        """The sum over all bins above, over that below, and its interval of this `confidence`.

        The two sums are enclosed separately. Not a number where the one below is too small to tell.
        """
        each = (1 + validation.number("confidence", confidence)) / 2
        above, below = (part.total(confidence=each) for part in (self.above, self.below))
        halves = (above.high - above.value, below.high - below.value)
        low, high = fieller.enclosed((above.value, below.value), halves)
        found = (above.value / below.value if math.isfinite(high) else math.nan, low, high)
        return Overall(*(float(np.clip(end, *self.within)) for end in found))

    @property
    def why_not_denoised(self) -> str:
        """The law of a ratio depends on the sum below, which nobody knows."""
        return (
            "A ratio is a noisy sum over another noisy sum, and how noisy it is depends on a sum that nobody knows, so "
            "no denoiser's law holds. It is not denoised; its interval allows for both."
        )

    def explain(self) -> str:
        """What was protected, how well, and what the noise is, in plain words."""
        many = f"{self.bins:,} ratios, each" if self.bins != 1 else "1 ratio,"
        return (
            f"{many} a noisy sum of {self.names_in_words[0]} over a noisy sum of {self.names_in_words[1]} "
            f"({self.mechanism.capitalize()} noise), both of the rows in which neither is missing, released under one "
            f"guarantee.\n{self.promise_in_words(self.errors_in_words())}"
        )

    def spread_in_words(self, digits: int = 4) -> str:
        """How wide the noise of each sum is, to so many `digits`."""
        stds = (rounded(part.std, digits) for part in (self.above, self.below))
        return " and ".join(
            f"standard deviation {std} of a sum of {name}" for std, name in zip(stds, self.names_in_words, strict=True)
        )

    def __repr__(self) -> str:
        return f"<RatioRelease of {self.bins:,} ratios, {self.mechanism} noise{self._seeded_mark}>"

    def _columns(self) -> dict[str, Any]:
        """Key columns, `ratio`, `low` and `high` (95 %), `enough`, and the sums: `sum` above and `over` below."""
        keys = {} if self.domain is None else dict(key_columns(self.domain, self.bins))
        low, high = self.interval(0.95)
        sums = {"sum": self.above.values, "over": self.below.values}
        return {**keys, "ratio": self.values, "low": low, "high": high, "enough": self.enough, **sums}
