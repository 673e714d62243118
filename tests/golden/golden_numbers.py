"""What is computed without a table: calibration, plans, comparisons, composition, workloads and denoisers of arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import golden_queries
import leastnoise as ln
from golden_facts import attributes, facts, of_call

PROMISE: dict[str, Any] = {"epsilon": 0.5, "delta": 1e-6}
SIZES = {"age": 9, "sex": 2, "district": 5}
RESULT = ("mu", "rmse")
# A fixed noisy vector: a step, a slope and a peak, with a disturbance that repeats nowhere.
PLACES = np.arange(48)
TRUTH = np.where(PLACES < 16, 20.0, np.where(PLACES < 32, 20.0 + 2.0 * (PLACES - 16), 5.0))
WAVE = TRUTH + 4.0 * np.array([(place * place * 37 + place * 11) % 61 - 30 for place in range(48)]) / 17.0


def workload(mu: float = 0.5, weights: Any = "tables", **asked: Any) -> dict[str, Any]:
    """How accurate a set of tables can be."""
    found = ln.workload.Workload(SIZES, **asked).optimize(mu=mu, weights=weights)
    return attributes(found, RESULT)


def compared(*query: Any, **asked: Any) -> dict[str, Any]:
    """Every mechanism, without the sentences."""
    rows = ln.compare(*query, **asked).rows
    names = ("std", "half_width", "half_width_all", "budget_cost")
    return {row.mechanism: attributes(row, names) for row in rows}


def planned(**asked: Any) -> dict[str, Any]:
    return attributes(ln.plan(**asked), ("epsilon", "delta", "sigma", "std", "mechanism", "mu", "half_width", "error"))


def epsilon_of(*parts: Any) -> Any:
    """Of everything together, by the accountant."""
    total: Any = ln.compose(*parts, delta=1e-6)
    return total.epsilon


CALLS: dict[str, Callable[[], Any]] = {
    "sigma": lambda: ln.sigma(epsilon=1, delta=1e-6, sensitivity=5),
    "sigma of arrays": lambda: ln.sigma(epsilon=[0, 1e-4, 0.1, 1, 10, 100], delta=1e-6),
    "sigma of small deltas": lambda: ln.sigma(epsilon=1, delta=[1e-300, 1e-30, 0.5, 0.99]),
    "sigma of steps": lambda: ln.sigma(epsilon=1, delta=1e-6, steps=12),
    "epsilon": lambda: ln.epsilon(sigma=21.2, delta=1e-6, sensitivity=5),
    "epsilon of arrays": lambda: ln.epsilon(sigma=[0.1, 1, 10, 1000], delta=1e-6),
    "delta": lambda: ln.delta(sigma=21.2, epsilon=1, sensitivity=5),
    "delta of arrays": lambda: ln.delta(sigma=[0.1, 1, 10, 1000], epsilon=1),
    "plan": lambda: planned(error=10, bins=100, delta=1e-6, grid=1),
    "plan, laplace": lambda: planned(error=10, bins=5, delta=1e-6, l1_sensitivity=1),
    "plan, repeated": lambda: planned(error=10, delta=1e-6, repeats=12),
    "compare": lambda: compared(sensitivity=1, bins=100, **PROMISE),
    "compare, L1 known": lambda: compared(sensitivity=1, l1_sensitivity=1, **PROMISE),
    "compare, a histogram": lambda: compared(golden_queries.query("histogram"), **PROMISE),
    "compare, crosstabs": lambda: compared(golden_queries.query("crosstabs"), **PROMISE),
    "compare, quantiles": lambda: compared(golden_queries.query("quantiles"), **PROMISE),
    "compose, gaussian": lambda: {"guarantee": ln.compose(ln.GaussianDP(0.2), ln.GaussianDP(0.3))},
    "compose, pure": lambda: {"guarantee": ln.compose(ln.PureDP(0.2), ln.PureDP(0.3))},
    "compose, approximate": lambda: {"guarantee": ln.compose(ln.ApproxDP(0.2, 1e-7), ln.PureDP(0.3))},
    "compose, mixed": lambda: epsilon_of(ln.GaussianDP(0.2), ln.LaplaceDP(0.3)),
    "compose, laplace": lambda: epsilon_of(ln.LaplaceDP(0.1) * 12),
    "guarantee, gaussian at a delta": lambda: {"guarantee": ln.GaussianDP(0.3).to_approx(delta=1e-6)},
    "guarantee, pure as gaussian": lambda: {"guarantee": ln.PureDP(1).to_gaussian()},
    "guarantee, profile": lambda: ln.GaussianDP(0.3).profile([0, 0.5, 1]),
    "guarantee, trade-off": lambda: ln.GaussianDP(0.3).tradeoff([0.01, 0.05, 0.5]),
    "baseline, classical": lambda: ln.baselines.classical_sigma(**PROMISE),
    "baseline, zcdp": lambda: ln.baselines.zcdp_sigma(**PROMISE),
    "baseline, renyi": lambda: ln.baselines.renyi_sigma(**PROMISE),
    "baseline, laplace": lambda: ln.baselines.laplace_scale(epsilon=0.5, l1_sensitivity=3),
    "workload, two ways": lambda: workload(ways=2),
    "workload, three ways for cells": lambda: workload(ways=3, weights="cells"),
    "workload, worst": lambda: workload(ways=2, weights="worst"),
    "workload, named tables": lambda: workload(tables=[("age",), ("age", "sex"), ("district",)]),
    "workload, cumulative": lambda: workload(tables=[("age", "sex")], cumulative=["age"]),
    "workload, ranges": lambda: workload(tables=[("age",), ("age", "sex")], ranges=["age"]),
    "wrap": lambda: attributes(ln.wrap(WAVE, sigma=3.0), ("sigma", "std", "mechanism", "bins", "kind")),
}


def answer(name: str, _: Path) -> Any:
    return of_call(CALLS[name])


PATH = ln.graphs.Graph.path(48)
GRID = ln.graphs.Graph.grid((6, 8))
SUMS = np.kron(np.eye(4), np.ones(12))
DENOISERS: dict[str, Callable[[], Any]] = {
    "auto": lambda: ln.denoise.auto(WAVE, 4.0),
    "auto on a path": lambda: ln.denoise.auto(WAVE, 4.0, graph=PATH),
    "auto, laplace": lambda: ln.denoise.auto(WAVE, 4.0, mechanism="laplace", nonnegative=True),
    "consistent": lambda: ln.denoise.consistent(WAVE, 4.0, matrix=SUMS, totals=[240, 400, 350, 90]),
    "empirical_bayes": lambda: ln.denoise.empirical_bayes(WAVE, 4.0),
    "empirical_bayes, nonnegative": lambda: ln.denoise.empirical_bayes(WAVE, 4.0, support="nonnegative"),
    "fused_lasso": lambda: ln.denoise.fused_lasso(WAVE, 4.0, graph=GRID, penalty=6.0),
    "gaussian_prior": lambda: ln.denoise.gaussian_prior(WAVE, 4.0, prior_std=10, centre=20),
    "hard_threshold": lambda: ln.denoise.METHODS["hard_threshold"](WAVE, 4.0),
    "isotonic": lambda: ln.denoise.isotonic(WAVE[:32], 4.0),
    "james_stein": lambda: ln.denoise.james_stein(WAVE, 4.0),
    "james_stein toward the mean": lambda: ln.denoise.james_stein(WAVE, 4.0, toward="mean"),
    "laplacian": lambda: ln.denoise.laplacian(WAVE, 4.0, graph=GRID),
    "lp_ball": lambda: ln.denoise.lp_ball(WAVE, 4.0, p=1, radius=200),
    "lp_ball, infinity": lambda: ln.denoise.lp_ball(WAVE, 4.0, p=2, radius=100),
    "neighbour_bayes": lambda: ln.denoise.neighbour_bayes(WAVE, 4.0, graph=GRID),
    "project onto a ball": lambda: ln.denoise.project(WAVE, 4.0, onto="l1", radius=500),
    "project onto a simplex": lambda: ln.denoise.project(WAVE, 4.0, onto="simplex", total=1000),
    "soft_threshold": lambda: ln.denoise.soft_threshold(WAVE, 4.0, threshold="sure"),
    "tree_wavelet": lambda: ln.denoise.tree_wavelet(WAVE, 4.0, graph=GRID, trees=3, seed=5),
    "trend_filter": lambda: ln.denoise.trend_filter(WAVE, 4.0),
    "trend_filter on a grid": lambda: ln.denoise.trend_filter(WAVE, 4.0, graph=GRID, penalty=5.0),
    "wavelet": lambda: ln.denoise.wavelet(WAVE, 4.0),
}


def denoised(name: str, _: Path) -> Any:
    """An estimate's values, its error and its method."""
    try:
        made = DENOISERS[name]()
    except ln.errors.LeastnoiseError as problem:
        return {"refused": type(problem).__name__, "parameter": problem.parameter}
    return {"values": facts(np.ravel(made.values)), "rmse": facts(made.rmse), "method": made.method}
