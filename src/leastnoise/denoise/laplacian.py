"""Laplacian smoothing: every value drawn toward its neighbours, linearly.

    h = argmin_b  ||y - b||^2 + penalty sum over edges of weight (b_u - b_v)^2 = (1 + penalty L)^-1 y

Linear in y, so with S = (1 + penalty L)^-1 the risk ||y - h||^2 + 2 sigma^2 tr S - n sigma^2 is unbiased whatever the
law of the noise (Mallows' Cp). Choosing the penalty p by it costs more. Where the risk R is least, differentiating
R' = 0 tells how p follows y: with S = 1/(1 + p theta), r = 1 - S, and energies m of y along the spectrum theta of L,

    4 sum m r^3 S^2 / R'',     R'' = 2 sum m r^2 S (2 S - r) - 2 sigma^2 sum r S (S - r)      (in log p)

degrees of freedom are added.

**Where the energy lies**, of y and of pure noise: a `Spectrum` holds places theta and masses m with
y' f(L) y = sum m f(theta)  for y, and the same for the trace.

    a grid              the cosine transform diagonalises L: exact
    up to 512 nodes     eigenvectors: exact
    otherwise           Lanczos from y and from random signs z with E z' f(L) z = tr f(L) (Hutchinson 1990), whose
                        tridiagonal matrices hold Gauss quadratures (Golub & Meurant 1994); a few steps serve all f

Constants on components, where L is zero, are always taken apart: they are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support.runtime import one_thread
from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import Floats, Mechanism, penalty_or_word
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.total_variation import centred, component_means
from leastnoise.graphs import Graph

PENALTIES = 10.0 ** np.arange(-4, 5.01, 0.25)  # over the mean place of the spectrum
MAX_TUNING_DEGREES_OF_FREEDOM = 8.0  # degrees of freedom that the choice of one number may cost
MAX_NODES_FOR_EIGENVECTORS = 512
LANCZOS_STEPS = 60
SOLVER_TOLERANCE = 1e-10  # of the residual, relative


@denoiser()
def laplacian(
    y: Any,
    sigma: float,
    *,
    graph: Graph,
    penalty: Number | Literal["sure"] = "sure",
    seed: int = 0,
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """Smooth values: each is drawn toward its neighbours with a strength that is given, or of least unbiased risk.

    y: one noisy value for each node, in any shape. sigma: the standard deviation of their noise.
    graph: which values are near one another.
    penalty: a number from 0 to infinity, or "sure": the one of least unbiased risk.
    seed: of the probes that estimate the trace, on graphs of more than 512 nodes that are no grid.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> laplacian([0.0, 0.0, 3.0, 0.0, 0.0], sigma=1.0, graph=Graph.path(5), penalty=1.0).values.round(2)
    array([0.27, 0.55, 1.36, 0.55, 0.27])
    """
    given = penalty_or_word(penalty)
    with one_thread():
        bands = spectrum(y, graph, seed)
        p, cost = least_risk(bands, sigma) if given is None else (given, 0.0)
        values = y.copy() if p == 0 else component_means(y, graph.components) if p == math.inf else bands.solve(p)
        free = bands.components + float(bands.mass @ _smooth(p, bands.theta_trace)) + cost
    chosen = {"penalty": p, "chosen": "sure" if given is None else "given"}
    return Denoised(values, chosen, Stein(min(free, y.size)))


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


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """The energy of y and the trace, apart from the constants of the components; and (1 + p L)^-1 of y."""

    theta: Floats
    energy: Floats
    theta_trace: Floats
    mass: Floats
    components: int
    solve: Callable[[float], Floats]


def spectrum(y: Floats, graph: Graph, seed: int) -> Spectrum:
    """By the exact way that there is, or else by Lanczos."""
    if (shape := _grid_shape(graph)) is not None:
        return _cosines(y, shape)
    return _eigen(y, graph) if graph.size <= MAX_NODES_FOR_EIGENVECTORS else _lanczos(y, graph, seed)


def _grid_shape(graph: Graph) -> tuple[int, ...] | None:
    """Of a graph that was made as a grid without ends that meet, or whose edges are those of a path."""
    if graph.grid_shape is not None:
        return None if graph.periodic else graph.grid_shape
    is_path = graph.weights is None and np.array_equal(graph.edges, Graph.path(graph.size).edges)
    return (graph.size,) if is_path else None


def _cosines(y: Floats, shape: tuple[int, ...]) -> Spectrum:
    from scipy.fft import dctn, idctn

    axes = [2 - 2 * np.cos(np.pi * np.arange(length) / length) for length in shape]
    theta = sum(np.ix_(*axes), start=np.zeros(shape))
    hat = np.asarray(dctn(y.reshape(shape), norm="ortho"))
    flat, energy = theta.ravel()[1:], (hat**2).ravel()[1:]
    solve = lambda p: np.asarray(idctn(hat / (1 + p * theta), norm="ortho")).ravel()  # noqa: E731
    return Spectrum(flat, energy, flat, np.ones(flat.size), 1, solve)


def _eigen(y: Floats, graph: Graph) -> Spectrum:
    theta, vectors = np.linalg.eigh(graph.laplacian().toarray())
    components = int(graph.components.max()) + 1
    theta[:components] = 0.0
    hat = vectors.T @ y.ravel()
    rest = slice(components, None)
    solve = lambda p: np.asarray(vectors @ (hat / (1 + p * theta))).reshape(y.shape)  # noqa: E731
    return Spectrum(theta[rest], hat[rest] ** 2, theta[rest], np.ones(theta[rest].size), components, solve)


def _lanczos(y: Floats, graph: Graph, seed: int) -> Spectrum:
    matrix = graph.laplacian()
    rest = centred(y, graph.components)
    components = int(graph.components.max()) + 1
    probes = int(np.clip(200_000 // graph.size, 4, 48))
    rng = np.random.default_rng(seed)
    theta, energy = quadrature(matrix, rest)
    seen = []
    for _ in range(probes):
        signs = rng.choice(np.array([-1.0, 1.0]), graph.size)
        seen.append(quadrature(matrix, centred(signs, graph.components)))
    theta_trace, mass = np.concatenate(seen, axis=1)
    mass *= (graph.size - components) / max(mass.sum(), np.finfo(float).tiny)

    def solve(p: float) -> Floats:
        from scipy.sparse import diags_array, eye_array
        from scipy.sparse.linalg import cg

        system = (eye_array(graph.size, format="csr") + p * matrix).tocsr()
        found, failed = cg(system, rest, rtol=SOLVER_TOLERANCE, maxiter=20_000, M=diags_array(1 / system.diagonal()))
        if failed:
            raise errors.NotProved(f"(1 + {p:.3g} L) b = y was not solved. Say a smaller penalty.")
        return np.asarray(found + (y - rest))

    return Spectrum(theta, energy, theta_trace, mass, components, solve)


def quadrature(matrix: Any, x: Floats) -> tuple[Floats, Floats]:
    """Places and masses with x' f(L) x = sum mass f(place), after a few steps of Lanczos."""
    from scipy.linalg import eigh_tridiagonal

    norm = float(np.linalg.norm(x))
    if norm == 0:
        return np.zeros(1), np.zeros(1)
    alpha: list[float] = []
    beta = [0.0]
    before, now = np.zeros(1), x / norm
    for _ in range(min(LANCZOS_STEPS, x.size)):
        ahead = matrix @ now
        if alpha:
            ahead -= beta[-1] * before
        alpha.append(float(ahead @ now))
        ahead -= alpha[-1] * now
        beta.append(float(np.linalg.norm(ahead)))
        if beta[-1] <= 1e-12 * max(alpha):  # the space is exhausted: what would follow is rounding
            break
        ahead /= beta[-1]
        before, now = now, ahead
    places, vectors = eigh_tridiagonal(np.array(alpha), np.array(beta[1:-1]))
    return np.maximum(places, 0.0), (norm * vectors[0]) ** 2
