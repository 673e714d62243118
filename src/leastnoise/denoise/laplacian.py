"""Laplacian smoothing: every value drawn toward its neighbours, linearly.

    h = argmin_b  ||y - b||^2 + penalty sum over edges of weight (b_u - b_v)^2 = (1 + penalty L)^-1 y

Linear in y, so with S = (1 + penalty L)^-1 the risk ||y - h||^2 + 2 sigma^2 tr S - n sigma^2 is unbiased whatever the
law of the noise (Mallows' Cp). Choosing the penalty p by it costs more. Where the risk R is least, differentiating
R' = 0 tells how p follows y: with S = 1/(1 + p theta), r = 1 - S, and energies m of y along the spectrum theta of L,

    4 sum m r^3 S^2 / R'',     R'' = 2 sum m r^2 S (2 S - r) - 2 sigma^2 sum r S (S - r)      (in log p)

degrees of freedom are added.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from leastnoise._support.threads import one_thread
from leastnoise._support.validation import Number
from leastnoise.denoise._graph.spectrum import Spectrum, component_means, spectrum
from leastnoise.denoise.arrays import Mechanism, given_on_graph, penalty_or_word
from leastnoise.denoise.estimator import estimator
from leastnoise.denoise.risk import stein_estimate
from leastnoise.graphs import Graph
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.noise import Noise

PENALTIES = 10.0 ** np.arange(-4, 5.01, 0.25)  # over the mean place of the spectrum
MAX_TUNING_DEGREES_OF_FREEDOM = 8.0  # degrees of freedom that the choice of one number may cost


@estimator
def laplacian(
    y: Any,
    sigma: Number,
    *,
    graph: Graph,
    penalty: Number | Literal["sure"] = "sure",
    seed: int = 0,
    mechanism: Mechanism = "gaussian",
) -> Estimate:
    """Smooth values: each is drawn toward its neighbours with a strength that is given, or of least unbiased risk.

    y: one noisy value for each node, in any shape. sigma: the standard deviation of their noise.
    graph: which values are near one another.
    penalty: a number from 0 to infinity, or "sure": the one of least unbiased risk.
    seed: of the probes that estimate the trace, on graphs of more than 512 nodes that are no lattice.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> laplacian([0.0, 0.0, 3.0, 0.0, 0.0], sigma=1.0, graph=Graph.path(5), penalty=1.0).values.round(2)
    array([0.27, 0.55, 1.36, 0.55, 0.27])
    """
    array, level = given_on_graph(y, sigma, mechanism, graph)
    given = penalty_or_word(penalty)
    with one_thread():
        bands = spectrum(array, graph, seed)
        p, cost = least_risk(bands, level) if given is None else (given, 0.0)
        values = array.copy() if p == 0 else component_means(array, graph) if p == math.inf else bands.solve(p)
        free = bands.components + float(bands.mass @ _smooth(p, bands.theta_trace)) + cost
        residual = float(((array - values) ** 2).sum())
    estimated = stein_estimate(residual, min(free, array.size), array.size, level)
    return Estimate(
        values=values,
        noisy=array,
        noise=Noise.of(mechanism, sigma=level),
        method="laplacian",
        parameters={"penalty": p, "chosen": "sure" if given is None else "given"},
        estimate_risk=lambda: estimated,
    )


def least_risk(bands: Spectrum, sigma: float) -> tuple[float, float]:
    """The penalty of least risk, from none to infinite, and what choosing it cost."""
    from scipy.optimize import minimize_scalar

    if bands.mass.size == 0 or not bands.energy.any():
        return math.inf, 0.0
    unit = bands.mass.sum() / (bands.mass @ bands.theta_trace)
    tried = unit * PENALTIES
    risks = [_risk(p, bands, sigma) for p in tried]
    best = int(np.argmin(risks))
    if not 0 < best < tried.size - 1:
        return (0.0 if best == 0 else math.inf), 0.0
    around = math.log(tried[best - 1]), math.log(tried[best + 1])
    found = minimize_scalar(lambda u: _risk(math.exp(u), bands, sigma), bounds=around, method="bounded")
    p = math.exp(found.x)
    if min(_risk(0.0, bands, sigma), _risk(math.inf, bands, sigma)) < found.fun:
        return (0.0 if _risk(0.0, bands, sigma) < _risk(math.inf, bands, sigma) else math.inf), 0.0
    return p, _choice(p, bands, sigma)


def _risk(p: float, bands: Spectrum, sigma: float) -> float:
    moved = bands.energy @ (1 - _smooth(p, bands.theta)) ** 2
    return float(moved + 2 * sigma**2 * (bands.mass @ _smooth(p, bands.theta_trace)))


def _choice(p: float, bands: Spectrum, sigma: float) -> float:
    s, z = _smooth(p, bands.theta), _smooth(p, bands.theta_trace)
    r, q = 1 - s, 1 - z
    bend = 2 * bands.energy @ (r**2 * s * (2 * s - r)) - 2 * sigma**2 * (bands.mass @ (q * z * (z - q)))
    gain = 4 * bands.energy @ (r**3 * s**2)
    return float(min(gain / bend, MAX_TUNING_DEGREES_OF_FREEDOM)) if bend > 0 else MAX_TUNING_DEGREES_OF_FREEDOM


def _smooth(p: float, theta: Any) -> Any:
    return np.zeros_like(theta) if p == math.inf else 1 / (1 + p * theta)
