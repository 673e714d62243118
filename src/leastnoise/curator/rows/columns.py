"""Columns of people's rows, cleaned and of the types that were declared: what happens to a cell here depends on that
cell alone, and is the same on every engine.

An engine that guesses types looks at people's rows, and its guess shows: in the schema, in which queries are
refused, in a header taken for a row. So in a CSV, and in the names of folders, every column is text, and becomes a
number, a day or a time where the caller says so; as does any column of text. A cell that is not written like one is
null, as if it were missing: that is no error, because an error would tell about it. Engines read odd numbers
differently (is 2.5 an integer, is 3.0?), so a pattern decides first, and they read its first group.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Any

import ibis
import ibis.expr.types as ir

from leastnoise._support.text import type_name
from leastnoise.curator.engines.engine import Source, builtin
from leastnoise.curator.engines.files import DELIMITERS, is_parquet
from leastnoise.errors import Code, InvalidParameter, UnknownColumn, WrongType, as_code

FIRST_TIME, LAST_TIME = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)


class Type(Enum):
    """What a value is. Engines have a dozen kinds of integers; here is one, of 64 bits.

    The value is what sentences call it. declared: what `types` does. sql: what a cast does. ibis: the one type of its
    kind in which engines compute.
    """

    BOOLEAN = "true or false", "bool", "BOOLEAN", "boolean"
    INTEGER = "whole numbers", "int", "BIGINT", "int64"
    REAL = "numbers", "float", "DOUBLE", "float64"
    TEXT = "text", "text", "VARCHAR", "string"
    DATE = "dates", "date", "DATE", "date"
    TIMESTAMP = "times", "timestamp", "TIMESTAMP", "timestamp(6)"
    NULL = "null", "", "", "string"
    OTHER = "something else", "", "", "string"

    declared: str
    sql: str
    ibis: str

    def __new__(cls, words: str, declared: str, sql: str, ibis: str) -> Type:
        made = object.__new__(cls)
        made._value_, made.declared, made.sql, made.ibis = words, declared, sql, ibis
        return made

    @classmethod
    def of(cls, kind: Any) -> Type:
        """The type of a column, from its Ibis type."""
        if kind.is_boolean():
            return cls.BOOLEAN
        if kind.is_integer() or (kind.is_decimal() and kind.scale == 0):  # Spark's unsigned numbers are such decimals
            return cls.INTEGER
        if kind.is_floating() or kind.is_decimal():
            return cls.REAL
        if kind.is_string() or kind.is_uuid():
            return cls.TEXT
        if kind.is_date():
            return cls.DATE
        return cls.TIMESTAMP if kind.is_timestamp() else cls.OTHER


@dataclass(frozen=True, eq=False)
class CleanRows:
    """The rows as they were given, and cleaned when they are asked for: a thousand columns take a while to build."""

    given: ir.Table
    already_clean: bool = False

    @cached_property
    def rows(self) -> ir.Table:
        """All columns, all of them clean."""
        return self.given if self.already_clean else clean(self.given)

    def with_clean(self, columns: Iterable[str]) -> ir.Table:
        """All columns, of which those named are clean."""
        return self.given if self.already_clean else clean(self.given, columns)


def clean(rows: ir.Table, columns: Iterable[str] | None = None) -> ir.Table:
    """`rows` (in all columns, or in those named) with null for NaN and for days and times outside the years 1 to 9999,
    and with times as UTC in whole microseconds.

    Parquet's statistics leave NaN out, and DuckDB believes them: with other rows around it, isnan(NaN) is false and
    NaN < 10 true; alone in its row group it is the reverse. One unit's rows would then decide what becomes of
    another's; and the week of a day that no row has is out of range already when the plan is made. A statistic does
    not pass the first choice below.
    """
    made: dict[str, ir.Value] = {}
    schema = rows.schema()
    for name in schema if columns is None else columns:
        kind = schema[name]
        if not (kind.is_floating() or kind.is_date() or kind.is_timestamp()):
            continue
        column, nothing = rows[name], ibis.null(kind)
        hidden = ibis.ifelse(column.isnull(), nothing, column)
        if kind.is_floating():
            made[name] = ibis.ifelse(hidden.isnan(), nothing, hidden)
        elif kind.is_date():
            made[name] = _within(hidden, ibis.date(1, 1, 1), ibis.date(9999, 12, 31))
        else:
            made[name] = _within(_microseconds(hidden), ibis.timestamp(FIRST_TIME), ibis.timestamp(LAST_TIME))
    return rows.mutate(made) if made else rows


def _within(value: ir.Value, first: ir.Value, last: ir.Value) -> ir.Value:
    return ibis.ifelse(value.between(first, last), value, ibis.null(value.type()))


def _microseconds(value: ir.TimestampValue) -> ir.TimestampValue:
    """Plain UTC microseconds. Engines round a cast from nanoseconds, so those that would be rounded are taken off."""
    kind = value.type()
    if kind.scale == 9:
        count = builtin("epoch_ns", kind, "int64")(value)  # null for infinity
        inside = ibis.ifelse(count > -(2**63) + 1000, count, ibis.null("int64"))
        rest = ((inside % 1000) + 1000) % 1000
        value = builtin("make_timestamp_ns", "int64", "timestamp(9)")(inside - rest)
    elif kind.timezone is None and kind.scale in (None, 6):
        return value
    return value.try_cast("timestamp(6)")


# The years 1 to 9999; engines differ about 24:00 and about seconds past 59.
DAY = r"(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-[0-9]{2}-[0-9]{2}"
CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
# Times are in UTC, also where they say so; other offsets are not read.
# Java's and RE2's patterns agree on these; 18 digits fit 64 bits. Engines skip blanks around a float and round
# its digits to the nearest double, past the largest to infinity, which is clipped like any number.
FLOAT = r" *[-+]?([0-9]{1,100}([.][0-9]{0,100})?|[.][0-9]{1,100})([eE][-+]?[0-9]{1,3})? *"
PATTERNS = {
    # pandas writes 3.0 and, for true, 1.0 where a value is missing elsewhere in the column
    "int": ("int64", r"\A([-+]?[0-9]{1,18})([.]0{1,18})?\z"),
    "float": ("float64", rf"\A({FLOAT})\z"),
    "bool": ("boolean", r"\A(true|false|True|False|TRUE|FALSE|1|0)([.]0)?\z"),
    "date": ("date", rf"\A({DAY})\z"),
    "timestamp": ("timestamp(6)", rf"\A({DAY}[ T]{CLOCK})(Z|[+]00(:?00)?)?\z"),
}
NUMBERS = ("int", "float", "bool")  # of which a fraction may be written


def is_csv(source: Source) -> bool:
    """Whether the source is CSV files, whose cells are all text."""
    return bool(source.files) and not is_parquet(source.files[0])


def unknown_unit(source: Source, column: str) -> InvalidParameter:
    """The error for a unit that is no column. The header of a CSV is not shown."""
    if is_csv(source):
        separated = DELIMITERS[source.layout.separator(source.files[0])]
        return UnknownColumn.in_header(column, source.files[0], separated)
    return unknown_column(source, column, (*source.rows.columns, *source.undeclared))


def unknown_column(source: Source, column: str, columns: Iterable[str]) -> InvalidParameter:
    """The error for a column that is not among these, whose type nobody has declared, or whose name pandas keeps in the
    index of a frame, which is not read."""
    if column in source.undeclared:
        return undeclared_column(column)
    if column not in source.index:
        return UnknownColumn.among_columns(column, columns)
    return UnknownColumn(
        f'"{column}" is in the index of the frame, and only its columns are read. Make a column of it first.',
        parameter="column",
        value=column,
        example=typed_before("df = df.reset_index()"),
    )


def typed_before(code: str) -> Code:
    """What to type before a frame is opened, where there is no command line."""
    return Code(code, code)


def undeclared_column(column: str) -> WrongType:
    """The error for a column of Python objects."""
    return WrongType(
        f'"{column}" is a column of Python objects and has no type, and guessing one would look at people\'s rows. '
        f"Declare what it holds (text, {', '.join(PATTERNS)}), or convert the frame before: df.convert_dtypes(), or "
        '.astype("str").',
        parameter="types",
        value=column,
        example={"types": {column: "text"}},
    )


def derived_from_text(column: str, kind: Type) -> Code:
    """What makes a column of a declared type from one of text, in any table."""
    name, quoted = f"as_{kind.declared}", column.replace('"', '""')
    cast = f'CAST("{quoted}" AS {kind.sql})'
    return Code(f"derive({name}={as_code(cast)})", f"--derive {shlex.quote(f'{name}={cast}')}")


def check_types(types: Mapping[str, str]) -> None:
    """Raise unless every type is one that can be declared."""
    if not isinstance(types, Mapping):
        raise WrongType(
            f"types are declared by the name of a column. Got {types!r} instead.",
            parameter="types",
            value=types,
            example={"types": {"hour": "int"}},
        )
    for column, kind in types.items():
        if kind not in (*PATTERNS, "text"):
            raise InvalidParameter.among(f'the type of "{column}"', kind, [*PATTERNS, "text"])


def check_missing(words: object) -> tuple[str, ...]:
    """The texts that stand for a missing value, or an error."""
    listed = (words,) if isinstance(words, str) else tuple(words) if isinstance(words, Iterable) else (words,)
    for word in listed:
        if not isinstance(word, str):
            raise WrongType(
                f"missing holds texts that stand for a missing value. Got {type(word).__name__} instead.",
                parameter="missing",
                value=word,
                example={"missing": ["NA", "-999"]},
            )
    return listed


def parsed(source: Source, types: Mapping[str, str], missing: Sequence[str] = ()) -> ir.Table:
    """The rows of the source with the declared types; in a CSV an empty cell is null. So is, in every column of text, a
    cell that is one of `missing`: that depends on the cell alone."""
    rows = without_words(source.rows, missing)
    for column in types:
        if column not in rows.columns:
            raise unknown_column(source, column, (*rows.columns, *source.undeclared))
        kind = rows[column].type()
        if column not in source.declared and not kind.is_string():
            raise InvalidParameter(
                f'types are declared for columns of text and of Python objects; "{column}" holds {type_name(kind)} as '
                "it is. Leave it out.",
                parameter="types",
                value=column,
            )
    texts = rows.columns if is_csv(source) else source.folders
    kinds = dict.fromkeys(texts, "text") | {column: types[column] for column in typed_texts(source, types)}
    decimal = source.layout.decimal or "."
    return rows.mutate({column: parse_cell(rows[column], kind, decimal) for column, kind in kinds.items()})


def typed_texts(source: Source, types: Mapping[str, str]) -> list[str]:
    """The columns of text that were declared to hold something else."""
    schema = source.rows.schema()
    return [column for column, kind in types.items() if kind != "text" and schema[column].is_string()]


def without_words(rows: ir.Table, missing: Sequence[str]) -> ir.Table:
    """The rows; null where a text is one of `missing`."""
    texts = [name for name, kind in rows.schema().items() if kind.is_string()] if missing else []
    nothing = ibis.null("string")
    return rows.mutate({name: ibis.ifelse(rows[name].isin(missing), nothing, rows[name]) for name in texts})


def parse_cell(text: ir.StringValue, kind: str, decimal: str = ".") -> ir.Value:
    """A text as a value of the declared type; null where it is not written like one. Numbers have `decimal` before
    their fraction, and no other sign: neither is taken for the other."""
    if kind == "text":
        return text.nullif("")
    target, pattern = PATTERNS[kind]
    if decimal == "," and kind in NUMBERS:
        written = text.re_extract(pattern.replace("[.]", "[,]"), 1).replace(",", ".")
    else:
        written = text.re_extract(pattern, 1)
    return written.try_cast(target)  # "" where the pattern is not met, which is none of the types
