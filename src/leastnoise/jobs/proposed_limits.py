"""Limits and clips that a release proposed, from its file: what is released under them says which release that was."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise._support.text import rounded
from leastnoise.jobs.fields import LIMITS

if TYPE_CHECKING:
    from leastnoise.privacy.sensitivity import ChosenClip
    from leastnoise.releases.limit_suggestion import LimitSuggestion

_MAKERS = {"limits": "suggest_limits", "clip": "suggest_clip"}


def with_proposed(given: Mapping[str, Any], path: str, taken: Container[str]) -> dict[str, Any]:
    """The arguments of a question with the limits of the preliminary release in the file at `path`.

    Limits that are given stay as they are; those of them that are equal to what it proposes are known to come
    from it. taken: the limits that the question has; a count has no bins.
    """
    from leastnoise.releases.limit_suggestion import LimitSuggestion

    found: dict[str, Any] = dict(_loaded(path, LimitSuggestion, "limits").limits)
    if not any(name in given for name in LIMITS):
        return {**given, **{name: limit for name, limit in found.items() if name in taken}}
    return {
        name: found[name] if name in LIMITS and value == found.get(name) else value for name, value in given.items()
    }


def proposed_clip(path: str, column: str) -> ChosenClip:
    """The clip in the file at `path`, which must be one of this column."""
    from leastnoise.releases.clip_suggestion import ClipSuggestion

    found = _loaded(path, ClipSuggestion, "clip")
    if found.column != column:
        raise errors.InvalidParameter(
            f'{path!r} has a clip of "{found.column}", and this question is about "{column}", whose values '
            "may lie elsewhere. Give a clip of that column.",
            parameter="clip",
            example={"clip": (0, 100)},
        )
    clip: ChosenClip = found.clip
    return clip


def _loaded(path: str, kind: type[Any], field: str) -> Any:
    """The preliminary release in the file at `path`."""
    from leastnoise.releases.file_format import load

    found = load(path)
    if isinstance(found, kind):
        return found
    numbers = "two numbers, or " if field == "clip" else ""
    raise errors.WrongType(
        f"{path!r} has no proposed {field}, but {type(found).__name__}. Give {numbers}a file that "
        f"{_MAKERS[field]} (leastnoise {_MAKERS[field].replace('_', '-')}) wrote.",
        parameter=field,
        example={"clip": (0, 100)} if field == "clip" else (),
    )


def around(found: LimitSuggestion, most: int) -> list[tuple[list[str], bool]]:
    """The limits that were weighed about the proposed ones, as they are shown: its cells, and which are proposed."""
    from leastnoise.releases.limit_errors import kept_in_words

    rows = found.to_arrow().to_pylist()
    best = next(place for place, row in enumerate(rows) if row["max_rows"] == found.limits["max_rows"])
    first = max(0, min(best - most // 2, len(rows) - most))
    shown = []
    for row in rows[first : first + most]:
        kept = kept_in_words(row["kept"], row["kept_low"], row["kept_high"])
        numbers = [rounded(row[name], 3) for name in ("bias", "noise", "error")]
        shown.append(([f"{row['max_rows']:,}", f"{row['max_per_bin']:,}", kept, *numbers], row is rows[best]))
    return shown
