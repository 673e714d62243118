"""The step about limits: how much of one person counts, and what a small release would propose.

What is proposed is kept beside the job and shown. It becomes a part of the question when somebody takes it: nothing
that was typed is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from leastnoise import errors
from leastnoise.curator.queries.clip_question import ClipQuestion
from leastnoise.curator.queries.query import Query
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.suggest import limit_question
from leastnoise.jobs.fields import LIMITS, SECTIONS
from leastnoise.jobs.file import Job
from leastnoise.jobs.questions import QUESTIONS
from leastnoise.jobs.running import Run, open_table
from leastnoise.releases.clip_suggestion import ClipSuggestion
from leastnoise.releases.file_format import load
from leastnoise.studio import budgets
from leastnoise.studio.draft import Draft
from leastnoise.studio.session import Studio

LIMITED = ("clip", "by", "keys", "nulls", *LIMITS)  # of a question, what its limits follow from


@dataclass(frozen=True, slots=True)
class Field:
    """One limit."""

    name: str
    sentence: str
    value: str


def names(draft: Draft) -> list[str]:
    """The limits that the question takes."""
    return [name for name in taken(draft) if name in LIMITS]


def taken(draft: Draft) -> list[str]:
    """The same, and the file of the preliminary release that proposed them."""
    question = QUESTIONS.get(str(draft.section("ask").get("kind")))
    return [] if question is None else [name for name in (*LIMITS, "limits") if name in question.fields]


def fields(draft: Draft) -> list[Field]:
    """What the form shows."""
    ask = draft.section("ask")
    return [Field(name, SECTIONS["ask"][name].help, str(ask.get(name, ""))) for name in names(draft)]


def with_limits(draft: Draft, given: Mapping[str, Any]) -> Draft:
    """The draft with the limits of the form."""
    ask = {name: value for name, value in draft.section("ask").items() if name not in LIMITS}
    for name in names(draft):
        text = str(given.get(name, "")).strip()
        if text and not re.fullmatch(r"0*[1-9][0-9]{0,17}", text):
            raise errors.InvalidParameter(
                f"A limit is a whole number above zero. Got {text!r} instead.", parameter=name
            )
        if text:
            ask[name] = int(text)
    return draft.with_section("ask", ask)


def unit_words(draft: Draft, unknown: str = "person") -> str:
    """Whom the table protects, as a budget names them."""
    unit = draft.section("table").get("unit", unknown)
    return unit if isinstance(unit, str) else " + ".join(unit)


def proposal_path(studio: Studio, draft: Draft) -> Path:
    """Where the preliminary release is kept, beside the job."""
    return studio.folder.path(f"{draft.name}-limits.parquet")


def clip_path(studio: Studio, draft: Draft) -> Path:
    """Where the proposed range is kept, beside the job."""
    return studio.folder.path(f"{draft.name}-clip.parquet")


def has_paid(studio: Studio, draft: Draft) -> bool:
    """Whether rows were read for a proposal."""
    return proposal_path(studio, draft).exists() or clip_path(studio, draft).exists()


def can_suggest(draft: Draft) -> bool:
    """Whether a preliminary release can propose the limits of this question: of bins that are listed."""
    ask = draft.section("ask")
    table = draft.section("table")
    listed = "keys" in draft.found or not ask.get("by") or "within" in table
    return ask.get("kind") in ("count", "histogram", "sum", "mean") and listed and "per_unit" not in table


def can_suggest_clip(draft: Draft) -> bool:
    """Whether the question has a range of values that a narrower one can be proposed for."""
    return draft.section("ask").get("kind") in ("sum", "mean") and typed_clip(draft) is not None


def typed_clip(draft: Draft) -> list[Any] | None:
    """The range as it was typed; None where there is none, or a proposed one was taken."""
    clip = draft.section("ask").get("clip")
    return clip if isinstance(clip, list) else None


def taken_clip(draft: Draft) -> ClipSuggestion | None:
    """The proposal that the question takes its range from; None where somebody typed it."""
    name = draft.section("ask").get("clip")
    found = load(draft.path.parent / name) if isinstance(name, str) else None
    return found if isinstance(found, ClipSuggestion) else None


def who_estimates(studio: Studio, draft: Draft) -> str:
    """Where to find how many rows the limits leave out; "" where nobody can say."""
    if not can_suggest(draft):
        return ""
    if proposal_path(studio, draft).exists():
        return "What the preliminary release predicts of it stands in the step about limits."
    return "A preliminary release in the step about limits estimates it, for a part of a budget."


def price(studio: Studio, draft: Draft, place: str, share: int | Decimal, *, clip: bool = False) -> list[str]:
    """What such a release would be like: from public facts, free."""
    text = str(_run(studio, draft, place, share, clip).expect())
    return [line for line in text.splitlines() if line and not line.startswith("  ")]


def suggest(studio: Studio, draft: Draft, place: str, share: int | Decimal, *, clip: bool = False) -> None:
    """Pay for a proposal, of limits or of a range, and keep it beside the job, in place of an earlier one."""
    _run(studio, draft, place, share, clip).do()


def _run(studio: Studio, draft: Draft, place: str, share: int | Decimal, clip: bool) -> Run:
    """The run that asks for a proposal: the table is opened and not read."""
    path = clip_path(studio, draft) if clip else proposal_path(studio, draft)
    job = replace(draft.job(), privacy={}, output={"release": path.name})
    request = PrivacyRequest(budget=budgets.open_budget(studio, place), share=share)
    query = _clip_question(job) if clip else _look(job, request)
    return Run(job, query, request, again=True, keeps_record=False)


def _look(job: Job, request: PrivacyRequest) -> Query:
    """The question that limits are proposed from."""
    asked = job.arguments()
    given: dict[str, Any] = dict.fromkeys(("for_epsilon", "for_delta", "for_share"))
    given |= {"keys": asked.get("keys"), "nulls": "drop", "request": request}
    return limit_question(open_table(job)._data, job.by, **given)


def _clip_question(job: Job) -> Query:
    """The question that a range is proposed from: within the one that was typed, of the rows that the limits keep."""
    asked, rows = job.arguments(), open_table(job)
    if not any(name in asked for name in LIMITS) and not rows._data.row_is_unit:
        raise errors.MissingParameter("Give the first limit above: a range is proposed for the rows that it keeps.")
    limits = rows.mean(asked["column"], **{name: asked[name] for name in LIMITED if name in asked}).limits
    return ClipQuestion.asked(rows._data, asked["column"], within=asked["clip"], max_rows=limits.max_rows)
