"""The rows of a summary: each row's bin and the codes of its values, which rows of a unit are kept, and their totals.

A value is coded as value - lowest + 1, and 0 where there is none: whole numbers, all that is ever read of a row. Which
rows of a unit are kept looks at that unit's rows alone, by the hash of `bounding`; rows that tie are equal in all that
is added up. The limits act in the order max_per_bin, max_bins, max_rows, each by hashes of its own among the rows that
are left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from leastnoise.curator.aggregate import bounding
from leastnoise.curator.aggregate.bounding import MULTIPLIER_2, MULTIPLIER_3
from leastnoise.curator.aggregate.clipping import Clip
from leastnoise.curator.engines.engine import Engine
from leastnoise.privacy.sensitivity import Limits
from leastnoise.releases.measured import Measured

if TYPE_CHECKING:
    import ibis.expr.types as ir

CODE = "code"


def code_names(columns: int) -> list[str]:
    """What the columns of codes are called."""
    return [f"{CODE}{place}" for place in range(columns)]


def with_codes(rows: ir.Table, columns: Sequence[str], clips: Sequence[Clip], *, valued: bool) -> ir.Table:
    """`rows` with a code of each column's value; `valued`: only those that have one."""
    for name, column, clip in zip(code_names(len(columns)), columns, clips, strict=True):
        value = clip.apply(rows[column], column)
        rows = rows.mutate(**{name: (value - (clip.lowest - 1)).fill_null(0)})
    if not valued:
        return rows
    return rows.filter([rows[name] > 0 for name in code_names(len(columns))])


def bounded_rows(
    rows: ir.Table,
    *,
    unit: tuple[str, ...],
    codes: int,
    bins: int | None,
    limits: Limits,
    key: int,
    names: Sequence[str] = ("bin",),
) -> ir.Table:
    """Bin and codes of the rows that are kept. `rows` has the unit, `_unit`, the codes, and the columns `names` that
    name a bin: its number, or its keys with what `with_key_word` adds. bins: how many there are; None: nobody knows.

    A limit is applied unless those already applied, and the size of the domain, imply it.
    """
    import ibis

    place = "bin" if bins is not None else "_place"
    named = [*names] if bins is not None else ["_nulls", *names]
    read = [*named, *code_names(codes)]
    rows = rows.select(*unit, "_unit", *dict.fromkeys([place, *read]))
    hashed = [place, *code_names(codes)]
    in_bin, in_bins = math.inf, math.inf if bins is None else float(bins)
    if limits.max_per_bin < limits.max_rows:
        rows = _drawn(rows, [*unit, *names], read, hashed, limits.max_per_bin, key ^ MULTIPLIER_2)
        in_bin = limits.max_per_bin
    if limits.max_bins < min(limits.max_rows, in_bins):
        rows = bounding.with_hash(rows, key ^ MULTIPLIER_3, content=bounding.content_of(place))
        within = ibis.window(group_by=list(unit), order_by=["_hash", *named])
        rows = rows.mutate(_rank=ibis.dense_rank().over(within))
        rows, in_bins = rows.filter(rows["_rank"] < limits.max_bins).drop("_rank", "_hash"), limits.max_bins
    if in_bin * in_bins > limits.max_rows:
        rows = _drawn(rows, list(unit), read, hashed, limits.max_rows, key)
    return rows.select(*names, *code_names(codes))


def _drawn(rows: ir.Table, group: list[str], read: list[str], hashed: list[str], count: int, key: int) -> ir.Table:
    """Of each group `count` rows, by lot."""
    import ibis

    rows = bounding.with_copies(rows, count)
    rows = bounding.with_hash(rows, key, content=bounding.content_of(*hashed), copy="_copy")
    rows = rows.mutate(_rank=ibis.row_number().over(ibis.window(group_by=group, order_by=["_hash", *read])))
    return rows.filter(rows["_rank"] < count).drop("_rank", "_hash", "_copy")


def totals(
    kept: ir.Table,
    columns: Sequence[Measured],
    engine: Engine,
    names: Sequence[str] = ("bin",),
    pairs: Sequence[tuple[int, int]] = (),
) -> ir.Table:
    """Of each bin: rows, and of each column the missing values, the centred sum and the centred squares.

    pairs: columns of which the rows that have both values are counted besides, with both centred sums over them.
    """
    import ibis

    sums = {}
    for place, (name, column) in enumerate(zip(code_names(len(columns)), columns, strict=True)):
        centre, missing = f"centred{place}", kept[name] == 0
        kept = kept.mutate(**{centre: ibis.ifelse(missing, 0, kept[name] * 2 - (column.span + 2)).cast("int64")})
        doubled = (kept[centre] * kept[centre] * 2) >> column.square_shift
        square = ibis.ifelse(missing, 0, doubled - column.square_centre).cast("int64")
        sums[f"missing{place}"] = missing.cast("int64")
        sums[f"sum{place}"] = kept[centre]
        sums[f"squares{place}"] = square
    for one, other in pairs:
        both = (kept[f"{CODE}{one}"] > 0) & (kept[f"{CODE}{other}"] > 0)
        sums[f"both{one}_{other}"] = both.cast("int64")
        sums[f"sum{one}_{other}"] = ibis.ifelse(both, kept[f"centred{one}"], 0).cast("int64")
        sums[f"sum{other}_{one}"] = ibis.ifelse(both, kept[f"centred{other}"], 0).cast("int64")
    kept = kept.select(*names, **sums)
    return kept.group_by(list(names)).aggregate(
        rows=kept.count(), **{name: engine.exact_sum(kept[name]) for name in sums}
    )
