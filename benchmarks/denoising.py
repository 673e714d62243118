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
from stopwatch import human, interleave

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


def run() -> list[str]:
    lines = _speed()
    path = DATA / "dpbench" / "histograms.npz"
    if not path.is_file():
        return [*lines, "", "The histograms are not there (set LEASTNOISE_DATA), so no errors were measured."]
    histograms = {name: x.ravel().astype(float) for name, x in np.load(path).items()}
    for noise in LAWS:
        lines += ["", *_table(histograms, noise)]
    return lines


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


def _table(histograms: dict[str, np.ndarray[Any, Any]], noise: Noise) -> list[str]:
    heads = " | ".join(f"sigma {sigma:g}: geo-mean | worst" for sigma in SIGMAS)
    lines = [
        f"RMSE / sigma on {len(histograms)} real histograms, {noise} noise, mean of {DRAWS} draws",
        "",
        f"| method | {heads} |",
        "|---" * (1 + 2 * len(SIGMAS)) + "|",
    ]
    for name, method in METHODS.items():
        cells = []
        for sigma in SIGMAS:
            seen = errors(histograms, method, sigma, noise, DRAWS)
            cells += [f"{geometric_mean(seen):.4f}", f"{max(seen.values()):.3f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _speed() -> list[str]:
    """A histogram of many zeros and a heavy tail, as real ones are."""
    rng = np.random.default_rng(1)
    truth = np.where(rng.random(1_000_000) < 0.6, 0.0, rng.pareto(1.2, 1_000_000) * 10)
    y = truth + drawn(truth.size, 36.3, "gaussian", 1)
    lap = truth + drawn(truth.size, 36.3, "laplace", 1)
    ruler = np.linspace(-1, 1, 10_000_000)
    bayes = ln.denoise.empirical_bayes
    contestants: dict[str, Callable[[], object]] = {
        "np.exp over 1e8 doubles": lambda: [np.exp(ruler) for _ in range(10)],
        "empirical_bayes, d = 1e6": lambda: bayes(y, 36.3, support="nonnegative"),
        "empirical_bayes, d = 1e6, with its risk": lambda: bayes(y, 36.3, support="nonnegative").risk,
        "empirical_bayes, d = 1e6, Laplace": lambda: bayes(lap, 36.3, support="nonnegative", noise="laplace"),
        "empirical_bayes, d = 1e4": lambda: bayes(y[:10_000], 36.3, support="nonnegative"),
        "auto, d = 1e6": lambda: ln.denoise.auto(y, 36.3, nonnegative=True),
        "auto, d = 1e4": lambda: ln.denoise.auto(y[:10_000], 36.3, nonnegative=True),
    }
    seen = interleave(contestants, rounds=3)
    unit = seen["np.exp over 1e8 doubles"][0]
    lines = ["| what | times np.exp over 1e8 doubles | time | spread |", "|---|---|---|---|"]
    for name, (median, spread) in seen.items():
        lines.append(f"| {name} | {median / unit:.3g} | {human(median)} | {human(spread)} |")
    return lines


if __name__ == "__main__":
    print("\n".join(run()))
