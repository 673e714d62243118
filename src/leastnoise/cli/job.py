"""`leastnoise run job.toml`: what a timetable runs, once a day or once a month. To run it twice does it once."""

from __future__ import annotations

from datetime import date
from typing import Any

from rich.console import Console

from leastnoise import errors
from leastnoise.cli import options
from leastnoise.cli.json_output import print_json
from leastnoise.cli.messages import printable
from leastnoise.cli.options import OutputOptions
from leastnoise.cli.publishing import notes, show_expected, showing
from leastnoise.jobs.file import read_job
from leastnoise.jobs.phrasing import phrased
from leastnoise.jobs.running import Done, Run, alone, day_of


def run(
    job: options.JobFile,
    day: options.JobDate = None,
    again: options.Again = False,
    expect: options.Expect = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Do a job: release what it asks for, and write its files. Run again, it neither pays nor draws again.

    Example: [bold]leastnoise run job.toml --expect[/bold]
    """
    asked = read_job(job, _day(day))
    with phrased():
        planned = Run.of(asked, again=again)
        if expect:
            _show_rehearsal(planned.rehearse(), json=json, quiet=quiet)
            return
        with alone(job), notes():
            done = planned.do()
    if not quiet:
        with showing(done.files["release"]):
            _show(done, json)


def _day(text: str | None) -> date:
    try:
        return date.today() if text is None else date.fromisoformat(text)
    except ValueError:
        raise errors.InvalidParameter(f"--date takes a day such as 2026-10-31. Got {text!r} instead.") from None


def _show_rehearsal(found: Any, *, json: bool, quiet: bool) -> None:
    """What a run would release; or that it would release nothing, because that was done."""
    if not isinstance(found, Done):
        show_expected(found, OutputOptions(expect=True, json=json, quiet=quiet))
    elif not quiet and json:
        _show(found, as_json=True)
    elif not quiet:
        path, made = found.files["release"], found.release
        line = f"{path} was released on {day_of(made)} (release {made.id}). A run would neither pay nor draw again."
        Console().print(printable(line), markup=False, highlight=False)
        Console().print("Nothing was read, paid or written.", markup=False, highlight=False)


def _show(done: Done, as_json: bool) -> None:
    made = done.release
    if as_json:
        facts = {"new": done.new, "release": made.id, "created_at": made.created_at.isoformat(), "query": made.query}
        print_json({**facts, "files": dict(done.files)})
        return
    console, path = Console(), done.files["release"]
    if done.new:
        console.print(printable(made.explain()), markup=False, highlight=False)
    else:
        line = f"{path} was released on {day_of(made)} (release {made.id}). Nothing was read, paid or drawn again."
        console.print(printable(line), markup=False, highlight=False)
    for name, file in done.files.items():
        if done.new or name != "release":
            console.print(printable(f"Written: {file}"), markup=False, highlight=False)
