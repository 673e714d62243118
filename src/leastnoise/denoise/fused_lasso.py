"""The fused lasso along depth-first orders of a graph (Padilla, Sharpnack, Scott & Tibshirani 2018).

Depth-first search lays the nodes in a row. No function varies more than twice as much along that row as on the graph,
so the one-dimensional problem

    min_b  1/2 ||y - b||^2 + penalty sum_i w_i |b_(i) - b_(i-1)|

is a good stand-in for the one on the graph, and O(n). (w_i is the least weight on the way from one node to the next,
for which the factor two still holds; between components it is zero.) The fits of several random orders are averaged.
A graph that is a path has one order, and the fit is exact.

Degrees of freedom: the fit is constant on pieces, each piece the mean of its values and a constant, so the divergence
is the number of pieces (Tibshirani & Taylor 2011), and that of an average is the average. Under Laplace noise the
divergence of risk.py is computed place by place (chain_kernels.py), on long chains for a sample of the places.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import Floats, Mechanism, penalty_or_word
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.tree_wavelet import random_roots
from leastnoise.graphs import Graph

DOUBLINGS_PAST_MINIMUM = 2  # doublings of the penalty without a smaller risk after which no further is tried
LEAST_EXPONENT = -6.0  # penalties below sigma / 64 change nothing
MAX_SAMPLED_PLACES = 1 << 15  # places of a chain whose divergence under Laplace noise is computed
TUNING_DEGREES_OF_FREEDOM = 2.0  # degrees of freedom that choosing the penalty costs


class Chain(NamedTuple):
    """The nodes in a row, and the weight of the step to each from the one before."""

    order: NDArray[np.int32]
    link: NDArray[Any]  # uint8 where the graph has no weights


class Fit(NamedTuple):
    """A mean of fits, and of their degrees of freedom."""

    values: Floats
    free: float


@denoiser()
def fused_lasso(
    y: Any,
    sigma: float,
    *,
    graph: Graph,
    penalty: Number | Literal["sure"] = "sure",
    orders: int = 10,
    seed: int = 0,
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """Piecewise constant values: the mean of the fused lasso over several depth-first orders of the graph.

    y: one noisy value for each node, in any shape. sigma: the standard deviation of their noise.
    graph: which values are near one another.
    penalty: a number, or "sure": the one for which the *mean* over all orders has the least unbiased risk.
    orders: how many are averaged. seed: chooses the orders.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> y = [0.3, -0.8, 0.1, -0.4, 10.2, 9.4, 9.5, 10.1]
    >>> fused_lasso(y, sigma=0.5, graph=Graph.path(8), penalty=2.0).values
    array([0.3, 0.3, 0.3, 0.3, 9.3, 9.3, 9.3, 9.3])
    """
    given, count = penalty_or_word(penalty), validation.integer("orders", orders)
    rows = chains(graph, count, seed)
    scale = sigma / math.sqrt(2) if mechanism == "laplace" else None
    if given is None:
        strength, fit = least_risk(y, sigma, rows, scale)
        free = fit.free + TUNING_DEGREES_OF_FREEDOM
    else:
        strength, fit = given, mean_fit(y, rows, given, scale)
        free = fit.free
    chosen = {"penalty": strength, "chosen": "sure" if given is None else "given", "orders": count, "seed": seed}
    return Denoised(fit.values, chosen, Stein(min(free, y.size)))


def chains(graph: Graph, count: int, seed: int) -> list[Chain]:
    """Depth-first orders from random roots; one is enough where every component is a path."""
    ends = path_ends(graph)
    rng = np.random.default_rng(seed)
    return [chain(graph, ends, rng) for _ in range(1 if (ends >= 0).all() else count)]


def chain(graph: Graph, ends: NDArray[np.int32], rng: np.random.Generator) -> Chain:
    """One order: from the end of a component that is a path, else from a random node of it."""
    from leastnoise.denoise import tree_kernels

    roots = np.where(ends >= 0, ends, random_roots(graph, rng)).astype(np.int32)
    heavy = np.empty(0, dtype=np.uint8) if graph.weights is None else graph.weights[graph.incident]
    seed = int(rng.integers(2**63))
    return Chain(*tree_kernels.depth_first(graph.start, graph.neighbours.copy(), heavy, roots, seed))


def path_ends(graph: Graph) -> NDArray[np.int32]:
    """For each component that is a path its first end, for every other -1."""
    part, degrees = graph.components, graph.degrees
    size = np.bincount(part)
    ends = np.full(size.size, -1, dtype=np.int32)
    thin = degrees < 2
    outer = np.flatnonzero(thin)[::-1]
    ends[part[outer]] = outer
    widest = np.zeros(size.size, dtype=np.int64)
    np.maximum.at(widest, part, degrees)
    ends[widest > 2] = -1
    return ends


def mean_fit(y: Floats, rows: list[Chain], penalty: float, scale: float | None = None) -> Fit:
    """The average over the rows; the degrees of freedom are those under Laplace noise if its scale is given."""
    from leastnoise.denoise import chain_kernels

    if penalty == 0:
        return Fit(y.copy(), float(y.size))
    # The fit is no further from y than the mean is, so no sum of its residuals, which is what a penalty must bear,
    # exceeds sqrt(n) ||y - mean||: a larger penalty changes nothing but the rounding.
    most = math.sqrt(y.size) * float(np.linalg.norm(y - y.mean())) * (1 + 1e-9)
    total = np.zeros(y.size)
    free = 0.0
    for k, row in enumerate(rows):
        pieces = chain_kernels.fit(y, *row, penalty, most, total)
        free += pieces if scale is None else laplace_freedom(y, row, penalty, most, scale, k)
    total /= len(rows)
    return Fit(total, free / len(rows))


def laplace_freedom(y: Floats, row: Chain, penalty: float, most: float, scale: float, offset: int) -> float:
    """Exact on chains of up to `MAX_SAMPLED_PLACES` places; else that of every so manieth place, as many times."""
    from leastnoise.denoise import chain_kernels

    stride = math.ceil(y.size / MAX_SAMPLED_PLACES)
    part = chain_kernels.laplace_freedom(y, *row, penalty, most, scale, offset % stride, stride)
    return part * y.size / len(range(offset % stride, y.size, stride))


def least_risk(y: Floats, sigma: float, rows: list[Chain], scale: float | None) -> tuple[float, Fit]:
    """The penalty whose mean fit has the least unbiased risk: sigma doubled or halved until it is worse on both sides
    of the best, `DOUBLINGS_PAST_MINIMUM` times, and then two finer steps around it."""
    risks: dict[float, float] = {}
    best: Fit | None = None

    def least() -> float:
        return min(risks, key=risks.__getitem__)

    def attempt(exponent: float) -> None:
        nonlocal best
        made = mean_fit(y, rows, sigma * 2.0**exponent, scale)
        risk = float(((y - made.values) ** 2).sum()) + 2 * sigma**2 * made.free
        if best is None or risk < risks[least()]:
            best = made
        risks[exponent] = risk

    attempt(1.0)
    widest = math.log2(y.size) + 2
    while max(risks) < min(least() + DOUBLINGS_PAST_MINIMUM, widest):
        attempt(max(risks) + 1)
    while min(risks) > max(least() - DOUBLINGS_PAST_MINIMUM, LEAST_EXPONENT):
        attempt(min(risks) - 1)
    for step in (0.5, 0.25):
        centre = least()
        attempt(centre - step)
        attempt(centre + step)
    assert best is not None
    return sigma * 2.0 ** least(), best
