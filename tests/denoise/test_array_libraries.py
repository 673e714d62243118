"""Arrays of any library go in, and come out of the same library, dtype and device."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from leastnoise import errors
from leastnoise.denoise import (
    auto,
    empirical_bayes,
    gaussian_prior,
    hard_threshold,
    james_stein,
    lp_ball,
    project,
    soft_threshold,
)
from leastnoise.releases.estimate import Estimate


def library(name: str) -> Any:
    """The library, or a skip; in CI a missing one is a failure."""
    try:
        return import_module(name)
    except ImportError:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} must be installed in CI")
        pytest.skip(f"{name} is not installed")


RULES: dict[str, Callable[..., Estimate]] = {
    "james_stein": james_stein,
    "james_stein_mean": lambda y, s, **o: james_stein(y, s, toward="mean", **o),
    "james_stein_plain": lambda y, s, **o: james_stein(y, s, positive_part=False, **o),
    "soft_universal": soft_threshold,
    "soft_sure": lambda y, s, **o: soft_threshold(y, s, threshold="sure", **o),
    "hard": hard_threshold,
    "gaussian_prior": lambda y, s, **o: gaussian_prior(y, s, prior_std=2.0, centre=0.5, **o),
    "lp_ball": lambda y, s, **o: lp_ball(y, s, p=2, radius=10, **o),
    "nonnegative": lambda y, s, **o: project(y, s, onto="nonnegative", **o),
    "l1": lambda y, s, **o: project(y, s, onto="l1", radius=9.0, **o),
    "l2": lambda y, s, **o: project(y, s, onto="l2", radius=5.0, **o),
    "linf": lambda y, s, **o: project(y, s, onto="linf", radius=2.0, **o),
    "simplex": lambda y, s, **o: project(y, s, onto="simplex", total=9.0, **o),
    "total": lambda y, s, **o: project(y, s, onto="total", total=9.0, **o),
}
Y = np.random.default_rng(1).normal(1, 2, (6, 5))
rules = pytest.mark.parametrize("name", RULES)
noises = pytest.mark.parametrize("noise", ["gaussian", "laplace"])


def check(made: Estimate, expected: Estimate, values: Any, tolerance: float) -> None:
    assert np.allclose(values, expected.values, rtol=tolerance, atol=tolerance)
    if expected.risk is None:
        assert made.risk is None
    else:
        assert made.risk == pytest.approx(expected.risk, rel=1e-3, abs=1e-4)


@rules
@noises
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("module", ["array_api_strict", "torch"])
def test_arrays_keep_their_library_and_type(name: str, noise: str, dtype: str, module: str) -> None:
    xp = library(module)
    y = xp.asarray(Y, dtype=getattr(xp, dtype))
    made = RULES[name](y, 1.0, axis=None, mechanism=noise)
    assert type(made.values) is type(y)
    assert (made.values.dtype, made.values.shape, made.values.device) == (y.dtype, y.shape, y.device)
    assert made.noisy is y
    check(made, RULES[name](Y, 1.0, axis=None, mechanism=noise), np.asarray(made.values), 1e-5)


@rules
def test_numpy_keeps_single_precision(name: str) -> None:
    made = RULES[name](Y.astype(np.float32), 1.0, axis=None)
    assert made.values.dtype == np.float32
    assert np.allclose(made.values, RULES[name](Y, 1.0, axis=None).values, atol=1e-5)


@pytest.mark.parametrize("name", ["james_stein", "soft_universal", "gaussian_prior", "linf", "nonnegative"])
def test_values_never_leave_a_device(name: str) -> None:
    """The meta device has shapes and no values: whatever reads one on the host fails."""
    torch = library("torch")
    y = torch.empty(1000, device="meta")
    assert RULES[name](y, 1.0, axis=None).values.device.type == "meta"


@pytest.mark.parametrize(
    ("rule", "facts"),
    [
        (james_stein, {}),
        (james_stein, {"toward": "mean"}),
        (soft_threshold, {}),
        (project, {"onto": "l1", "radius": 3.0}),
        (project, {"onto": "l1", "radius": 300.0}),
        (project, {"onto": "l2", "radius": 3.0}),
        (project, {"onto": "linf", "radius": 2.0}),
        (project, {"onto": "simplex", "total": 5.0}),
        (project, {"onto": "total", "total": 5.0}),
    ],
)
def test_gradients_are_the_derivatives(rule: Any, facts: dict[str, Any]) -> None:
    """Beside finite differences: what a rule computes from all values must not be a constant to the library."""
    torch = library("torch")
    y = torch.tensor([3.1, -1.2, 0.4, 2.2, -5.3, 0.9, 1.7], dtype=torch.float64, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.autograd.gradcheck(lambda y: rule(y, 1.0, **facts).values, (y,))


def test_integers_of_another_library_are_refused() -> None:
    torch = library("torch")
    with pytest.raises(errors.WrongType, match="floating"):
        james_stein(torch.arange(5), 1.0)


def test_a_saved_tensor_is_read_back(tmp_path: Any) -> None:
    import leastnoise as ln

    torch = library("torch")
    made = james_stein(torch.tensor(Y), 1.0, axis=None)
    made.save(tmp_path / "e.parquet")
    back = ln.load(tmp_path / "e.parquet")
    assert isinstance(back, ln.Estimate)
    assert np.array_equal(back.values, made.values.numpy())
    assert "james_stein" in made.explain()


FITTED: dict[str, Callable[..., Estimate]] = {
    "empirical_bayes": empirical_bayes,
    "counts": lambda y, s, **o: empirical_bayes(y, s, support="nonnegative", integers=True, **o),
    "medians": lambda y, s, **o: empirical_bayes(y, s, support="nonnegative", loss="absolute", **o),
    "auto": lambda y, s, **o: auto(y, s, nonnegative=True, **o),
    "auto_medians": lambda y, s, **o: auto(y, s, nonnegative=True, integers=True, loss="absolute", **o),
}


@pytest.mark.parametrize("name", FITTED)
@noises
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_fitted_to_all_values_comes_to_the_host(name: str, noise: str, dtype: str) -> None:
    """Values alone, in a crowd and far apart: a tensor is read once, and what comes back is NumPy's, in doubles."""
    torch = library("torch")
    rng = np.random.default_rng(4)
    truth = np.concatenate([np.zeros(800), rng.gamma(2, 20, 200), [4e5, 4.1e5, 9e8]])
    y = torch.tensor(truth + rng.normal(0, 8, truth.size), dtype=getattr(torch, dtype))
    made, here = FITTED[name](y, 8.0, mechanism=noise), FITTED[name](y.double().numpy(), 8.0, mechanism=noise)
    assert isinstance(made.values, np.ndarray)
    assert (made.values.dtype, made.noisy.dtype) == (np.float64, np.float64)
    assert np.array_equal(made.values, here.values)
    assert made.risk == here.risk


def test_what_is_fitted_has_no_gradient() -> None:
    torch = library("torch")
    y = torch.tensor([5.0, 0.1, -4.0, 2.0], requires_grad=True)
    for rule in (empirical_bayes, auto):
        with pytest.raises(errors.WrongType, match="Detach"):
            rule(y, 1.0)
    with pytest.raises(errors.InvalidParameter, match="NaN"):
        auto(torch.tensor([1.0, np.nan, 2.0, 3.0]), 1.0)
