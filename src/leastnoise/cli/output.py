"""What the commands print: tables for people, --json for programs, nothing with --quiet; and the exit codes.

A command returns an `Answer`, and `printed` prints it. Exit codes, the same for every command:

    0     answered
    1     asked rightly, but it could not be done: a damaged file, a full disk, an empty or closed budget
    2     what was typed cannot be used: an option, a number, a word, a column, a path with nothing at it, an
          output where another file is
    3     a mistake of leastnoise itself; please report it
    4     answered, and the answer is PRIVATE: of `private-check` alone
    130   stopped by Ctrl-C
"""

from __future__ import annotations

import json
import math
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any

import typer
from rich.console import Console

from leastnoise import errors
from leastnoise._support.text import printable as without_controls
from leastnoise.cli.options import by_name, own_parameters, with_options
from leastnoise.jobs.fields import SECTIONS
from leastnoise.jobs.running import SYSTEM, saved
from leastnoise.jobs.wording import in_options

PRIVATE = 4  # the exit code of what must not be published


class Line(str):
    """A line that is not broken where the terminal ends: a path, or a row of a table."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command found.

    facts: for --json. shown: for people, sentences and what Rich prints. saved: the file of a release that is paid
    for, which is said where it cannot be shown.
    """

    facts: object
    shown: Sequence[Any] = ()
    saved: str | None = None


def written(path: object) -> Line:
    """The last line of a command that wrote a file."""
    return Line(f"Written: {path}")


def printed(command: Callable[..., Answer]) -> Callable[..., None]:
    """The command with --json and --quiet, as typer reads it."""

    def called(json: bool, quiet: bool, **typed: Any) -> None:
        with _notes():
            answer = command(**typed)
        if not quiet:
            with nullcontext() if answer.saved is None else showing(answer.saved):
                _show(answer, as_json=json)

    return with_options(command, [*own_parameters(command), by_name("json", bool), by_name("quiet", bool)], called)


def showing(path: str) -> Any:
    """Within it a release that is on disk is shown."""
    return saved(path, f"It could not be shown here; leastnoise show {path} shows it, and pays nothing.")


def _show(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_plain(answer.facts), default=str, allow_nan=False))
        return
    for each in answer.shown:
        show(each)


def show(shown: Any, *, to: Console | None = None) -> None:
    """Print a sentence, a line or what Rich prints; of a text no character moves the cursor."""
    console = to or Console()
    if not isinstance(shown, str):
        console.print(shown)
        return
    for line in printable(shown).splitlines():
        whole = isinstance(shown, Line) or line.startswith("  ")
        console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=whole)


def _plain(value: Any) -> Any:
    """A value of JSON: dataclasses and mappings are objects; no number, or one without end, is null."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


@contextmanager
def _notes() -> Iterator[None]:
    """Our warnings as notes on standard error, once what caused them is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", errors.Wasteful)
        warnings.simplefilter("always", errors.WeakPromise)
        yield
    for warning in caught:
        found = warning.message
        text = in_options(found, flags(), "Or say") if isinstance(found, errors.WeakPromise) else str(found)
        show(f"Note: {text}", to=Console(stderr=True))


def printable(text: Any) -> str:
    """What is printed, line by line: no character of it moves the cursor or turns the writing round."""
    return without_controls(text, lines=True)


@cache
def flags() -> dict[str, str]:
    """How arguments of Python are typed: as fields of a job, or as the option of that name of some command."""
    from leastnoise.cli.app import app

    commands: list[Any] = [typer.main.get_command(app)]
    for command in commands:
        commands += getattr(command, "commands", {}).values()
    options = [option for command in commands for option in command.params if option.param_type_name == "option"]
    named = {option.name: option.opts[0].partition("/")[0] for option in options}
    return named | {name: field.flag.partition("/")[0] for part in SECTIONS.values() for name, field in part.items()}


def exit_code(problem: BaseException) -> int:
    """What the process ends with."""
    if isinstance(problem, errors.OutputFailed) and problem.__cause__ is not None:
        return 3 if exit_code(problem.__cause__) == 3 else 1
    if isinstance(problem, (errors.InvalidParameter, errors.NoSuchFile, errors.BadOutput)):
        return 2
    return 1 if isinstance(problem, (errors.LeastnoiseError, MemoryError, OSError)) else 3


def explain(problem: BaseException) -> str:
    """What is printed about a failure. Only our own messages are known to quote nothing private."""
    if isinstance(problem, errors.LeastnoiseError):
        return in_options(problem, flags())
    if isinstance(problem, MemoryError):
        return "there is not enough memory for this. Nothing was written. Ask for fewer bins, or use a larger machine."
    if isinstance(problem, OSError):
        return SYSTEM
    where = ""
    for frame, line in traceback.walk_tb(problem.__traceback__):  # the last of ours: typer's lie between main and it
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] == "leastnoise":
            where = f" at {module}, line {line}"
    return (
        f"leastnoise made a mistake{where}, for which we are sorry; nothing was written. Its message is withheld "
        "because it may quote private values; LEASTNOISE_DEBUG=1 shows it to you. Please report this."
    )
