"""Points to the nodes of a public graph, or into public polygons: by one row's point and public places alone.

*Nodes.* The nearest one, or a little weight on each of several nearby. Distances are great-circle metres. A kernel
gives the nodes within reach weights proportional to exp(-d^2 / (2 width^2)), rounded *down* to steps of 2^-20 after
they were scaled to sum to one. So one row's weights sum to at most one, which is its L1 norm, and no norm of it
exceeds one.

*Zones.* Whole numbers: the same zone on every engine, and one alone on a shared border. Degrees become integers, in
steps of 2^-22 (about 3 cm): rows and borders alike, so a corner that two zones share is one corner. Which side of an
edge a point is on (`zone_loops.py`) is then exact in 64 bits: longitudes differ by less than 2^30.5 steps and latitudes
by less than 2^29.5. Two zones that share an edge ask the same question of it, whichever way round they list it: of the
points near it each is on one side alone, and so in one zone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from leastnoise.domain import Zones
from leastnoise.errors import BadDomain, InvalidParameter
from leastnoise.graphs.places import lookup

WEIGHT_BITS = 21  # a weight is 0 ... 2^20, a node and its weight share one integer
ROW_WEIGHT = 2**20  # the weight of one row, in steps of a weight
MIN_KERNEL_WIDTH, MAX_DISTANCE = 1e-3, 1e8  # metres: the squares of both, and their quotient, are ordinary doubles
MAX_KERNEL_NODES = 64
Array = np.ndarray[Any, Any]


class HasCoordinates(Protocol):
    """Anything with an n x 2 array of longitudes and latitudes in degrees."""

    @property
    def coordinates(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Nearest:
    """From arrays of longitudes and latitudes to node numbers, -1 where none is within reach."""

    nodes: Array
    within: float

    def __call__(self, lon: Array, lat: Array) -> Array:
        place, _ = lookup(self.nodes, lon, lat, 1, self.within)
        return place[:, 0]


@dataclass(frozen=True, slots=True)
class KernelWeights:
    """From arrays of longitudes and latitudes to `count` integers a row, each node * 2^21 + weight, 0
    for none."""

    nodes: Array
    within: float
    width: float
    count: int

    def __call__(self, lon: Array, lat: Array) -> Array:
        place, metres = lookup(self.nodes, lon, lat, self.count, self.within)
        near = np.where(place >= 0, metres, np.inf)
        nearest = np.where(np.isfinite(near[:, :1]), near[:, :1], 0.0)
        raw = np.exp((nearest**2 - near**2) / (2 * self.width**2))  # the nearest has 1: nothing underflows to all 0
        total = np.maximum(raw.sum(axis=1, keepdims=True), 1.0)
        # Floor of a quotient that rounding may have lifted: one step less keeps the sum at most one.
        weight = np.maximum(np.floor(raw / total * ROW_WEIGHT).astype(np.int64) - 1, 0)
        return np.where((place >= 0) & (weight > 0), (place << WEIGHT_BITS) + weight, 0)


def check_nodes(graph: HasCoordinates, within: float) -> Array:
    """The coordinates of a graph, checked."""
    nodes = np.asarray(graph.coordinates, dtype=np.float64)
    if nodes.ndim != 2 or nodes.shape[1] != 2 or not len(nodes) or not np.isfinite(nodes).all():
        raise BadDomain("graph.coordinates must be an n by 2 array of finite longitudes and latitudes.")
    if np.abs(nodes[:, 1]).max() > 90 or np.abs(nodes[:, 0]).max() > 360:
        raise BadDomain(
            "graph.coordinates are longitude, then latitude, in degrees; a latitude beyond 90 is no place on Earth. "
            "Are the two swapped?"
        )
    if not 0 < within <= MAX_DISTANCE:
        raise InvalidParameter(
            f"within must be a number of metres above zero, at most {MAX_DISTANCE:g}. Got {within!r} instead."
        )
    return nodes


def check_kernel(width: float, spread: int) -> None:
    """Raise unless a kernel may have this width, in metres, over so many nodes."""
    if isinstance(spread, bool) or not isinstance(spread, int) or not 1 <= spread <= MAX_KERNEL_NODES:
        raise InvalidParameter(
            f"spread is a whole number of nodes from 1 to {MAX_KERNEL_NODES}. Got {spread!r} instead."
        )
    if not MIN_KERNEL_WIDTH <= width <= MAX_DISTANCE:
        raise InvalidParameter(
            f"kernel_width is metres from {MIN_KERNEL_WIDTH:g} to {MAX_DISTANCE:g}. Got {width!r} instead."
        )


STEPS_A_DEGREE = 2.0**22
MAX_SIDE = 1024  # of the grid, in cells
MAX_PASSED = 8  # cells that an edge may pass beyond its first, in the mean
MAX_COVERED = 2**24  # cells in the boxes of all zones


@dataclass(frozen=True, slots=True, eq=False)
class ZoneLookup:
    """From arrays of longitudes and latitudes to the number of a zone, -1 where none holds the point.

    edges: x1, y1, x2, y2 and zone of each edge, by zone. corner: west and south end of the grid.
    size: width and height of a cell. columns: how many there are.
    starts, entries, odd, whole: what the cells know (`zone_loops.py`).
    """

    edges: Array
    corner: tuple[int, int]
    size: tuple[int, int]
    columns: int
    starts: Array
    entries: Array
    odd: Array
    whole: Array

    @classmethod
    def of(cls, zones: Zones) -> ZoneLookup:
        """The edges of the zones, in the cells of a grid."""
        from leastnoise.curator.rows.zone_loops import count_entries, fill_cells

        listed = [_edges(ring, zone) for zone, rings in enumerate(zones.rings) for ring in rings]
        edges = np.ascontiguousarray(np.concatenate(listed).T)
        if not edges.size:
            nothing = np.zeros(0, np.int64)
            return cls(edges, (0, 0), (1, 1), 1, nothing, nothing, nothing, nothing)
        west, south = int(edges[[0, 2]].min()), int(edges[1].min())
        spans = int(edges[[0, 2]].max()) - west + 1, int(edges[3].max()) - south + 1
        ends = np.searchsorted(edges[4], np.arange(zones.size), side="right")
        size = _cell_size(edges, ends, spans)
        columns, rows = (-(-span // side) for span, side in zip(spans, size, strict=True))
        counts = np.zeros((rows, columns), np.int64)
        count_entries(edges, west, south, *size, counts)
        starts = np.concatenate([[0], np.cumsum(counts)])
        entries, odd = np.empty(starts[-1], np.int64), np.zeros(starts[-1], np.bool_)
        whole = np.full(rows * columns, -1, np.int64)
        fill_cells(edges, ends, west, south, *size, (rows, columns), starts, entries, odd, whole)
        return cls(edges, (west, south), size, columns, starts, entries, odd, whole)

    def __call__(self, lon: Array, lat: Array) -> Array:
        from leastnoise.curator.rows.zone_loops import find_zones

        found = np.full(len(lon), -1, np.int64)
        known = (np.abs(lon) <= 180) & (np.abs(lat) <= 90)  # also false for NaN
        x, y = (_steps(np.where(known, degrees, 0.0)) for degrees in (lon, lat))
        cells = (self.starts, self.entries, self.odd, self.whole)
        find_zones(x, y, known, self.edges, *self.corner, *self.size, self.columns, *cells, found)
        return found


def _cell_size(edges: Array, ends: Array, spans: tuple[int, int]) -> tuple[int, int]:
    """Width and height of a cell: about as many cells as edges, but fewer where edges are long or zones overlap."""
    side = min(math.isqrt(edges.shape[1]) + 1, MAX_SIDE)
    across, up = np.abs(edges[2] - edges[0]), edges[3] - edges[1]
    first = np.unique(np.concatenate([[0], ends[:-1]]))
    first = first[first < edges.shape[1]]
    east, north = np.maximum.reduceat(np.maximum(edges[0], edges[2]), first), np.maximum.reduceat(edges[3], first)
    wide = east - np.minimum.reduceat(np.minimum(edges[0], edges[2]), first)
    high = north - np.minimum.reduceat(edges[1], first)
    while True:
        width, height = (-(-span // side) for span in spans)
        passed = int((across // width + up // height).sum())
        covered = int(((wide // width + 3) * (high // height + 2)).sum())
        if side == 1 or (passed <= MAX_PASSED * edges.shape[1] and covered <= MAX_COVERED):
            return width, height
        side = -(-side // 2)


def prepare_zones() -> None:
    """Compile on a made-up zone: what can fail does so before anything is paid for, and tells nothing of a row."""
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    ZoneLookup.of(Zones(("square",), ((square,),)))(np.zeros(1), np.zeros(1))


def _steps(degrees: Array) -> Array:
    return np.floor(degrees * STEPS_A_DEGREE + 0.5).astype(np.int64)


def _edges(ring: Array, zone: int) -> Array:
    """Rows (x1, y1, x2, y2, zone) with y1 <= y2, but for corners that follow themselves."""
    corners = _steps(ring)
    edges = np.concatenate([corners[:-1], corners[1:]], axis=1)
    edges = np.where((edges[:, 1] > edges[:, 3])[:, np.newaxis], edges[:, [2, 3, 0, 1]], edges)
    edges = edges[(edges[:, 0] != edges[:, 2]) | (edges[:, 1] != edges[:, 3])]
    return np.concatenate([edges, np.full((len(edges), 1), zone, np.int64)], axis=1)
