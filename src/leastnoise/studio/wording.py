"""Errors for somebody who sees a form, and neither a job's file nor a command line."""

from __future__ import annotations

import re

from leastnoise import errors
from leastnoise.studio.folder import Folder


def in_words(problem: errors.LeastnoiseError, folder: Folder) -> str:
    """What went wrong, without the line of the job's file and the way to the folder."""
    root = re.escape(f"{folder.root}/")
    return re.sub(root, "", re.sub(rf"{root}[^/:]*\.toml(, line \d+)?: ", "", problem.message))
