"""Opening a budget: the terms that are asked for, the ledger that has them, and the refusal of different ones."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.curator.budget import postgres_url
from leastnoise.curator.budget.ledger import Ledger, Store
from leastnoise.curator.budget.postgres_store import PostgresStore
from leastnoise.curator.budget.sqlite_store import SqliteStore
from leastnoise.curator.budget.state import State
from leastnoise.curator.budget.terms import Terms, strength, typed
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.strength import warn_if_weak


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTerms:
    """What the caller of `Budget.open` asks for; None is whatever the ledger has."""

    epsilon: Number | None
    delta: Number | None
    pure_epsilon: Number
    threshold_delta: Number
    unit: str | None
    table: str | None
    neighbours: Neighbours | None
    releases: int | None = None

    @property
    def has_limits(self) -> bool:
        """Whether a new budget may be begun, and a reserve of 0 means none."""
        return self.epsilon is not None or self.delta is not None

    def terms(self) -> Terms:
        """The terms of a new budget."""
        return Terms.of(**{name: getattr(self, name) for name in self.__slots__})

    def revised(self, own: Terms) -> Terms:
        """The budget's own terms, or what is asked for where they may be reopened with that (`Terms.may_follow`): the
        other kind, with a delta of 0 or without, or another number of releases."""
        plan = own.releases if self.releases is None else validation.integer("releases", self.releases)
        asked = replace(own, releases=plan)
        pure = self.epsilon is not None and self.pure_epsilon == self.epsilon
        if self.epsilon is not None and (pure or self.delta is not None):
            pure = pure or (validation.is_zero(self.delta) and validation.is_zero(self.pure_epsilon))
            if pure != own.laplace_only:
                named = {"unit": own.unit, "table": own.table, "neighbours": own.neighbours}
                asked = replace(self, **named, releases=plan).terms()  # type: ignore[arg-type]
        return asked if asked.may_follow(own) else own

    def check(self, location: str, terms: Terms, state: State) -> None:
        """Refuse limits or names that are not those of this ledger, which says the unit and the table."""
        laplace_only = validation.is_zero(self.delta)
        for name in ("epsilon", "delta", "pure_epsilon", "threshold_delta"):
            value: Number | None = getattr(self, name)
            zero = validation.is_zero(value)
            if value is None or (zero and not self.has_limits) or (zero and laplace_only and name == "pure_epsilon"):
                continue
            own: Fraction = getattr(terms, name)
            if (Fraction(0) if zero else typed(name, value)) != own:
                raise _differs(location, name, float(own), value)
        names: Mapping[str, tuple[object, object]] = {
            "unit": (self.unit, state.unit),
            "table": (self.table, state.table),
            "neighbours": (self.neighbours, terms.neighbours),
            "releases": (self.releases, terms.releases),
        }
        for name, (asked, found) in names.items():
            if asked is not None and asked != found:
                raise _differs(location, name, found, asked)


def open_ledger(place: str | os.PathLike[str], asked: AskedTerms) -> Ledger:
    """The ledger at this path or address; with limits, a new one where there is none yet."""
    is_url = postgres_url.is_url(place)
    store: Store = PostgresStore(postgres_url.parsed(str(place))) if is_url else SqliteStore(absolute_path(place))
    if asked.has_limits and not store.exists():
        terms = asked.terms()
        warn_if_weak(strength(terms))
        with suppress(FileExistsError):  # another process was faster; what its ledger says is compared afterwards
            store.create(terms)
    return Ledger(store)


def absolute_path(path: str | os.PathLike[str]) -> Path:
    """The absolute path, so that it still means the same file after a change of directory."""
    try:
        return Path(path).resolve()
    except TypeError:
        raise errors.WrongType(f"path must be a path. Got {type(path).__name__} instead.", parameter="path") from None
    except (OSError, RuntimeError, ValueError):
        raise errors.FileProblem(f"{path!r} is no path that leads anywhere. Check it.", parameter="path") from None


def _differs(location: str, name: str, own: Any, value: Any) -> errors.BudgetMismatch:
    return errors.BudgetMismatch(
        f"The budget {location!r} was opened with {name} = {own!r}, and that is fixed. Got {value!r} instead. Open it "
        "without limits, or begin another budget.",
        parameter=name,
        value=value,
    )
