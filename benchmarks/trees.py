"""Levels of a tree: what one number of each level has for an error, ours beside what people do by hand.

US counties (1 nation, 56 states, 3,234 counties) at mu = 1: counties added up; three tables with a third of mu^2 each;
the same with least squares along the tree; and ours. "mean" is the root of the mean variance of the three levels. Below
it no Gaussian noise on linear sums can be: (tr sqrt V)^2/n, V having the weights 1/(3 nodes) of each level (Li and
Miklau). Then the same promise, (1, 1e-6) outside a budget, with Gaussian and with Laplace noise: summed, in equal
shares, and ours. How often intervals hold (`interval_coverage`). And how long a tree of three million leaves takes,
beside counting its rows once by NumPy and adding them up level by level. Nothing was tuned.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import interval_coverage
import numpy as np
import pyarrow.parquet as pq
from findings import Findings, Headline, Table

import leastnoise as ln
from leastnoise.domain import Tree, TreeShape
from leastnoise.privacy.distributions import Laplace
from leastnoise.workload import TreeWorkload, laplace_tables, noise_options
from leastnoise.workload.tree_least_squares import TreeFit

DATA = Path(os.environ.get("LEASTNOISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
LEAVES, TRACTS, STATES = 3_000_000, 200_000, 50


def run(*, toy: bool = False) -> Findings:
    file = DATA / "tables" / "county_nodes.parquet"
    if not file.is_file():
        return ["The counties are not there (set LEASTNOISE_DATA), so no error was compared."]
    codes = pq.read_table(file, columns=["fips"])["fips"].to_pylist()
    tree = Tree.from_columns({"state": [code[:2] for code in codes], "county": codes}, "state", "county")
    rows, promised = _errors(tree), _promised(tree)
    ours, equal = rows[-2]["mean"], rows[2]["mean"]
    coverage = interval_coverage.of_nodes(tree, 40 if toy else interval_coverage.DRAWS)
    return [
        Headline("error of optimal levels over that of equal shares with least squares", ours / equal, most=1.0),
        Headline("error of optimal levels over what no Gaussian noise is below", ours / _bound(tree), most=1.03),
        Headline(
            "error of Laplace over Gaussian levels at (1, 1e-6)", promised[-1]["mean"] / promised[1]["mean"], most=0.6
        ),
        Table("trees_counties", "Standard deviation of one number at mu = 1, US counties.", rows),
        Table("trees_promise", "Standard deviation of one number at epsilon = 1, delta = 1e-6, US counties.", promised),
        Table("trees_coverage", "Intervals of 95 %, 10,000 draws, US counties.", coverage),
        Table("trees_speed", "A tree of many leaves, in seconds.", [_speed(toy)]),
    ]


def _errors(tree: Tree) -> list[dict[str, Any]]:
    sizes = dict(zip(tree.levels, tree.shape.sizes[1:], strict=True))
    workload = TreeWorkload(sizes, tables=[(), "state", "county"], levels=tree.levels, shape=tree.shape)
    best, worst = (workload.optimize(weights=weights) for weights in ("tables", "worst"))
    leaves = tree.shape.sizes
    return [
        _row("counties, added up", [leaves[-1] / size for size in leaves]),
        _row("equal shares", [3.0, 3.0, 3.0]),
        _row("equal shares, least squares", [float(v.mean()) for v in TreeFit(tree.shape, (1 / 3,) * 3).variances]),
        _row("ours, every table alike", best.table_variances.tolist()),
        _row("ours, the worst table", worst.table_variances.tolist()),
    ]


def _promised(tree: Tree) -> list[dict[str, Any]]:
    sizes = dict(zip(tree.levels, tree.shape.sizes[1:], strict=True))
    workload = TreeWorkload(sizes, tables=[(), "state", "county"], levels=tree.levels, shape=tree.shape)
    found = {option.method: option.errors for option in noise_options(workload, epsilon=1, delta=1e-6)}
    third, whole = (Laplace(scale, 1.0).std ** 2 for scale in (3.0, 1.0))
    leaves = tree.shape.sizes
    return [
        _row("Gaussian, counties added up", [ln.sigma(epsilon=1, delta=1e-6) ** 2 * leaves[-1] / n for n in leaves]),
        _row("Gaussian, ours", found["gaussian"].table_variances.tolist()),
        _row("Laplace, counties added up", [whole * leaves[-1] / size for size in leaves]),
        _row("Laplace, a third of epsilon each", [third] * 3),
        _row("Laplace, ours", found["laplace"].table_variances.tolist()),
    ]


def _row(name: str, variances: list[float]) -> dict[str, Any]:
    nation, state, county = (round(math.sqrt(each), 4) for each in variances)
    return {
        "how": name,
        "nation": nation,
        "state": state,
        "county": county,
        "mean": round(math.sqrt(sum(variances) / 3), 4),
    }


def _bound(tree: Tree) -> float:
    """The eigenvalues of V: w_3 within a state, and those of the states' own matrix."""
    k = tree.shape.children[1].astype(float)
    n = k.sum()
    w = 1 / 3, 1 / (3 * k.size), 1 / (3 * n)
    own = np.diag(w[2] + w[1] * k) + w[0] * np.sqrt(np.outer(k, k))
    return float((n - k.size) * math.sqrt(w[2]) + np.sqrt(np.linalg.eigvalsh(own)).sum()) / math.sqrt(n)


def _speed(toy: bool) -> dict[str, Any]:
    leaves, tracts = (3_000, 200) if toy else (LEAVES, TRACTS)
    tract = np.sort(np.random.default_rng(1).integers(0, tracts, leaves))
    places = {"state": tract // (tracts // STATES), "tract": tract, "leaf": np.arange(leaves)}
    began = time.perf_counter()
    tree = Tree.from_columns(places, "state", "tract", "leaf")
    made = time.perf_counter()
    sizes = dict(zip(tree.levels, tree.shape.sizes[1:], strict=True))
    workload = TreeWorkload(sizes, tables=[(), "state", "tract", "leaf"], levels=tree.levels, shape=tree.shape)
    best = workload.optimize()
    planned = time.perf_counter()
    noisy = {level: np.random.default_rng(level).normal(size=size) for level, size in enumerate(tree.shape.sizes)}
    fit = TreeFit(TreeShape(tree.shape.children), tuple((1 / best.block_variances).tolist()))
    fit.estimates({level: values for level, values in noisy.items() if fit.precisions[level]})
    solved = time.perf_counter()
    laplace = laplace_tables(workload, epsilon=1)
    shared = time.perf_counter()
    laplace.sum_half_widths("leaf", confidence=0.95)
    bounded = time.perf_counter()
    rows = np.random.default_rng(2).integers(0, leaves, 10 * leaves)
    begun = time.perf_counter()
    counts = np.bincount(rows, minlength=leaves)
    for level in range(2, -1, -1):
        tree.shape.sums(counts, level, of=3)
    counted = time.perf_counter()
    return {
        "leaves": leaves,
        "floor: ten rows a leaf counted and added up": round(counted - begun, 2),
        "tree from columns": round(made - began, 2),
        "division": round(planned - made, 2),
        "least squares": round(solved - planned, 2),
        "Laplace shares": round(shared - solved, 2),
        "Laplace intervals of all leaves": round(bounded - shared, 2),
        "gap": f"{best.gap:.1e}",
    }
