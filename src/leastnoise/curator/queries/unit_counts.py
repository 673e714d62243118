"""How many units have how many rows, in how many bins: what limits are proposed from.

Of each unit one row is drawn, uniformly, by a hash of the unit and nothing else's: with N rows that lie in places 1,
2 ... in n_1, n_2 ... of them, it is the row number (hash mod N) in the order of places. So what a unit adds depends on
its own rows alone, is the same on every engine, and is one number in each histogram (`releases.limit_suggestion`, with
the sensitivity and its proof). A unit with no row in the bins adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from leastnoise._support.rounding import round_up, sqrt_up
from leastnoise.curator import description
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.queries.binned import BinnedQuery
from leastnoise.curator.queries.options import limits_of, listed_domain
from leastnoise.curator.queries.query import released
from leastnoise.curator.release import Batch
from leastnoise.curator.rows import priorities
from leastnoise.curator.rows.placing import with_bin_class, with_octave, with_row_class
from leastnoise.curator.rows.totals import Aggregate, to_dense, to_int64
from leastnoise.domain import Domain
from leastnoise.errors import BadDomain, MissingParameter
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.privacy.vector_noise import VectorPlan
from leastnoise.releases.left_out import MOST_BINS_WEIGHED
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.limit_suggestion import Layout, LimitSuggestion
from leastnoise.releases.provenance import Provenance

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class UnitCounts(BinnedQuery):
    """Each unit counted once by its rows, by their spread over the bins, and by a bin."""

    kind: str = "unit counts"
    _keeps_rows: ClassVar[bool] = False
    asked: AskedNoise  # of the question that the limits are for

    @classmethod
    def of(cls, data: Dataset, by: Sequence[str], keys: Any, nulls: str, asked: AskedNoise) -> UnitCounts:
        """The question, checked."""
        if by and keys is None:
            raise MissingParameter(
                "Limits are proposed for bins that are public, so the keys must be listed.",
                parameter="keys",
                example={"keys": ["a", "b"]},
            )
        domain = listed_domain(data, by, keys, nulls) if by else Domain()
        if domain.size > MOST_BINS_WEIGHED:
            raise BadDomain(
                f"Limits can be proposed for {MOST_BINS_WEIGHED:,} bins, and this domain has {domain.size:,}. Use "
                "coarser keys: how many rows a unit has hardly depends on them."
            )
        limits = limits_of(data, bins=1, by=by, max_rows=1)
        return cls(_data=data, _bins=domain, by=tuple(by), limits=limits, asked=asked)

    @property
    def _limits_leave_out(self) -> bool:
        """To count a unit once is the question, and leaves nothing out."""
        return False

    @property
    def layout(self) -> Layout:
        """Where each histogram is among the integers."""
        return Layout(self._bins.size)

    @property
    def size(self) -> int:
        """How many integers the answer has."""
        return self.layout.size

    @property
    def sensitivity(self) -> Sensitivity:
        """One entry of each histogram, by its weight; replaced, two (the proof is in `releases.limit_suggestion`)."""
        weights = self.layout.weights
        moved = 1 if self.neighbours == "add-remove" else 2
        return Sensitivity(
            l1=round_up(Fraction(moved * sum(weights))),
            l2=sqrt_up(Fraction(moved * sum(weight**2 for weight in weights))),
            linf=float(max(weights)),
        )

    @property
    def limits_used(self) -> dict[str, int]:
        """Each unit is counted once in each histogram, however many rows it has: there is no limit."""
        return {}

    def _subject(self) -> str:
        return "units counted by their number of rows"

    def describe(self) -> str:
        """The question in public words, with what shaped the rows before it: nothing in it depends on a row."""
        place = f" by {', '.join(self.by)}" if self.by else ""
        steps = description.all_steps(self._data.steps)
        return description.one_line(
            f"{self._subject()}{place} ({self._size_in_words()}), to propose limits{steps}; one "
            f"{self._data.unit_name} counts once in each histogram; neighbours {self.neighbours}"
        )

    def read(self, plan: VectorPlan, noisy: Batch, provenance: Provenance) -> LimitSuggestion:
        """The noisy histograms, and what they propose."""
        counted = released(noisy, plan, provenance, kind="count", domain=None)
        return LimitSuggestion(components=counted, layout=self.layout, asked=self.asked, by=self.by)

    def _added_up(self, rows: ir.Table, unit: tuple[str, ...]) -> ir.Table:
        """How many units have each cell of the vector, which is called `bin`."""
        cells = self._size_cells(self._drawn(rows, unit))
        return cells.group_by("bin").aggregate(rows=cells.count())

    def _size_cells(self, drawn: ir.Table) -> ir.Table:
        """The cells of rows, spread and bins that each unit is counted in."""
        import ibis

        layout = self.layout
        drawn = with_octave(with_row_class(drawn, "_total", "_rows"), "_total", "_wide")
        if self._bins.size > 1:
            drawn = with_bin_class(with_octave(drawn, "_here", "_deep"), "_here", "_shared")
        octave = drawn["_wide"]
        cells = [drawn["_rows"], octave + layout.start("octaves"), (octave >> 2) + layout.start("wide")]
        if self._bins.size > 1:
            pair = ((octave * (octave + 1)) >> 1) + drawn["_deep"]
            cells += [pair + layout.start("spread"), drawn["_deep"] + layout.start("depths")]
            cells += [drawn["_shared"] + layout.start("shared"), drawn["bin"] + layout.start("bins")]
        return drawn.select(bin=ibis.array(cells).unnest())

    def _drawn(self, rows: ir.Table, unit: tuple[str, ...]) -> ir.Table:
        """One row of each unit: `bin`, how many of the unit's rows have it (_here), and how many rows it has (_total).

        With u the unit's hash, the row is number u mod N in the order of bins: exactly one holds it.
        """
        import ibis

        groups = rows.group_by([*unit, "_unit", "bin"]).aggregate(_here=rows.count())
        of_unit = ibis.window(group_by=list(unit))
        upto = ibis.cumulative_window(group_by=list(unit), order_by="bin")
        groups = groups.mutate(
            _total=groups["_here"].sum().over(of_unit).cast("int64"),
            _upto=groups["_here"].sum().over(upto).cast("int64"),
        )
        groups = groups.mutate(_hash=groups["_unit"] ^ self._salt)
        groups = priorities.mixed(groups, "_hash")
        groups = groups.mutate(_row=groups["_hash"] % groups["_total"])
        return groups.filter((groups["_upto"] - groups["_here"] <= groups["_row"]) & (groups["_row"] < groups["_upto"]))

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        counts, start = to_dense(self.size, parts, "rows"), 0
        for _, size, weight in self.layout.histograms:
            counts[start : start + size] *= weight
            start += size
        return Aggregate(values=to_int64(counts))
