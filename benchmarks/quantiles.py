"""Quantiles: what "auto" takes beside every mechanism, beside a plain histogram, and beside other libraries.

Errors are of values: the root mean square over draws and levels of (published - true)/spread, the spread being that
between the true 25 % and 75 % quantiles (or 1 where those are equal), over real columns. "plain" is a flat histogram of
1,000 steps (or as many as are asked for) with Laplace noise. One row a person; (epsilon, 1e-6). "told" is "auto" with
expected_rows = the number of rows, "told thrice" with three times as many. "regret" is the error of any of them over
that of the best mechanism of the case, with the steps that suit it with and without that number.

What was tuned on what: the share for intervals (a quarter), the number of steps (2^20) and the weights of round numbers
after looking at one column of flight delays; what "auto" compares by (0.3 of a step, tails as long as the rows are
wide, tables of 1,000 to 100,000 rows, 128 and 1,000 steps) on the columns marked tuned and on seven others of the same
files. The columns marked judged were looked at here for the first time. What "auto" makes of expected_rows is the same
rule at that number; but histograms of 32 steps were let in after looking at these very cases, all columns of them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import peers
from findings import Findings, Headline, Seconds, Table
from quantile_draws import Drawer
from stopwatch import lap

import leastnoise as ln
from leastnoise.curator.queries.quantile import Quantile
from leastnoise.curator.request import PrivacyRequest

DATA = Path(os.environ.get("LEASTNOISE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
CENSUS = {"age": (0, 120), "fnlwgt": (0, 2_000_000), "hours_per_week": (0, 100)}
TUNED = ("age", "fnlwgt", "INCOME")
JUDGED = ("SEARCHLOGS", "BIDS-FJ")
LEVELS = {"median": [0.5], "90 %": [0.9], "3": [0.1, 0.5, 0.9], "9": [i / 10 for i in range(1, 10)],
          "19": [i / 20 for i in range(1, 20)]}  # fmt: skip
MECHANISMS = ("exponential", "gaussian", "laplace")
MOST_ROWS = 50_000
DRAWS, PEER_DRAWS = 40, 4
FLOOR = 1e-3  # errors below a thousandth of the spread count as this
Row = dict[str, Any]


def run(*, toy: bool = False) -> Findings:
    if toy:
        people = np.random.default_rng(1).integers(17, 90, 300)
        found = _cases("toy", people, (0, 120), 1.0, "3", draws=2)
        return [*_headlines(found), Table("quantiles", "Errors in spreads of the column:", found)]
    if not (DATA / "tables" / "adult.parquet").is_file():
        return ["The census is not there (set LEASTNOISE_DATA), so no quantile was compared."]
    found = []
    for name in (*TUNED, *JUDGED):
        values, clip = column(name)
        for rows in (2_000, len(values)):
            part = np.random.default_rng(1).choice(values, rows, replace=False) if rows < len(values) else values
            for epsilon in (0.1, 1.0):
                for levels in LEVELS:
                    found += _cases(name, part, clip, epsilon, levels, draws=DRAWS)
    table = Table("quantiles", "Errors in spreads of the column, case by case:", found, folded=True)
    return [*_headlines(found), _summary(found), table, *_beside()]


def column(name: str) -> tuple[Any, tuple[float, float]]:
    """A real column and a clip that somebody might choose for it."""
    if name in CENSUS:
        return pd.read_parquet(DATA / "tables" / "adult.parquet", columns=[name])[name].to_numpy(), CENSUS[name]
    values = np.repeat(np.arange(4096), np.load(DATA / "dpbench" / "histograms.npz")[name])
    few = len(values) <= MOST_ROWS
    return values if few else np.random.default_rng(2).choice(values, MOST_ROWS, replace=False), (0, 4096)


def _cases(name: str, values: Any, clip: tuple[float, float], epsilon: float, levels: str, *, draws: int) -> list[Row]:
    """Any number of steps, and 50 of them."""
    truth = np.quantile(values, LEVELS[levels], method="inverted_cdf")
    spread = float(np.subtract(*np.quantile(values, [0.75, 0.25]))) or 1.0

    def error(query: Quantile, mechanism: str) -> float:
        chosen = query._chosen(_request(mechanism, epsilon))
        drawn = (chosen.charge.noise.mechanism, chosen.steps, chosen.strategy is None)
        if drawn not in known:
            drawer = Drawer.of(query, chosen, values, seed=7)
            off = [(drawer.values() - truth) / spread for _ in range(draws)]
            known[drawn] = max(FLOOR, float(np.sqrt(np.mean(np.square(off)))))
        return known[drawn]

    found: list[Row] = []
    known: dict[Any, float] = {}
    for bins in (None, 50):
        unaware, aware, wrong = (
            _question(clip, LEVELS[levels], bins, expected) for expected in (None, len(values), 3 * len(values))
        )
        made: Row = {"column": name, "rows": len(values), "epsilon": epsilon, "levels": levels, "bins": bins or "any"}
        made |= {each: error(unaware, each) for each in MECHANISMS}
        best = min(*(made[each] for each in MECHANISMS), *(error(aware, each) for each in MECHANISMS))
        plain = error(_question(clip, LEVELS[levels], bins or 1000), "laplace")
        made |= {"plain": plain, "best": best, "chosen": _mechanism(unaware, epsilon), "auto": error(unaware, "auto")}
        made |= {"chosen, told": _mechanism(aware, epsilon), "told": error(aware, "auto")}
        made["told thrice"] = error(wrong, "auto")
        for how in ("auto", "told", "told thrice"):
            made |= {f"regret, {how}": made[how] / best, f"plain over {how}": plain / made[how]}
        found.append(made)
    return found


def _mechanism(query: Quantile, epsilon: float) -> str:
    return query._chosen(_request("auto", epsilon)).charge.noise.mechanism


def _question(
    clip: tuple[float, float], levels: Sequence[float], bins: int | None, expected: float | None = None
) -> Quantile:
    table = ln.table(pd.DataFrame({"who": [1], "x": [1.0]}), unit="who")
    query = table.quantile("x", levels, clip=clip, bins=bins, max_rows=1, expected_rows=expected)
    assert isinstance(query, Quantile)
    return query


def _request(mechanism: Any, epsilon: float) -> PrivacyRequest:
    return PrivacyRequest(epsilon=epsilon, delta=1e-6, mechanism=mechanism, mechanisms=Quantile.mechanisms)


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(float(np.mean(np.log(ratios))))


def _headlines(found: list[Row]) -> Findings:
    def over(name: str) -> float:
        return _mean([row[name] for row in found])

    without = over("regret, auto") / _mean(_without_rows(found))
    best, fair = "over the best mechanism, geometric mean over the cases", "over the best choice that cannot see rows"
    return [
        Headline(f'quantiles: "auto" that expects the rows there are, {best}', over("regret, told"), most=1.1),
        Headline(f'quantiles: "auto" that expects three times as many, {best}', over("regret, told thrice")),
        Headline(f'quantiles: "auto" that is told nothing, {best}', over("regret, auto"), most=1.1),
        Headline(f'quantiles: "auto" that is told nothing, {fair}', without, most=1.1),
        Headline(
            "quantiles: a plain histogram over auto, geometric mean over the cases", over("plain over auto"), least=1.0
        ),
    ]


def _summary(found: list[Row]) -> Table:
    """By column; and the best that a choice could do that does not know how many rows there are."""
    rows = []
    for name in ("all", "tuned", "judged", *TUNED, *JUDGED):
        own = {"all": TUNED + JUDGED, "tuned": TUNED, "judged": JUDGED}.get(name, (name,))
        for bins in ("any", 50):
            part = [row for row in found if row["column"] in own and row["bins"] == bins]
            made: Row = {"columns": name, "bins": bins, "cases": len(part)}
            for how in ("auto", "told"):
                regrets = [row[f"regret, {how}"] for row in part]
                gains = [row[f"plain over {how}"] for row in part]
                within = sum(each < 1.1 for each in regrets)
                made |= {how: _mean(regrets), f"{how}, within 10 %": within, f"{how}, largest": max(regrets)}
                made |= {f"plain over {how}": _mean(gains), f"{how}, worse than plain": sum(g < 1 / 1.1 for g in gains)}
            made["told thrice"] = _mean([row["regret, told thrice"] for row in part])
            made["best without rows"] = _mean(_without_rows(part))
            rows.append(made)
    return Table(
        "quantiles_summary",
        f'Errors over those of the best mechanism in hindsight, geometric mean, {DRAWS} draws a case; "auto" is told '
        'nothing, "told" expects the rows there are, "told thrice" three times as many:',
        rows,
        "Which is best depends on how many rows there are, and that is private: with 2,000 rows at epsilon 0.1 several "
        "levels want a histogram, with 50,000 the exponential mechanism. `best without rows` is what whoever knew all "
        "these errors would have, had they to choose by epsilon, levels and bins alone.",
    )


def _without_rows(part: list[Row]) -> list[float]:
    public: dict[Any, list[Row]] = {}
    for row in part:
        public.setdefault((row["epsilon"], row["levels"], row["bins"]), []).append(row)
    regrets = []
    for rows in public.values():
        of = {each: [row[each] / row["best"] for row in rows] for each in MECHANISMS}
        regrets += min(of.values(), key=_mean)
    return regrets


def _beside() -> Findings:
    """OpenDP's quantile (exponential mechanism over given candidates) and PipelineDP's (a noisy tree)."""
    found, missing = peers.present("opendp", "pipeline_dp")
    rows = []
    for name in ("age", "fnlwgt"):
        values, clip = column(name)
        for levels in ([0.5], [0.1, 0.5, 0.9]):
            truth = np.quantile(values, levels, method="inverted_cdf")
            for epsilon in (0.1, 1.0):
                made: Row = {"column": name, "levels": ", ".join(map(str, levels)), "epsilon": epsilon}
                table = ln.table(pd.DataFrame({"who": np.arange(len(values)), "x": values}), unit="who")
                times: Row = {}
                for label, intervals in (("ours", True), ("ours, no intervals", False)):
                    query = table.quantile("x", levels, clip=clip, intervals=intervals, max_rows=1)
                    seen = lap(partial(_released, query, epsilon))
                    made[label], times[f"{label}, time"] = _rmse(seen.result, truth), Seconds(seen.seconds / PEER_DRAWS)
                for label, peer in found.items():
                    asked = {"clip": clip, "levels": levels, "epsilon": epsilon, "draws": PEER_DRAWS}
                    try:
                        seen = peer("quantile", values=values.astype(float).tolist(), **asked)
                        made[label], times[f"{label}, time"] = (
                            _rmse(seen.result, truth),
                            Seconds(seen.seconds / PEER_DRAWS),
                        )
                    except peers.Failed as why:
                        made[label], times[f"{label}, time"] = str(why)[:60], math.nan
                rows.append(made | times)
    return [
        Table(
            "quantiles_beside",
            f"Beside other libraries, all {len(values):,} rows of the census, one row a person, root mean squared "
            f"errors of values over {PEER_DRAWS} draws:",
            rows,
            "(epsilon, 1e-6) for all; OpenDP spends no delta. It is given 1,001 candidates, and its levels share "
            "epsilon. PipelineDP's percentiles share one tree. The time is of one release, from rows in memory.",
            missing=missing,
        )
    ]


def _released(query: Any, epsilon: float) -> list[Any]:
    return [query.release(epsilon=epsilon, delta=1e-6).values for _ in range(PEER_DRAWS)]


def _rmse(drawn: Any, truth: Any) -> float:
    return float(np.sqrt(np.mean((np.array(drawn, dtype=float).reshape(-1, len(truth)) - truth) ** 2)))
