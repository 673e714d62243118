"""The aggregate on graphs: an exact programme, a graph that helps where it can and costs little where it cannot."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.denoise import auto
from leastnoise.denoise.aggregate import least_on_simplex
from leastnoise.graphs import Graph

pytestmark = pytest.mark.slow

laws = pytest.mark.parametrize("noise", ["gaussian", "laplace"])


def drawn(size: int, noise: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(size) if noise == "gaussian" else rng.laplace(0, math.sqrt(0.5), size)


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 15),
    rank=st.integers(1, 20),
    tilt=st.sampled_from([0.0, 0.01, 1.0, 100.0]),
    twins=st.sampled_from([None, 0.0, 1e-12, 1e-9, 1e-6]),
)
def test_the_mixture_is_the_least_of_all(seed: int, size: int, rank: int, tilt: float, twins: float | None) -> None:
    """At the minimum no corner promises anything, and those in use promise the same (Karush, Kuhn and Tucker)."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((size, rank)) * rng.exponential(1, (size, 1))
    if twins is not None:
        x[-1] = x[0] + twins * rng.standard_normal(rank)
    q, c = x @ x.T, tilt * rng.standard_normal(size)
    a = least_on_simplex(q, c)
    slope = q @ a + c
    scale = max(np.abs(q).max(), np.abs(c).max())
    assert (a >= 0).all()
    assert a.sum() == pytest.approx(1, abs=1e-12)
    assert slope.min() >= a @ slope - 1e-10 * scale
    assert np.allclose(slope[a > 1e-9], a @ slope, atol=1e-9 * scale)


@laws
@given(seed=st.integers(0, 2**20), kind=st.sampled_from(["nothing", "noise", "steps", "spikes", "wide"]))
@settings(max_examples=8)
def test_never_worse_than_raw(noise: Any, seed: int, kind: str) -> None:
    """By more than 1 % of the error, and what chance takes from 400 nodes (3 %)."""
    rng = np.random.default_rng(seed)
    truth = {
        "nothing": np.zeros(400),
        "noise": rng.normal(0, 20, 400),
        "steps": np.repeat(rng.normal(0, 8, 20), 20),
        "spikes": np.where(rng.random(400) < 0.1, 50.0, 0.0),
        "wide": rng.standard_cauchy(400) * 1000,
    }[kind]
    y = truth + drawn(400, noise, seed + 1)
    made = auto(y, 1.0, graph=Graph.grid((20, 20)), mechanism=noise)
    raw = math.sqrt(np.mean((y - truth) ** 2))
    assert math.sqrt(np.mean((made.values - truth) ** 2)) <= 1.04 * raw


@laws
def test_a_graph_helps_where_neighbours_are_alike(noise: Any) -> None:
    truth = np.repeat([0.0, 2.0, 1.0, 5.0], 250)
    y = truth + drawn(1000, noise, 3)
    near, alone = auto(y, 1.0, graph=Graph.path(1000), mechanism=noise), auto(y, 1.0, mechanism=noise)
    assert np.mean((near.values - truth) ** 2) < 0.2 * np.mean((alone.values - truth) ** 2)
    assert "fused_lasso" in near.explain()


@laws
def test_a_graph_that_says_nothing_costs_little(noise: Any) -> None:
    """The same values in random order: at most 3 % more error than without the graph."""
    rng = np.random.default_rng(4)
    truth = np.where(rng.random(4000) < 0.8, 0.0, rng.exponential(10, 4000))
    y = truth + drawn(4000, noise, 5)
    off = [auto(y, 1.0, graph=g, nonnegative=True, mechanism=noise).values - truth for g in (Graph.path(4000), None)]
    assert np.linalg.norm(off[0]) < 1.03 * np.linalg.norm(off[1])


def test_its_figure_is_honest_on_a_graph() -> None:
    """Over 25 draws within 0.03 sigma^2 + 6 standard errors (below 0.012) of the loss."""
    truth, graph = np.repeat([0.0, 6.0, 2.0], 200), Graph.path(600)
    off = []
    for seed in range(25):
        y = truth + drawn(600, "gaussian", 50 + seed)
        made = auto(y, 1.0, graph=graph)
        assert made.risk is not None
        off.append(made.risk - np.mean((made.values - truth) ** 2))
    error = np.std(off) / math.sqrt(len(off))
    assert error < 0.012
    assert abs(np.mean(off)) < 0.03 + 6 * error


@pytest.fixture(scope="module")
def histograms(data: Path) -> Any:
    return np.load(data / "dpbench" / "histograms.npz")


@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("MEDCOST", 2.96),
        ("SEARCHLOGS", 11.18),
        ("MDSALARY", 7.25),
        ("HEPTH", 21.8),
        ("INCOME", 17.9),
        ("BIDS-FJ", 27.0),
    ],
)
def test_less_error_than_dawa(histograms: Any, name: str, peer: float) -> None:
    """RMSE at epsilon = 0.1: Laplace noise of scale 10, and the order of the bins."""
    x = histograms[name].astype(float)
    y = x + 10 * math.sqrt(2) * drawn(x.size, "laplace", 7)
    made = auto(y, 10 * math.sqrt(2), graph=Graph.path(x.size), nonnegative=True, mechanism="laplace")
    assert math.sqrt(np.mean((made.values - x) ** 2)) < peer


def test_wavelets_take_part_on_paths_and_grids_under_gaussian_noise() -> None:
    y = np.repeat([0.0, 8.0], 20) + np.random.default_rng(1).standard_normal(40)
    star = Graph.from_edges(40, [(0, k) for k in range(1, 40)])
    tried = [
        set(auto(y, 1.0, graph=graph, mechanism=noise).parameters["errors"])
        for graph, noise in ((Graph.path(40), "gaussian"), (Graph.path(40), "laplace"), (star, "gaussian"))
    ]
    assert ["wavelet" in names for names in tried] == [True, False, False]
