"""Maps: dots on the coordinates of a graph whose edges are streets; zones; the cells of a lattice.

Places are kilometres from the middle, true at its latitude, so a map is as wide and high as what it shows. Each takes
layers by name: one, or several of which a page shows one at a time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from leastnoise import errors
from leastnoise._support.validation import Floats, as_host
from leastnoise.domain import Zones
from leastnoise.graphs import Graph
from leastnoise.graphs.graph import check_graph
from leastnoise.pictures import captions
from leastnoise.pictures.picture import (
    Areas,
    Axis,
    Cells,
    Mark,
    Picture,
    Points,
    Segments,
    Shades,
    Words,
    shades_for,
)
from leastnoise.pictures.places import LatticeCells, bins_of_zones, oriented_rings, values_of_zones
from leastnoise.releases import labels
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.published import Published

KILOMETRES_PER_DEGREE = 111.32
PAGE = (9.6, 7.2)  # inches at most: the width of a page
PANELS = (9.0, 5.6)  # of all pictures side by side
MAX_NAMED_ZONES = 40
LETTER = 0.08  # inches
Layers = Mapping[str, Floats]


class Ground(NamedTuple):
    """A rectangle of places, and whether they are longitudes and latitudes."""

    low: Floats
    high: Floats
    degrees: bool

    @classmethod
    def of(cls, places: Floats) -> Ground:
        """Around places; they are degrees within the ranges of these, and not whole numbers."""
        within = (np.abs(places[:, 0]) <= 180).all() and (np.abs(places[:, 1]) <= 90).all()
        return cls(places.min(axis=0), places.max(axis=0), bool(within and (places != np.rint(places)).any()))

    def places(self, coordinates: Any) -> Floats:
        """Degrees as kilometres from the middle; other coordinates as they are."""
        if not self.degrees:
            return np.asarray(coordinates, dtype=float)
        middle = (self.low + self.high) / 2
        shrink = np.array([math.cos(math.radians(float(middle[1]))), 1.0])
        return np.asarray((coordinates - middle) * shrink * KILOMETRES_PER_DEGREE)

    @property
    def span(self) -> Floats:
        """How wide and high it is."""
        return np.asarray(self.places(self.high) - self.places(self.low)) + 1e-9

    def size(self, room: tuple[float, float]) -> tuple[float, float]:
        """Inches that fit."""
        ratio = float(np.clip(self.span[1] / self.span[0], 0.25, 3.0))
        width = min(room[0], room[1] / ratio)
        return width, width * ratio

    @property
    def scale_bar(self) -> tuple[float, str] | None:
        """A round length, about a third of the map."""
        if not self.degrees:
            return None
        third = max(float(self.span[0]) / 3, 1e-6)
        power = 10.0 ** math.floor(math.log10(third))
        length = max(step * power for step in (1, 2, 5) if step * power <= third * (1 + 1e-9))
        return length, f"{length:g} km" if length >= 1 else f"{1000 * length:g} m"


def points(
    graph: Graph, layers: Layers, shades: Shades, caption: str = "", room: tuple[float, float] = PAGE
) -> Picture:
    """A dot for each node."""
    if graph.coordinates is None:
        raise errors.MissingParameter(
            "This graph has no places, so no map can be drawn. Give it some: "
            "Graph.from_edges(n, edges, coordinates=places)."
        )
    ground = Ground.of(graph.coordinates)
    places = ground.places(graph.coordinates)
    wide, high = ground.size(room)
    size = float(np.clip(60 * math.sqrt(wide * high / max(graph.size, 1)), 2.0, 20.0))
    dots = [Points(places[:, 0], places[:, 1], size=size, values=of, shown=name) for name, of in _named(layers)]
    return _map((Segments(places[graph.edges]), *dots), ground, (wide, high), shades, layers, caption, "node")


def zones(
    zones: Zones, layers: Layers, shades: Shades, caption: str = "", room: tuple[float, float] = PAGE, bins: Any = None
) -> Picture:
    """Polygons by name, from the last to the first: what is drawn later lies above, and a point is the first zone's."""
    west, south, east, north = zones.box
    ground = Ground(np.array([west, south]), np.array([east, north]), max(abs(south), abs(north)) < 89)
    rings = [[ground.places(ring) for ring in oriented_rings(each)] for each in reversed(zones.rings)]
    backward = None if bins is None else bins[::-1]
    areas: list[Mark] = [Areas(rings, of[::-1], backward, shown=name) for name, of in _named(layers)]
    size = ground.size(room)
    names = _zone_names(zones, ground, size[0] / float(ground.span[0])) if zones.size <= MAX_NAMED_ZONES else None
    return _map((*areas, *([] if names is None else [names])), ground, size, shades, layers, caption, "zone")


def _zone_names(zones: Zones, ground: Ground, inches: float) -> Words:
    """In the middle of every zone that is wide enough for its name."""
    x, y, texts = [], [], []
    for key, rings in zip(zones.keys, zones.rings, strict=True):
        ring = ground.places(max(rings, key=lambda each: float(np.ptp(each[:, 0]))))
        text = labels.text(key)
        if LETTER * len(text) < float(np.ptp(ring[:, 0])) * inches:
            x.append(float((ring[:, 0].min() + ring[:, 0].max()) / 2))
            y.append(float((ring[:, 1].min() + ring[:, 1].max()) / 2))
            texts.append(text)
    return Words(np.array(x), np.array(y), texts, "middle", "ink", (0.0, 0.0), halo=True)


