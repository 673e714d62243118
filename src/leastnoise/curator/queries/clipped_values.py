"""Questions about the values of one column, clipped to public ends, in each bin of a public domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from leastnoise.curator.aggregate.bounding import Coding
from leastnoise.curator.aggregate.clipping import Clip
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.queries.bin_totals import BinnedQuery
from leastnoise.curator.queries.domains import column_names, limits_of, listed_domain
from leastnoise.curator.queries.query import NamedRows
from leastnoise.domain import Domain
from leastnoise.errors import BadDomain
from leastnoise.releases.left_out import LeftOut

if TYPE_CHECKING:
    import ibis.expr.types as ir

Q = TypeVar("Q", bound="ClippedValues")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class ClippedValues(BinnedQuery):
    """Counts and sums of the values of `column`, which is clipped to the ends of `clip`."""

    column: str
    clip: Clip

    def __post_init__(self) -> None:
        """Build both expressions once, so that a wrong type is found before any row is read."""
        BinnedQuery.__post_init__(self)
        self.clip.apply(self.rows[self.column], self.column)

    @classmethod
    def of(
        cls: type[Q],
        data: Dataset,
        column: str,
        *,
        clip: object,
        by: str | Sequence[str],
        keys: Any,
        nulls: str,
        **limits: int | None,
    ) -> Q:
        """The question, checked."""
        data.check_usable(column)
        names = column_names(by)
        domain = listed_domain(data, names, keys, nulls) if names else Domain()
        ends = Clip.of(clip, data.rows[column].type())
        if domain.sparse or domain.size << ends.bits >= 2**62:
            raise BadDomain(f"a {cls.kind} may have {2**26} bins, and this domain has {domain.size}. Use coarser keys.")
        kept = limits_of(data, bins=domain.size, by=names, **limits)
        return cls(_data=data, _bins=domain, by=names, column=column, clip=ends, limits=kept)

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column whose values are added up."""
        return (self.column,)

    @property
    def grid(self) -> float:
        """The step to which values are rounded."""
        return self.clip.grid

    def _values_left_out(self) -> Sequence[LeftOut]:
        columns = self.columns
        clip = LeftOut("clip", columns=columns, numbers=(self.clip.low, self.clip.high), text=self.clip.chosen_with)
        return [*BinnedQuery._values_left_out(self), LeftOut("null", columns=columns), clip]

    def _subject(self) -> str:
        return f"{self.kind} of {self.column}"

    def _clip_in_words(self) -> str:
        return f", clipped to [{self.clip.low!r}, {self.clip.high!r}]"

    def _clip_facts(self) -> dict[str, object]:
        return {"clip": [self.clip.low, self.clip.high]}

    def _coding(self) -> Coding:
        return Coding(bins=self._bins.size, value_bits=self.clip.bits, lowest=self.clip.lowest)

    def _with_code(self, rows: ir.Table, named: NamedRows) -> ir.Table:
        (column,) = named.columns
        rows = self.clip.rows_with_value(rows, column, name="_value")
        return rows.mutate(code=(rows["_place"] << self.clip.bits) | (rows["_value"] - self.clip.lowest))

    def _of_each_bin(self, kept: ir.Table) -> ir.Table:
        kept = kept.mutate(value=self._coding().value_of(kept["code"]))
        return kept.group_by("bin").aggregate(rows=kept.count(), total=self._data.engine.exact_sum(kept["value"]))
