"""The folder that the studio was started for. Nothing outside of it is listed, read or written on a browser's word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from leastnoise import errors

_PLAIN = re.compile(r"[^\x00-\x1f/\\]{1,200}")


@dataclass(frozen=True, slots=True)
class Folder:
    """root: an absolute path without links in it."""

    root: Path

    @classmethod
    def of(cls, path: Path) -> Folder:
        """The folder at a path."""
        return cls(path.resolve())

    def path(self, name: str) -> Path:
        """The file of this name, in the folder itself."""
        if not _PLAIN.fullmatch(name) or name.startswith(".") or name != name.strip():
            raise errors.FileProblem("That is no name of a file in this folder.")
        found = self.root / name
        if found.is_symlink() or found.resolve().parent != self.root:
            raise errors.FileProblem("Links are not followed here.")
        return found

    def holds(self, path: Path, sources: Sequence[str]) -> bool:
        """Whether a file is one of these tables, which are named from the folder, by patterns too."""
        found = [each for source in sources for each in (self.root / source, *map(Path, glob(str(self.root / source))))]
        return path.resolve() in {each.resolve() for each in found}

    def names(self, end: str) -> list[str]:
        """The files with this end, by name. Neither sizes nor dates: those of a table tell of its rows."""
        return sorted(
            path.name
            for path in self.root.iterdir()
            if path.name.endswith(end) and not path.name.startswith(".") and path.is_file() and not path.is_symlink()
        )
