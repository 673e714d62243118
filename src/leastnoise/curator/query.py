"""What is asked of a table: frozen, lazy, and public, but for the one function that runs it.

A Query knows everything a release needs before any row is read: kind, domain, limits, grid and
sensitivity. `aggregate` reads the rows and returns exact integers, in steps of the grid. It is a total
function of the rows: an empty table, no row in the domain, null units or NaN give integers like any
other.
"""

from __future__ import annotations

import functools
import operator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from leastnoise._support.validation import Number
from leastnoise.curator import description, preview, publish
from leastnoise.curator.aggregate import vectors
from leastnoise.curator.aggregate.binning import epoch_days, is_missing, place_rows
from leastnoise.curator.aggregate.bounding import FIRST, WORD, Coding, bounded, salt, with_hash, with_unit_word, word
from leastnoise.curator.aggregate.clipping import Clip
from leastnoise.curator.aggregate.entrance import Door
from leastnoise.curator.aggregate.integers import Aggregate, narrow
from leastnoise.curator.aggregate.nearest import FULL, WEIGHT_BITS
from leastnoise.curator.aggregate.vectors import Ball
from leastnoise.curator.budget import Budget
from leastnoise.curator.engines import Source
from leastnoise.curator.preview import Expectation
from leastnoise.curator.publish import Answer
from leastnoise.curator.request import PrivacyRequest
from leastnoise.domain import Domain, Steps
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_choice import Choice
from leastnoise.privacy.sensitivity import Limits, Sensitivity

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

