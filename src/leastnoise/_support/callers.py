"""Whom a warning is about: the line outside this package that called into it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

PACKAGE = str(Path(__file__).resolve().parent.parent)


def outside() -> int:
    """The `stacklevel` of `warnings.warn` in our caller that names the nearest line outside the package."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    return level
