"""Several statistics of the same rows in each bin, released together: one bounded pass, one debit.

The rows of a bin are counted once, for all statistics. Of each column of values only the missing ones are counted
besides, and they cost nothing: a row has a value or has none (`privacy.joint_cost`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from leastnoise._support.directed_rounding import round_up, sqrt_up
from leastnoise.curator import description, summary_mechanism, summary_preview
from leastnoise.curator.aggregate import bounding, summary_rows
from leastnoise.curator.aggregate.binning import place_rows
from leastnoise.curator.aggregate.every_bin import scattered
from leastnoise.curator.aggregate.exact_totals import Aggregate, clamped, narrow
from leastnoise.curator.budget import summary_charge
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.publish import Answer, Decision, Facts
from leastnoise.curator.queries.bin_totals import BinnedQuery
from leastnoise.curator.queries.domains import check_names, limits_of, listed_domain
from leastnoise.curator.queries.query import NamedRows
from leastnoise.curator.queries.summary_options import Asked, checked, whole_numbers
from leastnoise.curator.queries.unknown_summary import UnknownKeysSummary
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.summary_preview import SummaryExpectation
from leastnoise.domain import Domain
from leastnoise.errors import BadDomain
from leastnoise.privacy import summary_noise
from leastnoise.privacy.joint_cost import gaussian_cost, laplace_cost
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.privacy.summary_noise import SummaryNoise
from leastnoise.releases.left_out import LeftOut

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

MAX_NUMBERS = 2**26  # of all statistics together


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Summary(BinnedQuery):
    """Statistics of each bin of a public domain."""

    kind: ClassVar[str] = "summary"
    row_is_code: ClassVar[bool] = False
    asked: Asked

    @classmethod
    def of(
        cls,
        data: Dataset,
        by: Sequence[str],
        statistics: Mapping[str, Any],
        *,
        keys: Any,
        nulls: str,
        weights: Mapping[str, float] | None,
        **limits: int | None,
    ) -> Summary | UnknownKeysSummary:
        """The question, checked; without keys, of those that are found."""
        check_names(by)
        names = tuple(by)
        if names and keys is None:
            return UnknownKeysSummary.of(data, names, statistics, nulls=nulls, weights=weights, **limits)
        domain = listed_domain(data, names, keys, nulls) if names else Domain()
        asked = checked(data, statistics, weights, names)
        if domain.sparse or domain.size * len(asked.parts) > MAX_NUMBERS:
            raise BadDomain(f"a summary may have 2^26 numbers, and this domain has {domain.size} bins. Use fewer keys.")
        kept = limits_of(data, bins=domain.size, by=names, **limits)
        return cls(_data=asked.data, _bins=domain, by=names, asked=asked, limits=kept)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of values and conditions."""
        return self.asked.names

    @property
    def size(self) -> int:
        """How many integers get noise."""
        return self._bins.size * len(self.asked.parts)

    @property
    def sensitivity(self) -> Sensitivity:
        """Of all whole numbers as one vector, each in its own steps. The noise of each suits its own size instead."""
        parts, facts = self.asked.parts, {"limits": self.limits, "bins": self._bins.size, "neighbours": self.neighbours}
        ones = {part.name: 1.0 for part in parts}
        twice = 2 if self.neighbours == "replace" else 1
        in_bin = min(self.limits.max_rows, self.limits.max_per_bin)
        most = max(part.largest * (twice if part.kind == "signed" else 1) for part in parts)
        return Sensitivity(
            l1=round_up(laplace_cost(parts, ones, **facts)),  # type: ignore[arg-type]
            l2=sqrt_up(gaussian_cost(parts, ones, **facts)),  # type: ignore[arg-type]
            linf=round_up(Fraction(in_bin * most)),
        )

    def _values_left_out(self) -> Sequence[LeftOut]:
        return [*BinnedQuery._values_left_out(self), *self.asked.left_out]

    def _subject(self) -> str:
        return description.shortened(self.asked.in_words())

    def _clip_facts(self) -> dict[str, object]:
        return {"clips": [[column.low, column.high] for column in self.asked.columns], "valued": self.asked.valued}

    def _noise_asked(self) -> summary_noise.Asked:
        return summary_noise.Asked(
            parts=self.asked.parts,
            needed=self.asked.needed,
            limits=self.limits,
            bins=self._bins.size,
            neighbours=self.neighbours,
        )

    def _decide(self, request: PrivacyRequest) -> Decision[SummaryNoise]:  # type: ignore[override]
        decided = summary_charge.decide(request, self._noise_asked())
        return Decision(decided, partial(self._draw_summary, decided.noise))

    def _draw_summary(self, noise: SummaryNoise, exact: Aggregate, facts: Facts) -> Answer:
        whole = clamped(exact.values).reshape(len(self.asked.parts), self._bins.size)
        integers = {part.name: row for part, row in zip(self.asked.parts, whole, strict=True)}
        return summary_mechanism.publish(
            integers,
            noise,
            domain=self._bins,
            figures=self.asked.figures,
            columns=self.asked.columns,
            **facts,
        )

    def _expectation(self, request: PrivacyRequest) -> SummaryExpectation:  # type: ignore[override]
        decided = summary_charge.decide(request, self._noise_asked())
        return summary_preview.of_summary(
            decided,
            figures=self.asked.figures,
            columns=self.asked.columns,
            domain=self._bins,
            limits=self.limits_used,
            labels=self._labels(),
        )

    def _coded(self, named: NamedRows) -> ir.Table:
        domain = replace(self._bins, names=named.by) if self._bins.names else self._bins
        rows = place_rows(named.rows, domain, name="bin")
        rows = summary_rows.with_codes(rows, named.columns, self.asked.clips, valued=self.asked.valued)
        rows = bounding.with_unit_word(rows, named.unit, self._data.engine)
        return rows.select(*named.unit, "_unit", "bin", *summary_rows.code_names(len(named.columns)))

    def _added_up(self, rows: ir.Table, unit: tuple[str, ...]) -> ir.Table:
        kept = summary_rows.bounded_rows(
            rows,
            unit=unit,
            codes=len(self.columns),
            bins=self._bins.size,
            limits=self.limits,
            key=self._salt,
        )
        return summary_rows.totals(kept, self.asked.columns, self._data.engine, pairs=self.asked.pairs)

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        """The parts one after the other, each of all bins."""
        size = self._bins.size

        def read(name: str) -> np.ndarray[Any, Any]:
            return scattered(size, parts, name).astype(object)

        found = whole_numbers(self.asked, read)
        wanted = [np.asarray(found[part.name], dtype=object) for part in self.asked.parts]
        return Aggregate(values=narrow(np.concatenate(wanted)))
