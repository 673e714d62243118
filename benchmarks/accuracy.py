"""How much error every denoiser leaves on real data: RMSE over that of the raw values, under both laws.

Junctions of Manhattan (pick-ups, a kernel-smoothed daily density) on their street graph, eight histograms of 4,096
bins on a path, five of 256 x 256 on a grid. Under Laplace noise b = 10 the errors stand beside those that DAWA and
AGrid were measured to make at equal privacy. Everything is read from the data folder (LEASTNOISE_DATA); `accuracy.csv`
gets a row for each figure. Knobs of neighbour_bayes and auto were settled on other truths: drop-offs, other days of the
density, county populations, the made-up city, durations and places of rides in bins, and made-up paths.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import leastnoise as ln
from leastnoise.denoise.arrays import Noise
from leastnoise.graphs import Graph

DATA = Path(os.environ.get("LEASTNOISE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
DRAWS = int(os.environ.get("DRAWS", "3"))
MAP_SIGMAS, HISTOGRAM_SIGMAS = (40.29, 9.44, 2.0), (36.3, 4.2247, 362.0)
LAWS: tuple[Noise, ...] = ("gaussian", "laplace")
PEERS = {  # RMSE in counts at epsilon = 0.1, pure; one run each
    "ADULT": 2.35, "MDSALARY": 7.25, "HEPTH": 21.8, "INCOME": 17.9, "MEDCOST": 2.96, "LC-REQ-F2": 8.21,
    "SEARCHLOGS": 11.18, "BIDS-FJ": 27.0, "ADULT-2D": 3.54, "LOAN": 7.91, "STROKE": 3.37, "SF-CABS-S": 5.63,
    "GOWALLA": 14.3,
}  # fmt: skip


class Truth(NamedTuple):
    name: str
    values: np.ndarray[Any, Any]
    graph: Graph
    kind: str  # "map" or "histogram"


METHODS: dict[str, Callable[[Any, float, Graph, Noise], Any]] = {
    "james_stein": lambda y, s, g, n: ln.denoise.james_stein(y, s, noise=n),
    "soft_threshold": lambda y, s, g, n: ln.denoise.soft_threshold(y, s, noise=n),
    "empirical_bayes": lambda y, s, g, n: ln.denoise.empirical_bayes(y, s, support="nonnegative", noise=n),
    "tree_wavelet": lambda y, s, g, n: ln.denoise.tree_wavelet(y, s, graph=g, noise=n),
    "fused_lasso": lambda y, s, g, n: ln.denoise.fused_lasso(y, s, graph=g, noise=n),
    "laplacian": lambda y, s, g, n: ln.denoise.laplacian(y, s, graph=g, noise=n),
    "neighbour_bayes": lambda y, s, g, n: ln.denoise.neighbour_bayes(y, s, graph=g, support="nonnegative", noise=n),
    "neighbour_bayes, departures": lambda y, s, g, n: ln.denoise.neighbour_bayes(
        y, s, graph=g, prior="departures", support="nonnegative", noise=n
    ),
    "auto, no graph": lambda y, s, g, n: ln.denoise.auto(y, s, nonnegative=True, noise=n),
    "auto": lambda y, s, g, n: ln.denoise.auto(y, s, graph=g, nonnegative=True, noise=n),
}


def run() -> list[str]:
    if not DATA.is_dir():
        return ["The real data are not there (set LEASTNOISE_DATA), so no errors were measured."]
    truths = list(real())
    rows = [row for noise in LAWS for truth in truths for row in measured(truth, noise)]
    rows += [row for truth in truths if truth.name in PEERS for row in against_peers(truth)]
    with (Path(__file__).parent / "accuracy.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("truth", "noise", "sigma", "method", "rmse", "rmse_over_raw", "draws"), *rows])
    lines: list[str] = []
    for noise in LAWS:
        lines += [*maps(rows, noise), "", *histograms(rows, noise), ""]
    return [*lines, *peers(rows)]


def real() -> Iterator[Truth]:
    import pyarrow.parquet as pq

    taxi = DATA / "taxi"
    edges = pq.read_table(taxi / "edges.parquet", columns=["u", "v"])
    counts = pq.read_table(taxi / "junction_counts.parquet")
    streets = Graph.from_edges(len(counts), np.stack([np.array(edges["u"]), np.array(edges["v"])], axis=1))
    yield Truth("pick-ups", np.array(counts["pickup_2013_01_01_00h"], dtype=float), streets, "map")
    days = pq.read_table(taxi / "density_2011-10_daily.parquet").to_pandas()
    day = days[days["date"] == "2011-10-05"]
    density = np.zeros(streets.size)
    density[day["node"]] = day["density"]
    yield Truth("density", density, streets, "map")
    for name, x in np.load(DATA / "dpbench" / "histograms.npz").items():
        yield Truth(name, x.ravel().astype(float), Graph.grid(x.shape), "histogram")


def drawn(size: int, sigma: float, noise: Noise, seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    return sigma * rng.standard_normal(size) if noise == "gaussian" else rng.laplace(0, sigma / math.sqrt(2), size)


def left(truth: Truth, sigma: float, noise: Noise, name: str, draws: int) -> float:
    """RMSE, the mean over draws."""
    seen = []
    for seed in range(draws):
        y = truth.values + drawn(truth.values.size, sigma, noise, seed)
        made = y if name == "raw" else METHODS[name](y, sigma, truth.graph, noise).values
        seen.append(math.sqrt(float(np.mean((made - truth.values) ** 2))))
    return float(np.mean(seen))


Row = tuple[str, str, float, str, float, float, int]


def measured(truth: Truth, noise: Noise) -> Iterator[Row]:
    for sigma in MAP_SIGMAS if truth.kind == "map" else HISTOGRAM_SIGMAS:
        raw = left(truth, sigma, noise, "raw", DRAWS)
        yield truth.name, noise, sigma, "raw", raw, 1.0, DRAWS
        for name in METHODS:
            rmse = left(truth, sigma, noise, name, DRAWS)
            yield truth.name, noise, sigma, name, rmse, rmse / raw, DRAWS
        print(truth.name, noise, sigma, f"{rmse / raw:.4f}", flush=True)


def against_peers(truth: Truth) -> Iterator[Row]:
    sigma = 10 * math.sqrt(2)
    for name in ("raw", "empirical_bayes", "auto"):
        rmse = left(truth, sigma, "laplace", name, DRAWS)
        yield truth.name, "laplace b=10", sigma, name, rmse, rmse / sigma, DRAWS


def maps(rows: list[Row], noise: Noise) -> list[str]:
    heads = [(truth, sigma) for truth in ("pick-ups", "density") for sigma in MAP_SIGMAS]
    lines = [f"RMSE on the streets of Manhattan, {noise} noise, mean of {DRAWS} draws", ""]
    lines += ["| method | " + " | ".join(f"{t}, sigma {s:g}" for t, s in heads) + " |", "|---" * (1 + len(heads)) + "|"]
    found = {row[:4]: row[4] for row in rows}
    for name in ("raw", *METHODS):
        lines.append(f"| {name} | " + " | ".join(f"{found[t, noise, s, name]:.3f}" for t, s in heads) + " |")
    return lines


def histograms(rows: list[Row], noise: Noise) -> list[str]:
    heads = " | ".join(f"sigma {sigma:g}: geo-mean | worst" for sigma in HISTOGRAM_SIGMAS)
    lines = [f"RMSE over raw on thirteen histograms, {noise} noise, mean of {DRAWS} draws", "", f"| method | {heads} |"]
    lines.append("|---" * (1 + 2 * len(HISTOGRAM_SIGMAS)) + "|")
    for name in METHODS:
        cells = []
        for sigma in HISTOGRAM_SIGMAS:
            seen = [row[5] for row in rows if row[0] in PEERS and row[1:4] == (noise, sigma, name)]
            cells += [f"{math.exp(np.mean(np.log(seen))):.4f}", f"{max(seen):.3f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def peers(rows: list[Row]) -> list[str]:
    lines = [f"RMSE in counts under Laplace noise b = 10 (epsilon = 0.1), mean of {DRAWS} draws", ""]
    lines += ["| histogram | DAWA or AGrid | empirical_bayes | auto with a graph |", "|---|---|---|---|"]
    found = {(row[0], row[3]): row[4] for row in rows if row[1] == "laplace b=10"}
    for name, peer in PEERS.items():
        lines.append(f"| {name} | {peer} | {found[name, 'empirical_bayes']:.2f} | {found[name, 'auto']:.2f} |")
    return lines


if __name__ == "__main__":
    print("\n".join(run()))
