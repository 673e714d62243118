"""The page's maps of areas: zones, and cells of a lattice, each in the colour of its value.

Places are kilometres from the middle, true at its latitude, so a map is as wide and high as what it shows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.domain import Zones
from leastnoise.releases.lattice_cells import LatticeCells, lattice_cells
from leastnoise.releases.zone_values import bins_of_zones, oriented_rings
from leastnoise.report import charts, map_scale
from leastnoise.report.contents import MAX_BINS_SHOWN, Contents
from leastnoise.report.picture import Picture, altair, specification

SNAPS = 4_000  # places that are told apart across a map
Shape = list[list[list[float]]]  # the coordinates of a Polygon


def main(contents: Contents) -> Picture | None:
    """The map of the contents; None where they are not on one."""
    if contents.zones is not None:
        return _zones(contents, contents.zones)
    cells = lattice_cells(contents.of) if 1 < contents.size <= MAX_BINS_SHOWN else None
    return None if cells is None or contents.graph is not None else _cells(contents, cells)


class _Ground(NamedTuple):
    """A rectangle of places: west and south, east and north."""

    corners: Floats
    degrees: bool

    def kilometres(self, places: Floats) -> Floats:
        """From the middle, true at its latitude; coordinates that are no degrees stay as they are."""
        if not self.degrees:
            return places
        middle = self.corners.mean(axis=0)
        shrink = np.array([np.cos(np.radians(middle[1])), 1.0])
        return np.asarray((places - middle) * shrink * map_scale.KILOMETRES_A_DEGREE)


def _zones(contents: Contents, zones: Zones) -> Picture:
    bins = bins_of_zones(contents.of.domain, zones)
    west, south, east, north = zones.box
    ground = _Ground(np.array([[west, south], [east, north]]), True)
    shapes = [_shape(rings, ground) for rings in zones.rings]
    (known,) = np.nonzero(bins >= 0)
    extra = {
        "shapes": [[shapes[place]] for place in known],
        "blank": [shapes[place] for place in np.nonzero(bins < 0)[0]],
    }
    return _map(contents, bins[known], ground, extra, "A map of the zones", "zone")


def _cells(contents: Contents, cells: LatticeCells) -> Picture:
    left, right, bottom, top = cells.extent
    ground = _Ground(np.array([[left, bottom], [right, top]]), cells.in_degrees)
    low = np.stack([cells.column, cells.row], axis=1) * cells.lattice.step + [left, bottom]
    ends = np.concatenate([ground.kilometres(low), ground.kilometres(low + cells.lattice.step)], axis=1)
    extra = {"shapes": [[[_rectangle(*(round(end, 5) for end in each))]] for each in ends.tolist()]}
    return _map(contents, np.arange(contents.size), ground, extra, "A map of the cells", "cell")


def _map(contents: Contents, bins: Any, ground: _Ground, extra: dict[str, Any], what: str, style: str) -> Picture:
    alt = altair()
    columns = charts._columns(contents, bins)
    legend = alt.Legend(format=",.3~r", orient="bottom", columns=8)
    colour = alt.Color("shown:Q", scale=charts._colours(alt, contents, columns), title=None, legend=legend)
    shapes = charts._switched(alt.Chart(alt.NamedData("bins"))).mark_geoshape(style=style)
    layers = [shapes.encode(color=colour, tooltip=charts._tooltip(alt, contents))]
    if extra.get("blank"):
        layers.insert(0, alt.Chart(alt.NamedData("blank")).mark_geoshape(style="blank"))
    places = ground.kilometres(ground.corners)
    wide, high = np.ptp(places, axis=0)
    made = {"edges": [], **extra}
    if ground.degrees:
        made["scale"] = map_scale.scale_bar(places - [0.0, 0.03 * high])
        layers += map_scale.scale_layers(alt)
    chart = alt.layer(*layers).project("identity", reflectY=True)
    chart = chart.add_params(alt.param(name="column", value=charts._first(contents)))
    note = "Zones without a colour have no published value." if extra.get("blank") else ""
    ratio = float(np.clip(1.05 * high / wide, 0.25, 1.6))
    return Picture(specification(chart), columns, charts._alt(contents, what), note=note, ratio=ratio, extra=made)


def _shape(rings: Any, ground: _Ground) -> Shape:
    """The rings of a zone on the ground; corners that a page cannot tell apart are one."""
    step = float(np.ptp(ground.kilometres(ground.corners), axis=0).max()) / SNAPS
    made = []
    for ring in oriented_rings(rings):
        snapped = np.rint(ground.kilometres(ring) / step)
        moved = np.append(True, (np.diff(snapped, axis=0) != 0).any(axis=1))
        made.append([[round(float(x * step), 5), round(float(y * step), 5)] for x, y in snapped[moved]])
    return made


def _rectangle(left: float, bottom: float, right: float, top: float) -> list[list[float]]:
    return [[left, bottom], [right, bottom], [right, top], [left, top], [left, bottom]]
