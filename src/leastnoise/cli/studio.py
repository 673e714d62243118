"""`leastnoise studio people.parquet`: the whole way from a table to a published page, in the browser."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Annotated

import typer
from rich.console import Console

from leastnoise import errors


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(rich_help_panel="Run")(studio)


def studio(
    source: Annotated[str, typer.Argument(help="A Parquet or CSV file, or a folder of them.")],
    budget: Annotated[
        list[str] | None,
        typer.Option(help="A budget on a server, postgresql://ann@host/db?budget=city, without a password; repeat."),
    ] = None,
    port: Annotated[int, typer.Option(help="Where it listens; 0 takes a free port.", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the link.")] = False,
) -> None:
    """From a table to a published page, in the browser, on this machine only. No row is read before you release.

    Example: [bold]leastnoise studio people.parquet[/bold]
    """
    for package in ("starlette", "uvicorn", "jinja2"):
        if find_spec(package) is None:
            raise errors.MissingPackage.named(package, "the studio", extra="studio")
    from leastnoise.studio.server import serve

    plain = partial(Console().print, markup=False, highlight=False, soft_wrap=True)
    serve(source, budgets=budget or (), port=port, browser=not no_browser, announce=plain)
