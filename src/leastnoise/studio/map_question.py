"""The three maps that can be asked for: squares over coordinates, zones of a GeoJSON file, junctions of a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from leastnoise import errors
from leastnoise.studio.columns import Column
from leastnoise.studio.forms import read_number

CELL, ZONE = "cell", "zone"  # the columns that a map makes
KINDS = {
    "squares": "squares of one size",
    "zones": "zones of a GeoJSON file",
    "junctions": "junctions of a network",
}
SIDES = ("west", "east", "south", "north")


class MapSections(NamedTuple):
    """What a map adds to the sections of a job."""

    by: str
    lattice: dict[str, str]
    within: dict[str, str]
    keys: dict[str, Any]
    graph: str
    nodes: str


NO_MAP = MapSections("", {}, {}, {}, "", "")


def kind_of(found: Mapping[str, Any]) -> str | None:
    """Which map a job asks for; None where it asks for none."""
    table, output, by = found.get("table", {}), found.get("output", {}), found.get("ask", {}).get("by")
    column = by[0] if isinstance(by, list) and len(by) == 1 else by
    if found.get("ask", {}).get("kind") != "histogram" or not isinstance(column, str):
        return None
    if column in table.get("lattice", {}):
        return "squares"
    if column in table.get("within", {}):
        return "zones"
    return "junctions" if output.get("graph") else None


def fields_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """What the form shows of a job's map."""
    table, keys, output = found.get("table", {}), found.get("keys", {}), found.get("output", {})
    kind = kind_of(found)
    x, y, step = [*table.get("lattice", {}).get(CELL, ",,").split(","), "", "", ""][:3]
    fields = {"map": kind or "squares", "x": x, "y": y, "step": step, "zones": "", "zone_name": "", "place": ""}
    entry = keys.get(CELL) if isinstance(keys, dict) else None
    box = entry.get("box", [""] * 4) if isinstance(entry, dict) else [""] * 4
    fields |= dict(zip(SIDES, map(str, box), strict=True))
    fields |= {"graph": str(output.get("graph", "")), "nodes": str(output.get("nodes", ""))}
    if kind == "zones":
        file, _, rest = next(iter(table["within"].values())).rpartition(":")
        *name, fields["x"], fields["y"] = rest.split(",")
        fields |= {"zones": file, "zone_name": name[0] if name else ""}
    if kind == "junctions":
        by = found["ask"]["by"]
        fields["place"] = by if isinstance(by, str) else by[0]
    return fields


def sections(fields: Mapping[str, Any], columns: Mapping[str, Column]) -> MapSections:
    """The map of the form."""
    kind = str(fields.get("map", "squares"))
    if kind not in KINDS:
        raise errors.InvalidParameter("Choose a kind of map.", parameter="map")
    return {"squares": _squares, "zones": _zones, "junctions": _junctions}[kind](fields, columns)


def _squares(fields: Mapping[str, Any], columns: Mapping[str, Column]) -> MapSections:
    x, y = _coordinates(fields, columns)
    step = read_number(fields, "step")
    box = [read_number(fields, name) for name in SIDES]
    if step <= 0 or box[1] <= box[0] or box[3] <= box[2]:
        raise errors.BadDomain("A map has squares with a side above zero, west below east and south below north.")
    return NO_MAP._replace(by=CELL, lattice={CELL: f"{x},{y},{step}"}, keys={CELL: {"box": box}})


def _zones(fields: Mapping[str, Any], columns: Mapping[str, Column]) -> MapSections:
    x, y = _coordinates(fields, columns)
    file, name = _file(fields, "zones", "the GeoJSON file of the zones"), str(fields.get("zone_name", "")).strip()
    if "," in name:
        raise errors.InvalidParameter("The property that names a zone has no comma.", parameter="zone_name")
    return NO_MAP._replace(by=ZONE, within={ZONE: f"{file}:{','.join(filter(None, [name, x, y]))}"})


def _junctions(fields: Mapping[str, Any], columns: Mapping[str, Column]) -> MapSections:
    place = str(fields.get("place", ""))
    if place not in columns:
        raise errors.MissingParameter("Choose the column that names the junction of a row.", parameter="place")
    nodes = _file(fields, "nodes", "the file of junctions, with the columns id, lon and lat")
    graph = _file(fields, "graph", "the file of what joins them, with the columns u and v")
    return NO_MAP._replace(by=place, keys={place: {"file": nodes, "column": "id"}}, graph=graph, nodes=nodes)


def _coordinates(fields: Mapping[str, Any], columns: Mapping[str, Column]) -> tuple[str, str]:
    x, y = str(fields.get("x", "")), str(fields.get("y", ""))
    if x not in columns or y not in columns or x == y:
        raise errors.MissingParameter("Choose the two columns of coordinates.", parameter="x")
    if "," in x + y:
        raise errors.InvalidParameter("A column of coordinates has no comma in its name.", parameter="x")
    return x, y


def _file(fields: Mapping[str, Any], name: str, words: str) -> str:
    found = str(fields.get(name, "")).strip()
    if not found:
        raise errors.MissingParameter(f"Choose {words}.", parameter=name)
    return found
