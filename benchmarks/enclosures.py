"""How near the doubles' errors come to the bounds claimed for them: the ratio must stay below 1.

python benchmarks/enclosures.py [points]        # 1,000,000 points take some 40 seconds a law
"""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq

from leastnoise.curator.noise import inverse_cdf
from leastnoise.curator.noise.gaussian import ABSOLUTE_NORMAL
from leastnoise.curator.noise.laplace import EXPONENTIAL


def worst_ratio(
    law: inverse_cdf.MagnitudeDistribution, scale: Fraction, points: int, rng: np.random.Generator
) -> float:
    """The largest |error| / slack over prefixes spread evenly over the octaves, each at one of its ends."""
    octave = rng.integers(inverse_cdf.FIRST_FAST_BIT, 63, points)
    u = (np.int64(1) << octave) + (rng.random(points) * 2.0**octave).astype(np.int64)
    whole, part, slack = inverse_cdf._Enclosures.of(law, scale).enclosures(u)
    worst = 0.0
    with ctx.workprec(160):
        for v, w, p, s in zip(u.tolist(), whole.tolist(), part.tolist(), slack.tolist(), strict=True):
            exact = inverse_cdf.exact_magnitude(law, scale, arb(fmpq(v + (v & 1), 2**63)))
            worst = max(worst, float(abs(exact - fmpq(1, 2) - w - arb(p)) / s))
    return worst


def main(points: int) -> None:
    rng = np.random.default_rng(1)
    for name, law in (("gaussian", ABSOLUTE_NORMAL), ("exponential", EXPONENTIAL)):
        for scale in (Fraction(1, 3), Fraction(2**20), Fraction(2**40, 3), Fraction(2**52)):
            ratio = worst_ratio(law, scale, points // 4, rng)
            print(f"{name:12} scale {float(scale):10.3g}  worst |error| / bound {ratio:.3f}", flush=True)
            assert ratio < 1


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
