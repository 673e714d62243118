"""A measure on a grid so many times coarser that goes through any given loss, in one pass of whole numbers.

As in `discretisation`, each coarse cell has a mass m and a mean of r, here sum m_i e^-(l_i - l)/m relative to its lower
end l; the weights e^-(l_i - l) repeat in every cell. The mean is taken too small for an upper measure, where mass is
moved up, too large where it stays, and too large everywhere for a lower one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from flint import arb, fmpz

from leastnoise.privacy.accounting.discretisation import merge
from leastnoise.privacy.accounting.loss_measure import Integer, LossMeasure, ball, ceiling, floor
from leastnoise.privacy.calibration import proof

_BITS = 128
_ONE = fmpz(1) << _BITS


def onto_coarser(measure: LossMeasure, through: Fraction, ratio: int) -> LossMeasure:
    """The finite masses on the losses through + k ratio step."""
    shift = (measure.start - through) / measure.step
    ahead = math.floor(shift)
    first_cell, inner = divmod(ahead, ratio)
    masses = [fmpz(0)] * inner + list(measure.masses)
    masses += [fmpz(0)] * (-len(masses) % ratio)
    with proof.precision(2 * _BITS):
        weights = [floor((-ball((k + shift - ahead) * measure.step)).exp() * _ONE) for k in range(ratio)]
        width = ball(ratio * measure.step)
        opening = ceiling(arb(_ONE) / -(-width).expm1())  # 1/(1 - e^-width), rounded up
        growth = ceiling(width.exp() * _ONE)
    columns = [masses[k::ratio] for k in range(ratio)]
    mass = [sum(cell, fmpz(0)) for cell in zip(*columns, strict=True)]
    scaled = [fmpz(0)] * len(mass)
    for weight, column in zip(weights, columns, strict=True):
        scaled = [total + weight * one for total, one in zip(scaled, column, strict=True)]
    placed = _spread(mass, scaled, opening) if measure.upper else _merged(mass, scaled, growth, -first_cell)
    start = through + first_cell * ratio * measure.step
    return replace(measure, start=start, step=ratio * measure.step, masses=placed, infinite=fmpz(0))


def _spread(mass: list[Integer], scaled: list[Integer], opening: Integer) -> list[Integer]:
    """Of m, (m - n)/(1 - e^-width) goes up, with n the sum with weights rounded down, and opening, at least 1/(1 -
    e^-width): rounded up. What stays is m less that with both roundings the other way: a ball that contains a whole
    number is rounded by more than 1 and less than 2 units of 2^-128."""
    placed = [fmpz(0)] * (len(mass) + 1)
    for k, (whole, n) in enumerate(zip(mass, scaled, strict=True)):
        if whole:
            most = whole * _ONE - n
            up = min(whole, -((-most * opening) >> 2 * _BITS))
            least = (max(fmpz(0), most - 2 * whole) * (opening - 2)) >> 2 * _BITS
            placed[k] += whole - max(fmpz(0), least)
            placed[k + 1] += up
    return placed


def _merged(mass: list[Integer], scaled: list[Integer], growth: Integer, middle: int) -> list[Integer]:
    to_lower, to_upper = [], []
    for whole, n in zip(mass, scaled, strict=True):
        mean = -(-(n + 2 * whole) // whole) if whole else _ONE  # rounded up, the weights too
        to_lower.append(max(fmpz(0), _ONE - mean))
        to_upper.append(max(fmpz(0), -((-mean * growth) >> _BITS) - _ONE) if whole else fmpz(0))
    return merge(mass, to_lower, to_upper, middle if 0 <= middle <= len(mass) else None)
