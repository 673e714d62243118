"""Values clipped to public ends and rounded to a public grid: from here on every number is an integer.

Rows whose value is null, or NaN, are dropped here. Real numbers are rounded by floor(x / g + 1/2) in doubles with g a
power of two. It is monotone, so a clipped value lands between the rounded ends, which are computed here by the same
double arithmetic; whatever the low bits of a row's double, the sum is a sum of integers within those ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from leastnoise.curator.rows.placing import as_double, as_integer, clipped, double_literal, is_whole
from leastnoise.errors import InvalidParameter, WrongType
from leastnoise.privacy.sensitivity import ChosenClip

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


MAX_INTEGER_SPAN = 2**40
MAX_INTEGER_END = 2**62
# Of what a clip may be: squares of sensitivities, and noise many times as large, are ordinary doubles then.
MIN_CLIP_WIDTH, MAX_CLIP_END = 1e-100, 1e100


@dataclass(frozen=True, slots=True)
class Clip:
    """Ends, grid step, and the ends as integers in steps of the grid."""

    low: float
    high: float
    grid: float
    lowest: int
    highest: int
    integers: bool
    chosen_with: str | None = None  # the release that proposed it; None: it is somebody's own

    @classmethod
    def of(cls, clip: object, kind: dt.DataType) -> Clip:
        """The clip for a column of that type; whole numbers with whole ends are kept as they are."""
        low, high = checked_ends(clip)
        chosen = clip.chosen_with if isinstance(clip, ChosenClip) else None
        within = max(-low, high) <= MAX_INTEGER_END and high - low < MAX_INTEGER_SPAN
        if is_whole(kind) and low == int(low) and high == int(high) and within:
            return cls(low, high, grid=1.0, lowest=int(low), highest=int(high), integers=True, chosen_with=chosen)
        grid = grid_step(low, high)
        lowest, highest = rounded_end(low, grid), rounded_end(high, grid)
        if lowest == highest:
            raise InvalidParameter(
                f"clip is narrower than numbers of its size are told apart. Got {(low, high)} instead. Take the centre "
                f"away first: derive(offset=lambda rows: rows['value'] - {low!r})."
            )
        return cls(low, high, grid, lowest, highest, integers=False, chosen_with=chosen)

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
        if self.integers:
            return clipped(as_integer(value, column), self.lowest, self.highest)
        inside = clipped(as_double(value, column), self.low, self.high)
        return rounded(inside, self.grid)

    def rows_with_value(self, rows: ir.Table, column: str, *, name: str) -> ir.Table:
        """The rows whose value in `column` is neither null nor NaN, with its integer as the column `name`."""
        rows = rows.mutate(**{name: self.apply(rows[column], column)})
        return rows.filter(rows[name].notnull())


def checked_ends(clip: object) -> tuple[float, float]:
    """The public ends (low, high) as doubles, checked."""
    clip = clip.tolist() if hasattr(clip, "tolist") else clip
    if not (isinstance(clip, tuple | list) and len(clip) == 2):
        raise WrongType(
            f"clip must be a pair (low, high). Got {clip!r} instead.",
            parameter="clip",
            value=clip,
            example={"clip": (0, 100)},
        )
    if any(isinstance(end, bool | str) or not hasattr(end, "__float__") for end in clip):
        raise WrongType(f"clip must be a pair of numbers. Got {clip!r} instead.")
    low, high = nearest_double(clip[0]), nearest_double(clip[1])
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidParameter(
            f"clip must be finite doubles, or one value could change the sum without limit. Got {(low, high)} instead."
        )
    if low >= high:
        raise InvalidParameter(
            f"clip must be (low, high) with low < high. Got {(low, high)} instead.",
            parameter="clip",
            value=clip,
            example={"clip": (high, low) if high < low else (0, 100)},
        )
    if max(abs(low), abs(high)) > MAX_CLIP_END or high - low < MIN_CLIP_WIDTH:
        raise out_of_range(
            f"clip must be between -{MAX_CLIP_END:g} and {MAX_CLIP_END:g}, and {MIN_CLIP_WIDTH:g} wide", (low, high)
        )
    return low, high


def checked_norm(given: object) -> float:
    """`clip_norm` as a double, checked."""
    if isinstance(given, bool) or not isinstance(given, Real) or not nearest_double(given) > 0:
        raise InvalidParameter(f"clip_norm must be a number above zero. Got {given!r} instead.")
    if not MIN_CLIP_WIDTH <= nearest_double(given) <= MAX_CLIP_END:
        raise out_of_range(f"clip_norm must be between {MIN_CLIP_WIDTH:g} and {MAX_CLIP_END:g}", nearest_double(given))
    return nearest_double(given)


def nearest_double(number: Any) -> float:
    """The nearest double, or infinity."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def out_of_range(rule: str, given: object) -> InvalidParameter:
    """The error for a clip whose squares are no ordinary doubles any more."""
    return InvalidParameter(
        f"{rule}, or squares of the sensitivity would leave the range of doubles. Got {given} instead. Scale the "
        "column first: derive(scaled=lambda rows: rows['value'] * 1e-50), and clip that."
    )
