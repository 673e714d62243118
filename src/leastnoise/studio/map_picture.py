"""The places of a map before anything is counted: squares, zones or junctions, from public files alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from markupsafe import Markup

from leastnoise._support.validation import Floats
from leastnoise.domain import Lattice, Zones
from leastnoise.graphs import Graph
from leastnoise.jobs.rows import parse_lattice, parse_zones
from leastnoise.studio import map_question
from leastnoise.studio.draft import Draft

WIDTH, HEIGHT = 560.0, 420.0  # of the drawing at most
MAX_LINES = 120  # of squares, each way
MAX_STREETS = 40_000


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawing of ours, without any text of the user's, and what it shows."""

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
    frame = _Frame(np.array([[0.0, 0.0], [cells.width, cells.height]]), flat=True)
    lines = []
    if max(cells.width, cells.height) <= MAX_LINES:
        lines = [_line(frame, [[x, 0], [x, cells.height]]) for x in range(cells.width + 1)]
        lines += [_line(frame, [[0, y], [cells.width, y]]) for y in range(cells.height + 1)]
    else:
        corners = [[0, 0], [cells.width, 0], [cells.width, cells.height], [0, cells.height], [0, 0]]
        lines = [_line(frame, corners)]
    words = f"{cells.width:,} by {cells.height:,}: {cells.size:,} squares"
    return Drawn(frame.svg(f'<path class="square" d="{"".join(lines)}"/>', words), words)


@lru_cache(maxsize=4)
def _zones(path: str, key: str | None, changed: int) -> Drawn:
    zones = Zones.read(path, key=key)
    west, south, east, north = zones.box
    frame = _Frame(np.array([[west, south], [east, north]]))
    shapes = "".join(
        f'<path class="zone" d="{"".join(_line(frame, ring, snap=True) + "Z" for ring in rings)}"/>'
        for rings in zones.rings
    )
    words = f"{zones.size:,} zones"
    return Drawn(frame.svg(shapes, words), words)


@lru_cache(maxsize=4)
def _junctions(nodes: str, edges: str, changed: int) -> Drawn | None:
    graph = Graph.from_parquet(nodes, edges)
    words = f"{graph.size:,} junctions, {len(graph.edges):,} streets"
    if graph.coordinates is None:
        return Drawn(Markup(""), f"{words}; their file has no columns lon and lat, so there is no map")
    places = graph.coordinates
    frame = _Frame(np.stack([places.min(axis=0), places.max(axis=0)]))
    drawn = frame.points(places)
    streets = ""
    if len(graph.edges) <= MAX_STREETS:
        ends = drawn[graph.edges]
        lines = "".join(f"M{a:.1f},{b:.1f}L{c:.1f},{d:.1f}" for (a, b), (c, d) in ends.tolist())
        streets = f'<path class="street" d="{lines}"/>'
    dots = "".join(f"M{x:.1f},{y:.1f}h0" for x, y in np.unique(np.round(drawn, 1), axis=0).tolist())
    return Drawn(frame.svg(f'{streets}<path class="junction" d="{dots}"/>', words), words)


class _Frame:
    """Places on the drawing: north is up, and degrees are as long as they are in the middle."""

    def __init__(self, corners: Floats, *, flat: bool = False) -> None:
        shrink = 1.0 if flat else math.cos(math.radians(min(85.0, abs(float(corners[:, 1].mean())))))
        self._origin = np.array([corners[0, 0], corners[1, 1]])
        wide, high = max(float(np.ptp(corners[:, 0])) * shrink, 1e-12), max(float(np.ptp(corners[:, 1])), 1e-12)
        scale = min(WIDTH / wide, HEIGHT / high)
        self._scale = np.array([scale * shrink, -scale])
        self.width, self.height = wide * scale, high * scale

    def points(self, places: Any) -> Floats:
        """Where places are on the drawing."""
        found: Floats = (np.asarray(places, dtype=float) - self._origin) * self._scale
        return found

    def svg(self, inside: str, words: str) -> Markup:
        """The drawing, with a name for those who do not see it."""
        size = f"-4 -4 {self.width + 8:.1f} {self.height + 8:.1f}"
        shown = f'viewBox="{size}" preserveAspectRatio="xMinYMin" role="img" aria-label="A map: {words}"'
        return Markup(f'<svg class="places" {shown}>{inside}</svg>')


def _line(frame: _Frame, places: Any, *, snap: bool = False) -> str:
    drawn = frame.points(places)
    if snap:  # corners that nobody can tell apart are one
        drawn = np.round(drawn, 1)
        drawn = drawn[np.append(True, (np.diff(drawn, axis=0) != 0).any(axis=1))]
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in drawn.tolist())
