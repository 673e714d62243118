"""One number, proved: sigma, epsilon and delta in rigorous ball arithmetic (python-flint's `arb`).

A ball is a midpoint and a radius that certainly contains the true value. `x <= y` on balls is true only
when it holds for every pair of points in them, so a comparison that comes out true is a proof.

Newton's method proposes a double; nothing about it needs to be trusted. The proposal is returned only
after the balls have proved that it is enough, and that it would not be enough if it were 1e-12 smaller.
Where 8192 bits cannot decide, nothing is returned. A sigma is first sought near one that plain doubles
propose (`proposal`): one evaluation there proves it, and that the double below is not enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from fractions import Fraction
from statistics import NormalDist
from typing import Any, TypeVar

from flint import arb, ctx, fmpq, fmpz

from leastnoise import errors
from leastnoise._support.rounding import next_down, next_up
from leastnoise.privacy.calibration.proposal import approximate_mu

RealBall = Any  # flint ships no types
T = TypeVar("T")

_PRECISIONS = (128, 256, 512, 1024, 2048, 4096, 8192)
SMALLEST_DOUBLE = 5e-324  # the smallest positive double
_ENOUGH_BITS = 72  # beyond what cancels: a double has 53, and erfc takes half the time that it takes at 128
_SLACK = 1e-12  # an answer this much smaller (relatively) is proved not to be enough


def sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """The smallest double that is proved to satisfy Theorem 8 (or a neighbour, 1e-12 apart at most)."""
    near = _sigma_from_guess(epsilon, delta, sensitivity)
    return _sigma_by_search(epsilon, delta, sensitivity) if near is None else near


def _sigma_from_guess(epsilon: float, delta: float, sensitivity: float) -> float | None:
    """The smallest double that satisfies Theorem 8, where one ball near it decides; None: ask `_sigma_by_search`.

    d delta / d mu = phi(a). So by the mean value theorem the level at another mu is the level at this one plus the
    distance times phi(a) at some a between, and a ball over all of these bounds it. The other mu, those of a double and
    of the one below it, are within 1e-10 of this one, so that the ball is as narrow as an evaluation of its own would
    be, and two erfc are saved for each.
    """
    guess = approximate_mu(epsilon, delta)
    start = sensitivity / guess if guess > 0 else 0.0
    if not 1e-290 < start < 1e290:
        return None
    cancelled = _cancelled(epsilon, guess)
    for bits in (math.ceil(cancelled) + _ENOUGH_BITS, *_precisions(cancelled)[:1]):
        with precision(bits):
            candidate = _least_near(start, epsilon, delta, sensitivity)
        if candidate is not None:
            return candidate
    return None


def _least_near(start: float, epsilon: float, delta: float, sensitivity: float) -> float | None:
    """The smallest double near `start` that satisfies Theorem 8, where the precision in force decides."""
    eps, moved = arb(epsilon), arb(sensitivity)
    mu = moved / arb(start)
    level = profile(eps, mu)
    candidate = upward((moved / (mu - (level - delta) / density(eps / mu - mu / 2))).mid())
    least, above = moved / arb(candidate), moved / arb(next_down(candidate))
    between = mu.union(least).union(above)
    slope = density(eps / between - between / 2)

    def enough(other: RealBall) -> bool | None:
        return _at_most(level + slope * (other - mu), delta)

    return candidate if enough(least) and enough(above) is False else None


def _sigma_by_search(epsilon: float, delta: float, sensitivity: float) -> float:
    """The same by Newton's method in balls, at any precision."""

    def propose() -> RealBall:
        return arb(sensitivity) / _solve_mu(epsilon, delta)

    def enough(candidate: float) -> bool | None:
        return _at_most(profile(arb(epsilon), arb(sensitivity) / arb(candidate)), delta)

    return _least("sigma", propose, enough, _cancelled(epsilon, float(_mu_below(epsilon, delta))))


def epsilon(sigma: float, delta: float, sensitivity: float) -> float:
    """The smallest double that is proved to satisfy Theorem 8 at this sigma and delta."""

    def mu() -> RealBall:
        return arb(sensitivity) / arb(sigma)

    def enough(candidate: float) -> bool | None:
        return _at_most(profile(arb(candidate), mu()), delta)

    cancelled = _cancelled(0.0, _ratio(sensitivity, sigma))
    if _decide("epsilon", lambda: enough(0.0), cancelled):
        return 0.0
    return _least("epsilon", lambda: _solve_epsilon(mu(), delta), enough, cancelled)


def delta(sigma: float, epsilon: float, sensitivity: float) -> float:
    """The smallest double above delta(epsilon, mu); at least 5e-324, at most 1."""

    def bound() -> float | None:
        ball = profile(arb(epsilon), arb(sensitivity) / arb(sigma))
        settled = ball.rel_accuracy_bits() >= 60 or ball < SMALLEST_DOUBLE
        return min(1.0, max(SMALLEST_DOUBLE, upward(ball))) if settled else None

    return _decide("delta", bound, _cancelled(epsilon, _ratio(sensitivity, sigma)))


