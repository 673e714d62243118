"""What every denoiser on a graph must obey; unbiased risk by simulation; the real map.

Stein's figure is unbiased when the degrees of freedom are, on average, how much the rule follows the noise: n'(h - f)
for sigma = 1. The mean difference over N draws must be zero within six standard errors: a false alarm has a chance of
2e-9 a case. Seeds are fixed, so a pass stays a pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.denoise import fused_lasso, laplacian, tree_wavelet, trend_filter
from leastnoise.graphs import Graph
from leastnoise.releases.estimate import Estimate

Rule = Callable[..., Estimate]
RULES: dict[str, Rule] = {
    "tree_wavelet": tree_wavelet,
    "tree_wavelet_sure": lambda y, s, **o: tree_wavelet(y, s, threshold="sure", trees=2, **o),
    "fused_lasso": lambda y, s, **o: fused_lasso(y, s, orders=3, **o),
    "laplacian": laplacian,
}
FIXED: dict[str, tuple[Rule, tuple[str, ...]]] = {
    "tree_wavelet": (lambda y, s, **o: tree_wavelet(y, s, threshold=1.5, **o), ("gaussian", "laplace")),
    "trees": (lambda y, s, **o: tree_wavelet(y, s, threshold=1.5, trees=3, **o), ("gaussian", "laplace")),
    "fused_lasso": (lambda y, s, **o: fused_lasso(y, s, penalty=1.0, orders=3, **o), ("gaussian", "laplace")),
    "laplacian": (lambda y, s, **o: laplacian(y, s, penalty=0.7, **o), ("gaussian", "laplace")),
}
GRAPH = Graph.from_edges(30, [*Graph.grid((4, 7)).edges.tolist(), [28, 29]])
TRUTH = np.concatenate([np.zeros(14), np.full(7, 4.0), np.linspace(-3, 3, 9)])
rules = pytest.mark.parametrize("name", RULES)
noises = pytest.mark.parametrize("noise", ["gaussian", "laplace"])


def draw(rng: np.random.Generator, size: int, noise: str) -> Any:
    return rng.standard_normal(size) if noise == "gaussian" else rng.laplace(0, math.sqrt(0.5), size)


@rules
@noises
def test_units_and_a_constant_do_not_matter(name, noise):
    y = TRUTH + draw(np.random.default_rng(1), 30, noise)
    one = RULES[name](y, 1.0, graph=GRAPH, mechanism=noise)
    many = RULES[name](1024 * y, 1024.0, graph=GRAPH, mechanism=noise)
    moved = RULES[name](y + 100, 1.0, graph=GRAPH, mechanism=noise)
    assert np.allclose(many.values, 1024 * one.values, rtol=1e-6, atol=1e-6)
    assert np.allclose(moved.values, one.values + 100, rtol=1e-7)
    if one.risk is not None:
        assert many.risk == pytest.approx(1024**2 * one.risk, rel=1e-6)
        assert moved.risk == pytest.approx(one.risk, rel=1e-6)


@rules
def test_each_component_keeps_its_total(name):
    y = TRUTH + np.random.default_rng(2).standard_normal(30)
    made = RULES[name](y, 1.0, graph=GRAPH)
    assert np.bincount(GRAPH.components, made.values) == pytest.approx(np.bincount(GRAPH.components, y))


@rules
def test_arrays_keep_their_shape_and_the_seed_repeats(name):
    y = np.random.default_rng(3).normal(0, 3, (4, 5))
    made = RULES[name](y, 1.0, graph=Graph.grid((4, 5)))
    again = RULES[name](y.ravel().tolist(), 1.0, graph=Graph.grid((4, 5)))
    assert made.values.shape == made.noisy.shape == (4, 5)
    assert np.allclose(made.values.ravel(), again.values)
    assert made.method in ln.denoise.METHODS


@rules
def test_a_graph_of_another_size_is_refused(name):
    with pytest.raises(errors.InvalidParameter, match="31 nodes, and there are 30 values"):
        RULES[name](TRUTH, 1.0, graph=Graph.path(31))
    with pytest.raises(errors.WrongType, match="Graph"):
        RULES[name](TRUTH, 1.0, graph=[(0, 1)])


@pytest.mark.parametrize("rule", [fused_lasso, laplacian, trend_filter])
@pytest.mark.parametrize("penalty", ["best", -1])
def test_a_penalty_is_a_number_from_zero_or_sure(rule, penalty):
    with pytest.raises(errors.InvalidParameter):
        rule(TRUTH, 1.0, graph=GRAPH, penalty=penalty)


@rules
def test_one_value_is_kept(name):
    assert RULES[name]([7.0], 1.0, graph=Graph.path(1)).values.tolist() == [7.0]


def excess(rule: Rule, truth: Any, noise: str, draws: int) -> tuple[float, float]:
    """The stated degrees of freedom minus those that were spent, and the standard error."""
    rng = np.random.default_rng(7)
    seen = np.empty(draws)
    for k in range(draws):
        off = draw(rng, 30, noise)
        made = rule(truth + off, 1.0, graph=GRAPH, mechanism=noise)
        seen[k] = made.degrees_of_freedom - off @ (made.values - truth)
    return float(seen.mean()), float(seen.std() / math.sqrt(draws))


@pytest.mark.parametrize(("name", "noise"), [(name, noise) for name, (_, noises) in FIXED.items() for noise in noises])
def test_stein_s_identity(name, noise):
    """Two of the fifteen or so degrees of freedom that the rules spend would be seen."""
    mean, error = excess(FIXED[name][0], TRUTH, noise, 1000)
    assert 6 * error < 2
    assert abs(mean) < 6 * error


@pytest.mark.parametrize(
    ("name", "noise", "draws"),
    [
        ("tree_wavelet_sure", "gaussian", 500),
        ("fused_lasso", "gaussian", 500),
        ("fused_lasso", "laplace", 1200),
        ("laplacian", "gaussian", 500),
    ],
)
def test_choosing_is_counted_to_within_a_degree_of_freedom(name, noise, draws):
    """Where all is noise, and choosing costs most. The fused lasso's two would be missed."""
    mean, error = excess(RULES[name], np.zeros(30), noise, draws)
    assert error < 0.15
    assert abs(mean) < 1 + 6 * error


