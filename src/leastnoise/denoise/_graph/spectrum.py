"""Functions of a graph's Laplacian without its eigenvectors: where the energy of y, and of pure noise, lies.

A `Spectrum` holds places theta and masses m with  y' f(L) y = sum m f(theta)  for y, and the same for the trace.

    a lattice           the cosine transform diagonalises L: exact
    up to 512 nodes     eigenvectors: exact
    otherwise           Lanczos from y and from random signs z with E z' f(L) z = tr f(L) (Hutchinson 1990), whose
                        tridiagonal matrices hold Gauss quadratures (Golub & Meurant 1994); a few steps serve all f

Constants on components, where L is zero, are always taken apart: they are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise.denoise.arrays import Floats
from leastnoise.graphs import Graph

MAX_NODES_FOR_EIGENVECTORS = 512
LANCZOS_STEPS = 60
SOLVER_TOLERANCE = 1e-10  # of the residual, relative


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
    if graph.weights is None and is_lattice(graph, y.shape):
        return _cosines(y)
    return _eigen(y, graph) if graph.size <= MAX_NODES_FOR_EIGENVECTORS else _lanczos(y, graph, seed)


def is_lattice(graph: Graph, shape: tuple[int, ...]) -> bool:
    """Whether this is Graph.grid(shape)."""
    many = sum(math.prod(shape) // length * (length - 1) for length in shape)
    return len(graph.edges) == many and bool(np.array_equal(graph.edges, Graph.grid(shape).edges))


def component_means(x: Floats, graph: Graph) -> Floats:
    """Each value replaced by the mean of its component."""
    part = graph.components
    return np.asarray((np.bincount(part, x.ravel()) / np.bincount(part))[part].reshape(x.shape))


def _cosines(y: Floats) -> Spectrum:
    from scipy.fft import dctn, idctn

    axes = [2 - 2 * np.cos(np.pi * np.arange(length) / length) for length in y.shape]
    theta = sum(np.ix_(*axes), start=np.zeros(y.shape))
    hat = np.asarray(dctn(y, norm="ortho"))
    flat, energy = theta.ravel()[1:], (hat**2).ravel()[1:]
    solve = lambda p: np.asarray(idctn(hat / (1 + p * theta), norm="ortho"))  # noqa: E731
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
    mean = component_means(y, graph).ravel()
    centred = y.ravel() - mean
    components = int(graph.components.max()) + 1
    probes = int(np.clip(200_000 // graph.size, 4, 48))
    rng = np.random.default_rng(seed)
    theta, energy = quadrature(matrix, centred)
    seen = []
    for _ in range(probes):
        signs = rng.choice(np.array([-1.0, 1.0]), graph.size)
        seen.append(quadrature(matrix, signs - component_means(signs, graph)))
    theta_trace, mass = np.concatenate(seen, axis=1)
    mass *= (graph.size - components) / max(mass.sum(), np.finfo(float).tiny)

    def solve(p: float) -> Floats:
        from scipy.sparse import diags_array, eye_array
        from scipy.sparse.linalg import cg

        system = (eye_array(graph.size, format="csr") + p * matrix).tocsr()
        found, failed = cg(system, centred, rtol=SOLVER_TOLERANCE, maxiter=20_000, M=diags_array(1 / system.diagonal()))
        if failed:
            raise errors.NotProved(f"(1 + {p:.3g} L) b = y was not solved. Say a smaller penalty.")
        return np.asarray((found + mean).reshape(y.shape))

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
