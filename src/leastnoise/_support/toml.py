"""TOML that people wrote, and on which line each value stands; and values as TOML spells them."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from leastnoise import errors
from leastnoise._support.outputs import path_of

MAX_DOTS = 200  # in one name
MAX_BYTES = 2**26  # larger than any list of keys that somebody typed


@dataclass(frozen=True, slots=True)
class TomlFile:
    """What a file says, and its lines.

    path: of the file. found: what is in it. text: the file itself.
    """

    path: str
    found: dict[str, Any]
    text: str

    @property
    def folder(self) -> Path:
        """Where the file lies; the paths in it begin there."""
        return Path(self.path).parent

    def place(self, *names: str) -> str:
        """The file, and the line where the value under these names is set, if it can be found.

        >>> TomlFile("job.toml", {}, "[ask]\\nby = 1\\n[privacy]\\nshare = 0.5").place("privacy", "share")
        'job.toml, line 4'
        """
        line = self.line(*names)
        return self.path if line is None else f"{self.path}, line {line}"

    def line(self, *names: str) -> int | None:
        """The line where the value under these names is set; None where it cannot be found."""
        inside: list[str] = []
        for number, line in enumerate(self.text.splitlines(), start=1):
            header = re.match(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$", line)
            inside = _parts(header[1]) if header else inside
            assigned = re.match(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*'|\s*\.\s*)+?)\s*=""", line)
            here = inside + _parts(assigned[1]) if assigned and not header else inside if header else None
            if here is not None and here[: len(names)] == list(names):
                return number
        return None


def _parts(dotted: str) -> list[str]:
    """A dotted key as its names."""
    found = re.findall(r"""[\w-]+|"((?:[^"\\]|\\.)*)"|'([^']*)'""", dotted)
    words = re.findall(r"""[\w-]+|"(?:[^"\\]|\\.)*"|'[^']*'""", dotted)
    return [double or single or word.strip("\"'") for word, (double, single) in zip(words, found, strict=True)]


def check_dots(text: str) -> None:
    """ValueError where a name has hundreds of dotted parts: reading it would take time by the square of them."""
    for line in text.splitlines():
        if line.count(".") > MAX_DOTS:
            bare = re.sub(r""""[^"]*"|'[^']*'""", "", line)
            if any(run.count(".") > MAX_DOTS for run in re.split(r"[=,\[\]{}#]", bare)):
                raise ValueError


def load(path: str | os.PathLike[str], what: str, *, parse_float: Callable[[str], Any] = float) -> TomlFile:
    """The file at `path`; `what` says in an error what it should have been, such as "keys"."""
    name = str(path_of(path))
    if not os.path.isfile(name):
        raise errors.NoSuchFile(f"There is no file {name!r} with the {what}. Check the path.")
    if os.path.getsize(name) > MAX_BYTES:
        raise errors.FileProblem(f"{name!r} is too large for {what} in TOML. Name a column of a file in it instead.")
    try:
        text = Path(name).read_bytes().decode("utf-8-sig")
        check_dots(text)
        found = tomllib.loads(text.replace("\r\n", "\n"), parse_float=parse_float)
    except tomllib.TOMLDecodeError as problem:
        raise errors.InvalidParameter(
            f"{name!r} cannot be read as TOML: {problem}. Texts stand in quotes, and every line is NAME = VALUE."
        ) from None
    except (ValueError, RecursionError, OSError, ArithmeticError):
        raise errors.FileProblem(f"{name!r} cannot be read as TOML. It must be text in UTF-8.") from None
    return TomlFile(str(name), found, text)


def name(word: str) -> str:
    """A key; quoted where it must be."""
    return word if re.fullmatch(r"[A-Za-z0-9_-]+", word) else text(word)


def text(word: str) -> str:
    """As TOML quotes it: like JSON, and the one control character that JSON leaves as it is."""
    return json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(found: Any) -> str:
    """One value: a text, a number, a day or time, a list, or a table on one line.

    >>> value({"range": [18, 100], "labels": ["young", "old"], "exact": Decimal("0.10")})
    '{ range = [18, 100], labels = ["young", "old"], exact = 0.10 }'
    """
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, str):
        return text(found)
    if isinstance(found, Decimal):
        return str(found)
    if isinstance(found, Mapping):
        return "{ " + ", ".join(f"{name(key)} = {value(each)}" for key, each in found.items()) + " }"
    if isinstance(found, list | tuple):
        return f"[{', '.join(map(value, found))}]"
    return found.isoformat() if isinstance(found, date) else repr(found)  # a datetime is a date


def document(found: Mapping[str, Any]) -> str:
    """A whole file: values first, then a section for every table that is not empty."""
    lines = [f"{name(key)} = {value(each)}" for key, each in found.items() if not isinstance(each, Mapping)]
    for key, section in found.items():
        if isinstance(section, Mapping) and section:
            lines += ["", f"[{name(key)}]", *(f"{name(word)} = {value(each)}" for word, each in section.items())]
    return "\n".join(lines).lstrip("\n") + "\n"
