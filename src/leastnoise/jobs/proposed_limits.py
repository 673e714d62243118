"""Limits that a paid look proposed, from its file: what is released under them says which release chose them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from leastnoise import errors, stats

if TYPE_CHECKING:
    from leastnoise.releases.limit_suggestion import LimitSuggestion

NAMES = ("max_rows", "max_per_bin", "max_bins")


def with_proposed(given: Mapping[str, Any], path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arguments of a question with the limits of the look in the file at `path`.

    Limits that are given stay as they are; those of them that the look proposes, and clips that it proposes, are known
    to come from it. `statistics`, if there are any, are those of `leastnoise.stats` by name.
    """
    found, given = load_look(path, "limits"), dict(given)
    if given.get("clip") is not None:
        given["clip"] = _known(given["clip"], found.clips.get(given.get("column", "")))
    if "statistics" in given:
        given["statistics"] = {name: _of_known_clip(of, found.clips) for name, of in given["statistics"].items()}
    typed = {name: given[name] for name in NAMES if given.get(name) is not None}
    if not typed:
        return {**given, **found.limits}
    marked = {name: found.limits[name] for name, value in typed.items() if found.limits.get(name) == value}
    return {**given, **typed, **marked}


def proposed_clip(path: str | os.PathLike[str], column: str, kind: Literal["sum", "mean"]) -> tuple[float, float]:
    """The clip that the look in the file at `path` proposes for this column, if it is for a question of this kind."""
    found = load_look(path, "limits")
    clip: tuple[float, float] = found.clips[column]
    if (kind == "mean") != (column in found.means):
        other = "mean" if kind == "sum" else "sum"
        raise errors.MissingParameter(
            f'The clip of "{column}" in {os.fspath(path)!r} is for a {other}, and that for a {kind} is another. Type '
            f"one, or look again with {'means' if kind == 'mean' else 'values'} naming the column.",
            parameter="clip",
            example={"clip": (0, 100)},
        )
    return clip


def load_look(path: str | os.PathLike[str], parameter: str) -> LimitSuggestion:
    """The look in the file at `path`, which was given as this parameter."""
    from leastnoise.releases.limit_suggestion import LimitSuggestion
    from leastnoise.releases.loading import load

    found = load(path)
    if not isinstance(found, LimitSuggestion):
        raise errors.WrongType(
            f"{os.fspath(path)!r} has no proposed limits, but {type(found).__name__}. Give a file that suggest_limits "
            "(leastnoise suggest-limits) wrote.",
            parameter=parameter,
        )
    return found


def _of_known_clip(statistic: stats.Statistic, clips: Mapping[str, Any]) -> stats.Statistic:
    if isinstance(statistic, stats.Ratio):
        below = _known(statistic.over_clip, clips.get(statistic.over))
        return replace(statistic, clip=_known(statistic.clip, clips.get(statistic.column)), over_clip=below)
    if not isinstance(statistic, stats.Sum | stats.Mean | stats.Variance | stats.Share) or statistic.clip is None:
        return statistic
    return replace(statistic, clip=_known(statistic.clip, clips.get(statistic.column or "")))


def _known(clip: Any, proposed: Any) -> Any:
    """The proposed clip, which knows the look it is from, where the one that was typed is equal to it."""
    return proposed if proposed is not None and tuple(map(float, clip)) == proposed else clip