@pytest.mark.parametrize("name", FIXED)
def test_degrees_of_freedom_are_the_divergence(name):
    y = TRUTH + np.random.default_rng(8).standard_normal(30)
    rule = FIXED[name][0]
    slope = 0.0
    for i in range(30):
        step = np.where(np.arange(30) == i, 1e-6, 0.0)
        slope += (rule(y + step, 1.0, graph=GRAPH).values[i] - rule(y - step, 1.0, graph=GRAPH).values[i]) / 2e-6
    assert rule(y, 1.0, graph=GRAPH).degrees_of_freedom == pytest.approx(slope, abs=1e-5)


MAP: dict[str, tuple[Rule, dict[float, float]]] = {
    "trend_filter": (trend_filter, {40.29: 9.09, 9.44: 5.57}),
    "tree_wavelet": (tree_wavelet, {40.29: 10.03, 9.44: 8.53}),
    "fused_lasso": (lambda y, s, **o: fused_lasso(y, s, orders=30, **o), {40.29: 8.77, 9.44: 5.42}),
    "laplacian": (laplacian, {40.29: 8.84}),
}


@pytest.mark.parametrize("name", MAP)
def test_errors_on_the_real_map(name, data):
    """Mean error of four draws, within two per cent of what was published for twenty (draws differ by two)."""
    graph = Graph.from_parquet(data / "taxi" / "nodes.parquet", data / "taxi" / "edges.parquet")
    truth = pd.read_parquet(data / "taxi" / "junction_counts.parquet")["pickup_2013_01_01_00h"].to_numpy(float)
    rule, known = MAP[name]
    for sigma, rmse in known.items():
        seen = []
        for seed in range(4):
            y = truth + np.random.default_rng(seed).normal(0, sigma, truth.size)
            seen.append(math.sqrt(np.mean((rule(y, sigma, graph=graph).values - truth) ** 2)))
        assert np.mean(seen) < 1.02 * rmse
