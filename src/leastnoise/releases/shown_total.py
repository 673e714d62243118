"""The total of bins that show because their noisy count reached a threshold: how far its noise reaches.

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

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.privacy.distributions import Distribution, Laplace

CELLS = 1 << 13  # of the grid, at most; with more, several are one whose noise counts as the largest of them
REACH = 14.0  # standard deviations of Gaussian noise, beyond which nothing is left to speak of
LAPLACE_REACH = 300.0  # the same for Laplace noise, tilted by at most LARGEST_TILT / scale
LARGEST_TILT = 0.85


def total_of(question: str) -> str:
    """The question about all keys together, shown or not, that belongs to a question about each."""
    return f"all keys together of: {question}"


def most_noise(distribution: Distribution, starts: Floats, miss: float) -> float:
    """A q that the sum of draws, each given that it is at least its start, exceeds with probability `miss` at most;
    infinity where doubles cannot tell."""
    step, laplace = distribution.grid, isinstance(distribution, Laplace)
    spread = distribution.scale if isinstance(distribution, Laplace) else distribution.sigma
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
