"""Which file beside a page holds the release that the page is about: its reader is told that name."""

from __future__ import annotations

import os
from typing import Any

from leastnoise._support import outputs
from leastnoise._support.outputs import path_of
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.provenance import Promised

MOST_FILES = 500  # looked at


class Unsaved(str):
    """The name that a file may get: none that holds this was found."""

    __slots__ = ()


def saved_file(page: str | os.PathLike[str], of: Promised, otherwise: str) -> str:
    """The name of the newest Parquet file of ours in the page's folder that holds this; `otherwise`, Unsaved, if none.

    An estimate has the id of its release, and is told from it.
    """
    try:
        found = sorted(path_of(page).absolute().parent.glob("*.parquet"), key=os.path.getmtime, reverse=True)
    except OSError:
        return Unsaved(otherwise)
    for path in found[:MOST_FILES]:
        try:
            facts = outputs.facts(path)
        except ValueError:
            continue
        if facts is not None and ("estimate" in facts["what"]) == isinstance(of, Estimate) and _has_id(facts, of.id):
            return path.name
    return Unsaved(otherwise)


def _has_id(facts: Any, release: str) -> bool:
    """Whether it is about this release: others may name it as the one that proposed their limits."""
    if isinstance(facts, dict):
        return (bool(release) and facts.get("id") == release) or any(_has_id(each, release) for each in facts.values())
    return isinstance(facts, list) and any(_has_id(each, release) for each in facts)
