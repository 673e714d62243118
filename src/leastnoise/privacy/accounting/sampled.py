"""epsilon, delta and the least sigma of many equal steps with Poisson sampling."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from flint import arb

from leastnoise import errors
from leastnoise._support.runtime import user_stacklevel
from leastnoise.privacy.accounting.bracket import (
    DirectedComposition,
    Parts,
    SaddlePoint,
    delta_bracket,
    epsilon_bracket,
)
from leastnoise.privacy.accounting.grids import Tolerance
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.loss_pairs import Direction, SampledGaussianPair

_LOSSES = (1e-4, 2.5e-5)  # of epsilon, in a run of the search for sigma: the second where the first is not enough
CLOSE = 4e-4  # a sigma this much smaller (relatively) is tried, and proved too small where that succeeds


def sigma(epsilon: float, delta: float, sensitivity: float, rate: float, steps: int, accuracy: float) -> float:
    """The least sigma, proved enough; `accuracy` is its own here."""
    if epsilon == 0:
        raise errors.InvalidParameter(
            "With sampling, an epsilon of 0 is not searched for.", parameter="epsilon", example={"epsilon": 1}
        )
    noise, tight = least_noise(epsilon, delta, rate, steps)
    if not tight:
        warnings.warn(
            f"sigma is proved enough; that {CLOSE:g} less is too little could not be proved in reasonable time.",
            errors.Wasteful,
            stacklevel=user_stacklevel(),
        )
    with proof.precision(128):
        return proof.upward(arb(noise) * arb(sensitivity))


def epsilon(sigma: float, delta: float, sensitivity: float, rate: float, steps: int, accuracy: float) -> float:
    """The least epsilon, proved enough."""
    return epsilon_bracket(_steps(sigma, sensitivity, rate, steps), delta, accuracy).upper


def delta(sigma: float, epsilon: float, sensitivity: float, rate: float, steps: int, accuracy: float) -> float:
    """The least delta, proved enough."""
    return delta_bracket(_steps(sigma, sensitivity, rate, steps), epsilon, accuracy).upper


def _steps(sigma: float, sensitivity: float, rate: float, steps: int) -> Parts:
    return [(SampledGaussianPair(Fraction(sigma) / Fraction(sensitivity), Fraction(rate)), steps)]


def least_noise(epsilon: float, delta: float, rate: float, steps: int) -> tuple[float, bool]:
    """The least noise, in sensitivities, that is proved enough in both directions; and whether 4e-4 less is proved too
    little.

    Floats find a start; a few upper bounds, in log sigma against log epsilon, come closer; the last one is the proof.
    """

    def bound(noise: float, loss: float, direction: Direction, *, upper: bool = True) -> float:
        parts = [(SampledGaussianPair(Fraction(noise), Fraction(rate), direction), steps)]

        about, tilt = SaddlePoint([(parts[0][0].oriented("remove"), steps)]).at_delta(delta)  # the worse one, usually
        tolerance = Tolerance(max(about, 1e-9), tilt, delta, loss)
        return DirectedComposition(parts, tolerance).measure(upper=upper).epsilon(delta)

    first = _start(epsilon, delta, rate, steps)
    at_first = bound(first, 5 * _LOSSES[0], "remove")
    slope = -1.2  # of log epsilon against log sigma
    noise = _toward(first, at_first, epsilon, slope)
    reached = bound(noise, _LOSSES[0], "remove")
    if abs(noise / first - 1) > 2e-3 and reached > 0 < at_first:
        slope = min(-0.5, math.log(reached / at_first) / math.log(noise / first))
    noise = _toward(noise, reached, epsilon, slope)
    for loss in _LOSSES:
        noise = _enough(partial(bound, loss=loss), noise, epsilon, slope, margin=0.1 * loss)
        if bound(noise * (1 - CLOSE), loss, "remove", upper=False) > epsilon:
            return noise, True
        noise = _toward(noise, bound(noise, loss / 4, "remove"), epsilon, slope)
    return _enough(partial(bound, loss=_LOSSES[-1]), noise, epsilon, slope, margin=0.1 * _LOSSES[-1]), False


def _enough(bound: Callable[..., float], noise: float, epsilon: float, slope: float, margin: float) -> float:
    """From a noise that is nearly enough to one that is proved so, in both directions."""
    for _ in range(60):
        noise = math.nextafter(noise * (1 + margin), math.inf)
        reached = bound(noise, direction="remove")
        if reached <= epsilon:
            reached = bound(noise, direction="add")
        if reached <= epsilon:
            return noise
        noise = _toward(noise, reached, epsilon, slope)
    raise errors.NotProved("No sigma was proved enough after 60 trials. Ask for another epsilon in its last digit.")


def _toward(noise: float, reached: float, epsilon: float, slope: float) -> float:
    """Where a line through this point, in logarithms, meets epsilon: by a factor of two at most."""
    if reached <= 0:
        return noise / 2
    return noise * min(2.0, max(0.5, math.pow(reached / epsilon, -1 / slope)))


def _start(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """The noise at which the saddle point gives epsilon, nearly."""

    def excess(log_noise: float) -> float:
        pair = SampledGaussianPair(Fraction(math.exp(log_noise)), Fraction(rate))
        return SaddlePoint([(pair, steps)]).at_delta(delta)[0] - epsilon

    guess = math.log(max(0.5, rate * math.sqrt(2 * steps * math.log(1 / delta)) / epsilon))
    low = high = guess
    while excess(low) < 0 and low > guess - 12:
        low -= 0.4
    while excess(high) > 0 and high < guess + 12:
        high += 0.4
    for _ in range(9):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return math.exp((low + high) / 2)
