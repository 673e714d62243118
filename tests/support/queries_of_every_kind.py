"""One query of every kind on a table of people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leastnoise.curator.table import Table
from leastnoise.domain import IntegerRange

ASK: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}


WARDS = ["north", "east", "south", "west"]


QUERIES: dict[str, Callable[[Table], Any]] = {
    "count": lambda t: t.count(max_rows=3),
    "units": lambda t: t.count_units(),
    "histogram": lambda t: t.histogram("ward", keys=WARDS, max_rows=3, max_per_bin=1),
    "sum": lambda t: t.sum("cost", clip=(0, 200), max_rows=3),
    "sum by": lambda t: t.sum("age", clip=(0, 99), by="ward", keys=WARDS, max_rows=3),
    "mean": lambda t: t.mean("cost", clip=(0, 200), max_rows=3),
    "mean by": lambda t: t.mean("age", clip=(0, 99), by="ward", keys=WARDS, max_rows=3),
    "quantile": lambda t: t.quantile("age", [0.1, 0.5], clip=(0, 100), bins=100, max_rows=3),
    "vector": lambda t: t.vector_mean(["age", "cost"], clip_norm=300, max_rows=3),
    "unknown": lambda t: t.histogram("ward", max_rows=3),
    "sparse": lambda t: t.histogram("age", keys=IntegerRange(0, 2**40), max_rows=3),
}
KINDS = list(QUERIES)


def query_of(kind: str, t: Table) -> Any:
    return QUERIES[kind](t)
