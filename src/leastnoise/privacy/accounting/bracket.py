"""Both bounds of a composition: measures above and below every pair, multiplied, and read off.

The neighbours are the same in all releases, so each direction is composed by itself, and the larger of both numbers is
what is promised. A lower bound needs one direction only: the worse one.

About where the answer lies, a saddle point tells in floats: epsilon to some per cent, and the tilt. No proof depends on
it. With K(t) = sum n_i log E e^(t L_i), the saddle point of delta(epsilon) is the t with K'(t) = epsilon, and there
log delta = K - t K' - log(1 + t) - log(1 + 2 pi t^2 K'')/2, nearly, which is solved for t.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.privacy.accounting.composing import power, shorten, together
from leastnoise.privacy.accounting.grids import LARGEST_TILT, Tolerance, discretised, regrid
from leastnoise.privacy.accounting.loss_measure import LossMeasure
from leastnoise.privacy.loss_pairs import Direction, FloatGrid, LossPair, SampledGaussianPair

_TILTS = (1e-4, LARGEST_TILT)


class SaddlePoint:
    """Of a composition, in one direction."""

    def __init__(self, parts: Sequence[tuple[LossPair, int]]) -> None:
        self.parts: list[tuple[FloatGrid, int]] = [(pair.float_grid(), times) for pair, times in parts]

    def at_delta(self, delta: float) -> tuple[float, float]:
        """(epsilon, tilt) at which delta is about this."""
        return self._solve(lambda tilt: self._log_delta(tilt)[0] > math.log(delta))

    def at_epsilon(self, epsilon: float) -> tuple[float, float]:
        """(log delta, tilt) at which epsilon is about this."""
        reached, tilt = self._solve(lambda tilt: self._log_delta(tilt)[1] < epsilon)
        possible = reached >= 0.9 * epsilon or tilt < _TILTS[1] / 2  # else no losses add up to so much
        return (self._log_delta(tilt)[0], tilt) if possible else (-math.inf, 1.0)

    def _solve(self, before: Callable[[float], bool]) -> tuple[float, float]:
        low, high = (math.log(edge) for edge in _TILTS)
        for _ in range(16):
            middle = (low + high) / 2
            low, high = (middle, high) if before(math.exp(middle)) else (low, middle)
        tilt = math.exp(low)
        return self._log_delta(tilt)[1], tilt

    def _log_delta(self, tilt: float) -> tuple[float, float]:
        value = slope = bend = 0.0
        for (losses, logs), times in self.parts:
            exponents = logs + tilt * losses
            top = exponents.max()
            weights = np.exp(exponents - top)
            total = weights.sum()
            mean = (weights * losses).sum() / total
            value += times * (top + math.log(total))
            slope += times * mean
            with np.errstate(over="ignore", invalid="ignore"):  # losses beyond 1e154
                bend += times * (weights * (losses - mean) ** 2).sum() / total
        spread = 0.5 * math.log1p(2 * math.pi * bend * tilt * tilt)
        return value - tilt * slope - math.log1p(tilt) - spread, slope


Parts = Sequence[tuple[LossPair, int]]  # each kind of release, and how many of it

_FIRST_TRY = 0.45  # the part of the accuracy that each side is allowed at first
_RARE = Fraction(1, 1000)  # a sampling rate below which errors of second order are not all
_TRIES = 6
_PATIENCE = 3.0  # seconds of processor that a try may take and be followed by a finer one
_HARDLY = 1e-3  # of the worse direction's delta, below which a direction does not decide
_MANY = 4  # different steps from which on all parts are put on one grid first


@dataclass(frozen=True, slots=True)
class Bracket:
    """`upper` is proved enough; `lower` is proved too small, or as small as it can be."""

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """How far the upper one may be from the truth, relatively."""
        return 1 - self.lower / self.upper if self.upper > 0 else 0.0


def epsilon_bracket(parts: Parts, delta: float, accuracy: float) -> Bracket:
    """epsilon at this delta."""

    def tolerance(saddle: SaddlePoint, loss: float) -> Tolerance:
        epsilon, tilt = saddle.at_delta(delta)
        return Tolerance(max(epsilon, 1e-9), tilt, delta, loss)

    return _refined(parts, accuracy, tolerance, lambda measure: measure.epsilon(delta))


def delta_bracket(parts: Parts, epsilon: float, accuracy: float) -> Bracket:
    """delta at this epsilon: its relative error is about tilt times the error of epsilon."""

    def tolerance(saddle: SaddlePoint, loss: float) -> Tolerance:
        log_delta, tilt = saddle.at_epsilon(epsilon)
        tilt = min(tilt, 1000.0)  # past all losses but the largest there is no end to it
        about = max(epsilon, 1e-3)
        return Tolerance(about, tilt, math.exp(max(log_delta, -300.0)), loss / max(1.0, (1 + tilt) * about))

    return _refined(parts, accuracy, tolerance, lambda measure: measure.delta(epsilon))


def check_accuracy(value: Number) -> float:
    """How far the upper bound may be above the truth, relatively."""
    accuracy = validation.number("accuracy", value)
    if not 1e-6 <= accuracy <= 0.5:
        raise errors.InvalidParameter.must(
            "accuracy",
            "lie between 1e-6 and 0.5",
            value,
            "It is how far the answer may be above the least one, relatively.",
            example={"accuracy": 1e-3},
        )
    return accuracy


def _refined(
    parts: Parts,
    accuracy: float,
    tolerance: Callable[[SaddlePoint, float], Tolerance],
    read: Callable[[LossMeasure], float],
) -> Bracket:
    """The bracket, made narrower until its gap is within the accuracy (or no longer worth the time)."""
    rare = any(_is_rare(pair) for pair, _ in parts)
    loss, best = (_FIRST_TRY / 2 if rare else _FIRST_TRY) * accuracy, Bracket(0.0, math.inf)
    for _ in range(_TRIES):
        begun = time.process_time()
        found = _once(parts, lambda saddle, loss=loss: tolerance(saddle, loss), read)  # type: ignore[misc]
        best = Bracket(max(best.lower, found.lower), min(best.upper, found.upper))
        if best.gap <= accuracy:
            break
        loss *= min(0.5, 0.7 * accuracy / best.gap)
        if best.gap == 1 or time.process_time() - begun > _PATIENCE:
            break
    return best


def _once(parts: Parts, tolerance: Callable[[SaddlePoint], Tolerance], read: Callable[[LossMeasure], float]) -> Bracket:
    oriented = [[(pair.oriented(way), times) for pair, times in parts] for way in directions(parts)]
    found = [tolerance(SaddlePoint(one)) for one in oriented]
    worse = max([one for one in found if one.is_inner] or found, key=lambda one: (one.delta, one.epsilon))
    ways = [DirectedComposition(one, _decisive(own, worse)) for one, own in zip(oriented, found, strict=True)]
    uppers = [read(way.measure(upper=True)) for way in ways]
    upper = max(uppers)
    below = ways[uppers.index(upper)].measure(upper=False)
    return Bracket(min(upper, read(below)), upper)


def _decisive(own: Tolerance, worse: Tolerance) -> Tolerance:
    """Each direction has its own tilt: which one is worse, the saddle point cannot tell where epsilon is small. But a
    direction that hardly counts, or has no loss so large and so no saddle point, takes the worse one's."""
    counts = own.is_inner and own.delta >= _HARDLY * worse.delta
    return replace(own, delta=worse.delta) if counts else worse


