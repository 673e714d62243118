"""How many groups a mixture needs, and how strong the pull may be: from noise that was held out.

For Gaussian noise z of variance y and any t > 0, with e drawn anew of the same variance, r + t e and r - e/t are
independent (their covariance is y - y = 0), with variances (1 + t^2) y and (1 + 1/t^2) y. A mixture that is fitted to
the first is judged by the second, as if the same people had been counted twice. Under Laplace noise the two are
uncorrelated, not independent, and the judgement is an approximation. No number that was not published is read.

Among mixtures whose misfit to the held-out half is within one standard error of the least, the simplest is taken: the
strongest pull, and the fewest groups.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.synthetic.fitting import Targets, misfit
from leastnoise.synthetic.mixture import Mixture
from leastnoise.workload.residuals import Table, project

SPLIT = 0.5  # t: the half that is fitted has 1.25 times the variance


class Halves(NamedTuple):
    """Blocks with more noise, and independent ones to judge by; each with the variances of its noise."""

    fitted: dict[Table, Floats]
    fitted_variances: dict[Table, float]
    held_out: dict[Table, Floats]
    held_out_variances: dict[Table, float]


def halves(blocks: Mapping[Table, Any], variances: Mapping[Table, float], rng: np.random.Generator) -> Halves:
    """Two halves of what was published; the total, which has no residual to judge by, stays."""
    found = Halves({}, {}, {}, {})
    for block, residual in blocks.items():
        values, variance = np.asarray(residual, dtype=float), variances[block]
        more = project(rng.normal(0.0, math.sqrt(variance), values.shape)) if block else 0.0
        found.fitted[block] = values + SPLIT * more
        found.held_out[block] = values - more / SPLIT
        found.fitted_variances[block] = (1 + SPLIT**2) * variance
        found.held_out_variances[block] = (1 + 1 / SPLIT**2) * variance
    return found


class Judged(NamedTuple):
    """groups, pull: of a mixture. misfit: to the held-out half."""

    groups: int
    pull: float
    misfit: float


def simplest(judged: list[Judged], targets: Targets, mixture: Mixture) -> Judged:
    """The simplest of those that are within a standard error of the best. targets, mixture: what one was judged by.

    A misfit is a sum of squares of m independent normal values over their variances, so its variance is 2m at least.
    """
    error = math.sqrt(2 * misfit(targets, mixture)[1])
    least = min(each.misfit for each in judged)
    return max((each for each in judged if each.misfit <= least + error), key=lambda each: (each.pull, -each.groups))
