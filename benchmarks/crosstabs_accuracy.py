"""The error of sets of tables beside other libraries': by published figures, and measured at equal privacy.

**Published.** Root mean squared error of a cell at mu = 1, which no data enter: of ResidualPlanner, whose marginals are
optimal, so that a tie is the best there is, and of HDMM for cumulative sums of one column.

**Measured.** One row a person, (epsilon, 1e-6), all tables of at most two columns but the total, which OpenDP does not
publish. Every library does its own accounting: OpenDP converts from zCDP, whose noise is larger for the same promise.
It gives all tables the same share. Private-PGM (mbi) gets independent tables of equal shares from exact accounting.
Both fit a model, which needs the whole table over all columns, so that there are few of these. (OpenDP's search for the
noise of the 120 tables of all 15 columns of adult had taken two minutes of processor, and was ended.) "pooled" is the
root mean squared error over all cells, "mean" the mean of the tables' own, each a mean over draws.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crosstabs_denoising as denoising
import numpy as np
import peers
from findings import Findings, Headline, Seconds, Table

import leastnoise as ln
from leastnoise.denoise._tables import denoise_tables
from leastnoise.workload.residuals import table_of_blocks

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
HDMM = {128: 2.312}  # cumulative sums of one column of so many keys
SURVEYS = {"adult": denoising.SEVEN, "salary": ("annual-salary", "pay-rate", "system", "overtime-earning")}
DRAWS = 10
DELTA = 1e-6
OURS = "ours, denoised"
Row = dict[str, Any]
Found = Callable[[tuple[str, ...]], Any]


def run(*, toy: bool = False) -> Findings:
    marginals, cumulative = _marginals(toy), _cumulative()
    heads = [
        Headline(f"{row['tables']}: RMSE over {peer}'s, published", float(row["ours"]) / float(row[peer]), most=1.0)
        for peer, rows in (("ResidualPlanner", marginals), ("HDMM", cumulative))
        for row in rows
    ]
    findings: Findings = [
        *heads,
        Table("crosstabs_marginals", "RMSE of marginals at mu = 1, beside published figures:", marginals),
        Table("crosstabs_cumulative", "RMSE of cumulative sums at mu = 1, beside published figures:", cumulative),
    ]
    found, missing = peers.present(*PEERS)
    if toy or (denoising.DATA / "many_tables").is_dir():
        rows = [row for case in _cases(toy) for row in _measured(*case, found, 2 if toy else DRAWS)]
        heads = [h for h in map(_headline, rows) if h]
        findings += [*heads, Table("crosstabs_accuracy", "Error a cell at equal privacy:", rows, missing=missing)]
    else:
        findings.append("The tables are not there (set LEASTNOISE_DATA), so no error was measured.")
    return findings


def _marginals(toy: bool) -> list[Row]:
    return [
        {
            "tables": f"{name}, {ways}",
            "ResidualPlanner": f"{published:.3f}",
            "ours": f"{ln.workload.Workload(_sizes(domain), ways=WAYS[ways]).optimize(mu=1, weights='cells').rmse:.3f}",
        }
        for name, domain in list(DOMAINS.items())[slice(1, 2) if toy else slice(None)]
        for ways, published in zip(WAYS, RESIDUAL_PLANNER[name], strict=True)
    ]


def _sizes(domain: tuple[int, ...]) -> dict[str, int]:
    return {f"c{i}": n for i, n in enumerate(domain)}


def _cumulative() -> list[Row]:
    return [
        {
            "tables": f"cumulative sums of {n:,} keys",
            "HDMM": f"{published:.3f}",
            "ours": f"{ln.workload.prefix_strategy(n).rmse:.3f}",
        }
        for n, published in HDMM.items()
    ]


def _cases(toy: bool) -> list[tuple[Any, Any]]:
    """Sets of tables, and the rows."""
    if toy:
        rows, sizes = denoising._made_up(), {"a": 4, "b": 3, "c": 2}
        return [(denoising._survey("made up", rows, sizes, 2, 1.0), rows)]
    found = []
    for epsilon in (1.0, 0.1):
        for name, columns in SURVEYS.items():
            rows, sizes = denoising._read(name)
            kept = {c: sizes[c] for c in columns}
            found.append((denoising._survey(f"{name}, {len(kept)} columns", rows, kept, 2, epsilon), rows))
    return found


def _measured(case: Any, rows: Any, found: dict[str, Any], draws: int) -> list[Row]:
    case = case._replace(tables=[t for t in case.tables if t])
    makers: dict[str, Callable[[int], dict[str, tuple[Found, float]]]] = {"ours": lambda seed: _ours(case, seed)}
    if "opendp_mbi" in found:
        makers["OpenDP"] = lambda seed: _opendp(case, rows, found["opendp_mbi"])
    if "mbi" in found:
        makers["mbi"] = lambda seed: _mbi(case, seed, found["mbi"])
    lines: list[Row] = []
    for name, make in makers.items():
        count = draws if name == "ours" else 1  # their noise is known, and a model takes minutes
        seen: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(count):
            for what, (tables, seconds) in make(seed).items():
                seen.setdefault(what, []).append((*case.errors(case.squares(tables)), seconds))
        for what, values in seen.items():
            pooled, mean, _ = np.mean(values, axis=0).tolist()
            lines.append(
                {
                    "tables": case.name,
                    "epsilon": case.epsilon,
                    "what": what,
                    "pooled": pooled,
                    "mean": mean,
                    "draws": count,
                    "seconds": Seconds(np.median([v[2] for v in values])),
                }
            )
    best = next(line for line in lines if line["what"] == OURS)
    for line in lines:
        line["pooled / ours"] = line["pooled"] / best["pooled"]
        line["mean / ours"] = line["mean"] / best["mean"]
        print(line, flush=True)
    return lines


def _ours(case: Any, seed: int) -> dict[str, tuple[Found, float]]:
    noisy = case.noisy(seed)
    begin = time.process_time()
    made = denoise_tables(noisy, case.strategy.variances, case.sizes, case.tables)
    seconds = time.process_time() - begin
    return {
        "ours, as released": (lambda t: table_of_blocks(noisy, t, case.sizes), math.nan),
        OURS: (made.table, seconds),
    }


def _opendp(case: Any, rows: Any, peer: Any) -> dict[str, tuple[Found, float]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        _write(rows, list(case.sizes), path)
        # Noise is of its own making: a new answer every time, so the arguments differ by the path alone.
        lap = peer("tables", path=str(path), sizes=case.sizes, columns=case.tables, epsilon=case.epsilon, delta=DELTA)
    names = {"published": "OpenDP, as released", "model": "OpenDP, its model"}
    made = {}
    for kind, tables in lap.result.items():
        arrays = {t: np.array(values) for t, values in zip(case.tables, tables, strict=True)}
        made[names[kind]] = (arrays.__getitem__, lap.processor if kind == "model" else math.nan)
    return made


def _write(rows: Any, columns: list[str], path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({c: rows[c] for c in columns}), path)


def _mbi(case: Any, seed: int, peer: Any) -> dict[str, tuple[Found, float]]:
    rng = np.random.default_rng([seed, 99])
    std = math.sqrt(len(case.tables)) / case.strategy.mu
    noisy = [(case.truth[t] + std * rng.standard_normal(np.shape(case.truth[t]))).tolist() for t in case.tables]
    lap = peer("tables", sizes=case.sizes, columns=case.tables, noisy=noisy, std=std, iterations=denoising.ITERATIONS)
    arrays = {t: np.array(values) for t, values in zip(case.tables, lap.result, strict=True)}
    return {"Private-PGM (mbi)": (arrays.__getitem__, lap.processor)}


def _headline(row: Row) -> Headline | None:
    if row["what"].startswith("ours"):
        return None
    what = f"{row['tables']}, epsilon {row['epsilon']:g}: error of {row['what']} over ours, denoised"
    return Headline(f"{what}; pooled", row["pooled / ours"], least=1)
