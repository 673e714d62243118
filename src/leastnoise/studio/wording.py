"""Errors for somebody who sees a form, and neither a job's file nor a command line."""

from __future__ import annotations

import re

from leastnoise import errors
from leastnoise.studio.folder import Folder

STEPS = {
    "table": "the table", "keys": "the question", "ask": "the question and its limits", "privacy": "privacy",
    "output": "the release",
}  # fmt: skip


def in_steps(text: str) -> str:
    """A cure that names a section of the job's file, as the step that fills it in.

    >>> in_steps("Write share = 0.1 in [privacy].")
    'Write share = 0.1 in the step about privacy.'
    """
    return re.sub(rf"\[({'|'.join(STEPS)})\]", lambda found: f"the step about {STEPS[found[1]]}", text)


def in_words(problem: errors.LeastnoiseError, folder: Folder) -> str:
    """What went wrong, without the line of the job's file and the way to the folder."""
    root = re.escape(f"{folder.root}/")
    return in_steps(re.sub(root, "", re.sub(rf"{root}[^/:]*\.toml(, line \d+)?: ", "", problem.message)))