FIRST_DAY, LAST_DAY = -719162, 2932896  # of the years 1 and 9999, from 1970-01-01
Kind = Literal["count", "units", "sum", "mean", "quantile", "vector_sum", "vector_mean"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Query:
    """One question about a table.

    `domain` is None for unknown keys. `grid` is the step of the integers: the answer is integers * grid.
    For kind "mean" the integers are, bin by bin, first the centred sums and then the counts times
    `clip.half`; for "vector_mean" the sums of the components and then the count times `ball.radius`.
    """

    kind: Kind
    source: Source
    door: Door
    unit: tuple[str, ...]
    neighbours: Neighbours
    by: tuple[str, ...]
    domain: Domain | None
    limits: Limits
    sensitivity: Sensitivity
    grid: float = 1.0
    clip: Clip | None = None
    columns: tuple[str, ...] = ()
    nulls: str = "drop"
    levels: tuple[float, ...] = ()
    ball: Ball | None = None
    spread: int = 0  # over how many nodes a kernel spreads a row
    rules: tuple[str, ...] = ()  # what shaped the rows before, in public words
    order: str = ""  # what `ordering` said before the columns were renamed

    @property
    def rows(self) -> ir.Table:
        """The rows, lazily; NaN is null in them."""
        return self.door.rows

    @property
    def bins(self) -> int | None:
        """How many bins; None when the keys are unknown."""
        return None if self.domain is None else self.domain.size

    @property
    def size(self) -> int | None:
        """How many integers the answer has; None when the keys are unknown."""
        if self.ball is not None:
            return self.ball.length + (self.kind == "vector_mean")
        return None if self.domain is None else self.domain.size * (2 if self.kind == "mean" else 1)

    @property
    def sparse(self) -> bool:
        """Whether the domain is too large for a dense vector, so that the answer is indices and values."""
        return self.domain is not None and self.domain.sparse

    def describe(self) -> str:
        """The question in public words, with what shaped the rows before it: nothing in it depends on a row."""
        subject = {"count": "rows", "units": "distinct units", "quantile": "quantiles"}
        asked = subject.get(self.kind, f"{self.kind} of {description.some(self.columns)}")
        if self.levels:
            asked += f" {description.some([f'{level:g}' for level in self.levels])}"
        place = f" by {', '.join(self.by)}" if self.by else ""
        bins = "unknown keys" if self.domain is None else _number(self.domain.size, "bin")
        bins = bins if self.ball is None else _number(self.ball.length, "component")
        limits = self.limits
        unit = " + ".join(self.unit)
        return description.one_line(
            f"{asked}{place} ({bins}){self._clipped()}{description.told(self.rules)}; one {unit} keeps at most "
            f"{_number(limits.max_rows, 'row')}, {limits.max_per_bin} in a bin, {_number(limits.max_bins, 'bin')}"
            f"; neighbours {self.neighbours}"
        )

    def _clipped(self) -> str:
        if self.ball is not None:
            return f", norm clipped to {self.ball.radius * self.ball.grid!r}"
        steps = [axis for axis in self.domain.axes if isinstance(axis, Steps)] if self.domain is not None else []
        ends = self.clip or (steps[0] if self.kind == "quantile" else None)
        return f", clipped to [{ends.low!r}, {ends.high!r}]" if ends is not None else ""

    def __repr__(self) -> str:
        return f"<Query: {self.describe()}>"

    def ordering(self) -> str:
        """The text that salts the order of a unit's rows. It never changes, so that a question keeps the same rows in
        every version, and however its conditions are written."""
        if self.order:
            return self.order
        subject = {"count": "rows", "units": "distinct units", "quantile": "quantiles"}
        asked = subject.get(self.kind, f"{self.kind} of {', '.join(self.columns)}")
        place = f" by {', '.join(self.by)}" if self.by else ""
        bins = "unknown keys" if self.domain is None else f"{self.domain.size} bins"
        clip = f", clipped to [{self.clip.low!r}, {self.clip.high!r}]" if self.clip else ""
        norm = f", norm clipped to {self.ball.radius * self.ball.grid!r}" if self.ball else ""
        return (
            f"{asked}{place} ({bins}){clip}{norm}; one {' + '.join(self.unit)} keeps at most {self.limits.max_rows} "
            f"rows, {self.limits.max_per_bin} in a bin, {self.limits.max_bins} bins; neighbours {self.neighbours}"
        )

    def expect(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        sigma: Number | None = None,
        mechanism: Choice = "auto",
        budget: Budget | None = None,
        share: Number | None = None,
    ) -> Expectation:
        """What a release would be like: mechanism, noise, half-widths, threshold. Free, and no row is read."""
        request = PrivacyRequest(
            epsilon=epsilon, delta=delta, sigma=sigma, mechanism=mechanism, budget=budget, share=share
        )
        return preview.expect(self, request)

    def release(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        sigma: Number | None = None,
        mechanism: Choice = "auto",
        budget: Budget | None = None,
        share: Number | None = None,
    ) -> Answer:
        """The answer with noise. Everything public is checked, and a budget debited, before the first row is read."""
        self.source.check_unchanged()
        if self.ball is not None:
            vectors.prepare()
        request = PrivacyRequest(
            epsilon=epsilon, delta=delta, sigma=sigma, mechanism=mechanism, budget=budget, share=share
        )
        return publish.release(self, request, read=lambda: aggregate(self))

    def sql(self) -> str:
        """The SQL that will run."""
        return self.source.engine.sql(expression(self))


def aggregate(query: Query) -> Aggregate:
    """The exact integers of a query. PRIVATE: for a mechanism that adds noise, and for tests.

    They are of one state of the table: of one query; or of several about files that nobody changed meanwhile, about
    rows in memory, or about a copy. Else a unit might pass a check in one state and be summed in another.
    """
    query.source.check_unchanged()
    try:
        query.source.engine.verify(query.source.files, _read_columns(query))
        return _vectors(query, query.ball) if query.ball is not None else _totalled(query)
    finally:
        query.source.check_unchanged()


def _totalled(query: Query) -> Aggregate:
    query = _renamed(query)
    if query.spread:
        return _known(query, [query.source.engine.fetch(expression(query))])
    if query.domain is None:
        return _unknown(query, query.source.engine.fetch(expression(query)))
    rows = _coded(query)
    parts = query.source.engine.passes(rows, unit=list(query.unit), kept=query.limits.max_rows)
    if parts == 1:
        return _known(query, [query.source.engine.fetch(_totals(query, rows))])
    with _same_rows(query.source, rows) as same:
        return _known(query, [query.source.engine.fetch(_totals(query, part)) for part in _classes(same, parts)])


def _same_rows(source: Source, rows: ir.Table) -> AbstractContextManager[ir.Table]:
    """`rows`, for several queries that must see the same."""
    return nullcontext(rows) if source.rereadable else source.engine.copied(rows)


def expression(query: Query) -> ir.Table:
    """The lazy table of totals: one expression for every engine."""
    query = _renamed(query)
    if query.ball is not None:
        return vectors.kept(
            query.rows,
            unit=query.unit,
            columns=query.columns,
            ball=query.ball,
            max_rows=query.limits.max_rows,
            key=salt(query.ordering()),
            engine=query.source.engine,
        )
    if query.spread:
        return _weights(query)
    return _keys_and_totals(query) if query.domain is None else _totals(query, _coded(query))


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _renamed(query: Query) -> Query:
    """The same query over unit0, by0, column0 ...: a column of the user's called like one of ours (`_place`, `code`)
    would otherwise be overwritten on the way, and rows ranked within something that is not the unit."""
    if query.order:
        return query
    sides = {"unit": query.unit, "by": query.by, "column": query.columns}
    names = {side: tuple(f"{side}{place}" for place in range(len(given))) for side, given in sides.items()}
    chosen = {new: query.rows[old] for side in sides for new, old in zip(names[side], sides[side], strict=True)}
    domain = query.domain
    return replace(
        query,
        order=query.ordering(),
        door=Door(query.rows.select(**chosen), passed=True),
        unit=names["unit"],
        by=names["by"],
        columns=names["column"],
        domain=replace(domain, names=names["by"]) if domain is not None and domain.names else domain,
    )


def _read_columns(query: Query) -> list[str]:
    """The columns of the files that the query reads."""
    import ibis.expr.operations as ops

    if not query.door.passed and not query.by:
        return sorted({*query.unit, *query.columns})
    read = query.rows.select(*dict.fromkeys((*query.unit, *query.by, *query.columns)))
    fields = read.op().find(ops.Field)
    return sorted({field.name for field in fields if isinstance(field.rel, ops.PhysicalTable)})


def _vectors(query: Query, ball: Ball) -> Aggregate:
    engine = query.source.engine
    if not engine.copies:
        total = vectors.added(expression(query), ball=ball, engine=engine)
    else:
        given = query.door.given.select(*query.unit, *query.columns)
        with _same_rows(query.source, given) as same:
            total = _bounded_sums(replace(query, door=Door(same, passed=query.door.passed)), ball)
    if query.kind == "vector_sum":
        return Aggregate(values=narrow(total[:-1]))
    return Aggregate(values=narrow(np.append(total[:-1], total[-1] * ball.radius)))


def _bounded_sums(query: Query, ball: Ball) -> np.ndarray[Any, Any]:
    """A thousand columns are a thousand expressions, and the loops drop NaN themselves: unless rows must be ranked,
    only the unit passes the door, and every column is named once."""
    rows = query.door.behind(query.unit)
    named = {f"unit{place}": rows[column] for place, column in enumerate(query.unit)}
    columns = {f"column{place}": column for place, column in enumerate(query.columns)}

    def elements(nameless: bool) -> ir.Table:
        kept = rows.filter([rows[column].notnull() for column in query.unit]) if nameless else rows
        return kept.select(**{name: kept[column] for name, column in columns.items()})

    return vectors.sums(
        elements,
        units=rows.select(**named),
        ball=ball,
        max_rows=query.limits.max_rows,
        ranked=lambda: expression(query),
        engine=query.source.engine,
    )


def _coded(query: Query) -> ir.Table:
    """Unit and code of every row that is inside the domain and has a value."""
    assert query.domain is not None
    needed = dict.fromkeys((*query.unit, *query.by, *query.columns))
    rows = query.rows.select(*needed)
    rows = place_rows(rows, query.domain, name="_place")
    code = rows["_place"]
    if query.clip is not None:
        rows = rows.mutate(_value=query.clip.apply(rows[query.columns[0]], query.columns[0]))
        rows = rows.filter(rows["_value"].notnull())
        code = (rows["_place"] << query.clip.bits) | (rows["_value"] - query.clip.lowest)
    rows = rows.mutate(code=code)
    return with_unit_word(rows, query.unit, query.source.engine).select(*query.unit, "_unit", "code")


def _classes(rows: ir.Table, parts: int) -> list[ir.Table]:
    """The rows in `parts` classes of units, a power of two; their totals add up to the totals."""
    mixed = (((rows["_unit"] ^ (rows["_unit"] >> 16)) * FIRST & WORD) >> 16) & (parts - 1)
    return [rows.filter(mixed == part) for part in range(parts)]


def coding(query: Query) -> Coding:
    """How bin and value share one integer."""
    assert query.domain is not None
    if query.clip is None:
        return Coding(bins=query.domain.size)
    return Coding(bins=query.domain.size, value_bits=query.clip.bits, lowest=query.clip.lowest)


def _totals(query: Query, rows: ir.Table) -> ir.Table:
    engine, limits, code = query.source.engine, query.limits, coding(query)
    if query.kind == "units":
        return rows.select(*query.unit).distinct().aggregate(rows=lambda t: t.count()).mutate(bin=0)
    if code.size == 1:
        return _capped(rows, query.unit, limits.max_rows)
    kept = bounded(rows, unit=query.unit, coding=code, limits=limits, key=salt(query.ordering()), engine=engine)
    kept = kept.mutate(bin=code.bin_of(kept["code"]))
    totals = {"rows": kept.count()}
    if query.clip is not None:
        kept = kept.mutate(value=code.value_of(kept["code"]))
        totals = {"rows": kept.count(), "total": engine.exact_sum(kept["value"])}
    return kept.group_by("bin").aggregate(**totals)


def _weights(query: Query) -> ir.Table:
    """Kernel weights: rows are ranked by a hash of all their nodes and weights, then summed node by node.

    Whatever the column holds, a row adds non-negative weights to bins, and they sum to at most one, or it adds none.
    """
    import ibis

    engine, (column,) = query.source.engine, query.by
    rows = with_unit_word(query.rows.select(*query.unit, column), query.unit, engine)
    parts = [f"_part{place}" for place in range(query.spread)]
    rows = rows.mutate(**{name: rows[column][place].fill_null(0) for place, name in enumerate(parts)})
    weights = [rows[name] & (2**WEIGHT_BITS - 1) for name in parts]
    rows = rows.filter((rows[parts[0]] > 0) & (functools.reduce(operator.add, weights) <= FULL))
    rows = rows.mutate(_unit=rows["_unit"] ^ salt(query.ordering()))
    for name in parts:
        rows = with_hash(rows, 0, code=name, codes=2**62, name="_unit")
    order = ibis.window(group_by=list(query.unit), order_by=["_unit", *parts])
    rows = rows.mutate(_rank=ibis.row_number().over(order))
    kept = rows.filter(rows["_rank"] < query.limits.max_rows).select(
        part=ibis.array([rows[name] for name in parts]).unnest()
    )
    kept = kept.select(bin=kept["part"] >> WEIGHT_BITS, value=kept["part"] & (2**WEIGHT_BITS - 1))
    assert query.domain is not None
    kept = kept.filter(kept["bin"].between(0, query.domain.size - 1))  # a node beyond the keys is no bin
    return kept.filter(kept["value"] > 0).group_by("bin").aggregate(rows=engine.exact_sum(kept["value"]))


def _capped(rows: ir.Table, unit: tuple[str, ...], count: int) -> ir.Table:
    """One bin and no values: all rows of a unit are alike, so their number is enough."""
    import ibis

    units = rows.group_by(list(unit)).aggregate(rows=rows.count())
    kept = units.select(rows=ibis.least(units["rows"], count))
    return kept.aggregate(rows=kept["rows"].sum().coalesce(0)).mutate(bin=0)


def _known(query: Query, parts: list[pa.Table]) -> Aggregate:
    bins = np.concatenate([_integers(part["bin"]) for part in parts]).astype(np.int64)
    rows = np.concatenate([_integers(part["rows"]) for part in parts])
    if query.sparse:
        places, inverse = np.unique(bins, return_inverse=True)
        totals = np.zeros(len(places), np.int64)
        np.add.at(totals, inverse, rows)
        return Aggregate(values=totals, indices=places)
    assert query.domain is not None
    counts = _scatter(query.domain.size, bins, rows)
    if query.clip is None:
        return Aggregate(values=narrow(counts))
    sums = _scatter(query.domain.size, bins, np.concatenate([_integers(part["total"]) for part in parts]))
    if query.kind == "sum":
        return Aggregate(values=narrow(sums))
    centred = sums - counts.astype(object) * query.clip.centre
    return Aggregate(values=narrow(np.concatenate([centred, counts.astype(object) * query.clip.half])))


def _scatter(size: int, bins: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    total = np.zeros(size, dtype=values.dtype)
    np.add.at(total, bins, values)
    return total


def _integers(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """int64 from integers; Python integers from the 128-bit decimals of exact sums."""
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(), dtype=np.int64)
    return np.array([int(value or Decimal(0)) for value in column.to_pylist()], dtype=object)


def _keys_and_totals(query: Query) -> ir.Table:
    """Unknown keys: rows of a unit and key are alike, so they are counted first and the counts are cut.

    In a unit's order of keys, `before` rows come earlier; of the next n rows max_rows - before are kept.
    """
    import ibis

    engine, limits, unit, by = query.source.engine, query.limits, list(query.unit), list(query.by)
    rows = query.rows.select(*unit, *by)
    if query.nulls == "drop":
        for column in by:
            rows = rows.filter(~is_missing(rows[column]))
    for column in by:
        rows = _with_years(rows, column)
    rows = with_unit_word(rows, query.unit, engine)
    groups = rows.group_by([*unit, "_unit", *by]).aggregate(_rows=rows.count())
    groups = groups.mutate(_rows=ibis.least(groups["_rows"], limits.max_per_bin))
    groups = _key_hash(groups, query)
    order = ibis.window(group_by=unit, order_by=["_hash", *by])
    upto = ibis.cumulative_window(group_by=unit, order_by=["_hash", *by])
    ranked = groups.mutate(_rank=ibis.row_number().over(order), _upto=groups["_rows"].sum().over(upto))
    ranked = ranked.mutate(_kept=ibis.least(ranked["_rows"], limits.max_rows - ranked["_upto"] + ranked["_rows"]))
    ranked = ranked.filter((ranked["_rank"] < limits.max_bins) & (ranked["_kept"] > 0))
    return ranked.group_by(by).aggregate(rows=engine.exact_sum(ranked["_kept"]), units=ranked.count()).order_by(by)


def _with_years(rows: ir.Table, column: str) -> ir.Table:
    """Without days before the year 1 or after 9999: a release could not name them, and an error would."""
    if not rows[column].type().is_date():
        return rows
    return rows.filter(rows[column].isnull() | epoch_days(rows[column], column).between(FIRST_DAY, LAST_DAY))


def _key_hash(groups: ir.Table, query: Query) -> ir.Table:
    groups = groups.mutate(_unit=groups["_unit"] ^ salt(query.ordering()))
    for column in query.by:
        key = word(groups[column], column, query.source.engine).fill_null(0)
        groups = groups.mutate(_key=key)
        groups = with_hash(groups, 0, code="_key", codes=WORD + 1, name="_unit")
    return groups.rename(_hash="_unit").drop("_key")


def _unknown(query: Query, found: pa.Table) -> Aggregate:
    columns = [found[name].to_pylist() for name in query.by]
    keys = tuple(columns[0]) if len(columns) == 1 else tuple(zip(*columns, strict=True))
    return Aggregate(values=narrow(_integers(found["rows"])), keys=keys, units=_integers(found["units"]))
