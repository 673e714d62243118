"""Points to the nodes of a public graph: the nearest one, or a little weight on each of several nearby.

Distances are great-circle metres. The result depends on one row's point and on public nodes.

A kernel gives the nodes within reach weights proportional to exp(-d^2 / (2 width^2)), rounded *down* to
steps of 2^-20 after they were scaled to sum to one. So one row's weights sum to at most one, which is
its L1 norm, and no norm of it exceeds one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from leastnoise.errors import BadDomain, InvalidParameter
from leastnoise.graphs.places import lookup

WEIGHT_BITS = 21  # a weight is 0 ... 2^20, a node and its weight share one integer
ROW_WEIGHT = 2**20  # the weight of one row, in steps of a weight
MIN_KERNEL_WIDTH, MAX_DISTANCE = 1e-3, 1e8  # metres: the squares of both, and their quotient, are ordinary doubles
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
