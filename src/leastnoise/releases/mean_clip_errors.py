"""Where to clip a column for its mean, from the values of one row a unit: what a clip takes from a mean, and its noise.

A mean is the noisy sum of values centred at the middle of the clip, over the noisy count. With l and h the ends, c half
the width between them, z the middle, s the standard deviation of the noise of a count, and N rows in a bin whose
clipped values have the mean t, the noise of the mean has, to first order, the variance

    s^2 (c^2 + (t - z)^2) / N^2

and a clip takes from the mean u = mean of (x - h where x > h) and adds d = mean of (l - x where x < l). In a bin of N
rows these are off from those of all rows by the variance v of what is cut from one row, over N. So in a bin

    error^2 = u^2 + d^2 + v / N + s^2 (c^2 + (t - z)^2) / N^2

where u^2 + d^2 stands for (u - d)^2: what is cut off on both sides differs from bin to bin, and need not cancel. It is
averaged over the bins whose mean is told, those of enough rows (`releases.mean`), as many as one row a unit counts in
each; where noise hides these counts, how unequal bins are is known by the sum of the squares of their shares, and their
sizes are taken to be lognormal, with that.

The ends are chosen one by one, unlike those of a sum, whose noise goes with the larger of them. The clip of the least
mean regret over the plausible distributions is proposed. These are of |x|, as for a sum, each split into two sides by
how the sides by themselves may be distributed; a side of which nothing is seen is taken to be empty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from leastnoise._support.validation import Floats
from leastnoise.domain.size_classes import VALUE_ENDS
from leastnoise.releases.clip_errors import MOST_COUNTED, MUCH, Clip
from leastnoise.releases.signed_counts import SignedCounts

ENOUGH = float(ndtri(0.975))  # standard deviations of a count: `releases.mean.ENOUGH_CONFIDENCE`
LEAST_SPREAD = 0.01  # of the logarithm of the bins' sizes
SEEN = 2.0  # standard deviations, of the units in a bin on average
_FEWEST = 1e-6  # part of the bins
Counted = tuple[Floats, float]  # units by bin, and the standard deviation of their noise


@dataclass(frozen=True, slots=True)
class BinSizes:
    """Means over the bins of enough rows: of 1 / N, and of 1 / N^2."""

    inverse: float
    inverse_square: float

    @classmethod
    def of(
        cls, *, rows: float, concentration: float, bins: int, count_std: float, counted: Counted | None = None
    ) -> BinSizes:
        """From the units counted in each bin, where these stand out of their noise; else from the sum of the squares of
        the bins' shares."""
        if counted is not None and counted[0].mean() > SEEN * counted[1]:
            shares = np.maximum(counted[0], counted[1] / 2)  # a bin that seems empty may have so many
            sizes = rows * shares / shares.sum()
            told = sizes[sizes > max(ENOUGH * count_std, 1.0)]
            if told.size:
                return cls(float((1 / told).mean()), float((1 / told**2).mean()))
        return cls.lognormal(rows=rows, concentration=concentration, bins=bins, count_std=count_std)

    @classmethod
    def lognormal(cls, *, rows: float, concentration: float, bins: int, count_std: float) -> BinSizes:
        """From the rows in all and the sum of the squares of the bins' shares.

        With log N normal, of mean a and variance w, the mean of N^-k over N > e is exp(w k^2 / 2 - k a) Phi((a - k w -
        log e) / sqrt w) / Phi((a - log e) / sqrt w). Here exp(w) is `concentration` times `bins`, and exp(a + w / 2)
        rows / bins. Where hardly any bin is large enough, all are taken to be just that.
        """
        w = max(math.log(max(concentration * bins, 1.0)), LEAST_SPREAD**2)
        a, least = math.log(max(rows, 1.0) / bins) - w / 2, math.log(max(ENOUGH * count_std, 1.0))
        there = float(ndtr((a - least) / math.sqrt(w)))
        if there < _FEWEST:
            return cls(math.exp(-least), math.exp(-2 * least))
        one, two = (math.exp(w * k**2 / 2 - k * a) * float(ndtr((a - k * w - least) / math.sqrt(w))) for k in (1, 2))
        return cls(min(one / there, math.exp(-least)), min(two / there, math.exp(-2 * least)))


