"""A graph taken apart into paths, cycles and grids, where it is made of nothing else.

Along an ordered axis of a table there is one path for each combination of the other axes, all of one length; over two
ordered axes there are grids. Components of one kind are handed back together, as an array of node numbers.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise.graphs import Graph

Nodes = NDArray[np.int64]


class Lattices(NamedTuple):
    """Components of one shape: `nodes[c]` holds the nodes of component c, where they are."""

    nodes: Nodes  # components x shape
    periodic: bool  # whether the last is next to the first: a cycle

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one component."""
        return self.nodes.shape[1:]


def lattices(graph: Graph) -> list[Lattices]:
    """All components, by kind; a component that is neither a path, a cycle nor a grid is refused."""
    part = graph.components
    order = np.argsort(part, kind="stable")
    sizes = np.bincount(part)
    first = np.concatenate([[0], np.cumsum(sizes)])
    place = np.empty(graph.size, dtype=np.int64)  # within the component, by number
    place[order] = np.arange(graph.size) - np.repeat(first[:-1], sizes)
    of_edge = part[graph.edges[:, 0]]
    edges = place[graph.edges[np.argsort(of_edge, kind="stable")]]
    begin = np.concatenate([[0], np.cumsum(np.bincount(of_edge, minlength=sizes.size))])
    alike: dict[tuple[int, bytes], list[int]] = {}
    for c in range(sizes.size):
        alike.setdefault((int(sizes[c]), edges[begin[c] : begin[c + 1]].tobytes()), []).append(c)
    made = []
    for (size, _), members in alike.items():
        c = members[0]
        arranged, periodic = _arranged(size, edges[begin[c] : begin[c + 1]])
        nodes = np.stack([order[first[c] : first[c] + size] for c in members])
        made.append(Lattices(nodes[:, arranged], periodic))
    return made


def is_of_lattices(graph: Graph) -> bool:
    """Whether there are no weights, and nothing but paths, cycles and grids."""
    with suppress(errors.InvalidParameter):
        return graph.weights is None and bool(lattices(graph))
    return False


def paths(graph: Graph) -> list[Nodes]:
    """The same where all components are paths: arrays of components x length."""
    made = lattices(graph)
    if any(each.periodic or len(each.shape) > 1 for each in made):
        raise errors.InvalidParameter(
            "this needs bins in a row: one path, or several of which none touches another. The graph has a cycle or a "
            "grid. Of a release with several ordered axes name one of them by along.",
            parameter="graph",
        )
    return [each.nodes for each in made]


def _arranged(size: int, edges: Nodes) -> tuple[Nodes, bool]:
    """The nodes 0 ... size - 1 of one component as an array of its shape, and whether it is a cycle."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    if size > 2 and np.array_equal(edges, Graph.cycle(size).edges):
        return np.arange(size), True
    strides = np.sort(edges[edges[:, 0] == 0, 1])  # to the neighbours of node 0, were it a corner of a grid
    lengths = [*np.diff(np.log(np.append(strides, size)))]
    shape = tuple(round(math.exp(length)) for length in reversed(lengths)) or (1,)
    if math.prod(shape) == size and np.array_equal(edges, Graph.grid(shape).edges):
        return np.arange(size).reshape(shape), False
    degrees = np.bincount(edges.ravel(), minlength=size)
    if len(edges) == size - 1 and degrees.max() <= 2:
        matrix = coo_array((np.ones(len(edges)), edges.T), shape=(size, size)).tocsr()
        end = int(np.argmax(degrees == 1))
        return breadth_first_order(matrix, end, directed=False, return_predecessors=False).astype(np.int64), False
    raise errors.InvalidParameter(
        f"a component of {size:,} nodes and {len(edges):,} edges is neither a path, a cycle nor a grid, and this "
        "method knows no others. On any graph there are tree_wavelet, laplacian, fused_lasso, trend_filter.",
        parameter="graph",
    )
