"""Interleaved timing: a round of each contestant in turn, medians and spread over the rounds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def interleave(contestants: Mapping[str, Callable[[], object]], *, rounds: int = 7) -> dict[str, tuple[float, float]]:
    """Median seconds and interquartile range of each, measured in turns so that noise hits all alike."""
    for contestant in contestants.values():
        contestant()
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            begin = time.perf_counter()
            contestant()
            times[name].append(time.perf_counter() - begin)
    return {name: (statistics.median(seen), _spread(seen)) for name, seen in times.items()}


def _spread(seen: list[float]) -> float:
    low, _, high = statistics.quantiles(seen, n=4)
    return high - low


def human(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
