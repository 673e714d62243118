"""Limits and clips that a release proposed, from its file: what is released under them says which release that was."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise.jobs.fields import LIMITS

if TYPE_CHECKING:
    from leastnoise.privacy.sensitivity import ChosenClip
    from leastnoise.releases.limit_suggestion import LimitSuggestion


def with_proposed(
    given: Mapping[str, Any], path: str | os.PathLike[str], taken: Container[str] = LIMITS
) -> dict[str, Any]:
    """The arguments of a question with the limits of the preliminary release in the file at `path`.

    Limits that are given stay as they are; those of them that are equal to what it proposes are known to come
    from it. taken: the limits that the question has; a count has no bins.
    """
    found = proposed_limits(path)
    typed = {name: given[name] for name in LIMITS if given.get(name) is not None}
    if not typed:
        return {**given, **{name: limit for name, limit in found.limits.items() if name in taken}}
    marked = {name: found.limits[name] for name, value in typed.items() if found.limits.get(name) == value}
    return {**given, **typed, **marked}


def proposed_clip(path: str | os.PathLike[str], column: str) -> ChosenClip:
    """The clip in the file at `path`, which must be one of this column."""
    from leastnoise.releases.clip_suggestion import ClipSuggestion
    from leastnoise.releases.file_format import load

    found = load(path)
    if not isinstance(found, ClipSuggestion):
        raise errors.WrongType(
            f"{os.fspath(path)!r} has no proposed clip, but {type(found).__name__}. Give two numbers, or a file that "
            "suggest_clip (leastnoise suggest-clip) wrote.",
            parameter="clip",
            example={"clip": (0, 100)},
        )
    if found.column != column:
        raise errors.InvalidParameter(
            f'{os.fspath(path)!r} has a clip of "{found.column}", and this question is about "{column}", whose values '
            "may lie elsewhere. Give a clip of that column.",
            parameter="clip",
            example={"clip": (0, 100)},
        )
    return found.clip


def proposed_limits(path: str | os.PathLike[str]) -> LimitSuggestion:
    """The preliminary release in the file at `path`, which proposes limits."""
    from leastnoise.releases.file_format import load
    from leastnoise.releases.limit_suggestion import LimitSuggestion

    found = load(path)
    if not isinstance(found, LimitSuggestion):
        raise errors.WrongType(
            f"{os.fspath(path)!r} has no proposed limits, but {type(found).__name__}. Give a file that suggest_limits "
            "(leastnoise suggest-limits) wrote.",
            parameter="limits",
        )
    return found
