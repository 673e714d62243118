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
s = 1 + 3/2 df/d.

Single bins are left to the simplest, which keeps one where noise alone would hardly reach it. So what has a prior for
each bin, and James-Stein (`SINGLE_BINS`), must gain *without the bins that speak most for it* (`LUCKY_BINS`): one under
Gaussian noise, two under Laplace noise. Of 4,096 bins that has one of seven or eight sigma in one draw of ten, and
who keeps it whole seems to gain by twenty; and at times several of five or six sigma, from which empirical Bayes makes
a group.

Where one is `favoured`, another must beat it by `FAVOUR` standard errors, or chance would choose between equals. Each
free weight counts as one more degree of freedom in the risk, as in least squares. The quadratic programme is solved
exactly (`least_on_simplex`). How the constants were settled is in benchmarks/denoisers.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.text import about
from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import Floats, Mechanism, on_host, one_sigma, sigmas_of
from leastnoise.denoise.denoiser import Denoised, estimate_of
from leastnoise.denoise.risk import stein_estimate
from leastnoise.releases.average_coverage import NoiseKept
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.noise import MECHANISMS
from leastnoise.releases.provenance import of_arrays

NEVER_WORSE = ("raw", "james_stein")
SINGLE_BINS = ("empirical_bayes", "james_stein", "neighbour_bayes")  # whom one bin alone may make the best
LUCKY_BINS = {"gaussian": 1, "laplace": 2}  # so many of which do not count for these
MIN_LEAD, FAVOUR = 1.0, 1.0  # in standard errors of a difference of risks
ODDS = 20.0  # K, in favour of the simplest
FREE_OF_CHARGE = 2.0  # degrees of freedom that the one value may have
SPREAD_OF_SQUARES = {"gaussian": 1.0, "laplace": math.sqrt(5 / 2)}  # of the noise, over that of Gaussian noise
SMOOTHERS = ("laplacian",)  # linear ones: each value is an average over many bins


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Every candidate that was tried, the raw values among them, and its weight.

    candidates: the estimates by name, each with its own `values`, `risk` and `details`.
    weights: of each candidate, by name; zero where it took no part.

    They cannot be run again, and so have no intervals: call the denoiser itself for those.
    """

    candidates: Mapping[str, Estimate]
    weights: Mapping[str, float]

    @classmethod
    def of(cls, candidates: Mapping[str, Estimate], weights: Mapping[str, float]) -> Mixture:
        """Of candidates whose risks were asked for: what computes them is let go."""
        kept = {
            name: replace(
                e, estimate_risk=partial(RiskEstimate, *e.estimate_risk()), denoise_again=None, noise_kept=NoiseKept()
            )
            for name, e in candidates.items()
        }
        return cls(MappingProxyType(kept), MappingProxyType({name: float(weights.get(name, 0.0)) for name in kept}))

    def __reduce__(self) -> tuple[type[Mixture], tuple[dict[str, Estimate], dict[str, float]]]:
        return Mixture, (dict(self.candidates), dict(self.weights))

    def __repr__(self) -> str:
        rows = sorted(self.candidates, key=lambda name: -self.weights[name])
        rmses = {name: self.candidates[name].rmse for name in rows}
        known = {name: "unknown" if rmse is None else f"{rmse:.4g}" for name, rmse in rmses.items()}
        told = ", ".join(f"{self.weights[name]:.0%} {name} (rmse {known[name]})" for name in rows)
        return f"<Mixture of {told}>"


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
    validation.word("mechanism", mechanism, MECHANISMS)
    array = on_host(y).astype(np.float64)
    level = one_sigma(sigmas_of(sigma, array.shape))
    if many := [name for name, e in estimates.items() if not isinstance(e, Estimate)]:
        raise errors.WrongType(
            f"{many[0]} is no Estimate of one vector. Mix the estimates of each vector by themselves: e[0], e[1] ..."
        )
    for name, e in estimates.items():
        if e.risk is not None and tuple(e.values.shape) != array.shape:
            raise errors.InvalidParameter(f"{name} has the shape {tuple(e.values.shape)}, and y {array.shape}.")
    made = mixed(
        array, level, estimates, favoured=favoured, simplest=simplest, nonnegative=nonnegative, mechanism=mechanism
    )
    return estimate_of(made, "auto", array, level, mechanism)


def mixed(
    y: Floats,
    sigma: float,
    estimates: Mapping[str, Estimate],
    *,
    favoured: str | tuple[str, ...],
    simplest: str | None,
    nonnegative: bool,
    mechanism: Mechanism,
) -> Denoised:
    """The mixture, as a rule returns it."""
    unchanged = raw(y, sigma, mechanism)
    compared = {"raw": unchanged} | {name: e for name, e in estimates.items() if e.risk is not None}
    least = MIN_LEAD * SPREAD_OF_SQUARES[mechanism]
    compared = {name: e for name, e in compared.items() if e.method in NEVER_WORSE or _lead(e, unchanged) > least}
    compared, earned = _better_than(simplest, compared) if simplest in compared else (compared, 1.0)
    residual = np.stack([(y - e.values).ravel() for e in compared.values()])
    products: Floats = residual @ residual.T
    free = np.array([e.degrees_of_freedom for e in compared.values()])
    wanted = (favoured,) if isinstance(favoured, str) else favoured
    rival = min((compared[name] for name in wanted if name in compared), key=_half_risk, default=None)
    price = np.array([FAVOUR * _error(e, rival) if rival else 0.0 for e in compared.values()])
    chosen = least_on_simplex(products, sigma**2 * (free + price))
    weights = earned * chosen + (1 - earned) * np.array([name == simplest for name in compared])
    cost = float(weights @ free) + int(np.count_nonzero(chosen > 1e-9)) - 1  # less is rounding, between twins
    moved = float(weights @ products @ weights)
    estimated = stein_estimate(moved, min(cost, y.size), y.size, sigma)
    if (estimated.risk or 0.0) >= sigma**2:  # no better than the values as they are, by its own estimate
        compared, weights, estimated = {"raw": unchanged}, np.ones(1), unchanged.estimate_risk()
    values = np.asarray(sum(a * e.values for a, e in zip(weights, compared.values(), strict=True) if a > 0))
    rmses = {name: e.rmse for name, e in estimates.items() if e.rmse is not None}
    shares = {name: round(float(a), 6) for name, a in zip(compared, weights, strict=True) if a > 0}
    return Denoised(
        np.clip(values, 0.0, None) if nonnegative else values,
        {"weights": shares, "errors": rmses | {"raw": sigma}, "nonnegative": nonnegative},
        estimated,
        nonnegative=nonnegative,
        details=Mixture.of(dict(estimates) | {"raw": unchanged}, dict(zip(compared, weights.tolist(), strict=True))),
        also={
            "description": _describe(rmses, shares, sigma),
            "provenance": of_arrays(seeded=any(e.seeded for e in estimates.values())),
        },
    )


def raw(y: Floats, sigma: float, mechanism: Mechanism) -> Estimate:
    """The values as they are: d degrees of freedom, risk sigma^2."""
    kept = Denoised(y.copy(), risk=RiskEstimate(sigma**2, float(y.size), sigma**2))
    return estimate_of(kept, "raw", y, sigma, mechanism)


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
    nearer = ((other.noisy - other.values) ** 2 - (e.noisy - e.values) ** 2).ravel()
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


def _describe(rmses: Mapping[str, float], shares: Mapping[str, float], sigma: float) -> str:
    listed = "; ".join(
        f"{name} {about(rmse, beside=sigma)}" for rmse, name in sorted((rmse, name) for name, rmse in rmses.items())
    )
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


def least_on_simplex(quadratic: Floats, linear: Floats) -> Floats:
    """argmin a'Qa + 2 c'a over a >= 0, sum a = 1, exactly, for Q positive semidefinite of any rank.

    An active set. From the best corner on: let in the corner toward which the value falls fastest, go to the minimum
    over the face (linear equations), stop at the first side in the way and drop it, until no corner outside promises
    anything. The value falls with every new face, so none comes twice.
    """
    scale = max(float(np.abs(quadratic).max()), float(np.abs(linear).max()), np.finfo(float).tiny)
    q, c = quadratic / scale, linear / scale
    face = [int(np.argmin(np.diag(q) + 2 * c))]
    a = np.zeros(c.size)
    a[face] = 1.0
    for _ in range(10 * c.size**2):
        slope = q @ a + c
        promise = slope - a @ slope
        promise[face] = math.inf
        if promise.min() >= -1e-13:
            break
        face.append(int(np.argmin(promise)))
        while face:
            way, length = _downhill(q, c, a, face)
            falling = way < 0
            longest = np.where(falling, a[face] / np.where(falling, -way, 1.0), math.inf)
            a[face] += min(length, longest.min()) * way
            if longest.min() >= length:
                break
            blocked = int(np.argmin(longest))
            a[face[blocked]] = 0.0
            del face[blocked]
    return np.asarray(a / a.sum())


def _downhill(q: Floats, c: Floats, a: Floats, face: list[int]) -> tuple[Floats, float]:
    """The way to the minimum over sum a = 1 on the face, and how long it is: 1, or without end where Q is flat."""
    count = len(face)
    inner = np.block([[q[np.ix_(face, face)], np.ones((count, 1))], [np.ones((1, count)), np.zeros((1, 1))]])
    slope = np.append(-(q @ a + c)[face], 0.0)
    found = np.linalg.lstsq(inner, slope, rcond=1e-12)[0]
    left = (slope - inner @ found)[:count]  # what no step can balance lies along directions in which Q is flat
    left -= left.mean()  # near twins leave rounding there, and a way off the plane would have no end
    if np.abs(left).max() > 1e-12 * max(1.0, float(np.abs(slope).max())):
        return left, math.inf
    return found[:count], 1.0
