"""Keys that were found in the rows: columns of Arrow, of which only those that show become Python's values.

A million and a half keys are a few dozen megabytes as columns, and nearly a gigabyte as objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from leastnoise.curator.aggregate.every_bin import Integers, integers

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 2**16  # keys that are Python's values at once


class FoundKeys(Sequence[Any]):
    """One key for each row of the columns: a value, or a tuple of values where there are several columns."""

    __slots__ = ("_columns", "_single")

    def __init__(self, columns: pa.Table) -> None:
        self._columns, self._single = columns, columns.num_columns == 1

    def __len__(self) -> int:
        return int(self._columns.num_rows)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
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
    import pyarrow as pa

    try:
        return np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)
    except pa.ArrowInvalid:
        large = True
    assert large
    return integers(column)
