"""`leastnoise run job.toml`: what a timetable runs, once a day or once a month. To run it twice does it once.

The order is fixed: everything public is checked, the record of the run is on disk (`job_record`), the budget is
debited, rows are read, noise is drawn, the release is on disk, the record says so. Estimate and page are made from the
release, for free, whenever the job runs.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from leastnoise import errors
from leastnoise._support import atomic_files, csv_folders, outputs
from leastnoise.cli import options
from leastnoise.cli.export import write
from leastnoise.cli.job_errors import phrased
from leastnoise.cli.job_file import ROW_NAMES, Job, read_job
from leastnoise.cli.job_record import Record, read_record
from leastnoise.cli.json_output import print_json
from leastnoise.cli.messages import printable
from leastnoise.cli.options import OutputOptions, PrivacyOptions
from leastnoise.cli.publishing import arguments, notes, refuse_weak, show_expected
from leastnoise.cli.row_options import shaped

if TYPE_CHECKING:
    from leastnoise.curator.budget import Budget
    from leastnoise.curator.publish import Answer
    from leastnoise.curator.queries.query import Query
    from leastnoise.curator.request import PrivacyRequest
    from leastnoise.curator.table import Table


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
        query = asked.kind.ask(open_table(asked), asked.arguments())
        privacy = _privacy(asked)
        if expect:
            show_expected(
                query.expect(**arguments(privacy.request(query.mechanisms))),
                OutputOptions(expect=True, json=json, quiet=quiet),
            )
            return
        with _alone(job):
            done = _Run(asked, query, privacy, again).do()
    if not quiet:
        _show(done, json)


@dataclass(frozen=True, slots=True)
class _Done:
    """What became of a run."""

    release: Answer
    new: bool
    files: Mapping[str, str]  # release, and where asked for estimate and page


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a job, with nobody else at it."""

    job: Job
    query: Query
    privacy: PrivacyOptions
    again: bool

    @property
    def files(self) -> dict[str, str]:
        return {name: self.job.path(text) for name, text in self.job.output.items() if name != "title"}

    def do(self) -> _Done:
        """Release unless that was done before, then make the other files of it."""
        request = self.privacy.request(self.query.mechanisms)
        self._check_files()
        before = _release_at(self.files["release"])
        record = self._settled(before, request.budget)
        made = None if self.again else self._made_before(record, before)
        new = made is None
        made = made or self._release(request, record, before)
        self._write_others(made)
        return _Done(made, new, self.files)

    def _check_files(self) -> None:
        """Everything that will be written can be, before anything is paid."""
        paths = list(self.files.values())
        if "estimate" in self.files and not self.job.kind.denoises(self.query):
            place = self.job.file.place("output", "estimate")
            raise errors.InvalidParameter(f"{place}: this kind of release cannot be denoised. Leave estimate out.")
        if len({os.path.realpath(path) for path in paths}) < len(paths):
            raise errors.InvalidParameter(f"{self.job.file.place('output')}: two outputs have one path. Give each one.")
        for name, path in self.files.items():
            if name == "csv" and self.job.ask["kind"] == "crosstabs":
                csv_folders.check(path)
            else:
                atomic_files.check_writable(path, _OUTPUT_KINDS.get(name, "release"), sources=self.query.files)

    def _settled(self, before: Answer | None, budget: Budget | None) -> Record | None:
        """What is known of earlier runs. Refuses to go on where one has paid for a release and lost it."""
        path = self.files["release"]
        found = read_record(path)
        record = None if found is None else found.settled(None if before is None else before.id, budget)
        if record is not None and record.release is None and not self.again:
            raise errors.FileProblem(
                f"A run of this job that began at {record.begun} debited the budget (release {record.debit(budget)}) "
                f"and ended before {path!r} was written. Nobody has seen what it drew, and what it paid stays paid. "
                "Find out what stopped it; then type --again to pay for a new release."
            )
        return record

    def _made_before(self, record: Record | None, before: Answer | None) -> Answer | None:
        """The release that an earlier run of this job wrote; None where there is none."""
        path = self.files["release"]
        if before is None:
            if record is None:
                return None
            raise errors.FileProblem(
                f"{path!r} was released before (release {record.release}, by the run that began at {record.begun}), "
                "and the file is gone. Nothing was read, paid or written. Put it back, or type --again to pay for a "
                "new one."
            )
        if record is None or record.release != before.id:
            raise errors.BadOutput(
                f"{path!r} is a release that no run of this job wrote. Nothing was read, paid or written. Give the job "
                f"another path, or type --again to pay for a new one in its place.{_DATE}"
            )
        changed = record.changed(self.job.fingerprints())
        if changed:
            parts = ", ".join(f"[{name}]" for name in changed)
            raise errors.InvalidParameter(
                f"{path!r} was released on {_day_of(before)}, and {parts} of the job is not what it was then. Nothing "
                f"was read, paid or written. Give the job another path, or type --again to pay for a new one in its "
                f"place.{_DATE}"
            )
        return before

    def _release(self, request: PrivacyRequest, known: Record | None, before: Answer | None) -> Answer:
        """Pay, read, draw and write, between two states of the record."""
        path, asked = self.files["release"], arguments(request)
        refuse_weak(self.query.expect(**asked).strength, self.privacy)
        record = Record(
            fingerprints=self.job.fingerprints(),
            query=self.query.describe(),
            entries=None if request.budget is None else len(request.budget.history()),
            replaces=None if before is None else before.id,
            replaced=None if known is None or before is None or known.release != before.id else known.fingerprints,
        )
        record.write(path)
        try:
            with notes():
                made = self.query.release(**asked)
        except errors.LeastnoiseError:
            record.withdraw(path, known, request.budget)
            raise
        made.save(path)
        replace(record, release=made.id).write(path)
        return made

    def _write_others(self, made: Any) -> None:
        """What is made of the release alone, for free."""
        estimate: Any = "auto"
        if "estimate" in self.files:
            estimate = made.denoise()
            estimate.save(self.files["estimate"])
        if "page" in self.files:
            made.report(self.files["page"], estimate=estimate, title=self.job.output.get("title"))
        for name in ("csv", "excel"):
            if name in self.files:
                write(made, Path(self.files[name]), denoised="estimate" in self.files)