def mu(epsilon: float, delta: float) -> Fraction:
    """The largest mu that satisfies Theorem 8, rounded down to 100 bits: proved, for a budget's limit.

    Not a double: sigma(epsilon, delta, s) is rounded up by far more than 2^-99, so what it costs, (s/sigma)^2, is
    within mu^2 for every sensitivity s.
    """

    def attempt() -> Fraction | None:
        root = _solve_mu(epsilon, delta)
        if root.rel_accuracy_bits() < 55:
            return None
        mantissa, exponent = (int(part) for part in root.man_exp())
        drop = max(0, mantissa.bit_length() - 100)
        mantissa, exponent = (mantissa >> drop) - 1, exponent + drop
        enough = _at_most(profile(arb(epsilon), arb(fmpz(mantissa)) * arb(2) ** exponent), delta)
        return Fraction(mantissa) * Fraction(2) ** exponent if enough else None

    return _decide("mu", attempt, _cancelled(epsilon, float(_mu_below(epsilon, delta))) + 28)


def profile(epsilon: RealBall, mu: RealBall) -> RealBall:
    """Theorem 8: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), without e^epsilon.

    With a = epsilon/mu - mu/2 and b = a + mu, b^2 - a^2 = 2 epsilon, so e^epsilon phi(b) = phi(a) and
    the second term is phi(a) R(b), R(t) = Phi(-t)/phi(t) being Mills' ratio.
    """
    a = epsilon / mu - mu / 2
    return upper_tail(a) - density(a) * mills(a + mu)


def density(t: RealBall) -> RealBall:
    """phi(t), the standard normal density."""
    return (-t * t / 2).exp() / (2 * arb.pi()).sqrt()


def upper_tail(t: RealBall) -> RealBall:
    """Phi(-t)."""
    return (t / arb(2).sqrt()).erfc() / 2


def mills(t: RealBall) -> RealBall:
    """R(t) = Phi(-t)/phi(t); past 40 by Tricomi's U(1/2, 1/2, t^2/2)/sqrt 2, in which nothing underflows."""
    if t > 40:
        half = arb(1) / 2
        return (t * t / 2).hypgeom_u(half, half) / arb(2).sqrt()
    return upper_tail(t) / density(t)


def ball(value: Fraction) -> RealBall:
    """An exact number as a ball at the working precision."""
    return arb(fmpq(value.numerator, value.denominator))


def upward(ball: RealBall) -> float:
    """The smallest double that is not below any point of the ball (inf past the double range)."""
    top = ball.upper()
    double = float(top)
    while arb(double) < top:
        double = next_up(double)
    return double


def downward(ball: RealBall) -> float:
    """The largest double that is not above any point of the ball."""
    return -upward(-ball)


def too_large(name: str) -> str:
    """The sentence for an answer that is no double."""
    return (
        f"The least {name} for these numbers is larger than the largest double (1.8e308), so it cannot be "
        "returned. Measure the data in larger units (a smaller sensitivity), or allow more epsilon or delta."
    )


def precision(bits: int) -> AbstractContextManager[None]:
    """Work at this many bits here only: flint's precision is global state."""
    return ctx.workprec(bits)


def _at_most(ball: RealBall, bound: float) -> bool | None:
    if ball <= bound:
        return True
    return False if ball > bound else None


def _decide(name: str, attempt: Callable[[], T | None], cancelled: float = 0.0) -> T:
    """The first answer that is not None as the precision rises; closed failure past the cap."""
    for bits in _precisions(cancelled):
        with precision(bits):
            answer = attempt()
        if answer is not None:
            return answer
    raise errors.NotProved(
        f"{_PRECISIONS[-1]} bits of rigorous arithmetic could not decide this {name}, so none is returned. "
        "Change one of the numbers in its last digit; please report the ones that did this."
    )


def _precisions(cancelled: float) -> list[int]:
    """The precisions that may be enough, where the subtractions lose about this many bits."""
    return [bits for bits in _PRECISIONS if bits >= cancelled + 100]


def _least(
    name: str, propose: Callable[[], RealBall], enough: Callable[[float], bool | None], cancelled: float
) -> float:
    """The proposal rounded up to a double, proved enough, and proved not enough when 1e-12 smaller."""

    def attempt() -> float | None:
        proposal = propose()
        if proposal.rel_accuracy_bits() < 55:
            return None
        candidate = upward(proposal.mid())
        for _ in range(4):
            if math.isinf(candidate):
                raise errors.OutOfRange(too_large(name))
            verdict = enough(candidate)
            if verdict is None:
                return None
            if verdict:
                return candidate if tight(candidate) else None
            candidate = next_up(candidate)
        return None

    def tight(candidate: float) -> bool:
        # Among the subnormals doubles are further apart than 1e-12: the neighbour below is the test there.
        smaller = min(candidate * (1 - _SLACK), next_down(candidate))
        return smaller == 0.0 or enough(smaller) is False

    return _decide(name, attempt, cancelled)


