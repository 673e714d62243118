"""The command line: one command a question, tables for people, --json for programs; `cli_words` has the exit codes."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import warnings
from contextlib import suppress
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import leastnoise as ln
from leastnoise import errors
from leastnoise._support import atomic_files, validation
from leastnoise.cli import budget, denoise, messages, report, tables
from leastnoise.cli.demo import tell
from leastnoise.curator import column_files
from leastnoise.curator.budget import charge
from leastnoise.curator.request import PrivacyRequest

app = typer.Typer(
    name="leastnoise",
    help="Publish statistics about people with a proved differential-privacy guarantee and the least possible error.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 answered; 1 it could not be done; 2 a mistake in what was typed, also a path with nothing at "
    "it; 3 a mistake of ours; 130 stopped by Ctrl-C.",
)

Epsilon = Annotated[float, typer.Option(help="How much an attacker may learn; 0 or more. Small is private.")]
Delta = Annotated[float, typer.Option(help="A small probability, such as 1e-6.")]
Sigma = Annotated[float, typer.Option(help="The standard deviation of the noise.")]
Sensitivity = Annotated[float, typer.Option(help="How far one person can move the answer (L2).")]
L1 = Annotated[
    float | None, typer.Option("--l1-sensitivity", help="The same in L1, so that Laplace noise can compete.")
]
Bins = Annotated[int, typer.Option(help="How many numbers are published.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, for programs.")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"leastnoise {ln.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Publish statistics about people with a proved differential-privacy guarantee and the least possible error."""


@app.command()
def sigma(epsilon: Epsilon, delta: Delta, sensitivity: Sensitivity = 1.0, json: Json = False) -> None:
    """The least noise that keeps the promise: sigma, proved and rounded up.

    Example: [bold]leastnoise sigma --epsilon 1 --delta 1e-6 --sensitivity 5[/bold]
    """
    answer = ln.sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    _answer(
        json,
        {"sigma": answer, "epsilon": epsilon, "delta": delta, "sensitivity": sensitivity},
        f"Gaussian noise of this standard deviation is ({epsilon:g}, {delta:g})-DP; 1e-12 less is not.",
    )


@app.command()
def epsilon(sigma: Sigma, delta: Delta, sensitivity: Sensitivity = 1.0, json: Json = False) -> None:
    """What a noise of this sigma promises: the least epsilon at a delta, proved and rounded up.

    Example: [bold]leastnoise epsilon --sigma 21.2 --delta 1e-6 --sensitivity 5[/bold]
    """
    answer = ln.epsilon(sigma=sigma, delta=delta, sensitivity=sensitivity)
    _answer(
        json,
        {"epsilon": answer, "sigma": sigma, "delta": delta, "sensitivity": sensitivity},
        ln.GaussianDP.of(sigma=sigma, sensitivity=sensitivity).explain(delta=delta),
    )


@app.command()
def delta(sigma: Sigma, epsilon: Epsilon, sensitivity: Sensitivity = 1.0, json: Json = False) -> None:
    """What a noise of this sigma promises: the least delta at an epsilon, proved and rounded up.

    Example: [bold]leastnoise delta --sigma 21.2 --epsilon 1 --sensitivity 5[/bold]
    """
    answer = ln.delta(sigma=sigma, epsilon=epsilon, sensitivity=sensitivity)
    loss = ln.GaussianDP.of(sigma=sigma, sensitivity=sensitivity).loss_at_least(epsilon)
    _answer(
        json,
        {"delta": answer, "sigma": sigma, "epsilon": epsilon, "sensitivity": sensitivity},
        f"An attacker's hit rate is at most e^{epsilon:g} times the false-alarm rate plus delta. "
        f"(The privacy loss itself passes {epsilon:g} with probability {loss:.2g}.)",
    )


@app.command()
def plan(
    error: Annotated[float, typer.Option(help="How far off a published number may be.")],
    delta: Annotated[float, typer.Option(help="A small probability, such as 1e-6; 0 asks for Laplace noise.")],
    confidence: Annotated[float, typer.Option(help="How surely all numbers must be within the error.")] = 0.95,
    bins: Bins = 1,
    sensitivity: Sensitivity = 1.0,
    l1_sensitivity: L1 = None,
    mechanism: Annotated[str, typer.Option(help="auto, gaussian or laplace.")] = "auto",
    grid: Annotated[float, typer.Option(help="The step of what is published: 1 for counts, 0 for any number.")] = 0.0,
    json: Json = False,
) -> None:
    """From the error you can accept to the least epsilon that allows it.

    Example: [bold]leastnoise plan --error 10 --bins 100 --delta 1e-6 --grid 1[/bold]
    """
    made = ln.plan(
        error=error,
        confidence=confidence,
        bins=bins,
        delta=delta,
        sensitivity=sensitivity,
        l1_sensitivity=l1_sensitivity,
        mechanism=mechanism,  # type: ignore[arg-type]
        grid=grid,
    )
    facts = {name: getattr(made, name) for name in made.__slots__}
    _answer(json, facts, made.explain())


