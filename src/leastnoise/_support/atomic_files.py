"""One Parquet file: columns that anyone can read without us, and what we know about them in its metadata.

The metadata key `leastnoise` holds one JSON object with `format` (a number), `what` (the kind of thing) and its
facts. A file with a higher format, or with facts that this version does not know, is refused rather than half
understood. Files appear whole or not at all: they are written beside their place, synced and renamed. `outputs` says
what they may take the place of.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise._support import outputs, parquet

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
STALE_SECONDS = 60.0  # without a byte written: whoever wrote it was killed
temporary: set[str] = set()  # files and folders that must not outlive this process


def write(path: str | os.PathLike[str], table: pa.Table, *, what: str, facts: dict[str, Any]) -> None:
    """Write the table and its facts to `path`, whole or not at all."""
    import pyarrow.parquet as pq

    described = json.dumps({"format": FORMAT, "what": what, **facts}).encode()
    tagged = table.replace_schema_metadata({outputs.KEY: described})
    with replacing(path, "release") as unfinished:
        pq.write_table(tagged, unfinished, write_page_checksum=True)


def read(path: str | os.PathLike[str]) -> tuple[pa.Table, str, dict[str, Any]]:
    """The table, what it is, and its facts."""
    import pyarrow as pa

    path = Path(path)
    if not path.is_file():
        raise errors.NoSuchFile(f"There is no file {str(path)!r}. Check the path.")
    facts = _facts(path)
    written = facts.pop("format")
    if written > FORMAT:
        raise errors.NotOurs(f"{str(path)!r} was written by a newer leastnoise. Upgrade: pip install -U leastnoise")
    if written < FORMAT:
        raise errors.NotOurs(
            f"{str(path)!r} was written by an older leastnoise, before 1.0, and this version does not read its facts. "
            "Its columns are plain Parquet; load it with the version that wrote it to have the rest."
        )
    try:
        table = parquet.read(path, checksums=True)
    except errors.NotOurs:
        raise
    except (pa.ArrowException, OSError, errors.WrongType, MemoryError):
        raise errors.NotOurs(f"{str(path)!r} is damaged: its pages do not check. {_FIND_A_COPY}") from None
    return table, facts.pop("what"), facts


_FIND_A_COPY = "Look for a whole copy first: to release again costs privacy again."


def _facts(path: Path) -> dict[str, Any]:
    """What a file of ours says of itself; of others, what they are."""
    there = outputs.at(path)
    try:
        found = outputs.facts(path) if there in ("release", "parquet", "damaged") else None
    except ValueError:
        raise errors.NotOurs(f"{str(path)!r} is a Parquet file that is damaged or cut short. {_FIND_A_COPY}") from None
    if found is not None:
        return found
    why = {
        "parquet": "was not written by leastnoise. Noisy numbers from elsewhere come in through Python, by ln.wrap.",
        "ledger": "is a ledger: it records what was spent, and holds no release. Give the Parquet file of a release.",
        "page": "is a page about a release. Give the Parquet file that it was made from.",
        "unreadable": "cannot be read. Check that you may read it.",
    }
    raise errors.NotOurs(
        f"{str(path)!r} {why.get(there or '', 'is no Parquet file, so no release of leastnoise. Check the path.')}"
    )


def refuse_seeded_noise(seeded: bool, allowed: bool) -> None:
    """Refuse to write noise that can be repeated."""
    if seeded and not allowed:
        raise errors.SeededRelease(
            "This release was made with a test's seed, so its noise can be repeated and hides nobody. Release again "
            "outside leastnoise.testing.seeded; or allow it for a file that is never published.",
            parameter="allow_seeded",
            example={"allow_seeded": True},
        )


def check_writable(
    path: str | os.PathLike[str], kind: outputs.Kind = "release", *, sources: Iterable[str] = ()
) -> None:
    """Refuse a path that cannot be written, is one of the sources or holds something else, before any noise is drawn
    for it."""
    path = Path(os.fsdecode(path))  # as it will be written
    for source in sources:
        if path.exists() and os.path.exists(source) and os.path.samefile(path, source):
            raise errors.BadOutput(f"{os.fspath(path)!r} is what is read, and would be replaced. Give another path.")
    with replacing(path, kind, commit=False) as unfinished:
        Path(unfinished).write_bytes(b"")


@contextmanager
def replacing(path: str | os.PathLike[str], kind: outputs.Kind, *, commit: bool = True) -> Iterator[str]:
    """A path beside `path` to write to; it takes the place of `path` when the block ends well."""
    outputs.check(path, kind)
    target = Path(os.fsdecode(path))
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(6)}.unfinished")
    temporary.add(str(unfinished))
    try:
        if target.is_dir():
            raise IsADirectoryError
        sweep(target)
        yield str(unfinished)
        if commit:
            sync(unfinished)
            unfinished.replace(target)
            sync(target.parent)
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
