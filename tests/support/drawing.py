"""Releases of one question whose rows are read once, and of made-up counts of keys that nobody listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import leastnoise as ln
from leastnoise.curator.budget.deciding import KeysPlan, KeysPlanner
from leastnoise.curator.noise import entropy
from leastnoise.curator.queries.query import Query
from leastnoise.curator.queries.unknown_keys import UnknownKeys, shown_keys
from leastnoise.curator.release import Batch
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.sensitivity import Limits
from leastnoise.releases.measured import ROWS
from leastnoise.releases.provenance import Provenance


def drawer(query: Query, **asked: Any) -> Callable[[], Any]:
    """Draws a release."""
    decided = query.decide(PrivacyRequest(**asked, mechanisms=query.mechanisms))
    plan, asks = decided.charge.plan, decided.query
    batch = asks.measure(plan)
    facts = Provenance(guarantee=plan.guarantee, delta=plan.delta, unit="who", id="0" * 16)
    return lambda: asks.read(plan, asks.draw(plan, batch), replace(facts, seeded=entropy.is_seeded()))


def shown(query: UnknownKeys, plan: KeysPlan, exact: Mapping[str, Any], keys: Sequence[Any]) -> Any:
    """A release of such integers of such keys."""
    made = shown_keys(plan, Batch({name: np.asarray(each, dtype=np.int64) for name, each in exact.items()}, keys=keys))
    facts = Provenance(guarantee=plan.guarantee, delta=plan.delta)
    return query.read(plan, query.draw(plan, made), facts)


def counted(counts: Any, keys: Sequence[Any], *, delta: float = 1e-6, by: str = "bin") -> Any:
    """A release of so many rows of each key, one row per unit, at epsilon 1."""
    query = ln.table(pd.DataFrame({"who": [1], by: ["a"]}), unit="who").histogram(by, max_rows=1)
    assert isinstance(query, UnknownKeys)
    planner = KeysPlanner(limits=Limits.of(max_rows=1, bins=None), neighbours="add-remove")
    return shown(query, planner.promised(1, delta, "gaussian"), {ROWS: counts}, keys)
