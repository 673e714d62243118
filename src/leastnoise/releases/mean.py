"""Means: sums and counts released together, and their ratio with an honest interval.

Per bin, S is the noisy sum of values centred at the middle of the clip and c N the noisy count times c, half the
clip's width; both have the same noise. The mean is centre + S/N, and its interval is Fieller's, with the exact
distribution of the noise: all theta with |S - theta N| <= h(theta), where X - (theta/c) Y lies within h(theta) with the
confidence asked for, X and Y being two draws of the noise (`ratio_interval`).

A group may be too small for that. Where the 95% interval of its count reaches down to zero, a ratio says nothing: its
mean is not a number, its interval the whole clip, and `enough` is False. The rule looks at the noisy count and the
noise alone, so it tells nothing that is not public. (A group without rows passes it one time in forty.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.text import rounded
from leastnoise._support.validation import Floats, Number
from leastnoise.domain import Domain
from leastnoise.privacy.distributions import Distribution
from leastnoise.privacy.noise_plan import NoiseReason
from leastnoise.privacy.noise_sums import RatioNoise
from leastnoise.releases import ratio_interval
from leastnoise.releases.block import (
    ENOUGH_CONFIDENCE,
    Block,
    Blocks,
    Interval,
    Overall,
    Reading,
    ReadingText,
    Words,
    difference,
)
from leastnoise.releases.display import too_few_in_words
from leastnoise.releases.measure import Measure
from leastnoise.releases.noise import Noise
from leastnoise.releases.published import Published
from leastnoise.releases.release import Release
from leastnoise.releases.selected import Selected


@dataclass(frozen=True, slots=True)
class HalfWidths:
    """How far off what is published may be: every sum, every count, and a mean times the number of its rows."""

    sum: float
    count: float
    mean_times_rows: float


def half_widths(
    distribution: Distribution | RatioNoise, *, centre: float, half_range: float, confidence: float = 0.95
) -> HalfWidths:
    """From public facts alone. With X the noise of S and Y that of c N, both of this distribution:

    The sum of the values is S + centre N, off by X + (centre/c) Y. The count is off by Y/c. The mean of n rows, theta
    away from the centre, is more than e too large only if X - ((theta + e)/c) Y > e n; and where |theta + e| > c the
    clip forbids it. So h/n holds for every theta, h being a half-width of X + r Y for every r from 0 to 1; it is the
    least where theta = c.
    """
    edges = np.linspace(0.0, 1.0, ratio_interval.PIECES + 1)
    return HalfWidths(
        distribution.pair_half_width(centre / half_range, confidence),
        distribution.half_width(confidence) / half_range,
        float(distribution.pair_half_widths(edges[:-1], edges[1:], confidence).max()),
    )


def centred(reason: NoiseReason | None, note: str) -> str:
    """The note on why this noise was chosen; where it compares standard deviations, of what they are."""
    compared = reason is not None and reason.other_std is not None
    return f"{note} (These are of a sum centred in the clip.)" if compared else note


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(Reading):
    """centre + S/N, kept within the clip.

    sum: the block of centred sums, one a bin. rows: those that add up to N, the first less the others (rows without a
    value), one a bin, or one for all components of a vector. half_range: c, half the clip's width, or the norm that
    vectors were clipped to. within: the clip. column: whose means they are; None: not known. rate: whether they are
    shares of rows for which the condition `column` holds. threshold: of keys that nobody listed, which show because
    their noisy rows reached it.
    """

    sum: str
    rows: tuple[str, ...]
    centre: float
    half_range: float
    within: tuple[float, float]
    column: str | None = None
    rate: bool = False
    threshold: int | None = None

    @property
    def kind(self) -> str:
        """Means, or rates, which are means of noughts and ones."""
        return "rate" if self.rate else "mean"

    @property
    def needs(self) -> tuple[str, ...]:
        """Sums and rows."""
        return self.sum, *self.rows

    def is_alike(self, blocks: Blocks) -> bool:
        """Whether S and c N were published as numbers of one kind, with the same noise."""
        return len(self.rows) == 1 and blocks[self.sum].noise == blocks[self.rows[0]].noise

    def noise(self, blocks: Blocks) -> Distribution | RatioNoise:
        """The noise of S and that of c N."""
        of_sum = blocks[self.sum].value_noise.distribution
        if self.is_alike(blocks):
            return of_sum
        return RatioNoise(of_sum, tuple((self.half_range, one.distribution) for one in self.count_noises(blocks)))

    def count_noises(self, blocks: Blocks) -> tuple[Noise, ...]:
        """The noises of N, which add up."""
        return tuple(blocks[name].value_noise for name in self.rows)

    def sums(self, blocks: Blocks) -> Floats:
        """S, bin by bin."""
        return blocks[self.sum].values.astype(np.float64)

    def counts(self, blocks: Blocks) -> Floats:
        """N, bin by bin (one for all components of a vector)."""
        if self.is_alike(blocks):
            return self._scaled(blocks) / self.half_range
        return difference(blocks, self.rows)

    def _scaled(self, blocks: Blocks) -> Floats:
        """c N, as it was published where it was."""
        if self.is_alike(blocks):
            return blocks[self.rows[0]].numbers.astype(np.float64) * blocks[self.sum].unit
        return self.counts(blocks) * self.half_range

    def _scaled_each(self, blocks: Blocks) -> Floats:
        return np.broadcast_to(self._scaled(blocks), self.sums(blocks).shape)

    def reliable(self, blocks: Blocks) -> NDArray[np.bool_]:
        """Whether the noisy count is larger than 95% of its noise, so that its interval is above zero."""
        if self.threshold is not None:
            return np.asarray(self._rows_given_shown(blocks, 1 - (1 - ENOUGH_CONFIDENCE) / len(self.rows))[0] > 0)
        return np.asarray(self._scaled_each(blocks) > self.noise(blocks).half_width(ENOUGH_CONFIDENCE))

    def values(self, blocks: Blocks) -> Floats:
        """centre + S/N, within the clip."""
        enough = self.reliable(blocks)
        ratio = self.sums(blocks) / np.where(enough, self.counts(blocks), 1.0)
        return np.where(enough, np.clip(self.centre + ratio, *self.within), np.nan)

    def interval(self, blocks: Blocks, confidence: float) -> Interval:
        """Fieller's interval of each mean; the whole clip where the count may be zero."""
        if self.threshold is not None:
            return self._interval_given_shown(blocks, confidence)
        low, high = ratio_interval.ends(self.sums(blocks), self._scaled_each(blocks), self.noise(blocks), confidence)
        low, high = np.nextafter(self.half_range * low, -np.inf), np.nextafter(self.half_range * high, np.inf)
        return self._within(low, high)

    def _within(self, low: Floats, high: Floats) -> Interval:
        """The ends of S/N as ends of the mean."""
        low, high = np.nextafter(self.centre + low, -np.inf), np.nextafter(self.centre + high, np.inf)
        return Interval(np.clip(low, *self.within), np.clip(high, *self.within))

    def _interval_given_shown(self, blocks: Blocks, confidence: float) -> Interval:
        """The rows within an interval that holds given that they show, and sum and missing rows, whose noise decided
        nothing, within theirs: all together with this confidence, and the mean between what these allow."""
        each = 1 - (1 - confidence) / (1 + len(self.rows))
        fewest, most = self._rows_given_shown(blocks, each)
        half, sums = blocks[self.sum].value_noise.distribution.half_width(each), self.sums(blocks)
        low, high = sums - half, sums + half
        few, many = np.maximum(fewest, 1e-300), np.maximum(most, 1e-300)
        least = np.where(fewest > 0, np.where(low < 0, low / few, low / many), -self.half_range)
        largest = np.where(fewest > 0, np.where(high > 0, high / few, high / many), self.half_range)
        return self._within(least, largest)

    def _rows_given_shown(self, blocks: Blocks, confidence: float) -> tuple[Floats, Floats]:
        """Between how many rows have a value: the rows given that they show, less the missing ones, each with this
        confidence."""
        assert self.threshold is not None
        rows = Selected(block=self.rows[0], threshold=self.threshold)
        fewest, most = (end.astype(np.float64) for end in rows.interval(blocks, confidence))
        missing = rows.values(blocks) - self.counts(blocks)  # 0 where rows without a value were left out
        off = sum(one.distribution.half_width(confidence) for one in self.count_noises(blocks)[1:])
        return fewest - missing - off, most - missing + off

    def columns(self, blocks: Blocks) -> dict[str, Any]:
        """`enough`, `sum` and `count`."""
        sums = self.sums(blocks)
        count = np.broadcast_to(self.counts(blocks), sums.shape)
        total = sums + self.centre * count  # of the values themselves, not of their distances from the centre
        return {"enough": self.reliable(blocks), "sum": total, "count": count}

    def text(self, words: Words, noise: str) -> ReadingText:
        """A sum over a count: the distribution of such a ratio depends on the count."""
        return ReadingText(
            noun=self.kind,
            label=self.column,
            first_sentence=f"a noisy sum over a noisy count ({noise}), released under one guarantee.",
            noisy_number="a centred sum",
            divisor="count",
            why_not_denoised=f"A {self.kind} is a noisy sum over a noisy count, and how noisy it is depends on a count "
            "that nobody knows, so no denoiser's law holds. It is not denoised; its interval allows for both.",
        )

    def fits(self, blocks: Blocks) -> bool:
        """Sums and counts, alike in number or one count for all; and a clip."""
        if not Reading.fits(self, blocks) or not self.rows:
            return False
        sizes = {blocks[name].numbers.size for name in self.rows}
        return sizes <= {1, blocks[self.sum].numbers.size} and self.half_range > 0 and self.within[0] < self.within[1]


