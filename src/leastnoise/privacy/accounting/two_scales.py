"""Powers of a measure whose tail is long and thin: a fine grid where its mass is, a coarse one for the tail.

Sampled at a tiny rate, nearly every loss is nearly nothing, and a large one needs the unit to be drawn. Early squarings
then have hundreds of thousands of masses on a grid fine enough for the many small losses. With F the part on the fine
grid and C the rest, on one 2^g times coarser,

    (F + C)(F' + C') = F F' + C (C' + F'_c) + F_c C',

F_c being F on the coarse grid. Both sides are sums of measures, and profiles add; so what is upper (or lower) in each
place is upper (or lower) in all.

A lower measure can merge only onto losses amid its mass, and F is narrower than a coarse cell at first. So the coarse
grid of F_c goes through a loss where merging leaves no remainder (`balanced_place`), and C, which is smooth on that
scale, is moved to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import fmpz

from leastnoise._support.validation import Floats
from leastnoise.privacy.accounting.composing import SHORT, Tolerance, coarsen, trim
from leastnoise.privacy.accounting.loss_measure import LossMeasure
from leastnoise.privacy.accounting.regridding import onto_coarser

_FINER = 7  # g at first
_OUTSIDE = 0.0005  # the tilted mass beyond each end of the fine grid, times 4^g
_SMOOTH = 2.0  # standard deviations in coarse cells from which on any place will do


@dataclass(frozen=True, slots=True)
class TwoScales:
    """fine + coarse, on a grid 2^finer times coarser; all mass at infinity is held by `fine`."""

    fine: LossMeasure
    coarse: LossMeasure | None
    finer: int

    @classmethod
    def of(cls, measure: LossMeasure, finer: int, tilt: float) -> TwoScales:
        """The measure, divided where its tilted mass ends."""
        fine, rest = _divided(measure, finer, tilt, None)
        return cls(fine, rest, finer)

    def __mul__(self, other: TwoScales) -> tuple[LossMeasure, LossMeasure | None]:
        """The product of the fine parts, and all that a coarse part is in."""
        tails = [fmpz(0) if part is None else part.finite for part in (self.coarse, other.coarse)]
        whole = other.fine.finite + tails[1] + other.fine.infinite
        infinite = self.fine.infinite * whole + other.fine.infinite * (self.fine.finite + tails[0])
        inner = replace(self.fine, infinite=fmpz(0)) * replace(other.fine, infinite=fmpz(0))
        inner = replace(inner, infinite=self.fine.rescaled(infinite))
        rest = None
        if self.coarse is not None:
            side = _sum(other.fine_as_coarse(), other.coarse)
            rest = self.coarse * side
        if other.coarse is not None:
            other_rest = self.fine_as_coarse() * other.coarse
            rest = other_rest if rest is None else _sum(rest, other_rest)
        return inner, rest

    def times(self, other: TwoScales, tilt: float) -> TwoScales:
        """Of both together; their grids have the same steps."""
        inner, rest = self * other
        return TwoScales(*_divided(inner, self.finer, tilt, rest), self.finer)

    def fine_as_coarse(self) -> LossMeasure:
        """F_c."""
        if self.fine.upper and self.coarse is not None:
            return onto_coarser(self.fine, self.coarse.start, 2**self.finer)
        return onto_coarser(self.fine, balanced_place(self.fine, 2**self.finer), 2**self.finer)

    def coarsened(self) -> TwoScales:
        """On a fine grid of twice the step; where that is the coarse one's, in one measure."""
        if self.finer == 1 and self.coarse is not None:
            whole = _sum(self.fine_as_coarse(), self.coarse)
            return TwoScales(replace(whole, infinite=self.fine.infinite), None, 0)
        return replace(self, fine=coarsen(self.fine), finer=max(0, self.finer - 1))

    def whole(self) -> LossMeasure:
        """In one measure, on the coarse grid."""
        together = self
        while together.finer:
            together = together.coarsened()
        return together.fine

    def trimmed(self, right: float, left: float) -> TwoScales:
        """Without the ends of the tail."""
        if self.coarse is None:
            return replace(self, fine=trim(self.fine, right, left))
        rest = trim(self.coarse, right, left)
        if rest.start > self.fine.start:  # what lies left of `fine` must not move past it
            rest = trim(self.coarse, right, 0.0)
        fine = replace(self.fine, infinite=self.fine.infinite + rest.infinite)
        return replace(self, fine=fine, coarse=replace(rest, infinite=fmpz(0)))


def power_on_two_scales(measure: LossMeasure, times: int, copies: int, tolerance: Tolerance) -> LossMeasure:
    """`composing.power` of a measure with a long thin tail."""
    levels = times.bit_length()
    share = 0.5 / (levels / 2 + 1)

    def shortened(long: TwoScales, held: int) -> TwoScales:
        left = max(1.0, copies / held)
        long = long.trimmed(*tolerance.tails(left, 2 * levels))
        while len(long.fine.masses) > SHORT and tolerance.may_coarsen(float(long.fine.step), left, share):
            long = long.coarsened()
        return long

    square = shortened(TwoScales.of(measure, _FINER, tolerance.tilt), 1)
    result, held, in_result = None, 1, 0
    for bit in reversed(f"{times:b}"):
        if bit == "1":
            in_result += held
            result = square if result is None else shortened(_product(result, square, tolerance.tilt), in_result)
        if 2 * held <= times:
            square, held = shortened(square.times(square, tolerance.tilt), 2 * held), 2 * held
    assert result is not None
    return result.whole()


