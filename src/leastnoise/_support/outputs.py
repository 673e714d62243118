"""What may be written where: a result of ours takes the place of an earlier one, and of nothing else.

Scripts are run again, so a release replaces a release and a page a page. Whatever else lies at the path (a ledger,
a table of people, a program) stays: it is refused before anything is debited or drawn. To distinguish them the first
bytes are read, and of a Parquet file its footer; nothing of them enters a message.
"""

from __future__ import annotations

import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Any, Literal

from leastnoise.errors import BadOutput, WrongType

Kind = Literal["release", "page", "csv", "workbook"]

KEY = b"leastnoise"  # in the metadata of a Parquet file
GENERATOR = b'<meta name="generator" content="leastnoise">'
CSV_MARK = b"# Written by leastnoise"  # how a table of ours begins
WORKBOOK_MARK = b"Written by leastnoise"  # the comments of a workbook of ours
APPLICATION = b"lnbd"  # SQLite's mark of whose file it is: a ledger of ours
_HEAD_BYTES = 1024
_SQLITE = b"SQLite format 3\0"
_OTHERS = {
    *(".csv", ".tsv", ".json", ".jsonl", ".txt", ".md", ".xls", ".xlsx", ".npy", ".npz", ".html", ".htm", ".ledger"),
    *(".db", ".sqlite", ".py", ".png", ".svg", ".pdf", ".zip", ".gz"),
}  # fmt: skip

# Closing any descriptor of a file drops the locks that SQLite holds on it in this process, so the ledgers that are
# open here are known by name and never opened by anyone else.
ledgers: set[str] = set()


def path_of(value: object) -> Path:
    """A path as it was typed."""
    if isinstance(value, str | bytes | os.PathLike):
        return Path(os.fsdecode(value))
    raise WrongType(
        f'a path is text, such as "trips.parquet", or a pathlib.Path. Got {value!r} instead.',
        parameter="path",
        value=value,
    )


def check(path: str | os.PathLike[str], kind: Kind) -> None:
    """Refuse a path that a result of this kind may not take."""
    _check_name(path, kind)
    path = path_of(path)  # as it will be written: "notes/" and "notes/." are the file notes
    there = at(path)
    if there is not None and there != kind:
        raise _occupied(path, kind, there)
    _check_suffix(path, kind)


def _occupied(path: str | os.PathLike[str], kind: Kind, there: str) -> BadOutput:
    ours = {"page": "a page", "csv": "a table", "workbook": "a workbook"}.get(kind, "a release or an estimate")
    cure = "" if there in ("ledger", "special") else ", or delete what is there yourself"
    return BadOutput(
        f"{os.fspath(path)!r} is {_DESCRIPTIONS[there]}, and would be lost: only {ours} that leastnoise wrote before "
        f"is ever replaced. Nothing was written. Give another path{cure}."
    )


_DESCRIPTIONS = {
    "ledger": "a ledger, the only record of what was spent",
    "release": "a release or an estimate of leastnoise",
    "page": "a page of leastnoise",
    "csv": "a table that leastnoise wrote",
    "workbook": "a workbook that leastnoise wrote",
    "parquet": "a Parquet file that leastnoise did not write",
    "damaged": "a Parquet file that is damaged or cut short",
    "other": "a file that leastnoise did not write",
    "link": "a link that leads nowhere",
    "special": "no plain file",
    "unreadable": "a file that cannot be read, so nobody knows what it is",
}


_EXAMPLE = {"release": "out.parquet", "page": "map.html", "csv": "numbers.csv", "workbook": "numbers.xlsx"}
_SUFFIX = {"release": ".parquet", "page": ".html", "csv": ".csv", "workbook": ".xlsx"}


def _check_name(path: str | os.PathLike[str], kind: Kind) -> None:
    target, name = path_of(path), os.fspath(path)
    if not target.name or "\0" in os.fsdecode(path):
        raise BadOutput(f"{name!r} is no path of a file. Give one, such as {_EXAMPLE[kind]}.")
    if os.fsdecode(path) == "-":
        raise BadOutput(
            '"-" is no path here: what is written appears in its place whole or not at all, and standard output cannot '
            f"promise that. Give a path of a file, such as {_EXAMPLE[kind]}."
        )


