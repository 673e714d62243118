"""A ClipSuggestion: two ends for a column's values, how many rows lie beyond them, and what that can do to a mean.

Let L and U be the public ends of the values, l and u those of the clip, and b and a the parts of the rows whose values
lie below l and above u. Clipped to l and u, each of the former is raised by at most l - L and each of the latter
lowered by at most U - u, and no other value changes. So the mean of the values exceeds that of the clipped ones by

    at least - b (l - L)   and at most   a (U - u).

a and b are known from three noisy counts of rows: below l, between both, above u. With the confidence asked for, all
three are within one half-width of what was published; a is the largest where that count is the largest it can be and
the other two are the least.

Rows of the step in which an end lies count as between: they lie at most one step of 2^-20 of U - L beyond it, which the
ends of the mean allow for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from leastnoise._support import validation
from leastnoise._support.text import rounded
from leastnoise._support.validation import Floats, Number
from leastnoise.domain import Steps
from leastnoise.domain.round_numbers import step_weights
from leastnoise.privacy.sensitivity import ChosenClip
from leastnoise.releases.block import Interval
from leastnoise.releases.file_format import Saved
from leastnoise.releases.left_out import one_line
from leastnoise.releases.noise import Noise, Noisy
from leastnoise.releases.provenance import Promised, Provenance
from leastnoise.releases.published import Frames, Spreadsheets
from leastnoise.releases.release import Release

_PLACED = 1 + 2.0**-10  # of a step: a value is placed by doubles, 2^-31 of a step off at most


class Part(NamedTuple):
    """A part of the rows, and where it lies."""

    value: float
    low: float
    high: float

    def in_words(self) -> str:
        """As per cents, the ends rounded outwards.

        >>> Part(0.0051, 0.0022, 0.0079).in_words()
        '0.51% (0.22 to 0.79)'
        """
        if self.high == 0:
            return "none"
        return f"{rounded(100 * self.value, 2)}% ({_down(100 * self.low)} to {_up(100 * self.high)})"


class Beyond(NamedTuple):
    """Which part of the rows lies below the lower end, and which above the upper one."""

    below: Part
    above: Part


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClipSuggestion(Promised, Noisy, Frames, Spreadsheets, Saved):
    """The ends of a clip, from two private quantiles, and what they leave out.

    `clip` goes into a question as it is, `t.mean("fare", clip=s.clip, max_rows=5)`, whose release then says which
    release proposed it. `beyond` is the part of the rows beyond each end, and `mean_shift()` how far that can move a
    mean. Both are of the rows within the same limits.
    """

    counts: Release  # rows below, between and above, with noise
    drawn: tuple[int | None, int | None]  # the steps of the ends; None: the public end is kept
    levels: tuple[float, float]
    steps: Steps  # of the public ends
    column: str

    kind: ClassVar[str] = "clip"
    _what = "clip suggestion"

    def _fits(self) -> dict[str, bool]:
        levels, drawn, last = self.levels, self.drawn, self.steps.bins
        whole = all((at is None) == (level in (0, 1)) for at, level in zip(drawn, levels, strict=True))
        inside = all(at is None or 0 <= at < last for at in drawn)
        return {
            "counts": self.counts.values.shape == (3,) and self.counts.values.dtype == np.int64,
            "levels": 0 <= levels[0] < levels[1] <= 1,
            "drawn": whole and inside and (None in drawn or (drawn[0] or 0) <= (drawn[1] or 0)),
        }

    @property
    def _file_rows(self) -> int:
        return len(self.levels)

    @property
    def provenance(self) -> Provenance:
        """What is promised, to whom, and where it comes from."""
        return self.counts.provenance

    @property
    def noise(self) -> Noise:
        """The noise of the counts. (The quantiles are drawn by rank.)"""
        return self.counts.noise

    @property
    def within(self) -> tuple[float, float]:
        """The public ends of the values, as they were given."""
        return self.steps.low, self.steps.high

    @property
    def clip(self) -> ChosenClip:
        """The two ends, to be taken as a clip. They know which release proposed them."""
        values, (low, high) = step_weights(self.steps).values, self._at
        first, last = (
            value if at is None else float(values[at]) for value, at in zip(self.within, (low, high), strict=True)
        )
        return ChosenClip((first, last), self.id)

    @property
    def _at(self) -> tuple[int | None, int | None]:
        """The steps of the ends. Where both are in one step, nearly all values are equal: the public ends are kept."""
        first, last = (end if at is None else at for at, end in zip(self.drawn, (0, self.steps.bins - 1), strict=True))
        return self.drawn if first < last else (None, None)

    @property
    def beyond(self) -> Beyond:
        """Which part of the rows lies below the lower end, and which above the upper one; both intervals hold together
        with 95% confidence."""
        return self._beyond(0.95)

    def _beyond(self, confidence: float) -> Beyond:
        least, most = self._row_counts(confidence)
        about = np.clip(self.counts.values.astype(np.float64), least, most)
        return Beyond(
            *(Part(_share(about, about, at), _share(least, most, at), _share(most, least, at)) for at in (0, 2))
        )

    def _row_counts(self, confidence: float) -> tuple[Floats, Floats]:
        """How many rows there are at least and at most: below, between and above, all with this confidence."""
        known = np.array([self._known_empty(0), False, self._known_empty(1)])
        off = self.counts.distribution.half_width(confidence, int((~known).sum()))
        values = np.where(known, 0.0, self.counts.values.astype(np.float64))
        return np.maximum(values - np.where(known, 0.0, off), 0.0), np.maximum(values + np.where(known, 0.0, off), 0.0)

    def _known_empty(self, side: int) -> bool:
        """Whether no row can lie beyond: the end is the public one, or in the step at it."""
        return self._at[side] in (None, (0, self.steps.bins - 1)[side])

    def mean_shift(self, rows: ArrayLike | None = None, confidence: Number = 0.95) -> Interval:
        """By how much the mean of the values, within the public ends, can exceed the mean of the clipped ones.

        rows: of how many rows the mean is, where it is that of a group: all rows beyond an end may be in it. An array
            has one for each group. Left out, it is the mean of all rows.
        confidence: with which both ends hold, for all groups at once.
        """
        confidence = validation.number("confidence", confidence)
        (low, high), step = self.clip, _PLACED * (self.steps.high - self.steps.low) / self.steps.bins
        below, above = self._most(rows, confidence)
        edge = [0.0 if end == public else step for end, public in zip(self.clip, self.within, strict=True)]
        return Interval(
            np.minimum(-below * (low - self.steps.low) - edge[0], 0.0),
            np.maximum(above * (self.steps.high - high) + edge[1], 0.0),
        )

    def _most(self, rows: ArrayLike | None, confidence: float) -> tuple[Any, Any]:
        """The largest parts that may lie beyond the ends, of all rows or of so many."""
        if rows is None:
            below, above = self._beyond(confidence)
            return below.high, above.high
        most, given = self._row_counts(confidence)[1], np.maximum(np.asarray(rows, dtype=np.float64), 1e-300)
        return np.minimum(most[0] / given, 1.0), np.minimum(most[2] / given, 1.0)

    def explain(self) -> str:
        """What is proposed, what lies beyond it and what that can do, and what was protected, how well."""
        return "\n".join([self.in_words(), self.promise_in_words()])

    def in_words(self) -> str:
        """What is proposed, what lies beyond it, and how far that can move a mean."""
        below, above = (part.in_words() for part in self.beyond)
        shift = self.mean_shift()
        return (
            f"Proposed clip of {self._named()}. Rows below it: {below}; above it: {above}. Their values count as the "
            "nearer end, so the mean of all rows is at most "
            f"{_up(-float(shift.low))} below and at most {_up(float(shift.high))} above that of the clipped values, "
            "whatever the values beyond are. Both hold with 95% confidence, for the rows that the same limits keep. "
            "In a group of a tenth of the rows a mean can move ten times as far."
        )

    def __repr__(self) -> str:
        below, above = (part.in_words() for part in self.beyond)
        return f"<ClipSuggestion {self._named()}; rows below: {below}, above: {above}{self._seeded_mark}>"

    def _named(self) -> str:
        low, high = (rounded(end, 6) for end in self.clip)
        return f"{one_line(self.column)}: {low} to {high}"

    def _columns(self) -> dict[str, Any]:
        """One row for each end: its level, where it is, the part of the rows beyond it, and how far a mean can move."""
        parts, shift = self.beyond, self.mean_shift()
        return {
            "end": ["low", "high"],
            "level": list(self.levels),
            "value": list(self.clip),
            "beyond": [part.value for part in parts],
            "beyond_at_least": [part.low for part in parts],
            "beyond_at_most": [part.high for part in parts],
            "mean_shift": [float(shift.low), float(shift.high)],
        }


def rounded_outwards(steps: Steps, low: int | None, high: int | None) -> tuple[int | None, int | None]:
    """The steps of round ends at or beyond those in these steps: to a hundredth of the power of ten that their distance
    has. None stays the public end."""
    values, last = step_weights(steps).values, steps.bins - 1
    first_value = steps.low if low is None else float(values[low])
    last_value = steps.high if high is None else float(values[high])
    if not first_value < last_value:
        return low, high
    unit = 10.0 ** (math.floor(math.log10(last_value - first_value)) - 2)
    if low is not None:
        low = max(0, min(low, math.floor((math.floor(first_value / unit) * unit - steps.low) * steps.scale)))
    if high is not None:
        high = min(last, max(high, math.floor((math.ceil(last_value / unit) * unit - steps.low) * steps.scale)))
    return low, high


def _share(own: Floats, others: Floats, at: int) -> float:
    """The part of all rows that is in one of the three places: so many there, and the others elsewhere."""
    total = own[at] + sum(others[place] for place in range(3) if place != at)
    return float(own[at] / total) if own[at] else 0.0


def _up(size: float) -> str:
    """To two digits, no less."""
    return f"{Context(prec=2, rounding=ROUND_CEILING).plus(Decimal(repr(size))).normalize():f}"


def _down(size: float) -> str:
    """To two digits, no more."""
    return f"{Context(prec=2, rounding=ROUND_FLOOR).plus(Decimal(repr(size))).normalize():f}"
