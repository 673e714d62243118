"""A synthetic city: streets on an island, and taxis with names. Deterministic from a seed, and nobody real is in it.

The island is long and narrow, tapered at both ends. Avenues run along it and streets across; toward the old southern
tip they bend and thin out, one broad diagonal cuts through them all, and a park lies in the upper middle with four
roads across. About 3,800 junctions. Trips start where people are: offices by day, theatres and bars by night, two
stations always. Most taxis make one to five trips an hour, a few make many.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import progress, validation
from leastnoise._support.validation import Floats
from leastnoise.graphs import Graph

_AVENUES, _STREETS = 19, 268
_BLOCK_ACROSS, _BLOCK_ALONG = 200.0, 80.0  # metres between avenues and between streets
_LON, _LAT = 8.0, 54.0  # in the sea, so that nobody mistakes it for a real place
_METRES_PER_DEGREE = 111_320.0
_ROWS_A_FILE = 5_000_000

# Hot spots: (across, along) as fractions of the island, spread in metres, and how busy each is at night, in the
# morning, by day and in the evening.
_SPOTS: tuple[tuple[tuple[float, float], float, tuple[float, float, float, float]], ...] = (
    ((0.45, 0.42), 700.0, (1.0, 5.0, 6.0, 3.0)),  # offices
    ((0.40, 0.36), 350.0, (5.0, 0.5, 1.5, 8.0)),  # theatres
    ((0.62, 0.14), 500.0, (7.0, 0.5, 1.0, 4.0)),  # bars
    ((0.50, 0.05), 450.0, (0.5, 4.0, 4.0, 1.0)),  # banks
    ((0.35, 0.30), 180.0, (4.0, 6.0, 5.0, 5.0)),  # a station
    ((0.60, 0.38), 180.0, (3.0, 6.0, 5.0, 4.0)),  # another
    ((0.70, 0.60), 900.0, (1.0, 3.0, 2.0, 2.0)),  # homes
    ((0.28, 0.62), 900.0, (1.0, 3.0, 2.0, 2.0)),  # homes
    ((0.50, 0.85), 1200.0, (0.8, 1.2, 1.0, 1.0)),  # the quiet north
)


@dataclass(frozen=True, slots=True, eq=False)
class City:
    """Junctions with coordinates in degrees, and the street sections between them."""

    coordinates: Floats  # n x 2: lon, lat
    edges: NDArray[np.int32]  # m x 2
    metres: Floats  # n x 2: across, along

    @property
    def junctions(self) -> int:
        """How many junctions; they are numbered from 0."""
        return len(self.coordinates)

    @property
    def graph(self) -> Graph:
        """The streets as a graph: which junctions are next to one another."""
        return Graph.from_edges(self.junctions, self.edges, coordinates=self.coordinates)

    def busyness(self, hour: int) -> Floats:
        """How likely a trip starts at each junction in this hour; sums to one."""
        across, along = self.metres[:, 0] / _width(), self.metres[:, 1] / _length()
        weight = 0.05 + 0.6 * np.exp(-(((along - 0.33) / 0.22) ** 2))  # people everywhere, fewer toward both ends
        for (x, y), spread, busy in _SPOTS:
            away = ((across - x) * _width()) ** 2 + ((along - y) * _length()) ** 2
            weight += _by_hour(busy, hour) * np.exp(-away / (2 * spread**2))
        weight *= self._standing() * np.random.default_rng(7).gamma(2.0, 0.5, self.junctions)
        share: Floats = weight / weight.sum()
        return share

    def _standing(self) -> Floats:
        """Cabs are hailed on the broad streets: some avenues, every tenth street, and the diagonal."""
        avenue = np.clip(np.rint(self.metres[:, 0] / _BLOCK_ACROSS), 0, _AVENUES - 1).astype(int)
        street = np.rint(self.metres[:, 1] / _BLOCK_ALONG)
        broad = np.where(np.random.default_rng(8).random(_AVENUES) < 0.45, 2.2, 0.4)[avenue]
        broad += 1.5 * (street % 10 == 0) + 3.0 * (np.abs(avenue - _diagonal_at(street)) < 0.5)
        standing: Floats = broad
        return standing


def city(seed: int = 0) -> City:
    """The city; another seed bends the old town and thins its streets differently.

    >>> c = city()
    >>> 3_600 < c.junctions < 4_000
    True
    """
    rng = np.random.default_rng(seed)
    across, along = np.meshgrid(np.arange(_AVENUES), np.arange(_STREETS), indexing="ij")
    place = np.stack([across.ravel() * _BLOCK_ACROSS, along.ravel() * _BLOCK_ALONG], axis=1).astype(float)
    dry = _on_land(place) & ~_in_park(place)
    number = np.full(len(place), -1)
    number[dry] = np.arange(dry.sum())
    grid = number.reshape(_AVENUES, _STREETS)
    pairs = [
        np.stack([grid[:-1].ravel(), grid[1:].ravel()], axis=1),
        np.stack([grid[:, :-1].ravel(), grid[:, 1:].ravel()], axis=1),
        _diagonal(grid),
        _across_park(grid),
    ]
    edges = np.concatenate(pairs)
    edges = edges[(edges >= 0).all(axis=1)]
    metres = _bend(place[dry], rng)
    old = metres[edges].mean(axis=1)[:, 1] < 0.2 * _length()
    edges = edges[~(old & (rng.random(len(edges)) < 0.18))]
    metres, edges = _largest_part(metres, edges)
    degrees = metres / _METRES_PER_DEGREE
    turned = _turn(degrees, 0.5)
    coordinates = np.stack([_LON + turned[:, 0] / np.cos(np.radians(_LAT)), _LAT + turned[:, 1]], axis=1)
    return City(coordinates, edges.astype(np.int32), metres)


def write_trips(folder: str | os.PathLike[str], *, trips: int, seed: int = 0, hours: int = 24) -> list[Path]:
    """Parquet files with `trips` taxi trips over `hours` hours: taxi, hour, pickup, dropoff, passengers, fare.

    Five million rows a file, each drawn from its own seed, so a hundred million need no more memory than one file.
    """
    trips, hours = validation.integer("trips", trips), validation.integer("hours", hours)
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise errors.FileProblem(f"Cannot make the folder {str(place)!r}: {problem.strerror}.") from None
    made = []
    with progress.bar("writing trips", trips) as advance:
        for number, begin in enumerate(range(0, trips, _ROWS_A_FILE)):
            rows = min(_ROWS_A_FILE, trips - begin)
            made.append(place / f"trips-{number:03d}.parquet")
            pq.write_table(draw_trips(rows, of=trips, seed=seed, part=number, hours=hours), made[-1])
            advance(rows)
    return made


def draw_trips(rows: int, *, of: int | None = None, seed: int = 0, part: int = 0, hours: int = 24) -> pa.Table:
    """`rows` trips as an Arrow table: one part of a day with `of` trips altogether."""
    town = city(seed)
    rng = np.random.default_rng([seed, part])
    taxis = max(1, round((of or rows) / (2.6 * hours)))
    eager = np.random.default_rng([seed, 1 << 20]).lognormal(0.0, 0.6, taxis)
    taxi = np.searchsorted(np.cumsum(eager) / eager.sum(), rng.random(rows)).astype(np.int32)
    hour = rng.choice(hours, rows, p=_rhythm(hours)).astype(np.int8)
    pickup, dropoff = np.empty(rows, dtype=np.int32), np.empty(rows, dtype=np.int32)
    for h in range(hours):
        here = np.flatnonzero(hour == h)
        likely = np.cumsum(town.busyness(h))
        pickup[here] = np.searchsorted(likely, rng.random(here.size) * likely[-1])
        dropoff[here] = np.searchsorted(likely, rng.random(here.size) * likely[-1])
    distance = np.abs(town.metres[pickup] - town.metres[dropoff]).sum(axis=1)
    fare = np.round(2.5 + distance / 1000 * 1.6 + rng.gamma(2.0, 0.8, rows), 2)
    passengers = 1 + rng.binomial(5, 0.12, rows).astype(np.int8)
    return pa.table(
        {"taxi": taxi, "hour": hour, "pickup": pickup, "dropoff": dropoff, "passengers": passengers, "fare": fare}
    )


def _width() -> float:
    return (_AVENUES - 1) * _BLOCK_ACROSS


def _length() -> float:
    return (_STREETS - 1) * _BLOCK_ALONG


def _on_land(place: Floats) -> NDArray[np.bool_]:
    """Between the two shores, which draw together at the ends."""
    along = place[:, 1] / _length()
    east = 0.5 + 0.5 * np.clip(along / 0.10, 0, 1) ** 0.5 * np.clip((1.02 - along) / 0.36, 0, 1) ** 0.8
    west = 0.5 - 0.5 * np.clip((along + 0.01) / 0.14, 0, 1) ** 0.5 * np.clip((1.04 - along) / 0.22, 0, 1) ** 0.5
    bay = 0.17 * np.exp(-(((along - 0.40) / 0.10) ** 2)) - 0.05 * np.exp(-(((along - 0.19) / 0.03) ** 2))
    cove = 0.10 * np.exp(-(((along - 0.12) / 0.05) ** 2)) + 0.04 * np.sin(9 * along)
    across = place[:, 0] / _width()
    inside: NDArray[np.bool_] = (across <= east - bay) & (across >= west + cove)
    return inside


def _in_park(place: Floats) -> NDArray[np.bool_]:
    across, along = place[:, 0] / _width(), place[:, 1] / _length()
    inside: NDArray[np.bool_] = (across > 0.36) & (across < 0.60) & (along > 0.50) & (along < 0.70)
    return inside


def _diagonal(grid: NDArray[np.int64]) -> NDArray[np.int64]:
    """A broad street from the south-east to the north-west, from junction to junction."""
    along = np.arange(4, _STREETS - 20)
    across = np.rint(_diagonal_at(along)).astype(int)
    path = grid[across, along]
    sections: NDArray[np.int64] = np.stack([path[:-1], path[1:]], axis=1)[across[:-1] != across[1:]]
    return sections


def _diagonal_at(street: NDArray[Any]) -> Floats:
    """Which avenue the diagonal meets at a street."""
    return np.asarray(13.0 - 9.5 * street / _STREETS)


def _across_park(grid: NDArray[np.int64]) -> NDArray[np.int64]:
    """Four roads through the park, from its western to its eastern edge."""
    roads = []
    for along in np.linspace(0.53, 0.67, 4) * _STREETS:
        row = grid[:, int(along)]
        middle = _AVENUES // 2
        west = max(i for i in range(middle) if row[i] >= 0)
        east = min(i for i in range(middle, _AVENUES) if row[i] >= 0)
        roads.append((row[west], row[east]))
    return np.array(roads)


def _bend(place: Floats, rng: np.random.Generator) -> Floats:
    """The old town is not square: its corners wander, more the further south."""
    south = np.clip(1 - place[:, 1] / (0.24 * _length()), 0, 1)[:, None]
    waves = np.stack([np.sin(place[:, 1] / 350 + place[:, 0] / 900), np.cos(place[:, 0] / 420)], axis=1)
    bent: Floats = place + south * (110 * waves + rng.normal(0, 26, place.shape)) + rng.normal(0, 3, place.shape)
    return bent


def _largest_part(metres: Floats, edges: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Only what hangs together, numbered anew."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(metres)
    links = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    _, part = connected_components(links, directed=False)
    keep = part == np.bincount(part).argmax()
    number = np.cumsum(keep) - 1
    inside = keep[edges].all(axis=1)
    return metres[keep], np.unique(number[np.sort(edges[inside], axis=1)], axis=0)


def _turn(points: Floats, angle: float) -> Floats:
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turned: Floats = points @ turn
    return turned


def _by_hour(busy: tuple[float, float, float, float], hour: int) -> float:
    """Between the four times of day, on the circle of 24 hours."""
    return float(np.interp(hour % 24, [1, 8, 14, 20, 25], [*busy, busy[0]]))


def _rhythm(hours: int) -> Floats:
    busy = np.array([_by_hour((2.0, 5.0, 4.5, 6.0), h) for h in range(hours)])
    share: Floats = busy / busy.sum()
    return share
