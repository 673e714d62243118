"""A file is replaced whole or not at all: written beside its place, synced and renamed.

`outputs` says what it may take the place of.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from leastnoise import errors
from leastnoise._support import outputs
from leastnoise._support.paths import path_of

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
