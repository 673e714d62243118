"""A history as two stairs: what releases have used, and what is booked, with what allocations hold unused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Steps:
    """In percent of a cap: before the first entry, and after each."""

    released: NDArray[np.float64]
    booked: NDArray[np.float64]


def steps(entries: Sequence[Any], cap: str) -> Steps:
    """The stairs of one cap: an entry of the budget itself books; a release uses, whoever pays for it."""
    shares = [100 * float(getattr(entry, cap)) for entry in entries]
    booked = [share if not entry.allocation else 0.0 for entry, share in zip(entries, shares, strict=True)]
    used = [share if entry.kind in ("release", "void") else 0.0 for entry, share in zip(entries, shares, strict=True)]
    return Steps(np.cumsum([0.0, *used]), np.cumsum([0.0, *booked]))
