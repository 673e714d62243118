"""Counts of keys that nobody listed, given that they show: the mean of what each can have been.

A key shows when its noisy count y reaches T, so what shows is too high on average. The law of that is known. With f the
probability of the noise, and keys whose sizes c = 1, 2, ... follow a power law,

    P(c | y, shown)  =  c^-s f(y - c) / sum over c' of c'^-s f(y - c'),

because y itself says that it shows. The exponent s is fitted to all keys that show, whose likelihood has the chance to
show below it:

    max over s of  sum_y log sum_c c^-s f(y - c)  -  n log sum_c c^-s P(shown | c).

Far above T nearly nothing changes (y is drawn down by about s variance/y); near it what chose the key is taken back.
That sizes follow a power law is believed, not known: intervals do not use it, and no error is told.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.privacy.distributions import Distribution, Gaussian
from leastnoise.releases.estimate import POWER_LAW, Estimate, RiskEstimate
from leastnoise.releases.noise import Noise

EXPONENTS = (1.05, 6.0)  # of sizes: c^-s with a finite sum, and hardly more than ones
REACH = {"gaussian": 9.0, "laplace": 40.0}  # scales beyond which noise is not looked for


def shown_counts(values: Floats, noise: Noise, at_least: int) -> Estimate:
    """The posterior mean of every count that shows.

    values: the noisy counts, all at or above the threshold. noise: their noise, on whole numbers.
    at_least: the threshold.
    """
    y = np.asarray(values, dtype=np.float64)
    places, where = np.unique(y, return_inverse=True)
    seen = [_seen(one, noise) for one in places]
    exponent = _fitted(seen, np.bincount(where), noise, at_least) if y.size else EXPONENTS[0]
    means = np.array([_mean(y, *one, exponent) for y, one in zip(places, seen, strict=True)])
    return Estimate(
        values=means[where] if y.size else y,
        noisy=y,
        noise=noise,
        method=POWER_LAW,
        parameters={"exponent": exponent, "threshold": at_least},
        estimate_risk=lambda: RiskEstimate(None, None),
        nonnegative=True,
    )


def _fitted(seen: list[tuple[Floats, Floats]], times: NDArray[np.intp], noise: Noise, at_least: int) -> float:
    from scipy.optimize import minimize_scalar  # half a second to import

    below = np.arange(1.0, at_least + REACH[noise.mechanism] * noise.scale + 2)
    shows = noise.distribution.at_or_above(at_least - below)

    def loss(s: float) -> float:
        found = [math.log(float(chance @ sizes**-s)) for sizes, chance in seen]
        last = below[-1] + 0.5
        shown = float(shows @ below**-s) + last ** (1 - s) / (s - 1)  # beyond, all show
        return -float(times @ np.array(found)) + float(times.sum()) * math.log(shown)

    return float(minimize_scalar(loss, bounds=EXPONENTS, method="bounded").x)


def _mean(y: float, sizes: Floats, chance: Floats, exponent: float) -> float:
    weight = chance * (sizes / max(y, 1.0)) ** -exponent
    return float(weight @ sizes / weight.sum())


def _seen(y: float, noise: Noise) -> tuple[Floats, Floats]:
    """The sizes that y can be of, and how likely it is of each."""
    reach = math.ceil(REACH[noise.mechanism] * noise.scale) + 1
    sizes = np.arange(max(1.0, y - reach), y + reach + 1)
    return sizes, _chance(y - sizes, noise.distribution)


def _chance(off: Floats, law: Distribution) -> Floats:
    """P(noise = off) on whole numbers: of a large one the difference of two tails on its own side."""
    size = np.abs(off)
    if isinstance(law, Gaussian):
        return np.asarray(law.at_or_above(size) - law.at_or_above(size + 1))
    step = 1 / law.width
    return np.asarray(math.tanh(step / 2) * np.exp(-size * step))
