"""|K| = floor(scale * X + offset), exactly, for thousands of draws at once.

X >= 0 is continuous with survival function S, so X = S^-1(P) for a uniform P. A draw is one random
word: the lowest bit is K's sign, the other 63 are the prefix u of P = (u + U) / 2^63, 0 < U < 1. Doubles
enclose scale * X + offset for *every* U; when the whole enclosure has one floor, that is |K|. Else, and in
the far tail (u < 2^47), the same prefix is extended in ball arithmetic (`lazy_uniform.decide_floor`). So the
doubles only save time.

The enclosure (units: X, until multiplied by scale). [2^47, 2^63) is cut into cells, 512 to an octave. Each
has a centre t, a multiple of 2^-14, near the X of its middle. With y = (S(t) - P) / s(t), s = -S', Taylor's
theorem gives

    X = t + y (1 + y (c2 + y (c3 + y c4))) + c5(t') y^5        t' in the cell, |y| < 1.1 * 2^-10 (checked)

  prefix   level = floor(S(t) 2^63) stands for S(t) 2^63 and u for u + U. Each drops between 0 and 1, so
           level - u is wrong by less than 1.01 units; it is an integer below 2^53, so an exact double
           (checked). A unit is slope = 2^-63 / s(t) of y, and dX/dy < 1.01: the error is below 1.1 slope.
  Taylor   1.1 c5(t) |y|^5 < 2^-51 (checked for each cell). The 1.1 covers c5(t') / c5(t): for the Gaussian
           the cells have t < 4.4, so (s(t) / s(t'))^5 < exp(5 * 4.4 * 1.2 * 2^-10) < 1.03, and the polynomial
           moves by less than 2 %; for the exponential it is (1 - |y|)^-5 < 1.01.
  doubles  the roundings of slope, c2, c3, c4 and of the operations on them: below 12 * 2^-53 |y| < 2^-59.
           With scale * (...) in doubles, and the Taylor error, they fit into 2^-50.
  parts    scale * t + offset - 1/2 is kept as an integer and a double below 2 in size: 2^-48 covers the
           roundings of that double, and 2^-50 scale also those of adding scale * y (...) to it.

Assumed: IEEE doubles, round-to-nearest. No exponential, logarithm or normal quantile of a floating-point
library is trusted: `approximate_inverse` only chooses centres, and the checks judge them. Underflow, gradual or
flushed, hides in 2^-48.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from numbers import Rational, Real
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise.curator.noise import entropy, lazy_uniform
from leastnoise.errors import InvalidParameter, NotProved, OutOfRange, WrongType

Doubles = NDArray[np.float64]

DRAWS_PER_CHUNK = 1 << 13  # a dozen temporaries of 64 kB stay in the cache
MAX_SCALE_STEPS = 1 << 52  # with it |K| < 2^52 * 711 < 2^62 for every prefix of at most 1,024 bits

FIRST_FAST_BIT = 47  # prefixes below 2^47 (one in 65,536) go to the exact path: every tail, every u near 0
CELL_BITS = 9
CELLS = (63 - FIRST_FAST_BIT) << CELL_BITS
FIRST_CELL = (1023 + FIRST_FAST_BIT - 10) << CELL_BITS  # the leading bits of the double 2^(FIRST_FAST_BIT - 10)


@dataclass(frozen=True, slots=True)
class MagnitudeDistribution:
    """How X >= 0 is distributed, and the offset that makes |K| = floor(scale * X + offset) the noise wanted."""

    survival: Callable[[arb], arb]
    density: Callable[[arb], arb]
    inverse: Callable[[arb], arb]  # of survival
    offset: Callable[[arb], arb]  # scale -> offset
    approximate_inverse: Callable[[Doubles], Doubles]  # inverse again, in doubles; trusted for nothing
    taylor: Callable[[Doubles], tuple[Doubles, Doubles, Doubles, Doubles]]  # t -> c2, c3, c4, c5


def draw(distribution: MagnitudeDistribution, scale: Fraction, size: int) -> NDArray[np.int64]:
    """`size` independent draws of a fair sign times floor(scale * X + offset)."""
    out = np.empty(validation.integer("size", size, least=0), dtype=np.int64)
    enclosures = _Enclosures.of(distribution, scale)
    for start in range(0, out.size, DRAWS_PER_CHUNK):
        chunk = out[start : start + DRAWS_PER_CHUNK]
        word = entropy.words(chunk.size)
        u = (word >> np.uint64(1)).view(np.int64)
        chunk[:], decided = enclosures.floors(u)
        for i in np.flatnonzero(~decided):
            chunk[i] = lazy_uniform.decide_floor(
                lazy_uniform.Uniform(int(u[i]), 63), lambda p: exact_magnitude(distribution, scale, p), least=0
            )
        chunk *= 1 - 2 * (word & np.uint64(1)).view(np.int64)
    return out


def exact_magnitude(distribution: MagnitudeDistribution, scale: Fraction, p: arb) -> arb:
    """The number whose floor is |K|, from all that is known of P."""
    steps = lazy_uniform.ball(scale)
    return steps * distribution.inverse(p) + distribution.offset(steps)


@dataclass(frozen=True, slots=True)
class _Table:
    """What is needed of each cell, whatever the scale."""

    centre: Doubles
    level: NDArray[np.int64]
    slope: Doubles
    taylor: tuple[Doubles, Doubles, Doubles]


@dataclass(frozen=True, slots=True)
class _Enclosures:
    """The enclosures for one distribution and one scale."""

    table: _Table
    scale: float
    integer: NDArray[np.int64]
    part: Doubles

    @classmethod
    @lru_cache(maxsize=8)  # one entry is 130 kB; distribution and scale are public
    def of(cls, distribution: MagnitudeDistribution, scale: Fraction) -> _Enclosures:
        """integer + part = scale * centre + offset - 1/2 in each cell, with an error in `part` only."""
        table = _table(distribution)
        shift = float(lazy_uniform.within(lambda: distribution.offset(lazy_uniform.ball(scale)) - 0.5, 2**-60))
        # 26 bits of the scale times the 18 of a centre: exact. The rest, and its rounding, is 2^-26 as large.
        mantissa, exponent = math.frexp(float(scale))
        head = math.ldexp(math.floor(mantissa * 2**26), exponent - 26)
        tail = float(scale - Fraction(head))
        a, b = head * table.centre, tail * table.centre
        integer = np.rint(a).astype(np.int64) + np.rint(b).astype(np.int64)
        return cls(table, float(scale), integer, (a - np.rint(a)) + (b - np.rint(b)) + shift)

    def floors(self, u: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """floor(scale * X + offset) for the prefixes u, and for which of them it is proved."""
        integer, part, slack = self.enclosures(u)
        near = np.rint(part)
        return integer + near.astype(np.int64), (np.abs(part - near) < 0.5 - slack) & (u >= 1 << FIRST_FAST_BIT)

    def enclosures(self, u: NDArray[np.int64]) -> tuple[NDArray[np.int64], Doubles, Doubles]:
        """scale * X + offset - 1/2 = integer + part, within slack, for the prefixes u >= 2^47."""
        # u >> 10 has 53 bits: an exact double, whose leading bits are the cell. Rounding u could carry.
        cell = (u >> 10).astype(np.float64).view(np.int64)
        cell >>= 52 - CELL_BITS
        cell -= FIRST_CELL
        slope = self.table.slope.take(cell, mode="clip")
        y = (self.table.level.take(cell, mode="clip") - u) * slope
        c2, c3, c4 = (c.take(cell, mode="clip") for c in self.table.taylor)
        part = self.part.take(cell, mode="clip") + self.scale * (y * (1 + y * (c2 + y * (c3 + y * c4))))
        slack = 2**-48 + self.scale * (2**-50 + 1.1 * slope)
        return self.integer.take(cell, mode="clip"), part, slack


@cache
def _table(distribution: MagnitudeDistribution) -> _Table:
    """The cells of a distribution, with every bound that the proof above takes from here checked."""
    cell = np.arange(CELLS)
    width = 1 << (FIRST_FAST_BIT - CELL_BITS + (cell >> CELL_BITS))
    low = ((1 << CELL_BITS) + (cell & ((1 << CELL_BITS) - 1))) * width
    centre = np.maximum(np.rint(distribution.approximate_inverse((low + width / 2) * 2.0**-63) * 2**14), 1) * 2.0**-14
    levels, slopes = zip(*(_level_and_slope(distribution, t) for t in centre.tolist()), strict=True)
    level, slope = np.array(levels, dtype=np.int64), np.array(slopes)
    *taylor, c5 = distribution.taylor(centre)
    distance = np.maximum(np.abs((level - low).astype(float)), np.abs((level - low - width).astype(float)))
    y = distance * slope
    if not ((distance < 2**53) & (y < 1.1 * 2**-10) & (1.1 * c5 * y**5 < 2**-51) & (centre <= 12)).all():
        raise NotProved(
            "The noise table breaks a bound that its proof needs. Nothing was drawn; please report this bug."
        )
    return _Table(centre, level, slope, (taylor[0], taylor[1], taylor[2]))


def _level_and_slope(distribution: MagnitudeDistribution, t: float) -> tuple[int, float]:
    """floor(S(t) 2^63), of a number within 2^-20 of it, and 2^-63 / s(t)."""
    level = lazy_uniform.within(lambda: distribution.survival(arb(t)) * 2**63, 2**-20)
    slope = lazy_uniform.within(lambda: 1 / distribution.density(arb(t)), 2**-60)
    return int(level.mid().fmpq().floor()), float(slope) * 2.0**-63


def scale_in_steps(name: str, value: Any) -> Fraction:
    """A scale in grid steps, as the rational it is."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise WrongType(
            f"{name} must be a real number of grid steps. Got {type(value).__name__} instead. "
            "The noise's scale decides the privacy, so nothing is guessed.",
            example={name: 1.5},
        )
    if not math.isfinite(value):
        raise InvalidParameter(
            f"{name} must be finite. Got {value} instead. No such noise exists.", value=value, example={name: 1.5}
        )
    # Never through float(): a long double rounded down would be less noise than was asked for.
    number: Any = value
    top, bottom = (number.numerator, number.denominator) if isinstance(number, Rational) else number.as_integer_ratio()
    scale = Fraction(int(top), int(bottom))
    if scale <= 0:
        raise InvalidParameter(
            f"{name} must be above zero. Got {value} instead. Only noise hides people: raise {name}.",
            parameter=name,
            value=value,
        )
    if scale > MAX_SCALE_STEPS:
        raise OutOfRange(
            f"{name} is more than 2^52 grid steps. Draws that large may not fit 64-bit integers, and a "
            "wrapped one would leak. Use a coarser grid."
        )
    return scale
