"""The folder that the studio was started for. Nothing outside of it is listed, read or written on a browser's word.

And errors for somebody who sees a form, and neither a job's file nor the way to the folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from glob import glob
from pathlib import Path

from leastnoise import errors
from leastnoise.curator.engines.sources import ENDINGS

STEPS = {
    "table": "the table", "keys": "the question", "ask": "the question and its limits", "privacy": "privacy",
    "output": "the release",
}  # fmt: skip
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

    def inside(self, name: str) -> Path:
        """A file or a pattern that a job names, in the folder or in one below it, wherever links lead."""
        found = self.root / name
        for each in (found, *map(Path, glob(str(found), recursive=True))):
            if not each.resolve().is_relative_to(self.root):
                raise errors.FileProblem("A job in this folder names a file outside of it, which is not read here.")
        return found

    def holds(self, path: Path, sources: Sequence[str]) -> bool:
        """Whether a file is of one of these tables, or would be if it were written; by whatever link.

        Tables are files, folders or patterns, named from the folder.
        """
        return any(_is_of(path, str(self.root / source)) for source in sources)

    def names(self, end: str) -> list[str]:
        """The files with this end, by name. Neither sizes nor dates: those of a table tell of its rows."""
        return sorted(
            path.name
            for path in self.root.iterdir()
            if path.name.endswith(end) and not path.name.startswith(".") and path.is_file() and not path.is_symlink()
        )


def _is_of(path: Path, source: str) -> bool:
    whole = path.resolve()
    if any(fnmatch(str(whole), pattern) for pattern in (source, source.replace("**/", ""))):
        return True
    for each in map(Path, (source, *glob(source, recursive=True))):
        if each.is_dir() and each.resolve() in whole.parents and whole.name.lower().endswith(ENDINGS):
            return True
        if each.resolve() == whole or (each.exists() and path.exists() and each.samefile(path)):
            return True
    return False


def in_steps(text: str) -> str:
    """A cure that names a section of the job's file, as the step that fills it in.

    >>> in_steps("Write share = 0.1 in [privacy].")
    'Write share = 0.1 in the step about privacy.'
    """
    return re.sub(rf"\[({'|'.join(STEPS)})\]", lambda found: f"the step about {STEPS[found[1]]}", text)


def in_words(problem: errors.LeastnoiseError, folder: Folder) -> str:
    """What went wrong, without the line of the job's file and the way to the folder."""
    root = re.escape(f"{folder.root}/")
    return in_steps(re.sub(root, "", re.sub(rf"{root}[^/:]*\.toml(, line \d+)?: ", "", problem.message)))
