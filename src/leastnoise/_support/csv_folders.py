"""A folder of CSV files that leastnoise writes: each appears whole or not at all, and nothing else is ever replaced.

A folder is new, empty, or has earlier files of ours only. Files of an earlier set that the new one does not have are
removed: tables of two releases side by side would be taken for one set.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from leastnoise import errors
from leastnoise._support import atomic_files, outputs
from leastnoise._support.paths import path_of

_UNFINISHED = re.compile(r"\..*\.[0-9a-f]{12}\.unfinished")  # what a killed process of ours left


def replace_files(folder: str | os.PathLike[str], files: Iterable[tuple[str, str]]) -> Path:
    """Write these files, each a name and its text, into the folder. None takes its place before all are written."""
    place = path_of(folder)
    found = check(place)
    waiting: dict[Path, Path] = {}
    try:
        place.mkdir(exist_ok=True)
        atomic_files.sweep(place / "any")
        for name, text in files:
            unfinished = place / f".{name}.{secrets.token_hex(6)}.unfinished"
            atomic_files.temporary.add(str(unfinished))
            waiting[unfinished] = place / name
            unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")  # half a surrogate pair
            atomic_files.sync(unfinished)
        for unfinished, target in waiting.items():
            unfinished.replace(target)
        for earlier in found - set(waiting.values()):
            earlier.unlink()
        atomic_files.sync(place)
    except OSError as problem:
        missing = isinstance(problem, FileNotFoundError) and not place.parent.is_dir()
        reason = "its directory does not exist" if missing else problem.strerror or "the disk refused"
        kind = errors.BadOutput if missing else errors.FileProblem
        raise kind(f"Cannot write into {str(place)!r}: {reason}. Give another folder.") from None
    finally:
        for unfinished in waiting:
            with suppress(OSError):
                unfinished.unlink()
            atomic_files.temporary.discard(str(unfinished))
    return place


def check(folder: str | os.PathLike[str]) -> set[Path]:
    """The files of ours in the folder; refused if there is anything else, or if it is no folder."""
    place = path_of(folder)
    if not place.name or "\0" in str(place) or str(place) == "-":
        raise errors.BadOutput(f"{str(place)!r} is no path of a folder of its own. Give one, such as tables/.")
    if not place.parent.is_dir():
        raise errors.BadOutput(f"Cannot write into {str(place)!r}: its directory does not exist. Give another folder.")
    if not os.access(place if place.is_dir() else place.parent, os.W_OK | os.X_OK):
        raise errors.FileProblem(f"Cannot write into {str(place)!r}: Permission denied. Give another folder.")
    if not place.exists() and not place.is_symlink():
        return set()
    if not place.is_dir():
        raise errors.BadOutput(f"{str(place)!r} is no folder. Tables are written into one: give another path.")
    found = {path for path in place.iterdir() if not _UNFINISHED.fullmatch(path.name)}
    for path in sorted(found):
        if path.is_dir() or path.is_symlink() or outputs.at(path) != "csv":
            raise errors.BadOutput(
                f"{str(place)!r} has something in it that leastnoise did not write, {path.name!r}. Tables are written "
                "into a folder of their own: a new one, an empty one, or one with earlier tables. Nothing was written. "
                "Give another folder."
            )
    return found
