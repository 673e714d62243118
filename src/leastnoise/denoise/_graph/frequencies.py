"""The eigenvectors of a graph's Laplacian: its frequencies, from constants on the components to what alternates.

paths and grids     the cosine transform of every component: any size
other graphs        eigenvectors, written out: up to `MAX_NODES_FOR_EIGENVECTORS` nodes
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from leastnoise import errors
from leastnoise.denoise._graph.lattices import Lattices, lattices
from leastnoise.denoise.arrays import Floats
from leastnoise.graphs import Graph

MAX_NODES_FOR_EIGENVECTORS = 1500


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """Eigenvalues theta of L = U diag(theta) U', and U' and U as functions. They are zero once a component."""

    theta: Floats
    forward: Callable[[Floats], Floats]  # U'y
    inverse: Callable[[Floats], Floats]  # U c


def frequencies(graph: Graph) -> Frequencies | None:
    """Where they can be had exactly."""
    if graph.weights is None:
        with suppress(errors.InvalidParameter):
            found = lattices(graph)
            if not any(each.periodic for each in found):
                return _cosines(found)
    return _eigenvectors(graph) if graph.size <= MAX_NODES_FOR_EIGENVECTORS else None


def _cosines(found: list[Lattices]) -> Frequencies:
    from scipy.fft import dctn, idctn

    def over_all(y: Floats, change: Callable[..., Floats]) -> Floats:
        made = np.empty(y.size)
        for each in found:
            axes = tuple(range(1, each.nodes.ndim))
            made[each.nodes] = change(y[each.nodes], axes=axes, norm="ortho")
        return made

    theta = np.empty(sum(each.nodes.size for each in found))
    for each in found:
        along = [2 - 2 * np.cos(np.pi * np.arange(length) / length) for length in each.shape]
        theta[each.nodes] = sum(np.ix_(*along), start=np.zeros(each.shape))
    return Frequencies(theta, lambda y: over_all(y, dctn), lambda c: over_all(c, idctn))


def _eigenvectors(graph: Graph) -> Frequencies:
    theta, vectors = np.linalg.eigh(graph.laplacian().toarray())
    theta[: int(graph.components.max()) + 1] = 0.0
    return Frequencies(theta, lambda y: np.asarray(vectors.T @ y), lambda c: np.asarray(vectors @ c))
