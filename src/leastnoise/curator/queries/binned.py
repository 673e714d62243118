"""Questions with a total for each bin of a public domain: which bin, which rows of a unit are kept, their sums.

A row is coded as integers: its bin, and the code of each value that is read of it (see `rows.keeping`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from leastnoise.curator.engines.engine import unique
from leastnoise.curator.queries.options import left_out_by_domain
from leastnoise.curator.queries.query import Facts, NamedRows, Query
from leastnoise.curator.release import Batch
from leastnoise.curator.rows import priorities
from leastnoise.curator.rows.keeping import Rule
from leastnoise.curator.rows.placing import place_rows
from leastnoise.curator.rows.totals import to_dense
from leastnoise.domain import Axis, Domain
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.privacy.vector_noise import NUMBERS


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class BinnedQuery(Query):
    """Rows counted in each bin; what else is added up, subclasses say."""

    _counts_rows: ClassVar[bool] = True
    _bins: Domain

    def __post_init__(self) -> None:
        """Build the expression of the bins once, so that a wrong type is found before any row is read."""
        place_rows(self.rows, self._bins, name=unique("place"))

    @property
    def domain(self) -> Domain:
        """The public bins."""
        return self._bins

    @property
    def size(self) -> int:
        """How many integers the answer has."""
        return self._bins.size

    @property
    def sensitivity(self) -> Sensitivity:
        """Of counts."""
        return sensitivities.of_sum(self.limits, low=0, high=1, bins=self._bins.size, neighbours=self.neighbours)

    def _facts(self) -> Facts:
        return Facts(subject="rows", left_out=left_out_by_domain(self._bins), bins=self._bins.size)

    @property
    def _axes(self) -> Mapping[str, Axis]:
        return dict(zip(self._bins.names, self._bins.axes, strict=True))

    def _countable(self) -> tuple[ir.Table, tuple[str, ...]]:
        rows, rule = self._content()
        return rows, rule.unit

    @property
    def _codes(self) -> tuple[str, ...]:
        """What is read of a row beside its bin: columns of integers."""
        return ()

    @property
    def _keeps_rows(self) -> bool:
        """Whether it is a question which rows of a unit are kept: where all are alike, their number is enough."""
        return self._bins.size > 1 or bool(self._codes)

    def _content(self) -> tuple[ir.Table, Rule]:
        """Unit, bin and codes of every row that is inside the domain and has a value, and which of these are kept."""
        named = self._named()
        domain = replace(self._bins, names=named.by) if self._bins.names else self._bins
        rows = self._with_codes(place_rows(named.rows, domain, name="bin"), named)
        rows = priorities.with_unit_word(rows, named.unit, self._data.engine)
        narrow = "int32" if self._bins.size <= 2**31 else "int64"  # a sort takes as long as its columns are wide
        rows = rows.select(*named.unit, "_unit", *self._codes, bin=rows["bin"].cast(narrow))
        rule = Rule(
            unit=named.unit,
            bin=("bin",),
            codes=self._codes,
            keep=("bin", *self._codes),
            limits=self.limits,
            bins=self._bins.size,
            key=self._salt,
        )
        return rows, rule

    def _with_codes(self, rows: ir.Table, named: NamedRows) -> ir.Table:
        return rows

    def _added_up(self, kept: ir.Table) -> ir.Table:
        """The totals of each bin over the rows that the limits keep."""
        return kept.group_by("bin").aggregate(rows=kept.count())

    def _of_units(self, rows: ir.Table, unit: tuple[str, ...]) -> ir.Table:
        """One bin and no values: all rows of a unit are alike, so their number is enough."""
        units = rows.group_by(list(unit)).aggregate(rows=rows.count())
        kept = units.select(rows=ibis.least(units["rows"], self.limits.max_rows))
        return kept.aggregate(rows=kept["rows"].sum().coalesce(0)).mutate(bin=0)

    def _expression(self) -> ir.Table:
        return Query._expression(self) if self._keeps_rows else self._of_units(*self._countable())

    def _totals(self) -> Batch:
        return Query._totals(self) if self._keeps_rows else self._integers(self._data.engine.fetch(self._expression()))

    def _integers(self, totals: pa.Table) -> Batch:
        return Batch({NUMBERS: to_dense(self._bins.size, totals, "rows")})
