"""The line of Python beside every answer: what the form means, as it is filled in now."""

from __future__ import annotations

from leastnoise import errors
from leastnoise.jobs import as_python
from leastnoise.studio import limits, privacy_step, question_step, table_step
from leastnoise.studio.draft import Draft
from leastnoise.studio.session import Fields, Studio

PARTS = {
    "table": as_python.TABLE,
    "question": as_python.QUESTION,
    "limits": as_python.QUESTION,
    "privacy": as_python.PRIVACY,
    "release": as_python.RELEASE,
}


def code_lines(studio: Studio, draft: Draft, step: str, fields: Fields) -> str:
    """The lines that a step adds to the script; nothing where they cannot be written yet."""
    if step not in PARTS:
        return ""
    changed = _changed(studio, draft, step, fields)
    return as_python.so_far(str(changed.path), changed.found, PARTS[step])


def _changed(studio: Studio, draft: Draft, step: str, fields: Fields) -> Draft:
    """The draft as the form stands, where it makes sense; else as it was kept."""
    try:
        if fields and step == "table":
            return table_step.save(studio, draft, fields)
        if fields and step == "question":
            return question_step.asking(studio, draft, fields)
        if fields and step == "limits":
            return limits.with_limits(draft, fields)
        if fields and step == "privacy":
            return privacy_step.privacy_of(studio, draft, fields)
    except errors.LeastnoiseError:
        pass
    return draft
