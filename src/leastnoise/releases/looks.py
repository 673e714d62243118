"""Several looks at one question, put together: their counts by inverse variance, as if one look had paid for all.

Every look i adds noise of standard deviation s_i to the same integers x, so y_i = x + e_i. Of all weighted means of the
y_i that have x for their mean, the one with weights 1 / s_i^2 has the least variance, 1 / sum(1 / s_i^2), whatever the
law of the noise is.

**Going on wastes nothing.** A look of a share q of a Gaussian budget mu has s = D / (mu sqrt(q)), where D is what one
unit moves in L2: 1 / s^2 = q mu^2 / D^2, which is linear in q. So looks of q_1 and q_2 together have

    1 / s_1^2 + 1 / s_2^2 = (q_1 + q_2) mu^2 / D^2

exactly the variance of one look of q_1 + q_2; and the weighted mean of normal noise is normal, so nothing else about it
differs either. (But for rounding: toward privacy, one part in 10^12 of each s; and each draw to a whole number, which
adds 1/12 to its variance.) Laplace noise, of a budget without a delta, has 1 / s^2 of the order q^2, so two looks of a
half each have twice the variance of one: going on costs there, and a larger first look is better.

**Whether to go on may depend on what was seen.** Each look is a release of its own, debited before its noise is drawn.
Given everything released so far the next look's noise is decided, and it satisfies its own promise; a budget's filter
lets through only what fits, however the next question was chosen, and its promise is about all that it let through.
That choice is a function of released values and public facts (`LimitSuggestion.risk`): of two tables that differ in
one unit it is the same wherever the releases are.

**The row of a unit that a look draws** is chosen by a hash of the unit with public facts of the question, so it is the
same in all looks at one question, and x is. Were it another in each, a weighted mean would still be right: each look
counts every unit once, by a row that is uniform among its own, and the mean over such draws is the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.releases.release import Release


def counts_together(looks: Sequence[Release]) -> tuple[Floats, float]:
    """The counts by inverse variance, and the standard deviation of their noise."""
    if len(looks) == 1:
        return np.asarray(looks[0].values, dtype=np.float64), looks[0].noise.std
    least = min(look.noise.std for look in looks)
    weights = [(least / look.noise.std) ** 2 for look in looks]
    values = [np.asarray(look.values, dtype=np.float64) for look in looks]
    mean: Floats = np.average(values, axis=0, weights=weights)
    return mean, least / math.sqrt(math.fsum(weights))