def lattice(
    cells: LatticeCells, layers: Layers, shades: Shades, caption: str = "", room: tuple[float, float] = PAGE
) -> Picture:
    """The cells in their places, as wide and high as they are on the ground; other coordinates have axes."""
    left, right, bottom, top = cells.extent
    ground = Ground(np.array([left, bottom]), np.array([right, top]), cells.in_degrees)
    low, high = ground.places(ground.low), ground.places(ground.high)
    extent = float(low[0]), float(high[0]), float(low[1]), float(high[1])
    marks = tuple(Cells(cells.image(of), extent, shown=name) for name, of in _named(layers))
    made = _map(marks, ground, ground.size(room), shades, layers, caption, "cell")
    if ground.degrees:
        return made
    return replace(made, bare=False, x=Axis(cells.lattice.x), y=Axis(cells.lattice.y))


def centres(cells: LatticeCells) -> tuple[Floats, Floats]:
    """The middles of the cells, in the units of the map."""
    left, right, bottom, top = cells.extent
    ground = Ground(np.array([left, bottom]), np.array([right, top]), cells.in_degrees)
    low = np.stack([cells.column + 0.5, cells.row + 0.5], axis=1) * cells.lattice.step + [left, bottom]
    places = ground.places(low)
    return places[:, 0], places[:, 1]


def _named(layers: Layers) -> list[tuple[str, Floats]]:
    """The layers; one alone has no name by which it could be switched off."""
    return [(name if len(layers) > 1 else "", of) for name, of in layers.items()]


def _map(
    marks: tuple[Mark, ...],
    ground: Ground,
    size: tuple[float, float],
    shades: Shades,
    layers: Layers,
    caption: str,
    what: str,
) -> Picture:
    low, high = ground.places(ground.low), ground.places(ground.high)
    values = next(iter(layers.values()))
    return Picture(
        marks=marks,
        x=Axis(low=float(low[0]), high=float(high[0])),
        y=Axis(low=float(low[1]), high=float(high[1])),
        title=next(iter(layers)) if len(layers) == 1 else "",
        caption=caption,
        alt=f"A map of {values.size:,} {what}s. The table below has the numbers.",
        size=size,
        shades=shades,
        aspect=1.0,
        bare=True,
        scale_bar=ground.scale_bar,
    )


def panels(
    place: Graph | Zones, raw: Published | ArrayLike | None, estimate: Any, truth: Any, signed: bool | None
) -> list[Picture]:
    """What was published, the estimate, and a truth, each a map of its own on one scale of shades."""
    one = place if isinstance(place, Zones) else check_graph(place)
    given = {"published": raw, "denoised": estimate, "truth": truth}
    shown = {name: _at_places(of, one) for name, of in given.items() if of is not None}
    shades = _shades(shown, raw, estimate, signed)
    room = PANELS[0] / max(1, len(shown)), PANELS[1]
    words = _caption(raw, estimate, "zone" if isinstance(one, Zones) else "node")
    if isinstance(one, Zones):
        return [zones(one, {name: of}, shades, words, room) for name, of in shown.items()]
    return [points(one, {name: of}, shades, words, room) for name, of in shown.items()]


def _shades(shown: Layers, raw: Any, estimate: Any, signed: bool | None) -> Shades:
    if not shown:
        raise errors.MissingParameter("A map needs values: raw=release, estimate=release.denoise(), or both.")
    noise = next((of.std for of in (raw, estimate) if isinstance(of, Published)), 0.0)
    calm = [of for name, of in shown.items() if name != "published"] or list(shown.values())
    what = raw.kind if isinstance(raw, Published) and raw.kind in ("count", "sum") else "value"
    return shades_for(calm, signed=signed, noise=noise, title=what)


def _at_places(of: Any, place: Graph | Zones) -> Floats:
    """A value for each node, or for each zone, from a release, an estimate or an array."""
    values = np.ravel(as_host(of.values if isinstance(of, Published) else of)).astype(float)
    if isinstance(place, Zones) and isinstance(of, Published):
        return values_of_zones(of.domain, values, place)
    if values.size != place.size:
        where = f"There are {place.size:,} zones" if isinstance(place, Zones) else f"The graph has {place.size:,} nodes"
        raise errors.InvalidParameter(f"{where} and there are {values.size:,} values.")
    return values


def layers_of_zones(domain: Any, layers: Layers, zones: Zones) -> tuple[Layers, Any]:
    """Values by zone instead of by bin, and the bin of each zone."""
    bins = bins_of_zones(domain, zones)
    return {name: values_of_zones(domain, of, zones) for name, of in layers.items()}, bins


def _caption(raw: object, estimate: object, bin_name: str) -> str:
    """What the noise is, and what it promises; and how what was denoised is off."""
    lines = []
    if isinstance(raw, Published):
        few = "" if isinstance(raw, Estimate) else captions.too_few(np.asarray(raw.values, dtype=float))
        missing = f"{captions.weak(raw)}{captions.seeded(raw)}{few}{captions.left_out(raw)}"
        promise = captions.promise(raw.guarantee, raw.delta)
        lines.append(f"Noise of standard deviation {raw.std:.4g}; {promise}.{missing}")
    if isinstance(estimate, Estimate):
        lines.append(f"Denoised by {estimate.method}: estimated error of a {bin_name} {estimate.rmse_in_words()}.")
        alone = f"{captions.weak(estimate)}{captions.left_out(estimate)}".strip()
        lines += [] if isinstance(raw, Published) else [alone]
    return " ".join(line for line in lines if line)
