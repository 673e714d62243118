"""The step about limits: how much of one person counts, and what a small release would propose.

What is proposed is kept beside the job and shown. It becomes a part of the question when somebody takes it: nothing
that was typed is replaced.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from markupsafe import Markup

from leastnoise import errors
from leastnoise.curator.queries.query import Query
from leastnoise.curator.queries.suggestions import ClipQuestion
from leastnoise.curator.request import PrivacyRequest
from leastnoise.jobs.fields import LIMITS, SECTIONS, Field
from leastnoise.jobs.file import Job
from leastnoise.jobs.proposed_limits import around
from leastnoise.jobs.questions import QUESTIONS
from leastnoise.jobs.running import Run, limits_question, open_table
from leastnoise.pictures import choices, svg
from leastnoise.releases.clip_suggestion import ClipSuggestion
from leastnoise.releases.file_format import load
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.studio import budgets, forms
from leastnoise.studio.draft import Draft
from leastnoise.studio.folder import in_words
from leastnoise.studio.forms import read_number, shown_end
from leastnoise.studio.session import Fields, Studio

USUAL_SHARES = {"limits": "0.02", "clip": "0.1"}
NO_PRICE: dict[str, Any] = {"gauge": None, "price": [], "impossible": ""}
MAX_LINES = 9  # of the table of limits that were weighed: the proposed one and its neighbours
LIMITED = ("clip", "by", "keys", "nulls", *LIMITS)  # of a question, what its limits follow from


def taken(draft: Draft) -> list[str]:
    """The limits that the question takes, and the file of the preliminary release that proposed them."""
    question = QUESTIONS.get(str(draft.section("ask").get("kind")))
    return [] if question is None else [name for name in (*LIMITS, "limits") if name in question.fields]


def _fields(draft: Draft) -> list[Field]:
    """The limits that the question takes."""
    return [SECTIONS["ask"][name] for name in taken(draft) if name in LIMITS]


def with_limits(studio: Studio, draft: Draft, given: Fields) -> Draft:
    """The draft with the limits of the form."""
    found = forms.read(_fields(draft), given)
    for name, value in found.items():
        if value is not None and value < 1:
            raise errors.InvalidParameter.must("A limit", "be above zero", value, parameter=name)
    ask = {name: value for name, value in draft.section("ask").items() if name not in LIMITS}
    return draft.with_section("ask", ask | found)


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


def _run(studio: Studio, draft: Draft, place: str, share: int | Decimal, clip: bool) -> Run:
    """The run that asks for a proposal: the table is opened and not read."""
    path = clip_path(studio, draft) if clip else proposal_path(studio, draft)
    job = replace(draft.job(), privacy={}, output={"release": path.name})
    request = PrivacyRequest(budget=budgets.open_budget(studio, place), share=share)
    query = _clip_question(job) if clip else limits_question(job, request)
    return Run(job, query, request, again=True, keeps_record=False)


def _clip_question(job: Job) -> Query:
    """The question that a range is proposed from: within the one that was typed, of the rows that the limits keep."""
    asked, rows = job.arguments(), open_table(job)
    if not any(name in asked for name in LIMITS) and not rows._data.row_is_unit:
        raise errors.MissingParameter("Give the first limit above: a range is proposed for the rows that it keeps.")
    limits = rows.mean(asked["column"], **{name: asked[name] for name in LIMITED if name in asked}).limits
    return ClipQuestion.asked(rows._data, asked["column"], within=asked["clip"], max_rows=limits.max_rows)


# ── The third step


def show(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What the page shows."""
    ledgers = budgets.places(studio)
    budget = str(draft.section("privacy").get("budget", ""))
    if budget not in ledgers and ledgers:
        budget = ledgers[0]
    chosen = {of: {"budget": budget, "share": share} for of, share in USUAL_SHARES.items()}
    if fields.get("of") in chosen:
        own = chosen[str(fields["of"])]
        own |= {name: str(fields[name]) for name in own if name in fields}
    offered = {"limits": can_suggest(draft), "clip": can_suggest_clip(draft)}
    return {
        "limits": forms.inputs(_fields(draft), draft.section("ask"), fields),
        "unit": unit_words(draft),
        "ledgers": ledgers,
        "once": secrets.token_urlsafe(12),
        "offered": offered,
        "chosen": chosen,
        "prices": {
            of: _price(studio, draft, {**fields, **chosen[of], "of": of}) if offer and ledgers else NO_PRICE
            for of, offer in offered.items()
        },
        "proposal": _proposal(studio, draft),
        "clip": _clip(studio, draft),
    }


