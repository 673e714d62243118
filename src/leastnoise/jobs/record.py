"""What is known about the runs of a job that writes one release: a small file beside it, PATH.run.

It is on disk before the budget is debited, and says which entry was the ledger's last; once the release is on disk, it
says which one that is. So whatever stops a run, the next one knows what has happened:

    no record, no release         nothing yet: go on
    a record, and its release     done: neither pay nor draw again
    a record without a release    a run ended early. If it was debited, what it paid for is lost, and nobody has seen
                                  any of it: safe, but paid. A timetable must not pay for that again and again, so a
                                  person has to say --again. If it was not debited: as before that run
    a record of a release that is gone      a person has to say --again, too: the file may be found
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise._support import files

if TYPE_CHECKING:
    from leastnoise.curator.budget import Budget

SUFFIX = ".run"
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run. All of it is public: hashes of what was asked, and the question as the ledger has it."""

    fingerprints: Mapping[str, str]  # of the parts of the job
    query: str
    entries: int | None  # the number of the last one in the ledger before the run; None: no budget
    replaces: str | None  # the id of the release that was there before
    replaced: Mapping[str, str] | None  # the fingerprints of that one, where it was of a run
    release: str | None = None  # the id of the release; None: not written yet
    begun: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def write(self, release_path: str) -> None:
        """Keep it beside the release; on disk when this returns."""
        text = json.dumps({"leastnoise run": FORMAT, **asdict(self)}, indent=1)
        files.rewrite(release_path + SUFFIX, text + "\n")

    def withdraw(self, release_path: str, earlier: Record | None, budget: Budget | None) -> None:
        """Put back what was known earlier, after a failure before anything was paid."""
        with suppress(OSError):  # what went wrong before is worth more than this; the ledger will tell the next run
            if self.debit(budget) is not None:
                return
            if earlier is not None:
                earlier.write(release_path)
            else:
                os.unlink(release_path + SUFFIX)

    def changed(self, fingerprints: Mapping[str, str]) -> list[str]:
        """The parts of the job that are not as in this run."""
        return [name for name, digest in fingerprints.items() if self.fingerprints.get(name) != digest]

    def settled(self, there: str | None, budget: Budget | None) -> Record | None:
        """The same when it is known which release is there: of a run that ended early, what became of it.

        One without a release has paid and lost what it paid for. None: there is no release of a run.
        """
        if self.release is not None:
            return self
        if there not in (None, self.replaces):
            return replace(self, release=there)  # stopped between the release and its record
        if self.debit(budget) is not None:
            return self
        return None if self.replaced is None else replace(self, release=self.replaces, fingerprints=self.replaced)

    def debit(self, budget: Budget | None) -> str | None:
        """The release that the run paid for, by the ledger's entries since; None where there is none."""
        if budget is None or self.entries is None:
            return None
        since = [entry for entry in budget.history() if entry.number > self.entries and entry.kind == "release"]
        return next((entry.release for entry in since if entry.query == self.query), None)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_hashes(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


_TYPES: dict[str, Callable[[object], bool]] = {
    "fingerprints": _is_hashes,
    "query": _is_text,
    "entries": lambda value: value is None or type(value) is int,
    "replaces": lambda value: value is None or _is_text(value),
    "replaced": lambda value: value is None or _is_hashes(value),
    "release": lambda value: value is None or _is_text(value),
    "begun": _is_text,
}


def read_record(release_path: str) -> Record | None:
    """The record beside a release; None where there is none."""
    path = release_path + SUFFIX
    if not os.path.lexists(path):
        return None
    try:
        with open(path, encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
        known = found.pop("leastnoise run") == FORMAT and all(_TYPES[name](value) for name, value in found.items())
        record = Record(**found) if known else None
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        record = None
    if record is None:
        raise errors.NotOurs(
            f"{path!r} is where a run keeps its record, and is none that this version can read. Look at it, and move "
            "it away; without it nobody knows what was paid."
        )
    return record
