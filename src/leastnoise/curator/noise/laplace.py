"""The two-sided geometric, Laplace noise on a grid: P(K = k) ~ exp(-|k| / scale), scale in grid steps.

With a = exp(-1 / scale), P(|K| >= k) = 2 a^k / (1 + a) for k >= 1. For P uniform and X = -log P, exponential,

    P < 2 a^k / (1 + a)   <=>   scale X + scale log(2 / (1 + a)) > k

so |K| = floor(scale X + offset) with offset = scale log(2 / (1 + a)), between 0 and 1/2, and the sign is a
fair coin (for K = 0 it does not matter). `inverse_cdf`'s Taylor series: X = t - log(1 - y) = t + y + y^2/2 + ...
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from leastnoise.curator.noise import inverse_cdf
from leastnoise.curator.noise.inverse_cdf import Doubles, MagnitudeDistribution


def _taylor_coefficients(t: Doubles) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    one = np.ones_like(t)
    return one / 2, one / 3, one / 4, one / 5


EXPONENTIAL = MagnitudeDistribution(
    survival=lambda t: (-t).exp(),
    density=lambda t: (-t).exp(),
    inverse=lambda p: -p.log(),
    offset=lambda scale: scale * (arb(2).log() - (-1 / scale).exp().log1p()),
    approximate_inverse=lambda p: -np.log(p),
    taylor=_taylor_coefficients,
)


def two_sided_geometric(scale: Fraction | float, size: int) -> NDArray[np.int64]:
    """`size` exact draws with P(k) proportional to exp(-|k| / scale); scale is the exact rational given."""
    return inverse_cdf.draw(EXPONENTIAL, inverse_cdf.scale_in_steps("scale", scale), size)
