"""Many vectors at once: every denoiser along an axis is itself on each vector, and an array is never taken for one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.denoise import (
    Estimates,
    aggregate,
    auto,
    consistent,
    empirical_bayes,
    fused_lasso,
    gaussian_prior,
    hard_threshold,
    isotonic,
    james_stein,
    laplacian,
    lp_ball,
    neighbour_bayes,
    posterior_mean,
    project,
    soft_threshold,
    tree_wavelet,
    trend_filter,
)
from leastnoise.graphs import Graph
from leastnoise.releases.estimate import Estimate

SIZE = 24
GRAPH = Graph.path(SIZE)
CENTRE = np.linspace(-1, 1, SIZE)
RULES: dict[str, Callable[..., Any]] = {
    "james_stein": james_stein,
    "james_stein_mean": lambda y, s, **o: james_stein(y, s, toward="mean", **o),
    "james_stein_centre": lambda y, s, **o: james_stein(y, s, toward=CENTRE, **o),
    "james_stein_plain": lambda y, s, **o: james_stein(y, s, positive_part=False, **o),
    "soft_universal": soft_threshold,
    "soft_sure": lambda y, s, **o: soft_threshold(y, s, threshold="sure", **o),
    "soft_given": lambda y, s, **o: soft_threshold(y, s, threshold=0.8, **o),
    "hard": hard_threshold,
    "empirical_bayes": empirical_bayes,
    "gaussian_prior": lambda y, s, **o: gaussian_prior(y, s, prior_std=2.0, centre=CENTRE, **o),
    "posterior_mean": lambda y, s, **o: posterior_mean(y, s, log_density=lambda f: -np.abs(f), **o),
    "lp_ball": lambda y, s, **o: lp_ball(y, s, p=1, radius=5.0, **o),
    "simplex": lambda y, s, **o: project(y, s, onto="simplex", total=9.0, **o),
    "consistent": lambda y, s, **o: consistent(y, s, matrix=np.ones((1, SIZE)), totals=3.0, **o),
    "isotonic": isotonic,
    "auto": auto,
    "auto_on_graph": lambda y, s, **o: auto(y, s, graph=GRAPH, **o),
    "trend_filter": lambda y, s, **o: trend_filter(y, s, graph=GRAPH, **o),
    "fused_lasso": lambda y, s, **o: fused_lasso(y, s, graph=GRAPH, orders=2, **o),
    "tree_wavelet": lambda y, s, **o: tree_wavelet(y, s, graph=GRAPH, **o),
    "laplacian": lambda y, s, **o: laplacian(y, s, graph=GRAPH, **o),
    "neighbour_bayes": lambda y, s, **o: neighbour_bayes(y, s, graph=GRAPH, **o),
}
BY_ROW = ("james_stein", "james_stein_centre", "soft_universal", "soft_sure", "soft_given", "hard")
Y = np.random.default_rng(1).standard_normal((2, 3, SIZE)) + 3 * (np.arange(SIZE) > 18)
laws = pytest.mark.parametrize("noise", ["gaussian", "laplace"])


def same(one: float | None, figure: float) -> bool:
    return bool(np.isnan(figure)) if one is None else one == pytest.approx(figure, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", RULES)
@laws
def test_every_vector_along_an_axis_is_denoised_as_if_alone(name: str, noise: Any) -> None:
    y = Y if noise == "gaussian" else Y[:, :1]
    found = RULES[name](np.moveaxis(y, 2, 1), 0.7, axis=1, mechanism=noise)
    assert isinstance(found, Estimates)
    assert (found.shape, found.axis, found.values.shape) == (y.shape[:2], (1,), np.moveaxis(y, 2, 1).shape)
    for place in np.ndindex(y.shape[:2]):
        alone = RULES[name](y[place], 0.7, mechanism=noise)
        assert np.allclose(np.moveaxis(found.values, 1, 2)[place], alone.values, rtol=1e-12, atol=1e-12)
        assert same(alone.risk, found.risk[place])
        assert same(alone.sure, found.sure[place])
        assert same(alone.degrees_of_freedom, found.degrees_of_freedom[place])
        row = found[place]
        assert isinstance(row, Estimate)
        assert np.allclose(row.values, alone.values, rtol=1e-12, atol=1e-12)
    assert sum(1 for _ in found) == y.shape[0] * y.shape[1]


@pytest.mark.parametrize("name", BY_ROW)
@laws
def test_each_row_may_have_a_sigma_of_its_own_and_each_bin(name: str, noise: Any) -> None:
    y, rng = Y[0], np.random.default_rng(2)
    for sigma in (np.array([[0.5], [1.0], [2.0]]), rng.uniform(0.3, 2, SIZE), rng.uniform(0.3, 2, y.shape)):
        found = RULES[name](y, sigma, axis=-1, mechanism=noise)
        for i, own in enumerate(np.broadcast_to(sigma, y.shape)):
            alone = RULES[name](y[i], own, mechanism=noise)
            assert np.allclose(found.values[i], alone.values, rtol=1e-12, atol=1e-12)
            assert same(alone.risk, found.risk[i])
            assert same(alone.sure, found.sure[i])


def test_several_axes_together_are_one_vector() -> None:
    y = Y.reshape(6, 4, 6)
    found = james_stein(y, 1.0, axis=(1, 2))
    for i in range(6):
        assert np.allclose(found.values[i], james_stein(y[i].ravel(), 1.0).values.reshape(4, 6))
        assert found[i].values.shape == (4, 6)
    grid = Graph.grid((4, 6))
    smooth = laplacian(y, 1.0, graph=grid, axis=(1, 2))
    assert np.allclose(smooth.values[2], laplacian(y[2], 1.0, graph=grid).values)


@pytest.mark.parametrize("name", ["james_stein", "soft_sure", "hard", "empirical_bayes", "auto", "isotonic", "simplex"])
def test_an_array_that_may_be_many_vectors_or_one_is_refused_with_the_cure(name: str) -> None:
    with pytest.raises(errors.InvalidParameter, match=r"Say axis=-1, or axis=None") as caught:
        RULES[name](Y[0], 1.0)
    assert caught.value.parameter == "axis"


@pytest.mark.parametrize("name", ["james_stein", "soft_sure", "empirical_bayes", "auto", "lp_ball"])
def test_the_whole_of_an_array_is_one_vector_where_that_is_said(name: str) -> None:
    y = Y[0, 0].reshape(4, 6)
    whole, flat = RULES[name](y, 1.0, axis=None), RULES[name](y.ravel(), 1.0)
    assert whole.values.shape == whole.noisy.shape == (4, 6)
    assert np.allclose(whole.values.ravel(), flat.values)
    assert whole.risk == flat.risk
    assert whole.interval(0.9).low.shape == (4, 6)
    assert whole.rmse_at_most(0.9, proved=True).value > 0


def test_a_graph_or_a_shape_of_that_size_says_that_it_is_one() -> None:
    y = Y[0, 0].reshape(4, 6)
    assert auto(y, 1.0, graph=Graph.grid((4, 6))).values.shape == (4, 6)
    assert auto(y, 1.0, shape=(4, 6)).values.shape == (4, 6)
    with pytest.raises(errors.InvalidParameter, match="axis=-1"):
        laplacian(Y[0], 1.0, graph=GRAPH)


def test_estimates_of_many_vectors_are_not_mixed_as_one() -> None:
    many = james_stein(Y[0], 1.0, axis=-1)
    with pytest.raises(errors.WrongType, match="one vector"):
        aggregate(Y[0], 1.0, {"james_stein": many})  # type: ignore[dict-item]
    assert aggregate(Y[0, 1], 1.0, {"james_stein": many[1]}).values.shape == (SIZE,)


def test_a_release_is_one_vector() -> None:
    noisy = ln.wrap(Y[0, 0], sigma=1.0)
    with pytest.raises(errors.InvalidParameter, match="one vector"):
        noisy.denoise("james_stein", axis=-1)


@pytest.mark.parametrize(
    ("axis", "mistake"),
    [
        (2, errors.InvalidParameter),
        (-3, errors.InvalidParameter),
        ((0, 0), errors.InvalidParameter),
        ((0, 1), errors.InvalidParameter),
        ((), errors.WrongType),
        ("rows", errors.WrongType),
        (True, errors.WrongType),
    ],
)
def test_an_axis_that_is_none_of_the_array_is_refused(axis: Any, mistake: type[Exception]) -> None:
    with pytest.raises(mistake):
        james_stein(Y[0], 1.0, axis=axis)


def test_a_pickle_carries_values_and_figures() -> None:
    for found in (james_stein(Y, 1.0, axis=-1), hard_threshold(Y, 1.0, axis=-1), isotonic(Y, 1.0, axis=0)):
        back = pickle.loads(pickle.dumps(found))
        assert np.array_equal(back.values, found.values)
        assert np.array_equal(back.risk, found.risk, equal_nan=True)
        assert np.array_equal(back.sure, found.sure, equal_nan=True)
        assert repr(back) == repr(found)
        one = (1, 1) if back.shape == (2, 3) else (0, 4)
        assert np.array_equal(back[one].values, found[one].values)
        assert back[one].risk == found[one].risk


def test_an_index_outside_the_rows_is_refused() -> None:
    found = james_stein(Y, 1.0, axis=-1)
    assert len(found) == 2
    assert np.array_equal(found[-1, -1].values, found[1, 2].values)
    for index in (0, (2, 0), (0, -4), (0, 0, 0)):
        with pytest.raises(IndexError):
            found[index]
    assert repr(found) == "<Estimates of 2 by 3 vectors of 24 values by james_stein>"


def test_tensors_keep_their_library_and_gradients() -> None:
    torch = pytest.importorskip("torch")
    y = torch.tensor(Y[0], requires_grad=True)
    for name in BY_ROW:
        found = RULES[name](y, 1.0, axis=-1)
        assert isinstance(found.values, torch.Tensor)
        assert np.allclose(found.values.detach().numpy(), RULES[name](Y[0], 1.0, axis=-1).values)
        assert np.isfinite(found.risk).all() or name == "hard"
    y.grad = None
    james_stein(y, 1.0, axis=-1).values[0].sum().backward()
    assert (y.grad[0] != 0).all()
    assert (y.grad[1:] == 0).all()
