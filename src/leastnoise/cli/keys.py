"""`leastnoise keys`: a file of public keys to be filled in; `jobs.keys` reads what is typed."""

from __future__ import annotations

from pathlib import Path

import typer

from leastnoise import errors
from leastnoise.cli.ask import TABLE, Typed, typed_by
from leastnoise.cli.output import Answer, Line, printed
from leastnoise.jobs.keys import parse_keys
from leastnoise.jobs.running import open_table


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("keys", rich_help_panel="Prepare")(printed(typed_by(keys, {"table": TABLE}, writes=False)))


def keys(typed: Typed, *, output: Path, known: list[str] | None = None) -> Answer:
    """A file of public keys to be filled in, one line per column, from names and types alone: no row is read.

    Keys come from a public file, a range or a list; never from the table itself. Columns that --known leaves out are
    for you to fill in. Questions take the file: --keys keys.toml.

    Example: [bold]leastnoise keys trips.parquet --unit taxi --known zone=zones.csv:zone_id --known hour=0:24 -o
    keys.toml[/bold]
    """
    table, given = open_table(typed.job(kind="count_units")), {}
    for text in known or []:
        column, equals, keys_of_it = text.partition("=")
        if not equals:
            raise errors.BadDomain(f"--known takes COLUMN=KEYS, such as month=1:13. Got {text!r} instead.")
        table._data.check_usable(column)
        given[column] = parse_keys(table, [column], [keys_of_it])
    table.write_keys(output, keys=given)
    told = f"Written: {output}. Fill in the [] of what you ask for, from what is public; say --keys {output}."
    return Answer({"output": str(output)}, [Line(told)])
