"""Questions with a total for each bin of a public domain: which bin, which rows of a unit are kept, their sums.

A row is coded as one integer, its bin in the high bits and its clipped value, if there is one, in the low bits (see
`aggregate.bounding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from leastnoise.curator.aggregate import bounding, sent_lists, unit_lists
from leastnoise.curator.aggregate.binning import place_rows
from leastnoise.curator.aggregate.bounding import MULTIPLIER_1, WORD_MASK, Coding
from leastnoise.curator.aggregate.every_bin import scattered
from leastnoise.curator.aggregate.exact_totals import Aggregate, narrow
from leastnoise.curator.aggregate.row_keeper import WORD_BYTES, RowKeeper
from leastnoise.curator.engines.temporary_names import unique
from leastnoise.curator.queries import left_out
from leastnoise.curator.queries.listed_bins import ListedQuery
from leastnoise.curator.queries.query import NamedRows
from leastnoise.domain import Domain
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.releases.left_out import LeftOut

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class BinnedQuery(ListedQuery):
    """Rows counted in each bin; what else is added up, subclasses say."""

    row_is_code: ClassVar[bool] = True  # all that is read of a row is its unit and its code
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
        return left_out.by_domain(self._bins)

    def _subject(self) -> str:
        return "rows"

    def _coding(self) -> Coding:
        """How bin and value share one integer."""
        return Coding(bins=self._bins.size)

    def _coded(self, named: NamedRows) -> ir.Table:
        """Unit and code of every row that is inside the domain and has a value."""
        domain = replace(self._bins, names=named.by) if self._bins.names else self._bins
        rows = self._with_code(place_rows(named.rows, domain, name="_place"), named)
        return bounding.with_unit_word(rows, named.unit, self._data.engine).select(*named.unit, "_unit", "code")

    def _with_code(self, rows: ir.Table, named: NamedRows) -> ir.Table:
        return rows.mutate(code=rows["_place"])

    def _expression(self) -> ir.Table:
        named = self._named()
        return self._added_up(self._coded(named), named.unit)

    def _added_up(self, rows: ir.Table, unit: tuple[str, ...]) -> ir.Table:
        """The totals of each bin over the rows that the limits keep."""
        coding = self._coding()
        if coding.size == 1:
            return _capped(rows, unit, self.limits.max_rows)
        kept = bounding.bounded(
            rows, unit=unit, coding=coding, limits=self.limits, key=self._salt, engine=self._data.engine
        )
        return self._of_each_bin(kept.mutate(bin=coding.bin_of(kept["code"])))

    def _of_each_bin(self, kept: ir.Table) -> ir.Table:
        return kept.group_by("bin").aggregate(rows=kept.count())

    def _totals(self) -> Aggregate:
        engine, named = self._data.engine, self._named()
        rows = self._coded(named)
        size = engine.size(rows)
        if size >= unit_lists.MANY_ROWS and self._in_lists(rows, named.unit):
            return self._integers(self._by_lists(rows, named.unit, size))
        parts = engine.passes(rows, size=size, kept=self.limits.max_rows)
        with nullcontext(rows) if parts == 1 else self._same_rows(rows) as same:
            return self._integers(self._by_sql(same, named.unit, parts))

    def _in_lists(self, rows: ir.Table, unit: tuple[str, ...]) -> bool:
        """Whether `unit_lists` finds the rows that are kept. It needs a compiler; without one, SQL finds the same."""
        if not self.row_is_code or not bounding.fits_lists(rows, unit=unit, coding=self._coding(), limits=self.limits):
            return False
        with suppress(Exception):
            unit_lists.prepare()
            return self._data.engine.runs_python()
        return False

    def _by_sql(self, rows: ir.Table, unit: tuple[str, ...], parts: int) -> list[pa.Table]:
        classes = [rows] if parts == 1 else _classes(rows, parts)
        return [self._data.engine.fetch(self._added_up(some, unit)) for some in classes]

    def _keeper(self) -> RowKeeper:
        limits, coding = self.limits, self._coding()
        return RowKeeper(
            max_rows=limits.max_rows,
            max_per_bin=limits.max_per_bin,
            value_bits=coding.value_bits,
            low_bits=coding.low_bits,
            key=self._salt,
        )

    def _by_lists(self, rows: ir.Table, unit: tuple[str, ...], size: int) -> list[pa.Table]:
        """The same totals, in parts: which rows are kept is found by a list a unit. Whether rows are read twice may
        depend on them, and whether they are kept aside for that does not; nor does any answer depend on whether one
        unit's rows fit into memory."""
        engine, coding, keeper = self._data.engine, self._coding(), self._keeper()

        def totals(kept: ir.Table) -> ir.Table:
            return self._of_each_bin(kept.mutate(bin=coding.bin_of(kept["code"])))

        needed = keeper.bytes_of(size) + WORD_BYTES * size  # of the rows, and of the codes that are kept
        rule = sent_lists.Rule(keeper, unit_lists.random_factors(), once=engine.holds(needed))
        with nullcontext(rows) if rule.once else self._same_rows(rows) as same:
            found = engine.kept_rows(bounding.as_stream(same, unit), rule, totals, size=size)
            if found is not None:
                return found
            return self._by_sql(same, unit, engine.passes(same, size=size, kept=self.limits.max_rows))

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        """The integers of the answer from the totals of classes of units."""
        return Aggregate(values=narrow(scattered(self._bins.size, parts, "rows")))


def _classes(rows: ir.Table, parts: int) -> list[ir.Table]:
    """The rows in `parts` classes of units, a power of two; their totals add up to the totals."""
    mixed = (((rows["_unit"] ^ (rows["_unit"] >> 16)) * MULTIPLIER_1 & WORD_MASK) >> 16) & (parts - 1)
    return [rows.filter(mixed == part) for part in range(parts)]


def _capped(rows: ir.Table, unit: tuple[str, ...], count: int) -> ir.Table:
    """One bin and no values: all rows of a unit are alike, so their number is enough."""
    import ibis

    units = rows.group_by(list(unit)).aggregate(rows=rows.count())
    kept = units.select(rows=ibis.least(units["rows"], count))
    return kept.aggregate(rows=kept["rows"].sum().coalesce(0)).mutate(bin=0)
