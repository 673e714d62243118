"""What a studio works on: a folder, the table it was started for, budgets on servers, and releases under way."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

from leastnoise._support import toml
from leastnoise.studio.draft import Draft
from leastnoise.studio.folder import Folder
from leastnoise.studio.job_places import check_job, check_not_table, key_files, sources_of
from leastnoise.studio.releasing import Releases

Fields = Mapping[str, Any]  # of a form: texts, and a list for a name that may be chosen several times


@dataclass(frozen=True, slots=True)
class Studio:
    """One studio, as long as it runs; what outlives it is in the folder.

    servers: the addresses of budgets on servers that a person has given to this studio. A job's file is no person: an
        address in it is not connected to before somebody gave it.
    """

    folder: Folder
    source: str
    servers: list[str] = field(default_factory=list)
    releases: Releases = field(default_factory=Releases)
    saving: threading.Lock = field(default_factory=threading.Lock)  # held from reading a draft to writing it
    looked: set[str] = field(default_factory=set)  # the forms that have paid for a look

    def draft(self, name: str) -> Draft:
        """The job of this name; a new one where there is no file."""
        path = self.folder.path(f"{name}.toml")
        if not path.exists():
            return Draft.begin(path, {"source": self.source})
        found = Draft.read(path)
        check_job(found, self.folder, self.source, self.servers)
        return found

    def is_table(self, draft: Draft, name: str) -> bool:
        """Whether a file of the folder is one of the table's."""
        return self.folder.holds(self.folder.path(name), [self.source, *sources_of(draft)])

    def check_public(self, draft: Draft, *names: str) -> None:
        """Refuse files that are outside the folder, or the table itself."""
        for name in names:
            check_not_table(self.folder, self.folder.path(name), [self.source, *sources_of(draft)])

    def check_keys(self, draft: Draft, keys: Mapping[str, Any] | str) -> None:
        """The same of keys: of their file, and of the files that they are read from."""
        if isinstance(keys, str):
            self.check_public(draft, keys)
            keys = toml.load(self.folder.path(keys), "keys").found
        self.check_public(draft, *key_files(keys))

    @property
    def first_name(self) -> str:
        """Of the first job: that of the table, or with a number where a file of that name is no job but holds keys."""
        return next(name for name in self._names() if not self._is_other(f"{name}.toml"))

    def another_name(self) -> str:
        """Of a job that is not there yet."""
        return next(name for name in self._names() if not self.folder.path(f"{name}.toml").exists())

    def _names(self) -> Iterator[str]:
        stem = Path(self.source).stem or "table"
        return chain([stem], (f"{stem}-{number}" for number in count(2)))

    def _is_other(self, name: str) -> bool:
        """Whether there is a file of this name without any section of a job, as a file of public keys is."""
        path = self.folder.path(name)
        if not path.exists():
            return False
        found = toml.load(path, "job").found
        return not any(isinstance(found.get(section), dict) for section in ("table", "ask", "privacy", "output"))
