"""Denoising: error on real histograms under both laws, and the time of a million values.

The thirteen DPBench histograms are read from the data folder (LEASTNOISE_DATA); without it only times are measured.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from findings import Findings, Table, timings
from stopwatch import race

import leastnoise as ln
from leastnoise.denoise.arrays import Noise

DATA = Path(os.environ.get("LEASTNOISE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SIGMAS = (36.3, 4.2247, 362.0)
DRAWS = 5
LAWS: tuple[Noise, ...] = ("gaussian", "laplace")
METHODS: dict[str, Callable[..., Any]] = {
    "raw": lambda y, sigma, noise: ln.denoise.project(y, sigma, onto="linf", radius=1e300, noise=noise),
    "james_stein": ln.denoise.james_stein,
    "soft_threshold, universal (the paper's)": ln.denoise.soft_threshold,
    "soft_threshold, sure": lambda y, sigma, noise: ln.denoise.soft_threshold(y, sigma, threshold="sure", noise=noise),
    "empirical_bayes, non-negative": lambda y, sigma, noise: ln.denoise.empirical_bayes(
        y, sigma, support="nonnegative", noise=noise
    ),
    "auto, non-negative": lambda y, sigma, noise: ln.denoise.auto(y, sigma, nonnegative=True, noise=noise),
}


def run(*, toy: bool = False) -> Findings:
    findings = _speed(toy)
    path = DATA / "dpbench" / "histograms.npz"
    if not path.is_file():
        return [*findings, "The histograms are not there (set LEASTNOISE_DATA), so no errors were measured."]
    histograms = {name: x.ravel().astype(float) for name, x in np.load(path).items()}
    if toy:
        histograms = {"ADULT": histograms["ADULT"][:200]}
    return [*findings, *(_table(histograms, noise, 1 if toy else DRAWS) for noise in LAWS)]


def errors(
    histograms: dict[str, np.ndarray[Any, Any]], method: Callable[..., Any], sigma: float, noise: Noise, draws: int
) -> dict[str, float]:
    """RMSE / sigma of every histogram, the mean over noise draws."""
    seen = {}
    for name, x in histograms.items():
        off = []
        for seed in range(draws):
            y = x + drawn(x.size, sigma, noise, seed)
            off.append(math.sqrt(np.mean((method(y, sigma, noise=noise).values - x) ** 2)) / sigma)
        seen[name] = float(np.mean(off))
    return seen


def drawn(size: int, sigma: float, noise: Noise, seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    return sigma * rng.standard_normal(size) if noise == "gaussian" else rng.laplace(0, sigma / math.sqrt(2), size)


def geometric_mean(values: dict[str, float]) -> float:
    return math.exp(np.mean(np.log(list(values.values()))))


def _table(histograms: dict[str, np.ndarray[Any, Any]], noise: Noise, draws: int) -> Table:
    rows = []
    for name, method in METHODS.items():
        row: dict[str, Any] = {"method": name}
        for sigma in SIGMAS:
            seen = errors(histograms, method, sigma, noise, draws)
            row[f"sigma {sigma:g}: geo-mean"] = geometric_mean(seen)
            row[f"worst at {sigma:g}"] = max(seen.values())
        rows.append(row)
    title = f"RMSE / sigma on {len(histograms)} real histograms, {noise} noise, mean of {draws} draws:"
    return Table(f"denoising_{noise}", title, rows)


def _speed(toy: bool) -> Findings:
    """A histogram of many zeros and a heavy tail, as real ones are."""
    rng = np.random.default_rng(1)
    many, some = (1000, 100) if toy else (1_000_000, 10_000)
    truth = np.where(rng.random(many) < 0.6, 0.0, rng.pareto(1.2, many) * 10)
    y = truth + drawn(truth.size, 36.3, "gaussian", 1)
    lap = truth + drawn(truth.size, 36.3, "laplace", 1)
    ruler = np.linspace(-1, 1, 10 * many)
    bayes = ln.denoise.empirical_bayes
    reference = f"np.exp over {100 * many:.0e} doubles"
    contestants: dict[str, Callable[[], object]] = {
        reference: lambda: [np.exp(ruler) for _ in range(10)],
        f"empirical_bayes, d = {many:.0e}": lambda: bayes(y, 36.3, support="nonnegative"),
        f"empirical_bayes, d = {many:.0e}, with its risk": lambda: bayes(y, 36.3, support="nonnegative").risk,
        f"empirical_bayes, d = {many:.0e}, Laplace": lambda: bayes(lap, 36.3, support="nonnegative", noise="laplace"),
        f"empirical_bayes, d = {some:.0e}": lambda: bayes(y[:some], 36.3, support="nonnegative"),
        f"auto, d = {many:.0e}": lambda: ln.denoise.auto(y, 36.3, nonnegative=True),
        f"auto, d = {some:.0e}": lambda: ln.denoise.auto(y[:some], 36.3, nonnegative=True),
    }
    seen = race(contestants, rounds=2 if toy else 5)
    return [Table("denoising_speed", "Many values:", timings(seen, reference=reference))]
