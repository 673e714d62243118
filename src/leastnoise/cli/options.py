"""What the commands' own options and arguments are, by name: each once. (Those of a question are in `jobs.fields`.)

A command is written as Python: what stands before the `*` is typed by position, what stands behind it by --name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, get_origin

import typer

from leastnoise.jobs.fields import SECTIONS

HELP = {
    # what noise guarantees
    "delta": "A small probability, such as 1e-6.",
    "sigma": "The standard deviation of the noise.",
    "sensitivity": "How far one person can move the answer (L2).",
    "l1_sensitivity": "The same in L1, so that Laplace noise can compete.",
    "steps": "How many such releases there are.",
    "sampling": "The chance that a person takes part in a step (Poisson sampling): 0.01, or 256/60000.",
    "bins": "How many numbers are published.",
    "error": "How far off a published number may be.",
    "plan delta": "A small probability, such as 1e-6; 0 asks for Laplace noise.",
    "plan confidence": "How surely all numbers must be within the error.",
    "mechanism": "auto, gaussian or laplace.",
    "grid": "The step of what is published: 1 for counts, 0 for any number.",
    "repeats": "How many such releases epsilon is for: 52 for one a week.",
    # a vector, and limits
    "values": "A CSV, Parquet or .npy file; - reads from a pipe.",
    "column": "The column that holds the values.",
    "type": "int or float; needed for a CSV, and with --expect.",
    "neighbours": "add-remove or replace.",
    "for_epsilon": "The epsilon of the question. Default: this one's.",
    "for_delta": "The delta of the question.",
    "for_share": "The question's share of the budget. Default: all that is left.",
    "keys output": "The file of keys, such as keys.toml. Never replaced.",
    "keys known": "Public keys of a column: month=1:13, zone=zones.csv:zone_id, sex=f,m. Others are left open.",
    # what was released
    "release": "A file that `save` wrote, or the command line.",
    "denoise output": "Where the estimate goes (Parquet).",
    "along": "The axes along which bins are alike, with commas; none for none. Default: all with an order.",
    "known": "A public table that a set of tables shall agree with, district=totals.csv:people: columns of keys, a "
    "file, and its column of values.",
    "loss": "squared, or absolute for medians, many of them exactly zero; for auto and *_bayes.",
    "method": "auto, james_stein, soft_threshold, empirical_bayes, ...",
    "report output": "The page. Default: beside the file.",
    "zones": "Zones of a map: zones.geojson:name, or without name by their ids.",
    "table_by": "One table of a set, by its columns: age,sex.",
    "export output": "A .csv or .xlsx file; of a set of tables a folder, or .xlsx.",
    "denoised": "Denoise first, and write that beside.",
    "confidence": "The confidence of low and high.",
    "round_to": "Write multiples of this, such as 5; low ends down, high ends up.",
    "rows output": "A .parquet or .csv file. Never replaced.",
    "n": "How many rows. Default: as many as were counted, by the release.",
    "within_bins": "One number drawn within each bin, instead of its two ends.",
    "seed": "Of the rows, not of the noise: the same seed gives the same rows.",
    # a budget
    "history": "Every entry, too.",
    "verify": "Check every page, hash and sum first.",
    "report": "Write a page about it to this .html file, too.",
    "show allocation": "Of this allocation alone.",
    "create epsilon": "The most that all releases together may tell.",
    "create delta": "A small probability, such as 1e-6; 0 for Laplace releases only.",
    "pure_epsilon": "The part of epsilon set aside for Laplace releases.",
    "threshold_delta": "The part of delta set aside for unknown keys.",
    "create unit": "Whom it protects: the column, such as taxi; several with commas.",
    "create table": "The table it is about, by the name that --table of a release says.",
    "releases": "How many are planned, to say which kind of budget has less noise.",
    "close reason": "Why it is closed, such as 'the year is over'. The ledger keeps it.",
    "reopen reason": "Why it was closed, and what has changed since. The ledger keeps it.",
    "allocate share": "The part of the budget, such as 0.25 or 1/4.",
    "name": "What the allocation is called.",
    "people": "Who may spend from it, with commas: users, with PostgreSQL roles. Else whoever may.",
    "expires": "The last day on which it can be spent from, such as 2027-12-31.",
    "within": "A part of this allocation, not of the whole budget.",
    "note": "A line for the ledger.",
    # what runs
    "date": "The day that {date:...} in the job stands for, as 2026-10-31; default: today.",
    "run again": "Release although it was done or begun before: pay again, and draw again.",
    "expect": "A rehearsal: refuse what would be refused, else say what to expect. Nothing is read or paid.",
    # what makes a release
    "output": "The Parquet file to write; needed without --expect. See --again.",
    "again": "Pay for a new release although one is there, and replace it.",
    # every command
    "json": "One JSON object on standard output, for programs.",
    "quiet": "Print nothing when all went well.",
}
_SHORT = {"output": "-o", "quiet": "-q", "n": "-n"}
_FIELDS = {name: field for section in ("output", "privacy") for name, field in SECTIONS[section].items()}


def with_options(
    command: Callable[..., Any], parameters: Sequence[inspect.Parameter], called: Callable[..., Any]
) -> Callable[..., Any]:
    """What is called in place of a command, with these parameters as typer reads them."""
    made = [_option(command.__name__, each) for each in parameters]
    functools.update_wrapper(called, command)
    del called.__wrapped__  # type: ignore[attr-defined]  # its signature is not this one's
    called.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in made}
    return called


def own_parameters(command: Callable[..., Any]) -> list[inspect.Parameter]:
    """What a command declares."""
    return list(inspect.signature(command, eval_str=True).parameters.values())


def by_name(name: str, kind: Any) -> inspect.Parameter:
    """An option that need not be typed."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=False if kind is bool else None, annotation=kind
    )


def _option(command: str, parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter of a command as typer reads it; one that is annotated for typer is as it is."""
    if get_origin(parameter.annotation) is Annotated:
        return parameter.replace(kind=parameter.KEYWORD_ONLY)
    name = parameter.name
    text = HELP.get(f"{command} {name}") or HELP.get(name) or _FIELDS[name].help
    look: Any = typer.Argument(help=text)
    if parameter.kind is parameter.KEYWORD_ONLY:
        names = [f"--{name.replace('_', '-')}", *([_SHORT[name]] if name in _SHORT else [])]
        look = typer.Option(*names, help=text)
    return parameter.replace(annotation=Annotated[parameter.annotation, look], kind=parameter.KEYWORD_ONLY)
