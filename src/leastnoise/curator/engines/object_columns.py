"""Columns of Python objects as columns of a declared type: a total function of each cell.

A pandas column of dtype `object` may hold anything. Whoever looks at its cells for a type lets one person decide what
all others are, so the type is declared, and a cell that is none of it is null.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

FIRST, LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)
EPOCH, MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)


def convert(cells: Iterable[Any], kind: str) -> pa.Array:
    """The cells as an Arrow array of a kind that `types` may name; never an error because of a cell."""
    import pyarrow as pa

    reads: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
        "text": (_text, pa.large_string(), None),
        "int": (_int, pa.int64(), None),
        "float": (_float, pa.float64(), None),
        "bool": (_bool, pa.bool_(), None),
        "date": (_days, pa.int32(), pa.date32()),
        "timestamp": (_microseconds, pa.int64(), pa.timestamp("us")),
    }
    read, stored, viewed = reads[kind]
    array = pa.array([_or_null(read, cell) for cell in cells], stored)
    return array if viewed is None else array.view(viewed)


def _or_null(read: Callable[[Any], Any], cell: Any) -> Any:
    """Any object may be a cell, and any of its methods may fail."""
    try:
        return read(cell)
    except Exception:
        return None


def _text(cell: Any) -> str | None:
    """Half of a surrogate pair is no Unicode: encoding fails, and the cell is null."""
    return str.encode(cell, "utf-8").decode("utf-8") if isinstance(cell, str) else None


def _is_number(cell: Any) -> bool:
    return isinstance(cell, numbers.Real | Decimal) and not isinstance(cell, bool | np.bool_)


def _int(cell: Any) -> int | None:
    """The bounds come first: the digits of Decimal("1e999999999") would fill the memory."""
    if not _is_number(cell) or not -(2**63) <= cell < 2**63:
        return None
    integer = int(cell)
    return integer if integer == cell else None


def _float(cell: Any) -> float | None:
    return float(cell) if _is_number(cell) else None


def _bool(cell: Any) -> bool | None:
    return bool(cell) if isinstance(cell, bool | np.bool_) else None


def _days(cell: Any) -> int | None:
    moment = _microseconds(cell)
    return None if moment is None else moment // 86_400_000_000


def _microseconds(cell: Any) -> int | None:
    """From 1970, in UTC: of a time with a zone, of one without as it is written, of the beginning of a day."""
    if isinstance(cell, np.datetime64):
        # The year first: a cast to a finer unit wraps around where it overflows.
        year = 1970 + int(cell.astype("datetime64[Y]").astype(np.int64))
        cell = cell.astype("datetime64[us]").item() if 1 <= year <= 9999 else None
    if hasattr(cell, "to_pydatetime"):
        cell = cell.to_pydatetime(warn=False)  # nanoseconds are cut
    if isinstance(cell, date) and not isinstance(cell, datetime):
        cell = datetime(cell.year, cell.month, cell.day)
    if not isinstance(cell, datetime):
        return None
    plain = cell if cell.tzinfo is None else cell.astimezone(UTC).replace(tzinfo=None)
    return (plain - EPOCH) // MICROSECOND if FIRST <= plain <= LAST else None