def directions(parts: Parts) -> tuple[Direction, ...]:
    """Both, unless all pairs look the same in both."""
    return ("remove",) if all(pair.symmetric for pair, _ in parts) else ("remove", "add")


class DirectedComposition:
    """A composition in one direction, discretised; `measure` multiplies."""

    def __init__(self, parts: Parts, tolerance: Tolerance, *, bits: int | None = None) -> None:
        self.parts, self.tolerance = parts, tolerance
        self.copies = sum(times for _, times in parts)
        # 64 bits more than the smallest mass that matters: rounding then costs less than 2^-64 of a copy's share
        enough = 32 * math.ceil((64 + math.log2(self.copies) - math.log2(self.tolerance.delta)) / 32)
        self.bits = enough if bits is None else bits
        self.step = self._step()
        self.discretised = [discretised(pair, self.step, self.bits, self.copies, tolerance) for pair, _ in parts]

    def measure(self, *, upper: bool) -> LossMeasure:
        """The measure of all parts, above or below."""
        measures = [
            power(made(upper=upper), times, self.copies, self.tolerance)
            for made, (_, times) in zip(self.discretised, self.parts, strict=True)
        ]
        measures.sort(key=lambda measure: measure.step, reverse=True)
        if len({measure.step for measure in measures if len(measure.masses) > 1}) > _MANY:
            measures = [measure if len(measure.masses) == 1 else self._on_own_grid(measure) for measure in measures]
        cuts = 4 * len(measures)

        def joined(first: LossMeasure, second: LossMeasure) -> LossMeasure:
            return shorten(together(first, second, self.tolerance), 1.0, cuts, 0.05, self.tolerance)

        return reduce(joined, measures)

    def _on_own_grid(self, measure: LossMeasure) -> LossMeasure:
        """On the common step: a regrid of each part, in place of one of the growing product for each."""
        return measure if measure.step == self.step else regrid(measure, self.step)

    def _step(self) -> Fraction:
        """About what the tolerance allows; a power of two of them make the widest spacing, whose losses stay nodes.

        Losses closer than a step ask for no finer one: they are put on the grid of the others (`together`)."""
        step = Fraction(_short(self.tolerance.first_step(self.copies)))
        spacings = [(pair.spacing, times) for pair, times in self.parts if pair.spacing]
        widths = [(times * width**2, width) for width, times in spacings if width >= step]
        if not widths:
            return step
        width = max(widths)[1]
        return width / Fraction(2) ** max(4, math.ceil(math.log2(width / step)))


def _is_rare(pair: LossPair) -> bool:
    return isinstance(pair, SampledGaussianPair) and pair.rate < _RARE


def _short(value: float) -> float:
    """Rounded down to 12 bits, so that its exact value stays short."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.floor(mantissa * 2**12) / 2**12, exponent)
