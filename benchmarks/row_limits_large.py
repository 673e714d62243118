"""`row_limits` at 1e8 rows with a gigabyte of memory, only with BIG=1: minutes for each weight and order."""

from __future__ import annotations

import row_limits
from findings import Findings


def run(*, toy: bool = False) -> Findings:
    if toy:
        return row_limits.measured(1000, rounds=1, memory_limit="1GB", weights=(10,))
    return row_limits.measured(100_000_000, rounds=2, memory_limit="1GB")
