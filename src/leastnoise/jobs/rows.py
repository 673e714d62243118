"""What one row is, on the command line and in a job's [table]: columns joined in or derived, and a row for each unit.

They act in one order: --join, --within, --nearest, --derive, --lattice, --where, --per-unit, --having. Each
is written as text:

    --join zones.csv:zone_id              columns of a public table, by a column that both have (or pickup=zone_id)
    --within zone=zones.geojson:name,lon,lat        the zone that holds a point, by the property that names it
    --nearest node=nodes.parquet,edges.parquet,lon,lat,250      the nearest junction, within 250 metres
    --derive night="hour < 6"
    --lattice cell=lon,lat,0.01
    --per-unit trips=count --per-unit spent=sum:fare:0.01 --per-unit home=mode:zone
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leastnoise import errors
from leastnoise.errors import Code
from leastnoise.jobs import fields
from leastnoise.jobs.calls import Call, File, Variable
from leastnoise.jobs.fields import ROWS, SECTIONS, listed

STATISTICS = ("sum", "min", "max", "mode", "distinct")


def steps(table: Mapping[str, Any]) -> Iterator[tuple[str, Call]]:
    """What [table] says as assignments to variables, in their order; the last makes `table`."""
    given = {name: value for name, value in table.items() if name not in ("source", *ROWS, "labels")}
    yield "table", Call("ln.table", [table["source"]], given)
    for text in listed(table.get("join", [])):
        file, on = parse_join(text)
        yield "table", Call("table.join_public", [File(file)], {"on": on})
    within = table.get("within", {})
    for name, text in within.items():
        file, key, lon, lat = parse_zones(text)
        zones = zones_variable(within, name)
        yield zones, Call("ln.domain.Zones.read", [File(file)], {} if key is None else {"key": key})
        yield "table", Call("table.within", [zones], {"lon": lon, "lat": lat, "name": name})
    for name, text in table.get("nearest", {}).items():
        nodes, edges, near = parse_nearest(text)
        graph = Call("ln.graphs.Graph.from_parquet", [File(nodes), File(edges)])
        yield "table", Call("table.nearest", [graph], near | {"name": name})
    if table.get("derive"):
        yield "table", Call("table.derive", named=table["derive"])
    if table.get("lattice"):
        cells = {name: Call("ln.lattice", parse_lattice(text)) for name, text in table["lattice"].items()}
        yield "table", Call("table.derive", named=cells)
    if "where" in table:
        yield "table", Call("table.where", [table["where"]])
    if "having" in table and not table.get("per_unit"):
        raise errors.MissingParameter(
            "a condition on people needs a row for each of them, with the columns that it reads.",
            parameter="per_unit",
            example={"per_unit": Code("trips=count", "trips=count")},
        )
    if table.get("per_unit"):
        statistics = {name: parse_statistic(text) for name, text in table["per_unit"].items()}
        yield "table", Call("table.per_unit", named=statistics)
    if "having" in table:
        yield "table", Call("table.where", [table["having"]])
    if "labels" in table:
        yield "table", Call("table.label", named=table["labels"])


def zones_variable(within: Mapping[str, str], name: str) -> Variable:
    """The variable that holds the zones of a column."""
    place = list(within).index(name)
    return Variable(f"zones_{place + 1}" if place else "zones")


def parse_join(text: str) -> tuple[str, dict[str, str]]:
    """zones.csv:zone_id: a file, and for each column of the rows the one of the file that it is joined by."""
    file, _, names = text.rpartition(":")
    pairs = [name.partition("=") for name in names.split(",")]
    if not file or not all(own and (not sign or key) for own, sign, key in pairs):
        raise wrong("join", text, "a file and, after a colon, the column that both tables have")
    return file, {own: key if sign else own for own, sign, key in pairs}


def parse_zones(text: str) -> tuple[str, str | None, str, str]:
    """zones.geojson:name,lon,lat: a file, the property that names a zone (None: its id), the columns of a point."""
    file, _, rest = text.rpartition(":")
    names = rest.split(",")
    if not file or len(names) not in (2, 3) or not all(names):
        raise wrong("within", text, "a file, a colon, the property that names a zone, and the columns of a point")
    return file, names[0] if len(names) == 3 else None, names[-2], names[-1]


def parse_nearest(text: str) -> tuple[str, str, dict[str, Any]]:
    """nodes.parquet,edges.parquet,lon,lat,250: two files, the columns of a point and metres; and the width of a kernel
    and over how many nodes it spreads a row, where they are given."""
    names = [name.strip() for name in text.split(",")]
    try:
        nodes, edges, lon, lat, within = names[:5]
        more = dict(zip(("kernel_width", "spread"), map(fields.number, names[5:7]), strict=False))
        named = {"lon": lon, "lat": lat, "within": fields.number(within), **more}
    except ValueError:
        nodes, named = "", {}
    if not (nodes and edges and named["lon"] and named["lat"] and len(names) <= 7):
        raise wrong("nearest", text, "a file of nodes, one of edges, the columns of a point, and a number of metres")
    return nodes, edges, named


def parse_lattice(text: str) -> tuple[str, str, float]:
    """lon,lat,0.01: two columns, and the side of a cell."""
    names = text.split(",")
    try:
        x, y, step = names[0], names[1], float(names[2])
    except (IndexError, ValueError):
        x, y, step = "", "", 0.0
    if not (x and y and len(names) == 3):
        raise wrong("lattice", text, "two columns of coordinates and the side of a cell")
    return x, y, step


def parse_statistic(text: str) -> Call:
    """count, mode:zone, or sum:fare:0.01; a column's own name may hold a colon."""
    word, _, column = text.partition(":")
    if word == "count" and not column:
        return Call("ln.stats.count")
    if word not in STATISTICS or not column:
        raise wrong("per_unit", text, f"count, or one of {', '.join(STATISTICS)} with a colon and a column")
    name, _, grid = column.rpartition(":")
    if word == "sum" and name and _is_number(grid):
        return Call("ln.stats.sum", [name], {"grid": float(grid)})
    return Call(f"ln.stats.{word}", [column])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def wrong(name: str, text: str, needed: str) -> errors.InvalidParameter:
    """The text of a field of [table] that is not what is `needed`."""
    field = SECTIONS["table"][name]
    return errors.InvalidParameter(
        f"{field.flag} takes {needed}. Got {text!r} instead.", parameter=name, value=text, example={name: field.example}
    )
