"""A spanning tree of every component of a graph, chosen at random: every tree is equally likely (with weights: in
proportion to their product), so an edge is in it with probability weight x effective resistance, and no cut of the
graph is cut much more by the tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastnoise.graphs import Graph


def spanning_tree(graph: Graph, rng: np.random.Generator) -> NDArray[np.int32]:
    """The edges of the tree (of each component), k x 2."""
    from leastnoise.denoise._trees import tree_kernels as kernels

    if is_forest(graph):
        return graph.edges
    heavy = np.empty(0) if graph.weights is None else graph.weights[graph.incident]
    parent = kernels.wilson(graph.start, graph.neighbours, heavy, graph.components, int(rng.integers(2**63)))
    child = np.flatnonzero(parent >= 0).astype(np.int32)
    return np.stack([child, parent[child]], axis=1)


def is_forest(graph: Graph) -> bool:
    """Whether there is only one spanning tree (of each component)."""
    return len(graph.edges) == graph.size - 1 - int(graph.components.max())


def random_roots(graph: Graph, rng: np.random.Generator) -> NDArray[np.int32]:
    """A random node of each component."""
    many = np.bincount(graph.components)
    if many.size == 1:
        return rng.integers(graph.size, size=1, dtype=np.int32)
    place = np.cumsum(many) - many + rng.integers(many)
    return np.asarray(np.argsort(graph.components, kind="stable")[place], dtype=np.int32)
