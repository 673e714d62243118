"""The error of sets of tables beside other libraries': by published figures, and measured at equal privacy.

**Published.** Root mean squared error of a cell at mu = 1, which no data enter: of ResidualPlanner, whose marginals are
optimal, so that a tie is the best there is, and of HDMM for cumulative sums of one column.

**Measured.** One row per person, (epsilon, 1e-6), all tables of one or two columns (OpenDP does not publish the total).
Every library does its own accounting: OpenDP converts from zCDP, whose noise is larger for the same guarantee, and
gives all tables the same share. Private-PGM (mbi) gets independent tables of equal shares from exact accounting. Both
fit a model, which needs the whole table over all columns, so only a few columns are used. (OpenDP's search for the
noise of the 120 tables of all 15 columns of adult was stopped after two minutes.) "pooled" is the root mean squared
error over all cells, "mean" the mean of the tables' own, each a mean over draws.

The denoiser's prior, its regression on third columns and its rule for repeated measurements were chosen on adult and
titanic, on other draws. Nothing was tuned on salary.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import peers
from accuracy import DATA
from findings import Findings, Headline, Seconds, Table

import leastnoise as ln
from leastnoise.testing import seeded

PEERS = ("opendp_mbi", "mbi")
DOMAINS = {
    "Adult": (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2),
    "CPS": (50, 100, 7, 4, 2),
    "Loans": (101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15),
}
WAYS = {"1-way": (1,), "2-way": (2,), "3-way": (3,), "0-3-way": 3}
RESIDUAL_PLANNER = {
    "Adult": (3.047, 6.359, 10.515, 10.665),
    "CPS": (1.744, 2.035, 2.048, 2.276),
    "Loans": (2.875, 5.634, 8.702, 8.876),
}
HDMM = {128: 2.312}  # cumulative sums of one column of this many keys
SURVEYS = {
    "adult": ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "income>50K"),
    "salary": ("annual-salary", "pay-rate", "system", "overtime-earning"),
}
DRAWS = 10
EPSILON, DELTA = 1.0, 1e-6
ITERATIONS = 1000  # of Private-PGM, its default
OURS = "ours, denoised"
Row = dict[str, Any]
Columns = tuple[str, ...]
Found = Callable[[Columns], Any]


class Survey(NamedTuple):
    """People with one row each, columns of keys 0 to size - 1, and the tables that are asked."""

    name: str
    rows: dict[str, Any]
    sizes: dict[str, int]

    @property
    def tables(self) -> list[Columns]:
        return [columns for ways in (1, 2) for columns in combinations(self.sizes, ways)]

    def truth(self, columns: Columns) -> Any:
        shape = [self.sizes[column] for column in columns]
        cell = np.ravel_multi_index([self.rows[column] for column in columns], shape)
        return np.bincount(cell, minlength=math.prod(shape)).reshape(shape)

    def errors(self, found: Found) -> tuple[float, float]:
        """Pooled over all cells, and the mean of the tables' own."""
        squares = np.array(
            [np.mean((np.reshape(found(t), self.truth(t).shape) - self.truth(t)) ** 2) for t in self.tables]
        )
        cells = np.array([math.prod(self.sizes[column] for column in t) for t in self.tables])
        return math.sqrt(float(squares @ cells) / cells.sum()), float(np.sqrt(squares).mean())


def run(*, toy: bool = False) -> Findings:
    marginals, cumulative = _marginals(toy), _cumulative()
    heads = [
        Headline(
            f"RMSE over {peer}'s, published, the worst", max(float(r["ours"]) / float(r[peer]) for r in rows), most=1
        )
        for peer, rows in (("ResidualPlanner", marginals), ("HDMM", cumulative))
    ]
    findings: Findings = [
        *heads,
        Table("crosstabs_marginals", "RMSE of marginals at mu = 1, beside published figures:", marginals),
        Table("crosstabs_cumulative", "RMSE of cumulative sums at mu = 1, beside published figures:", cumulative),
    ]
    if not (toy or (DATA / "many_tables").is_dir()):
        return [*findings, "The tables are not there (set LEASTNOISE_DATA), so no error was measured."]
    found, missing = peers.present(*PEERS)
    surveys = [_made_up()] if toy else [survey(name) for name in SURVEYS]
    rows = [row for each in surveys for row in _measured(each, found, 2 if toy else DRAWS)]
    heads = [
        Headline(f"{row['tables']}: error of {row['what']} over ours, denoised; pooled", row["pooled / ours"], least=1)
        for row in rows
        if not row["what"].startswith("ours")
    ]
    title = f"Error of a cell at equal privacy, epsilon {EPSILON:g}:"
    return [*findings, *heads, Table("crosstabs_accuracy", title, rows, missing=missing)]


def _marginals(toy: bool) -> list[Row]:
    return [
        {
            "tables": f"{name}, {ways}",
            "ResidualPlanner": f"{published:.3f}",
            "ours": f"{planned(domain, ways):.3f}",
        }
        for name, domain in list(DOMAINS.items())[slice(1, 2) if toy else slice(None)]
        for ways, published in zip(WAYS, RESIDUAL_PLANNER[name], strict=True)
    ]


