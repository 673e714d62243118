"""Budgets: ledgers of the folder, and ledgers on servers that a person has given to this studio."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from leastnoise import errors
from leastnoise.curator.budget import Budget, postgres_url
from leastnoise.curator.budget.postgres_store import PostgresStore
from leastnoise.studio.form_numbers import read_number
from leastnoise.studio.server_address import checked_address
from leastnoise.studio.session import Fields, Studio

END = ".ledger"


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
