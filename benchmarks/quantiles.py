"""Quantiles: what "auto" takes beside every mechanism, beside a plain histogram, and beside other libraries.

Errors are of values: the root mean square over draws and levels of (published - true)/spread, the spread being that
between the true 25 % and 75 % quantiles (or 1 where those are equal), over real columns of a census. "plain" is a flat
histogram of 1,000 steps (or as many as are asked for) with the lesser of Laplace and Gaussian noise. One row a person;
(epsilon, 1e-6). "regret" is the error of "auto" over that of the best mechanism of the case.

What was tuned on what: the share for intervals (a quarter), the number of steps (2^20) and the weights of round numbers
after looking at one column of flight delays; that quantiles drawn by rank have 2^20 steps even where fewer are asked,
after looking at the cases that are here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import peers
from findings import Findings, Headline, Table

import leastnoise as ln
from leastnoise import testing
from leastnoise.curator.queries.quantile import Quantile
from leastnoise.curator.request import PrivacyRequest
from leastnoise.releases.quantile import QuantileRelease

DATA = Path(os.environ.get("LEASTNOISE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
COLUMNS = {"age": (0, 120), "fnlwgt": (0, 2_000_000), "hours_per_week": (0, 100)}
LEVELS = {"median": [0.5], "90 %": [0.9], "3": [0.1, 0.5, 0.9], "9": [i / 10 for i in range(1, 10)],
          "19": [i / 20 for i in range(1, 20)]}  # fmt: skip
DRAWS = 8
Row = dict[str, Any]


def run(*, toy: bool = False) -> Findings:
    if toy:
        people = pd.DataFrame({"age": np.random.default_rng(1).integers(17, 90, 300)})
        cases = [(people, "age", (0, 120), 300, 1.0, "3", 20)]
    elif (DATA / "tables" / "adult.parquet").is_file():
        people = pd.read_parquet(DATA / "tables" / "adult.parquet", columns=list(COLUMNS))
        cases = [
            (people, column, clip, rows, epsilon, levels, bins)
            for column, clip in COLUMNS.items()
            for rows in (2_000, len(people))
            for epsilon in (0.1, 1.0)
            for levels in LEVELS
            for bins in (None, 50)
        ]
    else:
        return ["The census is not there (set LEASTNOISE_DATA), so no quantile was compared."]
    found = [_case(*case, draws=2 if toy else DRAWS) for case in cases]
    # Two errors of a few draws differ by chance: 1.3 times is within it for one case, so regrets are judged together.
    regrets, gains = ([row[name] for row in found] for name in ("regret", "plain over auto"))
    tables: Findings = [
        Headline('"auto" over the best mechanism, geometric mean over the cases', _mean(regrets), most=1.1),
        Headline("a plain histogram over auto, geometric mean over the cases", _mean(gains), least=1.0),
        Table("quantiles", "Errors in spreads of the column:", found),
    ]
    return tables if toy else [*tables, *_beside(people)]


def _mean(ratios: list[float]) -> float:
    return math.exp(float(np.mean(np.log(ratios))))


def _case(
    people: pd.DataFrame, column: str, clip: Any, rows: int, epsilon: float, levels: str, bins: int | None, draws: int
) -> Row:
    values = people[column].sample(rows, random_state=1).to_numpy()
    table = ln.table(pd.DataFrame({"who": np.arange(rows), column: values}), unit="who")
    query = table.quantile(column, LEVELS[levels], clip=clip, bins=bins, max_rows=1)
    assert isinstance(query, Quantile)
    truth = np.quantile(values, LEVELS[levels], method="inverted_cdf")
    spread = float(np.subtract(*np.quantile(values, [0.75, 0.25]))) or 1.0
    made: Row = {"column": column, "rows": rows, "epsilon": epsilon, "levels": levels, "bins": bins or "any"}
    for name in ("exponential", "gaussian", "laplace", "plain", "auto"):
        draw = _drawer(query, name, epsilon)
        with testing.seeded(7):
            off = [(np.ravel(draw().values) - truth) / spread for _ in range(draws)]
        made[name] = float(np.sqrt(np.mean(np.square(off))))
    made["chosen"] = query.expect(epsilon=epsilon, delta=1e-6).mechanism
    least = max(1e-3, min(made[name] for name in ("exponential", "gaussian", "laplace")))
    made["regret"] = max(made["auto"], 1e-3) / least
    made["plain over auto"] = max(made["plain"], 1e-3) / max(made["auto"], 1e-3)
    return made


def _drawer(query: Quantile, mechanism: str, epsilon: float) -> Callable[[], QuantileRelease]:
    """Releases of one question, whose rows are read once."""
    facts: Any = {
        "id": "0" * 16,
        "unit": "who",
        "limits": {},
        "left_out": (),
        "query": "",
        "table": "",
        "strength": None,
    }
    asked: Any = {"epsilon": epsilon, "delta": 1e-6, "mechanisms": Quantile.mechanisms}
    if mechanism == "plain":
        counted = query.histogram
        exact, chosen = testing.aggregate(counted), counted._charge(PrivacyRequest(**asked)).noise
        return lambda: counted._draw_counts(chosen, False, exact, facts)
    decided = query._decide(PrivacyRequest(mechanism=mechanism, **asked))  # type: ignore[arg-type]
    exact = testing.aggregate(decided.reads or query)
    return lambda: decided.draw(exact, facts)  # type: ignore[return-value]


def _beside(people: pd.DataFrame) -> Findings:
    """OpenDP's quantile (exponential mechanism over given candidates) and PipelineDP's (a noisy tree)."""
    found, missing = peers.present("opendp", "pipeline_dp")
    rows = []
    for column, clip in COLUMNS.items():
        values = people[column].to_numpy(dtype=float)
        for level in (0.5, 0.9):
            truth = float(np.quantile(values, level, method="inverted_cdf"))
            for epsilon in (0.1, 1.0):
                made: Row = {"column": column, "level": level, "epsilon": epsilon, "true": truth}
                table = ln.table(pd.DataFrame({"who": np.arange(len(values)), column: values}), unit="who")
                for name, intervals in (("ours", True), ("ours, no intervals", False)):
                    query = table.quantile(column, level, clip=clip, intervals=intervals, max_rows=1)
                    draw = _drawer(query, "auto", epsilon)  # type: ignore[arg-type]
                    with testing.seeded(3):
                        made[name] = _rmse([draw().values[0] for _ in range(20)], truth)
                for name, peer in found.items():
                    asked = {"values": values.tolist(), "clip": clip, "level": level, "epsilon": epsilon, "draws": 20}
                    try:
                        made[name] = _rmse(peer("quantile", **asked).result, truth)
                    except peers.Failed as why:
                        made[name] = str(why)[:60]
                rows.append(made)
    lines = [f"Not asked: {name} ({why})." for name, why in missing.items()]
    return [Table("quantiles_beside", "Root mean squared errors over 20 draws, all rows of the census:", rows), *lines]


def _rmse(drawn: list[float], truth: float) -> float:
    return float(np.sqrt(np.mean((np.array(drawn) - truth) ** 2)))