def planned(domain: tuple[int, ...], ways: str) -> float:
    sizes = {f"c{place}": size for place, size in enumerate(domain)}
    return float(ln.workload.Workload(sizes, ways=WAYS[ways]).optimize(mu=1, weights="cells").rmse)


def _cumulative() -> list[Row]:
    return [
        {
            "tables": f"cumulative sums of {keys:,} keys",
            "HDMM": f"{published:.3f}",
            "ours": f"{ln.workload.prefix_strategy(keys).rmse:.3f}",
        }
        for keys, published in HDMM.items()
    ]


def survey(name: str) -> Survey:
    from pyarrow import parquet

    folder, columns = DATA / "many_tables", SURVEYS[name]
    sizes = json.loads((folder / "sizes.json").read_text())[name]
    read = parquet.read_table(folder / f"{name}.parquet", columns=list(columns))
    rows = {column: read[column].to_numpy().astype(np.int64) for column in columns}
    return Survey(f"{name}, {len(columns)} columns", rows, {column: sizes[column] for column in columns})


def _made_up() -> Survey:
    rng, sizes = np.random.default_rng(0), {"a": 4, "b": 3, "c": 2}
    return Survey("made up", {column: rng.integers(0, size, 500) for column, size in sizes.items()}, sizes)


def _measured(case: Survey, found: dict[str, Any], draws: int) -> list[Row]:
    makers: dict[str, Callable[[int], dict[str, tuple[Found, float]]]] = {"ours": lambda seed: ours(case, seed)}
    if "opendp_mbi" in found:
        makers["OpenDP"] = lambda seed: _opendp(case, found["opendp_mbi"])
    if "mbi" in found:
        makers["mbi"] = lambda seed: _mbi(case, seed, found["mbi"])
    lines: list[Row] = []
    for name, make in makers.items():
        count = draws if name == "ours" else 1  # their noise is known, and a model takes minutes
        measured: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(count):
            for what, (tables, seconds) in make(seed).items():
                measured.setdefault(what, []).append((*case.errors(tables), seconds))
        for what, values in measured.items():
            pooled, mean, _ = np.mean(values, axis=0).tolist()
            seconds = Seconds(np.median([v[2] for v in values]))
            facts = {"tables": case.name, "what": what, "pooled": pooled, "mean": mean}
            lines.append({**facts, "draws": count, "seconds": seconds})
    best = next(line for line in lines if line["what"] == OURS)
    return [{**line, "pooled / ours": line["pooled"] / best["pooled"]} for line in lines]


def ours(case: Survey, seed: int) -> dict[str, tuple[Found, float]]:
    import pyarrow as pa

    people = np.arange(len(next(iter(case.rows.values()))))
    table = ln.table(pa.table({**case.rows, "the person": people}), unit="the person")
    keys = {column: range(size) for column, size in case.sizes.items()}
    query = table.crosstabs(*case.tables, keys=keys, max_rows=1, other=False)
    with seeded(seed):
        release: Any = query.release(epsilon=EPSILON, delta=DELTA)
    begin = time.process_time()
    estimate = release.denoise()
    seconds = time.process_time() - begin
    return {
        "ours, as released": (lambda t: release[t].values, math.nan),
        OURS: (lambda t: estimate[t].values, seconds),
    }


def _opendp(case: Survey, peer: Any) -> dict[str, tuple[Found, float]]:
    import pyarrow as pa
    from pyarrow import parquet

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        parquet.write_table(pa.table(case.rows), path)
        # Noise is of its own making: a new answer every time, so the arguments differ by the path alone.
        lap = peer("tables", path=str(path), sizes=case.sizes, columns=case.tables, epsilon=EPSILON, delta=DELTA)
    names = {"published": "OpenDP, as released", "model": "OpenDP, its model"}
    made: dict[str, tuple[Found, float]] = {}
    for kind, tables in lap.result.items():
        arrays = {t: np.array(values) for t, values in zip(case.tables, tables, strict=True)}
        made[names[kind]] = (arrays.__getitem__, lap.processor if kind == "model" else math.nan)
    return made


def _mbi(case: Survey, seed: int, peer: Any) -> dict[str, tuple[Found, float]]:
    rng = np.random.default_rng([seed, 99])
    std = math.sqrt(len(case.tables)) * float(ln.sigma(epsilon=EPSILON, delta=DELTA))
    truths = [case.truth(t) for t in case.tables]
    noisy = [(truth + std * rng.standard_normal(truth.shape)).tolist() for truth in truths]
    lap = peer("tables", sizes=case.sizes, columns=case.tables, noisy=noisy, std=std, iterations=ITERATIONS)
    arrays = {t: np.array(values) for t, values in zip(case.tables, lap.result, strict=True)}
    return {"Private-PGM (mbi)": (arrays.__getitem__, lap.processor)}
