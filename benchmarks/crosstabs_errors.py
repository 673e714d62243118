"""Whether the errors that denoised sets of tables tell of themselves are true.

Over draws of the noise: `rmse` over the true error of the set, and how often `rmse_at_most(0.95)` holds, for the set
and for each of its tables. Below, a few tables each under Laplace noise, which is the lesser for these: also whether
denoising makes any of them worse than the unbiased tables ("worst excess": the largest mean squared error of a table
above that of the unbiased one on the same draws, over the noise's variance, with its standard error).

What was tuned on what: how far the model of the truth is believed (MODEL_ERROR of `denoise/_tables/risk.py`) after
looking at adult and salary, at most two columns, on the draws that are here; nothing on people, on three columns or
under Laplace noise.
"""

from __future__ import annotations

import math
from typing import Any

import crosstabs_denoising as denoising
import numpy as np
from findings import Findings, Headline, Table

import leastnoise as ln
from leastnoise import datasets, testing
from leastnoise.curator import tables_mechanism
from leastnoise.curator.request import PrivacyRequest
from leastnoise.denoise._tables import denoise_tables

DRAWS, DRAWS_OF_MANY, MANY = 10, 4, 1_000_000  # fewer of a million cells and more
SETS = (("adult", 2), ("salary", 2), ("people", 2), ("people", 3), ("adult", 3))
FEW = (
    ("district",),
    ("district", ("district", "sex")),
    (("district", "sex"), ("age", "sex"), ("job", "sex")),
    (("age", "job"),),
    (("district", "age", "job"),),
)
Row = dict[str, Any]


def run(*, toy: bool = False) -> Findings:
    if toy:
        cases = [denoising._survey("made up", denoising._made_up(), {"a": 4, "b": 3, "c": 2}, 2, 1.0)]
    elif (denoising.DATA / "many_tables").is_dir():
        cases = [
            denoising._survey(name, *_read(name), ways, epsilon)
            for name, ways in SETS
            for epsilon in ((0.1,) if ways == 3 else (1.0, 0.1))
        ]
    else:
        return ["The tables are not there (set LEASTNOISE_DATA), so no error was compared."]
    sets = [_of_set(case, 2 if toy else None) for case in cases]
    few = [
        _of_few(tables, epsilon, 2 if toy else 2 * DRAWS)
        for tables in FEW[: 1 if toy else None]
        for epsilon in (1.0, 0.1)
    ]
    held = sum(row["limits held"] * row["draws"] for row in sets) / sum(row["draws"] for row in sets)
    tables = float(np.mean([row["limits of tables held"] for row in [*sets, *few]]))
    return [
        Headline("limits of 95 % of denoised sets that hold", held, least=0.95),
        Headline("limits of 95 % of their tables that hold", tables, least=0.95),
        Headline(
            "worst excess of a denoised table, Laplace noise", max(0.0, *(r["worst excess"] for r in few)), most=0.02
        ),
        Table("crosstabs_errors", "What denoised sets of tables tell of their errors, Gaussian noise:", sets),
        Table("crosstabs_errors_laplace", "A few tables of people, Laplace noise:", few),
    ]


def _read(name: str) -> tuple[dict[str, Any], dict[str, int]]:
    return _people() if name == "people" else denoising._read(name)


def _people() -> tuple[dict[str, Any], dict[str, int]]:
    frame, keys = datasets.people(), datasets.people_keys()
    axes = {column: ln.domain.axis(given) for column, given in keys.items()}
    rows = {c: np.array([axis.index(key) for key in frame[c].to_pylist()]) for c, axis in axes.items()}
    return rows, {column: axis.size for column, axis in axes.items()}


def _of_set(case: denoising.Survey, draws: int | None) -> Row:
    cells = sum(case.truth[t].size for t in case.tables)
    draws = draws or (DRAWS_OF_MANY if cells > MANY else DRAWS)
    told, limits, held, by_table = [], [], [], []
    for seed in range(draws):
        made = denoise_tables(case.noisy(seed), case.strategy.variances, case.sizes, case.tables)
        squares = case.squares(made.table)
        true = case.errors(squares)[0]
        told.append(made.rmse() / true)
        limits.append(made.rmse_at_most(0.95).value / true)
        held += [math.sqrt(s) <= made.rmse_at_most(0.95, t).value for t, s in zip(case.tables, squares, strict=True)]
        by_table += [math.log(made.rmse(t) / math.sqrt(s)) for t, s in zip(case.tables, squares, strict=True)]
    row = {
        "tables": f"{case.name}, at most {case.ways} columns",
        "epsilon": case.epsilon,
        "draws": draws,
        "told / true": float(np.mean(told)),
        "least": min(told),
        "most": max(told),
        "limit / true": float(np.mean(limits)),
        "limits held": float(np.mean(np.array(limits) >= 1)),
        "limits of tables held": float(np.mean(held)),
        "a table's told / true, typical factor": math.exp(math.sqrt(float(np.mean(np.square(by_table))))),
    }
    print(row, flush=True)
    return row


def _of_few(tables: tuple[Any, ...], epsilon: float, draws: int) -> Row:
    keys = datasets.people_keys()
    people = ln.table(datasets.people(), unit="person")
    query: Any = people.crosstabs(*tables, keys=keys, max_rows=1, other=False)
    decided = query._decide(PrivacyRequest(epsilon=epsilon, delta=1e-6, mechanism="laplace"))
    reads, noise = decided.reads, decided.charge.noise
    counts = dict(zip(reads.counted, reads._counter().split(testing.aggregate(reads).values), strict=True))
    excess, told, held, gain = [], [], [], []
    for seed in range(draws):
        with testing.seeded(seed):
            release = tables_mechanism.publish(counts, noise, axes=query.axes, grid=query.grid)
        estimate, exact = release.denoise(), _exact(counts, query)
        pairs = [
            (_square(estimate[t].values, exact(t)), _square(release[t].values, exact(t)), release.std[t] ** 2)
            for t in release.tables
        ]
        excess.append([(mine - raw) / variance for mine, raw, variance in pairs])
        gain.append([mine / raw for mine, raw, _ in pairs])
        for table, (mine, _, _) in zip(release.tables, pairs, strict=True):
            told.append(math.log(estimate[table].rmse / math.sqrt(mine)))
            held.append(math.sqrt(mine) <= estimate[table].rmse_at_most(0.95).value)
    mean = np.mean(excess, axis=0)
    worst = int(np.argmax(mean))
    row = {
        "tables": ", ".join(t if isinstance(t, str) else " x ".join(t) for t in tables),
        "epsilon": epsilon,
        "draws": draws,
        "error over the unbiased tables'": float(np.mean(np.sqrt(np.mean(gain, axis=0)))),
        "worst excess": float(mean[worst]),
        "error": float(np.std(np.array(excess)[:, worst], ddof=1) / math.sqrt(draws)),
        "told / true": math.exp(float(np.mean(told))),
        "limits of tables held": float(np.mean(held)),
    }
    print(row, flush=True)
    return row


def _exact(counts: Any, query: Any) -> Any:
    def of(table: tuple[str, ...]) -> Any:
        whole = next(t for t in counts if set(table) <= set(t))
        array = np.asarray(counts[whole]).reshape([query.axes[c].size for c in whole])
        return array.sum(axis=tuple(i for i, c in enumerate(whole) if c not in table)).ravel()

    return of


def _square(values: Any, truth: Any) -> float:
    return float(np.mean((values - truth) ** 2))
