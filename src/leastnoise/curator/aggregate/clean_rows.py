"""People's rows, cleaned: what happens to a row here depends on that row alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ibis.expr.types as ir

FIRST_TIME, LAST_TIME = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)


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
    import ibis

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
    import ibis

    return ibis.ifelse(value.between(first, last), value, ibis.null(value.type()))


def _microseconds(value: ir.TimestampValue) -> ir.TimestampValue:
    """Plain UTC microseconds. Engines round a cast from nanoseconds, so those that would be rounded are taken off."""
    import ibis

    kind = value.type()
    if kind.scale == 9:
        count = ibis.udf.scalar.builtin(_epoch_ns, name="epoch_ns", signature=((kind,), "int64"))(value)
        inside = ibis.ifelse(count > -(2**63) + 1000, count, ibis.null("int64"))
        rest = ((inside % 1000) + 1000) % 1000
        made = ibis.udf.scalar.builtin(_epoch_ns, name="make_timestamp_ns", signature=(("int64",), "timestamp(9)"))
        value = made(inside - rest)
    elif kind.timezone is None and kind.scale in (None, 6):
        return value
    return value.try_cast("timestamp(6)")


def _epoch_ns(value: object) -> object:
    """DuckDB's own: the nanoseconds from 1970, null for infinity; and back."""
