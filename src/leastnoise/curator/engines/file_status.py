"""Whether files are still those that were opened: device, number, size and times of each, from the file system.

A release may read its rows more than once (a checksum, a check, a sum), and its sensitivity holds for one state of
the table only. The time of the last change of status cannot be set back by a program, so an edit shows in it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from leastnoise.errors import TableChanged

Status = tuple[int, int, int, int, int]


def statuses(files: Sequence[str]) -> tuple[Status | None, ...]:
    """The status of each file; None where there is no file."""
    return tuple(_status(file) for file in files)


def check_unchanged(files: Sequence[str], opened: Sequence[Status | None]) -> None:
    """Raise unless every file is there and is what it was when it was opened."""
    for file, now, then in zip(files, statuses(files), opened, strict=True):
        if now is None or now != then:
            raise TableChanged(
                f'"{os.path.basename(file)}" was replaced or written to after the table was opened, so rows of two '
                "states could be mixed, and the noise is enough for one. Nothing is released. Open the table again, "
                "ln.table(...), once nobody writes to it; or copy the files and open the copy."
            )


def _status(file: str) -> Status | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
