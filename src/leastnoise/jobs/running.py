"""One run of a job: what is asked is released once, and a run after that makes only what is made of the release.

The order is fixed: everything public is checked, the record of the run is on disk (`record`), the budget is debited,
rows are read, noise is drawn, the release is on disk, the record says so. Estimate and page are made from the release,
for free, whenever the job runs.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise._support import files, outputs
from leastnoise.jobs.calls import make
from leastnoise.jobs.fields import WRITTEN
from leastnoise.jobs.file import Job
from leastnoise.jobs.record import Record, read_record
from leastnoise.jobs.rows import steps

if TYPE_CHECKING:
    from leastnoise.curator.queries.query import Query
    from leastnoise.curator.release import Answer
    from leastnoise.curator.request import PrivacyRequest
    from leastnoise.curator.table import Table
    from leastnoise.privacy.strength import Strength


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a run."""

    release: Answer
    new: bool
    files: Mapping[str, str]  # release, and where asked for estimate and page


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job.

    job: what its file says.
    query: the question, of a table that is opened and not read.
    request: how private; the ledger is opened.
    again: pay for a new release although there is one, or one was paid for and lost.
    keeps_record: whether a second run does nothing, as of a job in a file; a command that is typed twice is refused.
    """

    job: Job
    query: Query
    request: PrivacyRequest
    again: bool = False
    keeps_record: bool = True

    @classmethod
    def of(cls, job: Job, *, again: bool = False) -> Run:
        """The run of a job: its table and its ledger are opened, and no row is read."""
        return cls.asking(job, query_of(job), again=again)

    @classmethod
    def asking(cls, job: Job, query: Query, *, again: bool = False, keeps_record: bool = True) -> Run:
        """The run of a job whose question was made before."""
        return cls(job, query, request_of(job, query.mechanisms), again, keeps_record)

    def expect(self) -> Any:
        """What the release would be like; free. Refuses one that could not be paid for."""
        return self.query.expect(**_arguments(self.request))

    def preview(self) -> Any:
        """The same, whether or not it could be paid for."""
        from leastnoise.curator import release as loop

        return loop.expect(self.query, self.request, payable=False)

    def rehearse(self) -> Any | Done:
        """What `do` would release; where that was done before, what there is. Refuses what `do` would, and pays and
        writes nothing."""
        if not self.keeps_record:
            expected = self._expected_release()
            self._check_files()
            self._check_new()
            return expected
        made, _, _ = self._earlier()
        return self._expected_release() if made is None else Done(made, False, self.files)

    def _expected_release(self) -> Any:
        expected = self.expect()
        _refuse_weak(expected.strength, bool(self.job.privacy.get("force")))
        return expected

    @property
    def files(self) -> dict[str, str]:
        """What will be written, by its name in [output]."""
        return {name: self.job.path(text) for name, text in self.job.output.items() if name in WRITTEN}

    def do(self) -> Done:
        """Release unless that was done before, then make the other files of it."""
        made, record, before = self._earlier()
        new = made is None
        made = made or self._release(record, before)
        self._write_others(made)
        return Done(made, new, self.files)

    def _earlier(self) -> tuple[Answer | None, Record | None, Answer | None]:
        """What an earlier run released and this one need not; its record; and what lies at the path. Refuses files that
        could not be written, and what needs a person's --again."""
        if not self.keeps_record:
            self.rehearse()
            return None, None, None
        self._check_files()
        before = _release_at(self.files["release"])
        record = self._settled()
        return None if self.again else self._made_before(record, before), record, before

    def _check_files(self) -> None:
        """Everything that will be written can be, before anything is paid."""
        from leastnoise.jobs import written

        written.check_network(self.job, self.query)
        paths = list(self.files.values())
        if "estimate" in self.files and not self.job.question.denoises(self.query):
            place = self.job.file.place("output", "estimate")
            raise errors.InvalidParameter(f"{place}: this kind of release cannot be denoised. Leave estimate out.")
        if len({os.path.realpath(path) for path in paths}) < len(paths):
            raise errors.InvalidParameter(f"{self.job.file.place('output')}: two outputs have one path. Give each one.")
        for name, path in self.files.items():
            for module, package in _NEEDS.get(name, {}).items():
                if find_spec(module) is None:
                    place = self.job.file.place("output", name)
                    raise errors.MissingPackage.named(package, f"{place}: {name}", extra=name)
            if name == "csv" and self.job.ask["kind"] == "crosstabs":
                files.check_folder(written.folder_of(Path(path)))
            else:
                files.check_writable(path, _OUTPUT_KINDS.get(name, "release"), sources=self.query.files)
            if name == "estimate":
                outputs.keep_release(path)

    def _check_new(self) -> None:
        """Refuse a path that holds a release, which was paid for and would be lost, unless --again says so."""
        path = self.files.get("release", "")
        what = outputs.what(path) if path else None
        if what is None:
            return
        if "estimate" in what:
            raise errors.BadOutput(
                f"{path!r} is an estimate, and a release is written. Nothing was read, paid or written. Give another "
                "path, or delete what is there yourself."
            )
        if not self.again:
            raise errors.BadOutput(
                f"{path!r} is a release already. Nothing was read, paid or written: a release that is typed twice is "
                "paid for twice, and the first is lost. Give another path, or pay for a new one in its place.",
                parameter="again",
                example={"again": True},
            )

    def known(self) -> Record | None:
        """What is known of earlier runs; a record without a release has paid for one and lost it. Reads no row."""
        found, before = read_record(self.files["release"]), _release_at(self.files["release"])
        return None if found is None else found.settled(None if before is None else before.id, self.request.budget)

    def _settled(self) -> Record | None:
        """What is known of earlier runs. Refuses to go on where one has paid for a release and lost it."""
        path, budget, record = self.files["release"], self.request.budget, self.known()
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
                f"{path!r} was released on {day_of(before)}, and {parts} of the job is not what it was then. Nothing "
                f"was read, paid or written. Give the job another path, or type --again to pay for a new one in its "
                f"place.{_DATE}"
            )
        return before

    def _release(self, known: Record | None, before: Answer | None) -> Answer:
        """Pay, read, draw and write, between two states of the record."""
        path, budget = self.files["release"], self.request.budget
        if not self.keeps_record:
            made = self._drawn(path)
            made.save(path)
            return made
        self._expected_release()
        record = Record(
            fingerprints=self.job.fingerprints(),
            query=self.query.describe(),
            entries=None if budget is None else max((entry.number for entry in budget.history()), default=0),
            replaces=None if before is None else before.id,
            replaced=None if known is None or before is None or known.release != before.id else known.fingerprints,
        )
        record.write(path)
        try:
            made = self._drawn(path)
        except errors.LeastnoiseError:
            record.withdraw(path, known, budget)
            raise
        made.save(path)
        replace(record, release=made.id).write(path)
        return made

    def _drawn(self, path: str) -> Answer:
        """Debit, read and draw; the budget's history will say where the release was written."""
        if self.request.budget is not None:
            self.request.budget._file = path
        return self.query.release(**_arguments(self.request))

    def _write_others(self, made: Any) -> None:
        """What is made of the release alone, for free."""
        from leastnoise.jobs import written

        estimate: Any = "auto"
        with self._making("The map"):
            graph, zones = written.graph_of(self.job, made), written.zones_of(self.job, made)
        drawn_on = {name: value for name, value in (("graph", graph), ("zones", zones)) if value is not None}
        if "estimate" in self.files:
            with self._making(repr(self.files["estimate"])):
                estimate = made.denoise() if graph is None else made.denoise(graph=graph)
                estimate.save(self.files["estimate"])
        if "page" in self.files:
            with self._making(repr(self.files["page"])):
                made.report(self.files["page"], estimate=estimate, title=self.job.output.get("title"), **drawn_on)
        beside = estimate if "estimate" in self.files else None
        for name in ("csv", "excel"):
            if name in self.files:
                with self._making(repr(self.files[name])):
                    written.write(made, Path(self.files[name]), estimate=beside)

    def _making(self, what: str) -> AbstractContextManager[None]:
        cure = f"{what} could not be made from it. Running the job again makes it, and pays nothing."
        return saved(self.files["release"], cure)


