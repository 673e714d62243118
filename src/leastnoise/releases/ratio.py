"""Ratios of two sums, one noisy sum over another, with an honest interval.

Which rows. A row adds to both sums or to neither: to both where it has a value in both columns. Fares over miles are
then those of the same trips; a sum over all fares would count trips whose miles are in no sum below. So the sum above
is not the one that `sum` publishes of its column, which is over all rows with a value, and neither may stand for the
other. Ratios of the same two columns, and of the one to the other and back, are of the same rows: their sums are
published once (`measured.paired_name`) and charged once. What one row adds to each is within its column's clip, or
nothing, so the price of both is that of two components of `privacy.unit_cost`.

The interval. S = sum above + X and M = sum below + Y are published, X and Y independent, of one kind of noise and of
different scales. With c = scale(X)/scale(Y), S and cM have noises of equal size. Their ratio t/c, t being the ratio of
the true sums, lies in Fieller's set (`ratio_interval.unlimited_ends`) with the confidence asked for: all that is used
of the noises is that they are independent, and `privacy.noise_sums` bounds every combination of them, whatever the
scales.

The public ends. Every row adds a <= a1 above and b in [b0, b1] below, b0 >= 0. With u = a1/b0 where a1 >= 0, and
u = a1/b1 otherwise, a <= a1 <= u b for each of them: so it is for the sums, and t <= u. (a1 > 0 and b0 = 0 have no such
u: t may be any number then.) The lower end is the same of -a. Values and intervals are kept within both.

Where the 95% interval of the sum below reaches down to zero, a ratio says nothing: it is not a number, its interval
is all that the clips allow, and `enough` is False. The rule reads nothing that is not published.

**Shares of a total**: what each bin has of the sum over all bins, from the noisy numbers of the bins alone.

Let X be the noise of a bin's number v and Y that of the sum w of all others; they are independent. With the root of the
confidence each is within its own half-width, so both are with the confidence, and v/(v + w) lies between its values at
the ends: it grows with v and falls with w where neither is negative. Where values may have both signs, v over the total
is enclosed instead (`ratio_interval.enclosed`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.rounding import next_up
from leastnoise._support.text import rounded
from leastnoise._support.validation import Floats, Number
from leastnoise.privacy.noise_sums import RatioNoise
from leastnoise.releases import ratio_interval
from leastnoise.releases.block import ENOUGH_CONFIDENCE, Blocks, Interval, Overall, Reading, ReadingText, Words
from leastnoise.releases.measure import Measure
from leastnoise.releases.measured import Measured
from leastnoise.releases.release import Release, plain


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio(Reading):
    """Sum over sum, kept within what the clips allow.

    above, below: the blocks of the two sums, of the rows with a value in both columns. names: of the two columns.
    """

    above: str
    below: str
    names: tuple[str, str]
    within: tuple[float, float]

    kind = "ratio"

    @property
    def needs(self) -> tuple[str, ...]:
        """Both sums."""
        return self.above, self.below

    def _scale(self, blocks: Blocks) -> float:
        """c: the sum below times this has noise as wide as that of the sum above."""
        return blocks[self.above].value_noise.scale / blocks[self.below].value_noise.scale

    def _sums(self, blocks: Blocks) -> tuple[Floats, Floats]:
        return blocks[self.above].values.astype(np.float64), blocks[self.below].values.astype(np.float64)

    def reliable(self, blocks: Blocks) -> NDArray[np.bool_]:
        """Whether the noisy sum below is larger than 95% of its noise."""
        noise = blocks[self.below].value_noise.distribution
        return np.asarray(self._sums(blocks)[1] > noise.half_width(ENOUGH_CONFIDENCE))

    def values(self, blocks: Blocks) -> Floats:
        """Sum over sum, within the public ends."""
        (above, below), enough = self._sums(blocks), self.reliable(blocks)
        return np.where(enough, np.clip(above / np.where(enough, below, 1.0), *self.within), np.nan)

    def interval(self, blocks: Blocks, confidence: float) -> Interval:
        """Fieller's interval for each; all that the clips allow where the sum below may be zero."""
        (above, below), c = self._sums(blocks), self._scale(blocks)
        noises = (blocks[name].value_noise.distribution for name in (self.above, self.below))
        noise = RatioNoise(next(noises), ((c, next(noises)),))
        low, high = ratio_interval.unlimited_ends(above, c * below, noise, confidence)
        low, high = np.nextafter(c * low, -np.inf), np.nextafter(c * high, np.inf)
        return Interval(np.clip(low, *self.within), np.clip(high, *self.within))

    def columns(self, blocks: Blocks) -> dict[str, Any]:
        """The sums: `sum` above and `over` below."""
        sums = {"sum": blocks[self.above].values, "over": blocks[self.below].values}
        return {"enough": self.reliable(blocks), **sums}

    def text(self, words: Words, noise: str) -> ReadingText:
        """Sums of two columns: the distribution of their ratio depends on the sum below."""
        above, below = map(words, self.names)
        return ReadingText(
            noun=self.kind,
            label=f"{above} to {below}",
            first_sentence=f"a noisy sum of {above} over a noisy sum of {below} ({noise}), both of the rows in which "
            "neither is missing, released under one guarantee.",
            noisy_number=f"a sum of {above}",
            divisor=f"sum of {below}",
            why_not_denoised="A ratio is a noisy sum over another noisy sum, and how noisy it is depends on a sum that "
            "nobody knows, so no denoiser's law holds. It is not denoised; its interval allows for both.",
        )

    def fits(self, blocks: Blocks) -> bool:
        """Two sums, and two ends."""
        return Reading.fits(self, blocks) and self.within[0] <= self.within[1]


