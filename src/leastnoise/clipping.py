"""Values clipped to public ends and rounded to a public grid: from here on every number is an integer.

The rounding is floor(x / g + 1/2) in doubles with g a power of two. It is monotone, so a clipped value
lands between the rounded ends, which are computed here by the same double arithmetic; whatever the low
bits of a row's double, the sum is a sum of integers within those ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leastnoise.binning import clipped, exactly, real, whole
from leastnoise.errors import BadClip, NotFinite, WrongType

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir

# The clip is cut into about 2^30 steps: a billion rows all rounded the same way shift the sum by half a clip.
STEPS = 30
INTEGER_SPAN = 2**40


@dataclass(frozen=True, slots=True)
class Clip:
    """Ends, grid step, and the ends as integers in steps of the grid."""

    low: float
    high: float
    grid: float
    lowest: int
    highest: int
    whole: bool

    @classmethod
    def of(cls, clip: object, kind: dt.DataType) -> Clip:
        """The clip for a column of that type; whole numbers with whole ends are kept as they are."""
        low, high = _ends(clip)
        integral = kind.is_integer() or (kind.is_decimal() and kind.scale == 0)
        if integral and low == int(low) and high == int(high) and high - low < INTEGER_SPAN:
            return cls(low=low, high=high, grid=1.0, lowest=int(low), highest=int(high), whole=True)
        grid = _grid(low, high)
        lowest, highest = math.floor(low / grid + 0.5), math.floor(high / grid + 0.5)
        return cls(low=low, high=high, grid=grid, lowest=lowest, highest=highest, whole=False)

    @property
    def bits(self) -> int:
        """How many bits a value takes above the lowest."""
        return (self.highest - self.lowest).bit_length()

    @property
    def centre(self) -> int:
        """The middle, in steps of the grid."""
        return (self.lowest + self.highest) // 2

    @property
    def half(self) -> int:
        """The largest distance of a value from the middle, in steps of the grid."""
        return max(self.highest - self.centre, self.centre - self.lowest)

    def apply(self, value: ir.Value, column: str) -> ir.IntegerValue:
        """The integer of each row; null where the value is null or NaN. Infinities are clipped like any
        number."""
        if self.whole:
            return clipped(whole(value, column), self.lowest, self.highest)
        inside = clipped(real(value, column), self.low, self.high)
        return (inside * exactly(1 / self.grid) + exactly(0.5)).floor().cast("int64")


def _ends(clip: object) -> tuple[float, float]:
    clip = clip.tolist() if hasattr(clip, "tolist") else clip
    if not (isinstance(clip, tuple | list) and len(clip) == 2):
        raise WrongType(f"clip must be a pair (low, high). Got {clip!r} instead.")
    if any(isinstance(end, bool | str) or not hasattr(end, "__float__") for end in clip):
        raise WrongType(f"clip must be a pair of numbers. Got {clip!r} instead.")
    low, high = float(clip[0]), float(clip[1])
    if not (math.isfinite(low) and math.isfinite(high)):
        raise NotFinite(f"clip must be finite, or one value could change the sum without limit. Got {clip!r} instead.")
    if low >= high:
        raise BadClip(f"clip must be (low, high) with low < high. Got {clip!r} instead.")
    return low, high


def _grid(low: float, high: float) -> float:
    """A power of two: the width over about 2^30, but coarse enough that both ends stay exact in a double."""
    fine = math.frexp(high - low)[1] - STEPS
    exact = math.frexp(max(abs(low), abs(high)))[1] - 51
    exponent = max(fine, exact)
    if not -1000 < exponent < 900:
        raise BadClip("clip is too narrow or too wide for doubles. Scale the column in derive().")
    return math.ldexp(1.0, exponent)
