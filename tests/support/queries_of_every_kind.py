"""One query of every kind on a table of people."""

from __future__ import annotations

from typing import Any

import pandas as pd

import leastnoise as ln
from leastnoise.curator.table import Table
from leastnoise.domain import IntegerRange

ASK: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}


WARDS = ["north", "east", "south", "west"]


def queries_of(t: Table) -> dict[str, Any]:
    return {
        "count": t.count(max_rows=3),
        "units": t.count_units(),
        "histogram": t.histogram("ward", keys=WARDS, max_rows=3, max_per_bin=1),
        "sum": t.sum("cost", clip=(0, 200), max_rows=3),
        "sum by": t.sum("age", clip=(0, 99), by="ward", keys=WARDS, max_rows=3),
        "mean": t.mean("cost", clip=(0, 200), max_rows=3),
        "mean by": t.mean("age", clip=(0, 99), by="ward", keys=WARDS, max_rows=3),
        "quantile": t.quantile("age", [0.1, 0.5], clip=(0, 100), bins=100, max_rows=3),
        "vector": t.vector_mean(["age", "cost"], clip_norm=300, max_rows=3),
        "unknown": t.histogram("ward", max_rows=3),
        "sparse": t.histogram("age", keys=IntegerRange(0, 2**40), max_rows=3),
    }


KINDS = list(
    queries_of(ln.table(pd.DataFrame({"person": [1], "ward": ["x"], "age": [1], "cost": [1.0]}), unit="person"))
)
