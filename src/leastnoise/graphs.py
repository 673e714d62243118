"""A Graph: public nodes and the undirected edges between them, to say which bins are near one another.

Frozen, and small: edges once as pairs u < v in increasing order, and as neighbour lists (compressed rows), all int32.
A graph is a public fact, like a domain: it must not have been drawn from the private table.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors

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

    def __post_init__(self) -> None:
        for array in (self.edges, self.weights, self.coordinates):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_edges(cls, size: int, edges: Any, *, weights: Any = None, coordinates: Any = None) -> Graph:
        """A graph from pairs of nodes in any order. Loops are dropped and parallel edges become one (their weights
        add), with a warning."""
        pairs = _pairs(size, edges)
        heavy = _weights(weights, len(pairs))
        places = _places(coordinates, size)
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
        return cls(size, merged, total, places)

    @classmethod
    def path(cls, size: int) -> Graph:
        """0 - 1 - 2 - ...: bins in a row."""
        return cls.grid((size,))

    @classmethod
    def cycle(cls, size: int) -> Graph:
        """A path whose ends meet: hours of the day, directions of the wind."""
        return cls.grid((size,), periodic=True)

    @classmethod
    def grid(cls, shape: tuple[int, ...], *, periodic: bool = False) -> Graph:
        """Bins of a lattice, numbered as NumPy flattens an array of that shape; each is joined to the next along
        every axis."""
        lengths = tuple(int(length) for length in shape)
        if not lengths or min(lengths) < 1:
            raise errors.BadDomain(f"a grid needs at least one bin along every axis. Got {shape!r} instead.")
        size = math.prod(lengths)
        _fits(size)
        place = np.arange(size, dtype=np.int64).reshape(lengths)
        pairs = []
        for axis, length in enumerate(lengths):
            ahead = np.roll(place, -1, axis)
            whole = periodic and length > 2
            keep = np.arange(length if whole else length - 1)
            pairs.append(np.stack([place.take(keep, axis).ravel(), ahead.take(keep, axis).ravel()], axis=1))
        edges = np.sort(np.concatenate(pairs), axis=1)
        edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
        return cls(size, edges.astype(np.int32))

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

    def __repr__(self) -> str:
        parts = int(self.components.max()) + 1 if self.size else 0
        told = "connected" if parts == 1 else f"in {parts:,} components"
        return f"<Graph of {self.size:,} nodes and {len(self.edges):,} edges, {told}>"


def _fits(size: int) -> None:
    if size >= 2**31:
        raise errors.DomainTooLarge(f"a graph may have at most {2**31 - 1:,} nodes. Got {size:,} instead.")


def _pairs(size: int, edges: Any) -> NDArray[np.int64]:
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise errors.NotPositive(f"a graph needs a whole number of nodes above zero. Got {size!r} instead.")
    _fits(int(size))
    pairs = np.asarray(edges)
    if pairs.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise errors.WrongType("edges must be pairs of node numbers: a list of (u, v), or an integer array m by 2.")
    least, most = int(pairs.min()), int(pairs.max())
    if least < 0 or most >= size:
        raise errors.BadDomain(f"edges name node {least if least < 0 else most}, and the nodes are 0 ... {size - 1}.")
    return pairs.astype(np.int64)


def _weights(weights: Any, count: int) -> Floats | None:
    if weights is None:
        return None
    heavy = np.asarray(weights, dtype=np.float64)
    if heavy.shape != (count,):
        raise errors.ShapesDisagree(f"weights must be one number for each of the {count:,} edges.")
    if not (np.isfinite(heavy) & (heavy > 0)).all():
        raise errors.NotPositive("weights of edges must be finite and above zero. Leave out edges that mean nothing.")
    return heavy


def _places(coordinates: Any, size: int) -> Floats | None:
    if coordinates is None:
        return None
    places = np.array(coordinates, dtype=np.float64)
    if places.shape != (size, 2):
        raise errors.ShapesDisagree(f"coordinates must be an array {size:,} by 2: one place for each node.")
    if not np.isfinite(places).all():
        raise errors.NotFinite("coordinates hold NaN or infinity.")
    return places
