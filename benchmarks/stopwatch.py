"""Interleaved timing: a round of each contestant in turn, medians and spread over the rounds."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Lap:
    """One run: seconds on the wall and of processor, and what it answered. A peer's server measures its own."""

    seconds: float
    processor: float
    result: Any = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds for one of `units`: the median and quartiles over the rounds; the processor's median beside it."""

    median: float
    low: float
    high: float
    processor: float
    rounds: int

    @classmethod
    def of(cls, laps: list[Lap], units: float = 1) -> Timing:
        walls = [lap.seconds / units for lap in laps]
        low, _, high = statistics.quantiles(walls, n=4, method="inclusive") if len(walls) > 1 else walls * 3
        processor = statistics.median(lap.processor / units for lap in laps)
        return cls(statistics.median(walls), low, high, processor, len(walls))

    @property
    def spread(self) -> str:
        return f"{human(self.low)} .. {human(self.high)}"


class Unanswered(Exception):
    """A contestant that could not finish."""


Contestant = Callable[[], object]


def race(
    contestants: Mapping[str, Contestant],
    *,
    rounds: int = 7,
    units: Mapping[str, float] | None = None,
    fewer: Mapping[str, int] | None = None,
    lost: dict[str, str] | None = None,
) -> dict[str, Timing]:
    """Each contestant once to warm up, then in turns so that the machine's noise hits all alike.

    Every other round is in reverse order: who follows one that took much memory waits while it is given back.
    The slow ones take part in `fewer` rounds and are not warmed up; a lap is divided by the contestant's `units`. Who
    is `Unanswered` leaves the race, and the reason is noted in `lost`; without such a note it ends the race.
    """
    fewer = fewer or {}
    laps: dict[str, list[Lap]] = {name: [] for name in contestants}
    for turn in range(-1, rounds):
        for name in list(laps) if turn % 2 == 0 else list(laps)[::-1]:
            if (turn < 0 and name in fewer) or turn >= fewer.get(name, rounds):
                continue
            try:
                seen = lap(contestants[name])
            except Unanswered as why:
                if lost is None:
                    raise
                lost[name] = str(why)
                del laps[name]
                continue
            if turn >= 0:
                laps[name].append(seen)
    return {name: Timing.of(seen, (units or {}).get(name, 1)) for name, seen in laps.items()}


def interleave(contestants: Mapping[str, Contestant], *, rounds: int = 7) -> dict[str, tuple[float, float]]:
    """Median seconds and interquartile range of each."""
    return {name: (seen.median, seen.high - seen.low) for name, seen in race(contestants, rounds=rounds).items()}


def lap(contestant: Contestant) -> Lap:
    wall, busy = time.perf_counter(), processor()
    result = contestant()
    seen = Lap(time.perf_counter() - wall, processor() - busy, result)
    return result if isinstance(result, Lap) else seen


def processor() -> float:
    """Seconds of processor of this process, all threads, and of those it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def human(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
