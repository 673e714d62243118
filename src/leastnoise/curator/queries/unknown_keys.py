"""Counts and statistics of each key that the rows hold: keys that nobody listed, so a threshold hides rare ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from leastnoise import domain as domains
from leastnoise._support.validation import Number
from leastnoise.curator import description, expectation
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.deciding import KeysPlan, KeysPlanner, decide_keys
from leastnoise.curator.budget.terms import Share, exact_share
from leastnoise.curator.dataset import Dataset, kind_of
from leastnoise.curator.expectation import Preview
from leastnoise.curator.queries.options import check_unknown_keys, limits_of
from leastnoise.curator.queries.query import Facts, NamedRows, Query, saturated
from leastnoise.curator.queries.statistic_options import Asked, counted, whole_numbers
from leastnoise.curator.release import Answer, Batch, Decision, with_noise
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.rows import priorities
from leastnoise.curator.rows.keeping import Rule
from leastnoise.curator.rows.placing import epoch_days, is_missing
from leastnoise.curator.rows.totals import (
    MAX_TOTAL,
    FoundKeys,
    code_names,
    counts,
    integers,
    summary_totals,
    with_codes,
)
from leastnoise.errors import InvalidParameter
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy import thresholds
from leastnoise.privacy.comparison import Comparison
from leastnoise.privacy.sensitivity import Limits, Sensitivity
from leastnoise.privacy.summary_noise import StatisticsPlanner
from leastnoise.privacy.thresholds import CountsBesideStatistics, CountsBesideTotal, KeySelection
from leastnoise.privacy.unit_cost import Component
from leastnoise.privacy.vector_noise import NUMBERS
from leastnoise.releases.block import Block
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.measured import ROWS
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.release import Release
from leastnoise.releases.selected import total_of
from leastnoise.releases.summary import SummaryRelease

BATCH_KEYS = 2**16  # keys that are here at once
FIRST_DAY, LAST_DAY = -719162, 2932896  # of the years 1 and 9999, from 1970-01-01
KINDS = ("count", "sum", "mean", "rate", "ratio")
TOTAL = "total"  # the block of all keys together


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class UnknownKeys(Query):
    """Statistics of each key that is found, which shows by its noisy number of rows."""

    kind: str = "summary"
    asked: Asked
    nulls: str = "drop"

    @classmethod
    def of(cls, asked: Asked, by: Sequence[str], *, nulls: str, **limits: int | None) -> UnknownKeys:
        """The question, checked."""
        for figure in asked.figures:
            if figure.kind not in KINDS:
                raise InvalidParameter(
                    f'"{figure.name}" is a {figure.kind}, and of keys that nobody listed only counts, sums, means, '
                    "rates and ratios are published: the others have no interval that holds given that a key shows. "
                    "List the keys.",
                    example={"keys": ["a", "b"]},
                )
        check_unknown_keys(asked.data, by, nulls)
        kept = limits_of(asked.data, bins=None, by=by, **limits)
        return cls(_data=asked.data, by=tuple(by), nulls=nulls, asked=asked, limits=kept)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of values and conditions."""
        return self.asked.names

    @property
    def size(self) -> None:
        """How many keys there are is private."""
        return

    @property
    def parts(self) -> tuple[Component, ...]:
        """The whole numbers of every key: its rows, by which it shows, and what the statistics need."""
        return (Component(ROWS, "rows"), *(part for part in self.asked.parts if part.name != ROWS))

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the rows of each key."""
        return sensitivities.of_sum(self.limits, low=0, high=1, bins=None, neighbours=self.neighbours)

    def _facts(self) -> Facts:
        keys = [LeftOut("null", columns=(column,)) for column in self.by] if self.nulls == "drop" else []
        return Facts(
            subject=description.shortened(self.asked.in_words()),
            salt=self.asked.clip_facts,
            left_out=[*keys, *self.asked.left_out],
            missing=self.asked.missing_in_words(),
        )

    def _known(self, named: NamedRows) -> tuple[str, ...]:
        return (*(named.by if self.nulls == "drop" else ()), *(named.columns if self.asked.valued else ()))

    # Reading

    def _content(self) -> tuple[ir.Table, Rule]:
        """Bins are named by their keys, and hashed by 32 bits of these."""
        named, engine, codes = self._named(), self._data.engine, tuple(code_names(len(self.columns)))
        rows = with_codes(self._with_keys(named), named.columns, self.asked.clips, valued=self.asked.valued)
        rows = rows.select(*named.unit, *named.by, *codes)
        rows = priorities.with_key_word(priorities.with_unit_word(rows, named.unit, engine), named.by, engine)
        return rows, Rule(
            unit=named.unit,
            bin=("_place", "_nulls", *named.by),
            codes=codes,
            keep=(*named.by, *codes),
            limits=self.limits,
            key=self._salt,
        )

    def _with_keys(self, named: NamedRows) -> ir.Table:
        """The rows that have a key. Without days before the year 1 or after 9999: a release could not name them, and
        an error would."""
        rows = named.rows
        if self.nulls == "drop":
            for column in named.by:
                rows = rows.filter(~is_missing(rows[column]))
        for column in named.by:
            if rows[column].type().is_date():
                days = epoch_days(rows[column], column)
                rows = rows.filter(rows[column].isnull() | days.between(FIRST_DAY, LAST_DAY))
        return rows

    def _added_up(self, kept: ir.Table) -> ir.Table:
        """The totals of each key, in the order of keys."""
        by = [f"by{place}" for place in range(len(self.by))]
        return summary_totals(kept, self.asked.columns, self._data.engine, by, pairs=self.asked.pairs).order_by(by)

    def _integers(self, totals: pa.Table) -> Batch:
        """The keys, and their integers part by part."""
        keys = FoundKeys(totals.select(totals.column_names[: len(self.by)]))
        every = whole_numbers(self.asked, lambda name: counts(totals[name]))
        return Batch({part.name: every[part.name] for part in self.parts}, keys=keys)

    # The loop

    @property
    def _division(self) -> CountsBesideStatistics:
        """How the noise is divided among the parts."""
        needed = self.asked.needed
        every = sum(figure.weight for figure in self.asked.figures)  # all need to know that the key shows
        asked = StatisticsPlanner(self.parts, needed | {ROWS: every}, self.limits, 2, self.neighbours)
        return CountsBesideStatistics(asked, ROWS)

    @property
    def keys_planner(self) -> KeysPlanner:
        """The ways to publish keys that are found, from public facts alone."""
        division = self._division
        return KeysPlanner(
            limits=self.limits, neighbours=self.neighbours, inflation=division.inflation, scales=division.scales
        )

    def decide(self, request: PrivacyRequest) -> Decision[KeysPlan]:
        """Noise, threshold and their cost."""
        return Decision(decide_keys(request, self.keys_planner), self)

    def measure(self, plan: KeysPlan) -> Batch:
        """The keys that show, with their noisy integers; and, exactly, how many rows all keys have."""
        with self._kept() as kept:
            shown = self._data.engine.map_batches(self._added_up(kept), BATCH_KEYS, partial(self._shown, plan))
        blocks = {
            part.name: np.concatenate([np.zeros(0, np.int64), *(batch.blocks[part.name] for batch in shown)])
            for part in self.parts
        }
        keys = [key for batch in shown for key in batch.keys or ()]
        return Batch(blocks, keys=keys, total=sum(batch.total or 0 for batch in shown))

    def _shown(self, plan: KeysPlan, totals: pa.Table) -> Batch:
        """The keys of this batch that show, their noisy integers, and how many rows all keys of it have: exact."""
        return shown_keys(plan, saturated(self._integers(totals)))

    def draw(self, plan: KeysPlan, batch: Batch) -> Batch:
        """Keys have their noise from when they were read; the total of all keys gets its own."""
        if TOTAL not in plan.scales:
            return batch
        exact = np.array([min(batch.total or 0, MAX_TOTAL)], dtype=np.int64)
        return replace(batch, blocks={**batch.blocks, TOTAL: with_noise(plan, TOTAL, exact)})

    def read(self, plan: KeysPlan, noisy: Batch, provenance: Provenance) -> Answer:
        """All statistics of the keys that show, in the order of keys."""
        keys, noisy = in_order(noisy)
        return SummaryRelease.of(
            domain=domains.listed(self.by, keys),
            figures=self.asked.figures,
            columns=self.asked.columns,
            integers=noisy.blocks,
            scales=plan.scales,
            mechanism=plan.mechanism,
            threshold=plan.threshold,
            provenance=provenance,
        )

    def expected(self, charge: Charge[KeysPlan], request: PrivacyRequest) -> Preview:
        """Of the number of rows, by which a key shows."""
        note = "Every statistic has noise of its own; these are of the number of rows, by which a key shows."
        return self._expected_keys(charge, note)

    def _expected_keys(self, charge: Charge[KeysPlan], note: str = "") -> Preview:
        spread = self.keys_planner.inflation.of(charge.plan.cut.mechanism)
        return expectation.of_unknown_keys(charge, spread=spread, limits=self.limits, note=note)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class UnknownCounts(UnknownKeys):
    """The number of rows of each key that is found."""

    kind: str = "count"
    _counts_rows: ClassVar[bool] = True
    with_total: CountsBesideTotal | None = (
        None  # the division of the noise, where the total of all keys is released with them
    )

    @classmethod
    def of_keys(
        cls, data: Dataset, by: Sequence[str], nulls: str, *, others: Share | None = None, **limits: int | None
    ) -> UnknownCounts:
        """The question, checked."""
        check_unknown_keys(data, by, nulls)
        kept = limits_of(data, bins=None, by=by, **limits)
        part = None if others is None else exact_share(others, "others")
        division = None if part is None else CountsBesideTotal(part, kept, data.neighbours)
        return cls(_data=data, by=tuple(by), nulls=nulls, asked=counted(data), limits=kept, with_total=division)

    def _facts(self) -> Facts:
        """With what the columns hold, by which a total of another table is known (`release.others`): of the schema. (No
        column of real numbers, which pandas makes of whole ones where somebody's is missing, is a key or a unit.)"""
        schema = self.rows.schema()
        held = ", ".join(f"{column} {kind_of(schema[column]) or 'other'}" for column in (*self.by, *self.unit))
        size = f"unknown keys{'' if self.with_total is None else ', and all of them together'}: {held}"
        return replace(UnknownKeys._facts(self), size=size, salt={})

    @property
    def keys_planner(self) -> KeysPlanner:
        """One count of each key; beside the total of all, where that is asked for."""
        planner = KeysPlanner(limits=self.limits, neighbours=self.neighbours, norms=self.sensitivity)
        divided = self.with_total
        if divided is None:
            return planner

        def scales(cut: KeySelection) -> dict[str, float]:
            return {ROWS: divided.counts(cut).scale, TOTAL: divided.total(cut)}

        return replace(planner, inflation=divided.inflation, scales=scales)

    def read(self, plan: KeysPlan, noisy: Batch, provenance: Provenance) -> Answer:
        """The keys that show, in the order of keys; and the noisy total of all, where that was asked for too."""
        keys, noisy = in_order(noisy)
        noises = {name: Noise(plan.mechanism, scale, 1.0) for name, scale in plan.scales.items()}
        total = None if TOTAL not in noises else Block(noisy.blocks[TOTAL], (), noises[TOTAL])
        return Release.of(
            noisy.blocks[ROWS],
            noises[ROWS],
            provenance=provenance,
            domain=domains.listed(self.by, keys),
            threshold=plan.threshold,
            all_keys=total,
            kind="count",
        )

    def compare(self, *, epsilon: Number, delta: Number) -> Comparison:
        """Gaussian and Laplace noise with their thresholds, side by side: `ln.compare(query, ...)`.

        epsilon, delta: the promise that both keep.
        """
        inflation = self.keys_planner.inflation
        return thresholds.compare(
            epsilon=epsilon, delta=delta, limits=self.limits, neighbours=self.neighbours, inflation=inflation
        )

    def total(self) -> UnknownKeysTotal:
        """How many rows all keys have together, shown or not, under the same limits: a question with its own debit.

        `release.others(total)` says what is left for the keys that do not show. To add up the noisy counts of all keys
        below the threshold instead would tell how many keys there are. (`others=0.1` releases both as one.)
        """
        return UnknownKeysTotal(_data=self._data, by=self.by, limits=self.limits, keys=self)

    def expected(self, charge: Charge[KeysPlan], request: PrivacyRequest) -> Preview:
        """Of each count; and of the total of all keys, where that was asked for too."""
        plan = charge.plan
        if TOTAL not in plan.scales:
            return self._expected_keys(charge)
        half = Noise(plan.mechanism, plan.scales[TOTAL], 1.0).distribution.half_width(0.95)
        told = f"The total of all keys, shown or not, is off by at most {half:,.4g}, 95 % of the time."
        return self._expected_keys(charge, told)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class UnknownKeysTotal(Query):
    """How many rows the keys of a histogram have together: of the same rows that it keeps."""

    kind: str = "count"
    keys: UnknownCounts

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

    def _facts(self) -> Facts:
        return self.keys._facts()

    def describe(self) -> str:
        """The question about the keys, and that it is about all of them together: so `release.others` knows it."""
        return total_of(self.keys.describe())

    def _content(self) -> tuple[ir.Table, Rule]:
        return self.keys._content()

    def _added_up(self, kept: ir.Table) -> ir.Table:
        counts = self.keys._added_up(kept)
        return counts.aggregate(rows=self._data.engine.exact_sum(counts["rows"]).coalesce(0))

    def _integers(self, totals: pa.Table) -> Batch:
        return Batch({NUMBERS: integers(totals["rows"])})


def shown_keys(plan: KeysPlan, batch: Batch) -> Batch:
    """The keys whose noisy number of rows reaches the threshold, with their noisy integers; and, exactly, how many rows
    all of them have. It must be paid for already.

    Every number has noise of its own, so the keys may come in parts, and nothing is kept of those that do not show.
    """
    assert batch.keys is not None
    noisy = {name: with_noise(plan, name, exact) for name, exact in batch.blocks.items()}
    (places,) = np.nonzero(noisy[ROWS] >= plan.threshold)
    keys = [batch.keys[place] for place in places.tolist()]
    blocks = {name: values[places] for name, values in noisy.items()}
    return Batch(blocks, keys=keys, total=sum(batch.blocks[ROWS].tolist()))


def in_order(noisy: Batch) -> tuple[list[Any], Batch]:
    """The keys in their order, missing ones last, and the integers of each in that order."""
    keys = list(noisy.keys or ())
    order = sorted(range(len(keys)), key=lambda place: _sortable(keys[place]))
    blocks = {name: values if name == TOTAL else values[order] for name, values in noisy.blocks.items()}
    return [keys[place] for place in order], replace(noisy, blocks=blocks)


def _sortable(key: Any) -> Any:
    """Keys in order, missing ones last; a tuple part by part."""
    return tuple(map(_sortable, key)) if isinstance(key, tuple) else (key is None, 0 if key is None else key)
