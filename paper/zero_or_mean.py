"""What no rule can do that sees the mean of a noisy map and must answer one value for all of it.

In standard errors of the mean let the truth have the mean f, and be spread around it with variance s f^2. With noise
n ~ N(0, 1) a rule c errs in square, on average over the bins, by s f^2 + E (c(f + n) - f)^2, zeros by (s + 1) f^2, the
mean itself by s f^2 + 1. For weights w of several f, and with best(f) the less of the last two,

    max over f of the ratio to best(f)  >=  min over c of  sum_f w_f (s f^2 + E (c(f + n) - f)^2) / best(f),

whatever the weights, and the minimum is at a posterior mean. Weights that make the right side large are found by
raising those of the f with the largest ratios.
"""

from __future__ import annotations

import numpy as np

STEP = 0.05
MEANS = np.arange(-6, 18, STEP)


def least_worst(f: np.ndarray, spread: float, steps: int = 2000) -> float:
    """A lower bound for the worst ratio of every rule over the means f, which it may know."""
    chances = np.exp(-((MEANS - f[:, None]) ** 2) / 2) * (STEP / np.sqrt(2 * np.pi))
    best = spread * f**2 + np.minimum(f**2, 1)
    weights, bound = np.full(f.size, 1 / f.size), 0.0
    for step in range(steps):
        share = weights / best
        rule = (share * f) @ chances / np.maximum(share @ chances, 1e-300)
        ratios = (spread * f**2 + ((rule - f[:, None]) ** 2 * chances).sum(axis=1)) / best
        bound = max(bound, float(weights @ ratios))
        weights = weights * np.exp((ratios - ratios.max()) / np.sqrt(1 + step / 200))
        weights /= weights.sum()
    return bound


def on_map(truth: np.ndarray, stds: list[float]) -> float:
    """The bound for a map under noise of several standard deviations; means beyond ten standard errors are clear."""
    f = truth.mean() * np.sqrt(truth.size) / np.array(stds)
    return least_worst(f[f < 10], float(truth.var() / truth.mean() ** 2))