def _price(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What the preliminary release costs and how exact it is, before it is paid."""
    try:
        place, share = str(fields.get("budget", "")), read_number(fields, "share")
        gauge = budgets.gauge(studio, place, float(share))
        asked = _run(studio, _with_typed(studio, draft, fields), place, share, fields.get("of") == "clip")
        told = [line for line in str(asked.expect()).splitlines() if line and not line.startswith("  ")]
        return {"gauge": gauge, "price": told, "impossible": ""}
    except errors.LeastnoiseError as problem:
        return {**NO_PRICE, "impossible": in_words(problem, studio.folder)}


def save(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with the limits of the form; or with what was proposed, where somebody takes it."""
    match fields.get("go"):
        case "suggest" | "suggest clip":
            return _suggested(studio, _with_typed(studio, draft, fields), fields)
        case "take limits":
            return _with_proposed_limits(studio, draft)
        case "take clip":
            ask = draft.section("ask") | {"clip": clip_path(studio, draft).name}
            return draft.with_section("ask", ask)
        case "leave clip":
            return _with_public_ends(draft)
    changed = with_limits(studio, draft, fields)
    one_row = "per_unit" in changed.section("table")
    if not one_row and _fields(changed) and not any(name in changed.section("ask") for name in LIMITS):
        raise errors.MissingParameter(
            "Give at least the first limit: noise must hide all of one person.", parameter="max_rows"
        )
    return changed


def _with_typed(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with the limits that stand in the form, where they were sent along."""
    return with_limits(studio, draft, fields) if any(name in fields for name in LIMITS) else draft


def _suggested(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """A proposal is paid for and kept; the question stays what it was."""
    once = str(fields.get("once", ""))
    if once in studio.looked:  # a second click: the first has paid
        return draft
    clip = fields.get("go") == "suggest clip"
    if clip and not can_suggest_clip(draft):
        raise errors.InvalidParameter("A proposed range was taken already. Go back to the typed one first.")
    studio.looked.add(once)
    place, share = str(fields.get("budget", "")), read_number(fields, "share")
    _run(studio, draft, place, share, clip).do()  # kept beside the job, in place of an earlier one
    return draft


def _with_proposed_limits(studio: Studio, draft: Draft) -> Draft:
    if "limits" not in taken(draft):  # it was another question when its page was opened
        raise errors.InvalidParameter("This question takes no proposed limits. Type its own.", parameter="limits")
    found = load(proposal_path(studio, draft))
    ask = {name: value for name, value in draft.section("ask").items() if name not in LIMITS}
    ask |= {name: int(value) for name, value in found.limits.items() if name in taken(draft)}
    ask["limits"] = proposal_path(studio, draft).name  # what is released says which release chose them
    return draft.with_section("ask", ask)


def _with_public_ends(draft: Draft) -> Draft:
    """The range that was typed, in place of the proposed one."""
    taken = taken_clip(draft)
    if taken is None:
        return draft
    within = [Decimal(shown_end(end)) for end in taken.within]
    return draft.with_section("ask", draft.section("ask") | {"clip": within})


def _clip(studio: Studio, draft: Draft) -> dict[str, Any] | None:
    """What range an earlier release proposed, from its file; None where there is none of this column."""
    path = clip_path(studio, draft)
    try:
        found = load(path) if path.exists() else None
    except errors.LeastnoiseError:
        found = None
    ask = draft.section("ask")
    if not isinstance(found, ClipSuggestion) or found.column != ask.get("column"):
        return None
    typed = typed_clip(draft)
    return {
        "file": path.name,
        "column": found.column,
        "low": shown_end(found.clip[0]),
        "high": shown_end(found.clip[1]),
        "within": " to ".join(map(shown_end, found.within)),
        "typed": None if typed is None else " to ".join(map(str, typed)),
        "sentences": [found.in_words(), *found.promise_in_words().splitlines()],
    }


def _proposal(studio: Studio, draft: Draft) -> dict[str, Any] | None:
    """What a preliminary release proposed, from its file; None where there is none, or the question takes none."""
    path = proposal_path(studio, draft)
    try:
        found = load(path) if path.exists() and "limits" in taken(draft) else None
    except errors.LeastnoiseError:
        found = None
    if not isinstance(found, LimitSuggestion):
        return None
    return {
        "file": path.name,
        "limits": ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in found.limits.items()),
        "taken": _are_taken(draft, found),
        "lines": around(found, MAX_LINES),
        "weighed": found.to_arrow().num_rows,
        "sentences": found.explain().splitlines(),
        "picture": Markup(svg.svg(choices.limits(found))),
    }


def _are_taken(draft: Draft, found: LimitSuggestion) -> bool:
    ask = draft.section("ask")
    return {name: ask[name] for name in LIMITS if name in ask} == dict(found.limits)
