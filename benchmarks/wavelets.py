"""Would wavelets earn a place among the candidates of `auto`? On data that did not build them.

Their knobs (the scales of the prior, the filters) were settled on made-up signals alone: blocks, bumps, heavisine and
doppler of Donoho & Johnstone, steps, spikes, and nothing. Here they meet the truths of accuracy.py: eight histograms of
4,096 bins on a path, five of 256 x 256 on a grid, and five maps (where there are no wavelets, for streets are no
lattice). Each is measured alone, beside today's candidates on a graph, and `auto` is measured with and without it: the
same candidates, one or more added, mixed again. A newcomer earns its place where it lowers the geometric mean of the
error of `auto` and makes no truth worse. Everything is read from the data folder (LEASTNOISE_DATA).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from accuracy import COUNTY_SIGMAS, DATA, LAWS, MAP_SIGMAS, Truth, drawn, real
from findings import Findings, Headline, Table

from leastnoise import denoise
from leastnoise.denoise.arrays import Mechanism
from leastnoise.denoise.auto import candidates, on_graph
from leastnoise.graphs import Graph

SIGMAS = {"path": (36.3, 4.2247, 362.0), "grid": (36.3,), "map": MAP_SIGMAS}
DRAWS = {"path": 2, "grid": 1, "map": 2}
NEW = {
    "haar": denoise.wavelet,
}
ADDED = {
    "auto": (),
    "auto + haar": ("haar",),
}
Row = dict[str, Any]


def run(*, toy: bool = False) -> Findings:
    if not (toy or DATA.is_dir()):
        return ["The real data are not there (set LEASTNOISE_DATA), so no errors were measured."]
    truths = [Truth("toy", np.repeat([0.0, 40.0], 50), Graph.path(100), "path")] if toy else list(real())
    rows = [row for truth in truths for job in jobs(truth, toy) for row in measured(truth, *job)]
    every = Table("wavelets", "Every truth, noise and method:", rows, folded=True)
    if toy:
        return [every]
    return [*_headlines(rows), *(_summary(rows, noise) for noise in LAWS), every]


def jobs(truth: Truth, toy: bool) -> Iterator[tuple[Mechanism, float, int]]:
    levels = COUNTY_SIGMAS if truth.name == "counties" else SIGMAS[truth.kind]
    for noise in LAWS:
        yield from ((noise, sigma, 1 if toy else DRAWS[truth.kind]) for sigma in levels)


def measured(truth: Truth, noise: Mechanism, sigma: float, draws: int) -> list[Row]:
    left: dict[str, list[float]] = {}
    told: dict[str, list[float]] = {}
    for seed in range(draws):
        y = truth.values + drawn(truth.values.size, sigma, noise, seed)
        known = {"nonnegative": True, "mechanism": noise}
        today = candidates(y, sigma, **known) | on_graph(y, sigma, truth.graph, **known)
        today.pop("wavelet", None)  # should it be one of them, `auto` is measured without it all the same
        new = {
            name: rule(y, sigma, graph=truth.graph, mechanism=noise)
            for name, rule in NEW.items()
            if truth.kind != "map"
        }
        mix = partial(denoise.aggregate, y, sigma, simplest="constant", nonnegative=True, mechanism=noise)
        made = today | new
        for name, added in ADDED.items():
            if all(one in new for one in added):
                made[name] = mix(today | {one: new[one] for one in added})
        for name, estimate in made.items():
            left.setdefault(name, []).append(math.sqrt(float(np.mean((estimate.values - truth.values) ** 2))))
            told.setdefault(name, []).append(estimate.rmse or math.nan)
    means = {name: float(np.mean(seen)) for name, seen in left.items()}
    print(
        f"{truth.name}, {noise}, {sigma:g}: {means['auto'] / sigma:.4f} of raw, all added {_last(means):.4f}",
        flush=True,
    )
    return [
        {
            "truth": truth.name,
            "kind": truth.kind,
            "noise": noise,
            "sigma": sigma,
            "method": name,
            "RMSE": mean,
            "its own figure": float(np.mean(told[name])),
            "over auto": mean / means["auto"],
            "over raw": mean / sigma,
            "standard error over auto": _error(left[name], left["auto"]),
            "draws": draws,
        }
        for name, mean in means.items()
    ]


def _last(means: dict[str, float]) -> float:
    return means.get("auto + haar", means["auto"]) / means["auto"]


def _error(one: list[float], other: list[float]) -> float:
    """Of the mean ratio, the draws being the same."""
    ratios = np.array(one) / np.array(other)
    return float(ratios.std(ddof=1)) / math.sqrt(ratios.size) if ratios.size > 1 else math.nan


def _headlines(rows: list[Row]) -> Iterator[Headline]:
    for name in ADDED:
        for noise in LAWS:
            seen = [row["over auto"] for row in rows if (row["method"], row["noise"]) == (name, noise)]
            if name != "auto" and seen:
                what = f"error of {name} over that of auto, {noise} noise"
                yield Headline(f"{what}, geo-mean of {len(seen)}", _geometric_mean(seen))
                yield Headline(f"{what}, worst", max(seen))


def _summary(rows: list[Row], noise: Mechanism) -> Table:
    table = []
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for name in methods:
        line: Row = {"method": name}
        for kind in DRAWS:
            seen = [r for r in rows if (r["method"], r["noise"], r["kind"]) == (name, noise, kind)]
            worst = max(seen, key=lambda row: row["over auto"], default=None)
            line[f"{kind}s: over auto"] = _geometric_mean([row["over auto"] for row in seen])
            line[f"{kind}s: worst"] = worst["over auto"] if worst else math.nan
            line[f"{kind}s: which"] = f"{worst['truth']}, {worst['sigma']:g}" if worst else "–"
        table.append(line)
    title = (
        f"Error over that of `auto` as it is, {noise} noise; geometric means over truths and noise levels, and worst:"
    )
    note = f"Draws: {', '.join(f'{kind} {count}' for kind, count in DRAWS.items())}."
    return Table(f"wavelets_{noise}", title, table, note)


def _geometric_mean(values: list[float]) -> float:
    return math.exp(float(np.mean(np.log(values)))) if values else math.nan
