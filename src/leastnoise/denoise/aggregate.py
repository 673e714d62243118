"""Aggregate, do not select: the convex mixture of several estimates whose unbiased risk is least.

    min over weights a >= 0, sum a = 1:   ||y - sum_k a_k h_k||^2 + 2 sigma^2 sum_k a_k df_k

Divergence is linear, so this is Stein's risk of the mixture; choosing one estimate would throw away what the others
know, and chooses wrongly when noise is large. But a risk is an estimate: the difference of two has a standard error of

    2 sigma^2 sqrt(||h_k - h_0||^2 / sigma^2 + |df_k - df_0|)

in sum over the bins (second-order Stein, Bellec & Zhang 2021, with |df_k - df_0| for the trace of the squared
difference of the derivatives, which it is for nested projections), and a mixture of many candidates fits some of the
noise. So there are two gates.

**Against the raw values.** A candidate takes part only if it beats them by `MIN_LEAD` standard errors (James-Stein need
not: under Gaussian noise it is never worse in expectation, and under Laplace noise no truth was seen where it is). If
even the mixture's estimated risk is not below theirs, they are the answer.

**Against the simplest**, one value for all bins but for the few that stand out (`flat.py`; where the noise drowns
everything it is zero). Let G be half of what the best candidate takes off its estimated risk, in units of sigma^2. The
mixture of all that take off anything gets the share

    1 - K exp(-G/(2 s)),   none below zero,   s = 1 under Gaussian noise,

and the simplest the rest. exp(G/2) is how much likelier the values are under the candidate, where that has a meaning:
James-Stein has G = z^2 on many bins, z by how many standard deviations sum y^2 is above what noise alone would make it,
and the weights of Leung & Barron (2006) on least-squares fits are in proportion to it. So K is the odds in favour of
the simplest, and what would have less than even odds with K/2 gets nothing: a candidate that fits noise has five
degrees of freedom where a few hundredths would do. At ordinary noise G is in the hundreds and the share is 1. With
about ten bins or fewer the simplest does not pass the first gate, and nothing is held against it.

Under Laplace noise s = 5/2: its squares vary 5/2 times as much, in variance, as those of Gaussian noise. But a linear
smoother changes the risk by a quadratic form n' Q n of the noise, of variance 2 ||Q||^2 + 3 sum Q_ii^2 (Gaussian: the
first alone), and if it has k of d dimensions, evenly, sum Q_ii^2 = (k/d) ||Q||^2: so there (`SMOOTHERS`)
s = 1 + 3/2 df/d. With 5/2 for it as well errors were 8 % larger on 11 made-up truths on a path and on a grid (geometric
mean of 6 draws each; 0.58 to 1.09), and on flat ones it seems to gain enough in none of 600 draws (2 under Gaussian
noise). Two maps of taxis under Laplace noise, where `auto` had lost 3 and 5 %, were why this was looked into.

K was settled on made-up truths (spikes, power laws, blocks, waves, steps, flat, nearly empty) on a path of 1,024 bins:
with a switch in its place, open from 1.75 standard errors of the difference on (1 where the one value was clear),
errors were 4 % larger under Gaussian noise and 2 % under Laplace noise, in the geometric mean of 37 truths, 5 draws.
There 10 and 20 were alike; with 10 a flat truth of 16 standard errors was taken for something else too often. Without a
graph, on 32 of these and 27 of values of either sign (normal, heavy-tailed, sparse, in two groups), 10 to 1,000 bins, 4
to 12 draws, errors are 0.995 and 0.987 of what they were under Gaussian noise, and 0.995 both under Laplace noise, the
new `FAVOUR` and James-Stein's smooth factor counted in (0.53 to 2.3; the worst is a constant, one draw of four).

Single bins are left to the simplest, which keeps one where noise alone would hardly reach it. So what has a prior for
each bin, and James-Stein (`SINGLE_BINS`), must gain *without the bins that speak most for it* (`LUCKY_BINS`): one under
Gaussian noise, two under Laplace noise. Of 4,096 bins that has one of seven or eight sigma in one draw of ten, and
who keeps it whole seems to gain by twenty; and at times several of five or six sigma, from which empirical Bayes makes
a group. Without the best bin alone it was taken for better than one value on flat truths in 0.25, 1 and 2.5 % of draws
at 1,000, 4,096 and 65,536 bins (800, 500 and 40 draws), and erred up to 90 times as much; without two it gained 11 at
most in these draws, where 15 are needed. That costs 3 % of error on 25 made-up truths that stand little above the noise
(1,024 bins, 6 draws; spikes up to 50 %). Five such draws of constants, in the benchmark of heavy noise, were why this
was looked into. Without three, two more of its draws would be none; but ADULT under noise of 4.2247 lost by it.

Where one is `favoured`, another must beat it by `FAVOUR` standard errors, or chance would choose between equals. Each
free weight counts as one more degree of freedom in the risk, as in least squares. The quadratic programme is solved
exactly (`_mixture/simplex.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support.host_arrays import as_host
from leastnoise._support.number_format import about
from leastnoise._support.validation import Number
from leastnoise.denoise._mixture.simplex import least_on_simplex
from leastnoise.denoise.arrays import Floats, Mechanism, given_in_doubles, in_its_type, namespace
from leastnoise.denoise.mixture import Mixture
from leastnoise.denoise.risk import stein_estimate
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import of_arrays

NEVER_WORSE = ("raw", "james_stein")
SINGLE_BINS = ("empirical_bayes", "james_stein", "neighbour_bayes")  # whom one bin alone may make the best
LUCKY_BINS = {"gaussian": 1, "laplace": 2}  # so many of which do not count for these
MIN_LEAD, FAVOUR = 1.0, 1.0  # in standard errors of a difference of risks
ODDS = 20.0  # K, in favour of the simplest
FREE_OF_CHARGE = 2.0  # degrees of freedom that the one value may have
SPREAD_OF_SQUARES = {"gaussian": 1.0, "laplace": math.sqrt(5 / 2)}  # of the noise, over that of Gaussian noise
SMOOTHERS = ("laplacian",)  # linear ones: each value is an average over many bins


def aggregate(
    y: Any,
    sigma: Number,
    estimates: Mapping[str, Estimate],
    *,
    favoured: str | tuple[str, ...] = (),
    simplest: str | None = None,
    nonnegative: bool = False,
    mechanism: Mechanism = "gaussian",
) -> Estimate:
    """The raw values and some estimates of them in the mixture of least unbiased risk.

    y: the noisy values. sigma: the standard deviation of their noise.
    estimates: of these values, by name; those without a risk take no part.
    favoured: the name of one that others must beat beyond chance to take part of its weight; of several names, the one
        of least risk.
    simplest: the name of one that keeps the share of the weight that others do not earn.
    nonnegative: clip the mixture at zero. mechanism: "gaussian" or "laplace", the distribution of the noise.
    """
    array, level, xp = given_in_doubles(y, sigma, mechanism)
    bins = math.prod(array.shape)
    if many := [name for name, e in estimates.items() if not isinstance(e, Estimate)]:
        raise errors.WrongType(
            f"{many[0]} is no Estimate of one vector. Mix the estimates of each vector by themselves: e[0], e[1] ..."
        )
    tried = dict(estimates) | {"raw": raw(array, level, mechanism)}
    compared = {"raw": raw(array, level, mechanism)} | {name: e for name, e in estimates.items() if e.risk is not None}
    for name, e in compared.items():
        if tuple(e.values.shape) != tuple(array.shape):
            raise errors.InvalidParameter(f"{name} has the shape {tuple(e.values.shape)}, and y {tuple(array.shape)}.")
    unchanged, spread = compared["raw"], SPREAD_OF_SQUARES[mechanism]
    compared = {
        name: e for name, e in compared.items() if e.method in NEVER_WORSE or _lead(e, unchanged) > MIN_LEAD * spread
    }
    compared, earned = _better_than(simplest, compared) if simplest in compared else (compared, 1.0)
    residual = xp.stack([xp.reshape(array - e.values, (-1,)) for e in compared.values()])
    products: Floats = as_host(residual @ residual.T)
    free = np.array([e.degrees_of_freedom for e in compared.values()])
    wanted = (favoured,) if isinstance(favoured, str) else favoured
    rival = min((compared[name] for name in wanted if name in compared), key=_half_risk, default=None)
    price = np.array([FAVOUR * _error(e, rival) if rival else 0.0 for e in compared.values()])
    chosen = least_on_simplex(products, level**2 * (free + price))
    weights = earned * chosen + (1 - earned) * np.array([name == simplest for name in compared])
    cost = float(weights @ free) + int(np.count_nonzero(chosen > 1e-9)) - 1  # less is rounding, between twins
    estimated = stein_estimate(float(weights @ products @ weights), min(cost, bins), bins, level)
    if (estimated.risk or 0.0) >= level**2:  # no better than the values as they are, by its own estimate
        compared, weights, estimated = {"raw": unchanged}, np.ones(1), unchanged.estimate_risk()
    mixed = sum(a * e.values for a, e in zip(weights, compared.values(), strict=True) if a > 0)
    values = xp.clip(mixed, 0.0, None) if nonnegative else xp.asarray(mixed, copy=True)
    shares = {name: round(float(a), 6) for name, a in zip(compared, weights, strict=True) if a > 0}
    return Estimate(
        values=in_its_type(values, y, xp),
        noisy=array if xp is np else y,
        noise=Noise.of(mechanism, sigma=level),
        method="auto",
        parameters={"weights": shares, "errors": _errors(estimates, level), "nonnegative": nonnegative},
        nonnegative=nonnegative,
        estimate_risk=lambda: estimated,
        description=_describe(estimates, shares, level),
        provenance=of_arrays(seeded=any(e.seeded for e in estimates.values())),
        details=Mixture.of(tried, dict(zip(compared, weights.tolist(), strict=True))),
    )


def raw(y: Any, sigma: float, mechanism: Mechanism) -> Estimate:
    """The values as they are: d degrees of freedom, risk sigma^2."""
    return Estimate(
        values=namespace(y).asarray(y, copy=True),
        noisy=y,
        noise=Noise.of(mechanism, sigma=sigma),
        method="raw",
        estimate_risk=lambda: RiskEstimate(sigma**2, math.prod(y.shape), sigma**2),
    )


def _errors(estimates: Mapping[str, Estimate], sigma: float) -> dict[str, float]:
    """The estimated error of each candidate alone, the raw values among them."""
    return {name: e.rmse for name, e in estimates.items() if e.rmse is not None} | {"raw": sigma}


def _error(one: Estimate, other: Estimate) -> float:
    """The standard error of half the difference of two risks, in degrees of freedom."""
    apart = float(((one.values - other.values) ** 2).sum()) / one.std**2
    return math.sqrt(apart + abs((one.degrees_of_freedom or 0.0) - (other.degrees_of_freedom or 0.0)))


def _lead(e: Estimate, other: Estimate) -> float:
    """By how many standard errors an estimate beats another."""
    return (_half_risk(other) - _half_risk(e)) / max(_error(e, other), 1e-12)


def _best_bins(e: Estimate, other: Estimate) -> float:
    """What the few bins that speak most for an estimate add to half the difference of its risk and another's."""
    if e.method not in SINGLE_BINS:
        return 0.0
    nearer = as_host((other.noisy - other.values) ** 2 - (e.noisy - e.values) ** 2).ravel()
    most = np.partition(nearer, -count)[-count:] if (count := LUCKY_BINS[e.mechanism]) < nearer.size else nearer
    return float(np.maximum(most, 0.0).sum()) / (2 * e.std**2)


