"""One mu in plain doubles, in microseconds and without SciPy: a proposal that `proof` may trust in nothing.

With a = epsilon/mu - mu/2 and b = a + mu, delta = phi(a) (R(a) - R(b)), R being Mills' ratio; see `arrays`, which does
the same for many numbers at once with margins of its own.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_ROOT_TWO, _ROOT_HALF_PI, _LOG_ROOT_TWO_PI = math.sqrt(2), math.sqrt(math.pi / 2), math.log(2 * math.pi) / 2
_NORMAL = NormalDist()
_FAR = 20.0  # past this the asymptotic series of R has the smaller error
_NARROW = 0.1  # below this mu the difference R(a) - R(b) cancels, and is an integral instead
_NODES = ((-0.7745966692414834, 5 / 9), (0.0, 8 / 9), (0.7745966692414834, 5 / 9))  # Gauss and Legendre's, on [-1, 1]


def approximate_mu(epsilon: float, delta: float) -> float:
    """The mu with delta(epsilon, mu) = delta to about ten digits, by Halley's method; NaN where it does not settle.

    The start is the larger of two lower bounds of mu: delta <= mu/sqrt(2 pi), and delta <= Phi(-a).
    """
    try:
        tail, twice = -_NORMAL.inv_cdf(delta), 2 * epsilon
        slant = math.sqrt(tail * tail + twice)
        classical = twice / (tail + slant) if tail > 0 else slant - tail
        mu, goal = max(classical, 2 * _ROOT_HALF_PI * delta), math.log(delta)
        for _ in range(30):
            a = epsilon / mu - mu / 2
            weight = _gap(a, mu)
            slope = mu / weight  # of log delta against log mu
            newton = (goal + a * a / 2 + _LOG_ROOT_TWO_PI - math.log(weight)) / slope
            step = newton / (1 + newton * (1 + a * (a + mu) - slope) / 2)
            mu *= math.exp(step)
            if abs(step) < 1e-5:  # the error is cubed at every step
                return mu
    except (ArithmeticError, ValueError):
        pass
    return math.nan


def _gap(a: float, mu: float) -> float:
    """R(a) - R(a + mu), by the integral of -R'(t) = 1 - t R(t) where mu is small."""
    if mu > _NARROW:
        return _mills(a) - _mills(a + mu)
    half = mu / 2
    return half * sum(weight * _fall(a + half * (1 + node)) for node, weight in _NODES)


def _fall(t: float) -> float:
    """-R'(t) = 1 - t R(t)."""
    if t < _FAR:
        return 1 - t * _mills(t)
    inverse = 1 / (t * t)
    return inverse * (1 - inverse * (3 - inverse * (15 - inverse * (105 - inverse * (945 - inverse * 10395)))))


def _mills(t: float) -> float:
    """R(t) = Phi(-t)/phi(t)."""
    if t < _FAR:
        return math.erfc(t / _ROOT_TWO) * math.exp(t * t / 2) * _ROOT_HALF_PI
    return (1 - _fall(t)) / t
