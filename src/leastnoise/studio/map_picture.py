"""The places of a map before anything is counted: squares, zones or junctions, from public files alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from markupsafe import Markup

from leastnoise._support.validation import Floats
from leastnoise.domain import Lattice, Zones
from leastnoise.graphs import Graph
from leastnoise.jobs.rows import parse_lattice, parse_zones
from leastnoise.pictures import maps, svg
from leastnoise.pictures.picture import Axis, Mark, Picture, Points, Segments, Shades
from leastnoise.studio import map_question
from leastnoise.studio.draft import Draft

ROOM = (5.6, 4.2)  # inches of the drawing at most
MAX_LINES = 120  # of squares, each way
MAX_STREETS = 40_000


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawing, and what it shows."""

    svg: Markup
    words: str


def of(draft: Draft) -> Drawn | None:
    """The places that a job is about; None where they are on no map."""
    kind, table = map_question.kind_of(draft.found), draft.section("table")
    if kind == "squares":
        (column, text), box = next(iter(table["lattice"].items())), draft.section("keys")
        if not isinstance(box.get(column), dict) or "box" not in box[column]:
            return None
        return _squares(text, tuple(map(float, box[column]["box"])))
    if kind == "zones":
        file, key, _, _ = parse_zones(next(iter(table["within"].values())))
        path = draft.path.parent / file
        return _zones(str(path), key, path.stat().st_mtime_ns if path.exists() else 0)
    if kind == "junctions":
        output = draft.section("output")
        paths = [draft.path.parent / str(output.get(name, "")) for name in ("nodes", "graph")]
        return _junctions(*map(str, paths), sum(path.stat().st_mtime_ns for path in paths if path.exists()))
    return None


@lru_cache(maxsize=8)
def _squares(text: str, box: tuple[float, float, float, float]) -> Drawn:
    west, east, south, north = box
    cells = Lattice(*parse_lattice(text)).box(x=(west, east), y=(south, north))
    wide, high = cells.width, cells.height
    every = max(wide, high) <= MAX_LINES
    across, up = (range(wide + 1), range(high + 1)) if every else ((0, wide), (0, high))
    lines = [[[x, 0], [x, high]] for x in across] + [[[0, y], [wide, y]] for y in up]
    ground = maps.Ground(np.zeros(2), np.array([wide, high], float), False)
    return _drawn([Segments(np.array(lines, float))], ground, f"{wide:,} by {high:,}: {cells.size:,} squares")


@lru_cache(maxsize=4)
def _zones(path: str, key: str | None, changed: int) -> Drawn:
    zones = Zones.read(path, key=key)
    words = f"{zones.size:,} zones"
    picture = maps.zones(zones, {"": np.full(zones.size, np.nan)}, Shades(0.0, 1.0), room=ROOM)
    return Drawn(Markup(svg.svg(replace(picture, alt=f"A map: {words}", scale_bar=None))), words)


@lru_cache(maxsize=4)
def _junctions(nodes: str, edges: str, changed: int) -> Drawn | None:
    graph = Graph.from_parquet(nodes, edges)
    words = f"{graph.size:,} junctions, {len(graph.edges):,} streets"
    if graph.coordinates is None:
        return Drawn(Markup(""), f"{words}; their file has no columns lon and lat, so there is no map")
    ground = maps.Ground.of(graph.coordinates)
    places: Floats = ground.places(graph.coordinates)
    marks: list[Mark] = [Points(places[:, 0], places[:, 1], size=1.6)]
    if len(graph.edges) <= MAX_STREETS:
        marks.insert(0, Segments(places[graph.edges]))
    return _drawn(marks, ground, words)


def _drawn(marks: list[Mark], ground: maps.Ground, words: str) -> Drawn:
    """North is up, and degrees are as long as they are in the middle."""
    (left, low), (right, high) = ground.places(ground.low).tolist(), (ground.places(ground.high) + 1e-9).tolist()
    picture = Picture(
        marks=marks,
        x=Axis(low=left, high=right),
        y=Axis(low=low, high=high),
        alt=f"A map: {words}",
        size=ground.size(ROOM),
        bare=True,
    )
    return Drawn(Markup(svg.svg(picture)), words)
