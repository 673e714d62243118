"""The exact integers of a query, before noise: PRIVATE.

Where bins are public there is a number for every one, zero where no row fell: which bins are in the answer tells
nothing about rows. Keys that were found in the rows are columns of Arrow, of which only those that show become Python's
values: a million and a half keys are a few dozen megabytes as columns, and nearly a gigabyte as objects.

Of a summary a value is coded as value - lowest + 1, and 0 where there is none: integers, all that is ever read of a
row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from leastnoise.curator.engines.engine import Engine, attempt
from leastnoise.curator.rows.clipping import Clip
from leastnoise.releases.measured import Measured

MAX_TOTAL = 2**62  # totals are clamped to this size, which moves no two of them apart


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Exact integers. `indices` says which bins where the domain is sparse, `keys` where the keys are unknown; `total`
    is of all keys, where it is released beside them."""

    values: NDArray[Any]
    indices: NDArray[Any] | None = None
    keys: Sequence[Any] | None = None
    total: int | None = None


def to_int64(values: NDArray[Any]) -> NDArray[Any]:
    """int64 where every value fits, Python integers otherwise."""
    if values.dtype == np.int64:
        return values
    fits = all(-(2**63) <= int(value) < 2**63 for value in values)
    return values.astype(np.int64) if fits else values


def saturate(values: NDArray[Any]) -> NDArray[np.int64]:
    """Exact totals as int64, clamped: whether one was larger than 64 bits must not show."""
    if values.dtype == np.int64:
        return np.asarray(np.clip(values, -MAX_TOTAL, MAX_TOTAL))
    return np.array([min(max(int(value), -MAX_TOTAL), MAX_TOTAL) for value in values], dtype=np.int64)


Integers = np.ndarray[Any, Any]


def to_dense(size: int, totals: pa.Table, column: str) -> Integers:
    """The totals in a vector of all bins, 0 for those that have none."""
    values = integers(totals[column])
    dense: Integers = np.zeros(size, dtype=values.dtype)
    dense[integers(totals["bin"]).astype(np.int64)] = values
    return dense


def by_place(places: Integers, totals: Integers) -> tuple[Integers, Integers]:
    """The places that have totals, rising, and the sum of each."""
    found, inverse = np.unique(places, return_inverse=True)
    sums: Integers = np.zeros(len(found), dtype=totals.dtype)
    np.add.at(sums, inverse, totals)
    return found, sums


def integers(column: pa.ChunkedArray) -> Integers:
    """int64 from integers; Python integers from the 128-bit decimals of exact sums."""
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(), dtype=np.int64)
    return np.array([int(value or Decimal(0)) for value in column.to_pylist()], dtype=object)


BATCH = 2**16  # keys that are Python's values at once


class FoundKeys(Sequence[Any]):
    """One key for each row of the columns: a value, or a tuple of values where there are several columns."""

    __slots__ = ("_columns", "_single")

    def __init__(self, columns: pa.Table) -> None:
        self._columns, self._single = columns, columns.num_columns == 1

    def __len__(self) -> int:
        return int(self._columns.num_rows)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(self)[place]
        key = tuple(column[int(place)].as_py() for column in self._columns.columns)
        return key[0] if self._single else key

    def __iter__(self) -> Iterator[Any]:
        for begin in range(0, len(self), BATCH):
            parts = [column.to_pylist() for column in self._columns.slice(begin, BATCH).columns]
            yield from parts[0] if self._single else zip(*parts, strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


def counts(column: pa.ChunkedArray) -> Integers:
    """The numbers of rows of all keys, each far below 2^63 on any table; Python integers if one is not."""
    narrow = attempt(column.cast, pa.int64())
    return integers(column if narrow is None else narrow)


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


def summary_totals(
    kept: ir.Table,
    columns: Sequence[Measured],
    engine: Engine,
    names: Sequence[str] = ("bin",),
    pairs: Sequence[tuple[int, int]] = (),
    squares: Collection[int] = (),
) -> ir.Table:
    """Of each bin: rows, and of each column the missing values and the centred sum.

    squares: the columns of which centred squares are added up besides, which the clip must be coarse enough for.
    pairs: columns of which the rows that have both values are counted besides, with both centred sums over them.
    """
    sums = {}
    for place, (name, column) in enumerate(zip(code_names(len(columns)), columns, strict=True)):
        centre, missing = f"centred{place}", kept[name] == 0
        kept = kept.mutate(**{centre: ibis.ifelse(missing, 0, kept[name] * 2 - (column.span + 2)).cast("int64")})
        sums[f"missing{place}"] = missing.cast("int64")
        sums[f"sum{place}"] = kept[centre]
        if place in squares:
            doubled = (kept[centre] * kept[centre] * 2) >> column.square_shift
            sums[f"squares{place}"] = ibis.ifelse(missing, 0, doubled - column.square_centre).cast("int64")
    for one, other in pairs:
        both = (kept[f"{CODE}{one}"] > 0) & (kept[f"{CODE}{other}"] > 0)
        sums[f"both{one}_{other}"] = both.cast("int64")
        sums[f"sum{one}_{other}"] = ibis.ifelse(both, kept[f"centred{one}"], 0).cast("int64")
        sums[f"sum{other}_{one}"] = ibis.ifelse(both, kept[f"centred{other}"], 0).cast("int64")
    kept = kept.select(*names, **sums)
    return kept.group_by(list(names)).aggregate(
        rows=kept.count(), **{name: engine.exact_sum(kept[name]) for name in sums}
    )