@app.command()
def compare(
    epsilon: Epsilon,
    delta: Delta,
    sensitivity: Sensitivity = 1.0,
    l1_sensitivity: L1 = None,
    bins: Bins = 1,
    json: Json = False,
) -> None:
    """Every mechanism side by side, and which one to use.

    Example: [bold]leastnoise compare --epsilon 0.5 --delta 1e-6 --sensitivity 2.24 --l1-sensitivity 5[/bold]
    """
    made = ln.compare(sensitivity=sensitivity, l1_sensitivity=l1_sensitivity, epsilon=epsilon, delta=delta, bins=bins)
    if json:
        _print_json({"rows": made.to_dicts(), "verdict": made.verdict})
        return
    table = Table(title=f"Mechanisms at epsilon = {epsilon:g}, delta = {delta:g}")
    table.add_column("mechanism", style="bold")
    for heading in ("std", "95 % of one bin", "95 % of all bins", "variance", "budget mu²"):
        table.add_column(heading, justify="right")
    console = Console()
    wide = console.width >= 110
    if wide:
        table.add_column("what it is")
    for row in made.rows:
        table.add_row(
            row.mechanism,
            f"{row.std:.5g}",
            f"± {row.half_width:.5g}",
            f"± {row.half_width_all:.5g}",
            f"{row.variance_ratio:.3g} x",
            f"{row.budget_cost:.4g}",
            *([row.note] if wide else []),
        )
    console.print(table)
    console.print(messages.in_options(made.verdict), highlight=False)


app.add_typer(budget.app, name="budget")


@app.command()
def release(
    values: Annotated[str, typer.Argument(help="A CSV, Parquet or .npy file; - reads from a pipe.")],
    sensitivity: Annotated[float, typer.Option(help="How far one person can move the vector (L2).")],
    output: Annotated[str, typer.Option("--output", "-o", help="The Parquet file to write.")],
    column: Annotated[str | None, typer.Option(help="The column that holds the values.")] = None,
    type: Annotated[str | None, typer.Option(help="int or float; a CSV must be told.")] = None,  # noqa: A002
    epsilon: Annotated[float | None, typer.Option(help="How much an attacker may learn.")] = None,
    delta: Annotated[float | None, typer.Option(help="A small probability; 0 asks for Laplace noise.")] = None,
    sigma: Annotated[float | None, typer.Option(help="Instead of epsilon and delta: the noise itself.")] = None,
    l1_sensitivity: L1 = None,
    mechanism: Annotated[str, typer.Option(help="auto, gaussian or laplace.")] = "auto",
    neighbours: Annotated[str, typer.Option(help="add-remove or replace.")] = "add-remove",
    budget: Annotated[str | None, typer.Option(help="A ledger to pay from; see leastnoise budget.")] = None,
    share: Annotated[str | None, typer.Option(help="The part of it to spend, such as 0.25.")] = None,
    json: Json = False,
    quiet: tables.Quiet = False,
) -> None:
    """Publish a vector: read it, add the least noise that keeps the promise, write one Parquet file.

    Example: [bold]leastnoise release counts.csv --column n --type int --sensitivity 1 --epsilon 1 --delta 1e-6
    -o out.parquet[/bold]
    """
    if type is not None:
        validation.word("--type", type, ("int", "float"))
    asked: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "sigma": sigma,
        "mechanism": mechanism,
        **tables.payment(budget, share),
    }
    facts: dict[str, Any] = {
        "sensitivity": sensitivity,
        "l1_sensitivity": l1_sensitivity,
        "neighbours": neighbours,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.Wasteful)  # it is told once, below
        # Public mistakes first, before anything private is read.
        charge.decide(PrivacyRequest(**asked), bins=2, whole=True, **facts)
    atomic_files.check_writable(output, sources=[values])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", errors.Wasteful)
        private = column_files.read_column(values, column=column, kind=type)  # type: ignore[arg-type]
        made = ln.release(private, **facts, **asked)
    made.save(output)
    for warning in told:
        Console(stderr=True).print(f"Note: {warning.message}", markup=False, highlight=False)
    if quiet:
        return
    if json:
        _print_json({"output": output, "bins": made.bins, "sigma": made.sigma, "mechanism": made.mechanism})
        return
    Console().print(messages.shown(made.explain()), markup=False, highlight=False)
    Console().print(f"Written: {output}", markup=False, highlight=False)


tables.register(app)
app.command()(denoise.denoise)
app.command()(report.report)


@app.command()
def demo() -> None:
    """The whole job on a made-up city: one count, a budget, a map with its noise taken out, a page."""
    tell(Console())


def _answer(as_json: bool, facts: dict[str, Any], sentence: str) -> None:
    """The first fact is the answer; the rest is what it was asked about."""
    if as_json:
        _print_json(facts)
        return
    (name, value), *given = facts.items()
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_row(f"[bold]{name}[/bold]", f"[bold green]{value!r}[/bold green]")
    for key, number in given:
        if number is None:
            continue
        table.add_row(key, f"{number:g}" if isinstance(number, float) else str(number))
    console = Console()
    console.print(table)
    console.print(Panel.fit(sentence, border_style="dim"), highlight=False)


def _print_json(facts: dict[str, Any]) -> None:
    typer.echo(json.dumps(facts))


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
        code = messages.exit_code(problem)
        _complain(problem)
    else:
        return
    sys.exit(code)


def _stop(*_: object) -> None:
    """Ctrl-C: tidy up and end at once. An exception would be raised anywhere, also where a library cannot bear one."""
    atomic_files.tidy()
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h\n")  # a progress bar hides the cursor
    os._exit(130)


def _complain(problem: Exception) -> None:
    with suppress(OSError):  # nobody listens
        console = Console(stderr=True)
        console.print(f"[bold red]{type(problem).__name__}[/bold red]: ", end="", highlight=False)
        console.print(messages.shown(messages.sentence(problem)), markup=False, highlight=False, emoji=False)
