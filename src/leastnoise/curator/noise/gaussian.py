"""The rounded Gaussian: K = round(sigma Z), Z standard normal, sigma in grid steps.

    P(K = k) = Phi((k + 1/2) / sigma) - Phi((k - 1/2) / sigma)

|K| = floor(sigma X + 1/2) for X = |Z|, whose survival function is S(t) = erfc(t / sqrt 2). A tie, sigma Z
exactly between two integers, has probability zero.

For `inverse_cdf`'s Taylor series: s' = -X s, so the n-th derivative of X in y is f_n(X) (s(t) / s(X))^n with
f_1 = 1 and f_(n+1) = f_n' + n X f_n, that is 1, X, 2 X^2 + 1, 6 X^3 + 7 X, 24 X^4 + 46 X^2 + 7.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy.special import ndtri

from leastnoise._support import validation
from leastnoise.curator.noise import entropy, inverse_cdf, lazy_uniform
from leastnoise.curator.noise.inverse_cdf import Doubles, MagnitudeDistribution
from leastnoise.errors import InvalidParameter, WrongType


def _taylor_coefficients(t: Doubles) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    return t / 2, (2 * t**2 + 1) / 6, (6 * t**3 + 7 * t) / 24, (24 * t**4 + 46 * t**2 + 7) / 120


ABSOLUTE_NORMAL = MagnitudeDistribution(
    survival=lambda t: (t / arb(2).sqrt()).erfc(),
    density=lambda t: (-t * t / 2).exp() * (2 / arb.pi()).sqrt(),
    inverse=lambda p: arb(2).sqrt() * p.erfcinv(),
    offset=lambda sigma: arb(0.5),
    approximate_inverse=lambda p: -ndtri(p / 2),
    taylor=_taylor_coefficients,
)


def rounded_gaussian(sigma: Fraction | float, size: int) -> NDArray[np.int64]:
    """`size` exact draws of round(sigma Z); sigma is in grid steps, and means the exact rational it is."""
    return inverse_cdf.draw(ABSOLUTE_NORMAL, inverse_cdf.scale_in_steps("sigma", sigma), size)


def tail_gaussian(sigma: Fraction | float, at_least: int, size: int) -> NDArray[np.int64]:
    """`size` exact draws of round(sigma Z) given |round(sigma Z)| >= at_least, signs and all.

    Given X >= x its survival function is S / S(x), so X = S^-1(S(x) P). In balls: some 50 us a draw.
    """
    scale = inverse_cdf.scale_in_steps("sigma", sigma)
    least = threshold(at_least, scale)
    if least == 0:
        return inverse_cdf.draw(ABSOLUTE_NORMAL, scale, size)

    def value(p: arb) -> arb:
        return inverse_cdf.exact_magnitude(ABSOLUTE_NORMAL, scale, survival(scale, least) * p)

    word = entropy.words(validation.integer("size", size, least=0)).tolist()
    # A prefix's ball may reach beyond P = 1, where |K| would be least - 1: that cannot be, hence the clamp.
    draws = [
        lazy_uniform.decide_floor(lazy_uniform.Uniform(w >> 1, 63), value, least=least) * (1 - 2 * (w & 1))
        for w in word
    ]
    return np.array(draws, dtype=np.int64)


def survival(scale: Fraction, at_least: int) -> arb:
    """P(|round(scale Z)| >= at_least) in the present precision, for at_least >= 1."""
    return ABSOLUTE_NORMAL.survival((arb(at_least) - 0.5) / lazy_uniform.ball(scale))


def threshold(at_least: Any, scale: Fraction) -> int:
    """`at_least` as a threshold on |K|: zero where it excludes nothing."""
    if isinstance(at_least, bool) or not isinstance(at_least, (int, np.integer)):
        raise WrongType(
            f"at_least must be an integer number of grid steps. Got {type(at_least).__name__} instead. "
            "The noise is a whole number, so between two of them a threshold is ambiguous: round it up."
        )
    if at_least > 2**62 or at_least > 2**90 * scale:
        raise InvalidParameter(
            "at_least is beyond 2^62 or 2^90 sigma. No noise of this scale ever gets there, so nothing but "
            "true counts would be published: lower at_least."
        )
    return max(int(at_least), 0)