def propose(
    noisy: SignedCounts,
    *,
    rows: float,
    concentration: float,
    bins: int,
    count_std: float,
    counted: Counted | None = None,
) -> tuple[Clip, float]:
    """The ends (low, high) of the least mean regret, and the chance that their regret is above `MUCH`.

    noisy: units by the value of one row. rows: how many rows are added up. count_std: the noise of a count beside the
    sums. counted: units by bin, if there are several.
    """
    sizes = BinSizes.of(rows=rows, concentration=concentration, bins=bins, count_std=count_std, counted=counted)
    chances, weights = _plausible(noisy)
    ends = np.concatenate([-np.array(VALUE_ENDS[:0:-1]), [0.0], VALUE_ENDS[1:]])
    inside = np.sqrt(np.array(VALUE_ENDS[1:]) * np.array(VALUE_ENDS[:-1]))
    values = np.concatenate([-inside[::-1], [0.0], inside])
    above, below = np.maximum(values - ends[:, None], 0.0), np.maximum(ends[:, None] - values, 0.0)
    some = _worth_trying(chances, ends)
    low, high = (part.ravel() for part in np.meshgrid(some, some, indexing="ij"))
    low, high = low[ends[low] < ends[high]], high[ends[low] < ends[high]]
    up, down = (chances @ part.T for part in (above, below))
    up2, down2 = (chances @ (part**2).T for part in (above, below))
    middle, half = (ends[low] + ends[high]) / 2, (ends[high] - ends[low]) / 2
    mean = (chances @ values)[:, None] - up[:, high] + down[:, low]
    cut = np.hypot(up[:, high], down[:, low])
    spread = np.maximum(up2[:, high] + down2[:, low] - (up[:, high] - down[:, low]) ** 2, 0.0)
    noise = count_std**2 * (half**2 + (mean - middle) ** 2)
    errors = np.log(cut**2 + sizes.inverse * spread + sizes.inverse_square * noise) / 2
    errors -= errors.min(axis=1, keepdims=True)
    best = int(np.argmin(weights @ np.exp(np.minimum(errors, MOST_COUNTED))))
    risk = float(weights @ (errors[:, best] > math.log1p(MUCH)))
    return (float(ends[low[best]]), float(ends[high[best]])), risk


def _plausible(noisy: SignedCounts) -> tuple[Floats, Floats]:
    """Distributions of the value of a row over classes of both signs, one a row, and how likely each is."""
    sizes = noisy.both_sides()
    there = [noisy.visible(side, sizes.mean) for side in (1, -1)]
    if all(there):
        right, left = (noisy.one_side(side).counts for side in (1, -1))
        share = right / np.maximum(right + left, 1e-300)
    else:
        share = np.full(sizes.counts.shape, 1.0 if there[0] else 0.0 if there[1] else 0.5)
    nothing = np.full((len(sizes.counts), 1), noisy.zeros)
    counts = np.concatenate([((1 - share) * sizes.counts)[:, ::-1], nothing, share * sizes.counts], axis=1)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300), sizes.weights


def _worth_trying(chances: Floats, ends: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The ends between which some distribution has all but a millionth of its values, and one more on either side."""
    below = np.cumsum(chances, axis=1).max(axis=0) > 1e-6
    beyond = np.cumsum(chances[:, ::-1], axis=1).max(axis=0)[::-1] > 1e-6
    first, last = int(np.flatnonzero(below)[0]), int(np.flatnonzero(beyond)[-1])
    return np.arange(max(first - 2, 0), min(last + 2, ends.size))
