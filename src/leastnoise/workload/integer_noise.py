"""The noise of a strategy as it is drawn: standard deviations on the whole numbers of each block.

prod (n_i I - J) m_A is N_A times C_A m_A, so noise of variance y_A on the latter is noise of standard deviation
N_A sqrt(y_A) on the former. Independent rounded Gaussians of these scales on the integers of all blocks are the
ordinary exact mechanism on one long vector of integers; the part of the noise outside the space of the residuals is
dropped by the projection afterwards, which is post-processing.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.privacy.calibration import proof
from leastnoise.workload.incidence import Floats
from leastnoise.workload.strategy import Strategy

Table = tuple[str, ...]
_SAME = 1e-12  # variances this close, relatively, are the same number but for rounding


def integer_scales(strategy: Strategy, *, unit: int = 1) -> dict[Table, float]:
    """The standard deviation of the noise on the integers of each block: unit N_A sqrt(y_A), or for other columns than
    plain counts the product of their steps in place of N_A.

    strategy: from `Workload.optimize`.
    unit: how many whole steps a row of weight one counts: the number of parts where rows share one weight.

    Variances that are equal but for rounding become the same number, the largest of them: blocks that a symmetry
    exchanges then have equal noise exactly, and the symmetry can be used to bound what a unit costs.
    """
    steps = validation.integer("unit", unit)
    workload = strategy.workload
    roots = np.sqrt(_snapped(strategy.block_variances)).tolist()
    return {
        block: float(steps * workload.step_of(block)) * root
        for block, root in zip(workload.blocks, roots, strict=True)
        if math.isfinite(root)  # else the block is not measured
    }


def scales_within(strategy: Strategy, mu_squared: Fraction, *, unit: int = 1, **unit_limits: Any) -> dict[Table, float]:
    """Noise in the proportions of the strategy, as little as keeps what one unit costs within mu_squared: proved.

    strategy: from `Workload.optimize`; its own mu does not matter.
    mu_squared: what one unit may cost, exactly.
    unit: how many whole steps a row of weight one counts.
    unit_limits: what `squared_cost` needs to know of a unit: neighbours, max_rows, row_weight, parts, distinct,
    always_counted.
    """
    if not mu_squared > 0:
        raise errors.InvalidParameter(
            "No finite noise costs nothing: mu_squared must be above 0.", parameter="mu_squared", value=mu_squared
        )
    scales = integer_scales(strategy, unit=unit)
    cost = strategy.workload.squared_cost(scales, **unit_limits)
    step = 0.0
    while Fraction(cost) > mu_squared or not step:
        factor = _root_up(cost, mu_squared) * (1 + step)
        scales = {block: sigma * factor for block, sigma in scales.items()}
        cost = strategy.workload.squared_cost(scales, **unit_limits)
        step = 2 * step or 2.0**-52
    return scales


def _root_up(cost: float, mu_squared: Fraction) -> float:
    with proof.precision(128):
        limit = arb(fmpq(mu_squared.numerator, mu_squared.denominator))
        return float(proof.upward((arb(cost) / limit).sqrt()))


def _snapped(variances: Floats) -> Floats:
    """Runs of variances without a gap between them become their largest."""
    order = np.argsort(variances)
    ascending = variances[order]
    starts = np.concatenate([[True], ascending[1:] > ascending[:-1] * (1 + _SAME)])
    ends = np.append(np.flatnonzero(starts)[1:], len(ascending)) - 1
    made = np.empty_like(variances)
    made[order] = ascending[ends][np.cumsum(starts) - 1]
    return made
