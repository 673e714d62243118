"""Files that leastnoise writes: each appears whole or not at all, and nothing of anybody else's is ever replaced.

A file is written beside its place, synced and renamed; `outputs` says what it may take the place of. A folder of CSV
files is new, empty, or has earlier files of ours only. Files of an earlier set that the new one does not have are
removed: tables of two releases side by side would be taken for one set.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from leastnoise import errors
from leastnoise._support import outputs
from leastnoise._support.outputs import path_of

STALE_SECONDS = 60.0  # without a byte written: whoever wrote it was killed
temporary: set[str] = set()  # files and folders that must not outlive this process


def check_writable(
    path: str | os.PathLike[str], kind: outputs.Kind = "release", *, sources: Iterable[str] = ()
) -> None:
    """Refuse a path that cannot be written, is one of the sources or holds something else, before any noise is drawn
    for it."""
    path = path_of(path)  # as it will be written
    for source in sources:
        if path.exists() and os.path.exists(source) and os.path.samefile(path, source):
            raise errors.BadOutput(f"{os.fspath(path)!r} is what is read, and would be replaced. Give another path.")
    with replacing(path, kind, commit=False) as unfinished:
        Path(unfinished).write_bytes(b"")


@contextmanager
def replacing(path: str | os.PathLike[str], kind: outputs.Kind, *, commit: bool = True) -> Iterator[str]:
    """A path beside `path` to write to; it takes the place of `path` when the block ends well."""
    outputs.check(path, kind)
    target = path_of(path)
    with _beside(target) as unfinished:
        if target.is_dir():
            raise IsADirectoryError
        sweep(target)
        yield str(unfinished)
        if commit:
            sync(unfinished)
            unfinished.replace(target)
            sync(target.parent)


def create(path: str | os.PathLike[str], text: str) -> Path:
    """A new file with this text, whole or not at all. What is there already stays: somebody may have written it."""
    target = path_of(path)
    try:
        with _written(target, text) as unfinished:
            os.link(unfinished, target)  # unlike a rename, it never replaces
    except FileExistsError:
        raise errors.BadOutput(
            f"{str(target)!r} is there already, and would be lost. Nothing was written. Give another path, or delete "
            "what is there yourself."
        ) from None
    return target


def rewrite(path: str | os.PathLike[str], text: str) -> None:
    """The file with this text instead of what was in it, whole or not at all; on disk when this returns."""
    target = path_of(path)
    with _written(target, text) as unfinished:
        unfinished.replace(target)


@contextmanager
def _written(target: Path, text: str) -> Iterator[Path]:
    """A file beside the target, synced, to take its place in the block; then its new name is synced, too."""
    with _beside(target, passed_on=FileExistsError) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
        sync(unfinished)
        yield unfinished
        sync(target.parent)


@contextmanager
def _beside(target: Path, *, passed_on: type[OSError] | tuple[()] = ()) -> Iterator[Path]:
    """A name beside the target, of which nothing is left after the block; and why the disk refused, in our words."""
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(6)}.unfinished")
    temporary.add(str(unfinished))
    try:
        yield unfinished
    except passed_on:
        raise
    except OSError as problem:
        reason, mistake = _reason(problem, target)
        raise mistake(f"Cannot write {str(target)!r}: {reason}. Nothing was written. Give another path.") from None
    finally:
        with suppress(OSError):
            unfinished.unlink()
        temporary.discard(str(unfinished))


def _reason(problem: OSError, target: Path) -> tuple[str, type[errors.FileProblem]]:
    if isinstance(problem, IsADirectoryError):
        return "it is a directory", errors.BadOutput
    if isinstance(problem, FileNotFoundError) and not os.path.isdir(target.parent):
        return "its directory does not exist", errors.BadOutput
    if isinstance(problem, FileNotFoundError):  # such as /proc, where nobody makes files
        return "its directory takes no new files", errors.FileProblem
    return problem.strerror or "the disk refused", errors.FileProblem


def tidy() -> None:
    """Remove everything temporary at once, for a process that ends without unwinding."""
    for path in list(temporary):
        with suppress(OSError):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def sweep(target: Path) -> None:
    """Remove what killed processes left in the folder; a minute is longer than any writing of ours pauses.

    Whatever its name would have been: a name that is made once, such as a release's id, is never written again.
    """
    with suppress(OSError):
        for left in target.parent.glob(f".*.{'?' * 12}.unfinished*"):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > STALE_SECONDS:
                    left.unlink()


def sync(path: Path) -> None:
    """Wait until a file, or the names in a directory, would survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_UNFINISHED = re.compile(r"\..*\.[0-9a-f]{12}\.unfinished")  # what a killed process of ours left


def replace_files(folder: str | os.PathLike[str], files: Iterable[tuple[str, str]]) -> Path:
    """Write these files, each a name and its text, into the folder. None takes its place before all are written."""
    place = path_of(folder)
    found = check_folder(place)
    waiting: dict[Path, Path] = {}
    try:
        place.mkdir(exist_ok=True)
        sweep(place / "any")
        for name, text in files:
            unfinished = place / f".{name}.{secrets.token_hex(6)}.unfinished"
            temporary.add(str(unfinished))
            waiting[unfinished] = place / name
            unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")  # half a surrogate pair
            sync(unfinished)
        for unfinished, target in waiting.items():
            unfinished.replace(target)
        for earlier in found - set(waiting.values()):
            earlier.unlink()
        sync(place)
    except OSError as problem:
        missing = isinstance(problem, FileNotFoundError) and not place.parent.is_dir()
        reason = "its directory does not exist" if missing else problem.strerror or "the disk refused"
        kind = errors.BadOutput if missing else errors.FileProblem
        raise kind(f"Cannot write into {str(place)!r}: {reason}. Give another folder.") from None
    finally:
        for unfinished in waiting:
            with suppress(OSError):
                unfinished.unlink()
            temporary.discard(str(unfinished))
    return place


def check_folder(folder: str | os.PathLike[str]) -> set[Path]:
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
