"""The least mu whose curve lies below that of another noise: what it costs of a budget that counts mu^2.

A mechanism is mu-GDP if no attack with false-alarm rate alpha misses less often than G_mu(alpha) = Phi(-mu -
Phi^-1(alpha)). With a + b = -mu and alpha = Phi(a), G_mu(alpha) = Phi(b). log Phi is concave, so alpha G_mu(alpha) <=
Phi(-mu/2)^2 =: c^2.

**Laplace.** Attacks on Laplace noise of epsilon have alpha beta = e^-epsilon/4 for alpha in [e^-epsilon/2, 1/2], and
beside that the lines to (0, 1) and to (1, 0). Where c = e^(-epsilon/2)/2, G_mu lies below the middle part. It is
convex, and at the ends of each line it is below it; so it is below the whole line. At alpha = c both touch: no
smaller mu will do.

**On a grid.** The two-sided geometric noise P[k] ~ p^|k|, p = e^(-epsilon/s), of a number that moves by s steps: the
test "at least t" has alpha = p^t/(1 + p) and beta = p^(s + 1 - t)/(1 + p) for t = 1 ... s. So the corners of the
trade-off have alpha beta = p^(s + 1)/(1 + p)^2, and c = e^(-epsilon/2)/(2 cosh(epsilon/(2 s))) serves all of them.
Between corners, and from the outer ones to (0, 1) and (1, 0), it is straight and G_mu convex. (s = 1: 1/(1 +
e^epsilon), epsilon-DP at its worst.)

**Several bins** with noise of scale b grid steps, of which one unit moves each by x_i steps: independent noise adds
up mu^2, so the price is at most the largest sum of mu(x_i/b; x_i)^2. With t = mu/2 and psi(t) = -log Phi(-t), which
is convex, s/(2b) = psi(t) - kappa, kappa = log 2 + log cosh(1/(2b)). (i) mu/s falls in s: (psi(t) - kappa)/t rises in
t, for psi(t) - t psi'(t) <= psi(0) = log 2 <= kappa. So the sum is at most mu(1/b; 1)^2 sum x_i^2. (ii) mu^2/s is
largest at one end of 1 <= s <= cap: t^2/s falls in s while F(t) = 2 (psi(t) - log 2) - t psi'(t) < 2 log
cosh(1/(2b)), and rises afterwards, as F' = h (1 - t (h - t)) >= 0 with h = psi'(t) = phi(t)/Phi(-t), which is at most
t + 1/t. So the sum is at most sum x_i times the larger of mu(1/b; 1)^2 and mu(cap/b; cap)^2/cap.

**Bounded range.** With C = e^epsilon - 1, the trade-off of the profile (e^(epsilon/2) - e^(x/2))^2/C is (1 + C
alpha)(1 + C beta) = e^epsilon. Let S(s) = log(1 + C Phi(-s - mu/2)) + log(1 + C Phi(s - mu/2)); G_mu lies below where
S <= epsilon for all s >= 0. With Phi(-mu/2) = 1/(1 + e^(epsilon/2)), S(0) = epsilon, and S -> epsilon as s grows. The
sign of S' is that of -D, D(s) = 1 + C Phi(s - mu/2) - e^(mu s)(1 + C Phi(-s - mu/2)), since phi(s - mu/2) = e^(mu s)
phi(-s - mu/2). D(0) = 0, and D' e^(-mu s) = 2 C phi(-s - mu/2) - mu (1 + C Phi(-s - mu/2)) falls in s (its derivative
is -2 s C phi(-s - mu/2)) to -mu. So D rises at first, or never, and then falls for good: S falls and then rises, or
rises only. The latter cannot be, as S ends where it began. Hence S <= epsilon. That mu is the one of epsilon/2-DP.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from leastnoise._support.rounding import round_down, round_up
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.calibration.proof import ball

_LARGE = 700  # past this epsilon mu = 2 sqrt(epsilon + small) is taken: Phi(-t) <= e^(-t^2/2)/2


def pure_mu(epsilon: float) -> float:
    """mu = -2 Phi^-1(1/(1 + e^epsilon)), rounded up: the form 2 Phi^-1(e^eps/(1+e^eps)) is inf at epsilon 40.

    Past 700 the simple mu = 2 sqrt(2 epsilon): Phi(-t) <= exp(-t^2/2)/2, so it is always enough.
    """
    if epsilon > 700:
        with proof.precision(128):
            return proof.upward(2 * (2 * arb(epsilon)).sqrt())
    with proof.precision(1200):
        mu = 2 * arb(2).sqrt() * (2 / (1 + arb(epsilon).exp())).erfcinv()
        return max(5e-324, proof.upward(mu))


def laplace_mu(epsilon: Fraction) -> float:
    """mu = -2 Phi^-1(e^(-epsilon/2)/2) of Laplace noise, rounded up."""
    return _mu(epsilon, None)


def geometric_mu(epsilon: Fraction, steps: int) -> float:
    """mu = -2 Phi^-1(e^(-epsilon/2)/(2 cosh(epsilon/(2 steps)))) of the same on a grid, rounded up.

    >>> round(geometric_mu(Fraction(1), 10) ** 2, 4), round(laplace_mu(Fraction(1)) ** 2, 4)
    (1.0655, 1.061)
    """
    return _mu(epsilon, steps)


def bounded_range_mu(epsilon: Fraction) -> float:
    """mu = -2 Phi^-1(1/(1 + e^(epsilon/2))) of losses that lie in an interval of this length, rounded up: that of
    epsilon/2-DP.

    >>> round(bounded_range_mu(Fraction(1)) ** 2, 4)    # of the exponential mechanism; epsilon-DP alone: 1.5179
    0.3892
    """
    return pure_mu(round_up(epsilon / 2))


def laplace_mu_squared(*, l1: Fraction, l2: Fraction, scale: Fraction) -> Fraction:
    """mu^2 of Laplace noise of this scale on whole numbers that one unit moves by at most l1 and l2 together (L1, L2),
    all in steps of the grid; rounded up.

    >>> round(float(laplace_mu_squared(l1=Fraction(5), l2=Fraction(56, 25), scale=Fraction(10))), 3)    # epsilon 0.5
    0.079
    """
    one, each = step_prices(scale, max(1, math.floor(min(l1, l2))))  # no bin moves further
    return min(l2**2 * one, l1 * each)


def step_prices(scale: Fraction, most: int) -> tuple[Fraction, Fraction]:
    """Bounds for a number that moves by s <= `most` steps under noise of this scale: mu^2 <= (first) s^2, and mu^2 <=
    (second) s."""
    one = Fraction(geometric_mu(1 / scale, 1)) ** 2
    return one, max(one, Fraction(geometric_mu(most / scale, most)) ** 2 / most)


def pure_epsilon_within(mu_squared: Fraction) -> float:
    """The largest epsilon whose mu = -2 Phi^-1(1/(1 + e^epsilon)) is within: log(Phi(mu/2)/Phi(-mu/2)), rounded down.

    Past 700 mu is taken as 2 sqrt(2 epsilon), so epsilon is mu^2/8.
    """
    if mu_squared > 5600:
        epsilon = round_down(mu_squared / 8)
    else:
        with proof.precision(1200):
            tail = proof.upper_tail(ball(mu_squared).sqrt() / 2)
            epsilon = min(700.0, proof.downward(((1 - tail) / tail).log()))
    while epsilon > 0 and Fraction(pure_mu(epsilon)) ** 2 > mu_squared:
        epsilon *= 1 - 2.0**-52
    return epsilon


def _mu(epsilon: Fraction, steps: int | None) -> float:
    """Past _LARGE: Phi(-t) = e^(-epsilon/2)/2 needs t^2 <= epsilon, and cosh(x) <= e^x adds epsilon/steps to it."""
    if epsilon > _LARGE:
        whole = epsilon if steps is None else epsilon + epsilon / steps
        with proof.precision(128):
            return proof.upward(2 * ball(whole).sqrt())
    with proof.precision(1400):
        tail = (-ball(epsilon) / 2).exp()  # 2 Phi(-mu/2)
        if steps is not None:
            tail = tail / (ball(epsilon / (2 * steps))).cosh()
        return max(5e-324, proof.upward(2 * arb(2).sqrt() * tail.erfcinv()))