class MeanRelease(Measure):
    """Means, one a bin or one a coordinate, from blocks of sums and counts.

    `noise` is that of each centred sum; what it means for the columns that are published, `half_widths` has.
    """

    __slots__ = ()
    reading: Mean

    _what = "mean release"
    _unnamed = "component"

    @classmethod
    def of(
        cls,
        published: Release,
        *,
        centre: float,
        half_range: float,
        within: tuple[float, float],
        domain: Domain | None = None,
        column: str | None = None,
    ) -> MeanRelease:
        """Of sums and counts times `half_range` that were published together, the sums first: a count for each bin of
        the domain, or, of the components of a vector, one for all."""
        bins = published.bins - 1 if domain is None else published.bins // 2
        axes = () if domain is None else domain.names
        sums, counts = (published.values[part].copy() for part in (slice(0, bins), slice(bins, None)))
        return cls(
            blocks={
                "sum": Block(sums, axes, published.noise),
                "rows": Block(counts, axes, published.noise, 1 / half_range),
            },
            reading=Mean(sum="sum", rows=("rows",), centre=centre, half_range=half_range, within=within, column=column),
            domain=domain,
            provenance=published.provenance,
        )

    def _fits(self) -> dict[str, bool]:
        rows = [self.blocks[name].numbers.size for name in self.reading.rows if name in self.blocks]
        return Measure._fits(self) | {"domain": self.domain is None or {self.domain.size} == {self.bins, *rows}}

    @property
    def note(self) -> str:
        """Why this noise was chosen."""
        return centred(self.provenance.reason, Published.note.__get__(self))

    @property
    def centre(self) -> float:
        """The middle of the clip."""
        return self.reading.centre

    @property
    def within(self) -> tuple[float, float]:
        """The clip."""
        return self.reading.within

    @property
    def sums(self) -> Floats:
        """Noisy sums of the centred values."""
        return self.reading.sums(self.blocks)

    @property
    def counts(self) -> Floats:
        """Noisy counts (one for all components of a vector)."""
        return self.reading.counts(self.blocks)

    def overall(self, confidence: Number = 0.95) -> Overall:
        """The mean over all bins, each row counting alike, and its interval of this `confidence`.

        Sum and count are enclosed separately. Not a number where the rows are too few to tell.
        """
        if self.domain is None and self.bins > 1:
            raise errors.InvalidParameter("The components of a vector's mean are no bins: there is no mean over them.")
        each, c = (1 + validation.number("confidence", confidence)) / 2, self.reading.half_range
        noise, of_sum = self.reading.noise(self.blocks), self.distribution
        reach = noise.total_half_width(self.bins, each) if isinstance(noise, RatioNoise) else None
        top, off = math.fsum(self.sums.tolist()), of_sum.sum_half_width(self.bins, each)
        bottom = math.fsum(self.counts.tolist()) * c
        less = of_sum.sum_half_width(self.counts.size, each) if reach is None else reach
        if bottom - less <= 0:
            return Overall(math.nan, *self.reading.within)
        ends = [total / count for total in (top - off, top + off) for count in (bottom - less, bottom + less)]
        found = (top / bottom, min(ends), max(ends))
        return Overall(*(float(np.clip(self.centre + c * end, *self.reading.within)) for end in found))

    def half_widths(self, confidence: Number = 0.95) -> HalfWidths:
        """How far off a sum, a count, and a mean times its rows may be, with this `confidence`.

        A mean's own interval knows more of it.
        """
        confidence, noise = validation.number("confidence", confidence), self.reading.noise(self.blocks)
        return half_widths(noise, centre=self.centre, half_range=self.reading.half_range, confidence=confidence)

    def spread_in_words(self, digits: int = 4) -> str:
        """How wide the noise of a sum is, and that of a count, to so many `digits`."""
        of_count = math.hypot(*(one.std for one in self.reading.count_noises(self.blocks)))
        of_sum = math.hypot(self.std, self.centre * of_count)
        return f"standard deviation {rounded(of_sum, digits)} of a sum, {rounded(of_count, digits)} of a count"

    def errors_in_words(self) -> str:
        """How far off what is published is, column by column, and which means cannot be told."""
        off, enough = self.half_widths(), self.enough
        rule = f"the noisy count is not above {rounded(off.count)}, which the noise alone reaches"
        few = too_few_in_words(enough[: self.counts.size], "group", rule)
        each = "the" if self.bins == 1 else "a"
        where = f", and {self._where_in_words(enough)}" if enough.any() else ""
        return (
            f"95% of the time {each} sum is off by at most {rounded(off.sum)} and {each} count by at most "
            f"{rounded(off.count)}{where}.{few}"
        )

    def _where_in_words(self, enough: NDArray[np.bool_]) -> str:
        low, high = self.interval(0.95)
        if self.bins == 1:
            return f"the {self.kind} lies between {rounded(low[0], 6)} and {rounded(high[0], 6)}"
        return (
            f"a {self.kind} lies between its low and its high, at most {rounded((high - low)[enough].max(), 3)} apart"
        )

    @property
    def _is_a_part(self) -> bool:
        return self.reading.threshold is not None
