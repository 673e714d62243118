"""A spanning tree of every component of a graph: the edges of one, chosen at random or by length.

uniform   every spanning tree is equally likely (with weights: in proportion to their product), so an edge is in
          it with probability weight x effective resistance, and no cut of the graph is cut much more by the tree
dfs       depth first from a random node, neighbours at random: long branches
minimum   least total length, where an edge of weight w has length 1/w; ties, and so all without weights, at random
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leastnoise.graphs import Graph

Kind = Literal["uniform", "dfs", "minimum"]
KINDS = ("uniform", "dfs", "minimum")


def spanning_tree(graph: Graph, kind: Kind, rng: np.random.Generator) -> NDArray[np.int32]:
    """The edges of the tree (of each component), k x 2."""
    from leastnoise.denoise._trees import tree_kernels as kernels

    if is_forest(graph):
        return graph.edges
    seed = int(rng.integers(2**63))
    if kind == "minimum":
        mixed = rng.permutation(len(graph.edges))
        if graph.weights is not None:
            mixed = mixed[np.argsort(-graph.weights[mixed], kind="stable")]
        return graph.edges[kernels.kruskal(graph.edges, mixed, graph.size)]
    if kind == "uniform":
        heavy = np.empty(0) if graph.weights is None else graph.weights[graph.incident]
        parent = kernels.wilson(graph.start, graph.neighbours, heavy, graph.components, seed)
    else:
        roots = random_roots(graph, rng)
        _, parent, _ = kernels.depth_first(
            graph.start, graph.neighbours.copy(), np.empty(0, dtype=np.uint8), roots, seed
        )
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
