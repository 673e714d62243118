"""The command line: a command for each question, tables for people, --json for programs; exit codes are `output`'s."""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import suppress
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

import leastnoise as ln
from leastnoise._support import files
from leastnoise.cli import ask, budget, calibration, output, prepare, release, released, run, studio

PANELS = ("Publish", "Prepare", "After", "Budget", "Calculate", "Run")


class _InPanels(TyperGroup):
    """Commands in the order in which they are used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(self.commands, key=lambda name: PANELS.index(str(self.commands[name].rich_help_panel)))  # type: ignore[attr-defined]


app = typer.Typer(
    cls=_InPanels,
    name="leastnoise",
    help="Statistics about people with a proved differential-privacy guarantee and the least noise that keeps it.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 answered; 1 it could not be done; 2 a mistake in what was typed, also a path with nothing at "
    "it; 3 a mistake of ours; 4 answered, and the answer is private; 130 stopped by Ctrl-C.",
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"leastnoise {ln.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Statistics about people with a proved differential-privacy guarantee and the least noise that keeps it."""


for _part in (ask, release, prepare, released):
    _part.register(app)
app.add_typer(budget.app, name="budget", rich_help_panel="Budget")
for _part in (calibration, run, studio):
    _part.register(app)


@app.command(rich_help_panel="Run")
def demo() -> None:
    """The whole job on made-up data: one count, a budget, a map with its noise taken out, many tables, pages."""
    from leastnoise.cli.demo import run_demo  # it brings NumPy, and help must not

    run_demo()


def main() -> None:
    """The command line, with a sentence instead of a traceback for every mistake."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a path may hold bytes that are no text
    with suppress(ValueError):  # outside the main thread nobody presses Ctrl-C
        signal.signal(signal.SIGINT, _stop)
    try:
        app(prog_name="leastnoise")
    except Exception as problem:
        if os.environ.get("LEASTNOISE_DEBUG"):
            raise
        code = output.exit_code(problem)
        _print_problem(problem)
    else:
        return
    sys.exit(code)


def _stop(*_: object) -> None:
    """Ctrl-C: tidy up and end at once. An exception would be raised anywhere, also where a library cannot bear one."""
    files.tidy()
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h\n")  # a progress bar hides the cursor
    os._exit(130)


def _print_problem(problem: Exception) -> None:
    with suppress(OSError):  # standard error is closed
        console = Console(stderr=True)
        console.print(f"[bold red]{type(problem).__name__}[/bold red]: ", end="", highlight=False)
        console.print(output.printable(output.explain(problem)), markup=False, highlight=False, emoji=False)
