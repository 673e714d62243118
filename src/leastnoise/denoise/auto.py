"""Aggregate, do not select: the convex mixture of several estimates whose unbiased risk is least.

    min over weights a >= 0, sum a = 1:   ||y - sum_k a_k h_k||^2 + 2 sigma^2 sum_k a_k df_k

Divergence is linear, so this is Stein's risk of the mixture; choosing one estimate would throw away what the others
know, and chooses wrongly when noise is large. But a risk is an estimate: the difference of two has a standard error of

    2 sigma^2 sqrt(||h_k - h_0||^2 / sigma^2 + |df_k - df_0|)        (second-order Stein, Bellec & Zhang 2021)

in sum over the bins. So a candidate takes part only if it beats the raw values by `MIN_LEAD` standard errors
(James-Stein need not: it is never worse), and where one is `favoured`, another must beat it by `FAVOUR` of them, or
chance would choose between equals. Each free weight counts as one more degree of freedom in the risk, as in least
squares. The quadratic programme is solved exactly (`_mixture/simplex.py`).

On a graph nobody is favoured: on ten truths (drop-offs, another hour and day of taxis, counties, the made-up city,
histograms of rides, made-up paths; none of them a benchmark's) the mixture's error was then 1 % above that of the best
candidate, in the geometric mean under either law, and up to 3 % more where anyone was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.number_format import about
from leastnoise._support.renamed import renamed_arguments
from leastnoise._support.validation import Number
from leastnoise.denoise._mixture.simplex import least_on_simplex
from leastnoise.denoise.arrays import Floats, Mechanism, given_on_graph, given_on_host
from leastnoise.denoise.empirical_bayes import empirical_bayes
from leastnoise.denoise.estimator import estimator
from leastnoise.denoise.fused_lasso import fused_lasso
from leastnoise.denoise.laplacian import laplacian
from leastnoise.denoise.neighbour_bayes import neighbour_bayes
from leastnoise.denoise.risk import stein_estimate
from leastnoise.denoise.shrink import james_stein
from leastnoise.denoise.threshold import soft_threshold
from leastnoise.denoise.tree_wavelet import tree_wavelet
from leastnoise.denoise.trend_filter import trend_filter
from leastnoise.graphs import Graph
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import of_arrays

NEVER_WORSE = ("raw", "james_stein")
MIN_LEAD, FAVOUR = 1.0, 2.0  # standard errors
MAX_LAPLACE_NODES = 200_000  # nodes in all orders of the fused lasso under Laplace noise, whose divergence is dear


@estimator
def auto(
    y: Any,
    sigma: Number,
    *,
    graph: Graph | None = None,
    nonnegative: bool = False,
    effort: Literal["cheap", "best"] = "cheap",
    mechanism: Mechanism = "gaussian",
) -> Estimate:
    """Empirical Bayes, shrinkage and the raw values in the mixture of least estimated error.

    y: the noisy values. sigma: the standard deviation of their noise.
    graph: which values are near one another; what uses it is tried beside the rest, and taken where it helps.
    nonnegative: whether the truth is (counts are): it narrows the prior and clips what is left below zero, last.
    effort: "cheap", or "best", which also tries thresholds and a prior without bounds; they seldom add anything.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> e = auto([0.3, -0.8, 1.1, 9.7, -0.2, 10.4, 0.5, 0.1], sigma=1.0, nonnegative=True)
    >>> e.values.round(1)
    array([ 0.1,  0.1,  0.1, 10.1,  0.1, 10.1,  0.1,  0.1])
    """
    array, level = given_on_host(y, sigma, mechanism) if graph is None else given_on_graph(y, sigma, mechanism, graph)
    validation.word("effort", effort, ("cheap", "best"))
    made = candidates(array, level, nonnegative=nonnegative, effort=effort, mechanism=mechanism)
    if graph is None:
        return aggregate(array, level, made, favoured="empirical_bayes", nonnegative=nonnegative, mechanism=mechanism)
    made |= on_graph(array, level, graph, nonnegative=nonnegative, effort=effort, mechanism=mechanism)
    return aggregate(array, level, made, nonnegative=nonnegative, mechanism=mechanism)


def candidates(y: Floats, sigma: float, *, nonnegative: bool, effort: str, mechanism: Mechanism) -> dict[str, Estimate]:
    """What is worth trying on values without structure, by name."""
    support: Literal["real", "nonnegative"] = "nonnegative" if nonnegative else "real"
    made: dict[str, Estimate] = {}
    with suppress(errors.NotProved, errors.OutOfRange):
        made["empirical_bayes"] = empirical_bayes(y, sigma, support=support, mechanism=mechanism)
    if y.size >= 3:
        made["james_stein"] = james_stein(y, sigma, mechanism=mechanism)
    if y.size >= 4:
        made["james_stein_mean"] = james_stein(y, sigma, toward="mean", mechanism=mechanism)
    if effort == "best":
        made["soft_threshold"] = soft_threshold(y, sigma, threshold="sure", mechanism=mechanism)
        made["soft_threshold_universal"] = soft_threshold(y, sigma, mechanism=mechanism)
        if nonnegative and "empirical_bayes" in made:
            made["empirical_bayes_real"] = empirical_bayes(y, sigma, mechanism=mechanism)
    return made


def on_graph(
    y: Floats, sigma: float, graph: Graph, *, nonnegative: bool, effort: str, mechanism: Mechanism
) -> dict[str, Estimate]:
    """What is worth trying on the nodes of a graph, by name."""
    support: Literal["real", "nonnegative"] = "nonnegative" if nonnegative else "real"
    orders = 10 if mechanism == "gaussian" or effort == "best" else max(1, min(10, MAX_LAPLACE_NODES // y.size))
    bayes = partial(neighbour_bayes, y, sigma, graph=graph, support=support, mechanism=mechanism)
    tried: dict[str, Callable[[], Estimate]] = {
        "neighbour_bayes": bayes,
        "neighbour_bayes_departures": partial(bayes, prior="departures"),
        "neighbour_bayes_1": partial(bayes, hops=1),
        "fused_lasso": partial(fused_lasso, y, sigma, graph=graph, orders=orders, mechanism=mechanism),
        "laplacian": partial(laplacian, y, sigma, graph=graph, mechanism=mechanism),
    }
    if effort == "best":
        tried["trend_filter"] = partial(trend_filter, y, sigma, graph=graph, mechanism=mechanism)
        tried["tree_wavelet"] = partial(
            tree_wavelet, y, sigma, graph=graph, threshold="sure", trees=5, mechanism=mechanism
        )
    made: dict[str, Estimate] = {}
    for name, attempt in tried.items():
        with suppress(errors.NotProved, errors.OutOfRange):
            made[name] = attempt()
    return made


def raw(y: Floats, sigma: float, mechanism: Mechanism) -> Estimate:
    """The values as they are: d degrees of freedom, risk sigma^2."""
    return Estimate(
        values=y.copy(),
        noisy=y,
        noise=Noise.of(mechanism, sigma=sigma),
        method="raw",
        estimate_risk=lambda: RiskEstimate(sigma**2, y.size),
    )


@renamed_arguments(noise="mechanism")
def aggregate(
    y: Any,
    sigma: Number,
    estimates: Mapping[str, Estimate],
    *,
    favoured: str | None = None,
    nonnegative: bool = False,
    mechanism: Mechanism = "gaussian",
) -> Estimate:
    """The raw values and some estimates of them in the mixture of least unbiased risk.

    y: the noisy values. sigma: the standard deviation of their noise.
    estimates: of these values, by name; those without a risk take no part.
    favoured: the name of one that another must beat beyond chance.
    nonnegative: clip the mixture at zero. mechanism: "gaussian" or "laplace", the distribution of the noise.
    """
    array, level = given_on_host(y, sigma, mechanism)
    compared = {"raw": raw(array, level, mechanism)} | {name: e for name, e in estimates.items() if e.risk is not None}
    for name, e in compared.items():
        if tuple(e.values.shape) != array.shape:
            raise errors.InvalidParameter(f"{name} has the shape {tuple(e.values.shape)}, and y {array.shape}.")
    compared = {
        name: e for name, e in compared.items() if e.method in NEVER_WORSE or _lead(e, compared["raw"]) > MIN_LEAD
    }
    residual = np.stack([(array - e.values).ravel() for e in compared.values()])
    products = residual @ residual.T
    free = np.array([e.degrees_of_freedom for e in compared.values()])
    rival = compared.get(favoured or "")
    price = np.array([FAVOUR * _error(e, rival) if rival else 0.0 for e in compared.values()])
    weights = least_on_simplex(products, level**2 * (free + price))
    mixed = sum(a * e.values for a, e in zip(weights, compared.values(), strict=True) if a > 0)
    values = np.maximum(mixed, 0.0) if nonnegative else np.array(mixed)
    shares = {name: round(float(a), 6) for name, a in zip(compared, weights, strict=True) if a > 0}
    cost = float(weights @ free) + len(shares) - 1
    estimated = stein_estimate(float(weights @ products @ weights), min(cost, array.size), array.size, level)
    return Estimate(
        values=values,
        noisy=array,
        noise=Noise.of(mechanism, sigma=level),
        method="auto",
        parameters={"weights": shares, "errors": _errors(estimates, level), "nonnegative": nonnegative},
        nonnegative=nonnegative,
        estimate_risk=lambda: estimated,
        description=_describe(estimates, shares, level),
        provenance=of_arrays(seeded=any(e.seeded for e in estimates.values())),
    )


def _errors(estimates: Mapping[str, Estimate], sigma: float) -> dict[str, float]:
    """The estimated error of each candidate alone, the raw values among them."""
    return {name: e.rmse for name, e in estimates.items() if e.rmse is not None} | {"raw": sigma}


def _error(one: Estimate, other: Estimate) -> float:
    """The standard error of half the difference of two risks, in degrees of freedom."""
    apart = float(((one.values - other.values) ** 2).sum()) / one.std**2
    return math.sqrt(apart + abs((one.degrees_of_freedom or 0.0) - (other.degrees_of_freedom or 0.0)))


def _lead(e: Estimate, raw: Estimate) -> float:
    """By how many standard errors an estimate beats the raw values."""
    moved = float(((e.noisy - e.values) ** 2).sum()) / e.std**2
    won = e.bins - (e.degrees_of_freedom or 0.0) - moved / 2
    return won / max(_error(e, raw), 1e-12)


def _describe(estimates: Mapping[str, Estimate], shares: Mapping[str, float], sigma: float) -> str:
    known = sorted((e.rmse, name) for name, e in estimates.items() if e.rmse is not None)
    listed = "; ".join(f"{name} {about(rmse)}" for rmse, name in known)
    used = ", ".join(f"{share:.0%} {name}" for name, share in sorted(shares.items(), key=lambda item: -item[1]))
    return (
        f"Estimated errors of the candidates alone: {listed}; raw {sigma:.4g}. "
        f"The mixture with the least estimated error, among those that beat the raw values beyond chance, is {used}."
    )
