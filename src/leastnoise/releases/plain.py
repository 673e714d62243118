"""What was published, as it is: a reading of one block."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastnoise._support.rounding import next_up
from leastnoise.releases.block import Blocks, Interval, Reading, ReadingText, Total, Values, Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain(Reading):
    """A truth plus noise of one known law. kind: count, sum, vector or another. block: where it is."""

    kind: str = "vector"
    block: str = "value"

    @property
    def needs(self) -> tuple[str, ...]:
        """The block."""
        return (self.block,)

    def values(self, blocks: Blocks) -> Values:
        """Its numbers, in their unit."""
        return blocks[self.block].values

    def interval(self, blocks: Blocks, confidence: float, *, together: int = 1) -> Interval:
        """Intervals that cover the noise with this confidence; those of so many bins `together`.

        By the exact distribution on the grid. Real numbers were rounded to the grid before the noise, by half a step at
        most, which widens their interval by as much.
        """
        noise, values = blocks[self.block].value_noise, self.values(blocks)
        half = noise.distribution.half_width(confidence, together)
        if values.dtype == np.int64:
            step = np.int64(half)
            limits = np.iinfo(np.int64)
            low: Any = np.where(values < limits.min + step, limits.min, values - step)
            high: Any = np.where(values > limits.max - step, limits.max, values + step)
            return Interval(low, high)
        half, real = next_up(half + noise.grid / 2), values.astype(np.float64)
        return Interval(real - half, real + half)

    def total(self, blocks: Blocks, positions: Any, confidence: float) -> Total:
        """The sum of the values at some positions, with its standard deviation and interval."""
        noise, chosen = blocks[self.block].value_noise, self.values(blocks)[positions]
        half = noise.distribution.sum_half_width(chosen.size, confidence)
        if chosen.dtype != np.int64:
            half += chosen.size * noise.grid / 2
        value = sum_of(chosen)
        return Total(value, noise.std * math.sqrt(chosen.size), value - half, value + half)

    def text(self, words: Words, noise: str) -> ReadingText:
        """It can be denoised."""
        noun = self.kind if self.kind in ("count", "sum") else "value"
        return ReadingText(noun=noun, label=None, first_sentence=f"with {noise}.")


def sum_of(values: Values) -> float:
    """Their sum: of whole numbers exactly, of others rounded once."""
    return float(sum(values.tolist())) if values.dtype == np.int64 else math.fsum(values.tolist())
