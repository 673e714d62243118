"""Points into polygons, in whole numbers: the same zone on every engine, and one alone on a shared border.

Degrees become integers, in steps of 2^-22 (about 3 cm): rows and borders alike, so a corner that two zones share is one
corner. A ray goes from the point to the right; a point is in a zone if it meets an odd number of its edges. An edge
from (x1, y1) up to (x2, y2) is met if y1 <= y < y2 and the point is left of it,

    (x - x1) (y2 - y1) < (x2 - x1) (y - y1),

exact in 64 bits: longitudes differ by less than 2^30.5 steps and latitudes by less than 2^29.5. Two zones that share an
edge ask the same question of it, whichever way round they list it: of the points near it each is on one side alone, and
so in one zone.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastnoise.domain import Zones

STEPS_A_DEGREE = 2.0**22
MAX_SLABS = 8192
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class ZoneLookup:
    """From arrays of longitudes and latitudes to the number of a zone, -1 where none holds the point.

    edges: x1, y1, x2, y2 and zone of each edge, those of one slab of latitudes after those of the one before, and in a
    slab by zone. starts: where each slab begins. bottom, height: where the first begins, and how high each is.
    """

    edges: Array
    starts: Array
    bottom: int
    height: int

    @classmethod
    def of(cls, zones: Zones) -> ZoneLookup:
        """The edges of the zones, sorted for looking up."""
        edges = np.concatenate([_edges(ring, zone) for zone, rings in enumerate(zones.rings) for ring in rings])
        if not len(edges):
            return cls(np.zeros((5, 0), np.int64), np.zeros(2, np.int64), 0, 1)
        bottom, top = int(edges[:, 1].min()), int(edges[:, 3].max())
        slabs = int(np.clip(len(edges), 1, MAX_SLABS))
        height = -(-(top - bottom) // slabs)
        slabs = -(-(top - bottom) // height)
        first, last = (edges[:, 1] - bottom) // height, (edges[:, 3] - 1 - bottom) // height
        count = last - first + 1
        edge = np.repeat(np.arange(len(edges)), count)
        slab = np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
        order = np.lexsort((edge, slab))  # edges are by zone already
        starts = np.searchsorted(slab[order], np.arange(slabs + 1))
        return cls(np.ascontiguousarray(edges[edge[order]].T), starts.astype(np.int64), bottom, height)

    def __call__(self, lon: Array, lat: Array) -> Array:
        found = np.full(len(lon), -1, np.int64)
        known = (np.abs(lon) <= 180) & (np.abs(lat) <= 90)  # also false for NaN
        x, y = (_steps(np.where(known, degrees, 0.0)) for degrees in (lon, lat))
        _kernel()(x, y, known, self.edges, self.starts, self.bottom, self.height, found)
        return found


def prepare() -> None:
    """Compile on a made-up zone: what can fail does so before anything is paid for, and tells nothing of a row."""
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    ZoneLookup.of(Zones(("square",), ((square,),)))(np.zeros(1), np.zeros(1))


def _steps(degrees: Array) -> Array:
    return np.floor(degrees * STEPS_A_DEGREE + 0.5).astype(np.int64)


def _edges(ring: Array, zone: int) -> Array:
    """Rows (x1, y1, x2, y2, zone) with y1 < y2; no ray meets a level edge."""
    corners = _steps(ring)
    edges = np.concatenate([corners[:-1], corners[1:]], axis=1)
    edges = np.where((edges[:, 1] > edges[:, 3])[:, np.newaxis], edges[:, [2, 3, 0, 1]], edges)
    edges = edges[edges[:, 1] < edges[:, 3]]
    return np.concatenate([edges, np.full((len(edges), 1), zone, np.int64)], axis=1)


@functools.cache
def _kernel() -> Any:
    """The loop over the points, in machine code."""
    from leastnoise._support.compilation import compiled

    return compiled(find_zones)


def find_zones(x: Any, y: Any, known: Any, edges: Any, starts: Any, bottom: int, height: int, found: Any) -> None:
    """The first zone of which a ray from each point meets an odd number of edges."""
    slabs = starts.size - 1
    for point in range(x.size):
        slab = (y[point] - bottom) // height
        if not known[point] or slab < 0 or slab >= slabs:
            continue
        zone, inside = np.int64(-1), False
        for edge in range(starts[slab], starts[slab + 1]):
            if edges[4, edge] != zone:
                if inside:
                    break
                zone = edges[4, edge]
            x1, y1, x2, y2 = edges[0, edge], edges[1, edge], edges[2, edge], edges[3, edge]
            if y1 <= y[point] < y2 and (x[point] - x1) * (y2 - y1) < (x2 - x1) * (y[point] - y1):
                inside = not inside
        if inside:
            found[point] = zone
