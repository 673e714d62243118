"""Quantiles, in all or in each group: rising with the level, with intervals in value and errors in rank.

Where the 95% interval of a quantile is the whole clip, nothing is known of it: it is not a number, and `enough` is
False, as for a mean. The rule reads the interval alone, which is made from what was published.

**How far off quantiles are expected to be**, from public facts: by this the mechanisms are compared.

How many rows there are, and where, is private. So a mechanism is judged by tables of a thousand to a hundred thousand
rows, or of as many as somebody expects, with long tails: beyond the rows on either side lies as much of the clip again.
The error in rows, root mean square over the levels, is of

- noise, where rows lie densely;
- quantiles that fall into a tail and are as good as lost, n rows off: by rank, with odds of n lambda exp(-lambda r),
  n lambda being how much wider the tail is than the rows among which a quantile falls, and r the rows between the level
  and the tail; off a histogram, where the noise exceeds r;
- a histogram's steps, within which values are interpolated: 0.3 n/steps, as real columns have it.

What counts is the geometric mean over the tables: a mechanism that is twice as good on one and half as good on another
is as good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.text import rounded
from leastnoise._support.validation import Floats, Number
from leastnoise.privacy.rank_noise import RankRates
from leastnoise.releases.block import Interval
from leastnoise.releases.columns import key_columns
from leastnoise.releases.display import too_few_in_words
from leastnoise.releases.measure import Measure
from leastnoise.releases.quantile_readings import HistogramQuantiles, RankQuantiles
from leastnoise.releases.release import Release, plain


def ranks_in_words(errors: Floats, levels: tuple[float, ...], why: str) -> str:
    """The rank errors of all levels, in a sentence."""
    most = 5
    listed = [f"{rounded(rows, 3)} rows at level {q:g}" for q, rows in zip(levels, errors, strict=True)]
    shown = ", ".join(listed) if len(listed) <= most else f"{rounded(float(errors.max()), 3)} rows at every level"
    return f"95% of the time the rank of a quantile is off by at most {shown}, beyond the rows of its own step: {why}."


MAX_LEVELS_DRAWN = 5  # of one group


class QuantileRelease(Measure):
    """Quantiles at `levels`, a row for each group where there are groups. Its `reading` knows how they were found."""

    __slots__ = ()
    reading: HistogramQuantiles | RankQuantiles

    covers_domain = False
    _what = "quantile release"

    def _fits(self) -> dict[str, bool]:
        hides = self.reading.hides(self.blocks, self.guarantee)
        return Measure._fits(self) | {"strategy": hides, "domain": self.domain is not None or self.groups == 1}

    @property
    def levels(self) -> tuple[float, ...]:
        """Which quantiles: 0.5 is the median."""
        return self.reading.levels

    @property
    def groups(self) -> int:
        """How many groups; 1 where there are none."""
        return self.reading.groups(self.blocks)

    @property
    def _domain_size(self) -> int:
        return self.groups

    @property
    def components(self) -> Release | None:
        """The noisy histogram that they were read off; None where they were drawn by rank."""
        counts = self.blocks.get("counts")
        return None if counts is None else plain(counts, kind=self.kind, domain=None, provenance=self.provenance)

    @property
    def mechanism_in_words(self) -> str:
        """The exponential mechanism adds no noise."""
        return f"{self.mechanism.capitalize()} noise" if self.one_distribution else "the exponential mechanism"

    @property
    def bins(self) -> int:
        """How many quantiles."""
        return len(self.levels) * self.groups

    @property
    def one_distribution(self) -> bool:
        """Whether a page can draw the noise: only that of a histogram is one number's."""
        return "counts" in self.blocks

    @property
    def has_intervals(self) -> bool:
        """Whether anything is known of where quantiles lie: drawn by rank, only if counts around them were paid for."""
        return self.reading.has_intervals

    @property
    def clip(self) -> tuple[float, float]:
        """What values were clipped to."""
        return self.reading.steps.low, self.reading.steps.high

    @property
    def enough(self) -> NDArray[np.bool_]:
        """Whether a quantile can be told: its 95% interval is not the whole clip. Shaped like `values`.

        Without intervals nobody knows, and all are taken for known.
        """
        return np.asarray(self._shaped(self.reading.reliable(self.blocks)))

    @property
    def values(self) -> Floats:
        """The quantile of each level; with groups, a row a group. Not a number (NaN) where the rows are too few to
        tell."""
        return np.asarray(self._shaped(self.reading.values(self.blocks)))

    def interval(self, confidence: Number = 0.95) -> Interval:
        """Where each quantile of the (clipped) data lies with this `confidence`, shaped like `values`.

        It is the whole clip where quantiles were drawn by rank and no intervals were asked for. Where noise has a
        quantile outside, the interval is lengthened up to it, and so holds the truth no less often.
        """
        return Interval(*map(self._shaped, Measure.interval(self, confidence)))

    def rank_errors(self, confidence: Number = 0.95) -> Floats:
        """By how many rows the rank of each level is off at most, beyond the rows of its own step.

        confidence: of each level; where quantiles were drawn by rank, of all levels of a group at once.
        """
        return self.reading.rank_errors(self.blocks, validation.number("confidence", confidence))

    def _shaped(self, table: Any) -> Any:
        return table if self.domain is not None else table[0]

    def explain(self) -> str:
        """What was protected, how well, and what the noise is, in plain words."""
        many = f"{self.bins:,} quantiles" if self.bins != 1 else "1 quantile"
        return f"{many}, {self._text.first_sentence}\n{self.promise_in_words(self.errors_in_words())}"

    def spread_in_words(self, digits: int = 6) -> str:
        """How wide the noise is, to so many `digits`."""
        return self.reading.spread_in_words(self.blocks, digits)

    def errors_in_words(self) -> str:
        """How far off the quantiles are, in rows, and which cannot be told; in the units of the values their intervals
        say it."""
        ranks = ranks_in_words(self.rank_errors(0.95), self.levels, self.reading.why_in_words(self.blocks))
        return f"{ranks}{self._too_few_in_words()}"

    def _too_few_in_words(self) -> str:
        least, most = (rounded(end, 6) for end in self.clip)
        if not self.has_intervals:
            return f" No intervals were paid for: nothing is known of where a quantile lies between {least} and {most}."
        whole = f"the 95% interval is the whole clip, {least} to {most}"
        return too_few_in_words(np.ravel(self.enough), "quantile", whole)

    def __repr__(self) -> str:
        by = "" if self.domain is None else f" of {self.groups:,} groups"
        return f"<QuantileRelease at {', '.join(f'{q:g}' for q in self.levels)}{by}{self._seeded_mark}>"

    def key_columns(self, *, for_people: bool = False) -> dict[str, list[Any]]:
        """The groups, each repeated for every level; and the levels. `for_people` has keys as they were written."""
        columns: dict[str, list[Any]] = {}
        if self.domain is not None:
            groups = key_columns(self.domain, self.groups, for_people=for_people)
            columns = {name: [key for key in keys for _ in self.levels] for name, keys in groups.items()}
        return {**columns, "level": list(self.levels) * self.groups}

    def _keys(self, count: int, for_people: bool = False) -> dict[str, Any]:
        return self.key_columns(for_people=for_people)


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


