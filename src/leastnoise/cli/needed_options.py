"""Options that a command cannot do without: why, and what to type, instead of the bare "Missing option"."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from leastnoise import errors
from leastnoise.errors import Code

_CLIP = (
    "Between which values is the column clipped? Noise must hide the largest value that anybody may have, so it is a "
    "public decision, and never read off the data."
)
NEEDED: dict[str, tuple[str, Any]] = {
    "unit": (
        "Whom should the noise protect? All rows of one person count together, so a column must name the person.",
        "person",
    ),
    "by": ("By which column should rows be counted?", "district"),
    "keys": ("Which keys may columns have? They are public, never read off the data.", Code("...", "keys.toml")),
    "column": ("Of which column?", "income"),
    "clip": (_CLIP, (0, 100)),
    "clip_within": ("Between which public ends do all values lie, such as what a tariff or a law allows?", (0, 500)),
}


def check_needed(group: Any, given: dict[str, Any]) -> None:
    """Refuse what was left out of a group of options.

    group: a dataclass, whose fields without a default are needed. given: the options by name.
    """
    for field in fields(group):
        if field.default is not MISSING or given[field.name] not in (None, []):
            continue
        if field.name not in NEEDED:
            raise errors.MissingParameter(f"--{field.name.replace('_', '-')} is needed.", parameter=field.name)
        why, example = NEEDED[field.name]
        raise errors.MissingParameter(why, parameter=field.name, example={field.name: example})
