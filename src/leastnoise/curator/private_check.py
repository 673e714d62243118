"""The curator's own exact look at what a question leaves out: PRIVATE, outside every guarantee, and never released.

Nothing here has noise, is debited, or is recorded. So that it is not taken for a release, what it finds says PRIVATE
wherever it is shown, has no method that writes it, and cannot be pickled.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import ibis
import ibis.expr.types as ir

from leastnoise._support.immutable import Frozen
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.description import one_line
from leastnoise.curator.engines.engine import redact_errors
from leastnoise.curator.rows.columns import is_csv, parse_cell, typed_texts, without_words
from leastnoise.curator.rows.placing import as_double, double_literal, is_missing, place
from leastnoise.domain import Axis
from leastnoise.errors import InvalidParameter
from leastnoise.privacy.sensitivity import LARGEST_LIMIT

if TYPE_CHECKING:
    from leastnoise.curator.queries.query import NamedRows, Query

BANNER = (
    "PRIVATE: exact numbers of people's rows, outside every guarantee. For the curator's own eyes: publish, save and "
    "send none of it."
)
MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none", "nil", "missing", "unknown", "?", "-")
SHOWN = 5  # keys and values that are named
MAX_KEYS = 2**20  # of an axis, to look for keys that cover nothing


@dataclass(frozen=True, slots=True)
class Coverage:
    """How the keys of one column fit its rows.

    outside: how many rows no key covers, those without a value among them. missing: how many have no value.
    values: the commonest values that no key covers, each with its rows. empty: how many keys cover no row, and
    empty_keys: the first few; None where there are too many keys to look.
    """

    outside: int
    missing: int
    values: tuple[tuple[Any, int], ...]
    empty: int | None
    empty_keys: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PrivateCheck:
    """What a question leaves out, exactly. PRIVATE: it is shown, and cannot be saved, pickled or copied.

    counts: numbers of rows, cells and units, by what they are. coverage: of each column with keys.
    """

    counts: Mapping[str, int]
    coverage: Mapping[str, Coverage] = field(default_factory=Frozen)

    def __repr__(self) -> str:
        return "\n".join([BANNER, *self.lines()])

    __str__ = __repr__

    def lines(self) -> list[str]:
        """What was found, a line each, without the banner."""
        return [*(f"{what}: {count:,}" for what, count in self.counts.items()), *self._of_keys()]

    def _of_keys(self) -> list[str]:
        lines = []
        for column, found in self.coverage.items():
            if found.outside:
                common = ", ".join(f"{value!r} ({rows:,} rows)" for value, rows in found.values)
                also = f"; {found.missing:,} of them have no value" if found.missing else ""
                named = f"; the commonest others: {common}" if common else ""
                lines.append(f"rows that no key of {column} covers: {found.outside:,}{also}{named}")
            if found.empty:
                some = ", ".join(repr(key) for key in found.empty_keys)
                more = ", ..." if found.empty > len(found.empty_keys) else ""
                lines.append(f"keys of {column} that cover no row: {found.empty:,} ({some}{more})")
        return [one_line(line) for line in lines]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise InvalidParameter("A private check is for the curator's own eyes, and is not written anywhere. Ask again.")


def check_table(data: Dataset) -> PrivateCheck:
    """The exact numbers of a table. Rows are read; nothing is paid or recorded."""
    return _read(data, lambda: _checked_table(data))


def check(query: Query) -> PrivateCheck:
    """The exact numbers of a question. Rows are read; nothing is paid or recorded."""
    return _read(query._data, lambda: _checked(query))


def _read(data: Dataset, look: Callable[[], PrivateCheck]) -> PrivateCheck:
    source = data.source
    source.check_unchanged()
    try:
        if is_csv(source):
            source.engine.verify(source.files)
        return redact_errors(look, source.files)
    finally:
        source.check_unchanged()


def _checked_table(data: Dataset) -> PrivateCheck:
    rows = data.rows
    nameless = functools.reduce(operator.or_, [rows[column].isnull() for column in data.unit])
    missing = {f"missing in {column}": is_missing(rows[column]).sum() for column in rows.columns}
    words = _missing_words(rows, data.unit, data.unit)
    found = _fetch(data, rows, {"rows": rows.count(), "rows without a unit": nameless.sum(), **words, **missing}, words)
    return PrivateCheck(Frozen({**found, **_unparsed(data)}))


def _missing_words(rows: ir.Table, names: Sequence[str], columns: Sequence[str]) -> dict[str, ir.Value]:
    """How many rows have a text that is often written for a missing value. `names` as the rows have them."""
    texts = {name: column for name, column in zip(names, columns, strict=True) if rows[name].type().is_string()}
    return {
        f'rows whose {column} is "NA", "null", "" or the like: a value like others, unless missing names it': (
            rows[name].strip().lower().isin(MISSING_WORDS).sum()
        )
        for name, column in texts.items()
    }


def _checked(query: Query) -> PrivateCheck:
    named = query._named()
    words = _missing_words(named.rows, (*named.unit, *named.by), (*query.unit, *query.by))
    units = zip(query.unit, named.unit, strict=True)
    nameless = {f"rows with no {column}": named.rows[name].isnull().sum() for column, name in units}
    rows = named.rows.filter([named.rows[column].notnull() for column in named.unit])
    counts = {
        **_before_units(query._data),
        **_fetch(query._data, named.rows, {"rows": named.rows.count(), **nameless, **words}, words),
        **_unparsed(query._data),
        **_values(query, replace(named, rows=rows)),
        **_limited(query),
    }
    axes = zip(query._axes.items(), named.by, strict=False)
    coverage = {column: _coverage(query._data, rows, name, axis) for (column, axis), name in axes}
    return PrivateCheck(Frozen(counts), Frozen(coverage))


def _fetch(
    data: Dataset, rows: ir.Table, numbers: Mapping[str, ir.Value], unless_zero: Collection[str] = ()
) -> dict[str, int]:
    """Numbers about rows, in one query; of some, those alone that are not zero."""
    named = {f"n{place}": number.cast("int64") for place, number in enumerate(numbers.values())}
    found = data.engine.fetch(rows.aggregate(**named)).to_pylist()[0] if named else {}
    counts = {what: int(found[name] or 0) for what, name in zip(numbers, named, strict=True)}
    return {what: count for what, count in counts.items() if count or what not in unless_zero}


def _before_units(data: Dataset) -> dict[str, int]:
    """Of a table whose rows are units: the rows that they were made from, all of the source, and those of no unit."""
    if not data.row_is_unit:
        return {}
    rows = without_words(data.source.rows, data.missing)
    named = [column for column in data.unit if column in rows.columns]
    empty = {column: rows[column].isnull() for column in named}
    empty |= {
        column: empty[column] | (rows[column].length() == 0) for column in named if rows[column].type().is_string()
    }
    lost = {f"of these with no {column}": empty[column].sum() for column in named}
    return _fetch(data, rows, {"rows before per_unit, and before any condition": rows.count(), **lost})


def _unparsed(data: Dataset) -> dict[str, int]:
    """Cells of text that are not written like the type that was declared, nor like what was said to stand for a missing
    value: they count as missing. Of all rows, before any condition."""
    source = data.source
    declared = {column: data.types[column] for column in typed_texts(source, data.types)}
    rows, decimal = without_words(source.rows, data.missing), source.layout.decimal or "."
    lost = {
        f"cells of {column} that are not written like {kind}": (
            (rows[column].length() > 0) & parse_cell(rows[column], kind, decimal).isnull()
        ).sum()
        for column, kind in declared.items()
    }
    return _fetch(data, rows, lost)


def _values(query: Query, named: NamedRows) -> dict[str, int]:
    """Values that are missing, and values beyond the clip, among rows with a unit."""
    numbers: dict[str, ir.Value] = {}
    rows = named.rows
    facts = query._facts()
    called = facts.missing or [f"rows with no {column}" for column in query.columns]
    for words, name in zip(called, named.columns, strict=True):
        numbers[words] = is_missing(rows[name]).sum()
    names = dict(zip((*query.by, *query.columns), (*named.by, *named.columns), strict=True))
    for clip in facts.left_out:
        if clip.kind != "clip":
            continue
        ((column,), (low, high)) = clip.columns, clip.numbers
        value = as_double(rows[names[column]], column)
        numbers[f"values of {column} below {low:g}"] = (value < double_literal(low)).sum()
        numbers[f"values of {column} above {high:g}"] = (value > double_literal(high)).sum()
    return _fetch(query._data, rows, numbers)


def _coverage(data: Dataset, rows: ir.Table, column: str, axis: Axis) -> Coverage:
    placed = place(axis, rows, column, "_position")
    outside = placed.filter(placed["_position"].isnull())
    numbers = _fetch(data, outside, {"outside": outside.count(), "missing": is_missing(outside[column]).sum()})
    known = outside.filter(~is_missing(outside[column]))
    common = known.group_by(column).aggregate(_rows=known.count())
    listed = data.engine.fetch(common.order_by([common["_rows"].desc(), column]).limit(SHOWN)).to_pylist()
    values = tuple((row[column], int(row["_rows"])) for row in listed)
    if axis.size > MAX_KEYS:
        return Coverage(numbers["outside"], numbers["missing"], values, None, ())
    found = data.engine.fetch(placed.filter(placed["_position"].notnull()).select("_position").distinct())
    seen = set(found["_position"].to_pylist())
    empty = [position for position in range(axis.size) if position not in seen]
    names = tuple(axis.key(position) for position in empty[:SHOWN])
    return Coverage(numbers["outside"], numbers["missing"], values, len(empty), names)


def _limited(query: Query) -> dict[str, int]:
    """Rows that could be counted, units with more of them than are kept, and rows that the limits leave out."""
    data, most = query._data, query.limits.max_rows
    rows, unit = query._countable()
    units = rows.group_by(list(unit)).aggregate(_rows=rows.count())
    crowded = {f"units with more than {most:,} of these": (units["_rows"] > most).sum()} if most < LARGEST_LIMIT else {}
    numbers = _fetch(
        data,
        units,
        {"rows in the bins, with unit and value": units["_rows"].sum(), "units of these": units.count(), **crowded},
    )
    if not query._facts().limits_leave_out:
        return numbers
    kept = data.engine.fetch(_kept(query, units))["kept"][0].as_py()
    total = numbers["rows in the bins, with unit and value"]
    return {**numbers, "rows that the limits leave out": total - int(kept or 0)}


def _kept(query: Query, units: ir.Table) -> ir.Table:
    """How many rows the limits keep. Where rows alone are limited, that follows from the units."""
    if query._counts_rows:
        totals = query._expression()
        return totals.aggregate(kept=totals["rows"].sum().cast("int64"))
    cut = units.select(kept=ibis.least(units["_rows"], query.limits.max_rows))
    return cut.aggregate(kept=cut["kept"].sum().cast("int64"))
