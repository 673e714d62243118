"""The maps: Manhattan's taxis from the data folder, or the synthetic city where that folder is absent.

The folder is what LEASTNOISE_DATA names, or `shared/data` beside the project, as for the tests.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

import leastnoise as ln
from leastnoise import datasets

DATA = Path(os.environ.get("LEASTNOISE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
TAXI = DATA / "taxi"
REAL = TAXI.is_dir()
SYNTHETIC_DAY = 450_000  # trips: about 26,000 in the busiest hour
NOTE = "" if REAL else "Synthetic city: the real data is not on this machine."


class Place(NamedTuple):
    """Junctions, streets, true maps by name, and a table of an hour's trips with the vehicle named."""

    graph: Any
    maps: dict[str, Any]
    trips: Any


MIDNIGHT, DROPOFFS, DAYTIME, DENSITY = "midnight pick-ups", "midnight drop-offs", "daytime pick-ups", "daily density"


def inputs() -> list[Path]:
    """The files that the maps are read from."""
    names = ("nodes", "edges", "junction_counts", "density_2011-10_daily", "trips_2013-01-01_00h")
    return [TAXI / f"{name}.parquet" for name in names] if REAL else []


def sections() -> int:
    """Road sections, parallels and loops among them."""
    return pq.read_metadata(TAXI / "edges_multi.parquet").num_rows if REAL else len(place().graph.edges)


@cache
def place() -> Place:
    """Manhattan, or the synthetic city."""
    return _manhattan() if REAL else _synthetic()


def _manhattan() -> Place:
    nodes, edges = TAXI / "nodes.parquet", TAXI / "edges.parquet"
    graph = ln.graphs.Graph.from_parquet(nodes, edges, coordinates=("lon", "lat"))
    counts = pq.read_table(TAXI / "junction_counts.parquet")
    daily = pq.read_table(TAXI / "density_2011-10_daily.parquet")
    day = daily.filter(pc.equal(pc.strftime(daily["date"], "%Y-%m-%d"), "2011-10-05"))
    density = np.zeros(graph.size)
    density[day["node"].to_numpy()] = day["density"].to_numpy()
    trips = pq.read_table(TAXI / "trips_2013-01-01_00h.parquet")
    trips = trips.filter(pc.less(pc.hour(trips["pickup_time"]), 1)).rename_columns(
        {"taxi_id": "taxi", "ride_id": "trip", "pickup_node": "pickup"}
    )
    maps = {
        MIDNIGHT: counts["pickup_2013_01_01_00h"].to_numpy(),
        DROPOFFS: counts["dropoff_2013_01_01_00h"].to_numpy(),
        DAYTIME: counts["pickup_2013_11_18_15h"].to_numpy(),
        DENSITY: density,
    }
    return Place(graph, maps, trips.select(["trip", "taxi", "pickup"]))


def _synthetic() -> Place:
    city = datasets.city()
    graph = ln.graphs.Graph.from_edges(city.junctions, city.edges, coordinates=city.coordinates)
    day = datasets.draw_trips(SYNTHETIC_DAY)

    def count(column: str, hour: int | None = None) -> Any:
        some = day if hour is None else day.filter(pc.equal(day["hour"], hour))
        return np.bincount(some[column].to_numpy(), minlength=city.junctions)

    midnight = day.filter(pc.equal(day["hour"], 0)).select(["taxi", "pickup"])
    maps = {
        MIDNIGHT: count("pickup", 0),
        DROPOFFS: count("dropoff", 0),
        DAYTIME: count("pickup", 14),
        DENSITY: count("pickup") / 3.0,
    }
    return Place(graph, maps, midnight.append_column("trip", [np.arange(len(midnight))]))
