"""Products of loss measures: of many equal ones, that stay short, and of different ones, whose grids differ.

Tails are cut and the grid made coarser as the losses spread.

Every step keeps an upper measure upper and a lower one lower (`loss_measure`), so none of the numbers that steer it
needs to be right: they come from floats, and decide how tight the answer is, never whether it holds.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from flint import arb, fmpz

from leastnoise.privacy.accounting.grids import GAP, Tolerance, check_length, merge, regrid
from leastnoise.privacy.accounting.loss_measure import Integer, LossMeasure, ceiling, floor
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.calibration.proof import ball

_WEIGHT_BITS = 96  # of the weights in which a mass is split
SHORT = 64  # a measure of fewer masses is not made coarser


def trim(measure: LossMeasure, right: float, left: float) -> LossMeasure:
    """Without tails of at most these masses. Upper: the right one goes to infinity, the left one up to the first loss
    that is kept. Lower: the right one goes down to the last loss that is kept, the left one is dropped."""
    masses = measure.masses
    first, last = 0, len(masses)
    above, cap = fmpz(0), _whole(right, measure.bits)
    while last > 1 and above + masses[last - 1] <= cap:
        last -= 1
        above += masses[last]
    below, cap = fmpz(0), _whole(left, measure.bits)
    while first < last - 1 and below + masses[first] <= cap:
        below += masses[first]
        first += 1
    kept, infinite = masses[first:last], measure.infinite
    if measure.upper:
        kept[0], infinite = kept[0] + below, infinite + above
    else:
        kept[-1] = kept[-1] + above
    return replace(measure, start=measure.position(first), masses=kept, infinite=infinite)


def coarsen(measure: LossMeasure, keep: int | None = None) -> LossMeasure:
    """The measure on every second loss: those of even index (keep = 0), of odd index (keep = 1), or those with the
    largest mass among them, which costs a lower measure least.

    What lies between two losses that are kept, a step h from each, goes to both: with r = 1 there and e^h, e^-h at the
    ends, the shares 1/(1 + e^h) below and e^h/(1 + e^h) above keep the mean of r. An upper measure rounds both up.
    """
    masses, start = list(measure.masses), measure.start
    if keep is None:
        keep = max(range(len(masses)), key=masses.__getitem__) % 2
    if keep:
        masses, start = [fmpz(0), *masses], start - measure.step
    if len(masses) % 2 == 0:
        masses.append(fmpz(0))
    even, odd = masses[0::2], masses[1::2]
    if odd:
        even = _split_up(even, odd, measure) if measure.upper else _merge_down(even, odd, measure)
    return replace(measure, start=start, step=2 * measure.step, masses=even)


def _split_up(even: list[Integer], odd: list[Integer], measure: LossMeasure) -> list[Integer]:
    with proof.precision(2 * _WEIGHT_BITS):
        unit, growth = arb(2) ** _WEIGHT_BITS, ball(measure.step).exp()
        down, up = ceiling(unit / (1 + growth)), ceiling(unit * growth / (1 + growth))
    lower = [measure.rescaled(mass * down, _WEIGHT_BITS) for mass in odd]
    upper = [measure.rescaled(mass * up, _WEIGHT_BITS) for mass in odd]
    return [a + b + c for a, b, c in zip(even, [*lower, 0], [0, *upper], strict=True)]


def _merge_down(even: list[Integer], odd: list[Integer], measure: LossMeasure) -> list[Integer]:
    """A lower measure: each odd mass is a cell between two even losses, all at r = 1 there, so with e^-h and e^h at its
    ends (`grids.merge`)."""
    with proof.precision(2 * _WEIGHT_BITS):
        growth = ball(measure.step).exp()
        to_lower, to_upper = floor((1 - 1 / growth) * GAP), ceiling((growth - 1) * GAP)
    merged = merge(odd, [to_lower] * len(odd), [to_upper] * len(odd), None)
    return [a + b for a, b in zip(even, merged, strict=True)]


def power(measure: LossMeasure, times: int, copies: int, tolerance: Tolerance) -> LossMeasure:
    """The measure of `times` equal releases, of `copies` in the whole composition, by repeated squaring."""
    levels = times.bit_length()
    share = 0.5 / (levels / 2 + 1)

    def shortened(long: LossMeasure, held: int) -> LossMeasure:
        left = max(1.0, copies / held)
        return shorten(long, left, 2 * levels, share, tolerance)

    result, square, held, in_result = None, shortened(measure, 1), 1, 0
    for bit in reversed(f"{times:b}"):
        if bit == "1":
            in_result += held
            result = square if result is None else shortened(product(result, square), in_result)
        if 2 * held <= times:
            square, held = shortened(square * square, 2 * held), 2 * held
    assert result is not None
    return result


def shorten(measure: LossMeasure, copies: float, cuts: int, share: float, tolerance: Tolerance) -> LossMeasure:
    """Cut the tails, and double the step as often as the tolerance allows."""
    measure = trim(measure, *tolerance.tails(copies, cuts))
    while len(measure.masses) > SHORT and tolerance.may_coarsen(float(measure.step), copies, share):
        measure = coarsen(measure)
    return measure


def product(first: LossMeasure, second: LossMeasure) -> LossMeasure:
    """Of two measures whose steps differ by a power of two."""
    while first.step < second.step:
        first = coarsen(first)
    while second.step < first.step:
        second = coarsen(second)
    return first * second


def _whole(mass: float, bits: int) -> Integer:
    return fmpz(math.floor(Fraction(mass) * 2**bits))


_DENSE = 64  # a measure of fewer masses may have gaps between them
_SMALL = 1 / 16  # a step of this part of what epsilon may lose: mass that moves by one hardly counts
_REGRIDDED = 0.25  # the part of what epsilon may lose that one regrid may cost
_MANY = 300_000  # masses that a product may have for a step so small


def together(first: LossMeasure, second: LossMeasure, tolerance: Tolerance) -> LossMeasure:
    """The measure of both. Where neither step is a multiple of the other's, the measure with more masses is put on a
    part of the other one's step: merging costs a lower measure little only where masses lie close together.

    A step far below what epsilon may lose is made as large as that allows first, or losses of 8 and of 1e-6 would need
    millions of masses: no mass moves further than one such step."""
    if len(first.masses) == 1:
        return replace(first, step=second.step) * second
    if len(second.masses) == 1:
        return first * replace(second, step=first.step)
    wide, narrow = (first, second) if first.step >= second.step else (second, first)
    small = Fraction(tolerance.accuracy * tolerance.epsilon * _SMALL)
    if narrow.step < min(small, wide.step):
        common = wide.step / max(1, math.ceil(wide.step / small))
        return refined(wide, common) * regrid(narrow, common)
    if (wide.step / narrow.step).denominator == 1:
        return refined(wide, narrow.step) * narrow
    sparse, dense = sorted((first, second), key=lambda measure: len(measure.masses))
    common = sparse.step / math.ceil(sparse.step / _step_for(dense, sparse, tolerance))
    return refined(sparse, common) * regrid(dense, common)


def _step_for(dense: LossMeasure, sparse: LossMeasure, tolerance: Tolerance) -> Fraction:
    """The step on which this measure is put: its own, where that is so small that moving by one hardly counts.

    Else a far smaller one, on which its losses are isolated, and move down by up to a step in a lower measure.
    """
    if len(dense.masses) >= _DENSE and tolerance.may_coarsen(float(dense.step), 1.0, _REGRIDDED):
        return dense.step
    small = Fraction(tolerance.accuracy * tolerance.epsilon * _REGRIDDED)
    width = sum((len(measure.masses) * measure.step for measure in (dense, sparse)), Fraction(0))
    return min(dense.step, max(small, width / _MANY))


def refined(measure: LossMeasure, step: Fraction) -> LossMeasure:
    """The same measure on a grid so many times finer."""
    ratio = int(measure.step / step)
    check_length((len(measure.masses) - 1) * ratio)
    masses = [fmpz(0)] * ((len(measure.masses) - 1) * ratio + 1)
    masses[::ratio] = measure.masses
    return replace(measure, step=step, masses=masses)
