"""How many different units there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from leastnoise.curator.dataset import Dataset
from leastnoise.curator.queries.bin_totals import BinnedQuery
from leastnoise.curator.queries.domains import limits_of
from leastnoise.domain import Domain

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class DistinctUnits(BinnedQuery):
    """The number of distinct units: each counts once, however many rows it has."""

    kind: ClassVar[str] = "units"

    @classmethod
    def of(cls, data: Dataset) -> DistinctUnits:
        """The question."""
        return cls(_data=data, _bins=Domain(), limits=limits_of(data, bins=1, max_rows=1))

    _limits_leave_out: ClassVar[bool] = False  # to count a unit once is the question

    def _subject(self) -> str:
        return "distinct units"

    def _released_as(self) -> tuple[str, Domain | None]:
        return "count", self.domain

    def _added_up(self, rows: ir.Table, unit: tuple[str, ...]) -> ir.Table:
        return rows.select(*unit).distinct().aggregate(rows=lambda t: t.count()).mutate(bin=0)
