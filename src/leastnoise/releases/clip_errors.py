"""Where to clip a column, from the values of one row a unit: what a clip takes from a sum, against the noise it needs.

A clip at -v and v takes sum of (|x| - v) where that is above zero from a sum, and the noise is v times that of a count.
The error of a sum in each bin is weighed as that of counts is (`limit_errors`), over the plausible distributions of
|x|: the clip of the least mean regret is proposed, and the part of these distributions for which its regret is large is
told. Where one side of zero seems to have no values, the clip ends at zero: that costs nothing.

Wider classes are for values that noise hides in the finest ones. Where it does not, these decide alone: a sum depends
on the tail, and fitted to all levels at once a few shapes of heavy tails, too far out, were left to seem sure.

A clip for a *mean* is another (`mean_clip_errors`). For a sum over more rows than one of these bins has, the noise
counts for less, so that a wider one would be better.
"""

from __future__ import annotations

import math

import numpy as np

from leastnoise.domain.size_classes import VALUE_ENDS
from leastnoise.releases.signed_counts import SignedCounts

MUCH = 0.5  # regret
MOST_COUNTED = math.log(100.0)  # of an error over the least one: one that is a million times too large is no worse
Clip = tuple[float, float]


def propose(
    noisy: SignedCounts, *, rows: float, concentration: float, bins: int, count_std: float
) -> tuple[Clip, float]:
    """The ends (low, high) of the least mean regret, and the chance that their regret is above `MUCH`.

    noisy: units by the value of one row. rows: how many rows are added up. count_std: the noise of a count under the
    same limits.
    """
    sizes = (noisy if noisy.finest.hidden else noisy.finest).both_sides()
    ends = np.array(VALUE_ENDS[1:])
    usual = np.sqrt(np.array(VALUE_ENDS[1:]) * np.array(VALUE_ENDS[:-1]))
    excess = np.maximum(usual[None, :] - ends[:, None], 0.0)
    every = np.maximum(sizes.counts.sum(axis=1) + noisy.zeros, 1.0)
    lost = rows * (sizes.counts @ excess.T) / every[:, None]
    errors = np.log(concentration * lost**2 / bins + (ends * count_std) ** 2) / 2
    errors -= errors.min(axis=1, keepdims=True)
    best = int(np.argmin(sizes.weights @ np.exp(np.minimum(errors, MOST_COUNTED))))
    far, risk = float(ends[best]), float(sizes.weights @ (errors[:, best] > math.log1p(MUCH)))
    high, low = (far if noisy.visible(side, sizes.mean) else 0.0 for side in (1, -1))
    return ((0.0 - low, high) if low or high else (-far, far)), risk
