"""Observations and atoms on one lattice, with the empty stretches between them cut out.

Everything is in units of sigma. Atoms stand every `stride` cells from `origin`. Two groups of observations further
apart than `quiet` do not see each other through the noise, so the stretch between them is shortened to `quiet`; an
observation with nobody that near is its own atom and needs no fitting at all. What is left is small however wide
the data are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise.denoise.arrays import NOT_FINITE, Floats

Bounds = tuple[float, float]
MIN_SPAN = 1 << 16  # cells that a histogram may always have
MAX_SIGMAS = 2.0**50  # beyond, doubles cannot tell neighbours apart


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Occupied cells on the shortened lattice, and where every observation went."""

    origin: float
    cell: float
    stride: int
    atoms: int  # 0: every observation is alone
    places: NDArray[np.int64]  # of the occupied cells; atom j is at place j * stride
    counts: Floats  # observations in each, by weight
    shift: NDArray[np.int64]  # cells cut out before each
    inverse: NDArray[np.intp]  # the occupied cell of each observation that is not alone
    alone: NDArray[np.bool_]  # which of all observations are

    def positions(self, u: Floats) -> Floats:
        """Where the observations that are not alone lie, in cells."""
        return np.asarray((u[~self.alone] - self.origin) / self.cell - self.shift[self.inverse])

    def mean(self, x: Floats) -> Floats:
        """sum x over the observations of each occupied cell, by its count; x is given for those not alone."""
        return np.asarray(np.bincount(self.inverse, x, self.counts.size) / self.counts)

    def back(self, place: Floats) -> Floats:
        """Positions of theirs, in units of sigma on the full line."""
        return np.asarray(self.origin + (place + self.shift[self.inverse]) * self.cell)


def lay_out(
    u: Floats,
    weights: Floats,
    bounds: Bounds,
    unit: float,
    *,
    spacing: float,
    fineness: float,
    quiet: float,
) -> Layout:
    """Atoms at most `spacing` apart, cells at most `fineness` wide; on multiples of `unit` where it is above 0.

    weights: how often every observation counts.
    """
    first, last = float(u.min()), float(u.max())
    if not (math.isfinite(first) and math.isfinite(last)):
        raise errors.InvalidParameter(NOT_FINITE)
    if max(-first, last) > MAX_SIGMAS:
        raise errors.OutOfRange(
            "y holds values beyond 2^50 sigma, where doubles cannot tell neighbours apart and noise does not matter. "
            "Leave those values out, and denoise the rest."
        )
    step, anchor = _lattice(first, bounds, unit, spacing)
    low, high = bounds
    origin = anchor + step * math.floor((min(max(first, low), high) - anchor) / step + 1e-9)
    stride = max(1, math.ceil(step / fineness - 1e-9))
    cell = step / stride
    cells, inverse, counts = _occupied(np.round((u - origin) / cell).astype(np.int64))
    far = math.ceil(quiet / cell)
    gaps = np.diff(cells)
    lonely = (counts == 1) & np.append(True, gaps > far) & np.append(gaps > far, True)
    if unit > 0:
        lonely &= False
    else:
        lonely &= (cells * cell + origin >= low) & (cells * cell + origin <= high)
    alone = lonely[inverse]
    kept = np.flatnonzero(~lonely)
    heavy = np.bincount(inverse, weights, lonely.size)[kept]
    cells = cells[kept]
    if not kept.size:
        empty = np.zeros(0, dtype=np.int64)
        return Layout(origin, cell, stride, 0, empty, np.zeros(0), empty, inverse[~alone], alone)
    gaps = np.diff(cells)
    excess = np.where(gaps > far, (gaps - far) // stride * stride, 0)
    shift = np.concatenate([[max(0, int(cells[0])) // stride * stride], excess]).cumsum()
    places = cells - shift
    final = math.ceil(places.max() / stride)
    if math.isfinite(high):
        final = min(final, round((high - origin) / step) - int(shift[-1]) // stride)
    renamed = (np.cumsum(~lonely) - 1)[inverse[~alone]]
    return Layout(origin, cell, stride, max(final, 0) + 1, places, heavy.astype(float), shift, renamed, alone)


def _occupied(place: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.int64]]:
    """The cells that anything lies in, in increasing order; which of them each place is; and how many lie in each.

    By a histogram where the cells are not many more than the places, else by sorting.
    """
    low = int(place.min())
    span = int(place.max()) - low + 1
    if span > max(4 * place.size, MIN_SPAN):
        cells, inverse = np.unique(place, return_inverse=True)
        return cells, inverse, np.bincount(inverse, minlength=cells.size)
    counts = np.bincount(place - low, minlength=span)
    rank = np.cumsum(counts > 0) - 1
    cells = np.flatnonzero(counts)
    return cells + low, rank[place - low], counts[cells]


def _lattice(first: float, bounds: Bounds, unit: float, spacing: float) -> tuple[float, float]:
    """The step between atoms and a point of the lattice, so that the bounds and the unit are met exactly."""
    low, high = bounds
    anchor = low if math.isfinite(low) else high if math.isfinite(high) else (0.0 if unit > 0 else first)
    span = high - low if math.isfinite(low) and math.isfinite(high) else 0.0
    if unit > 0:
        most, units = max(1, math.floor(spacing / unit)), round(span / unit)
        return unit * next(n for n in range(most, 0, -1) if units % n == 0), anchor
    return (span / math.ceil(span / spacing) if span > 0 else spacing), anchor


def nearest(points: Floats, places: Floats) -> NDArray[np.intp]:
    """Which of the places, in increasing order, each point is nearest to."""
    after = np.searchsorted(places, points)
    low, high = np.maximum(after - 1, 0), np.minimum(after, places.size - 1)
    return np.where(points - places[low] <= places[high] - points, low, high)
