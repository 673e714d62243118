"""Which steps of an interval hold a round number, and so more often a person's value: ages are whole, prices end in 0.

A step's weight is public and says nothing about rows. Every power of ten that is at least a step wide shares out as
much weight among its multiples as all steps have together, so no step is less likely than one in (1 + powers) times
their number, and the multiples of ten are as likely all together as the whole numbers are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.domain.axes import Steps


@dataclass(frozen=True, slots=True, eq=False)
class StepWeights:
    """The weight of each step, and the number that stands for it: the roundest in it, else its middle."""

    before: NDArray[np.int64]  # the sum of the weights of all earlier steps; at the end, of all
    values: NDArray[np.float64]

    @property
    def total(self) -> int:
        """Of all steps; the least weight of one is 1."""
        return int(self.before[-1])


@lru_cache(maxsize=8)
def step_weights(steps: Steps) -> StepWeights:
    """The weights of these steps."""
    width, count = steps.high - steps.low, steps.bins
    places = np.arange(count)
    values = steps.low + width * (places + 0.5) / count
    weights = np.ones(count, dtype=np.int64)
    # From fine to coarse, so that the roundest number of a step is written last.
    for power in range(math.ceil(math.log10(width / count)), math.floor(math.log10(width)) + 1):
        multiples = _multiples(steps, power)
        if multiples.size == 0 or multiples.size > count:
            continue
        inside = np.minimum(np.floor((multiples - steps.low) * steps.scale).astype(np.int64), count - 1)
        values[inside] = multiples
        weights[np.unique(inside)] += count // multiples.size
    before = np.concatenate([[0], np.cumsum(weights)])
    for array in (before, values):
        array.setflags(write=False)
    return StepWeights(before, values)


def _multiples(steps: Steps, power: int) -> NDArray[Any]:
    """The multiples of 10^power within the ends; none where doubles of that size do not tell them apart."""
    size = 10.0**power
    first, last = math.ceil(steps.low / size), math.floor(steps.high / size)
    if last < first or max(abs(first), abs(last)) > 2**53:
        return np.empty(0)
    found = np.arange(first, last + 1, dtype=np.float64)
    found = found * size if power >= 0 else found / 10.0**-power
    return found[(found >= steps.low) & (found <= steps.high)]
