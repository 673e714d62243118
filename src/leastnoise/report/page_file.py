"""A page in a file that appears whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from leastnoise._support import atomic_files


def write(path: str | os.PathLike[str], make: Callable[[], str]) -> Path:
    """The page that `make` returns, at `path`; a place that cannot be written is told before anything is made."""
    atomic_files.check_writable(path, "page")
    made = make()
    with atomic_files.replacing(path, "page") as unfinished:
        Path(unfinished).write_text(made, encoding="utf-8", errors="xmlcharrefreplace")  # half a surrogate pair
    return Path(path)
