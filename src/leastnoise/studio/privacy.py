"""The step about privacy: how private, how exact, and what pays for it. What a choice leads to follows from public
facts alone, and is free."""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal
from typing import Any

from markupsafe import Markup

from leastnoise import errors
from leastnoise.jobs.fields import SECTIONS
from leastnoise.pictures import guarantees, svg
from leastnoise.releases.left_out import SUGGESTS
from leastnoise.releases.table_set import table_name
from leastnoise.studio import budgets, forms, limits
from leastnoise.studio.draft import Draft
from leastnoise.studio.folder import in_words
from leastnoise.studio.forms import read_number
from leastnoise.studio.session import Fields, Studio

OPTIONS = [SECTIONS["privacy"][name] for name in ("mechanism", "note")]
EPSILONS = (
    0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8,
    1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0,
)  # fmt: skip
# What is typed elsewhere, and chosen here.
_CHOSEN_HERE = {
    "with other=False (--no-other)": "without it",
    "other=True (--other) gives": "The step about the question can give",
}


def show(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What the page shows."""
    privacy = draft.section("privacy")
    usual = {"epsilon": "1", "delta": "1e-6", "share": "0.1", "budget": "", "allocation": ""}
    first = {} if privacy or fields else {"budget": _first_budget(studio, draft, usual)}
    shown = usual | first | {name: str(value) for name, value in privacy.items()}
    if "budget" in privacy and "share" not in privacy:
        shown["share"] = ""
    shown |= {name: str(fields[name]) for name in usual if name in fields}
    parts, problem, unsolved = list[str](), "", ""
    try:
        if fields.get("changed") == "error" and fields.get("error"):
            shown |= _solved(studio, draft, fields)
    except errors.LeastnoiseError as error:
        unsolved = in_words(error, studio.folder)
    try:
        parts = budgets.open_allocations(studio, shown["budget"]) if shown["budget"] else []
    except errors.LeastnoiseError as error:
        problem = in_words(error, studio.folder)
    if shown["allocation"] not in parts:
        shown["allocation"] = ""
    found = look(studio, draft, shown)
    return found | {
        "impossible": problem or found["impossible"],
        "fields": shown,
        "as_shown": shown,  # a form that nobody has touched can be sent as it is
        "ledgers": budgets.places(studio),
        "parts": parts,
        "epsilons": EPSILONS,
        "nearest": _nearest(shown["epsilon"]),
        "error": str(fields.get("error", "")),
        "unsolved": unsolved,
        "unit": limits.unit_words(draft),
        "sigma": str(fields.get("sigma", privacy.get("sigma", ""))),
        "force": fields.get("force") == "yes",
        "more": forms.inputs(OPTIONS, {} if fields else privacy, fields),
    }


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


def _in_numbers(fields: Fields) -> dict[str, Any]:
    """The noise itself, where it is typed; else epsilon and delta."""
    names = ("sigma",) if str(fields.get("sigma") or "").strip() else ("epsilon", "delta")
    return {name: read_number(fields, name) for name in names}


def with_privacy(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with the privacy of the form, paid from a budget that the studio knows."""
    place = str(fields.get("budget", ""))
    if place and place not in budgets.places(studio):
        raise errors.InvalidParameter("There is no such budget here. Choose one of the list.", parameter="budget")
    typed = any(fields.get(name) for name in ("epsilon", "sigma"))
    if place and (str(fields.get("share") or "").strip() or not typed):
        chosen: dict[str, Any] = {"share": read_number(fields, "share")}
    else:
        chosen = _in_numbers(fields)
    paid = {"budget": place, **chosen, "allocation": str(fields.get("allocation", ""))} if place else chosen
    return draft.with_section("privacy", paid | forms.read(OPTIONS, fields))


def look(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What a choice of privacy leads to, or the sentence that says why it cannot be."""
    found: dict[str, Any] = {"preview": None, "gauge": None, "impossible": ""}
    try:
        changed = with_privacy(studio, draft, fields)
        chosen = changed.section("privacy")
        if chosen.get("share", 0) > 0:  # what takes less than nothing is no part to be drawn
            part = chosen.get("allocation", "")
            found["gauge"] = budgets.gauge(studio, chosen["budget"], float(chosen["share"]), part)
        found["preview"] = _preview(changed.preview(), limits.who_estimates(studio, draft))
        other = changed.expect().other_kind  # what could not be paid for is refused, and said beside the preview
        found["preview"]["sentences"] += [other.in_words()] if other else []
    except errors.LeastnoiseError as error:
        found["impossible"] = in_words(error, studio.folder)
    return found


def _solved(studio: Studio, draft: Draft, fields: Fields) -> dict[str, str]:
    """The epsilon, or the share, at which no number is off by more than the form's `error`, up to a hundredth: the
    widest half width falls as either grows."""
    name, (low, high) = (
        ("share", (0.001, 1.0)) if fields.get("budget") else ("epsilon", (EPSILONS[0] / 10, EPSILONS[-1]))
    )
    wanted = float(read_number(fields, "error"))

    def enough(value: float) -> bool:
        bars = _bars(with_privacy(studio, draft, {**fields, name: f"{value:.6g}"}).preview())
        return bool(bars) and bars[0][2] <= wanted

    if not enough(high):
        raise errors.InvalidParameter("No privacy on this scale allows so small an error.")
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if enough(middle) else (middle, high)
    return {name: f"{high:.3g}"}


def save(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with what the form says; with `create` a new budget is begun first."""
    if fields.get("go") == "create":
        place = budgets.create(studio, fields)
        return draft.with_section("privacy", {"budget": place, "share": Decimal("0.1")})
    changed = with_privacy(studio, draft, fields)
    with suppress(errors.BudgetExhausted, errors.BudgetClosed):  # until the release that may change
        changed.expect()
    strength = changed.preview().strength
    if strength is None or not strength.protects_nobody:
        return changed
    if fields.get("force") != "yes":
        raise errors.InvalidParameter(f"{strength.in_words()} Choose less, or tick that you know.", parameter="epsilon")
    return changed.with_section("privacy", changed.section("privacy") | {"force": True})


def _preview(expected: Any, who_estimates: str) -> dict[str, Any]:
    """What one choice of privacy leads to, whether or not its budget can pay. No row is read, nothing is debited.

    who_estimates: a sentence that says where to find how many rows the limits leave out.
    """
    strength = expected.strength
    told = "" if strength is None else strength.in_words()
    lines = [line for line in str(expected).splitlines() if line and not line.startswith("  ") and line != told]
    return {
        "bars": _bars(expected),
        "sentences": [_of_the_studio(line, who_estimates) for line in lines],
        "told": told,
        "strength": strength,
        "attack": Markup(svg.svg(guarantees.attack(lambda alarms: 1 - expected.guarantee.tradeoff(alarms)))),
    }


def _bars(expected: Any) -> list[tuple[str, int, float]]:
    """How far off the numbers of each table will be, or of each statistic that has such a number, the widest first: its
    name, its cells, and by how much 95% are off at most."""
    if hasattr(expected, "tables"):
        found = [(table_name(line.table), line.cells, line.half_width) for line in expected.tables]
    elif hasattr(expected, "statistics"):
        found = [(line.name, expected.bins, line.half_width) for line in expected.statistics]
    else:
        found = [("each number", expected.bins or 0, expected.half_width)]
    return sorted((line for line in found if line[2] is not None), key=lambda line: -line[2])


def _of_the_studio(line: str, who_estimates: str) -> str:
    """Nobody here types suggest_limits."""
    line = line.replace(SUGGESTS, who_estimates).strip()
    for typed, chosen in _CHOSEN_HERE.items():
        line = line.replace(typed, chosen)
    return line
