"""The rows of a set of tables: the position of each in every column's keys, and which rows of a unit are kept.

A row that is outside the keys of any column leaves all tables: else they would not be sums of one table, and what is
rebuilt from them would be biased.

Which rows of a unit are kept looks at that unit's rows alone, as in `bounding`: they are ordered by a hash of the unit
and all positions, then by the positions themselves, so rows that tie are equal in everything that is counted. The
positions of a hundred columns do not fit into one integer, so they are packed into several words, and the hash is
chained over these.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

from leastnoise.curator.aggregate.binning import place
from leastnoise.curator.aggregate.bounding import WORD_MASK, mixed, with_unit_word
from leastnoise.curator.aggregate.cell_counts import POSITION, WEIGHT
from leastnoise.curator.aggregate.clipping import Clip
from leastnoise.curator.engines.engine import Engine
from leastnoise.domain import Axis

if TYPE_CHECKING:
    import ibis.expr.types as ir

SHARED_PARTS = 2**12  # into which one unit's weight is divided, where its rows share it


def place_rows(rows: ir.Table, columns: Sequence[str], axes: Sequence[Axis]) -> ir.Table:
    """`rows` with the position on each axis in position0, position1 ...; rows outside any of them are gone."""
    names = [f"{POSITION}{number}" for number in range(len(columns))]
    for name, column, axis in zip(names, columns, axes, strict=True):
        rows = place(axis, rows, column, name)
    return rows.filter([rows[name].notnull() for name in names])


def with_weight(rows: ir.Table, column: str, clip: Clip) -> ir.Table:
    """`rows` with their own weight, in steps of the clip's grid; those without one are gone."""
    return clip.rows_with_value(rows, column, name=WEIGHT)


def bounded_rows(
    rows: ir.Table,
    *,
    unit: tuple[str, ...],
    sizes: Sequence[int],
    max_rows: int,
    shared: bool,
    key: int,
    engine: Engine,
) -> ir.Table:
    """Positions (and weight) of the rows that are kept: the first `max_rows` of each unit in the order of the hash.

    shared: the j rows of a unit that are kept share SHARED_PARTS parts. Each has SHARED_PARTS // j of them, and the
    first SHARED_PARTS % j one more: so they add up to SHARED_PARTS exactly, and one unit is a convex combination of
    rows, which moves nothing further than one whole row does.
    """
    import ibis

    positions = [f"{POSITION}{number}" for number in range(len(sizes))]
    weight = [WEIGHT] if WEIGHT in rows.columns else []
    rows = with_unit_word(rows.select(*unit, *positions, *weight), unit, engine)
    rows, words = _with_words(rows, positions, sizes)
    rows = _with_hash(rows, [*words, *weight], key)
    within = ibis.window(group_by=list(unit), order_by=["_hash", *words, *weight])
    rows = rows.mutate(_rank=ibis.row_number().over(within))
    if shared:
        rows = rows.mutate(_rows=rows.count().over(ibis.window(group_by=list(unit))))
        rows = rows.mutate(_rows=ibis.least(rows["_rows"], max_rows))
        rows = rows.filter(rows["_rank"] < max_rows)
        # A quotient of integers below 2^53 is floored right: it is a whole number exactly, or 1/j away from one.
        each = (float(SHARED_PARTS) / rows["_rows"].cast("float64")).floor().cast("int64")
        rows = rows.mutate(_each=each)
        more = rows["_rank"] < SHARED_PARTS - rows["_each"] * rows["_rows"]
        rows = rows.mutate(**{WEIGHT: rows["_each"] + more.cast("int64")})
        return counted(rows, [*positions, WEIGHT])
    return counted(rows.filter(rows["_rank"] < max_rows), [*positions, *weight])


def all_rows(rows: ir.Table, *, unit: tuple[str, ...], columns: int) -> ir.Table:
    """Positions (and weight) of the rows, where no unit has too many: of all that have a unit."""
    named = rows.filter([rows[column].notnull() for column in unit])
    weight = [WEIGHT] if WEIGHT in rows.columns else []
    return counted(named, [*(f"{POSITION}{number}" for number in range(columns)), *weight])


def counted(rows: ir.Table, names: Sequence[str]) -> ir.Table:
    """The columns that are counted, as narrow as they may be."""
    kinds = {name: "int64" if name == WEIGHT else "int32" for name in names}
    return rows.select(**{name: rows[name].cast(kind) for name, kind in kinds.items()})


def crowded_units(rows: ir.Table, *, unit: tuple[str, ...], max_rows: int) -> ir.Table:
    """Units with more than `max_rows` rows: where there is none, every row is kept, whatever the order."""
    named = rows.filter([rows[column].notnull() for column in unit])
    counts = named.group_by(list(unit)).aggregate(_rows=named.count())
    return counts.filter(counts["_rows"] > max_rows).limit(1)


def _with_words(rows: ir.Table, positions: Sequence[str], sizes: Sequence[int]) -> tuple[ir.Table, list[str]]:
    """Words below 2^32, each the positions of as many columns as fit: equal words are equal positions."""
    groups: list[list[int]] = []
    room = 0
    for number, size in enumerate(sizes):
        if not groups or size > room:
            groups.append([])
            room = WORD_MASK + 1
        groups[-1].append(number)
        room //= size
    words = {}
    for place_of, group in enumerate(groups):
        parts = [rows[positions[number]].cast("int64") for number in group]
        scales = [functools.reduce(operator.mul, (sizes[n] for n in group[i + 1 :]), 1) for i in range(len(group))]
        terms = [part * scale if scale > 1 else part for part, scale in zip(parts, scales, strict=True)]
        words[f"_word{place_of}"] = functools.reduce(operator.add, terms)
    return rows.mutate(**words), list(words)


def _with_hash(rows: ir.Table, words: Sequence[str], key: int) -> ir.Table:
    """`rows` with a hash of unit and words; one `mutate` a step, as nested text doubles at every shift."""
    rows = rows.mutate(_hash=rows["_unit"] ^ key)
    for word in words:
        rows = mixed(rows, "_hash")
        rows = rows.mutate(_hash=rows["_hash"] ^ (rows[word] & WORD_MASK))
    return mixed(rows, "_hash")
