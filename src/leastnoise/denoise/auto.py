"""`auto`: what is worth trying, by what is known of the values, and the mixture of it (`aggregate.py`).

    nothing known     empirical Bayes, James-Stein toward zero and toward the mean, one value but for what stands out
    a graph           also neighbourhood empirical Bayes, the fused lasso and Laplacian smoothing on it; where it is
                      made of paths and grids and the noise is Gaussian, Haar wavelets
    a table's axes    also row and column effects

Without a graph James-Stein is favoured, toward zero or toward the mean, whichever seems better: it guesses one number,
and few bins do not say whether a prior fitted to them is worth its cost. On 22 kinds of made-up truths (normal, skewed,
sparse, in two groups, flat; 20 draws) errors are 0.99, 1.00, 1.00 and 1.00 of what they were with empirical Bayes
favoured by two standard errors, at 10, 30, 100 and 300 bins, and 0.97, 0.99, 1.00 and 1.00 under Laplace noise
(geometric means; 0.86 to 1.10, the worst where one or two bins of ten or thirty are occupied). Since then it is
favoured by one standard error, not half of one, and has a smooth positive part under Gaussian noise (`shrink.py`).

On a graph nobody is favoured: on ten truths (drop-offs, another hour and day of taxis, counties, the made-up city,
histograms of rides, made-up paths; none of them a benchmark's) the mixture's error was then 1 % above that of the best
candidate, in the geometric mean under either law, and up to 3 % more where anyone was.

**Absolute error.** loss="absolute" keeps the weights and takes, in every bin, the weighted *median* of the candidates,
those with a prior giving their posterior medians: exactly zero where half of the weight says so. The one value is zero
more often (`flat.py`), and James-Stein, which makes no zeros, gives its weight to empirical Bayes: on made-up truths of
6, 10, 20 and 50 bins, where it is taken at times, errors are 0.98, 0.94, 0.96 and 1.00 of what they were (geometric
means; 0.6 to 1.10, 40 draws each). Absolute error has no unbiased estimate, so that these weights suit it is not proved
but measured, and `risk` is None.

What lessens the squared error by a little value in every bin may multiply the absolute one. So where the truth is not
negative and the one value is zero, that is, where the mean of the bins that do not stand out is not clear, a bin keeps
its median only if that is as many of its own standard errors from zero as the one value has to be; else the one value,
or what stands out from it, takes its place. On average over the bins that standard error is sigma sqrt(df/d). On
made-up power laws, blocks, decays and spikes of 1,024 bins, where this was settled, the mean absolute error is 0.69 of
what it was (31 draws of 122 in which the mixture is not the one value; 0.12 to 1.47).

With integers=True a median below one half is zero. Whole numbers that are not negative and have a mean below one half
are zero in more than half of the bins, so zero is their median whatever else is true of them; and a law of the truth
itself that gives half of its mass to values below one half gives it to zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.denoise._graph.lattices import is_of_lattices
from leastnoise.denoise.additive import additive
from leastnoise.denoise.aggregate import aggregate
from leastnoise.denoise.arrays import (
    Floats,
    Mechanism,
    beside,
    given_in_doubles,
    given_on_graph,
    given_on_host,
    in_its_type,
)
from leastnoise.denoise.empirical_bayes import Loss, empirical_bayes
from leastnoise.denoise.estimator import estimator
from leastnoise.denoise.flat import ZERO_WITHIN_ABSOLUTE, flat
from leastnoise.denoise.fused_lasso import fused_lasso
from leastnoise.denoise.laplacian import laplacian
from leastnoise.denoise.neighbour_bayes import neighbour_bayes
from leastnoise.denoise.shrink import james_stein
from leastnoise.denoise.wavelet import wavelet
from leastnoise.graphs import Graph
from leastnoise.releases.estimate import Estimate, RiskEstimate

MAX_LAPLACE_NODES = 200_000  # nodes in all orders of the fused lasso under Laplace noise, whose divergence is dear
FOR_BOTH_LOSSES = ("empirical_bayes", "flat", "neighbour_bayes")  # methods that take loss=
Candidates = dict[str, Callable[..., Estimate]]  # by name, not yet computed


@estimator
def auto(
    y: Any,
    sigma: Number,
    *,
    graph: Graph | None = None,
    shape: tuple[int, ...] | None = None,
    nonnegative: bool = False,
    integers: bool = False,
    loss: Loss = "squared",
    mechanism: Mechanism = "gaussian",
) -> Estimate:
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
    if graph is None and shape is None:
        array, level, xp = given_in_doubles(y, sigma, mechanism)
    else:
        (array, level), xp = _given_in_its_place(y, sigma, mechanism, graph), np
    validation.word("loss", loss, ("squared", "absolute"))
    tried = _without_structure(array, level, nonnegative=nonnegative, mechanism=mechanism)
    if graph is not None:
        tried |= _on_graph(array, level, graph, nonnegative=nonnegative, mechanism=mechanism)
    if shape is not None:
        tried["additive"] = partial(additive, array, level, shape=shape, mechanism=mechanism)
    mixed = aggregate(
        array,
        level,
        _computed(tried),
        favoured=("james_stein", "james_stein_mean") if graph is None else (),
        simplest="flat",
        nonnegative=nonnegative,
        mechanism=mechanism,
    )
    if loss == "absolute":
        mixed = _medians(mixed, tried, integers=integers, xp=xp)
    return mixed if xp is np else replace(mixed, values=in_its_type(mixed.values, y, xp), noisy=y)


def _given_in_its_place(y: Any, sigma: Any, mechanism: Mechanism, graph: Graph | None) -> tuple[Floats, float]:
    """Values that have neighbours or cells, in this machine's memory."""
    return given_on_host(y, sigma, mechanism) if graph is None else given_on_graph(y, sigma, mechanism, graph)


