"""The third step: how much of one person counts, and the preliminary releases that can propose it, or a range."""

from __future__ import annotations

import secrets
from decimal import Decimal
from typing import Any

from markupsafe import Markup

from leastnoise import errors
from leastnoise.jobs.fields import LIMITS
from leastnoise.pictures import limits as limits_of
from leastnoise.pictures import svg
from leastnoise.releases.clip_suggestion import ClipSuggestion
from leastnoise.releases.file_format import load
from leastnoise.releases.limit_errors import kept_in_words
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.studio import budgets, limits
from leastnoise.studio.draft import Draft
from leastnoise.studio.form_numbers import read_number, shown_end
from leastnoise.studio.session import Fields, Studio
from leastnoise.studio.wording import in_words

USUAL_SHARES = {"limits": "0.02", "clip": "0.1"}
NO_PRICE: dict[str, Any] = {"gauge": None, "price": [], "impossible": ""}
MAX_LINES = 9  # of the table of limits that were weighed: the proposed one and its neighbours


def show(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What the page shows."""
    found = [
        limits.Field(each.name, each.sentence, str(fields.get(each.name, each.value))) for each in limits.fields(draft)
    ]
    ledgers = budgets.places(studio)
    budget = str(draft.section("privacy").get("budget", ""))
    if budget not in ledgers and ledgers:
        budget = ledgers[0]
    chosen = {of: {"budget": budget, "share": share} for of, share in USUAL_SHARES.items()}
    if fields.get("of") in chosen:
        own = chosen[str(fields["of"])]
        own |= {name: str(fields[name]) for name in own if name in fields}
    offered = {"limits": limits.can_suggest(draft), "clip": limits.can_suggest_clip(draft)}
    return {
        "limits": found,
        "unit": limits.unit_words(draft),
        "ledgers": ledgers,
        "once": secrets.token_urlsafe(12),
        "offered": offered,
        "chosen": chosen,
        "prices": {
            of: look(studio, draft, {**chosen[of], "of": of}) if offer and ledgers else NO_PRICE
            for of, offer in offered.items()
        },
        "proposal": _proposal(studio, draft),
        "clip": _clip(studio, draft),
    }


def look(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What the preliminary release costs and how exact it is, before it is paid."""
    try:
        place, share = str(fields.get("budget", "")), read_number(fields, "share")
        gauge = budgets.gauge(studio, place, float(share))
        asked, clip = _with_typed(draft, fields), fields.get("of") == "clip"
        return {"gauge": gauge, "price": limits.price(studio, asked, place, share, clip=clip), "impossible": ""}
    except errors.LeastnoiseError as problem:
        return {**NO_PRICE, "impossible": in_words(problem, studio.folder)}


def save(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with the limits of the form; or with what was proposed, where somebody takes it."""
    match fields.get("go"):
        case "suggest" | "suggest clip":
            return _suggested(studio, _with_typed(draft, fields), fields)
        case "take limits":
            return _with_proposed_limits(studio, draft)
        case "take clip":
            ask = draft.section("ask") | {"clip": limits.clip_path(studio, draft).name}
            return draft.with_section("ask", ask)
        case "leave clip":
            return _with_public_ends(draft)
    changed = limits.with_limits(draft, fields)
    one_row = "per_unit" in changed.section("table")
    if not one_row and limits.names(changed) and not any(name in changed.section("ask") for name in LIMITS):
        raise errors.MissingParameter(
            "Give at least the first limit: noise must hide all of one person.", parameter="max_rows"
        )
    return changed


def _with_typed(draft: Draft, fields: Fields) -> Draft:
    """The draft with the limits that stand in the form, where they were sent along."""
    return limits.with_limits(draft, fields) if any(name in fields for name in LIMITS) else draft


def _suggested(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """A proposal is paid for and kept; the question stays what it was."""
    once = str(fields.get("once", ""))
    if once in studio.looked:  # a second click: the first has paid
        return draft
    clip = fields.get("go") == "suggest clip"
    if clip and not limits.can_suggest_clip(draft):
        raise errors.InvalidParameter("A proposed range was taken already. Go back to the typed one first.")
    studio.looked.add(once)
    place, share = str(fields.get("budget", "")), read_number(fields, "share")
    limits.suggest(studio, draft, place, share, clip=clip)
    return draft


def _with_proposed_limits(studio: Studio, draft: Draft) -> Draft:
    if "limits" not in limits.taken(draft):  # it was another question when its page was opened
        raise errors.InvalidParameter("This question takes no proposed limits. Type its own.", parameter="limits")
    found = load(limits.proposal_path(studio, draft))
    ask = {name: value for name, value in draft.section("ask").items() if name not in LIMITS}
    ask |= {name: int(value) for name, value in found.limits.items() if name in limits.names(draft)}
    ask["limits"] = limits.proposal_path(studio, draft).name  # what is released says which release chose them
    return draft.with_section("ask", ask)


def _with_public_ends(draft: Draft) -> Draft:
    """The range that was typed, in place of the proposed one."""
    taken = limits.taken_clip(draft)
    if taken is None:
        return draft
    within = [Decimal(shown_end(end)) for end in taken.within]
    return draft.with_section("ask", draft.section("ask") | {"clip": within})


def _clip(studio: Studio, draft: Draft) -> dict[str, Any] | None:
    """What range an earlier release proposed, from its file; None where there is none of this column."""
    path = limits.clip_path(studio, draft)
    try:
        found = load(path) if path.exists() else None
    except errors.LeastnoiseError:
        found = None
    ask = draft.section("ask")
    if not isinstance(found, ClipSuggestion) or found.column != ask.get("column"):
        return None
    typed = limits.typed_clip(draft)
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
    path = limits.proposal_path(studio, draft)
    try:
        found = load(path) if path.exists() and "limits" in limits.taken(draft) else None
    except errors.LeastnoiseError:
        found = None
    if not isinstance(found, LimitSuggestion):
        return None
    rows = found.to_arrow().to_pylist()
    best = next(place for place, row in enumerate(rows) if row["max_rows"] == found.limits["max_rows"])
    first = max(0, min(best - MAX_LINES // 2, len(rows) - MAX_LINES))
    return {
        "file": path.name,
        "limits": ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in found.limits.items()),
        "taken": _are_taken(draft, found),
        "lines": [_line(row, row is rows[best]) for row in rows[first : first + MAX_LINES]],
        "weighed": len(rows),
        "sentences": found.explain().splitlines(),
        "picture": Markup(svg.svg(limits_of.limits(found))),
    }


def _are_taken(draft: Draft, found: LimitSuggestion) -> bool:
    ask = draft.section("ask")
    return {name: ask[name] for name in LIMITS if name in ask} == dict(found.limits)


def _line(row: dict[str, Any], best: bool) -> dict[str, Any]:
    """One line of the table, as it is shown."""
    cells = [
        f"{row['max_rows']:,}",
        f"{row['max_per_bin']:,}",
        kept_in_words(row["kept"], row["kept_low"], row["kept_high"]),
    ]
    return {"cells": [*cells, *(f"{row[name]:.3g}" for name in ("bias", "noise", "error"))], "best": best}
