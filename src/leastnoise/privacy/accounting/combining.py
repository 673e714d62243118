"""The product of measures of different kinds of releases, whose grids differ."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from flint import fmpz

from leastnoise.privacy.accounting.composing import Tolerance
from leastnoise.privacy.accounting.discretisation import regrid
from leastnoise.privacy.accounting.loss_measure import LossMeasure

_DENSE = 64  # a measure of fewer masses may have gaps between them


def together(first: LossMeasure, second: LossMeasure, tolerance: Tolerance) -> LossMeasure:
    """The measure of both. Where neither step is a multiple of the other's, the measure with more masses is put on a
    part of the other one's step: merging costs a lower measure little only where masses lie close together."""
    if len(first.masses) == 1:
        return replace(first, step=second.step) * second
    if len(second.masses) == 1:
        return first * replace(second, step=first.step)
    wide, narrow = (first, second) if first.step >= second.step else (second, first)
    if (wide.step / narrow.step).denominator == 1:
        return refined(wide, narrow.step) * narrow
    sparse, dense = sorted((first, second), key=lambda measure: len(measure.masses))
    fine = dense.step
    if len(dense.masses) < _DENSE:  # isolated losses move down by up to a step in a lower measure
        fine = min(fine, Fraction(tolerance.accuracy * tolerance.epsilon / 4))
    common = sparse.step / math.ceil(sparse.step / fine)
    return refined(sparse, common) * regrid(dense, common)


def refined(measure: LossMeasure, step: Fraction) -> LossMeasure:
    """The same measure on a grid so many times finer."""
    ratio = int(measure.step / step)
    masses = [fmpz(0)] * ((len(measure.masses) - 1) * ratio + 1)
    masses[::ratio] = measure.masses
    return replace(measure, step=step, masses=masses)
