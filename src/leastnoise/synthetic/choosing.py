"""How strong the pull to independence may be: from noise that was held out.

For Gaussian noise z of variance y and any t > 0, with e drawn anew of the same variance, r + t e and r - e/t are
independent (their covariance is y - y = 0), with variances (1 + t^2) y and (1 + 1/t^2) y. A mixture that is fitted to
the first is judged by the second, as if the same people had been counted twice. Under Laplace noise the two are
uncorrelated, not independent, and the judgement is an approximation. No number that was not published is read.

**Which is taken.** For mixtures a and b with residuals R_a and R_b, r = R + e held out, and y its variance,

    |R_a - r|^2 / y - |R_b - r|^2 / y = |R_a - R|^2 / y - |R_b - R|^2 / y - 2 <R_a - R_b, e> / y,

whose standard deviation is 2 |R_a - R_b| / sqrt(y). The strongest pull is taken whose misfit is above the least by no
more than two of them: by these numbers nobody can tell that it is worse. (Two, not one, was settled on Adult.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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


def strongest(pulls: Sequence[float], mixtures: Sequence[Mixture], held_out: Targets) -> float:
    """The strongest pull that is not seen to be worse. mixtures: fitted with each. held_out: what judges them."""
    misfits = [misfit(held_out, mixture)[0] for mixture in mixtures]
    best = min(range(len(pulls)), key=misfits.__getitem__)
    around_best = held_out.replaced_by(mixtures[best])
    return max(
        pull
        for pull, mixture, found in zip(pulls, mixtures, misfits, strict=True)
        if found <= misfits[best] + 2 * 2 * math.sqrt(misfit(around_best, mixture)[0])
    )
