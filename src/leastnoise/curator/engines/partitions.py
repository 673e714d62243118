"""Folders named column=value, as Hive and Spark write them: columns of text, whichever folders there are.

An engine that guesses a type looks at all folders, and one person's folder would change it for everybody.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from leastnoise.errors import UnknownSource

NULL = "__HIVE_DEFAULT_PARTITION__"


def columns(files: Sequence[str]) -> tuple[str, ...]:
    """The columns that the folders of these files name: the same in every path."""
    found = {tuple(name for name, _ in _folders(file)): file for file in files}
    if len(found) > 1:
        one, other = [Path(file).name for file in list(found.values())[:2]]
        raise UnknownSource(
            f'the folders of "{one}" and "{other}" name different columns. A row would mean different things in '
            "different files. Put every file below the same kinds of folders, such as day=1/zone=2/."
        )
    names = next(iter(found))
    if len({name.casefold() for name in names}) < len(names):
        raise UnknownSource("the folders name a column twice. Name each once: day=1/zone=2/.")
    return names


def base(file: str) -> str:
    """The folder above those that name columns."""
    parts = file.split("/")
    return "/".join(parts[: next(place for place, part in enumerate(parts) if "=" in part)])


def misread(files: Sequence[str], column: str) -> dict[str, str]:
    """Values that Spark, which takes each %XX for a character, reads otherwise than as bytes of UTF-8; and what they
    are."""
    made = {}
    for raw in {dict(_folders(file))[column] for file in files}:
        read = re.sub(r"%([0-9A-Fa-f]{2})", lambda code: chr(int(code.group(1), 16)), raw)
        if read != unquote(raw):
            made[read] = unquote(raw)
    return made


def _folders(file: str) -> list[tuple[str, str]]:
    """What the folders above a file say: `a=b` is column and value, and engines differ about anything else with an
    equals sign."""
    named = [part for part in os.path.dirname(file).split("/") if "=" in part]
    for part in named:
        if re.fullmatch(r"[^=%?\\]+=[^=?\\\n]+", part) is None or "\ufffd" in unquote(part):
            raise UnknownSource(
                f'the folder "{part}" is not named like day=5, and engines differ about what it means. Write '
                f"other signs as the %XX of their UTF-8 (= is %3D), and a missing value as {NULL}."
            )
    return [(name, value) for name, _, value in (part.partition("=") for part in named)]
