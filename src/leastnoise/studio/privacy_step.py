"""The fourth step: how private, how exact, and what pays for it."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Any

from leastnoise import errors
from leastnoise.jobs.fields import SECTIONS
from leastnoise.studio import budgets, inputs, limits
from leastnoise.studio.draft import Draft
from leastnoise.studio.folder import in_words
from leastnoise.studio.form_numbers import read_number
from leastnoise.studio.preview import EPSILONS, Preview, preview, solve
from leastnoise.studio.session import Fields, Studio

MORE = [SECTIONS["privacy"][name] for name in ("mechanism", "note")]


def show(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What the page shows."""
    privacy = draft.section("privacy")
    usual = {"epsilon": "1", "delta": "1e-6", "share": "0.1", "budget": "", "allocation": ""}
    first = {} if privacy or fields else {"budget": _first_budget(studio, draft, usual)}
    shown = usual | first | {name: str(value) for name, value in privacy.items()}
    if "budget" in privacy and "share" not in privacy:
        shown["share"] = ""
    shown |= {name: str(fields[name]) for name in usual if name in fields}
    unsolved = ""
    if fields.get("changed") == "error" and fields.get("error"):
        solved, unsolved = _solved(studio, draft, fields)
        shown |= solved
    parts, problem = _allocations(studio, shown["budget"])
    if shown["allocation"] not in parts:
        shown["allocation"] = ""
    found = look(studio, draft, shown)
    return {
        "fields": shown,
        "ledgers": budgets.places(studio),
        "parts": parts,
        "epsilons": EPSILONS,
        "nearest": _nearest(shown["epsilon"]),
        "error": str(fields.get("error", "")),
        "unsolved": unsolved,
        "unit": limits.unit_words(draft),
        "sigma": str(fields.get("sigma", privacy.get("sigma", ""))),
        "more": inputs.inputs(MORE, {} if fields else privacy, fields),
    } | (found | {"impossible": problem} if problem else found)


def _nearest(epsilon: str) -> int:
    """Which place of the slider is nearest; the middle where nothing of it can be read."""
    try:
        typed = math.log(float(epsilon))
    except ValueError:
        return len(EPSILONS) // 2
    return min(range(len(EPSILONS)), key=lambda place: abs(math.log(EPSILONS[place]) - typed))


def _first_budget(studio: Studio, draft: Draft, usual: Fields) -> str:
    """The first that can pay for this job: whoever has such a budget is asked to decide against it, not for it."""
    for place in budgets.places(studio):
        found = look(studio, draft, {**usual, "budget": place})
        if not found["impossible"] and found["gauge"].fits and not found["gauge"].closed:
            return place
    return ""


def _allocations(studio: Studio, place: str) -> tuple[list[str], str]:
    """The parts of a budget that can be paid from, or why it cannot be opened."""
    try:
        return (budgets.open_allocations(studio, place) if place else []), ""
    except errors.LeastnoiseError as problem:
        return [], in_words(problem, studio.folder)


def _in_numbers(fields: Fields) -> dict[str, Any]:
    """The noise itself, where it is typed; else epsilon and delta."""
    if str(fields.get("sigma") or "").strip():
        return {"sigma": read_number(fields, "sigma")}
    return {"epsilon": read_number(fields, "epsilon"), "delta": read_number(fields, "delta")}


def privacy_of(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with the privacy of the form, paid from a budget that the studio knows."""
    place = str(fields.get("budget", ""))
    if not place:
        return draft.with_section("privacy", _in_numbers(fields) | inputs.read(MORE, fields))
    if place not in budgets.places(studio):
        raise errors.InvalidParameter("There is no such budget here. Choose one of the list.", parameter="budget")
    share = str(fields.get("share") or "").strip() or not any(fields.get(name) for name in ("epsilon", "sigma"))
    paid = {"share": read_number(fields, "share")} if share else _in_numbers(fields)
    chosen = {"budget": place, **paid, "allocation": str(fields.get("allocation", ""))}
    return draft.with_section("privacy", chosen | inputs.read(MORE, fields))


def look(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What a choice of privacy leads to, or the sentence that says why it cannot be."""
    found: Preview | None = None
    gauge, problem = None, ""
    try:
        changed = privacy_of(studio, draft, fields)
        chosen = changed.section("privacy")
        if "share" in chosen:
            gauge = budgets.gauge(studio, chosen["budget"], float(chosen["share"]), chosen.get("allocation", ""))
            gauge = gauge if chosen["share"] > 0 else None  # what takes less than nothing is no part to be drawn
        found = preview(changed, limits.who_estimates(studio, draft))
        other = changed.expect().other_kind  # what could not be paid for is refused, and said beside the preview
        if other is not None:
            found = replace(found, sentences=(*found.sentences, other.in_words()))
    except errors.LeastnoiseError as error:
        problem = in_words(error, studio.folder)
    return {"preview": found, "gauge": gauge, "impossible": problem}


def _solved(studio: Studio, draft: Draft, fields: Fields) -> tuple[dict[str, str], str]:
    """The epsilon, or the share, at which no number is off by more than the form's `error`; or why there is none."""
    name = "share" if fields.get("budget") else "epsilon"
    try:
        found = _least(studio, draft, fields, name, float(read_number(fields, "error")))
    except errors.LeastnoiseError as problem:
        return {}, in_words(problem, studio.folder)
    if found is None:
        return {}, "No privacy on this scale allows so small an error."
    return {name: f"{found:.3g}"}, ""


def _least(studio: Studio, draft: Draft, fields: Fields, name: str, wanted: float) -> float | None:

    def half_width(value: float) -> float | None:
        return preview(privacy_of(studio, draft, {**fields, name: f"{value:.6g}"})).worst

    return solve(half_width, wanted, *((0.001, 1.0) if name == "share" else (EPSILONS[0] / 10, EPSILONS[-1])))


def save(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with what the form says; with `create` a new budget is begun first."""
    if fields.get("go") == "create":
        place = budgets.create(studio, fields)
        return draft.with_section("privacy", {"budget": place, "share": Decimal("0.1")})
    changed = privacy_of(studio, draft, fields)
    with suppress(errors.BudgetExhausted, errors.BudgetClosed):  # until the release that may change
        changed.expect()
    found = preview(changed)
    if found.protects_nobody and fields.get("force") != "yes":
        raise errors.InvalidParameter(f"{found.strength} Choose less, or tick that you know.", parameter="epsilon")
    if found.protects_nobody:
        changed = changed.with_section("privacy", changed.section("privacy") | {"force": True})
    return changed
