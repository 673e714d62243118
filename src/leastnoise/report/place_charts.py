"""The page's maps of areas: zones, and cells of a lattice, each in the colour of its value.

Places are kilometres from the middle, true at its latitude, so a map is as wide and high as what it shows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.domain import Zones
from leastnoise.releases.lattice_cells import LatticeCells, lattice_cells
from leastnoise.releases.zone_values import bins_of_zones, oriented_rings
from leastnoise.report import charts, map_scale
from leastnoise.report.contents import MAX_BINS_SHOWN, Contents
from leastnoise.report.picture import Picture, Rows, altair, specification

SNAPS = 4_000  # places that are told apart across a map
UNPUBLISHED, MISSING = "not published", "!isValid(datum.shown)"
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
    """Zones from the last to the first: what is drawn later lies above, and a point is the first zone's."""
    bins = bins_of_zones(contents.of.domain, zones)[::-1]
    west, south, east, north = zones.box
    ground = _Ground(np.array([[west, south], [east, north]]), True)
    shapes = [[_shape(rings, ground)] for rings in reversed(zones.rings)]
    columns = _published(charts._columns(contents, np.maximum(bins, 0)), bins, zones.keys[::-1])
    note = "Zones without a colour have no published value." if (bins < 0).any() else ""
    return _map(contents, columns, ground, shapes, "A map of the zones", "zone", note)


def _published(columns: Rows, bins: Any, names: Any) -> Rows:
    """The columns, without a number where a zone has no bin."""
    missing: dict[str, Any] = {"in_words": UNPUBLISHED}
    return {
        column: [
            value if place >= 0 else charts._name(name) if column == "label" else missing.get(column, math.nan)
            for value, place, name in zip(values, bins, names, strict=True)
        ]
        for column, values in columns.items()
    }


def _cells(contents: Contents, cells: LatticeCells) -> Picture:
    left, right, bottom, top = cells.extent
    ground = _Ground(np.array([[left, bottom], [right, top]]), cells.in_degrees)
    low = np.stack([cells.column, cells.row], axis=1) * cells.lattice.step + [left, bottom]
    ends = np.concatenate([ground.kilometres(low), ground.kilometres(low + cells.lattice.step)], axis=1)
    shapes = [[[_rectangle(*(round(end, 5) for end in each))]] for each in ends.tolist()]
    columns = charts._columns(contents, np.arange(contents.size))
    return _map(contents, columns, ground, shapes, "A map of the cells", "cell")


def _map(
    contents: Contents, columns: Rows, ground: _Ground, shapes: list[Any], what: str, style: str, note: str = ""
) -> Picture:
    alt = altair()
    legend = alt.Legend(format=",.3~r", orient="bottom", columns=8)
    colour = alt.Color("shown:Q", scale=charts._colours(alt, contents, columns), title=None, legend=legend)
    areas = charts._switched(alt.Chart(alt.NamedData("bins"))).transform_calculate(**_said(contents, columns))
    areas = areas.mark_geoshape(style=style, invalid=None).encode(
        color=alt.condition(MISSING, alt.value(alt.expr("paper")), colour),  # opaque: it hides what lies below
        stroke=alt.condition(MISSING, alt.value(alt.expr("line")), alt.value(alt.expr("paper"))),
        tooltip=_tooltip(alt, contents, columns),
    )
    layers = [areas]
    places = ground.kilometres(ground.corners)
    wide, high = np.ptp(places, axis=0)
    extra: dict[str, Any] = {"edges": [], "shapes": shapes}
    if ground.degrees:
        extra["scale"] = map_scale.scale_bar(places - [0.0, 0.03 * high])
        layers += map_scale.scale_layers(alt)
    chart = alt.layer(*layers).project("identity", reflectY=True)
    chosen = {"column": charts._first(contents), "paper": "white", "line": "grey"}  # the page sets them
    chart = chart.add_params(*(alt.param(name=name, value=value) for name, value in chosen.items()))
    ratio = float(np.clip(1.05 * high / wide, 0.25, 1.6))
    return Picture(specification(chart), columns, charts._alt(contents, what), note=note, ratio=ratio, extra=extra)


def _said(contents: Contents, columns: Rows) -> dict[str, str]:
    """The numbers as text, by formulas: a tooltip would write those that are missing as 0."""
    form, names = charts._form(contents), [name for name in charts.TITLES if name in columns]
    return {
        f"{name}_said": f"isValid(datum.{name}) ? format(datum.{name}, '{form}') : '{UNPUBLISHED}'" for name in names
    }


def _tooltip(alt: Any, contents: Contents, columns: Rows) -> list[Any]:
    label, *_ = charts._tooltip(alt, contents)
    said = {name: f"{name}_said:N" for name in charts.TITLES if name in columns}
    if "in_words" in columns:
        said["value"] = "in_words:N"
    return [label, *(alt.Tooltip(field, title=charts.TITLES[name]) for name, field in said.items())]


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