_OUTPUT_KINDS: dict[str, outputs.Kind] = {"page": "page", "csv": "csv", "excel": "workbook"}
_NEEDS = {"excel": {"xlsxwriter": "xlsxwriter"}}  # modules that what is written needs, and the packages that have them
SYSTEM = "the system refused to read or write. Look for a full disk, or a pipe that was closed."
_DATE = " A path with {date:%Y-%m} in it is another every month."


def query_of(job: Job) -> Query:
    """The question, of a table that is opened and not read."""
    table = open_table(job)
    return job.question.ask(table, job.arguments(table))


def open_table(job: Job) -> Table:
    """The rows that the job is about, lazily."""
    source, known = job.table["source"], dict[str, Any]()
    paths = _where(job, source) if isinstance(source, str) else [_where(job, each) for each in source]
    for variable, call in steps({**job.table, "source": paths}):
        known[variable] = make(call, known, job.path)
    table: Table = known["table"]
    return table


def limits_question(job: Job, request: PrivacyRequest, **later: float | None) -> Query:
    """What is asked to have the limits of a question proposed. later: the noise of the question itself, as for_epsilon,
    for_delta and for_share."""
    from leastnoise.curator.queries.suggestions import limit_question

    table = open_table(job)
    asked: dict[str, Any] = {"for_epsilon": None, "for_delta": None, "for_share": None, **later}
    keys = job.arguments(table).get("keys")
    return limit_question(table._data, job.by, keys=keys, nulls="drop", request=request, **asked)