def candidates(y: Floats, sigma: float, *, nonnegative: bool, mechanism: Mechanism) -> dict[str, Estimate]:
    """What is worth trying on values without structure, by name."""
    return _computed(_without_structure(y, sigma, nonnegative=nonnegative, mechanism=mechanism))


def on_graph(y: Floats, sigma: float, graph: Graph, *, nonnegative: bool, mechanism: Mechanism) -> dict[str, Estimate]:
    """What is worth trying on the nodes of a graph, by name."""
    return _computed(_on_graph(y, sigma, graph, nonnegative=nonnegative, mechanism=mechanism))


def _without_structure(y: Any, sigma: float, *, nonnegative: bool, mechanism: Mechanism) -> Candidates:
    support: Literal["real", "nonnegative"] = "nonnegative" if nonnegative else "real"
    tried: Candidates = {"empirical_bayes": partial(empirical_bayes, y, sigma, support=support, mechanism=mechanism)}
    bins = y.shape[0]
    part: Any = "smooth" if mechanism == "gaussian" else True
    if bins >= 3:
        tried["flat"] = partial(flat, y, sigma, nonnegative=nonnegative, mechanism=mechanism)
        tried["james_stein"] = partial(
            james_stein, y, sigma, positive_part=part if bins >= 4 else True, mechanism=mechanism
        )
    if bins >= 4:
        tried["james_stein_mean"] = partial(
            james_stein, y, sigma, toward="mean", positive_part=part if bins >= 5 else True, mechanism=mechanism
        )
    return tried


def _on_graph(y: Floats, sigma: float, graph: Graph, *, nonnegative: bool, mechanism: Mechanism) -> Candidates:
    support: Literal["real", "nonnegative"] = "nonnegative" if nonnegative else "real"
    orders = 10 if mechanism == "gaussian" else max(1, min(10, MAX_LAPLACE_NODES // y.size))
    bayes = partial(neighbour_bayes, y, sigma, graph=graph, support=support, mechanism=mechanism)
    tried: Candidates = {
        "neighbour_bayes": bayes,
        "neighbour_bayes_departures": partial(bayes, prior="departures"),
        "neighbour_bayes_1": partial(bayes, hops=1),
        "fused_lasso": partial(fused_lasso, y, sigma, graph=graph, orders=orders, mechanism=mechanism),
        "laplacian": partial(laplacian, y, sigma, graph=graph, mechanism=mechanism),
    }
    # On 29 real truths and noise levels none is worse for it, and the errors are 0.97 of what they were; under Laplace
    # noise one is worse by 5 % (benchmarks/wavelets.py).
    if mechanism == "gaussian" and is_of_lattices(graph):
        tried["wavelet"] = partial(wavelet, y, sigma, graph=graph)
    return tried


def _computed(tried: Candidates) -> dict[str, Estimate]:
    """All that can be computed; a candidate that does not suit these values is left out."""
    made: dict[str, Estimate] = {}
    for name, attempt in tried.items():
        with suppress(errors.NotProved, errors.OutOfRange):
            made[name] = attempt()
    return made


def _medians(mixed: Estimate, tried: Candidates, *, integers: bool, xp: Any) -> Estimate:
    """The weighted median of what the mixture is made of, with posterior medians where there is a prior."""
    shares = dict(mixed.parameters["weights"])
    named = list(shares)
    if "james_stein" in shares and "empirical_bayes" in mixed.parameters["errors"]:
        named[named.index("james_stein")] = "empirical_bayes"
    values = [mixed.noisy if name == "raw" else _with_medians(name, tried[name]).values for name in named]
    middle = weighted_median(xp.stack(values), np.array(list(shares.values())), xp)
    if mixed.parameters["nonnegative"] and "flat" in tried:
        middle = _with_zeros(middle, tried["flat"](loss="absolute"), mixed.degrees_of_freedom or 0.0, xp)
    if integers:
        middle = xp.where(xp.abs(middle) < 0.5, xp.zeros_like(middle), middle)
    return replace(
        mixed,
        values=xp.clip(middle, 0.0, None) if mixed.parameters["nonnegative"] else middle,
        parameters={**mixed.parameters, "loss": "absolute", "integers": integers},
        estimate_risk=partial(RiskEstimate, None, None),
        description=f"{mixed.description} Of these the weighted median was taken, bin by bin.",
    )


def _with_zeros(middle: Any, simple: Estimate, free: float, xp: Any) -> Any:
    """Where the one value is zero, it and what stands out from it, in the bins whose value is not clear."""
    if simple.parameters["value"]:
        return middle
    own = simple.std * math.sqrt(free / math.prod(middle.shape))  # the standard error of a bin, on average
    return xp.where(middle <= ZERO_WITHIN_ABSOLUTE[simple.mechanism] * own, simple.values, middle)


def _with_medians(name: str, attempt: Callable[..., Estimate]) -> Estimate:
    return attempt(loss="absolute") if name.startswith(FOR_BOTH_LOSSES) else attempt()


def weighted_median(rows: Any, weights: Floats, xp: Any = np) -> Any:
    """In every column the least value at or below which half of the weight lies."""
    order = xp.argsort(rows, axis=0)
    below = xp.cumulative_sum(beside(weights, rows, xp)[order], axis=0)
    reached = below >= 0.5 * (1 - 1e-9) * float(weights.sum())  # rounding must not decide between halves
    first = xp.argmax(xp.astype(reached, xp.int8), axis=0)
    chosen = xp.take_along_axis(order, first[None], axis=0)
    return xp.take_along_axis(rows, chosen, axis=0)[0]
