"""Algorithm 1 of Balle & Wang (2018) as printed, in plain doubles: to read, and to compare with.

Theorem 9 says that it is right, and in exact arithmetic it is (the proof is in docs/research/theory.md). In doubles,
use `leastnoise.sigma` instead. Algorithm 1 rounds to nearest, so about half of its answers are a little too small. They
are within 1e-7 of the truth for epsilon from 1e-5 to 600 and delta of 1e-20 and more. Outside:

    epsilon = 0            divides by zero
    epsilon > 709          e^epsilon overflows (from 600 on Phi may underflow: sigma is up to 0.2 % too large)
    epsilon below 1e-5     two differences cancel. Where delta is large it is sqrt(1 + v/2) - sqrt(v/2): at
                           epsilon = 1e-18, delta = 0.1 the answer is 0, no noise at all, 100 % too small. Where delta
                           is small it is that of the two probabilities: at (1e-20, 1e-15) it is 4 % too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import ndtr

from leastnoise._support import validation
from leastnoise._support.validation import Number


def algorithm_1(*, epsilon: Number, delta: Number, sensitivity: Number = 1.0) -> float:
    """sigma = alpha sensitivity / sqrt(2 epsilon), with alpha from the branch that delta_0 selects.

    epsilon: above 0; the head of this module says where doubles fail. delta: between 0 and 1. sensitivity: how far one
    person can move the answer (L2).

    >>> round(algorithm_1(epsilon=1, delta=1e-6, sensitivity=5), 9)
    21.123394447
    """
    epsilon, delta = validation.number("epsilon", epsilon), validation.number("delta", delta)
    sensitivity = validation.number("sensitivity", sensitivity)
    if delta >= delta_0(epsilon):
        v = _crossing(lambda v: b_plus(epsilon, v), delta, rising=True)
        alpha = math.sqrt(1 + v / 2) - math.sqrt(v / 2)
    else:
        u = _crossing(lambda u: b_minus(epsilon, u), delta, rising=False)
        alpha = math.sqrt(1 + u / 2) + math.sqrt(u / 2)
    return alpha * sensitivity / math.sqrt(2 * epsilon)


def delta_0(epsilon: float) -> float:
    """delta at alpha = 1, i.e. at sigma = sensitivity/sqrt(2 epsilon): Phi(0) - e^epsilon Phi(-sqrt(2 epsilon))."""
    return 0.5 - math.exp(epsilon) * float(ndtr(-math.sqrt(2 * epsilon)))


def b_plus(epsilon: float, v: float) -> float:
    """B+(v) = Phi(sqrt(epsilon v)) - e^epsilon Phi(-sqrt(epsilon (v + 2))), increasing in v."""
    return float(ndtr(math.sqrt(epsilon * v)) - math.exp(epsilon) * ndtr(-math.sqrt(epsilon * (v + 2))))


def b_minus(epsilon: float, u: float) -> float:
    """B-(u) = Phi(-sqrt(epsilon u)) - e^epsilon Phi(-sqrt(epsilon (u + 2))), decreasing in u."""
    return float(ndtr(-math.sqrt(epsilon * u)) - math.exp(epsilon) * ndtr(-math.sqrt(epsilon * (u + 2))))


def _crossing(function: Callable[[float], float], delta: float, *, rising: bool) -> float:
    """Where a monotone function of [0, inf) crosses delta: doubling, then bisection, ending on the safe side."""

    def safe(x: float) -> bool:
        return function(x) <= delta

    high = 1.0
    while safe(high) == rising:
        high *= 2
    low = 0.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if safe(middle) == rising else (low, middle)
    return low if rising else high