def _half_risk(e: Estimate, *, free_of_charge: float = 0.0) -> float:
    """||y - h||^2 / (2 sigma^2) + df: half of Stein's risk in sum over the bins, up to a constant."""
    moved = float(((e.noisy - e.values) ** 2).sum()) / e.std**2
    return moved / 2 + max((e.degrees_of_freedom or 0.0) - free_of_charge, 0.0)


def _better_than(simplest: str, compared: Mapping[str, Estimate]) -> tuple[dict[str, Estimate], float]:
    """The simplest and all that beat it, and the share of the weight that these have earned; without any, it alone.

    The degrees of freedom of its one value are not held against it: they peak where it just leaves zero, and there zero
    itself would seem to beat it.
    """
    flat = compared[simplest]
    told = _half_risk(flat, free_of_charge=FREE_OF_CHARGE)
    gains = {name: told - _half_risk(e) - _best_bins(e, flat) for name, e in compared.items() if name != simplest}
    likelier = max(gain / (2 * _spread(compared[name])) for name, gain in gains.items())
    earned = 1 - ODDS * math.exp(-likelier) if likelier > 0 else 0.0
    if earned <= 0:
        return {simplest: flat}, 1.0
    return {name: e for name, e in compared.items() if name == simplest or gains[name] > 0}, earned


