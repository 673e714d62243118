"""The rows of a set of tables: the position of each in every column's keys, and which rows of a unit are kept.

A row that is outside the keys of any column leaves all tables: else they would not be sums of one table, and what is
rebuilt from them would be biased.

Which rows of a unit are kept looks at that unit's rows alone, as in `bounding`: those that are alike are numbered, and
all are ordered by the hash of unit, content and that number, then by the content itself, so rows that tie are equal in
everything that is counted. The positions of a hundred columns do not fit into one integer, so they are packed into
several words: these, and the row's weight if it has one, are the content.

*All tables go the same way.* The rows are ranked also where no unit has too many of them. To look for such a unit
first, and to leave the ranking out without one, would be faster then; but ranking needs more memory, so one person's
second row would decide whether a limit of memory is reached: an error, and it would tell of that row. Here the
statement depends on public facts alone (sizes, limits, types), it is one, and what it needs grows with the number of
rows: a sort, which an engine puts on disk where memory ends (see `engines.duckdb.PLAIN_WINDOWS`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leastnoise.curator.aggregate.binning import place
from leastnoise.curator.aggregate.bounding import content_of, with_copies, with_hash, with_unit_word
from leastnoise.curator.aggregate.cell_counts import WEIGHT
from leastnoise.curator.aggregate.clipping import Clip
from leastnoise.curator.aggregate.packed_positions import Packing
from leastnoise.curator.engines.engine import Engine
from leastnoise.domain import Axis

if TYPE_CHECKING:
    import ibis.expr.types as ir

SHARED_PARTS = 2**12  # into which one unit's weight is divided, where its rows share it


def place_rows(rows: ir.Table, columns: Sequence[str], axes: Sequence[Axis]) -> ir.Table:
    """`rows` with their positions on all axes, packed into words; rows outside any of them are gone."""
    names = [f"_position{number}" for number in range(len(columns))]
    for name, column, axis in zip(names, columns, axes, strict=True):
        rows = place(axis, rows, column, name)
    rows = rows.filter([rows[name].notnull() for name in names])
    return Packing(tuple(axis.size for axis in axes)).pack(rows, names)


def with_weight(rows: ir.Table, column: str, clip: Clip) -> ir.Table:
    """`rows` with their own weight, in steps of the clip's grid; those without one are gone."""
    return clip.rows_with_value(rows, column, name=WEIGHT)


def bounded_rows(
    rows: ir.Table,
    *,
    unit: tuple[str, ...],
    words: Sequence[str],
    max_rows: int,
    shared: bool,
    key: int,
    engine: Engine,
) -> ir.Table:
    """Words (and weight) of the rows that are kept: the first `max_rows` of each unit in the order of the hash.

    shared: the j rows of a unit that are kept share SHARED_PARTS parts. Each has SHARED_PARTS // j of them, and the
    first SHARED_PARTS % j one more: so they add up to SHARED_PARTS exactly, and one unit is a convex combination of
    rows, which moves nothing further than one whole row does.
    """
    import ibis

    content = [*words, *([WEIGHT] if WEIGHT in rows.columns else [])]
    rows = with_copies(with_unit_word(rows.select(*unit, *content), unit, engine), max_rows)
    rows = with_hash(rows, key, content=content_of(*content), copy="_copy")
    if not shared:
        return engine.first(rows, unit=list(unit), order=["_hash", *content], count=max_rows, keep=content)
    within = ibis.window(group_by=list(unit), order_by=["_hash", *content])
    rows = rows.mutate(_rank=ibis.row_number().over(within))
    rows = rows.mutate(_rows=rows.count().over(ibis.window(group_by=list(unit))))
    rows = rows.mutate(_rows=ibis.least(rows["_rows"], max_rows))
    rows = rows.filter(rows["_rank"] < max_rows)
    # A quotient of integers below 2^53 is floored right: it is a whole number exactly, or 1/j away from one.
    each = (float(SHARED_PARTS) / rows["_rows"].cast("float64")).floor().cast("int64")
    rows = rows.mutate(_each=each)
    more = rows["_rank"] < SHARED_PARTS - rows["_each"] * rows["_rows"]
    return rows.mutate(**{WEIGHT: rows["_each"] + more.cast("int64")}).select(*words, WEIGHT)
