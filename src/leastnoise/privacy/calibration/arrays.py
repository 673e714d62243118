"""Many numbers at once, in doubles: the same theorem, vectorised, with a margin that covers its own error.

With a = epsilon/mu - mu/2, b = a + mu and Mills' ratio R(t) = Phi(-t)/phi(t) = sqrt(pi/2) erfcx(t/sqrt 2),

    delta = phi(a) (R(a) - R(b)),     1 - delta = phi(a) (R(-a) + R(b)),

in which no exponential of epsilon appears. The difference cancels when mu is small, so there
R(a) - R(b) is the integral of -R'(t) = 1 - t R(t) from a to a + mu, by eight Gauss-Legendre points.

Rounding: the doubles here err by a few units in the last place times the condition number of the
question. The margins below are tens of times what was ever seen against balls; `tests/laws` watches them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, erfinv, ndtri

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.privacy.calibration import proof

Mask = NDArray[np.bool_]

_ULP = 2.0**-53
_SIGMA_MARGIN = 2e-12  # relative; seen at most 4e-15
_EPSILON_MARGIN = 64  # ulps of epsilon and of its wobble; seen at most 3
_DELTA_MARGIN = 256  # ulps of delta; seen at most 20
_DELTA_MARGIN_PER_CONDITION = 32  # ulps of delta times its condition number; seen at most 4
_CHUNK = 16_384  # points that fit the cache
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_ROOT_TWO, _ROOT_HALF_PI, _ROOT_TWO_PI = 2**0.5, (np.pi / 2) ** 0.5, (2 * np.pi) ** 0.5


def sigma(epsilon: Floats, delta: Floats, sensitivity: Floats) -> Floats:
    """Least sigma, rounded up by the margin; inf where it is past the largest double."""

    def chunk(epsilon: Floats, delta: Floats, sensitivity: Floats) -> Floats:
        mu, stuck = _solve_mu(epsilon, delta)
        answer = sensitivity / mu * (1 + _SIGMA_MARGIN)
        # Subnormal quotients have lost digits, and a start that never converged has none: prove those singly.
        single = stuck | (answer < 1e-300) | (mu < 1e-300)
        return _replace(answer, single, proof.sigma, epsilon, delta, sensitivity)

    return _in_chunks(chunk, epsilon, delta, sensitivity)


def epsilon(sigma: Floats, delta: Floats, sensitivity: Floats) -> Floats:
    """Least epsilon, rounded up by the margin; exactly 0 where delta(0, mu) is clearly below delta."""

    def chunk(sigma: Floats, delta: Floats, sensitivity: Floats) -> Floats:
        mu = sensitivity / sigma
        single = (mu < 1e-300) | (mu > 1e150)
        needed = ~single & (_delta(-mu / 2, mu) >= delta)
        answer = np.zeros(mu.shape)
        answer[needed], stuck = _epsilon_of_mu(mu[needed], delta[needed])
        single[needed] = stuck
        return _replace(answer, single, proof.epsilon, sigma, delta, sensitivity)

    return _in_chunks(chunk, sigma, delta, sensitivity)


def _epsilon_of_mu(mu: Floats, delta: Floats) -> tuple[Floats, Mask]:
    """epsilon = mu (a + mu/2) at the root a, rounded up; and which ones did not settle."""
    a, stuck = _solve_a(mu, delta)
    far = mills(a + mu)
    # One ulp of error in delta moves epsilon by delta/(phi(a) R(b)), one ulp in mu by mu/R(b).
    wobble = (mu + np.where(delta > 0.5, mills(-a) + far, _gap(a, mu))) / far
    return mu * (a + mu / 2) * (1 + _EPSILON_MARGIN * _ULP) + _EPSILON_MARGIN * _ULP * wobble, stuck


def delta(sigma: Floats, epsilon: Floats, sensitivity: Floats) -> Floats:
    """delta(epsilon, mu) rounded up by the margin; at least 5e-324, at most 1."""

    def chunk(sigma: Floats, epsilon: Floats, sensitivity: Floats) -> Floats:
        mu = sensitivity / sigma
        single = (mu < 1e-300) | (mu > 1e150)
        mu = np.where(single, 1.0, mu)
        return _replace(_delta(epsilon / mu - mu / 2, mu), single, proof.delta, sigma, epsilon, sensitivity)

    return _in_chunks(chunk, sigma, epsilon, sensitivity)


def mills(t: Floats) -> Floats:
    """R(t) = Phi(-t)/phi(t)."""
    ratio: Floats = erfcx(t / _ROOT_TWO) * _ROOT_HALF_PI
    return ratio


def _gap(a: Floats, mu: Floats) -> Floats:
    """R(a) - R(a + mu)."""
    gap = mills(a) - mills(a + mu)
    small = mu < 0.5
    if small.any():
        start, half = a[small, None], mu[small, None] / 2
        t = start + half * (1 + _NODES)
        gap[small] = half[:, 0] * ((1 - t * mills(t)) @ _WEIGHTS)
    return gap


def _delta(a: Floats, mu: Floats) -> Floats:
    """delta at this a and mu, rounded up by the margin; through 1 - delta where a < -1."""
    most = a < -1.0
    tail = np.exp(-a * a / 2) / _ROOT_TWO_PI
    gap = _gap(np.where(most, 0.0, a), mu)
    few = tail * gap * (1 + _delta_margin(mu / gap))
    near = np.where(most, a, -1.0)
    lack = mills(-near) + mills(near + mu)
    rest = 1 - tail * lack * np.maximum(0.0, 1 - _delta_margin(mu / lack)) + _ULP
    return np.asarray(np.clip(np.where(most, rest, few), proof.SMALLEST_DOUBLE, 1.0))


def _delta_margin(condition: Floats) -> Floats:
    """The relative margin. The condition number of delta in mu (and in the ulp of b that a carries) is
    mu phi(a)/delta = mu/gap."""
    return _ULP * (_DELTA_MARGIN + _DELTA_MARGIN_PER_CONDITION * condition)


def _solve_mu(epsilon: Floats, delta: Floats) -> tuple[Floats, Mask]:
    """The mu with delta(epsilon, mu) = delta, by Halley's method on log delta against log mu.

    The start is the larger of two lower bounds: that of epsilon = 0, erf(mu/sqrt 8) = delta, and that of
    the classical condition Phi(-a) = delta.
    """
    tail, root = -ndtri(delta), np.sqrt(2) * np.sqrt(epsilon)
    slant = np.hypot(tail, root)
    below = np.where(tail > 0, root * (root / np.maximum(tail + slant, proof.SMALLEST_DOUBLE)), slant - tail)
    start = np.maximum(np.sqrt(8) * erfinv(delta), below)

    def probe(mu: Floats, epsilon: Floats, delta: Floats) -> tuple[Floats, Floats, Floats]:
        a = epsilon / mu - mu / 2
        residual, slope = _log_residual(a, mu, delta, mu)
        return residual, slope, 1 + a * (a + mu) - slope

    def move(mu: Floats, step: Floats) -> Floats:
        return mu * np.exp(step)

    def middle(low: Floats, high: Floats) -> Floats:
        return np.where(np.isinf(high), 2 * low, np.sqrt(low) * np.sqrt(high))

    return _halley(probe, move, middle, start, (start * (1 - 1e-9), np.full_like(start, np.inf)), epsilon, delta)


def _solve_a(mu: Floats, delta: Floats) -> tuple[Floats, Mask]:
    """The a >= -mu/2 with delta = phi(a) (R(a) - R(a + mu)), by Halley's method on log delta against a.

    delta < Phi(-a) gives the upper end of the bracket, and the start.
    """
    start = np.maximum(-ndtri(delta), -mu / 2)

    def probe(a: Floats, mu: Floats, delta: Floats) -> tuple[Floats, Floats, Floats]:
        far = mills(a + mu)
        residual, slope = _log_residual(a, mu, delta, -mu * far)
        return residual, slope, mu - 1 / far - slope

    def move(a: Floats, step: Floats) -> Floats:
        return a + step

    def middle(low: Floats, high: Floats) -> Floats:
        return (low + high) / 2

    return _halley(probe, move, middle, start, (-mu / 2, start + 1e-9 * (1 + np.abs(start))), mu, delta)


def _log_residual(a: Floats, mu: Floats, delta: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """log P(a) - log P, and its slope, for P = delta, or 1 - delta when delta > 1/2 (so P is never near 1)."""
    far = delta > 0.5
    weight = np.where(far, mills(np.where(far, -a, 0.0)) + mills(a + mu), 0.0)
    if not far.all():
        weight[~far] = _gap(a[~far], mu[~far])
    goal = np.where(far, 1 - delta, delta)
    # log(phi(a) weight / goal), shifted where phi(a) would be subnormal.
    shift = np.where(goal < 1e-280, 200.0, 0.0)
    ratio = np.exp(shift * np.log(2) - a * a / 2) * weight / _ROOT_TWO_PI / (goal * 2.0**shift)
    return np.log(ratio), np.where(far, -1.0, 1.0) * rate / weight


def _halley(
    probe: Callable[..., tuple[Floats, Floats, Floats]],
    move: Callable[[Floats, Floats], Floats],
    middle: Callable[[Floats, Floats], Floats],
    start: Floats,
    bracket: tuple[Floats, Floats],
    *given: Floats,
) -> tuple[Floats, Mask]:
    """The roots of a monotone function of x by Halley's method, kept inside a bracket that only shrinks.

    `probe(x, *given)` is the residual f, its slope f' and f''/f'. A step that leaves the bracket is
    replaced by its middle, so every root is reached; what 100 rounds have not settled is reported stuck.
    """
    root, todo = start.copy(), np.arange(start.size)
    low, high = bracket
    x = start
    for _ in range(100):
        residual, slope, bend = probe(x, *given)
        newton = -residual / slope
        above = newton < 0  # the root lies below x
        low, high = np.where(above, low, np.maximum(low, x)), np.where(above, np.minimum(high, x), high)
        step = newton / np.maximum(1 + newton * bend / 2, 0.25)
        new = move(x, step)
        new = np.where((new >= low) & (new <= high), new, middle(low, high))
        root[todo] = new
        open_ = ~(np.abs(newton) < 1e-9)  # cubic: a step of 1e-9 leaves nothing to do; NaN stays open
        if not open_.any():
            return root, np.zeros(root.shape, dtype=bool)
        todo, x, low, high = todo[open_], new[open_], low[open_], high[open_]
        given = tuple(array[open_] for array in given)
    stuck = np.zeros(root.shape, dtype=bool)
    stuck[todo] = True
    return root, stuck


def _in_chunks(function: Callable[..., Floats], *arrays: Floats) -> Floats:
    """`function` over flat chunks that fit the cache, back at the arrays' shape."""
    flat = [array.ravel() for array in arrays]
    answer = np.empty(flat[0].size)
    # Overflow to inf, underflow to 0 and NaN from them are all handled after the fact.
    with np.errstate(all="ignore"):
        for begin in range(0, answer.size, _CHUNK):
            part = slice(begin, begin + _CHUNK)
            answer[part] = function(*(array[part] for array in flat))
    return answer.reshape(arrays[0].shape)


def _replace(answer: Floats, single: Mask, proved: Callable[..., float], *given: Floats) -> Floats:
    """The answers, with the marked ones proved one by one (inf where the proof finds them out of range)."""
    for i in np.flatnonzero(single | np.isnan(answer)):
        try:
            answer[i] = proved(*(float(array[i]) for array in given))
        except errors.OutOfRange:
            answer[i] = np.inf
    return answer
