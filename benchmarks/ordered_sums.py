"""Cumulative sums and ranges of ordered columns: the error of whole-number strategies beside published figures.

Root mean squared error at mu = 1, which no data enter. One column: HDMM, and a binary tree with least squares, as
published; `bound` is what no Gaussian linear mechanism is below. Sets of tables whose first columns are prefix sums:
HDMM and ResidualPlanner+ (RP+), as published. Seconds are of the first time: weights are not read from disk. Beyond
4,096 keys a set of tables has a closed form, whose loss is beside the best strategy of one column where that is known.
How often intervals hold: `interval_coverage`.
"""

from __future__ import annotations

import math
import os
import time

import interval_coverage
from crosstabs_accuracy import DOMAINS, WAYS
from findings import Findings, Headline, Seconds, Table

import leastnoise as ln

ORDERED = {"Adult": 5, "CPS": 2, "Loans": 4}
RP_PLUS = {
    "Adult": (5.081, 17.274, 45.223, 45.174),
    "CPS": (3.081, 5.823, 7.302, 7.570),
    "Loans": (4.681, 14.502, 34.168, 34.144),
}
HDMM = {
    "Adult": (5.648, 21.111, 60.025, 61.613),
    "CPS": (3.347, 6.625, 8.634, 8.623),
    "Loans": (5.127, 17.149, 42.938, 44.338),
}
COLUMNS = (("prefix", 128, 2.312, 2.810), ("prefix", 1024, 3.065, 3.686), ("ranges", 1024, 3.568, 4.654))
LARGE = (
    ("prefix", 4096, math.nan, math.nan),
    ("ranges", 4096, math.nan, math.nan),
    ("prefix", 16384, math.nan, math.nan),
)


def run(*, toy: bool = False) -> Findings:
    os.environ["LEASTNOISE_CACHE"] = "off"
    columns = [_column(*case) for case in ([("prefix", 16, math.nan, math.nan)] if toy else [*COLUMNS, *LARGE])]
    names = ["CPS"] if toy else list(DOMAINS)
    sets = [_set(name, ways) for name in names for ways in WAYS]
    coverage = interval_coverage.of_curves(40 if toy else interval_coverage.DRAWS)
    long = [("prefix", 5000)] if toy else [("prefix", 5000), ("ranges", 5000), ("prefix", 65_536), ("ranges", 65_536)]
    below = sum(row["ours"] < row["RP+"] for row in sets)
    return [
        Headline("sets with less error than RP+, of all", below / len(sets), least=11 / 12),
        Table("ordered_columns", "One column of ordered keys, RMSE at mu = 1:", columns),
        Table("ordered_sets", "Sets of tables, the first columns as prefix sums, RMSE at mu = 1:", sets),
        Table("ordered_long", "Very many keys in a set of one table, RMSE at mu = 1:", [_long(*case) for case in long]),
        Table("ordered_coverage", "Intervals of 95 %, 10,000 draws:", coverage),
    ]


def _column(kind: str, keys: int, hdmm: float, tree: float) -> dict[str, object]:
    begin = time.perf_counter()
    made = {"prefix": ln.workload.prefix_strategy, "ranges": ln.workload.range_strategy}[kind](keys)
    found = {"sums": kind, "keys": keys, "tree": tree, "HDMM": hdmm, "ours": made.rmse, "bound": math.sqrt(made.bound)}
    return {**found, "time": Seconds(time.perf_counter() - begin)}


def _long(kind: str, keys: int) -> dict[str, object]:
    begin = time.perf_counter()
    sums = {"cumulative" if kind == "prefix" else "ranges": ["key"]}
    ours = ln.workload.Workload({"key": keys}, tables=["key"], **sums).optimize().rmse
    spent = Seconds(time.perf_counter() - begin)
    one = {"prefix": ln.workload.prefix_strategy, "ranges": ln.workload.range_strategy}[kind](keys)
    return {"sums": kind, "keys": keys, "ours": ours, "bound": math.sqrt(one.bound), "time": spent}


def _set(name: str, ways: str) -> dict[str, object]:
    sizes = {f"column {i}": size for i, size in enumerate(DOMAINS[name])}
    begin = time.perf_counter()
    workload = ln.workload.Workload(sizes, ways=WAYS[ways], cumulative=list(sizes)[: ORDERED[name]])
    ours = workload.optimize(weights="cells").rmse
    place = list(WAYS).index(ways)
    spent = Seconds(time.perf_counter() - begin)
    return {
        "set": name,
        "tables": ways,
        "HDMM": HDMM[name][place],
        "RP+": RP_PLUS[name][place],
        "ours": ours,
        "time": spent,
    }
