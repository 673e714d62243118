"""The exact integers of a query, before noise: PRIVATE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_TOTAL = 2**62  # totals are clamped to this size, which moves no two of them apart


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Exact integers. `indices` says which bins where the domain is sparse, `keys` where the keys are unknown."""

    values: NDArray[Any]
    indices: NDArray[Any] | None = None
    keys: Sequence[Any] | None = None
    total: int | None = None  # of all keys, also of those that are not among `keys`, where that was asked for


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """int64 where every value fits, Python integers otherwise."""
    if values.dtype == np.int64:
        return values
    fits = all(-(2**63) <= int(value) < 2**63 for value in values)
    return values.astype(np.int64) if fits else values


def clamped(values: NDArray[Any]) -> NDArray[np.int64]:
    """Exact totals as int64, clamped: whether one was larger than 64 bits must not show."""
    if values.dtype == np.int64:
        return np.asarray(np.clip(values, -MAX_TOTAL, MAX_TOTAL))
    return np.array([min(max(int(value), -MAX_TOTAL), MAX_TOTAL) for value in values], dtype=np.int64)