def balanced_place(measure: LossMeasure, ratio: int) -> Fraction:
    """A loss such that a lower measure on a grid through it, `ratio` times coarser, leaves no remainder there."""
    masses = np.array([float(mass) for mass in measure.masses])
    middle = int(masses.argmax())
    spots = np.arange(len(masses)) - middle
    total = masses.sum()
    spread = math.sqrt((masses * spots**2).sum() / total - ((masses * spots).sum() / total) ** 2)
    if measure.upper or spread > _SMOOTH * ratio or len(masses) < 2:
        return measure.position(middle)
    step = float(measure.step)

    def remainder(place: float) -> float:
        return _remainder(masses, (spots - place) / ratio, step * ratio)

    tried = np.linspace(-0.75, 0.75, 25) * ratio
    left_over = [remainder(place) for place in tried]
    crossings = [i for i in range(24) if left_over[i] > 0 >= left_over[i + 1]]
    if not crossings:
        return measure.position(middle) + _rational(tried[int(np.abs(left_over).argmin())]) * measure.step
    best = min(crossings, key=lambda i: left_over[i] - left_over[i + 1])
    low, high = tried[best], tried[best + 1]
    for _ in range(20):
        half = (low + high) / 2
        low, high = (half, high) if remainder(half) > 0 else (low, half)
    return measure.position(middle) + _rational(low) * measure.step


def _remainder(masses: Floats, places: Floats, width: float) -> float:
    """What comes down to place 0 less what must be balanced there (`discretisation.merge`, in floats)."""
    cells = np.floor(places)
    first = int(cells[0])
    index = (cells - first).astype(np.int64)
    mass = np.bincount(index, masses)
    filled = np.where(mass > 0, mass, 1.0)
    mean = np.bincount(index, masses * np.exp(-width * (places - cells))) / filled
    depths = np.maximum(1 - mean, 1e-18).tolist()
    gaps = np.maximum(mean * math.exp(width) - 1, 1e-18).tolist()
    whole, middle = mass.tolist(), min(max(0, -first), len(mass))
    rising = gap = falling = depth = 0.0
    for j in range(middle):
        rising, gap = whole[j] - min(rising * gap / depths[j], whole[j]), gaps[j]
    for j in range(len(whole) - 1, middle - 1, -1):
        falling, depth = whole[j] - min(falling * depth / gaps[j], whole[j]), depths[j]
    return falling * depth - rising * gap


def _rational(value: float) -> Fraction:
    return Fraction(round(value * 2**20), 2**20)


def _product(first: TwoScales, second: TwoScales, tilt: float) -> TwoScales:
    """Of two whose fine steps may differ by a power of two."""
    step = max(first.fine.step, second.fine.step)
    while first.fine.step < step:
        first = first.coarsened()
    while second.fine.step < step:
        second = second.coarsened()
    return first.times(second, tilt)


def _divided(
    measure: LossMeasure, finer: int, tilt: float, rest: LossMeasure | None
) -> tuple[LossMeasure, LossMeasure | None]:
    """The part that holds all tilted mass but a little; what lies outside is added to the rest, on the coarse grid."""
    if not finer:
        return measure, rest
    masses = np.array([float(mass) for mass in measure.masses]) + 1e-300
    logs = np.log(masses) + tilt * float(measure.step) * np.arange(len(masses))
    weights = np.exp(logs - logs.max()).cumsum()
    outside = _OUTSIDE / 4.0**finer * weights[-1]
    first = max(0, int(weights.searchsorted(outside)) - 1)
    last = min(len(masses), int(weights.searchsorted(weights[-1] - outside)) + 1)
    fine = replace(measure, start=measure.position(first), masses=measure.masses[first:last])
    for low, high in ((last, len(masses)), (0, first)):
        if low < high:
            through = measure.position(low) if rest is None else rest.start
            tail = replace(measure, start=measure.position(low), masses=measure.masses[low:high])
            coarse = onto_coarser(tail, through, 2**finer)
            rest = coarse if rest is None else _sum(rest, coarse)
    return fine, rest


def _sum(first: LossMeasure, second: LossMeasure | None) -> LossMeasure:
    """Of two measures of one step, the second moved to the losses of the first."""
    if second is None:
        return first
    ahead = (second.start - first.start) / first.step
    if ahead.denominator != 1:
        return _sum(first, onto_coarser(second, first.start, 1))
    if ahead < 0:
        return _sum(second, first)
    offset = int(ahead)
    masses = list(first.masses) + [fmpz(0)] * max(0, offset + len(second.masses) - len(first.masses))
    for index, mass in enumerate(second.masses, offset):
        masses[index] += mass
    return replace(first, masses=masses)
