"""The pages about budgets: which there are, and of one what it promises, its allocations and its history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from leastnoise import errors
from leastnoise.curator.budget import Budget, Entry
from leastnoise.curator.budget.history import (
    changed_in_words,
    counted_in_words,
    left_in_words,
    plan_in_words,
)
from leastnoise.pictures import budgets as bars
from leastnoise.pictures import svg
from leastnoise.studio import budgets
from leastnoise.studio.form_numbers import read_number
from leastnoise.studio.session import Fields, Studio
from leastnoise.studio.wording import in_words

MAX_ENTRIES = 500  # of the history: the last ones


@dataclass(frozen=True, slots=True)
class Line:
    """A budget in the list: its gauge, or why it cannot be opened."""

    place: str
    gauge: budgets.Gauge | None
    problem: str


def listed(studio: Studio) -> dict[str, Any]:
    """What the list shows."""
    return {"lines": [_line(studio, place) for place in budgets.places(studio)]}


def _line(studio: Studio, place: str) -> Line:
    try:
        return Line(place, budgets.gauge(studio, place), "")
    except errors.LeastnoiseError as problem:
        return Line(place, None, in_words(problem, studio.folder))


def shown(studio: Studio, place: str) -> dict[str, Any]:
    """What the page of one budget shows."""
    budget = budgets.open_budget(studio, place)
    entries, now = budget.history(), datetime.now(UTC)
    return {
        "place": place,
        "gauge": budgets.gauge(studio, place),
        "left": left_in_words(budget),
        "sentences": [line for line in _sentences(budget, entries) if line],
        "allocations": [(each, each.state(now)) for each in budget.allocations],
        "entries": list(reversed(entries[-MAX_ENTRIES:])),
        "more": max(0, len(entries) - MAX_ENTRIES),
        "picture": Markup(svg.svg(bars.budget(entries, budget.terms))) if entries else "",
    }


def _sentences(budget: Budget, entries: list[Entry]) -> tuple[str, ...]:
    said = plan_in_words(budget), changed_in_words(entries)
    return (*said, counted_in_words(entries))


def create(studio: Studio, fields: Fields) -> str:
    """A new budget; its place."""
    return budgets.create(studio, fields)


def connect(studio: Studio, fields: Fields) -> str:
    """A budget on a server; its place."""
    return budgets.connect(studio, str(fields.get("place", "")))


def _opened(studio: Studio, fields: Fields) -> tuple[str, Budget]:
    place = str(fields.get("place", ""))
    return place, budgets.open_budget(studio, place)


def allocate(studio: Studio, fields: Fields) -> str:
    """A part of a budget for others; a second click finds the name taken, and debits nothing."""
    place, budget = _opened(studio, fields)
    share = read_number(fields, "share")
    people = [each.strip() for each in str(fields.get("people", "")).split(",") if each.strip()]
    budget.allocate(
        str(fields.get("name", "")),
        share=share,
        people=people,
        expires=str(fields.get("expires", "")).strip() or None,
        note=str(fields.get("note", "")).strip(),
    )
    return place


def give_back(studio: Studio, fields: Fields) -> str:
    """End an allocation: what it has not spent goes back."""
    place, budget = _opened(studio, fields)
    budget.allocation(str(fields.get("name", ""))).return_unused()
    return place


def close(studio: Studio, fields: Fields) -> str:
    """Refuse every release from now on."""
    place, budget = _opened(studio, fields)
    budget.close(reason=str(fields.get("reason", "")))
    return place


def reopen(studio: Studio, fields: Fields) -> str:
    """Allow releases again."""
    place, budget = _opened(studio, fields)
    budget.reopen(reason=str(fields.get("reason", "")))
    return place


ACTIONS: dict[str, Callable[[Studio, Fields], str]] = {
    "create": create, "connect": connect, "allocate": allocate, "return": give_back, "close": close, "reopen": reopen,
}  # fmt: skip
