"""How many rows there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leastnoise.curator.dataset import Dataset
from leastnoise.curator.queries.bin_totals import BinnedQuery
from leastnoise.curator.queries.domains import limits_of
from leastnoise.domain import Domain


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Count(BinnedQuery):
    """The number of rows: one bin that holds them all."""

    kind: ClassVar[str] = "count"

    @classmethod
    def of(cls, data: Dataset, *, max_rows: int | None) -> Count:
        """The question, checked."""
        return cls(_data=data, _bins=Domain(), limits=limits_of(data, bins=1, max_rows=max_rows))
