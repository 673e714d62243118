"""Places on the earth, in degrees of longitude and latitude, and which of them are nearest, in great-circle metres.

Points are put on the unit sphere, where the nearest by straight line is also the nearest along the surface, and a k-d
tree finds it. A chord c is an arc of 2 R asin(c/2).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

EARTH_RADIUS_METRES = 6_371_008.8  # mean radius in metres
POINTS_AT_ONCE = 1 << 18  # points that are looked up at a time
Array = np.ndarray[Any, Any]


def lookup(nodes: Array, lon: Array, lat: Array, count: int, within: float) -> tuple[Array, Array]:
    """Numbers of the `count` nodes nearest to each point, and metres, nearest first; -1 where there is none."""
    count = min(count, len(nodes))
    valid = (np.abs(lon) <= 360) & (np.abs(lat) <= 90)  # also false for NaN
    points = sphere(np.where(valid, lon, 0.0), np.where(valid, lat, 0.0))
    chord, place = _tree(nodes.tobytes()).query(points, k=count)
    chord, place = np.asarray(chord).reshape(-1, count), np.asarray(place).reshape(-1, count)
    metres = 2 * EARTH_RADIUS_METRES * np.arcsin(np.minimum(chord / 2, 1.0))
    found = (metres <= within) & valid[:, np.newaxis]
    return np.where(found, place, -1).astype(np.int64), metres


def nearest(nodes: Array, points: Array, within: float) -> Array:
    """The number of the node nearest to each of the points (n x 2), a chunk at a time."""
    found = np.empty(len(points), dtype=np.int64)
    for first in range(0, len(points), POINTS_AT_ONCE):
        part = points[first : first + POINTS_AT_ONCE]
        found[first : first + POINTS_AT_ONCE] = lookup(nodes, part[:, 0], part[:, 1], 1, within)[0][:, 0]
    return found


def sphere(lon: Array, lat: Array) -> Array:
    """Points of the unit sphere, n x 3."""
    a, b = np.radians(lon), np.radians(lat)
    return np.stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)], axis=1)


@lru_cache(maxsize=4)
def _tree(nodes: bytes) -> Any:
    """The k-d tree of the nodes, built once a process; engines call with a few thousand points at a time."""
    from scipy.spatial import cKDTree

    places = np.frombuffer(nodes).reshape(-1, 2)
    return cKDTree(sphere(places[:, 0], places[:, 1]))
