"""How many rows there are of each key that the rows hold: keys that nobody listed, so a threshold hides rare ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Number
from leastnoise.curator import preview, shown_keys
from leastnoise.curator.aggregate import bounding
from leastnoise.curator.aggregate.binning import epoch_days, is_missing
from leastnoise.curator.aggregate.bounding import MULTIPLIER_3, content_of
from leastnoise.curator.aggregate.every_bin import integers
from leastnoise.curator.aggregate.exact_totals import Aggregate, clamped, narrow
from leastnoise.curator.aggregate.found_keys import FoundKeys, counts
from leastnoise.curator.budget import charge, shares
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.shares import Share
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.key_template import kind_of
from leastnoise.curator.preview import Expectation
from leastnoise.curator.publish import Answer, Decision, Facts
from leastnoise.curator.queries.domains import check_unknown_keys, limits_of
from leastnoise.curator.queries.listed_bins import ListedQuery
from leastnoise.curator.queries.query import NamedRows, Query
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy import threshold_choice
from leastnoise.privacy.comparison import Comparison
from leastnoise.privacy.guarantee import ApproxDP
from leastnoise.privacy.keys_and_total import Division
from leastnoise.privacy.partition_selection import Threshold
from leastnoise.privacy.sensitivity import Limits, Sensitivity
from leastnoise.privacy.threshold_choice import ALONE, Spread
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.noise import Noise
from leastnoise.releases.shown_total import total_of

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

BATCH_KEYS = 2**16  # keys that are here at once
FIRST_DAY, LAST_DAY = -719162, 2932896  # of the years 1 and 9999, from 1970-01-01


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class UnknownKeysHistogram(Query):
    """The number of rows of each key that is found."""

    kind: ClassVar[str] = "count"
    nulls: str = "drop"
    division: Division | None = None  # of the noise, where the total of all keys is released with them

    @classmethod
    def of(
        cls, data: Dataset, by: Sequence[str], nulls: str, *, others: Share | None = None, **limits: int | None
    ) -> UnknownKeysHistogram:
        """The question, checked."""
        check_unknown_keys(data, by, nulls)
        kept = limits_of(data, bins=None, by=by, **limits)
        part = None if others is None else shares.exact(others, "others")
        division = None if part is None else Division(part, kept, data.neighbours)
        return cls(_data=data, by=tuple(by), nulls=nulls, limits=kept, division=division)

    @property
    def size(self) -> None:
        """How many keys there are is private."""
        return

    @property
    def sensitivity(self) -> Sensitivity:
        """Of counts."""
        return sensitivities.of_sum(self.limits, low=0, high=1, bins=None, neighbours=self.neighbours)

    def _values_left_out(self) -> Sequence[LeftOut]:
        return [LeftOut("null", columns=(column,)) for column in self.by] if self.nulls == "drop" else []

    def _subject(self) -> str:
        return "rows"

    def _size_in_words(self) -> str:
        """With what the columns hold, by which a total of another table is known (`release.others`): of the schema. (No
        column of real numbers, which pandas makes of whole ones where somebody's is missing, is a key or a unit.)"""
        schema = self.rows.schema()
        held = ", ".join(f"{column} {kind_of(schema[column]) or 'other'}" for column in (*self.by, *self.unit))
        return f"unknown keys{'' if self.division is None else ', and all of them together'}: {held}"

    @property
    def _spread(self) -> Spread:
        return ALONE if self.division is None else self.division.spread

    def _charge(self, request: PrivacyRequest) -> Charge[Threshold]:
        return charge.decide_unknown(request, limits=self.limits, neighbours=self.neighbours, spread=self._spread)

    def _decide(self, request: PrivacyRequest) -> Decision[Threshold]:
        decided = self._charge(request)
        assert isinstance(decided.guarantee, ApproxDP)
        cut, total = decided.noise, None
        if self.division is not None:
            cut, total = self.division.counts(cut), Noise(cut.mechanism, self.division.total(cut), 1.0)
        reads = ShownKeys(_data=self._data, by=self.by, nulls=self.nulls, limits=self.limits, cut=cut)
        return Decision(decided, partial(self._draw, cut, total, decided.guarantee), reads)

    def _draw(self, cut: Threshold, total: Noise | None, guarantee: ApproxDP, shown: Aggregate, facts: Facts) -> Answer:
        assert shown.keys is not None
        assert shown.total is not None
        whole = None if total is None else shown_keys.noisy_total(shown.total, total)
        norms = {"sensitivity": self.sensitivity.l2, "l1_sensitivity": self.sensitivity.l1}
        return shown_keys.publish_shown(shown.keys, shown.values, cut, guarantee, self.by, whole, **norms, **facts)

    def compare(self, *, epsilon: Number, delta: Number) -> Comparison:
        """Gaussian and Laplace noise with their thresholds, side by side: `ln.compare(query, ...)`.

        epsilon, delta: the promise that both keep.
        """
        return threshold_choice.compare(
            epsilon=epsilon, delta=delta, limits=self.limits, neighbours=self.neighbours, spread=self._spread
        )

    def total(self) -> UnknownKeysTotal:
        """How many rows all keys have together, shown or not, under the same limits: a question with its own debit.

        `release.others(total)` says what is left for the keys that do not show. To add up the noisy counts of all keys
        below the threshold instead would tell how many keys there are. (`others=0.1` releases both as one.)
        """
        return UnknownKeysTotal(_data=self._data, by=self.by, limits=self.limits, keys=self)

    def _expectation(self, request: PrivacyRequest) -> Expectation:
        decided = self._charge(request)
        made = preview.of_unknown_keys(decided, limits=self.limits, spread=self._spread)
        if self.division is None:
            return made
        noise = Noise(decided.noise.mechanism, self.division.total(decided.noise), 1.0)
        half = noise.distribution.half_width(0.95)
        told = f"The total of all keys, shown or not, is off by at most {half:,.4g}, 95 % of the time."
        return replace(made, note=f"{made.note} {told}")

    def _expression(self) -> ir.Table:
        """Rows of a unit and key are alike, and the limits act as in `bounding`: max_per_bin by their number."""
        import ibis

        named, limits, engine = self._named(), self.limits, self._data.engine
        unit, by, rows = list(named.unit), list(named.by), self._with_keys(named)
        rows = bounding.with_unit_word(rows.select(*unit, *by), named.unit, engine)
        rows = bounding.with_key_word(rows, named.by, engine)
        rows = bounding.with_copies(rows, limits.max_rows)
        in_bin, bins = math.inf, math.inf
        if limits.max_per_bin < limits.max_rows:
            rows, in_bin = rows.filter(rows["_copy"] < limits.max_per_bin), limits.max_per_bin
        if limits.max_bins < limits.max_rows:
            rows = bounding.with_hash(rows, self._salt ^ MULTIPLIER_3, content=content_of("_place"))
            within = ibis.window(group_by=unit, order_by=["_hash", "_nulls", *by])
            rows = rows.mutate(_rank=ibis.dense_rank().over(within))
            rows, bins = rows.filter(rows["_rank"] < limits.max_bins).drop("_rank", "_hash"), limits.max_bins
        if in_bin * bins > limits.max_rows:
            rows = bounding.with_hash(rows, self._salt, content=content_of("_place"), copy="_copy")
            rows = engine.first(rows, unit=unit, order=["_hash", "_nulls", *by], count=limits.max_rows, keep=by)
        return rows.group_by(by).aggregate(rows=rows.count()).order_by(by)

    def _with_keys(self, named: NamedRows) -> ir.Table:
        return with_known_keys(named, nulls=self.nulls)

    def _totals(self) -> Aggregate:
        return self._found(self._data.engine.fetch(self._expression()))

    def _found(self, keys_and_rows: pa.Table) -> Aggregate:
        keys = FoundKeys(keys_and_rows.select(keys_and_rows.column_names[: len(self.by)]))
        return Aggregate(values=narrow(counts(keys_and_rows["rows"])), keys=keys)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class ShownKeys(UnknownKeysHistogram):
    """The keys that show, with their noisy counts: what is read for a release, once it is paid for.

    How many keys there are nobody knows before. They come in batches in the order of keys, each batch has its noise,
    and those below the threshold are forgotten before the next one comes.
    """

    cut: Threshold

    def _totals(self) -> Aggregate:
        shown = self._data.engine.map_batches(self._expression(), BATCH_KEYS, self._shown)
        values = np.concatenate([np.zeros(0, np.int64), *(noisy for _, noisy, _ in shown)])
        total = sum(rows for _, _, rows in shown)
        return Aggregate(values=values, keys=[key for keys, _, _ in shown for key in keys], total=total)

    def _shown(self, batch: pa.Table) -> tuple[list[Any], NDArray[np.int64], int]:
        """The keys of this batch that show, their noisy counts, and how many rows all keys of it have: exact."""
        found = self._found(batch)
        assert found.keys is not None
        return *shown_keys.show_keys(found.keys, clamped(found.values), self.cut), sum(found.values.tolist())


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class UnknownKeysTotal(ListedQuery):
    """How many rows the keys of a histogram have together: of the same rows that it keeps."""

    kind: ClassVar[str] = "count"
    keys: UnknownKeysHistogram

    @property
    def bins(self) -> int:
        """One number."""
        return 1

    @property
    def size(self) -> int:
        """One number."""
        return 1

    @property
    def sensitivity(self) -> Sensitivity:
        """One unit adds at most max_rows rows, in whichever keys."""
        rows = self.limits.max_rows
        return sensitivities.of_sum(
            Limits(max_rows=rows, max_per_bin=rows, max_bins=1), low=0, high=1, bins=1, neighbours=self.neighbours
        )

    @property
    def _bins_of_limits(self) -> None:
        """A unit's rows may lie in any keys."""
        return

    def _values_left_out(self) -> Sequence[LeftOut]:
        return self.keys._values_left_out()

    def _subject(self) -> str:
        return self.keys._subject()

    def describe(self) -> str:
        """The question about the keys, and that it is about all of them together: so `release.others` knows it."""
        return total_of(self.keys.describe())

    def _expression(self) -> ir.Table:
        counts = self.keys._expression()
        return counts.aggregate(rows=self._data.engine.exact_sum(counts["rows"]).coalesce(0))

    def _totals(self) -> Aggregate:
        return Aggregate(values=narrow(integers(self._data.engine.fetch(self._expression())["rows"])))


def with_known_keys(named: NamedRows, *, nulls: str) -> ir.Table:
    """The rows that have a key. Without days before the year 1 or after 9999: a release could not name them, and an
    error would."""
    rows = named.rows
    if nulls == "drop":
        for column in named.by:
            rows = rows.filter(~is_missing(rows[column]))
    for column in named.by:
        if rows[column].type().is_date():
            days = epoch_days(rows[column], column)
            rows = rows.filter(rows[column].isnull() | days.between(FIRST_DAY, LAST_DAY))
    return rows
