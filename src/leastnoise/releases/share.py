"""Shares of a total: what each bin has of the sum over all bins, from the noisy numbers of the bins alone.

Let X be the noise of a bin's number v and Y that of the sum w of all others; they are independent. With the root of the
confidence each is within its own half-width, so both are with the confidence, and v/(v + w) lies between its values at
the ends: it grows with v and falls with w where neither is negative. Where values may have both signs, v over the total
is enclosed instead (`fieller.enclosed`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.number_format import rounded
from leastnoise._support.validation import Floats, Number
from leastnoise.domain import Domain
from leastnoise.releases import fieller
from leastnoise.releases.columns import key_columns
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.interval import Interval
from leastnoise.releases.mean import ENOUGH_CONFIDENCE
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.release import Release
from leastnoise.releases.summary_part import SummaryPart


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShareRelease(SummaryPart):
    """What each bin has of the total over all bins. `components` are the counts or sums that are shared out."""

    components: Release
    one_sign: bool = True  # whether no two of the values that were added up have different signs
    negative: bool = False  # whether they are all at or below zero
    column: str | None = None  # whose sum is shared out; None: rows

    @property
    def noise(self) -> Noise:
        """The noise of a bin's count or sum."""
        return self.components.noise

    @property
    def provenance(self) -> Provenance:
        """What is promised of the counts or sums."""
        return self.components.provenance

    @property
    def domain(self) -> Domain | None:
        """The bins."""
        return self.components.domain

    @property
    def kind(self) -> str:
        """Shares."""
        return "share"

    @property
    def noise_added_to(self) -> str:
        """What the noise was added to."""
        return f"a {self.components.noun}"

    @property
    def bins(self) -> int:
        """How many shares."""
        return self.components.bins

    @property
    def _numbers(self) -> tuple[Floats, float]:
        """The bins' numbers and their total, with the sign by which the total is above zero. Of values of one sign
        that is public; of others a ratio is the same with both signs turned."""
        values = self.components.values.astype(np.float64)
        total = math.fsum(values.tolist())
        turned = self.negative if self.one_sign else total < 0
        return (-values, -total) if turned else (values, total)

    @property
    def enough(self) -> NDArray[np.bool_]:
        """Whether shares can be told: the noisy total is larger than 95 % of its noise. The same for all bins."""
        least = self.distribution.sum_half_width(self.bins, ENOUGH_CONFIDENCE)
        return np.full(self.bins, self._numbers[1] > least)

    @property
    def values(self) -> Floats:
        """Each bin's number over the total; not a number (NaN) where the total is too small to tell."""
        values, total = self._numbers
        if not self.enough.all():
            return np.full(self.bins, np.nan)
        found = values / total
        return np.clip(found, 0.0, 1.0) if self.one_sign else found

    def interval(self, confidence: Number = 0.95) -> Interval:
        """Where each share lies with this `confidence`, each bin by itself."""
        confidence = validation.number("confidence", confidence)
        values, total = self._numbers
        if not self.one_sign:
            each = (1 + confidence) / 2
            halves = (self.distribution.half_width(each), self.distribution.sum_half_width(self.bins, each))
            ends = np.array([fieller.enclosed((value, total), halves) for value in values.tolist()])
            return Interval(ends[:, 0], ends[:, 1])
        each = math.sqrt(confidence)
        own = self.distribution.half_width(each)
        others = self.distribution.sum_half_width(self.bins - 1, each) if self.bins > 1 else 0.0
        rest = total - values
        low = _part(np.maximum(values - own, 0.0), np.maximum(rest + others, 0.0), empty=0.0)
        high = _part(np.maximum(values + own, 0.0), np.maximum(rest - others, 0.0), empty=1.0)
        return Interval(np.nextafter(low, -1.0).clip(0), np.nextafter(high, 2.0).clip(0, 1))

    @property
    def why_not_denoised(self) -> str:
        """The counts or sums are what can be denoised, and their shares follow."""
        noun = self.components.noun
        return (
            f"A share is a noisy {noun} over the noisy total, and its interval allows for both. It is not denoised: "
            f"denoise the {noun}s, and divide by their sum."
        )

    def explain(self) -> str:
        """What was protected, how well, and what the noise is, in plain words."""
        what = self.components.noun
        return (
            f"{self.bins:,} shares, each a noisy {what} over the sum of all noisy {what}s "
            f"({self.mechanism.capitalize()} noise).\n{self.promise_in_words(self.errors_in_words())}"
        )

    def errors_in_words(self) -> str:
        """How far off what is published is."""
        if not self.enough.all():
            return f"The shares are {TOO_FEW}: the noisy total is within its noise."
        low, high = self.interval(0.95)
        return (
            f"95 % of the time a share lies between its low and its high, at most {rounded((high - low).max(), 3)} "
            "apart. Shares are of what was counted in the bins listed."
        )

    def __repr__(self) -> str:
        return f"<ShareRelease of {self.bins:,} shares, {self.mechanism} noise{self._seeded_mark}>"

    def _columns(self) -> dict[str, Any]:
        """Key columns, `share`, `low` and `high` (95 %)."""
        keys = {} if self.domain is None else dict(key_columns(self.domain, self.bins))
        low, high = self.interval(0.95)
        return {**keys, "share": self.values, "low": low, "high": high}


def _part(own: Floats, others: Floats, *, empty: float) -> Floats:
    whole = own + others
    return np.where(whole > 0, own / np.where(whole > 0, whole, 1.0), empty)
