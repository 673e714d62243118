"""A path as it was typed; without NumPy, which the help of the command line does not load."""

from __future__ import annotations

import os
from pathlib import Path

from leastnoise.errors import WrongType


def path_of(value: object) -> Path:
    """A path as it was typed."""
    if isinstance(value, str | bytes | os.PathLike):
        return Path(os.fsdecode(value))
    raise WrongType(
        f'a path is text, such as "trips.parquet", or a pathlib.Path. Got {value!r} instead.',
        parameter="path",
        value=value,
    )
