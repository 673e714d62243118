"""One release at a time, in a thread of its own; whoever asks twice gets the first.

Paying once is not this file's doing: `jobs.running` takes a job that was run before as done. Here a second click on
the same job is told of the first, and a click on another waits for its turn.

The record beside a release was on disk before the debit (`jobs.record`), so a studio that starts anew knows of one that
was paid for and lost: the ledger has the debit, and there is no release.
"""

from __future__ import annotations

import threading
import time
import warnings
from dataclasses import dataclass, field
from typing import Literal

from leastnoise import errors
from leastnoise.curator.budget import Entry
from leastnoise.jobs.running import Run, alone
from leastnoise.jobs.wording import in_job
from leastnoise.studio.draft import Draft
from leastnoise.studio.folder import Folder, in_steps, in_words

State = Literal["none", "running", "done", "unfinished", "failed"]  # unfinished: released, and not all was made of it


@dataclass(slots=True)
class Progress:
    """What became of the release of one job."""

    state: State = "none"
    message: str = ""
    notes: tuple[str, ...] = ()
    begun: float = field(default_factory=time.monotonic)
    new: bool = False

    @property
    def seconds(self) -> int:
        """Since it began."""
        return int(time.monotonic() - self.begun)


def lost_debit(run: Run) -> Entry | None:
    """What an earlier run of this job paid for and lost; None where none did. Nobody has seen what was drawn, and what
    was paid stays paid. No row is read."""
    record, budget = run.known(), run.request.budget
    if record is None or record.release is not None or budget is None:
        return None
    release = record.debit(budget)
    return next((entry for entry in budget.history() if release is not None and entry.release == release), None)


class Releases:
    """The releases of this studio, by the name of the job."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, Progress] = {}

    def of(self, name: str) -> Progress:
        """What became of the release of this job."""
        with self._lock:
            return self._found.get(name, Progress())

    def forget(self, name: str) -> None:
        """After the job was changed: what was released before is no answer to it."""
        with self._lock:
            if name in self._found and self._found[name].state != "running":
                del self._found[name]

    def begin(self, draft: Draft, *, again: bool = False) -> Progress:
        """Start the release of a job; where one is under way or done, that one.

        again: pay for a new one where an earlier run paid and was stopped.
        """
        with self._lock:
            known = self._found.get(draft.name)
            if known is not None and known.state in ("running", "done"):
                return known
            if any(other.state == "running" for other in self._found.values()):
                raise errors.FileProblem("Another release is under way. Wait for it; nothing was paid.")
            progress = self._found[draft.name] = Progress(state="running")
        threading.Thread(target=_do, args=(draft, progress, again), name=f"release of {draft.name}").start()
        return progress

    def wait(self) -> None:
        """Until nothing is under way: a studio that stops lets a release end."""
        while any(progress.state == "running" for progress in self._found.values()):
            time.sleep(0.05)


def _do(draft: Draft, progress: Progress, again: bool) -> None:
    try:
        with warnings.catch_warnings(record=True) as caught, alone(draft.path):
            warnings.simplefilter("always", errors.Wasteful)
            warnings.simplefilter("always", errors.WeakPromise)
            done = Run.of(draft.job(), again=again).do()
        progress.new = done.new
        progress.notes = tuple(str(each.message) for each in caught)
        progress.state = "done"
    except errors.OutputFailed as problem:
        progress.message = in_words(problem, Folder.of(draft.path.parent))
        progress.state = "unfinished"
    except errors.LeastnoiseError as problem:
        progress.message = in_steps(in_job(problem))
        progress.state = "failed"
    except BaseException:  # its words may quote a row; raised again, they would stand in the terminal
        progress.message = "The release failed for a reason that cannot be shown. See the budget for what was paid."
        progress.state = "failed"
