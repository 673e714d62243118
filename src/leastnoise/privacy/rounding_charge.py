"""What the rounding of real numbers to a grid adds to their sensitivity: it is charged, so the guarantee covers it.

The grid g is a power of two taken from the sensitivity and the number of bins d. Rounding moves each of d coordinates
of f(x) - f(x') by at most g (half a step at either end), so the sensitivity grows by at most g sqrt(d) in L2 and g d in
L1. That is charged; g is chosen so that the charge is below 1e-4 (L2) or 1e-3 (L1) of the sensitivity.
"""

from __future__ import annotations

import math

from flint import arb

from leastnoise.privacy.calibration import proof

MAX_L2_CHARGE, MAX_L1_CHARGE = 1e-4, 1e-3  # of the sensitivity


def l2_grid(l2: float, bins: int, *, least: float) -> float:
    """The grid for values of this L2 sensitivity; at or above `least`, whatever that charges."""
    return max(_power_below(MAX_L2_CHARGE * l2 / math.sqrt(bins)), _power_above(least))


def l1_grid(l1: float, bins: int, *, least: float) -> float:
    """The grid for values of this L1 sensitivity; at or above `least`, whatever that charges."""
    return max(_power_below(MAX_L1_CHARGE * l1 / bins), _power_above(least))


def l2_charged(l2: float, bins: int, grid: float) -> float:
    """The L2 sensitivity after rounding, rounded up."""
    with proof.precision(128):
        return proof.upward(arb(l2) + arb(grid) * arb(bins).sqrt())


def l1_charged(l1: float, bins: int, grid: float) -> float:
    """The L1 sensitivity after rounding, rounded up."""
    with proof.precision(128):
        return proof.upward(arb(l1) + arb(grid) * bins)


def _power_below(x: float) -> float:
    """The largest power of two at or below x."""
    return math.ldexp(1.0, max(math.frexp(x)[1] - 1, -1000)) if x > 0 else 2.0**-1000


def _power_above(x: float) -> float:
    """The least power of two at or above x."""
    return math.ldexp(1.0, max(math.frexp(x)[1], -1000)) if x > 0 else 2.0**-1000
