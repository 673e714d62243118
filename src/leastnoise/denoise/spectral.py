"""The monotone spectral filter: every frequency of the graph kept by a factor that falls with frequency.

    h = U diag(s) U'y,     s = argmin over 1 >= s_1 >= s_2 >= ... >= 0 of  sum_k (1 - s_k)^2 c_k^2 + 2 sigma^2 s_k

with U the eigenvectors of the graph's Laplacian by rising eigenvalue and c = U'y: of all filters that fall, the one of
least unbiased risk (Beran & Dumbgen 1998, "modulation estimators"). Cut-offs, Laplacian smoothing at any penalty and
Pinsker's filters (1980), minimax among linear rules over Sobolev balls, are among them, so there is nothing to tune. It
is an isotonic regression, and found exactly: on a block of m frequencies that were pooled, with energy E = sum c_k^2,
the factor is (1 - m sigma^2 / E)^+. Equal eigenvalues share theirs, and constants on components are kept.

**Degrees of freedom.** Blocks stay as they are under a small move, so that of a block above zero is
m - m (m - 2) sigma^2 / E, and choosing the filter is counted, exactly. Under Laplace noise a block is treated as in
`shrink.py`, as if it had an equal share of every bin and stayed as it is under moves as large as the noise: nearly so.

**Large graphs** that are no lattices have no eigenvectors here. There s is the convex mixture of least unbiased risk of
low-pass filters at 24 cut-offs (`_graph/low_pass.py`), of y and of the component means: again filters that fall, but
for ripples of the polynomials. Each weight above zero but one counts as a degree of freedom, as in least squares, and
the rest is linear, so that the law of the noise does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from leastnoise._support.threads import one_thread
from leastnoise._support.validation import Number
from leastnoise.denoise._graph.frequencies import Frequencies, frequencies
from leastnoise.denoise._graph.lattices import row
from leastnoise.denoise._graph.low_pass import LowPass
from leastnoise.denoise._graph.spectrum import component_means
from leastnoise.denoise._mixture.simplex import least_on_simplex
from leastnoise.denoise.arrays import Floats, Mechanism, given_on_graph
from leastnoise.denoise.estimator import estimator
from leastnoise.denoise.risk import stein_estimate
from leastnoise.denoise.shrink import laplace_slope
from leastnoise.graphs import Graph
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.noise import Noise

SAME_EIGENVALUE = 1e-9  # of the largest
LEAST_ENERGY = 1e-9  # sigma^2; what has less is noise of nothing


class Filtered(NamedTuple):
    """Values in units of sigma, and their degrees of freedom under a distribution of the noise."""

    values: Floats
    free: Callable[[Mechanism], float]


@estimator
def spectral(
    y: Any, sigma: Number, *, graph: Graph | None = None, seed: int = 0, mechanism: Mechanism = "gaussian"
) -> Estimate:
    """Keep each frequency of the graph by a factor that falls with frequency: the filter of least unbiased risk.

    y: one noisy value for each node, in any shape. sigma: the standard deviation of their noise.
    graph: which values are near one another; without it, they are a row.
    seed: of the probes that estimate traces, on graphs of more than 1,500 nodes that are no lattice.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> spectral([0.1, 1.3, 1.6, 3.4, 3.8, 5.1, 6.2, 6.7], sigma=0.3).values.round(1)
    array([0.4, 1. , 1.7, 3. , 4.1, 5.2, 6.1, 6.6])
    """
    near = row(y) if graph is None else graph
    array, level = given_on_graph(y, sigma, mechanism, near)
    flat = array.ravel() / level
    with one_thread():
        basis = frequencies(near) or LowPass(near, seed)
        made = _monotone(flat, basis) if isinstance(basis, Frequencies) else _mixed(flat, basis)
    values = level * made.values

    @cache
    def estimate_risk() -> RiskEstimate:
        with one_thread():
            free = made.free(mechanism)
        return stein_estimate(float(((array.ravel() - values) ** 2).sum()), min(free, flat.size), flat.size, level)

    return Estimate(
        values=values.reshape(array.shape),
        noisy=array,
        noise=Noise.of(mechanism, sigma=level),
        method="spectral",
        parameters={"filter": "monotone" if isinstance(basis, Frequencies) else "mixture of low-pass filters"},
        estimate_risk=estimate_risk,
    )


def _monotone(y: Floats, basis: Frequencies) -> Filtered:
    from scipy.optimize import isotonic_regression

    c = basis.forward(y)
    order = np.argsort(basis.theta, kind="stable")
    theta = basis.theta[order]
    step = np.diff(theta) > SAME_EIGENVALUE * max(float(theta[-1]), np.finfo(float).tiny)
    block = np.concatenate([[0], np.cumsum(step)])  # of equal eigenvalues; the first are the constants
    count = np.bincount(block)[1:]
    energy = np.maximum(np.bincount(block, c[order] ** 2)[1:], LEAST_ENERGY)
    constants = float(y.size - count.sum())
    if not count.size:
        return Filtered(y.copy(), lambda mechanism: constants)
    fit = isotonic_regression(1 - count / energy, weights=energy, increasing=False)
    pooled = np.repeat(np.arange(fit.blocks.size - 1), np.diff(fit.blocks))
    m, total = np.bincount(pooled, count), np.bincount(pooled, energy)
    factor = np.maximum(1 - m / total, 0.0)
    place = np.empty(y.size, dtype=np.int64)  # the pooled block of each frequency, from 1 on; 0 are the constants
    place[order] = np.concatenate([[0], pooled + 1])[block]

    def free(mechanism: Mechanism) -> float:
        kept = factor > 0
        if mechanism == "gaussian":
            return constants + float((m - m * (m - 2) / total)[kept].sum())
        slopes = [_laplace(basis, np.where(place == k + 1, c, 0.0), float(m[k])) for k in np.flatnonzero(kept)]
        return constants + sum(slopes)

    return Filtered(basis.inverse(np.append(1.0, factor)[place] * c), free)


def _laplace(basis: Frequencies, block: Floats, dimensions: float) -> float:
    """The divergence of a block that is shrunk."""
    total, share = float(block @ block), dimensions / block.size
    return float(laplace_slope(basis.inverse(block), total, dimensions, 1.0, share, True, np))


def _mixed(y: Floats, low_pass: LowPass) -> Filtered:
    mean = component_means(y, low_pass.graph)
    components = int(low_pass.graph.components.max()) + 1
    candidates = np.concatenate([[np.zeros(y.size)], low_pass(y - mean), [y - mean]])
    traces = np.concatenate([[0.0], low_pass.traces, [float(y.size - components)]])
    residual = y - mean - candidates
    weights = least_on_simplex(residual @ residual.T, traces)
    free = float(weights @ traces) + np.count_nonzero(weights) - 1
    return Filtered(mean + weights @ candidates, lambda mechanism: components + free)
