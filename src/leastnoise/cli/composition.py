"""`leastnoise compose job.toml`: what the releases of a [compose] section promise together, from both sides.

[compose]
delta = 1e-6                            # or --delta

[[compose.releases]]
kind = "laplace"                        # weekly counts, one row a bin
epsilon = 0.1
bins = 5
grid_steps = 1
times = 52

[[compose.releases]]
kind = "sampled-gaussian"               # a training run
sigma = 1.1
sampling = 0.01
times = 10000
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import leastnoise as ln
from leastnoise import errors
from leastnoise._support import toml_files
from leastnoise._support.toml_files import TomlFile
from leastnoise.cli import options
from leastnoise.cli.json_output import print_json

KINDS: dict[str, dict[str, bool]] = {  # its names, and whether each is needed
    "gaussian": {"sigma": True, "sensitivity": False, "neighbours": False},
    "laplace": {"epsilon": True, "bins": False, "grid_steps": False, "neighbours": False},
    "pure": {"epsilon": True, "neighbours": False},
    "approximate": {"epsilon": True, "delta": True, "neighbours": False},
    "sampled-gaussian": {"sigma": True, "sampling": True, "sensitivity": False, "neighbours": False},
    "exponential": {"epsilon": True, "neighbours": False},
    "unknown-keys": {"chance": True},
}
JobFile = Annotated[Path, typer.Argument(help="A file with a \\[compose] section.", show_default=False)]
TotalDelta = Annotated[float | None, typer.Option("--delta", help="Of all together; the file's by default.")]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(compose)


def compose(job: JobFile, delta: TotalDelta = None, json: options.Json = False) -> None:
    """What several releases promise together, proved from above and below.

    Example: [bold]leastnoise compose job.toml --delta 1e-6[/bold]
    """
    file = toml_files.load(job, "job", parse_float=Decimal)
    section = file.found.get("compose")
    if not isinstance(section, dict) or not isinstance(section.get("releases"), list) or not section["releases"]:
        raise errors.MissingParameter(
            f"{file.path} has no releases to compose: a section [[compose.releases]] for each, with its kind."
        )
    for name in section:
        if name not in ("delta", "releases"):
            raise _mistake(
                file, name, errors.InvalidParameter.among("a name in [compose]", name, ["delta", "releases"])
            )
    at = section.get("delta") if delta is None else delta
    guarantees = [_guarantee(file, number, each) for number, each in enumerate(section["releases"], 1)]
    made = ln.compose(*guarantees, delta=at)
    facts = {
        name: getattr(made, name) for name in ("epsilon", "lower", "delta", "mu", "neighbours") if hasattr(made, name)
    }
    if json:
        print_json({"type": type(made).__name__, **facts})
        return
    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in facts.items():
        table.add_row(f"[bold]{name}[/bold]", f"{value!r}" if isinstance(value, float) else str(value))
    console = Console()
    console.print(table)
    console.print(made.explain(), markup=False, highlight=False)
    if facts.get("lower"):
        above = facts["epsilon"] / facts["lower"] - 1
        console.print(f"epsilon is at most {100 * above:.2g} % above the least.", highlight=False)


def _guarantee(file: TomlFile, number: int, given: Any) -> Any:
    """One release of the file, as often as it says."""
    names = dict(given) if isinstance(given, dict) else {}
    kind = names.pop("kind", None)
    if kind not in KINDS:
        raise _mistake(file, f"release {number}", errors.InvalidParameter.among("kind", kind, KINDS))
    takes = KINDS[kind]
    times = names.pop("times", 1)
    for name in names:
        if name not in takes:
            raise _mistake(file, f"release {number}", errors.InvalidParameter.among(f"a name of {kind}", name, takes))
    for name, needed in takes.items():
        if needed and name not in names:
            raise _mistake(file, f"release {number}", errors.MissingParameter(f"a {kind} release needs its {name}."))
    try:
        return _maker(kind)(**names) * times
    except errors.InvalidParameter as error:
        raise _mistake(file, f"release {number}", error) from None


def _maker(kind: str) -> Callable[..., Any]:
    """What makes the guarantee of one release of this kind."""
    makers: dict[str, Callable[..., Any]] = {
        "gaussian": ln.GaussianDP.of,
        "laplace": ln.LaplaceDP,
        "pure": ln.PureDP,
        "approximate": ln.ApproxDP,
        "sampled-gaussian": ln.SampledGaussianDP.of,
        "exponential": ln.accounting.BoundedRangeDP,
        "unknown-keys": ln.accounting.ThresholdDP,
    }
    return makers[kind]


def _mistake(file: TomlFile, place: str, error: errors.InvalidParameter) -> errors.InvalidParameter:
    return errors.InvalidParameter(f"{file.path}, {place}: {error.message}", parameter=error.parameter)