def _spread(e: Estimate) -> float:
    """s: the variance of a gain by chance, over what it is under Gaussian noise."""
    most = SPREAD_OF_SQUARES[e.mechanism] ** 2
    if e.method not in SMOOTHERS:
        return most
    even = min((e.degrees_of_freedom or 0.0) / float(math.prod(e.values.shape)), 1.0)
    return 1 + (most - 1) * even


def _describe(estimates: Mapping[str, Estimate], shares: Mapping[str, float], sigma: float) -> str:
    known = sorted((e.rmse, name) for name, e in estimates.items() if e.rmse is not None)
    listed = "; ".join(f"{name} {about(rmse, beside=sigma)}" for rmse, name in known)
    largest = sorted(shares.items(), key=lambda item: -item[1])
    used = ", ".join(f"{share:.0%} {name}" for name, share in largest if share >= 0.005)
    found = f"Estimated errors of the candidates alone: {listed}; raw {sigma:.4g}."
    if set(shares) == {"raw"}:
        return f"{found} The noisy values are kept, since nothing beats them beyond chance."
    if set(shares) == {"flat"}:
        return (
            f"{found} One value was taken for all bins but those that stand out, since none of the others beats that "
            "beyond chance."
        )
    return (
        f"{found} The mixture with the least estimated error, of those that seem to beat the raw values by a standard "
        f"error or more, is {used}."
    )
