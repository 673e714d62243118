"""What section 5.3 says of its data, counted in ours: junctions, road sections, trips a cab, where people get in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import places
from claims import Claim, verdict
from trials import Row

import leastnoise as ln
from leastnoise import testing

PRINTED_JUNCTIONS, PRINTED_SECTIONS, TRIPS = 3784, 7070, 5
MIDTOWN = (40.748, 40.768)  # latitudes of 34th Street and Columbus Circle, west of the East River
PARK_WEST = ((-73.9819, 40.7681), (-73.9580, 40.8003))  # Central Park West, from end to end


def inputs() -> list[Path]:
    """The maps' files, and the road sections with their parallels."""
    return [*places.inputs(), *([places.TAXI / "edges_multi.parquet"] if places.REAL else [])]


def measure(quick: bool) -> list[Row]:
    del quick  # counting is quick
    place = places.place()
    taxi = place.trips["taxi"].to_numpy()[place.trips["pickup"].to_numpy() >= 0]
    each = np.unique(taxi, return_counts=True)[1]
    rows = {
        "junctions": place.graph.size,
        "sections": places.sections(),
        "sections without parallels": len(place.graph.edges),
        "taxis": each.size,
        "most trips of a taxi": int(each.max()),
        "share of taxis within 5 trips": float((each <= TRIPS).mean()),
        "trips beyond 5 of a taxi": int(np.maximum(each - TRIPS, 0).sum()),
        "largest kept by a limit of 5": _largest_kept(place),
    }
    for name in (places.MIDNIGHT, places.DAYTIME):
        rows[f"midtown and upper west side, {name}"] = _share(place, name)
    return [{"what": name, "value": value} for name, value in rows.items()]


def _largest_kept(place: places.Place) -> int:
    """The library's limit, enforced: the most trips of one cab that a query with max_rows=5 counts."""
    taxi = place.trips["taxi"].to_numpy()
    names, counts = np.unique(taxi[place.trips["pickup"].to_numpy() >= 0], return_counts=True)
    rows = ln.table(place.trips.filter(taxi == names[counts.argmax()]), unit="taxi")
    kept = testing.aggregate(rows.histogram("pickup", keys=range(place.graph.size), max_rows=TRIPS))
    return int(kept.values.sum())


def _share(place: places.Place, name: str) -> float:
    """Of all pick-ups, those in midtown or west of Central Park."""
    lon, lat = place.graph.coordinates.T
    (west, south), (east, north) = PARK_WEST
    park = west + (east - west) * (lat - south) / (north - south)
    inside = ((lat >= MIDTOWN[0]) & (lat <= MIDTOWN[1])) | ((lat > south) & (lat < north) & (lon < park))
    counts = place.maps[name]
    return float(counts[inside].sum() / counts.sum())


def claims(rows: list[Row]) -> list[Claim]:
    found = {row["what"]: row["value"] for row in rows}
    night, day = (found[f"midtown and upper west side, {name}"] for name in (places.MIDNIGHT, places.DAYTIME))
    share, kept = found["share of taxis within 5 trips"], found["largest kept by a limit of 5"]
    return [
        Claim(
            f"Manhattan has {PRINTED_JUNCTIONS:,} junctions",
            "§5.3",
            f"the junction list of the same source has {found['junctions']:,}",
            verdict(found["junctions"] == PRINTED_JUNCTIONS),
            "digits exchanged",
            "no",
        ),
        Claim(
            f"They are connected by {PRINTED_SECTIONS:,} sections of roads",
            "§5.3",
            f"{found['sections']:,}; without parallels and loops {found['sections without parallels']:,}, the edges "
            "that we smooth over",
            verdict(found["sections"] == PRINTED_SECTIONS),
        ),
        Claim(
            "At most 5 trips a driver an hour is a conservative estimate, and can be enforced",
            "§5.3",
            f"of {found['taxis']:,} cabs with a pick-up in the hour {share:.1%} made at most 5, the busiest "
            f"{found['most trips of a taxi']}; a limit of 5 leaves out {found['trips beyond 5 of a taxi']} trips and "
            f"keeps at most {kept} of the busiest's",
            verdict(share == 1, kept == TRIPS),
            "enforced, yes; conservative, no: some drivers make more, so without the limit the promise would not hold",
            "in part",
        ),
        Claim(
            "By day the map is structurally different: more activity around midtown and the upper west side",
            "appendix B.2, Figure 5",
            f"of our pick-ups {night:.0%} at midnight, {day:.0%} by day",
            verdict(day > night),
            "other days than the paper's, which are not public",
        ),
    ]