def _tail_point(delta: float) -> float:
    """The t with Phi(-t) = delta, nearly: for starts only."""
    return -NormalDist().inv_cdf(delta)


def _cancelled(epsilon: float, mu: float) -> float:
    """About how many bits a = epsilon/mu - mu/2 and Phi(-a) - phi(a) R(a + mu) lose to cancellation."""
    return max(0.0, -math.log2(mu)) + max(0.0, math.log2(epsilon / mu + mu))


def _ratio(sensitivity: float, sigma: float) -> float:
    """mu as a double inside the double range, for guesses only."""
    return min(max(sensitivity / sigma, 1e-300), 1e300) if sigma > sensitivity * 1e-300 else 1e300


def _mu_below(epsilon: float, delta: float) -> RealBall:
    """A start for Newton at or just below the root: the larger of two lower bounds of mu.

    delta(epsilon, mu) <= delta(0, mu) <= mu/sqrt(2 pi), and delta(epsilon, mu) <= P[loss >= epsilon]
    = Phi(-a), which is the classical sufficient condition. In balls, because a = epsilon/mu - mu/2 must
    come out near -Phi^-1(delta), however large epsilon is.
    """
    tail, twice = arb(_tail_point(delta)), 2 * arb(epsilon)
    slope = (tail * tail + twice).sqrt()
    classical = twice / (tail + slope) if tail > 0 else slope - tail
    return classical.max(arb(delta) * (2 * arb.pi()).sqrt()).mid()


def _solve_mu(epsilon: float, delta: float) -> RealBall:
    """The mu with delta(epsilon, mu) = delta, by Halley's method on log delta against log mu.

    d delta / d mu = phi(a), so with P = delta or 1 - delta and s = +-mu phi(a)/P the slope of log P
    against log mu, its derivative is s (1 + a b - s).
    """
    eps = arb(epsilon)

    def improve(mu: RealBall) -> RealBall:
        a = eps / mu - mu / 2
        residual, slope = _log_residual(a, a + mu, delta, mu)
        newton = -residual / slope
        bend = 1 + a * (a + mu) - slope
        return mu * (newton / (1 + newton * bend / 2)).exp()

    return _root(improve, _mu_below(epsilon, delta), low=arb(0), high=None)


def _solve_epsilon(mu: RealBall, delta: float) -> RealBall:
    """The epsilon with delta(epsilon, mu) = delta, by Halley's method on log delta against epsilon/mu.

    With x = epsilon/mu = a + mu/2, d delta / d x = -mu phi(a) R(b). With s the slope of log P against x,
    its derivative is s (mu - 1/R(b) - s). Phi(-a) > delta bounds the root from above: the start.
    """

    def improve(x: RealBall) -> RealBall:
        a, b = x - mu / 2, x + mu / 2
        ratio = mills(b)
        residual, slope = _log_residual(a, b, delta, -mu * ratio)
        newton = -residual / slope
        bend = mu - 1 / ratio - slope
        return x + newton / (1 + newton * bend / 2)

    start = (mu / 2 + _tail_point(delta)).mid()
    return mu * _root(improve, start, low=arb(0), high=start + 1)


def _log_residual(a: RealBall, b: RealBall, delta: float, rate: RealBall) -> tuple[RealBall, RealBall]:
    """log P(a) - log P, and its slope, for P = delta, or 1 - delta when delta > 1/2 (so P is never near 1)."""
    other = density(a) * mills(b)
    if delta <= 0.5:
        now, goal, sign = upper_tail(a) - other, arb(delta), 1
    else:
        now, goal, sign = upper_tail(-a) + other, 1 - arb(delta), -1
    return (now / goal).log(), sign * rate * density(a) / now


def _root(improve: Callable[[RealBall], RealBall], start: RealBall, low: RealBall, high: RealBall | None) -> RealBall:
    """The fixed point of `improve` to 70 bits, or a wide ball when the precision runs out.

    A step up puts the root above x, a step down below it; a step out of the bracket so far is replaced by
    the bracket's middle. Midpoints suffice: nothing here is part of the proof.
    """
    x = start
    for _ in range(200):
        new = improve(x).mid()
        low, high = (x, high) if new > x else (low, x)
        if not (new > low and (high is None or new < high)) and new != x:
            new = 2 * x if high is None else ((low + high) / 2).mid()
        if abs(new - x) < new * arb(2) ** -70:
            return new
        x = new
    return arb(0, 1)
