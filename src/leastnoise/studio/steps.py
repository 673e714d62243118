"""The six steps of the walk, in their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leastnoise.studio import limits, privacy_step, question_step, release_step, table_step
from leastnoise.studio.draft import Draft
from leastnoise.studio.session import Fields, Studio


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the words of its place in the walk, what its page shows, and how its form changes the job."""

    title: str
    show: Callable[[Studio, Draft, Fields], dict[str, Any]]
    save: Callable[[Studio, Draft, Fields], Draft]


def _unchanged(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    return draft


STEPS: dict[str, Step] = {
    "table": Step("The table", table_step.show, table_step.save),
    "question": Step("The question", question_step.show, question_step.save),
    "limits": Step("Limits", limits.show, limits.save),
    "privacy": Step("How private", privacy_step.show, privacy_step.save),
    "release": Step("Release", release_step.show, release_step.save),
    "results": Step("Download", release_step.show_results, _unchanged),
}
