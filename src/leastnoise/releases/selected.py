"""Keys that show because their noisy count reached a threshold: a reading of their block; and how many rows the others
have together, as a total of all keys less what shows.

The total is released with noise of its own: with the counts, as one release (`histogram(..., others=0.1)`), or as
one beside them (`query.total()`). Its noise is independent of theirs, so an interval at confidence 1 - a/2 for each of
the two gives one at 1 - a for their difference. The counts of what shows are too high, because of which keys show;
below it is proved how far their sum reaches given that they do.

**How far the noise of the total reaches of bins that show because their noisy count reached a threshold.**

Given that a bin shows, its noise z is what was drawn, given z >= t, with t the threshold less its true count. Draws of
different bins stay independent. So for the total of the true counts, which is the noisy total less the sum of the z,

    above   z given z >= t is stochastically larger than z, so the sum of the z is below -h no more often than that of
            as many plain draws;
    below   given z >= t, z is stochastically the larger the larger t is: the smaller the true count. Where every true
            count is at least its own lower limit, limits in place of counts bound the sum from above, by Chernoff:
            P(sum > q) <= exp(sum K_i(s) - s q) for every s > 0, K_i(s) = log E[exp(s z) | z >= t_i].

The chances that a lower limit fails and that the sum exceeds q are added.

The standard deviation of z given z >= t is at most that of z. With S the chance to be above and r the hazard rate, the
rising map f with S(f(z)) = S(t) S(z) takes z to z given z >= t; f(z) >= z, its slope is r(z) / r(f(z)), and both laws
are log-concave, so that r rises: f is a contraction, and no contraction makes a variance larger. (On the grid: a test.)
Draws are independent, so the standard deviation of the total is at most that of as many plain draws, and cutting at 0,
a contraction as well, leaves it so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.privacy.distributions import Distribution, Laplace
from leastnoise.releases.block import Blocks, Interval, Plain, Total, sum_of

ALL_KEYS = "all keys"  # the block that has the total of all keys, shown or not, where that was released too
CELLS = 1 << 13  # of the grid, at most; with more, several are one whose noise counts as the largest of them
REACH = 14.0  # standard deviations of Gaussian noise, beyond which nothing is left to speak of
LAPLACE_REACH = 300.0  # the same for Laplace noise, tilted by at most LARGEST_TILT / scale
LARGEST_TILT = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected(Plain):
    """Counts that show because they reached a threshold. Their intervals hold given that they do."""

    threshold: int
    with_total: bool = False  # of all keys

    @property
    def needs(self) -> tuple[str, ...]:
        """The block, and the total."""
        return (self.block, ALL_KEYS) if self.with_total else (self.block,)

    @property
    def at_least(self) -> int:
        """The threshold."""
        return self.threshold

    def interval(self, blocks: Blocks, confidence: float, *, together: int = 1) -> Interval:
        """What the truth may be, given that the noisy count shows."""
        block, miss = blocks[self.block], (1 - confidence) / together
        distribution, shown = block.value_noise.distribution, block.numbers.astype(np.float64)
        low = np.floor(distribution.truth_given_shown(shown, self.threshold, miss / 2))
        high = np.ceil(distribution.truth_given_shown(shown + block.value_noise.grid, self.threshold, 1 - miss / 2))
        return Interval(low.astype(np.int64), high.astype(np.int64))

    def total(self, blocks: Blocks, positions: Any, confidence: float) -> Total:
        """The sum of some counts, chosen by their noise: the module proves its ends."""
        noise, chosen, miss = blocks[self.block].value_noise, self.values(blocks)[positions], 1 - confidence
        low = self.interval(blocks, 1 - miss / 2, together=max(1, blocks[self.block].numbers.size)).low[positions]
        more = most_noise(noise.distribution, self.threshold - np.maximum(low, 0.0), miss / 4)
        less = noise.distribution.sum_half_width(chosen.size, confidence)
        value = sum_of(chosen)
        return Total(value, noise.std * math.sqrt(chosen.size), max(value - more, float(low.sum())), value + less)

    def fits(self, blocks: Blocks) -> bool:
        """Its blocks are whole numbers; and of all keys there is one."""
        if not Plain.fits(self, blocks):
            return False
        whole = all(blocks[name].numbers.dtype == np.int64 and blocks[name].unit == 1 for name in self.needs)
        return whole and (not self.with_total or blocks[ALL_KEYS].numbers.size == 1)


def most_noise(distribution: Distribution, starts: Floats, miss: float) -> float:
    """A q that the sum of draws, each given that it is at least its start, exceeds with probability `miss` at most;
    infinity where doubles cannot tell."""
    step, laplace = distribution.grid, isinstance(distribution, Laplace)
    spread = distribution.width
    reach = math.ceil((LAPLACE_REACH if laplace else REACH) * spread / step)
    first = np.maximum(np.floor(starts / step), -reach)
    last = int(max(first.max(), 0)) + reach
    block = max(1, math.ceil((last + reach) / CELLS))
    edges = np.arange(-reach, last + block + 1, block, dtype=np.float64)
    chances = distribution.at_or_above(edges[:-1]) - distribution.at_or_above(edges[1:])
    ends = (edges[1:] - 1) * step  # the largest noise of each block
    places, times = np.unique(((first + reach) // block).astype(np.int64), return_counts=True)
    shown = np.cumsum(chances[::-1])[::-1][places]
    tilts = np.geomspace(0.01, 1.0, 60) * (LARGEST_TILT if laplace else 6.0) / spread
    found = math.inf
    for tilt in tilts:
        with np.errstate(all="ignore"):
            tilted = np.cumsum((chances * np.exp(tilt * ends - tilt * ends[-1] / 2))[::-1])[::-1][places]
            logs = np.log(tilted) + tilt * ends[-1] / 2 - np.log(shown)
        bound = (float(times @ logs) - math.log(miss)) / float(tilt)
        found = min(found, bound) if math.isfinite(bound) else found  # where chances underflow, it proves nothing
    return math.ceil(found / step) * step if math.isfinite(found) else math.inf


LABEL = "all other keys"  # what people read where the others have a key


def total_of(question: str) -> str:
    """The question about all keys together, shown or not, that belongs to a question about each."""
    return f"all keys together of: {question}"


def others_row(columns: dict[str, Any], keys: int, others: Total, *, for_people: bool) -> dict[str, Any]:
    """The columns with one more row, for the keys that do not show: the first `keys` columns name it.

    A column has one type, so its key is null among numbers and days; for people it is always in words.
    """
    made: dict[str, Any] = {}
    numbers = {"value": int(others.value), "low": math.floor(others.low), "high": math.ceil(others.high)}
    for place, (name, column) in enumerate(columns.items()):
        cells = column.tolist() if hasattr(column, "tolist") else list(column)
        words = for_people or not cells or any(isinstance(cell, str) for cell in cells)
        made[name] = [*cells, (LABEL if place == 0 and words else None) if place < keys else numbers.get(name)]
    return made
