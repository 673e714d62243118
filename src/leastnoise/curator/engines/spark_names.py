"""What may be named for Spark to open: an address, a table of the catalogue, a format and a path; each with a version.

s3a://bucket/trips                         an address: whatever the session's file systems know
warehouse.trips, `my-catalogue`.city.trips a table of the catalogue, of up to four parts
delta.`s3a://bucket/trips`                 a format that the session has, and where
warehouse.trips VERSION AS OF 12           a snapshot, where the table keeps them; or TIMESTAMP AS OF '2013-01-31'
"""

from __future__ import annotations

import os
import re
from urllib.parse import unquote, urlsplit

from leastnoise.curator.engines.spark_files import quoted

_PART = r"(?:[\w-]+|`(?:[^`]|``)+`)"
_NAME = re.compile(
    rf"(?P<name>{_PART}(?:\.{_PART}){{0,3}})"
    r"(?:\s+(?P<kind>VERSION|TIMESTAMP)\s+AS\s+OF\s+(?P<when>\d+|'[^'\\]+'))?",
    re.IGNORECASE,
)


def is_address(text: str) -> bool:
    """Whether this is a URI with a scheme."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None or text.startswith("file:/")


def local_path(address: str) -> str | None:
    """The path that a file:// address names on this machine; None for other addresses."""
    if not address.startswith("file:/"):
        return None
    path = urlsplit(address).path
    return path if os.path.exists(path) else unquote(path)


def is_table_name(text: str) -> bool:
    """Whether this can name a table, and no file is called so."""
    return _NAME.fullmatch(text) is not None and not os.path.exists(text)


def statement(text: str) -> str:
    """The SQL that selects the rows of a named table, every part of its name by its letters."""
    found = _NAME.fullmatch(text)
    assert found is not None
    parts = [_letters(part) for part in re.findall(_PART, found["name"])]
    version = f" {found['kind'].upper()} AS OF {found['when']}" if found["kind"] else ""
    return f"SELECT * FROM {'.'.join(map(quoted, parts))}{version}"


def _letters(part: str) -> str:
    return part[1:-1].replace("``", "`") if part.startswith("`") else part