_OUTPUT_KINDS: dict[str, outputs.Kind] = {"page": "page", "csv": "csv", "excel": "workbook"}
_DATE = " A path with {date:%Y-%m} in it is another every month."


def open_table(job: Job) -> Table:
    """The rows that the job is about, lazily."""
    from leastnoise.curator.table import table

    given = dict(job.table)
    source = given.pop("source")
    rows = {name: given.pop(name) for name in ROW_NAMES if name in given}
    joined = rows.pop("join", [])
    paths = job.path(source) if isinstance(source, str) else [job.path(each) for each in source]
    join = [joined] if isinstance(joined, str) else joined
    return shaped(table(paths, **given), join=join, path=job.path, **rows)


def _privacy(job: Job) -> PrivacyOptions:
    given = dict(job.privacy)
    if "budget" in given:
        given["budget"] = job.path(given["budget"])
    if "share" in given:
        given["share"] = str(given["share"])
    return PrivacyOptions(**given)


def _release_at(path: str) -> Answer | None:
    """The release at the path; None where nothing is there."""
    from leastnoise.releases.loading import load

    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    found: Answer = load(path)
    if found.kind == "estimate":
        raise errors.BadOutput(
            f"{path!r} is an estimate, and the release of this job belongs there. Give another path."
        )
    return found


@contextmanager
def _alone(job: Path) -> Iterator[None]:
    """Nobody else runs this job meanwhile: two runs at once would both pay."""
    with open(job, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise errors.FileProblem(f"Another run of {str(job)!r} is under way. Wait for it.") from None
        yield


def _day(text: str | None) -> date:
    try:
        return date.today() if text is None else date.fromisoformat(text)
    except ValueError:
        raise errors.InvalidParameter(f"--date takes a day such as 2026-10-31. Got {text!r} instead.") from None


def _day_of(made: Answer) -> str:
    return f"{made.created_at:%Y-%m-%d}"


def _show(done: _Done, as_json: bool) -> None:
    made = done.release
    if as_json:
        facts = {"new": done.new, "release": made.id, "created_at": made.created_at.isoformat(), "query": made.query}
        print_json({**facts, "files": dict(done.files)})
        return
    console, path = Console(), done.files["release"]
    if done.new:
        console.print(printable(made.explain()), markup=False, highlight=False)
    else:
        line = f"{path} was released on {_day_of(made)} (release {made.id}). Nothing was read, paid or drawn again."
        console.print(printable(line), markup=False, highlight=False)
    for name, file in done.files.items():
        if done.new or name != "release":
            console.print(printable(f"Written: {file}"), markup=False, highlight=False)
