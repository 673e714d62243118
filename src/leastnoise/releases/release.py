"""A Release: noisy values, one a bin.

It lies below the boundary: it knows nothing of how it was made, so whatever is done with it (intervals, totals,
denoising, pictures) is post-processing and can hurt nobody.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.immutable import Frozen
from leastnoise._support.validation import Number
from leastnoise.domain import Domain
from leastnoise.privacy.distributions import LARGEST_SCALE
from leastnoise.privacy.noise_plan import Mechanism, NoiseReason
from leastnoise.releases import views
from leastnoise.releases.block import Block, Interval, Plain, Total, Values
from leastnoise.releases.estimate import Estimate, ends_where_known, error_where_known
from leastnoise.releases.measure import Measure
from leastnoise.releases.noise import MECHANISMS, Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.selected import ALL_KEYS, Selected, others_row, total_of

_TOTAL = "Release query.total() of the query that this is of."


class Release(Measure):
    """Noisy values. `sigma` is the standard deviation that was calibrated, `std` what was drawn on the grid."""

    __slots__ = ()
    reading: Plain | Selected

    _what = "release"
    _value_column = "value"
    _in_columns = Frozen({"blocks/value/numbers": "value"})

    @classmethod
    def of(
        cls,
        values: Values,
        noise: Noise,
        *,
        provenance: Provenance | None = None,
        domain: Domain | None = None,
        kind: str = "vector",
        threshold: int | None = None,
        all_keys: Block | None = None,
        **others: Any,
    ) -> Self:
        """Of noisy values with noise of one kind.

        provenance: where they come from. domain: their bins. kind: count, sum or vector.
        threshold: what a count had to reach to be published, where not all bins were listed.
        all_keys: what all keys have together then, shown or not, where it was released too.
        others: the other fields of a kind of release.
        """
        blocks = {"value": Block(values, () if domain is None else domain.names, noise)}
        blocks |= {} if all_keys is None else {ALL_KEYS: all_keys}
        reading: Plain = Plain(kind=kind)
        if threshold is not None:
            reading = Selected(kind=kind, threshold=threshold, with_total=all_keys is not None)
        return cls(blocks=blocks, reading=reading, domain=domain, provenance=provenance or Provenance(), **others)

    @property
    def threshold(self) -> int | None:
        """What a noisy count had to reach to be shown; None where all bins show."""
        return self.reading.at_least

    @property
    def at_least(self) -> int | None:
        """The same."""
        return self.threshold

    @property
    def all_keys(self) -> Block | None:
        """What all keys have together, shown or not; None where that was not released too."""
        return self.blocks.get(ALL_KEYS)

    def interval(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> Interval:
        """Intervals that cover the noise with this `confidence`: each bin by itself, or all at once (`simultaneous`).

        By the exact distribution on the grid. Real numbers were rounded to the grid before the noise, by half a step at
        most, which widens their interval by as much. Bins that nobody listed show because their noisy count reached
        a threshold; their intervals hold given that they do.
        """
        together = max(1, self.bins) if simultaneous else 1
        return self.reading.interval(self.blocks, validation.number("confidence", confidence), together=together)

    def total(self, bins: ArrayLike | slice | None = None, confidence: Number = 0.95) -> Total:
        """The sum of some bins (all by default) with its standard deviation and interval.

        `bins` is a list of keys (or one key) where the release has a domain, positions otherwise; a mask or a slice
        always means positions. `confidence` is that of the interval. Of bins that show by a threshold the standard
        deviation is at most the one told (`selected.py`).
        """
        confidence, positions = validation.number("confidence", confidence), self._positions(bins)
        if not self.values[positions].size:
            return Total(0.0, 0.0, 0.0, 0.0)
        return self.reading.total(self.blocks, positions, confidence)

    def others(self, total: Release | None = None, confidence: Number = 0.95) -> Total:
        """What the keys that do not show have together: a total of all keys, less what shows.

        total: what `query.total().release(...)` gave, of the same question; left out, the total that was released with
            this, by `histogram(..., others=0.1)`.
        confidence: of the interval, in which the counts of all keys that show, given that they do, and the total are
            enclosed together.

        The value is at least 0, and too low on average, because what shows is too high; its standard deviation is at
        most the one told.

        A total of another question is refused by public facts: the table's name, the columns with what they hold, the
        unit, the limits, the steps before. What rows a table had then is not among them: tables in memory that are
        alike in all this (name them: `ln.table(..., name="may")`), and a file that changed between the two releases,
        cannot be told apart. A total that was released with the counts is always of the same rows.
        """
        confidence = validation.number("confidence", confidence)
        if self.threshold is None:
            raise errors.InvalidParameter("All bins of this release show, so there are no others.")
        each, whole = (1 + confidence) / 2, self._total_of_all_keys(total)
        value, (low, high) = float(whole.numbers[0]), Plain().interval({"value": whole}, each)
        seen = self.total(confidence=each)
        return Total(
            max(value - seen.value, 0.0),
            math.hypot(whole.value_noise.std, seen.std),
            max(float(low[0]) - seen.high, 0.0),
            max(float(high[0]) - seen.low, 0.0),
        )

    def _total_of_all_keys(self, total: object) -> Block:
        """That which was given, if by public facts it is of this question; else the one that was released with this."""
        if total is None:
            if self.all_keys is None:
                raise errors.MissingParameter(
                    "This release has no total of all keys, so nobody knows what the others have. Ask for one with "
                    f"it, as in histogram(..., others=0.1), or give one. {_TOTAL}",
                    parameter="total",
                )
            return self.all_keys
        if not isinstance(total, Release):
            raise errors.WrongType(
                f"total must be a release. Got {type(total).__name__} instead. {_TOTAL}", parameter="total"
            )
        mine, other = self.provenance, total.provenance
        if (total_of(mine.query or ""), mine.table, mine.left_out) != (other.query, other.table, other.left_out):
            theirs, ours = (
                f'"{each.query or "an unknown question"}" ({each.table or "no table"})' for each in (other, mine)
            )
            raise errors.InvalidParameter(
                f"The total must be of the same question. It is of {theirs}, and this is of {ours}. {_TOTAL}",
                parameter="total",
            )
        return total.blocks["value"]

    def _positions(self, bins: ArrayLike | slice | None) -> Any:
        if bins is None:
            return slice(None)
        if isinstance(bins, slice):
            return bins
        array = np.asarray(bins)
        if array.size == 0:
            return np.zeros(0, dtype=np.int64)
        if array.dtype == bool or self.domain is None:
            if array.dtype.kind not in "biu" or array.ndim > 1 or (array.dtype == bool and array.size != self.bins):
                raise errors.WrongType("bins must be positions, a mask as long as the release, or a slice.")
            if array.dtype != bool and array.size and not (-self.bins <= array.min() and array.max() < self.bins):
                raise errors.BadDomain(f"There are {self.bins:,} bins, numbered from 0. One of the positions is none.")
            return np.unique(array % self.bins) if array.dtype != bool else array
        keys: Any = bins if isinstance(bins, list) else array.tolist() if isinstance(bins, np.ndarray) else bins
        found = {self._index(key): key for key in (keys if isinstance(keys, list) else [keys])}
        if None in found:
            raise errors.BadDomain(f"There is no bin {found[None]!r}. The first few are {self._some_keys()}.")
        return sorted(index for index in found if index is not None)

    def _index(self, key: Any) -> int | None:
        """The position of a key; None for what is no key of this domain at all."""
        try:
            return (self.domain or Domain()).index(key)
        except (TypeError, ValueError):
            return None

    def _some_keys(self) -> str:
        domain = self.domain or Domain()
        return ", ".join(repr(domain.key(i)) for i in range(min(5, self.bins)))

    def denoise(self, method: str = "auto", *, along: views.Along = True, **options: Any) -> Estimate:
        """The values with noise taken back out, by `leastnoise.denoise.<method>` with `options`; it costs no privacy.

        along: the axes along which neighbouring bins are thought to be alike. By default (True) "auto" tries all that
            have an order (ranges, edges, steps, dates, hours, lattices), and with several axes row and column effects;
            the name of an axis, or several, says which; None says none. What does not help is not used. Instead of it,
            `graph` says which bins are near.

        Counts are known not to be negative, so "auto", "empirical_bayes" and "neighbour_bayes" say so for them unless
        you do (nonnegative=False, support="real"), and to be whole, which "auto" is told (integers=False if not). The
        noise is taken as it was drawn, rounding to the grid included.
        """
        return views.denoise(self, method, along, options)

    def explain(self) -> str:
        """What was protected, how well, and what the noise is, in plain words."""
        each = "it" if self.bins == 1 else "each"
        spread = f"{self.spread_in_words(4)}{self._half_width_in_words()}"
        noise = f"{self.mechanism.capitalize()} noise added to {each}"
        return f"{self._counted()} with {noise} ({spread}).\n{self.promise_in_words()}"

    def errors_in_words(self) -> str:
        """How far off a published number is."""
        if self.threshold is not None:
            return (
                "Noise was added to every bin, and only bins whose noisy count passed the threshold show, which makes "
                f"them too high on average. Their intervals allow for that. {self._others_in_words()}"
            ).strip()
        half, worst = self.distribution.half_width(0.95), self.distribution.half_width(0.95, max(1, self.bins))
        every = f" All {self.bins:,} together are within {worst:,.4g}, with 95% confidence." if self.bins != 1 else ""
        return f"A published number is off by at most {half:,.4g}, 95% of the time.{every}"

    def _selection_in_words(self) -> str:
        if self.threshold is None:
            return ""
        return (
            f"Bins were not listed in advance: only those with a noisy count of {self.threshold} or more show, "
            f"which makes them too high on average. Their intervals allow for that. {self._others_in_words()}"
        ).strip()

    def _others_in_words(self) -> str:
        if self.all_keys is None:
            return ""
        others = self.others()
        return (
            f"Keys that do not show have about {others.value:,.0f} rows together, between {others.low:,.0f} and "
            f"{others.high:,.0f} with 95% confidence."
        )

    def _half_width_in_words(self) -> str:
        if self.threshold is not None:
            return ""
        half = f"{self.distribution.half_width(0.95):.4g}"
        many = "95% are off" if self.bins != 1 else "with 95% confidence off"
        return f"; {many} by at most {half}"

    def _counted(self) -> str:
        return f"{self.bins:,} {self.noun}" + ("" if self.bins == 1 else "s")

    def __repr__(self) -> str:
        return f"<Release of {self._counted()}, {self.mechanism} noise, std {self.std:.4g}{self._seeded_mark}>"

    def _columns(self) -> dict[str, Any]:
        """Key columns and `value`."""
        return {**self._keys(self.bins), "value": self.values}

    def _shown_columns(
        self, confidence: Number = 0.95, estimate: Estimate | None = None, *, for_people: bool = False
    ) -> dict[str, Any]:
        columns = Measure._shown_columns(self, confidence, for_people=for_people)
        columns |= {} if estimate is None else self._denoised_columns(estimate, confidence)
        if self.all_keys is None:
            return columns
        keys = list(columns).index("value")
        return others_row(columns, keys, self.others(confidence=confidence), for_people=for_people)

    def _denoised_columns(self, estimate: Estimate, confidence: Number) -> dict[str, Any]:
        """What stands beside: the values of an estimate of this release, and their interval and error where known."""
        if not isinstance(estimate, Estimate):
            raise errors.WrongType(f"estimate must be what denoise() made. Got {type(estimate).__name__} instead.")
        if estimate.id != self.id or estimate.bins != self.bins:
            raise errors.InvalidParameter(
                "The estimate was made from another release, and would stand beside numbers that are not its own.",
                parameter="estimate",
            )
        ends = ends_where_known(estimate, confidence, ("denoised_low", "denoised_high"))
        return {"denoised": np.ravel(estimate.to_numpy()), **ends, **error_where_known(estimate)}

    def _first_columns(self, rows: int) -> dict[str, Any]:
        low, high = (end[:rows] for end in self.interval(0.95))
        return {**self._keys(min(rows, self.bins)), "value": self.values[:rows], "low": low, "high": high}


def plain(
    block: Block, *, kind: str, domain: Domain | None, provenance: Provenance, threshold: int | None = None
) -> Release:
    """The numbers of a block as a release by themselves.

    threshold: what a number had to reach to be published, where not all were.
    """
    return Release.of(
        block.values.copy(), block.value_noise, provenance=provenance, domain=domain, kind=kind, threshold=threshold
    )


def wrap(y: ArrayLike, *, sigma: Number, mechanism: Mechanism = "gaussian") -> Release:
    """Another library's noisy vector as a Release, so that intervals and denoisers can work on it.

    `y` holds its numbers. `sigma` is the standard deviation of its noise, whatever the `mechanism` ("gaussian" or
    "laplace").

    >>> wrap([3.2, -1.1, 8.0], sigma=2.0).interval(0.95).low.round(2)
    array([-0.72, -5.02,  4.08])
    """
    sigma = validation.number("sigma", sigma)
    validation.word("mechanism", mechanism, MECHANISMS)
    values = np.array(y, copy=True)
    if values.dtype.kind not in "iuf":
        raise errors.WrongType(f"y must be an array of numbers. Got an array of {values.dtype} instead.")
    if values.ndim != 1:
        raise errors.InvalidParameter(f"y must be a vector. Got {values.ndim} dimensions instead: say y.ravel().")
    values = values.astype(np.float64)
    if values.size == 0:
        raise errors.InvalidParameter("y is empty, so there is nothing to wrap.")
    if not np.isfinite(values).all():
        raise errors.InvalidParameter(
            "y holds NaN or infinity, which no noise of finite sigma makes. Drop those entries."
        )
    if sigma > LARGEST_SCALE:
        raise errors.OutOfRange(
            f"Noise of sigma {sigma:.3g} overflows doubles, so no interval could hold it. Divide y and sigma by 1000."
        )
    return Release.of(
        values, Noise.of(mechanism, sigma=sigma), provenance=Provenance(reason=NoiseReason("added elsewhere"))
    )
