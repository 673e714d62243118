"""Means: sums and counts released together, and their ratio with an honest interval.

Per bin, S is the noisy sum of values centred at the middle of the clip and c N the noisy count times c, half the
clip's width; both have the same noise. The mean is centre + S/N, and its interval is Fieller's, with the exact
distribution of the noise: all theta with |S - theta N| <= h(theta), where X - (theta/c) Y lies within h(theta) with the
confidence asked for, X and Y being two draws of the noise (`ratio_interval`).

A group may be too small for that. Where the 95 % interval of its count reaches down to zero, a ratio says nothing: its
mean is not a number, its interval the whole clip, and `enough` is False. The rule looks at the noisy count and the
noise alone, so it tells nothing that is not public. (A group without rows passes it one time in forty.)
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.number_format import rounded
from leastnoise._support.validation import Floats, Number
from leastnoise.privacy.distributions import Distribution
from leastnoise.privacy.noise_reason import NoiseReason
from leastnoise.privacy.ratio_noise import RatioNoise
from leastnoise.releases import file_format, ratio_interval
from leastnoise.releases.columns import key_columns, read_domain, write_domain
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.facts import Facts
from leastnoise.releases.interval import Interval, Overall
from leastnoise.releases.noise import Noise, read_noise, write_noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.published import Published
from leastnoise.releases.release import Release, read_release, write_release

if TYPE_CHECKING:
    import pyarrow as pa

    from leastnoise.domain import Domain


ENOUGH_CONFIDENCE = 0.95  # that a count is above zero, so that its mean is told


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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MeanRelease(Published):
    """Means, one a bin or one a coordinate. `components` is the release of sums and scaled counts behind them.

    `noise` is that of each centred sum; what it means for the columns that are published, `half_widths` has.
    """

    components: Release
    centre: float
    half_range: float  # c: half the clip's width, or the norm that vectors were clipped to
    within: tuple[float, float]  # the clip
    domain: Domain | None = None  # of the means; `components` has twice as many values, or one more for a vector
    column: str | None = None  # whose means they are; None: not known
    count_noise: tuple[Noise, ...] = ()  # of a count, where it is not that of a sum; several: they add up
    rate: bool = False  # whether they are shares of rows for which the condition `column` holds
    rows: Release | None = None  # of keys that nobody listed: the noisy rows, which decided that they show

    @property
    def noise(self) -> Noise:
        """The noise of each centred sum."""
        return self.components.noise

    @property
    def provenance(self) -> Provenance:
        """One guarantee for sums and counts together."""
        return self.components.provenance

    @property
    def kind(self) -> str:
        """Means, or rates, which are means of noughts and ones."""
        return "rate" if self.rate else "mean"

    @property
    def _ratio_noise(self) -> Distribution | RatioNoise:
        """The noise of S and that of c N."""
        if not self.count_noise:
            return self.distribution
        return RatioNoise(self.distribution, tuple((self.half_range, one.distribution) for one in self.count_noise))

    @property
    def note(self) -> str:
        """Why this noise was chosen."""
        return centred(self.provenance.reason, self.components.note)

    @property
    def noise_added_to(self) -> str:
        """What the noise was added to."""
        return "a centred sum"

    @property
    def bins(self) -> int:
        """How many means."""
        return self.components.bins - self._counted

    @property
    def _counted(self) -> int:
        return 1 if self.domain is None else self.components.bins // 2

    @property
    def sums(self) -> Floats:
        """Noisy sums of the centred values."""
        return self.components.values[: self.bins].astype(np.float64)

    @property
    def counts(self) -> Floats:
        """Noisy counts (one for all components of a vector)."""
        return self.components.values[self.bins :] / self.half_range

    @property
    def enough(self) -> NDArray[np.bool_]:
        """Whether a mean can be told: its noisy count is larger than 95 % of the noise, so its interval is above zero.

        The rule reads nothing that is not published.
        """
        if self.rows is not None:
            each = 1 - (1 - ENOUGH_CONFIDENCE) / len(self.count_noise)
            return np.asarray(self._rows_given_shown(self.rows, each)[0] > 0)
        least = self._ratio_noise.half_width(ENOUGH_CONFIDENCE)
        return np.asarray(np.broadcast_to(self.components.values[self.bins :], self.sums.shape) > least)

    @property
    def values(self) -> Floats:
        """centre + S/N, kept within the clip; not a number (NaN) where the rows are too few to tell."""
        enough = self.enough
        ratio = self.sums / np.where(enough, self.counts, 1.0)
        return np.where(enough, np.clip(self.centre + ratio, *self.within), np.nan)

    def interval(self, confidence: Number = 0.95) -> Interval:
        """Fieller's interval of this `confidence` for each mean; the whole clip where the count may be zero."""
        confidence = validation.number("confidence", confidence)
        if self.rows is not None:
            return self._interval_given_shown(self.rows, confidence)
        scaled = np.broadcast_to(self.components.values[self.bins :], self.sums.shape).astype(np.float64)
        low, high = ratio_interval.ends(self.sums, scaled, self._ratio_noise, confidence)
        low, high = np.nextafter(self.half_range * low, -np.inf), np.nextafter(self.half_range * high, np.inf)
        least, most = self.within
        low, high = np.nextafter(self.centre + low, -np.inf), np.nextafter(self.centre + high, np.inf)
        return Interval(np.clip(low, least, most), np.clip(high, least, most))

    def _interval_given_shown(self, rows: Release, confidence: float) -> Interval:
        """The rows within an interval that holds given that they show, and sum and missing rows, whose noise decided
        nothing, within theirs: all together with this confidence, and the mean between what these allow."""
        each = 1 - (1 - confidence) / (1 + len(self.count_noise))
        fewest, most = self._rows_given_shown(rows, each)
        half = self.distribution.half_width(each)
        low, high = self.sums - half, self.sums + half
        few, many = np.maximum(fewest, 1e-300), np.maximum(most, 1e-300)
        least = np.where(fewest > 0, np.where(low < 0, low / few, low / many), -self.half_range)
        largest = np.where(fewest > 0, np.where(high > 0, high / few, high / many), self.half_range)
        ends = (np.nextafter(self.centre + least, -np.inf), np.nextafter(self.centre + largest, np.inf))
        return Interval(np.clip(ends[0], *self.within), np.clip(ends[1], *self.within))

    def _rows_given_shown(self, rows: Release, confidence: float) -> tuple[Floats, Floats]:
        """Between how many rows have a value: the rows given that they show, less the missing ones, each with this
        confidence."""
        fewest, most = (end.astype(np.float64) for end in rows.interval(confidence))
        missing = rows.values - self.counts  # 0 where rows without a value were left out
        off = sum(one.distribution.half_width(confidence) for one in self.count_noise[1:])
        return fewest - missing - off, most - missing + off

    def overall(self, confidence: Number = 0.95) -> Overall:
        """The mean over all bins, each row counting alike, and its interval of this `confidence`.

        Sum and count are enclosed separately. Not a number where the rows are too few to tell.
        """
        if self.domain is None and self.bins > 1:
            raise errors.InvalidParameter("The components of a vector's mean are no bins: there is no mean over them.")
        confidence = validation.number("confidence", confidence)
        each = (1 + confidence) / 2
        top, bottom = (self.components.total(part, each) for part in (slice(0, self.bins), slice(self.bins, None)))
        noise = self._ratio_noise
        if isinstance(noise, RatioNoise):
            half = noise.total_half_width(self.bins, each)
            bottom = bottom._replace(low=bottom.value - half, high=bottom.value + half)
        if bottom.low <= 0:
            return Overall(math.nan, *self.within)
        ends = [total / count for total in (top.low, top.high) for count in (bottom.low, bottom.high)]
        found = (top.value / bottom.value, min(ends), max(ends))
        return Overall(*(float(np.clip(self.centre + self.half_range * end, *self.within)) for end in found))

    @property
    def why_not_denoised(self) -> str:
        """The law of a ratio of two noisy numbers depends on the count it divides by."""
        return (
            f"A {self.kind} is a noisy sum over a noisy count, and how noisy it is depends on a count that nobody "
            "knows, so no denoiser's law holds. It is not denoised; its interval allows for both."
        )

    def half_widths(self, confidence: Number = 0.95) -> HalfWidths:
        """How far off a sum, a count, and a mean times its rows may be, with this `confidence`.

        A mean's own interval knows more of it.
        """
        confidence = validation.number("confidence", confidence)
        return half_widths(self._ratio_noise, centre=self.centre, half_range=self.half_range, confidence=confidence)

    def explain(self) -> str:
        """What was protected, how well, and what the noise is, in plain words."""
        many = f"{self.bins:,} {self.kind}s, each" if self.bins != 1 else f"1 {self.kind},"
        return (
            f"{many} a noisy sum over a noisy count ({self.mechanism.capitalize()} noise), released under one "
            f"guarantee.\n{self.promise_in_words(self.errors_in_words())}"
        )

    def spread_in_words(self, digits: int = 4) -> str:
        """How wide the noise of a sum is, and that of a count, to so many `digits`."""
        of_count = math.hypot(*(one.std for one in self.count_noise)) or self.std / self.half_range
        of_sum = math.hypot(self.std, self.centre * of_count)
        return f"standard deviation {rounded(of_sum, digits)} of a sum, {rounded(of_count, digits)} of a count"

    def errors_in_words(self) -> str:
        """How far off what is published is, column by column, and which means cannot be told."""
        off, enough = self.half_widths(), self.enough
        each = "the" if self.bins == 1 else "a"
        where = f", and {self._where_in_words(enough)}" if enough.any() else ""
        return (
            f"95 % of the time {each} sum is off by at most {rounded(off.sum)} and {each} count by at most "
            f"{rounded(off.count)}{where}.{self._too_few_in_words(int((~enough).sum()), off.count)}"
        )

    def _where_in_words(self, enough: NDArray[np.bool_]) -> str:
        low, high = self.interval(0.95)
        if self.bins == 1:
            return f"the {self.kind} lies between {rounded(low[0], 6)} and {rounded(high[0], 6)}"
        return (
            f"a {self.kind} lies between its low and its high, at most {rounded((high - low)[enough].max(), 3)} apart"
        )

    def _too_few_in_words(self, missing: int, noise: float) -> str:
        if not missing:
            return ""
        rule = f"not above {rounded(noise)}, which the noise alone reaches"
        if self.bins == 1 or self.counts.size == 1:
            return f" The rows are {TOO_FEW}: the noisy count is {rule}."
        are = "is" if missing == 1 else "are"
        return f" {missing:,} of {self.bins:,} groups {are} {TOO_FEW}: the noisy count is {rule}."

    def __repr__(self) -> str:
        return f"<MeanRelease of {self.bins:,} {self.kind}s, {self.mechanism} noise{self._seeded_mark}>"

    def _columns(self) -> dict[str, Any]:
        """Key columns, `mean` (or `rate`), `low` and `high` (95 %), `enough`, `sum` and `count`."""
        keys: dict[str, Any] = {"component": np.arange(self.bins)}
        if self.domain is not None:
            keys = dict(key_columns(self.domain, self.bins))
        low, high = self.interval(0.95)
        count = np.broadcast_to(self.counts, self.sums.shape)
        total = self.sums + self.centre * count  # of the values themselves, not of their distances from the centre
        shown = {self.kind: self.values, "low": low, "high": high, "enough": self.enough}
        return {**keys, **shown, "sum": total, "count": count}

    def _arrow(self, columns: dict[str, Any]) -> pa.Table:
        """A mean that cannot be told is null, and `enough` is false."""
        import pyarrow as pa

        return pa.table(columns | {self.kind: pa.array(columns[self.kind], mask=~columns["enough"])})

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> None:
        """One Parquet file at `path`, readable by anyone. `allow_seeded` lets a test write what a seed made."""
        if self.rows is not None:
            raise errors.InvalidParameter("This is a part of a summary. Save the summary: its file has all of them.")
        file_format.refuse_seeded_noise(self.seeded, allow_seeded)
        facts = {
            "components": write_release(self.components),
            "values": self.components.values.tolist(),
            "centre": self.centre,
            "half_range": self.half_range,
            "within": list(self.within),
            "domain": write_domain(self.domain),
            "column": self.column,
            "count_noise": [write_noise(one) for one in self.count_noise],
            "rate": self.rate,
        }
        file_format.write(path, self._file_table(), what="mean release", facts=facts)


def from_table(table: pa.Table, facts: Facts) -> MeanRelease:
    """What `MeanRelease.save` wrote."""
    values, within = np.array(facts.numbers("values")), facts.numbers("within")
    facts.check("within", len(within) == 2 and within[0] < within[-1])
    found = MeanRelease(
        components=read_release(values, None, facts.facts("components")),
        centre=facts.number("centre"),
        half_range=facts.number("half_range"),
        within=(float(within[0]), float(within[1])),
        domain=read_domain(facts.take("domain"), table),
        column=facts.optional_text("column"),
        count_noise=tuple(map(read_noise, facts.list_of_facts("count_noise"))) if facts.has("count_noise") else (),
        rate=facts.flag("rate") if facts.has("rate") else False,
    )
    facts.check("half_range", found.half_range > 0)
    facts.check("values", found.bins == table.num_rows and (found.domain is None or values.size == 2 * found.bins))
    facts.finish()
    return found
