"""A few budgets from their opening to their end: terms, entries, what is left, and what fits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import golden_queries
import leastnoise as ln
from golden_facts import attributes, facts, refusal
from leastnoise import testing

ENTRY = ("number", "kind", "query", "noise", "gaussian", "pure", "threshold", "unit", "table", "note", "allocation")
TERMS = ("epsilon", "delta", "pure_epsilon", "threshold_delta", "mu", "unit", "table", "neighbours", "releases")
COUNTS = np.array([5, 0, 12])


def weekly(b: ln.Budget) -> None:
    """A year of the same table, in shares that no float holds."""
    for week in range(5):
        ln.release(COUNTS, sensitivity=1, budget=b, share=Fraction(1, 52), note=f"week {week + 1}")


def mixed(b: ln.Budget) -> None:
    """Every way to say how much."""
    golden_queries.query("histogram").release(budget=b, share="1/7")
    golden_queries.query("sum").release(budget=b, epsilon=0.5, delta=1e-7)
    golden_queries.query("crosstabs").release(budget=b, share=0.1)
    golden_queries.query("count").release(budget=b, sigma=40)
    golden_queries.query("unknown keys").release(budget=b, share=0.05)


def pure(b: ln.Budget) -> None:
    golden_queries.query("histogram").release(budget=b, share="1/3")
    golden_queries.query("quantile").release(budget=b, epsilon=0.5, delta=0)
    golden_queries.query("summary").release(budget=b, share=0.1)


def allocated(b: ln.Budget) -> None:
    """A part for others, spent from, and what is left of it returned; closed and opened again."""
    team = b.allocate("maps team", share="1/4", note="until spring")
    ln.release(COUNTS, sensitivity=1, budget=team, share=0.5)
    inner = team.allocate("one of them", share=0.25)
    ln.release(COUNTS, sensitivity=1, budget=inner, share=1)
    inner.return_unused()
    team.return_unused(note="done")
    b.close(reason="the year is over")
    b.reopen(reason="it is not")
    ln.release(COUNTS, sensitivity=1, budget=b, share=0.1)


def exhausted(b: ln.Budget) -> None:
    ln.release(COUNTS, sensitivity=1, budget=b, share="2/3")
    ln.release(COUNTS, sensitivity=1, budget=b, share="1/3")
    ln.release(COUNTS, sensitivity=1, budget=b, share=1e-6)


BUDGETS: dict[str, tuple[dict[str, Any], Callable[[ln.Budget], None]]] = {
    "weekly": ({"epsilon": 3, "delta": 1e-6, "unit": "person", "table": "trips"}, weekly),
    "mixed": ({"epsilon": 3, "delta": 1e-6, "threshold_delta": 1e-7}, mixed),
    "with a reserve": ({"epsilon": 3, "delta": 1e-6, "pure_epsilon": 1, "threshold_delta": 1e-7}, weekly),
    "pure": ({"epsilon": 2, "delta": 0}, pure),
    "allocated": ({"epsilon": 3, "delta": 1e-6}, allocated),
    "planned": ({"epsilon": 1, "delta": 1e-6, "releases": 12}, weekly),
    "exhausted": ({"epsilon": 1, "delta": 1e-6}, exhausted),
    "replace": ({"epsilon": 1, "delta": 1e-6, "neighbours": "replace"}, weekly),
}


def account(name: str, folder: Path) -> dict[str, Any]:
    """What a budget is after what was done."""
    terms, do = BUDGETS[name]
    b = ln.Budget.open(folder / "b.ledger", **terms)
    found: dict[str, Any] = {}
    try:
        with testing.seeded(1):
            do(b)
    except ln.errors.LeastnoiseError as problem:
        found = {**refusal(problem), "largest_share": getattr(problem, "largest_share", None)}
    assert b.verify()
    entries = [{**attributes(entry, ENTRY), "note": entry.note} for entry in b.history()]
    return {
        **found,
        "terms": attributes(b.terms, TERMS),
        "remaining": facts(b.remaining),
        "ledger": [{key: value for key, value in entry.items() if value not in ("", "0")} for entry in entries],
        "closed": b.closed,
        "unit": b.unit,
        "table": b.table,
        "strength": b.strength.band,
        "allocations": [attributes(each, ("name", "returned")) for each in b.allocations],
    }
