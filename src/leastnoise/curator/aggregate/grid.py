"""The public grid to which clipped real numbers are rounded, so that their sum is a sum of integers.

The rounding is floor(x / g + 1/2) in doubles with g a power of two. It is monotone, so a clipped value
lands between the rounded ends, which are computed here by the same double arithmetic; whatever the low
bits of a row's double, the sum is a sum of integers within those ends.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from leastnoise.curator.aggregate.binning import double_literal

if TYPE_CHECKING:
    import ibis.expr.types as ir

# The clip is cut into about 2^30 steps: a billion rows all rounded the same way shift the sum by half a clip.
CLIP_BITS = 30


def grid_step(low: float, high: float) -> float:
    """A power of two: the width over about 2^30, but coarse enough that both ends stay exact in a double."""
    fine = math.frexp(high - low)[1] - CLIP_BITS
    exact = math.frexp(max(abs(low), abs(high)))[1] - 51
    return math.ldexp(1.0, max(fine, exact))


def rounded_end(end: float, step: float) -> int:
    """An end of the clip, in steps of the grid."""
    return math.floor(end / step + 0.5)


def rounded(inside: ir.Value, step: float) -> ir.IntegerValue:
    """Clipped doubles, in steps of the grid; 1 / step is exact."""
    return (inside * double_literal(1 / step) + double_literal(0.5)).floor().cast("int64")
