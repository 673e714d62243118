"""What one row is, as options; `jobs.rows` says what each means, and in which order they act."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from leastnoise.jobs.rows import shaped, wrong

if TYPE_CHECKING:
    from leastnoise.curator.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions:
    """What one row is, as text; `shaped` says what it means."""

    join: Annotated[
        list[str] | None,
        typer.Option(help="Columns of a public table: zones.csv:zone_id, or zones.csv:pickup=zone_id; repeat."),
    ] = None
    within: Annotated[
        list[str] | None,
        typer.Option(help="The zone that holds a point: zone=zones.geojson:name,lon,lat, or without name by its id."),
    ] = None
    derive: Annotated[list[str] | None, typer.Option(help='A new column: night="hour < 6"; repeat.')] = None
    lattice: Annotated[list[str] | None, typer.Option(help="Cells on a map: cell=lon,lat,0.01.")] = None
    where: Annotated[str | None, typer.Option(help="Only rows with, e.g. \"hour < 3 and city = 'Rome'\".")] = None
    per_unit: Annotated[
        list[str] | None,
        typer.Option(help="A row for each person: trips=count, spent=sum:fare:0.01, home=mode:zone; repeat."),
    ] = None
    having: Annotated[str | None, typer.Option(help='After --per-unit, only people with, e.g. "trips > 1".')] = None

    def shaped(self, table: Table) -> Table:
        """The table with rows as these options say."""
        return shaped(
            table,
            join=self.join or [],
            within=named("within", self.within),
            derive=named("derive", self.derive),
            lattice=named("lattice", self.lattice),
            where=self.where,
            per_unit=named("per_unit", self.per_unit),
            having=self.having,
        )


def named(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """NAME=TEXT as options give it, each name once."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, sign, rest = text.partition("=")
        if not (name.strip() and sign and rest.strip()) or name.strip() in found:
            raise wrong(option, text, "a new name, an equals sign and what it stands for, each name once")
        found[name.strip()] = rest.strip()
    return found