class RatioRelease(Measure):
    """Ratios of sums, one a bin. `above` and `below` are the two sums, of the rows with a value in both columns."""

    __slots__ = ()
    reading: Ratio

    @property
    def names(self) -> tuple[str, str]:
        """The column above, and the one below."""
        return self.reading.names

    @property
    def names_in_words(self) -> tuple[str, str]:
        """What readers call the two columns."""
        return self._words(self.reading.names[0]), self._words(self.reading.names[1])

    @property
    def above(self) -> Release:
        """The sums that are divided."""
        return self._sum(self.reading.above)

    @property
    def below(self) -> Release:
        """The sums that they are divided by."""
        return self._sum(self.reading.below)

    def _sum(self, name: str) -> Release:
        return plain(self.blocks[name], kind="sum", domain=self.domain, provenance=self.provenance)

    def overall(self, confidence: Number = 0.95) -> Overall:
        """The sum over all bins above, over that below, and its interval of this `confidence`.

        The two sums are enclosed separately. Not a number where the one below is too small to tell.
        """
        each = (1 + validation.number("confidence", confidence)) / 2
        above, below = (part.total(confidence=each) for part in (self.above, self.below))
        halves = (above.high - above.value, below.high - below.value)
        low, high = ratio_interval.enclosed((above.value, below.value), halves)
        found = (above.value / below.value if math.isfinite(high) else math.nan, low, high)
        return Overall(*(float(np.clip(end, *self.reading.within)) for end in found))

    def spread_in_words(self, digits: int = 4) -> str:
        """How wide the noise of each sum is, to so many `digits`."""
        stds = (rounded(part.std, digits) for part in (self.above, self.below))
        return " and ".join(
            f"standard deviation {std} of a sum of {name}" for std, name in zip(stds, self.names_in_words, strict=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Reading):
    """What each bin has of the total over all bins.

    shared: the block of the counts or sums that are shared out. column: whose sums they are; None: rows.
    one_sign: whether no two of the values that were added up have different signs. negative: whether they are all at
    or below zero.
    """

    shared: str
    column: str | None = None
    one_sign: bool = True
    negative: bool = False

    kind = "share"

    @property
    def needs(self) -> tuple[str, ...]:
        """The same."""
        return (self.shared,)

    def _numbers(self, blocks: Blocks) -> tuple[Floats, float]:
        """The bins' numbers and their total, with the sign by which the total is above zero. Of values of one sign
        that is public; of others a ratio is the same with both signs turned."""
        values = blocks[self.shared].values.astype(np.float64)
        total = math.fsum(values.tolist())
        turned = self.negative if self.one_sign else total < 0
        return (-values, -total) if turned else (values, total)

    def reliable(self, blocks: Blocks) -> NDArray[np.bool_]:
        """Whether the noisy total is larger than 95% of its noise. The same for all bins."""
        values, total = self._numbers(blocks)
        least = blocks[self.shared].value_noise.distribution.sum_half_width(values.size, ENOUGH_CONFIDENCE)
        return np.full(values.size, total > least)

    def values(self, blocks: Blocks) -> Floats:
        """Each bin's number over the total."""
        values, total = self._numbers(blocks)
        if not self.reliable(blocks).all():
            return np.full(values.size, np.nan)
        found = values / total
        return np.clip(found, 0.0, 1.0) if self.one_sign else found

    def interval(self, blocks: Blocks, confidence: float) -> Interval:
        """Where each share lies, as the module says."""
        values, total = self._numbers(blocks)
        noise, bins = blocks[self.shared].value_noise.distribution, values.size
        if not self.one_sign:
            each = (1 + confidence) / 2
            halves = (noise.half_width(each), noise.sum_half_width(bins, each))
            ends = np.array([ratio_interval.enclosed((value, total), halves) for value in values.tolist()])
            return Interval(ends[:, 0], ends[:, 1])
        each = math.sqrt(confidence)
        own = noise.half_width(each)
        others = noise.sum_half_width(bins - 1, each) if bins > 1 else 0.0
        rest = total - values
        low = _part(np.maximum(values - own, 0.0), np.maximum(rest + others, 0.0), empty=0.0)
        high = _part(np.maximum(values + own, 0.0), np.maximum(rest - others, 0.0), empty=1.0)
        return Interval(np.nextafter(low, -1.0).clip(0), np.nextafter(high, 2.0).clip(0, 1))

    def text(self, words: Words, noise: str) -> ReadingText:
        """The counts or sums are what can be denoised, and their shares follow."""
        counted = "count" if self.column is None else "sum"
        return ReadingText(
            noun=self.kind,
            label=self.column,
            first_sentence=f"a noisy {counted} over the sum of all noisy {counted}s in the bins listed ({noise}).",
            noisy_number=f"a {counted}",
            divisor="total",
            why_not_denoised=f"A share is a noisy {counted} over the noisy total, and its interval allows for both. It "
            f"is not denoised: denoise the {counted}s, and divide by their sum.",
        )


def _part(own: Floats, others: Floats, *, empty: float) -> Floats:
    whole = own + others
    return np.where(whole > 0, own / np.where(whole > 0, whole, 1.0), empty)