REFERENCE_ROWS = np.array([1e3, 3e3, 1e4, 3e4, 1e5])
_WITHIN_STEP = 0.3
_LEAST_STD = 1e-100  # noise of a tiny scale is zero but for a chance that no double holds


def judged_rows(each: int, expected: float | None = None) -> Floats:
    """How many rows a group has in the tables to judge by; `each`: how many rows of a group one unit may have."""
    return REFERENCE_ROWS * each if expected is None else np.array([expected])


def errors_by_rank(rates: RankRates, rows: Floats) -> Floats:
    """Of quantiles drawn by rank, for every number of rows."""
    lost = np.zeros_like(rows)
    for node in rates.nodes:
        rate, level = float(rates.rank_rate(node)), float(rates.levels[node.place])
        sides = [level] * (node.below is None) + [1 - level] * (node.above is None)
        odds = sum((rows * rate * np.exp(-rate * rows * side) for side in sides), np.zeros_like(rows))
        lost += odds / (1 + odds) / len(rates.levels)
    return np.asarray(np.sqrt(rates.rank_std**2 + lost * rows**2))


def errors_by_histogram(stds: Sequence[float], levels: Sequence[float], steps: int, rows: Floats) -> Floats:
    """Of quantiles read off a histogram; `stds`: of the noise in the rank of each level."""
    from scipy.special import ndtr

    wide = [max(std, _LEAST_STD) for std in stds]
    lost = [ndtr(-rows * q / std) + ndtr(-rows * (1 - q) / std) for std, q in zip(wide, levels, strict=True)]
    noise = np.mean(np.square(stds)) + (_WITHIN_STEP * rows / steps) ** 2
    return np.asarray(np.sqrt(noise + np.mean(lost, axis=0) * rows**2))


def typical_error(errors: Floats) -> float:
    """One number for all tables: the geometric mean, in rows."""
    return float(np.exp(np.log(errors).mean()))
