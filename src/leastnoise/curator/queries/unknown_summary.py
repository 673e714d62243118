"""Several statistics of each key that the rows hold: keys that nobody listed, so a threshold on their rows hides rare
ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise.curator import description, preview, summary_mechanism
from leastnoise.curator.aggregate import bounding, summary_rows
from leastnoise.curator.aggregate.every_bin import integers
from leastnoise.curator.aggregate.exact_totals import Aggregate, clamped, narrow
from leastnoise.curator.aggregate.found_keys import FoundKeys
from leastnoise.curator.budget import charge
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.preview import Expectation
from leastnoise.curator.publish import Answer, Decision, Facts
from leastnoise.curator.queries.domains import check_unknown_keys, limits_of
from leastnoise.curator.queries.query import Query
from leastnoise.curator.queries.summary_options import Asked, checked, whole_numbers
from leastnoise.curator.queries.unknown_keys import BATCH_KEYS, with_known_keys
from leastnoise.curator.request import PrivacyRequest
from leastnoise.errors import InvalidParameter
from leastnoise.privacy import summary_noise
from leastnoise.privacy.guarantee import ApproxDP
from leastnoise.privacy.joint_cost import Part
from leastnoise.privacy.partition_selection import Threshold
from leastnoise.privacy.sensitivity import Sensitivity, of_sum
from leastnoise.privacy.unknown_summary import Division
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.measured import ROWS

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

KINDS = ("count", "sum", "mean", "rate", "ratio")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class UnknownKeysSummary(Query):
    """Statistics of each key that is found."""

    kind: ClassVar[str] = "summary"
    asked: Asked
    nulls: str = "drop"

    @classmethod
    def of(
        cls,
        data: Dataset,
        by: Sequence[str],
        statistics: Mapping[str, Any],
        *,
        nulls: str,
        weights: Mapping[str, float] | None,
        **limits: int | None,
    ) -> UnknownKeysSummary:
        """The question, checked."""
        check_unknown_keys(data, by, nulls)
        asked = checked(data, statistics, weights, tuple(by))
        for figure in asked.figures:
            if figure.kind not in KINDS:
                raise InvalidParameter(
                    f'"{figure.name}" is a {figure.kind}, and of keys that nobody listed only counts, sums, means, '
                    "rates and ratios are published: the others have no interval that holds given that a key shows. "
                    "List the keys.",
                    parameter="keys",
                    example={"keys": ["a", "b"]},
                )
        kept = limits_of(data, bins=None, by=by, **limits)
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
    def parts(self) -> tuple[Part, ...]:
        """The whole numbers of every key: its rows, by which it shows, and what the statistics need."""
        return (Part(ROWS, "rows"), *(part for part in self.asked.parts if part.name != ROWS))

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the rows of each key."""
        return of_sum(self.limits, low=0, high=1, bins=None, neighbours=self.neighbours)

    def _values_left_out(self) -> Sequence[LeftOut]:
        keys = [LeftOut("null", columns=(column,)) for column in self.by] if self.nulls == "drop" else []
        return [*keys, *self.asked.left_out]

    def _subject(self) -> str:
        return description.shortened(self.asked.in_words())

    def _clip_facts(self) -> dict[str, object]:
        return {"clips": [[column.low, column.high] for column in self.asked.columns], "valued": self.asked.valued}

    def _division(self) -> Division:
        needed = self.asked.needed
        every = sum(figure.weight for figure in self.asked.figures)  # all need to know that the key shows
        asked = summary_noise.Asked(self.parts, needed | {ROWS: every}, self.limits, 2, self.neighbours)
        return Division(asked, ROWS)

    def _charge(self, request: PrivacyRequest) -> charge.Charge[Threshold]:
        return charge.decide_unknown(
            request, limits=self.limits, neighbours=self.neighbours, spread=self._division().spread
        )

    def _decide(self, request: PrivacyRequest) -> Decision[Threshold]:
        decided = self._charge(request)
        assert isinstance(decided.guarantee, ApproxDP)
        scales = self._division().scales(decided.noise)
        reads = ShownSummary(
            _data=self._data,
            by=self.by,
            nulls=self.nulls,
            asked=self.asked,
            limits=self.limits,
            cut=decided.noise,
            scales=scales,
        )
        return Decision(decided, partial(self._draw, decided.noise, scales, decided.guarantee), reads)

    def _draw(
        self, cut: Threshold, scales: Mapping[str, float], guarantee: ApproxDP, shown: Aggregate, facts: Facts
    ) -> Answer:
        assert shown.keys is not None
        return summary_mechanism.publish_shown(
            shown.keys,
            self._by_part(shown),
            cut,
            scales,
            guarantee,
            names=self.by,
            figures=self.asked.figures,
            columns=self.asked.columns,
            **facts,
        )

    def _expectation(self, request: PrivacyRequest) -> Expectation:
        decided = self._charge(request)
        made = preview.of_unknown_keys(decided, limits=self.limits, spread=self._division().spread)
        note = "Every statistic has noise of its own; these are of the number of rows, by which a key shows."
        return replace(made, note=f"{made.note} {note}")

    def _expression(self) -> ir.Table:
        named = self._named()
        rows = with_known_keys(named, nulls=self.nulls)
        rows = summary_rows.with_codes(rows, named.columns, self.asked.clips, valued=self.asked.valued)
        rows = bounding.with_unit_word(rows, named.unit, self._data.engine)
        kept = summary_rows.bounded_rows(
            bounding.with_key_word(rows, named.by, self._data.engine),
            unit=named.unit,
            codes=len(self.columns),
            bins=None,
            limits=self.limits,
            key=self._salt,
            names=named.by,
        )
        return summary_rows.totals(
            kept, self.asked.columns, self._data.engine, named.by, pairs=self.asked.pairs
        ).order_by(list(named.by))

    def _totals(self) -> Aggregate:
        return self._found(self._data.engine.fetch(self._expression()))

    def _by_part(self, numbers: Aggregate) -> dict[str, NDArray[np.int64]]:
        """The numbers of all keys, part by part."""
        whole = clamped(numbers.values).reshape(len(self.parts), -1)
        return {part.name: row for part, row in zip(self.parts, whole, strict=True)}

    def _found(self, found: pa.Table) -> Aggregate:
        keys = FoundKeys(found.select(found.column_names[: len(self.by)]))

        def read(name: str) -> np.ndarray[Any, Any]:
            return integers(found[name]).astype(object)

        every = whole_numbers(self.asked, read)
        wanted = [np.asarray(every[part.name], dtype=object) for part in self.parts]
        return Aggregate(values=narrow(np.concatenate(wanted)), keys=keys)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class ShownSummary(UnknownKeysSummary):
    """The keys that show, with their noisy numbers: what is read for a release once it is paid for (as `ShownKeys`)."""

    cut: Threshold
    scales: Mapping[str, float]

    def _totals(self) -> Aggregate:
        shown = self._data.engine.map_batches(self._expression(), BATCH_KEYS, self._shown)
        empty = np.zeros((len(self.parts), 0), np.int64)
        values = np.concatenate([empty, *(noisy for _, noisy in shown)], axis=1)
        return Aggregate(values=values.ravel(), keys=[key for keys, _ in shown for key in keys])

    def _shown(self, batch: pa.Table) -> tuple[list[Any], NDArray[np.int64]]:
        found = self._found(batch)
        assert found.keys is not None
        keys, noisy = summary_mechanism.show_keys(found.keys, self._by_part(found), self.cut, self.scales)
        return keys, np.array([noisy[part.name] for part in self.parts])
