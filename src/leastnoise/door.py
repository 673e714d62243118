"""Where people's rows come in: what happens to a row here depends on that row alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True, eq=False)
class Door:
    """The rows as they were given, and behind the door: a thousand columns are built when they are asked for."""

    given: ir.Table
    passed: bool = False  # whether the given rows have passed already

    @cached_property
    def rows(self) -> ir.Table:
        """Every column behind the door."""
        return self.given if self.passed else at_the_door(self.given)

    def behind(self, columns: Iterable[str]) -> ir.Table:
        """All columns, of which those named have passed."""
        return self.given if self.passed else at_the_door(self.given, columns)


def at_the_door(rows: ir.Table, columns: Iterable[str] | None = None) -> ir.Table:
    """`rows` with null for NaN (in all columns, or in those named), and for times that no microsecond clock can tell.

    Parquet's statistics leave NaN out, and DuckDB believes them: with other rows around it, isnan(NaN) is false and
    NaN < 10 true; alone in its row group it is the reverse. One unit's rows would then decide what becomes of
    another's. A statistic does not pass the first choice below, and after the second there is no NaN. (Times in
    seconds or milliseconds may lie beyond the range of those in microseconds, which every engine's functions take.)
    """
    import ibis

    made: dict[str, ir.Value] = {}
    schema = rows.schema()
    for name in schema if columns is None else columns:
        kind = schema[name]
        if kind.is_floating():
            column, nothing = rows[name], ibis.null(kind)
            hidden = ibis.ifelse(column.isnull(), nothing, column)
            made[name] = ibis.ifelse(hidden.isnan(), nothing, hidden)
        elif kind.is_timestamp() and kind.scale is not None and kind.scale < 6:
            made[name] = rows[name].try_cast(kind.copy(scale=6))
    return rows.mutate(**made) if made else rows
