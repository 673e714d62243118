"""The third step: how much of one person counts, and the small paid look that can propose it."""

from __future__ import annotations

import secrets
from decimal import Decimal
from typing import Any

from markupsafe import Markup

from leastnoise import errors
from leastnoise.releases.limit_errors import kept_in_words
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.releases.loading import load
from leastnoise.report.limits_picture import drawn
from leastnoise.studio import budgets, limits
from leastnoise.studio.draft import Draft
from leastnoise.studio.session import Fields, Studio, number
from leastnoise.studio.wording import in_words

USUAL_SHARE = "0.02"
MAX_LINES = 9  # of the table of limits that were weighed: the proposed one and its neighbours


def show(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What the page shows."""
    found = [
        limits.Field(each.name, each.sentence, str(fields.get(each.name, each.value))) for each in limits.fields(draft)
    ]
    ledgers = budgets.places(studio)
    chosen = {"budget": str(draft.section("privacy").get("budget", "")), "share": USUAL_SHARE}
    if chosen["budget"] not in ledgers and ledgers:
        chosen["budget"] = ledgers[0]
    chosen |= {name: str(fields[name]) for name in chosen if name in fields}
    can_suggest = limits.can_suggest(draft)
    return {
        "limits": found,
        "unit": limits.unit_words(draft),
        "ledgers": ledgers,
        "once": secrets.token_urlsafe(12),
        "can_suggest": can_suggest,
        "chosen": chosen,
        "proposal": _proposal(studio, draft),
    } | (look(studio, draft, chosen) if can_suggest and ledgers else {"gauge": None, "price": [], "impossible": ""})


def look(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What the paid look costs and how exact it is, before it is paid."""
    try:
        place, share = str(fields.get("budget", "")), number(fields, "share")
        gauge = budgets.gauge(studio, place, float(share))
        return {"gauge": gauge, "price": limits.price(studio, draft, place, share), "impossible": ""}
    except errors.LeastnoiseError as problem:
        return {"gauge": None, "price": [], "impossible": in_words(problem, studio.folder)}


def save(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with the limits of the form, or with those that a paid look proposes."""
    if fields.get("go") == "suggest":
        return _suggested(studio, draft, fields)
    changed = limits.with_limits(draft, fields)
    if limits.names(changed) and not any(name in changed.section("ask") for name in limits.SENTENCES):
        raise errors.MissingParameter(
            "Give at least the first limit: noise must hide all of one person.", parameter="max_rows"
        )
    return changed


def _suggested(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    once = str(fields.get("once", ""))
    if once in studio.looked:  # a second click: the first has paid, and its limits are in the draft
        return draft
    studio.looked.add(once)
    found = limits.suggest(studio, draft, str(fields.get("budget", "")), number(fields, "share"))
    ask = {name: value for name, value in draft.section("ask").items() if name not in limits.SENTENCES}
    ask |= {name: int(value) for name, value in found.limits.items()}
    ask["limits"] = limits.proposal_path(studio, draft).name  # what is released says which look chose them
    column = str(ask.get("column", ""))
    if column in found.clips:
        ask["clip"] = [Decimal(repr(float(end))) for end in found.clips[column]]
    return draft.with_section("ask", ask)


def _proposal(studio: Studio, draft: Draft) -> dict[str, Any] | None:
    """What an earlier look proposed, from its file; None where there is none."""
    path = limits.proposal_path(studio, draft)
    try:
        found = load(path) if path.exists() else None
    except errors.LeastnoiseError:
        found = None
    if not isinstance(found, LimitSuggestion):
        return None
    rows = found.to_arrow().to_pylist()
    best = next(place for place, row in enumerate(rows) if row["max_rows"] == found.limits["max_rows"])
    first = max(0, min(best - MAX_LINES // 2, len(rows) - MAX_LINES))
    return {
        "file": path.name,
        "lines": [_line(row, row is rows[best]) for row in rows[first : first + MAX_LINES]],
        "weighed": len(rows),
        "sentences": found.explain().splitlines(),
        "picture": Markup(drawn(found)),
    }


def _line(row: dict[str, Any], best: bool) -> dict[str, Any]:
    """One line of the table, as it is shown."""
    cells = [
        f"{row['max_rows']:,}",
        f"{row['max_per_bin']:,}",
        kept_in_words(row["kept"], row["kept_low"], row["kept_high"]),
    ]
    return {"cells": [*cells, *(f"{row[name]:.3g}" for name in ("bias", "noise", "error"))], "best": best}
