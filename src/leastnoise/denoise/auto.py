"""`auto`: what is worth trying, by what is known of the values, and the mixture of it (`aggregate.py`).

    nothing known     empirical Bayes, James-Stein toward zero and toward the mean, one value but for what stands out
    a graph           also neighbourhood empirical Bayes, the fused lasso and Laplacian smoothing on it; where it is
                      made of paths and grids and the noise is Gaussian, Haar wavelets
    a table's axes    also row and column effects

Without a graph James-Stein is favoured, toward zero or toward the mean, whichever seems better: it guesses one number,
and few bins do not say whether a prior fitted to them is worth its cost. On a graph nobody is favoured.

**Absolute error.** loss="absolute" keeps the weights and takes, in every bin, the weighted *median* of the candidates,
those with a prior giving their posterior medians: exactly zero where half of the weight says so. The one value is zero
more often (`flat.py`), and James-Stein, which makes no zeros, gives its weight to empirical Bayes. Absolute error has
no unbiased estimate, so that these weights suit it is not proved but measured, and `risk` is None.

What lessens the squared error by a little value in every bin may multiply the absolute one. So where the truth is not
negative and the one value is zero, that is, where the mean of the bins that do not stand out is not clear, a bin keeps
its median only if that is as many of its own standard errors from zero as the one value has to be; else the one value,
or what stands out from it, takes its place. On average over the bins that standard error is sigma sqrt(df/d).

With integers=True a median below one half is zero. Whole numbers that are not negative and have a mean below one half
are zero in more than half of the bins, so zero is their median whatever else is true of them; and a law of the truth
itself that gives half of its mass to values below one half gives it to zero.

How this was settled is in benchmarks/denoisers.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.denoise.additive import additive
from leastnoise.denoise.aggregate import mixed
from leastnoise.denoise.arrays import Floats, Mechanism
from leastnoise.denoise.denoiser import Denoised, denoiser
from leastnoise.denoise.empirical_bayes import Loss, empirical_bayes
from leastnoise.denoise.flat import ZERO_WITHIN_ABSOLUTE, flat
from leastnoise.denoise.fused_lasso import fused_lasso
from leastnoise.denoise.laplacian import laplacian
from leastnoise.denoise.lattices import is_of_lattices
from leastnoise.denoise.neighbour_bayes import neighbour_bayes
from leastnoise.denoise.shrink import james_stein
from leastnoise.denoise.wavelet import wavelet
from leastnoise.graphs import Graph
from leastnoise.releases.estimate import Estimate, RiskEstimate

MAX_LAPLACE_NODES = 200_000  # nodes in all orders of the fused lasso under Laplace noise, whose divergence is dear
FOR_BOTH_LOSSES = ("empirical_bayes", "flat", "neighbour_bayes")  # methods that take loss=
Candidates = dict[str, Callable[..., Estimate]]  # by name, not yet computed


@denoiser()
def auto(
    y: Any,
    sigma: float,
    *,
    graph: Graph | None = None,
    shape: tuple[int, ...] | None = None,
    nonnegative: bool = False,
    integers: bool = False,
    loss: Loss = "squared",
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """Empirical Bayes, shrinkage and the raw values in the mixture of least estimated error.

    y: the noisy values. sigma: the standard deviation of their noise.
    graph: which values are near one another; what uses it is tried beside the rest, and taken where it helps.
    shape: how many bins along each axis of a table of which y are the cells; row and column effects are then tried.
    nonnegative: whether the truth is (counts are): it narrows the prior and clips what is left below zero, last.
    integers: whether the truth is whole numbers (counts are): with absolute loss what is below one half is then zero.
    loss: "squared", or "absolute" to make the mean absolute error small: medians, many of them exactly zero.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    `details` of what is returned, a `Mixture`, has every candidate with its risk, and its weight.

    >>> e = auto([0.3, -0.8, 1.1, 9.7, -0.2, 10.4, 0.5, 0.1], sigma=1.0, nonnegative=True)
    >>> e.values.round(1)
    array([ 0. ,  0. ,  0. ,  9.7,  0. , 10.4,  0. ,  0. ])
    """
    validation.word("loss", loss, ("squared", "absolute"))
    tried = _candidates(y, sigma, graph, shape, nonnegative, mechanism)
    made = mixed(
        y,
        sigma,
        _computed(tried),
        favoured=("james_stein", "james_stein_mean") if graph is None else (),
        simplest="flat",
        nonnegative=nonnegative,
        mechanism=mechanism,
    )
    return made if loss == "squared" else _medians(made, y, sigma, tried, mechanism, integers=integers)


def _candidates(
    y: Floats,
    sigma: float,
    graph: Graph | None,
    shape: tuple[int, ...] | None,
    nonnegative: bool,
    mechanism: Mechanism,
) -> Candidates:
    """What is worth trying."""
    tried: Candidates = {}

    def attempt(name: str, rule: Callable[..., Estimate], **options: Any) -> None:
        tried[name] = partial(rule, y, sigma, mechanism=mechanism, **options)

    def positive_part(least: int) -> Literal["smooth", True]:
        return "smooth" if mechanism == "gaussian" and y.size >= least else True

    support = "nonnegative" if nonnegative else "real"
    attempt("empirical_bayes", empirical_bayes, support=support)
    if y.size >= 3:
        attempt("flat", flat, nonnegative=nonnegative)
        attempt("james_stein", james_stein, positive_part=positive_part(4))
    if y.size >= 4:
        attempt("james_stein_mean", james_stein, toward="mean", positive_part=positive_part(5))
    if graph is not None:
        orders = 10 if mechanism == "gaussian" else max(1, min(10, MAX_LAPLACE_NODES // y.size))
        attempt("neighbour_bayes", neighbour_bayes, graph=graph, support=support)
        attempt("fused_lasso", fused_lasso, graph=graph, orders=orders)
        attempt("laplacian", laplacian, graph=graph)
        if mechanism == "gaussian" and is_of_lattices(graph):
            attempt("wavelet", wavelet, graph=graph)
    if shape is not None:
        attempt("additive", additive, shape=shape)
    return tried


def _computed(tried: Candidates) -> dict[str, Estimate]:
    """All that can be computed; a candidate that does not suit these values is left out."""
    made: dict[str, Estimate] = {}
    for name, attempt in tried.items():
        with suppress(errors.NotProved, errors.OutOfRange):
            made[name] = attempt()
    return made


def _medians(
    made: Denoised, y: Floats, sigma: float, tried: Candidates, mechanism: Mechanism, *, integers: bool
) -> Denoised:
    """The weighted median of what the mixture is made of, with posterior medians where there is a prior."""
    shares = dict(made.parameters["weights"])
    named = list(shares)
    if "james_stein" in shares and "empirical_bayes" in made.parameters["errors"]:
        named[named.index("james_stein")] = "empirical_bayes"
    medians = {name: {"loss": "absolute"} if name in FOR_BOTH_LOSSES else {} for name in named}
    values = [y if name == "raw" else tried[name](**medians[name]).values for name in named]
    middle = weighted_median(np.stack(values), np.array(list(shares.values())))
    if made.nonnegative and "flat" in tried:
        simple = tried["flat"](loss="absolute")
        free = made.risk.degrees_of_freedom if isinstance(made.risk, RiskEstimate) else None
        own = sigma * math.sqrt((free or 0.0) / y.size)  # the standard error of a bin, on average
        if not simple.parameters["value"]:  # in bins whose value is not clear: zero, and what stands out from it
            middle = np.where(middle <= ZERO_WITHIN_ABSOLUTE[mechanism] * own, simple.values, middle)
    if integers:
        middle = np.where(np.abs(middle) < 0.5, 0.0, middle)
    described = f"{made.also['description']} Of these the weighted median was taken, bin by bin."
    return made._replace(
        values=np.clip(middle, 0.0, None) if made.nonnegative else middle,
        parameters={**made.parameters, "loss": "absolute", "integers": integers},
        risk=None,
        also={**made.also, "description": described},
    )


def weighted_median(rows: Floats, weights: Floats) -> Floats:
    """In every column the least value at or below which half of the weight lies."""
    order = np.argsort(rows, axis=0)
    below = np.cumsum(weights[order], axis=0)
    reached = below >= 0.5 * (1 - 1e-9) * float(weights.sum())  # rounding must not decide between halves
    chosen = np.take_along_axis(order, np.argmax(reached, axis=0)[None], axis=0)
    return np.asarray(np.take_along_axis(rows, chosen, axis=0)[0])
