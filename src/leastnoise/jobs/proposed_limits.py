"""Limits that a paid look proposed, from its file: what is released under them says which release chose them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from leastnoise import errors

NAMES = ("max_rows", "max_per_bin", "max_bins")


def with_proposed(given: Mapping[str, Any], path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arguments of a question with the limits of the look in the file at `path`.

    Limits that are given stay as they are; those of them that the look proposes, and a clip that it proposes, are known
    to come from it.
    """
    from leastnoise.releases.limit_suggestion import LimitSuggestion
    from leastnoise.releases.loading import load

    found = load(path)
    if not isinstance(found, LimitSuggestion):
        raise errors.WrongType(
            f"{os.fspath(path)!r} has no proposed limits, but {type(found).__name__}. Give a file that suggest_limits "
            "(leastnoise suggest-limits) wrote.",
            parameter="limits",
        )
    clip = found.clips.get(given.get("column", ""))
    if clip is not None and given.get("clip") is not None and tuple(map(float, given["clip"])) == clip:
        given = {**given, "clip": clip}
    typed = {name: given[name] for name in NAMES if given.get(name) is not None}
    if not typed:
        return {**given, **found.limits}
    marked = {name: found.limits[name] for name, value in typed.items() if found.limits.get(name) == value}
    return {**given, **typed, **marked}
