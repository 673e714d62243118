"""A Graph: public nodes and the undirected edges between them, to say which bins are near one another.

Frozen, and small: edges once as pairs u < v in increasing order, and as neighbour lists (compressed rows), all int32.
A graph is a public fact, like a domain: it must not have been drawn from the private table.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.graphs import foreign, places

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array

    from leastnoise.graphs import files

Integers = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Graph:
    """`size` nodes named 0 ... size-1, m edges, and perhaps a weight for each edge and a place for each node.

    >>> g = Graph.from_edges(4, [(0, 1), (2, 1)])
    >>> g
    <Graph of 4 nodes and 2 edges, in 2 components>
    >>> g.neighbours[g.start[1] : g.start[2]]
    array([0, 2], dtype=int32)
    """

    size: int
    edges: Integers  # m x 2, u < v, in increasing order
    weights: Floats | None = None  # one for each edge, above zero; None: all are 1
    coordinates: Floats | None = field(default=None, repr=False)  # size x 2: longitude and latitude, or x and y
    grid_shape: tuple[int, ...] | None = field(default=None, init=False, repr=False)  # of what `grid` made, else None
    periodic: bool = field(default=False, init=False, repr=False)  # whether the ends of that grid meet

    def __post_init__(self) -> None:
        _orderly(self.size, self.edges)
        _weights(self.weights, len(self.edges))
        _places(self.coordinates, self.size)
        for name in ("edges", "weights", "coordinates"):
            if getattr(self, name) is not None:
                own = getattr(self, name).view()  # the caller's array stays as it was
                own.flags.writeable = False
                object.__setattr__(self, name, own)

    @classmethod
    def from_edges(cls, size: int, edges: Any, *, weights: Any = None, coordinates: Any = None) -> Graph:
        """A graph from pairs of nodes in any order. Loops are dropped and parallel edges become one (their weights
        add), with a warning.

        size: how many nodes. edges: pairs (u, v) of node numbers, 0 ... size - 1.
        weights: one above zero for each edge; without, all are 1.
        coordinates: size by 2, longitude and latitude or x and y of each node.
        """
        pairs = _pairs(size, edges)
        heavy = _weights(weights, len(pairs))
        where_nodes_are = _places(coordinates, size)
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        proper = low != high
        code, where = np.unique(low[proper] * np.int64(size) + high[proper], return_inverse=True)
        lost = len(pairs) - len(code)
        if lost:
            warnings.warn(
                f"{lost:,} of {len(pairs):,} edges are loops or repeat another: loops say nothing and were dropped, "
                "parallel edges were merged.",
                errors.Wasteful,
                stacklevel=2,
            )
        merged = np.stack([code // max(size, 1), code % max(size, 1)], axis=1).astype(np.int32)
        total = None if heavy is None else np.bincount(where, heavy[proper], len(code)).astype(np.float64)
        if total is not None and not np.isfinite(total).all():
            raise errors.InvalidParameter("weights of parallel edges add up to more than a double holds.")
        return cls(size, merged, total, where_nodes_are)

    @classmethod
    def from_networkx(
        cls, graph: nx.Graph[Any], *, weight: str | None = None, coordinates: tuple[str, str] | None = None
    ) -> Graph:
        """A NetworkX graph of any kind, its nodes numbered in its own order; directions are forgotten.

        graph: of NetworkX. weight: the attribute of the edges that is their weight.
        coordinates: two attributes of the nodes (("x", "y") in OSMnx).
        """
        size, edges, weights, points = foreign.networkx_parts(graph, weight, coordinates)
        return cls.from_edges(size, edges, weights=weights, coordinates=points)

    @classmethod
    def from_igraph(cls, graph: Any, *, weight: str | None = None, coordinates: tuple[str, str] | None = None) -> Graph:
        """An igraph graph, its vertices numbered as there; directions are forgotten.

        graph: of igraph. weight: the attribute of the edges that is their weight.
        coordinates: two attributes of the vertices.
        """
        size, edges, weights, points = foreign.igraph_parts(graph, weight, coordinates)
        return cls.from_edges(size, edges, weights=weights, coordinates=points)

    @classmethod
    def from_scipy(cls, matrix: Any, *, weighted: bool = True, coordinates: Any = None) -> Graph:
        """A sparse adjacency matrix of SciPy: an edge wherever an entry, or the one opposite, is not zero.

        matrix: sparse, with a row and a column for each node. Each edge may be in it once or twice, then alike.
        weighted: whether the entries are the edges' weights; else all edges weigh 1.
        coordinates: size by 2, longitude and latitude or x and y of each node.
        """
        size, edges, weights, _ = foreign.scipy_parts(matrix, weighted)
        return cls.from_edges(size, edges, weights=weights, coordinates=coordinates)

    @classmethod
    def from_parquet(
        cls,
        nodes: files.Path,
        edges: files.Path,
        *,
        node: str = "id",
        ends: tuple[str, str] = ("u", "v"),
        weight: str | None = None,
        coordinates: tuple[str, str] | None = None,
    ) -> Graph:
        """A file of nodes and a file of edges between them: from the columns id, and u and v, unless named otherwise.

        Node i is the i-th row, whatever its name (a whole number or a string).

        nodes, edges: paths of Parquet files. node: the column of the nodes' names. ends: the columns of an edge's ends.
        weight: the column of the edges' weights, if any.
        coordinates: the columns of longitude and latitude; without, lon and lat where the file has both.
        """
        from leastnoise.graphs import files  # Arrow, which graphs of arrays do without

        names, points = files.read_nodes(nodes, node, coordinates)
        pairs, heavy = files.read_edges(edges, ends, weight, names)
        return cls.from_edges(len(names), pairs, weights=heavy, coordinates=points)

    @classmethod
    def nearest_neighbours(cls, points: Any, k: int, *, on: Literal["earth", "plane"] = "earth") -> Graph:
        """Each point joined to the k nearest others, and to those that count it among theirs.

        points: degrees of longitude and latitude (n by 2), or points of a plane or space (n by anything).
        k: how many neighbours. on: "earth" for degrees, "plane" for the others.
        """
        from scipy.spatial import cKDTree

        validation.word("on", on, ("earth", "plane"))
        where = np.array(points, dtype=np.float64)
        if where.ndim != 2 or not len(where) or (on == "earth" and where.shape[1] != 2):
            raise errors.InvalidParameter('points must be an array n by 2 (n by anything with on="plane").')
        if not np.isfinite(where).all():
            raise errors.InvalidParameter("points hold NaN or infinity.")
        size = len(where)
        count = min(validation.integer("k", k), size - 1)
        flat = places.sphere(where[:, 0], where[:, 1]) if on == "earth" else where
        found = np.asarray(cKDTree(flat).query(flat, k=count + 1)[1]).reshape(size, count + 1)
        # Among coincident points a point may not be its own first: drop it where it is, or else the furthest.
        spare = np.where((found == np.arange(size)[:, None]).any(axis=1), -1, count)
        keep = (found != np.arange(size)[:, None]) & (np.arange(count + 1) != spare[:, None])
        pairs = np.sort(np.stack([np.repeat(np.arange(size), count), found[keep]], axis=1), axis=1)
        return cls.from_edges(size, np.unique(pairs, axis=0), coordinates=where if where.shape[1] == 2 else None)

    @classmethod
    def path(cls, size: int) -> Graph:
        """0 - 1 - 2 - ...: `size` bins in a row."""
        return cls.grid((size,))

    @classmethod
    def cycle(cls, size: int) -> Graph:
        """A path of `size` bins whose ends meet: hours of the day, directions of the wind."""
        return cls.grid((size,), periodic=True)

    @classmethod
    def grid(cls, shape: tuple[int, ...], *, periodic: bool = False) -> Graph:
        """Bins of a lattice, numbered as NumPy flattens an array of that shape; each is joined to the next along
        every axis.

        shape: how many bins along each axis. periodic: whether the last is joined to the first.
        """
        if not len(shape) or not all(isinstance(length, (int, np.integer)) and length >= 1 for length in shape):
            raise errors.BadDomain(
                f"a grid needs whole numbers of bins above zero along its axes. Got {shape!r} instead."
            )
        lengths = tuple(int(length) for length in shape)
        size = math.prod(lengths)
        _fits(size)
        place = np.arange(size, dtype=np.int64).reshape(lengths)
        pairs = []
        for axis, length in enumerate(lengths):
            ahead = np.roll(place, -1, axis)
            closed = periodic and length > 2
            keep = np.arange(length if closed else length - 1)
            pairs.append(np.stack([place.take(keep, axis).ravel(), ahead.take(keep, axis).ravel()], axis=1))
        edges = np.sort(np.concatenate(pairs), axis=1)
        edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
        graph = cls(size, edges.astype(np.int32))
        object.__setattr__(graph, "grid_shape", lengths)
        object.__setattr__(graph, "periodic", periodic)
        return graph

    @cached_property
    def _rows(self) -> tuple[NDArray[np.int64], Integers, Integers]:
        """Where each node's list begins, the neighbours, and the number of the edge that leads there."""
        ends = np.concatenate([self.edges[:, 0], self.edges[:, 1]])
        far = np.concatenate([self.edges[:, 1], self.edges[:, 0]])
        order = np.lexsort((far, ends))
        start = np.zeros(self.size + 1, dtype=np.int64)
        np.cumsum(np.bincount(ends, minlength=self.size), out=start[1:])
        number = np.tile(np.arange(len(self.edges), dtype=np.int32), 2)
        return start, far[order], number[order]

    @property
    def start(self) -> NDArray[np.int64]:
        """The neighbours of node i are `neighbours[start[i] : start[i + 1]]`, in increasing order."""
        return self._rows[0]

    @property
    def neighbours(self) -> Integers:
        """All neighbour lists, one after the other."""
        return self._rows[1]

    @property
    def incident(self) -> Integers:
        """The number of the edge that leads to each of `neighbours`."""
        return self._rows[2]

    @property
    def degrees(self) -> NDArray[np.int64]:
        """How many neighbours each node has."""
        return np.diff(self.start)

    @cached_property
    def components(self) -> Integers:
        """The number of the connected component that each node is in: 0, 1, ..."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        ones = np.ones(len(self.neighbours), dtype=np.int8)
        matrix = csr_array((ones, self.neighbours, self.start), shape=(self.size, self.size))
        return np.asarray(connected_components(matrix, directed=False)[1], dtype=np.int32)

    def laplacian(self) -> csr_array:
        """L with b'Lb = sum over edges of weight (b_u - b_v)^2, sparse."""
        from scipy.sparse import csr_array, diags_array

        heavy = np.ones(len(self.edges)) if self.weights is None else self.weights
        pull = csr_array((heavy[self.incident], self.neighbours, self.start), shape=(self.size, self.size))
        return csr_array(diags_array(pull.sum(axis=1)) - pull)

    def nearest(self, points: Any, *, within: float) -> NDArray[np.int64]:
        """The number of the node nearest to each point, -1 where none is near. Ten million points go in chunks.

        points: n by 2, longitude and latitude. within: how many metres away a node may be.
        """
        if self.coordinates is None:
            raise errors.MissingParameter(
                "this graph does not know where its nodes are. Make it with the coordinates of its nodes.",
                parameter="coordinates",
                example={"coordinates": ...},
            )
        reach = validation.number("within", within)
        where = np.asarray(points)
        if where.ndim != 2 or where.shape[1] != 2 or where.dtype.kind not in "iuf":
            raise errors.InvalidParameter("points must be an array n by 2: longitude and latitude.")
        return places.nearest(self.coordinates, where, reach)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.grid_shape is not None:
            return partial(Graph.grid, periodic=self.periodic), (self.grid_shape,)
        return Graph, (self.size, self.edges, self.weights, self.coordinates)

    def __repr__(self) -> str:
        parts = int(self.components.max()) + 1 if self.size else 0
        shape = "connected" if parts == 1 else f"in {parts:,} components"
        return f"<Graph of {self.size:,} nodes and {len(self.edges):,} edges, {shape}>"