def _check_suffix(path: str | os.PathLike[str], kind: Kind) -> None:
    name, suffix = os.fspath(path), Path(path).suffix.lower()
    better = str(Path(path).with_suffix(_SUFFIX[kind]))  # what was typed, with another end
    if kind == "page" and suffix not in (".html", ".htm"):
        raise BadOutput(f"A report is an HTML file, and {name!r} is none. Say {better!r}.")
    if kind in ("csv", "workbook") and suffix != _SUFFIX[kind]:
        raise BadOutput(f"What is written is a {_SUFFIX[kind]} file, and {name!r} is none. Say {better!r}.")
    if str(name).endswith(("-journal", "-wal", "-shm")):
        raise BadOutput(
            f"{name!r} is named like a file that SQLite keeps beside a ledger, and deletes. "
            f"Give a name such as {_EXAMPLE[kind]}."
        )
    if kind == "release" and suffix in _OTHERS:
        raise BadOutput(
            f"What is written is a Parquet file, and {name!r} would say otherwise. Give a name such as {better!r}."
        )


def at(path: str | os.PathLike[str]) -> str | None:
    """What lies at the path, in one word; None for nothing, for an empty file (mktemp makes them), and for a directory,
    which cannot be replaced anyway."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return "link" if os.path.islink(path) else None
    except OSError:  # no way there: writing will say why
        return None
    if stat.S_ISDIR(found.st_mode):
        return None
    if not stat.S_ISREG(found.st_mode):
        return "special"
    if any(_same(path, ledger) for ledger in list(ledgers)):
        return "ledger"
    try:
        return _kind(path) if found.st_size else None
    except OSError:
        return "unreadable"


def _same(path: str | os.PathLike[str], ledger: str) -> bool:
    try:
        return os.path.samefile(path, ledger)
    except OSError:
        return False


def _kind(path: str | os.PathLike[str]) -> str:
    with open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(_SQLITE):
        return "ledger" if head[68:72] == APPLICATION else "other"
    if head.startswith(b"PAR1"):
        try:
            return "parquet" if facts(path) is None else "release"
        except ValueError:
            return "damaged"
    if head.startswith(CSV_MARK):
        return "csv"
    if head.startswith(b"PK"):
        return "workbook" if _is_workbook(path) else "other"
    return "page" if head.startswith(b"<!DOCTYPE html>") and GENERATOR in head else "other"


def _is_workbook(path: str | os.PathLike[str]) -> bool:
    """Whether a zip archive is a workbook whose comments are ours."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open("docProps/core.xml") as properties:
            return WORKBOOK_MARK in properties.read(_HEAD_BYTES)
    except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError, RuntimeError):
        return False


def keep_release(path: str | os.PathLike[str]) -> None:
    """Refuse to write an estimate in the place of a release: that was paid for, an estimate can be made again."""
    there = what(path)
    if there is not None and "estimate" not in there:
        raise BadOutput(
            f"{os.fspath(path)!r} is a release, which was paid for and would be lost: an estimate never takes its "
            "place. Nothing was written. Give another path."
        )


def what(path: str | os.PathLike[str]) -> str | None:
    """What a release or an estimate at the path calls itself; None where neither is."""
    found = facts(path) if at(path) == "release" else None
    return None if found is None else str(found["what"])


def facts(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What the footer of a Parquet file says under our key, in whatever version; ValueError if it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        described = (pq.read_schema(path).metadata or {}).get(KEY)
        found = json.loads(described) if described else None
    except (pa.ArrowException, OSError, ValueError, RecursionError):
        raise ValueError from None
    ours = isinstance(found, dict) and isinstance(found.get("format"), int) and isinstance(found.get("what"), str)
    return found if ours else None
