"""The product of measures of different kinds of releases, whose grids differ."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from flint import fmpz

from leastnoise.privacy.accounting.composing import Tolerance
from leastnoise.privacy.accounting.discretisation import regrid
from leastnoise.privacy.accounting.loss_measure import LossMeasure
from leastnoise.privacy.accounting.nodes import check_length

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
