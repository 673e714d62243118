"""How often what is said of an error holds: the upper limit of the RMSE, and intervals that cover a share of the bins.

`auto` on thirteen histograms without a graph, four maps of Manhattan and the made-up city on their streets, and flat,
spiked and smooth truths of few bins; four noise levels. "limit held" is how often the true RMSE was at most
`rmse_at_most(0.95)`; "covered" the share of bins within `interval(0.95)`, on average over the draws; "length" the mean
length of those intervals over that of the raw ones, both cut at zero. Intervals run the denoiser twice more, and are
asked for in the first of the draws only. Every truth and noise has draws of its own: where all shared theirs, three of
the first twenty, whose squares sum to 2 to 4 standard errors too little, made the limits of all of them fail at once.
Two choices looked at some of these: tr(J^2) <= 2 df at the truths of few bins, and that half of the risk went unused at
ten draws of the eight paths under Laplace noise; both noises now use it for a second limit.
"""

from __future__ import annotations

import math
import zlib
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from accuracy import DATA, drawn, real
from findings import Findings, Headline, Table

from leastnoise import datasets, denoise
from leastnoise.denoise.arrays import Mechanism
from leastnoise.graphs import Graph

SIGMAS = (4.2247, 36.3, 362.0, 3630.0)
FEW = (6, 20, 50, 1000)
DRAWS = {"map": 50, "path": 50, "grid": 50, "few": 50}
WITH_INTERVALS = {"map": 3, "path": 3, "grid": 3, "few": 50}  # of these draws
Row = dict[str, Any]


class Job(NamedTuple):
    name: str
    kind: str
    values: np.ndarray[Any, Any]
    graph: Graph | None
    sigma: float
    mechanism: Mechanism
    draws: int


def run(*, toy: bool = False) -> Findings:
    if not (toy or DATA.is_dir()):
        return ["The real data are not there (set LEASTNOISE_DATA), so no limits were checked."]
    todo = list(few_bins(20, 4)) if toy else [*few_bins(*FEW), *large()]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        rows = list(pool.map(partial(measured, toy=toy), todo))
    every = Table("error_limits", "Limits and intervals of estimates, every truth and noise level:", rows, folded=True)
    return [*_headlines(rows), *_summary(rows), every]


def few_bins(*sizes: int) -> list[Job]:
    """Truths in units of sigma, so that one sigma is enough."""
    found = []
    for size in sizes:
        truths = {
            "zeros": np.zeros(size),
            "constant": np.full(size, 10.0),
            "spike": np.r_[20.0, np.zeros(size - 1)],
            "every other": np.where(np.arange(size) % 2, 3.0, 0.0),
            "normal": np.abs(np.random.default_rng(1).standard_normal(size)) * 3,
            "ramp": np.linspace(0, 2 * math.sqrt(size), size),
        }
        for name, values in truths.items():
            for mechanism in ("gaussian", "laplace"):
                job = Job(f"{name}, {size} bins", "few", values, None, 1.0, mechanism, DRAWS["few"])  # type: ignore[arg-type]
                found.append(job)
    return found


def large() -> list[Job]:
    truths = [(t.name, t.kind, t.values, t.graph if t.kind == "map" else None) for t in real() if t.name != "counties"]
    town = datasets.city()
    truths.append(("made-up city", "map", np.rint(1e5 * town.busyness(20)), town.graph))
    return [
        Job(name, kind, values, graph, sigma, mechanism, DRAWS[kind])
        for name, kind, values, graph in truths
        for sigma in SIGMAS
        for mechanism in ("gaussian", "laplace")
    ]  # type: ignore[misc]


def measured(job: Job, *, toy: bool = False) -> Row:
    draws = 2 if toy else job.draws
    return averaged(job, [one_draw(job, k, intervals=k < WITH_INTERVALS[job.kind]) for k in range(draws)])


def one_draw(job: Job, number: int, *, intervals: bool) -> Row:
    near = {} if job.graph is None else {"graph": job.graph}
    seed = zlib.crc32(f"{job.name} {job.mechanism} {job.sigma:g} {number}".encode())
    y = job.values + drawn(job.values.size, job.sigma, job.mechanism, seed)
    made = denoise.auto(y, job.sigma, nonnegative=True, mechanism=job.mechanism, **near)
    error, limit = math.sqrt(float(np.mean((made.values - job.values) ** 2))), made.rmse_at_most(0.95).value
    found = {"RMSE / sigma": error / job.sigma, "limit / sigma": limit / job.sigma, "limit held": float(error <= limit)}
    if not intervals:
        return found
    low, high = made.interval(0.95)
    reach = made.distribution.half_width(0.95)
    raw = np.maximum(y + reach, 0) - np.maximum(y - reach, 0)
    covered = float(np.mean((low <= job.values) & (job.values <= high)))
    return found | {"covered": covered, "length / raw": float(np.mean(high - low) / np.mean(raw))}


def averaged(job: Job, seen: list[Row]) -> Row:
    whole = [row for row in seen if "covered" in row]
    named = {"truth": job.name, "kind": job.kind, "noise": job.mechanism, "sigma": job.sigma}
    counted = {"bins": job.values.size, "draws": len(seen), "draws with intervals": len(whole)}
    limits = {k: float(np.mean([row[k] for row in seen])) for k in ("RMSE / sigma", "limit / sigma", "limit held")}
    intervals = {k: float(np.mean([row[k] for row in whole])) for k in ("covered", "length / raw")}
    return named | counted | limits | intervals


def _headlines(rows: list[Row]) -> list[Headline]:
    limit, intervals = "limit of the RMSE (95 %) held", "intervals (95 % of the bins) covered"
    return [
        Headline(f"{limit}, all draws", _mean(rows, "limit held", "draws"), least=0.95),
        Headline(f"{limit}, the worst truth and noise", min(row["limit held"] for row in rows), least=0.9),
        Headline(f"{intervals}, all draws", _mean(rows, "covered", "draws with intervals"), least=0.95),
        Headline(f"{intervals}, the worst truth and noise", min(row["covered"] for row in rows)),
        Headline(f"{intervals}, the worst in standard errors below 95 %", max(map(_below, rows)), most=4.0),
    ]


def _below(row: Row) -> float:
    """By how many standard errors less than 95 % of the bins were covered, if each is with 95 % by itself; or 0.

    Raw intervals are, and they are given where none is shorter: half of such truths are counted below 95 %, the least
    of 200 about 2.8 standard errors below. Four below has a chance of 1 in 160 then.
    """
    return max((0.95 - row["covered"]) / math.sqrt(0.95 * 0.05 / (row["bins"] * row["draws with intervals"])), 0.0)


def _mean(rows: list[Row], column: str, counted: str) -> float:
    return float(np.average([row[column] for row in rows], weights=[row[counted] for row in rows]))


def _summary(rows: list[Row]) -> list[Table]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["kind"], row["noise"], row["sigma"]), []).append(row)
    lines = [
        {
            "truths": f"{len(part)} {kind}",
            "noise": noise,
            "sigma": sigma,
            "draws each": part[0]["draws"],
            "with intervals": part[0]["draws with intervals"],
            "limit held": float(np.mean([row["limit held"] for row in part])),
            "worst": min(row["limit held"] for row in part),
            "covered": float(np.mean([row["covered"] for row in part])),
            "worst ": min(row["covered"] for row in part),
            "length / raw": float(np.mean([row["length / raw"] for row in part])),
        }
        for (kind, noise, sigma), part in groups.items()
    ]
    return [Table("error_limits_summary", "How often limits and intervals of `auto` held:", lines)]
