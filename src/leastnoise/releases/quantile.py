"""Quantiles, in all or in each group: rising with the level, with intervals in value and errors in rank.

Where the 95 % interval of a quantile is the whole clip, nothing is known of it: it is not a number, and `enough` is
False, as for a mean. The rule reads the interval alone, which is made from what was published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.text import rounded
from leastnoise._support.validation import Floats, Number
from leastnoise.domain import Domain
from leastnoise.releases import labels
from leastnoise.releases.block import Interval
from leastnoise.releases.columns import key_columns
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.frames import refuse_beside
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.published import Published
from leastnoise.releases.quantile_histogram import HistogramQuantiles
from leastnoise.releases.quantile_ranks import RankQuantiles
from leastnoise.releases.release import Release

if TYPE_CHECKING:
    import pyarrow as pa


def ranks_in_words(errors: Floats, levels: tuple[float, ...], why: str) -> str:
    """The rank errors of all levels, in a sentence."""
    most = 5
    listed = [f"{rounded(rows, 3)} rows at level {q:g}" for q, rows in zip(levels, errors, strict=True)]
    shown = ", ".join(listed) if len(listed) <= most else f"{rounded(float(errors.max()), 3)} rows at every level"
    return f"95 % of the time the rank of a quantile is off by at most {shown}, beyond the rows of its own step: {why}."


MAX_LEVELS_DRAWN = 5  # of one group
ENOUGH_CONFIDENCE = 0.95  # of the interval that must not be the whole clip


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QuantileRelease(Published):
    """Quantiles at `levels`, a row for each group where there are groups. `found` is how, with all that was drawn."""

    found: HistogramQuantiles | RankQuantiles
    levels: tuple[float, ...]
    domain: Domain | None = None  # the groups; None: there are none
    column: str | None = None  # whose quantiles they are; None: not known

    kind: ClassVar[str] = "quantile"
    covers_domain: ClassVar[bool] = False
    _what = "quantile release"

    def _fits(self) -> dict[str, bool]:
        return {
            "levels": bool(self.levels) and all(0 <= level <= 1 for level in self.levels),
            "found": self.found.levels in (None, self.levels),
            "domain": self.found.groups == (1 if self.domain is None else self.domain.size),
        }

    @property
    def components(self) -> Release | None:
        """The noisy histogram that they were read off; None where they were drawn by rank."""
        return self.found.components

    @property
    def noise(self) -> Noise:
        """The noise of each step of the histogram, or of ranks."""
        return self.found.noise

    @property
    def mechanism_in_words(self) -> str:
        """The exponential mechanism adds no noise."""
        return "the exponential mechanism" if self.components is None else f"{self.mechanism.capitalize()} noise"

    @property
    def provenance(self) -> Provenance:
        """What is promised, to whom, and where it comes from."""
        return self.found.provenance

    @property
    def bins(self) -> int:
        """How many quantiles."""
        return len(self.levels) * self.found.groups

    @property
    def one_distribution(self) -> bool:
        """Whether a page can draw the noise: only that of a histogram is one number's."""
        return self.components is not None

    @property
    def noise_added_to(self) -> str:
        """What the noise was added to."""
        return self.found.noise_added_to

    @property
    def has_intervals(self) -> bool:
        """Whether anything is known of where quantiles lie: drawn by rank, only if counts around them were paid for."""
        return self.found.has_intervals

    @property
    def clip(self) -> tuple[float, float]:
        """What values were clipped to."""
        return self.found.steps.low, self.found.steps.high

    @property
    def enough(self) -> NDArray[np.bool_]:
        """Whether a quantile can be told: its 95 % interval is not the whole clip. Shaped like `values`.

        Without intervals nobody knows, and all are taken for known.
        """
        low, high = self.interval(ENOUGH_CONFIDENCE)
        least, most = self.clip
        return np.asarray((low > least) | (high < most) | (not self.has_intervals))

    @property
    def values(self) -> Floats:
        """The quantile of each level; with groups, a row a group. Not a number (NaN) where the rows are too few to
        tell."""
        return np.where(self.enough, self._shaped(self.found.values(self.levels)), np.nan)

    def interval(self, confidence: Number = 0.95) -> Interval:
        """Where each quantile of the (clipped) data lies with this `confidence`, shaped like `values`.

        It is the whole clip where quantiles were drawn by rank and no intervals were asked for. Where noise has a
        quantile outside, the interval is lengthened up to it, and so holds the truth no less often.
        """
        low, high = self.found.interval(self.levels, validation.number("confidence", confidence))
        values = self.found.values(self.levels)  # drawn by rank, or made to rise: the interval knows neither
        return Interval(self._shaped(np.minimum(low, values)), self._shaped(np.maximum(high, values)))

    def rank_errors(self, confidence: Number = 0.95) -> Floats:
        """By how many rows the rank of each level is off at most, beyond the rows of its own step.

        confidence: of each level; where quantiles were drawn by rank, of all levels of a group at once.
        """
        return self.found.rank_errors(self.levels, validation.number("confidence", confidence))

    def _shaped(self, table: Floats) -> Floats:
        return table if self.domain is not None else table[0]

    def bin_names(self, most: int) -> tuple[str, list[str]]:
        """The groups and levels, at most `most` of them."""
        texts = [f"{level:g}" for level in self.levels]
        if self.domain is None:
            return "level", texts[:most]
        groups = labels.of(self.domain, range(min(self.found.groups, -(-most // len(texts)))))
        named = [f"{group}, {text}" for group in groups for text in texts]
        return f"{labels.title(self._shown_domain)} and level", named[:most]

    @property
    def why_not_denoised(self) -> str:
        """A quantile is where a noisy count crosses a level, or a draw among candidates."""
        return (
            f"Quantiles are {self.found.method_in_words()}: what is left of the noise is no sum of a truth and a draw, "
            "so no denoiser's law holds. They are not denoised; their intervals are right as they are."
        )

    def explain(self) -> str:
        """What was protected, how well, and what the noise is, in plain words."""
        many = f"{self.bins:,} quantiles" if self.bins != 1 else "1 quantile"
        return f"{many}, {self.found.method_in_words()}.\n{self.promise_in_words(self.errors_in_words())}"

    def spread_in_words(self, digits: int = 6) -> str:
        """How wide the noise is, to so many `digits`."""
        return self.found.spread_in_words(digits)

    def errors_in_words(self) -> str:
        """How far off the quantiles are, in rows, and which cannot be told; in the units of the values their intervals
        say it."""
        ranks = ranks_in_words(self.rank_errors(0.95), self.levels, self.found.why_in_words())
        return f"{ranks}{self._too_few_in_words()}"

    def _too_few_in_words(self) -> str:
        least, most = (rounded(end, 6) for end in self.clip)
        if not self.has_intervals:
            return f" No intervals were paid for: nothing is known of where a quantile lies between {least} and {most}."
        missing = int((~self.enough).sum())
        whole = f"the 95 % interval is the whole clip, {least} to {most}"
        if not missing:
            return ""
        if self.bins == 1:
            return f" The rows are {TOO_FEW}: {whole}."
        are = "is" if missing == 1 else "are"
        return f" {missing:,} of {self.bins:,} quantiles {are} {TOO_FEW}: {whole}."

    def __repr__(self) -> str:
        by = "" if self.domain is None else f" of {self.found.groups:,} groups"
        return f"<QuantileRelease at {', '.join(f'{q:g}' for q in self.levels)}{by}{self._seeded_mark}>"

    def key_columns(self, *, for_people: bool = False) -> dict[str, list[Any]]:
        """The groups, each repeated for every level; and the levels. `for_people` has keys as they were written."""
        columns: dict[str, list[Any]] = {}
        if self.domain is not None:
            groups = key_columns(self.domain, self.found.groups, for_people=for_people)
            columns = {name: [key for key in keys for _ in self.levels] for name, keys in groups.items()}
        return {**columns, "level": list(self.levels) * self.found.groups}

    def _columns(self) -> dict[str, Any]:
        """The groups, `level`, `quantile`, `low` and `high` (95 %), and `enough`."""
        return self._shown_columns()

    def _shown_columns(
        self, confidence: Number = 0.95, estimate: Any = None, *, for_people: bool = False
    ) -> dict[str, Any]:
        refuse_beside(estimate)
        low, high = self.interval(confidence)
        numbers: dict[str, Any] = {"quantile": self.values, "low": low, "high": high, "enough": self.enough}
        return {**self.key_columns(for_people=for_people), **{name: each.ravel() for name, each in numbers.items()}}

    def _arrow(self, columns: dict[str, Any]) -> pa.Table:
        """A quantile that cannot be told is null, and `enough` is false."""
        import pyarrow as pa

        return Published._arrow(self, columns | {"quantile": pa.array(columns["quantile"], mask=~columns["enough"])})


def levels_drawn(levels: Sequence[float]) -> list[int]:
    """The places of the quantiles that a picture has room for: all, or the outer ones, the middle and those between.

    >>> levels_drawn([0.1, 0.5, 0.9]), levels_drawn([i / 20 for i in range(1, 20)])
    ([0, 1, 2], [0, 4, 9, 14, 18])
    """
    last = len(levels) - 1
    if last < MAX_LEVELS_DRAWN:
        return list(range(last + 1))
    middle = min(range(last + 1), key=lambda place: abs(levels[place] - 0.5))
    return sorted({0, middle // 2, middle, (middle + last + 1) // 2, last})


def too_few_beside(enough: NDArray[np.bool_], levels: Sequence[float]) -> list[str]:
    """What a picture of one group says beside each of its levels that cannot be told; once where that is none.

    >>> too_few_beside(np.array([True, False]), [0.5, 0.9]), too_few_beside(np.array([False, False]), [0.5, 0.9])
    (['', '0.9: too few to tell'], ['too few to tell', ''])
    """
    if not enough.any():
        return [TOO_FEW if place == (len(levels) - 1) // 2 else "" for place in range(len(levels))]
    return ["" if told else f"{level:g}: {TOO_FEW}" for told, level in zip(enough, levels, strict=True)]
