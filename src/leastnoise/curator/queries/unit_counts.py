"""How many units have how many rows, in how many bins: what limits are proposed from.

Of each unit one row is drawn, uniformly, by a hash of the unit and nothing else's: with N rows that lie in places 1,
2 ... in n_1, n_2 ... of them, it is the row number (hash mod N) in the order of places. So what a unit adds depends on
its own rows alone, is the same on every engine, and is one number in each histogram (`releases.unit_counts`, with the
sensitivity and its proof). A unit with no row in the bins adds nothing. The salt of that hash is made of public facts
of the question, so every look at one question draws the same row, and the integers behind all of them are the same
(`releases.looks`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from leastnoise._support.directed_rounding import round_up, sqrt_up
from leastnoise.curator import description
from leastnoise.curator.aggregate import bounding
from leastnoise.curator.aggregate.binning import place_rows
from leastnoise.curator.aggregate.every_bin import scattered
from leastnoise.curator.aggregate.exact_totals import Aggregate, narrow
from leastnoise.curator.aggregate.size_class import with_bin_class, with_octave, with_row_class
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.queries.bin_totals import BinnedQuery
from leastnoise.curator.queries.domains import limits_of, listed_domain
from leastnoise.curator.queries.query import NamedRows
from leastnoise.domain import Domain
from leastnoise.domain.size_classes import BIN_STARTS, OCTAVES, ROW_STARTS, WIDE
from leastnoise.errors import BadDomain, InvalidParameter, MissingParameter, WrongType
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.releases.left_out import MOST_BINS_WEIGHED
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.releases.release import Release
from leastnoise.releases.unit_counts import Layout

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class UnitCounts(BinnedQuery):
    """Each unit counted once by its rows, by their spread over the bins, and by a bin."""

    kind: ClassVar[str] = "unit counts"
    row_is_code: ClassVar[bool] = False
    asked: AskedNoise  # of the question that the limits are for
    after: LimitSuggestion | None = None  # an earlier look at the same, whose counts these are put together with

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

    def going_on(self, after: LimitSuggestion | None) -> UnitCounts:
        """The same question, whose answer is put together with an earlier one: refused where that is of another, by
        public facts alone. To mix them would hurt nobody, for both are released, and propose limits for neither."""
        if after is None:
            return self
        if not isinstance(after, LimitSuggestion):
            raise WrongType(
                f"after must be what suggest_limits gave, or its file loaded. Got {type(after).__name__} instead.",
                parameter="after",
            )
        if not after.fingerprint:
            raise InvalidParameter(
                "That look does not say which keys it had: an earlier version of leastnoise made it. Look again "
                "without it.",
                parameter="after",
            )
        if after.fingerprint != self.fingerprint:
            same = after.query == self.describe() and after.table == self._data.source.name
            differ = "The keys of the bins differ" if same else f"It was, of {after.table!r}: {after.query}"
            raise InvalidParameter(
                f"That is a look at another question, and counts of two questions make no limits for either. {differ}. "
                f"This is, of {self._data.source.name!r}: {self.describe()}. Look again without it.",
                parameter="after",
            )
        return replace(self, after=after)

    @property
    def fingerprint(self) -> str:
        """A hash of what makes it this question, all of it public: table, steps, unit, neighbours, keys, and which
        histograms are counted in which classes."""
        keys = [[repr(axis.key(place)) for place in range(axis.size)] for axis in self._bins.axes]
        classes = [list(ROW_STARTS), list(BIN_STARTS), list(OCTAVES), list(WIDE)]
        facts = [self._data.source.name, list(self._data.steps), list(self.unit), self.neighbours, list(self.by), keys]
        text = json.dumps([*facts, self.layout.histograms, classes])
        return hashlib.sha256(text.encode(errors="replace")).hexdigest()

    _limits_leave_out: ClassVar[bool] = False  # to count a unit once is the question

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
        """One entry of each histogram, by its weight; replaced, two (the proof is in `releases.unit_counts`)."""
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

    def _released_as(self) -> tuple[str, Domain | None]:
        return "count", None

    def _wrap(self, noisy: Release) -> LimitSuggestion:
        return LimitSuggestion(
            components=noisy,
            layout=self.layout,
            asked=self.asked,
            by=self.by,
            fingerprint=self.fingerprint,
            earlier=self.after,
        )

    def _coded(self, named: NamedRows) -> ir.Table:
        """Unit and place of every row in the bins."""
        domain = replace(self._bins, names=named.by) if self._bins.names else self._bins
        rows = place_rows(named.rows, domain, name="_place")
        rows = bounding.with_unit_word(rows.rename(code="_place"), named.unit, self._data.engine)
        return rows.select(*named.unit, "_unit", "code")

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
            cells += [drawn["_shared"] + layout.start("shared"), drawn["code"] + layout.start("bins")]
        return drawn.select(bin=ibis.array(cells).unnest())

    def _drawn(self, rows: ir.Table, unit: tuple[str, ...]) -> ir.Table:
        """One row of each unit: `code`, how many of the unit's rows have it (_here), and how many rows it has (_total).

        With u the unit's hash, the row is number u mod N in the order of codes: exactly one code holds it.
        """
        import ibis

        groups = rows.group_by([*unit, "_unit", "code"]).aggregate(_here=rows.count())
        of_unit = ibis.window(group_by=list(unit))
        upto = ibis.cumulative_window(group_by=list(unit), order_by="code")
        groups = groups.mutate(
            _total=groups["_here"].sum().over(of_unit).cast("int64"),
            _upto=groups["_here"].sum().over(upto).cast("int64"),
        )
        groups = groups.mutate(_hash=groups["_unit"] ^ self._salt)
        groups = bounding.mixed(groups, "_hash")
        groups = groups.mutate(_row=groups["_hash"] % groups["_total"])
        return groups.filter((groups["_upto"] - groups["_here"] <= groups["_row"]) & (groups["_row"] < groups["_upto"]))

    def _integers(self, parts: list[pa.Table]) -> Aggregate:
        counts, start = scattered(self.size, parts, "rows"), 0
        for _, size, weight in self.layout.histograms:
            counts[start : start + size] *= weight
            start += size
        return Aggregate(values=narrow(counts))
