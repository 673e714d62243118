"""Questions with a total for each bin of a public domain: which bin, which rows of a unit are kept, their sums.

A row is coded as integers: its bin, and the code of each value that is read of it (see `rows.keeping`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from leastnoise.curator.engines.engine import unique
from leastnoise.curator.queries.options import left_out_by_domain
from leastnoise.curator.queries.query import NamedRows, Query
from leastnoise.curator.rows import keeping, priorities
from leastnoise.curator.rows.keeping import Rule
from leastnoise.curator.rows.placing import place_rows
from leastnoise.curator.rows.totals import Aggregate, to_dense, to_int64
from leastnoise.domain import Axis, Domain
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.releases.left_out import LeftOut

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa


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

    def _values_left_out(self) -> Sequence[LeftOut]:
        return left_out_by_domain(self._bins)

    def _subject(self) -> str:
        return "rows"

    @property
    def _axes(self) -> Mapping[str, Axis]:
        return dict(zip(self._bins.names, self._bins.axes, strict=True))

    def _countable(self) -> tuple[ir.Table, tuple[str, ...]]:
        named = self._named()
        return self._coded(named), named.unit

    @property
    def _codes(self) -> tuple[str, ...]:
        """What is read of a row beside its bin: columns of integers."""
        return ()

    @property
    def _keeps_rows(self) -> bool:
        """Whether it is a question which rows of a unit are kept: where all are alike, their number is enough."""
        return self._bins.size > 1 or bool(self._codes)

    def _coded(self, named: NamedRows) -> ir.Table:
        """Unit, bin and codes of every row that is inside the domain and has a value."""
        domain = replace(self._bins, names=named.by) if self._bins.names else self._bins
        rows = self._with_codes(place_rows(named.rows, domain, name="bin"), named)
        rows = priorities.with_unit_word(rows, named.unit, self._data.engine)
        narrow = "int32" if self._bins.size <= 2**31 else "int64"  # a sort takes as long as its columns are wide
        return rows.select(*named.unit, "_unit", *self._codes, bin=rows["bin"].cast(narrow))

    def _with_codes(self, rows: ir.Table, named: NamedRows) -> ir.Table:
        return rows

    def _rule(self, unit: tuple[str, ...]) -> Rule:
        """Which of these rows are kept."""
        return Rule(
            unit=unit,
            bin=("bin",),
            codes=self._codes,
            keep=("bin", *self._codes),
            limits=self.limits,
            bins=self._bins.size,
            key=self._salt,
        )

    def _expression(self) -> ir.Table:
        named = self._named()
        return self._added_up(self._coded(named), named.unit)

    def _added_up(self, rows: ir.Table, unit: tuple[str, ...]) -> ir.Table:
        """The totals of each bin over the rows that the limits keep."""
        if self._keeps_rows:
            return self._of_each_bin(keeping.in_sql(rows, self._rule(unit)))
        return _capped(rows, unit, self.limits.max_rows)

    def _of_each_bin(self, kept: ir.Table) -> ir.Table:
        return kept.group_by("bin").aggregate(rows=kept.count())

    def _totals(self) -> Aggregate:
        engine, named = self._data.engine, self._named()
        rows = self._coded(named)
        if not self._keeps_rows:
            return self._integers([engine.fetch(self._added_up(rows, named.unit))])
        with keeping.kept(rows, self._rule(named.unit), engine) as kept:
            return self._integers([engine.fetch(self._of_each_bin(kept))])

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        """The integers of the answer from the totals of classes of units."""
        return Aggregate(values=to_int64(to_dense(self._bins.size, parts, "rows")))


def _capped(rows: ir.Table, unit: tuple[str, ...], count: int) -> ir.Table:
    """One bin and no values: all rows of a unit are alike, so their number is enough."""
    import ibis

    units = rows.group_by(list(unit)).aggregate(rows=rows.count())
    kept = units.select(rows=ibis.least(units["rows"], count))
    return kept.aggregate(rows=kept["rows"].sum().coalesce(0)).mutate(bin=0)