def _where(job: Job, source: str) -> str:
    """A path from the folder of the job; on Spark an address, or the name of a table, as it is."""
    from leastnoise.curator.engines.spark_sources import is_address, is_table_name

    path = job.path(source)
    by_name = job.table.get("engine", "duckdb") != "duckdb" and is_table_name(source) and not os.path.exists(path)
    return source if by_name or is_address(source) else path


def request_of(job: Job, mechanisms: tuple[str, ...]) -> PrivacyRequest:
    """How private, as one checked value; the ledger is opened. mechanisms: those that the question may have."""
    from leastnoise.curator.budget import Budget
    from leastnoise.curator.request import PrivacyRequest

    given = {name: value for name, value in job.privacy.items() if name not in ("force", "allocation")}
    for name in ("epsilon", "delta", "sigma"):
        if name in given:
            given[name] = float(given[name])
    allocation = job.privacy.get("allocation")
    if allocation is not None and "budget" not in given:
        raise errors.MissingParameter(
            "An allocation is a part of a budget, and none was given.",
            parameter="budget",
            example={"budget": "city.ledger"},
        )
    if "budget" in given:
        given["budget"] = Budget.open(job.path(given["budget"]), allocation=allocation)
    return PrivacyRequest(**given, mechanisms=mechanisms)


def _arguments(request: PrivacyRequest) -> dict[str, Any]:
    """The request as the arguments of `release` and `expect`."""
    return {field.name: getattr(request, field.name) for field in fields(request) if field.name != "mechanisms"}


def _refuse_weak(strength: Strength | None, force: bool) -> None:
    """Refuse a promise that protects nobody, unless that is forced: here nobody may read a warning."""
    if strength is None or force or not strength.protects_nobody:
        return
    raise errors.InvalidParameter(
        f"{strength.in_words()} Nothing was read, paid or written.",
        parameter="budget" if strength.of_budget else "delta" if strength.failing else "epsilon",
        example=[
            *strength.examples,
            *([] if strength.of_budget else [{"epsilon": 1, "delta": 1e-6}]),
            {"force": True},
        ],
    )


@contextmanager
def saved(path: str, problem: str) -> Iterator[None]:
    """Within it a release is on disk and paid for, and whatever fails says so; `problem` is what that means."""
    try:
        yield
    except Exception as reason:
        examples = reason.examples if isinstance(reason, errors.LeastnoiseError) else ()
        raise errors.OutputFailed(
            f"The release is saved as {path!r}, and is paid for. {problem} The reason: {_in_words(reason)}",
            example=examples,
        ) from reason


def _in_words(reason: Exception) -> str:
    """Only our own messages are known to quote nothing private."""
    if isinstance(reason, errors.LeastnoiseError):
        return reason.message
    if isinstance(reason, MemoryError):
        return "there is not enough memory."
    if isinstance(reason, OSError):
        return SYSTEM
    return f"a mistake of leastnoise itself ({type(reason).__name__}). Please report it."


def _release_at(path: str) -> Answer | None:
    """The release at the path; None where nothing is there."""
    from leastnoise.releases.file_format import load

    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    found: Answer = load(path)
    if found.kind == "estimate":
        raise errors.BadOutput(
            f"{path!r} is an estimate, and the release of this job belongs there. Give another path."
        )
    return found


@contextmanager
def alone(job: Path) -> Iterator[None]:
    """Nobody else runs this job, or writes its file, meanwhile: two runs at once would both pay.

    The lock belongs to a file and not to its name. A draft that is kept takes the name from the file that was there,
    under the lock of that file; so whoever has waited in between looks whether the name is still that of its own.
    """
    while True:
        with open(job, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise errors.FileProblem(f"Another run of {str(job)!r} is under way. Wait for it.") from None
            if os.path.samestat(os.fstat(file.fileno()), os.stat(job)):
                yield
                return


def day_of(made: Answer) -> str:
    """The day on which a release was made."""
    return f"{made.created_at:%Y-%m-%d}"
