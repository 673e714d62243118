"""Budgets: ledgers of the folder, and ledgers on servers that a person has given to this studio; and their pages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from leastnoise import errors
from leastnoise.curator.budget import Budget, postgres_url
from leastnoise.curator.budget.history import (
    changed_in_words,
    counted_in_words,
    left_in_words,
    plan_in_words,
)
from leastnoise.curator.budget.postgres_store import PostgresStore
from leastnoise.pictures import budgets as bars
from leastnoise.pictures import svg
from leastnoise.report.budget_page import line
from leastnoise.studio.folder import in_words
from leastnoise.studio.forms import read_number
from leastnoise.studio.job_places import checked_address
from leastnoise.studio.session import Fields, Studio

END = ".ledger"
MAX_ENTRIES = 500  # of the history: the last ones


@dataclass(frozen=True, slots=True)
class Gauge:
    """A budget as a bar: the part that is spent, the part that this release takes, and what it is about."""

    place: str
    name: str
    promise: str
    spent: float
    asked: float
    left: float  # before this release
    closed: bool
    releases: int

    @property
    def fits(self) -> bool:
        """Whether there is enough."""
        return self.asked <= self.left


def places(studio: Studio) -> list[str]:
    """Where the budgets are: files of the folder, then servers."""
    return [*studio.folder.names(END), *studio.servers]


def open_budget(studio: Studio, place: str, allocation: str = "") -> Budget:
    """A budget that the studio knows, or an allocation of it."""
    if postgres_url.is_url(place):
        if place not in studio.servers:
            raise errors.InvalidParameter("This studio is not connected to that budget. Connect to it first.")
        return Budget.open(place, allocation=allocation or None)
    return Budget.open(studio.folder.path(place), allocation=allocation or None)


def connect(studio: Studio, text: str) -> str:
    """Let the studio pay from a budget on a server; its address."""
    place = checked_address(text)
    Budget.open(place)
    if place not in studio.servers:
        studio.servers.append(place)
    return place


def gauge(studio: Studio, place: str, share: float = 0.0, allocation: str = "") -> Gauge:
    """How full a budget is, and would be after a release of this share."""
    budget = open_budget(studio, place, allocation)
    left = float(budget.remaining.share)
    promise = str(budget).splitlines()[0].partition(": ")[2]
    counted = sum(entry.kind == "release" for entry in budget.history())
    return Gauge(place, budget.name, promise, 1 - left, share, left, budget.closed, counted)


def open_allocations(studio: Studio, place: str) -> list[str]:
    """The names of the parts of a budget that can be paid from."""
    now = datetime.now(UTC)
    return [each.name for each in open_budget(studio, place).allocations if each.state(now) == "open"]


def create(studio: Studio, fields: Fields) -> str:
    """A new budget with the limits of the form, in a file of the folder or on a server; its place."""
    named = str(fields.get("ledger", "")).strip()
    if not named:
        raise errors.MissingParameter("Give the new budget a name.", parameter="ledger")
    limits: dict[str, Any] = {name: float(read_number(fields, f"new:{name}")) for name in ("epsilon", "delta")}
    planned = str(fields.get("new:releases", "")).strip()
    limits["releases"] = int(read_number(fields, "new:releases")) if planned else None
    limits["unit"] = str(fields.get("new:unit", "")).strip() or None
    limits["neighbours"] = "replace" if fields.get("new:neighbours") == "replace" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.WeakPromise)  # the page shows how strong it is
        warnings.simplefilter("ignore", errors.Wasteful)  # and which kind has less noise
        return _create_on_server(studio, named, limits) if "://" in named else _create_file(studio, named, limits)


def _create_file(studio: Studio, named: str, limits: Mapping[str, Any]) -> str:
    path = studio.folder.path(named.removesuffix(END) + END)
    if path.exists():
        raise errors.BadOutput(f"{path.name!r} is there already. Choose it in the list, or give another name.")
    Budget.open(path, **limits)
    return path.name


def _create_on_server(studio: Studio, named: str, limits: Mapping[str, Any]) -> str:
    place = checked_address(named)
    if PostgresStore(postgres_url.parsed(place)).exists():
        raise errors.BadOutput("There is a budget of this name on the server already. Connect to it.")
    Budget.open(place, **limits)
    if place not in studio.servers:
        studio.servers.append(place)
    return place


# ── The pages about budgets


def listed(studio: Studio) -> list[tuple[str, Gauge | None, str]]:
    """Every budget: where it is, its gauge, or why it cannot be opened."""
    return [(place, *_opened_gauge(studio, place)) for place in places(studio)]


def _opened_gauge(studio: Studio, place: str) -> tuple[Gauge | None, str]:
    try:
        return gauge(studio, place), ""
    except errors.LeastnoiseError as problem:
        return None, in_words(problem, studio.folder)


def shown(studio: Studio, place: str) -> dict[str, Any]:
    """What the page of one budget shows."""
    budget = open_budget(studio, place)
    entries, now = budget.history(), datetime.now(UTC)
    return {
        "place": place,
        "gauge": gauge(studio, place),
        "left": left_in_words(budget),
        "sentences": [*filter(None, (plan_in_words(budget), changed_in_words(entries), counted_in_words(entries)))],
        "allocations": [(each, each.state(now)) for each in budget.allocations],
        "lines": [line(entry) for entry in reversed(entries[-MAX_ENTRIES:])],
        "more": max(0, len(entries) - MAX_ENTRIES),
        "picture": Markup(svg.svg(bars.budget(entries, budget.terms))) if entries else "",
    }


def _opened(studio: Studio, fields: Fields) -> tuple[str, Budget]:
    place = str(fields.get("place", ""))
    return place, open_budget(studio, place)


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
    "create": create, "connect": lambda studio, fields: connect(studio, str(fields.get("place", ""))),
    "allocate": allocate, "return": give_back, "close": close, "reopen": reopen,
}  # fmt: skip
