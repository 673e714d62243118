"""`leastnoise run job.toml`: what a timetable runs, once a day or once a month. To run it twice does it once."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from leastnoise import errors
from leastnoise.cli.ask import expected
from leastnoise.cli.output import Answer, printed, showing, written
from leastnoise.cli.shown import in_brief
from leastnoise.jobs.file import read_job
from leastnoise.jobs.running import Done, Run, alone, day_of
from leastnoise.jobs.wording import phrased


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("run", rich_help_panel="Run")(printed(run))


def run(
    job: Annotated[
        Path, typer.Argument(help=f"The job, in TOML: {escape('[table] [keys] [ask] [privacy] [output]')}.")
    ],
    *,
    date: str | None = None,
    again: bool = False,
    expect: bool = False,
) -> Answer:
    """Do a job: release what it asks for, and write its files. Run again, it neither pays nor draws again.

    Example: [bold]leastnoise run job.toml --expect[/bold]
    """
    asked = read_job(job, _day(date))
    with phrased():
        planned = Run.of(asked, again=again)
        if expect:
            found = planned.rehearse()
            return _done(found, rehearsed=True) if isinstance(found, Done) else expected(found)
        with alone(job):
            done = planned.do()
    with showing(done.files["release"]):
        return _done(done)


def _day(text: str | None) -> datetime.date:
    try:
        return datetime.date.today() if text is None else datetime.date.fromisoformat(text)
    except ValueError:
        raise errors.InvalidParameter(f"--date takes a day such as 2026-10-31. Got {text!r} instead.") from None


def _done(done: Done, *, rehearsed: bool = False) -> Answer:
    made = done.release
    facts = {"new": done.new, "release": made.id, "created_at": made.created_at.isoformat(), "query": made.query}
    shown = list(_lines(done, rehearsed))
    return Answer({**facts, "files": dict(done.files)}, shown, done.files["release"])


def _lines(done: Done, rehearsed: bool) -> Iterator[str]:
    made, path = done.release, done.files["release"]
    before = f"{path} was released on {day_of(made)} (release {made.id})."
    if rehearsed:
        yield f"{before} A run would neither pay nor draw again."
        yield "Nothing was read, paid or written."
        return
    if done.new:
        yield from in_brief(made)
    else:
        yield f"{before} Nothing was read, paid or drawn again."
    yield from (written(file) for name, file in done.files.items() if done.new or name != "release")
