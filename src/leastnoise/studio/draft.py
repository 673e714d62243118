"""A job that is not finished yet: what was chosen so far, in its file after every step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from leastnoise import errors
from leastnoise._support import files, toml
from leastnoise.jobs import as_python
from leastnoise.jobs.file import Job, read_text
from leastnoise.jobs.running import Run, alone, query_of

_QUESTIONS: dict[tuple[str, str], Any] = {}  # the last that was looked at
SECTIONS = ("table", "keys", "ask", "privacy", "output")


@dataclass(frozen=True, slots=True)
class Draft:
    """path: the job's file. found: its sections, as far as they are filled in."""

    path: Path
    found: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Draft:
        """What the file says."""
        found = toml.load(path, "job", parse_float=Decimal).found
        for name in ("table", "ask", "privacy", "output"):
            if not isinstance(found.get(name, {}), dict):
                raise errors.InvalidParameter(f"{path.name!r} is no job: {name} is no section of it.")
        return cls(path, found)

    @classmethod
    def begin(cls, path: Path, table: Mapping[str, Any]) -> Draft:
        """A new job about a table."""
        stem = path.stem
        return cls(
            path, {"table": dict(table), "output": {"release": f"{stem}-release.parquet", "page": f"{stem}.html"}}
        )

    @property
    def name(self) -> str:
        """Of the file, without its end: it stands in the address of every step."""
        return self.path.stem

    def section(self, name: str) -> dict[str, Any]:
        """A section; empty where nothing was chosen. Keys that lie in a file of their own are no section."""
        found = self.found.get(name, {})
        return dict(found) if isinstance(found, dict) else {}

    def with_section(self, name: str, values: Mapping[str, Any] | str) -> Draft:
        """The same with another section; what is None, empty or blank in it is left out."""
        kept = values if isinstance(values, str) else {word: value for word, value in values.items() if _given(value)}
        found = {**self.found, name: kept}
        return Draft(self.path, {word: found[word] for word in (*SECTIONS, *found) if word in found})

    @property
    def text(self) -> str:
        """The file."""
        return toml.document(self.found)

    @property
    def python(self) -> str:
        """The script that asks the same; an error where this is no job yet."""
        return as_python.python(str(self.path), self.found)

    @property
    def script_name(self) -> str:
        """Of its file. No module can be called like this, so it hides none."""
        return f"{self.name}-job.py"

    @property
    def fingerprint(self) -> str:
        """The same for the same choices: what was confirmed is what is released."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def write(self) -> None:
        """Keep it: whole or not at all, and not while somebody runs what is there."""
        with alone(self.path) if self.path.exists() else nullcontext():
            files.rewrite(self.path, self.text)

    def job(self) -> Job:
        """What it asks for, checked; an error says what is missing."""
        return read_text(str(self.path), self.text)

    def run(self) -> Run:
        """The run that it describes: the table and the ledger are opened, no row is read."""
        return Run.of(self.job())

    def expect(self) -> Any:
        """What the release would be like; one that could not be paid for is refused."""
        return self._asking().expect()

    def preview(self) -> Any:
        """The same, whether or not it could be paid for."""
        return self._asking().preview()

    def _asking(self) -> Run:
        """The run; its question is made once for all choices of privacy."""
        job = self.job()
        asked = repr([self.found.get(name) for name in ("table", "keys", "ask")])
        question = _QUESTIONS.get((str(self.path), asked))
        if question is None:
            question = query_of(job)
            _QUESTIONS.clear()  # one is looked at at a time
            _QUESTIONS[str(self.path), asked] = question
        return Run.asking(job, question)


def _given(value: Any) -> bool:
    return value is not None and value != "" and value != [] and value != {}
