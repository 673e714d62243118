"""The sum of a column, clipped, in each bin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from leastnoise.curator.aggregate.every_bin import scattered
from leastnoise.curator.aggregate.exact_totals import Aggregate, narrow
from leastnoise.curator.queries.clipped_values import ClippedValues
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.sensitivity import Sensitivity

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Sum(ClippedValues):
    """The sum of the values in each bin."""

    kind: ClassVar[str] = "sum"

    @property
    def sensitivity(self) -> Sensitivity:
        """Of sums of values between the ends, after rounding."""
        step = Fraction(self.clip.grid)
        return sensitivities.of_sum(
            self.limits,
            low=self.clip.lowest * step,
            high=self.clip.highest * step,
            bins=self._bins.size,
            neighbours=self.neighbours,
        )

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        return Aggregate(values=narrow(scattered(self._bins.size, parts, "total")))