def _fits(size: int) -> None:
    if size >= 2**31:
        raise errors.BadDomain(f"a graph may have at most {2**31 - 1:,} nodes. Got {size:,} instead.")


def _pairs(size: int, edges: Any) -> NDArray[np.int64]:
    pairs = np.asarray(edges)
    _named(size, pairs)
    return pairs.astype(np.int64) if pairs.size else np.zeros((0, 2), dtype=np.int64)


def _named(size: int, pairs: NDArray[Any]) -> None:
    """Refuse edges that are no pairs of the graph's nodes."""
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise errors.InvalidParameter(f"a graph needs a whole number of nodes above zero. Got {size!r} instead.")
    _fits(int(size))
    if pairs.size == 0:
        return
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise errors.WrongType("edges must be pairs of node numbers: a list of (u, v), or an integer array m by 2.")
    least, most = int(pairs.min()), int(pairs.max())
    if least < 0 or most >= size:
        raise errors.BadDomain(f"edges name node {least if least < 0 else most}, and the nodes are 0 ... {size - 1}.")


def _orderly(size: int, edges: Any) -> None:
    """Refuse edges as everything else here could not read them."""
    pairs = np.asarray(edges)
    _named(size, pairs)
    if edges is pairs and pairs.dtype == np.int32 and pairs.shape == (len(pairs), 2):
        u, v = pairs.T
        later = (u[1:] > u[:-1]) | ((u[1:] == u[:-1]) & (v[1:] > v[:-1]))
        if (u < v).all() and later.all():
            return
    raise errors.WrongType(
        "Graph(...) takes edges as an int32 array of pairs u < v in increasing order. Graph.from_edges takes any."
    )


def _weights(weights: Any, count: int) -> Floats | None:
    if weights is None:
        return None
    heavy = np.asarray(weights, dtype=np.float64)
    if heavy.shape != (count,):
        raise errors.InvalidParameter(f"weights must be one number for each of the {count:,} edges.")
    if not (np.isfinite(heavy) & (heavy > 0)).all():
        raise errors.InvalidParameter(
            "weights of edges must be finite and above zero. Leave out edges that mean nothing."
        )
    return heavy


def _places(coordinates: Any, size: int) -> Floats | None:
    if coordinates is None:
        return None
    where = np.array(coordinates, dtype=np.float64)
    if where.shape != (size, 2):
        raise errors.InvalidParameter(f"coordinates must be an array {size:,} by 2: one place for each node.")
    if not np.isfinite(where).all():
        raise errors.InvalidParameter("coordinates hold NaN or infinity.")
    return where


def check_graph(graph: Any) -> Graph:
    """The graph, if it is one of ours; else an error that says whose it is."""
    if not isinstance(graph, Graph):
        raise foreign.refusal(graph)
    return graph
