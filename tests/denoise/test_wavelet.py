"""Wavelets at every shift: the mean over all shifts of an orthonormal transform, and honest degrees of freedom.

A statistical test here fails by chance with 2e-9 (six standard errors); seeds are fixed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import errors
from leastnoise.denoise import wavelet
from leastnoise.denoise.scale_mixture import ScaleMixture
from leastnoise.denoise.wavelet import LOW_PASS, Transform
from leastnoise.graphs import Graph

STEPS = np.repeat([0.0, 4.0, 1.0, 1.0], 32) + np.sin(np.arange(128) / 12)


def orthonormal(size: int, low: Any) -> list[Any]:
    """The decimated transform around a circle, written out: a matrix for each level, and the last low part."""
    high = low[::-1] * (-1.0) ** np.arange(low.size)
    made, left = [], np.eye(size)
    while len(left) > 1:
        half = np.zeros((2, len(left) // 2, len(left)))
        for k in range(len(left) // 2):
            for kind, taps in enumerate((low, high)):
                for j, tap in enumerate(taps):
                    half[kind, k, (2 * k - j) % len(left)] += tap
        made.append(half[1] @ left)
        left = half[0] @ left
    return [*made, left]


def test_it_is_the_mean_over_all_shifts_of_an_orthonormal_transform() -> None:
    """Soft thresholds of every coefficient, the transform written out as a matrix and applied at each shift."""
    y = np.random.default_rng(1).standard_normal(16) * 2
    soft = lambda c, t: np.sign(c) * np.maximum(np.abs(c) - t, 0)  # noqa: E731
    basis = orthonormal(16, LOW_PASS)
    assert np.allclose(np.concatenate(basis) @ np.concatenate(basis).T, np.eye(16), atol=1e-12)
    spun = np.zeros(16)
    for shift in range(16):
        x = np.roll(y, shift)
        kept = basis[-1].T @ (basis[-1] @ x) + sum(w.T @ soft(w @ x, 0.7) for w in basis[:-1])
        spun += np.roll(kept, -shift) / 16
    transform = Transform((16,), True)
    once = transform.run(y[None], lambda level, band, c: soft(c, 0.7 * 2 ** (-level / 2)))
    assert np.allclose(once[0], spun, atol=1e-12)


@settings(max_examples=25)
@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=2).map(tuple),
    periodic=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_nothing_is_lost_and_every_size_is_a_norm(shape: Any, periodic: bool, seed: int) -> None:
    transform = Transform(shape, periodic)
    x = np.random.default_rng(seed).standard_normal((2, *shape))
    assert np.allclose(transform.run(x, lambda level, band, c: c), x, atol=1e-12)
    size = math.prod(shape)
    rows: dict[tuple[int, int], Any] = {}

    def keep(level: int, band: int, c: Any) -> Any:
        rows[level, band] = c
        return c

    transform.run(np.eye(size).reshape(size, *shape), keep)
    for (level, band), c in rows.items():
        norms = np.broadcast_to(transform.sizes(level, band), (1, *c.shape[1:]))[0]
        assert np.allclose(np.sqrt((c**2).sum(axis=0)), norms, atol=1e-7)


def test_the_prior_is_the_likeliest_and_its_means_are_integrals() -> None:
    rng = np.random.default_rng(2)
    u = np.concatenate([rng.standard_normal(400), 6 * rng.standard_normal(60)])
    prior = ScaleMixture.fit(u, np.ones(u.size))
    wide = 1 + prior.tau**2
    density = np.exp(-0.5 * u[:, None] ** 2 / wide) / np.sqrt(wide)
    gain = (density / (density @ prior.weights)[:, None]).mean(axis=0)
    assert gain.max() < 1 + 1e-4  # no other weights are likelier, but for the cells that u was counted in
    assert prior.weights.sum() == pytest.approx(1)
    theta = np.linspace(-60, 60, 240_001)
    bell = sum(
        w * np.exp(-0.5 * (theta / t) ** 2) / t for w, t in zip(prior.weights[1:], prior.tau[1:], strict=True)
    ) / math.sqrt(2 * math.pi)
    at = np.array([-7.3, 0.0, 0.4, 2.0, 9.1])
    mean, tabulated = prior.means(at)
    slope = prior.pulls(at)[1]
    assert np.allclose(tabulated, slope, atol=1e-3)
    for x, m, s in zip(at, mean, slope, strict=True):
        noise = np.exp(-0.5 * (x - theta) ** 2)
        mass = np.trapezoid(bell * noise, theta) + prior.weights[0] * math.exp(-0.5 * x**2)
        assert m == pytest.approx(np.trapezoid(theta * bell * noise, theta) / mass, abs=1e-6)
        # dE(theta | u)/du = Var(theta | u)
        assert s == pytest.approx(np.trapezoid(theta**2 * bell * noise, theta) / mass - m**2, abs=1e-6)


@pytest.mark.parametrize("truth", [STEPS, np.zeros(128), np.add.outer(np.arange(8.0), 4.0 * (np.arange(16) > 6))])
def test_degrees_of_freedom_are_what_is_spent_under_gaussian_noise(truth: Any) -> None:
    """Priors fitted anew each time. Within two, of 10 to 60, and six standard errors."""
    rng = np.random.default_rng(3)
    off = []
    for _ in range(40):
        z = rng.standard_normal(truth.shape)
        made = wavelet(truth + z, 1.0, graph=Graph.grid(truth.shape))
        assert made.degrees_of_freedom is not None
        off.append(made.degrees_of_freedom - (z * (made.values - truth)).sum())
    error = np.std(off) / math.sqrt(len(off))
    assert error < 2
    assert abs(np.mean(off)) < 2 + 6 * error


def test_degrees_of_freedom_under_laplace_noise_are_within_a_fifth() -> None:
    """Of the thirty or so that are spent; Gaussian degrees of freedom are a quarter below."""
    rng = np.random.default_rng(4)
    told, spent = [], []
    for _ in range(50):
        z = rng.laplace(0, math.sqrt(0.5), 128)
        made = wavelet(STEPS + z, 1.0, mechanism="laplace")
        told.append(made.degrees_of_freedom)
        spent.append(float(z @ (made.values - STEPS)))
    error = np.std(np.subtract(told, spent)) / math.sqrt(50)
    assert abs(np.mean(told) - np.mean(spent)) < 0.2 * np.mean(spent) + 6 * error


def test_fixed_degrees_of_freedom_are_the_divergence() -> None:
    """Of the rule with its priors held, by differences; edges and all."""
    from leastnoise.denoise.lattices import lattices
    from leastnoise.denoise.wavelet import Group

    y = STEPS[:40] + np.random.default_rng(5).standard_normal(40)
    [found] = lattices(Graph.path(40))
    group = Group(found, y)
    group.fit()

    def held(x: Any) -> Any:
        def shrink(level: int, band: int, c: Any) -> Any:
            sizes = group.transform.sizes(level, band)
            return group.priors[level, band].means(group._units(c, sizes))[0] * sizes

        return group.transform.run(x[None], shrink)[0]

    step = 1e-5 * np.eye(40)
    slope = sum((held(y + e) - held(y - e)) @ e for e in step) / 2e-10
    assert group.fixed == pytest.approx(slope, rel=1e-4)


def test_units_and_constants_do_not_matter_and_noise_that_is_small_leaves_the_values() -> None:
    y = STEPS + np.random.default_rng(6).standard_normal(128)
    one, many = wavelet(y, 1.0), wavelet(1024 * y + 5, 1024.0)
    assert np.allclose(many.values, 1024 * one.values + 5, rtol=1e-6)
    assert many.risk == pytest.approx(1024**2 * (one.risk or 0.0), rel=1e-6)
    assert np.allclose(wavelet(y, 1e-7).values, y, atol=1e-6)
    assert np.allclose(wavelet(y * 1e12, 1.0).values, y * 1e12, rtol=1e-14, atol=0.1)


def test_steps_are_found_better_than_by_what_does_not_know_them_or_has_one_grid() -> None:
    rng = np.random.default_rng(7)
    squares = np.zeros(3)
    for _ in range(10):
        y = STEPS + rng.standard_normal(128)
        tree = ln.denoise.tree_wavelet(y, 1.0, graph=Graph.path(128), threshold="sure")
        made = wavelet(y, 1.0), tree, ln.denoise.empirical_bayes(y, 1.0)
        squares += [float(((each.values - STEPS) ** 2).sum()) for each in made]
    assert squares[0] < 0.8 * squares[1:].min()


def test_components_of_one_shape_share_their_priors_and_others_are_left_alone() -> None:
    rng = np.random.default_rng(8)
    rows = Graph.from_edges(3 * 20 + 1, np.concatenate([Graph.path(20).edges + 20 * k for k in range(3)]))
    y = np.append(np.tile(np.repeat([0.0, 5.0], 10), 3) + rng.standard_normal(60), 7.0)
    made = wavelet(y, 1.0, graph=rows)
    assert made.values[-1] == pytest.approx(7.0)
    swapped = np.concatenate([y[20:40], y[:20], y[40:]])
    again = wavelet(swapped, 1.0, graph=rows).values
    assert np.allclose(np.concatenate([again[20:40], again[:20], again[40:]]), made.values, atol=1e-9)


def test_around_a_circle_a_turn_turns_the_answer() -> None:
    y = STEPS[:24] + np.random.default_rng(9).standard_normal(24)
    made = wavelet(y, 1.0, graph=Graph.cycle(24)).values
    assert np.allclose(wavelet(np.roll(y, 5), 1.0, graph=Graph.cycle(24)).values, np.roll(made, 5), atol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_few_values_are_no_trouble(size: int) -> None:
    for value in (0.0, 3.7):
        made = wavelet(np.full(size, value), 1.0)
        assert np.allclose(made.values, value)
        assert made.risk is not None
        assert 0 <= made.risk <= 1


def test_what_is_no_lattice_is_refused() -> None:
    star = Graph.from_edges(4, [(0, 1), (0, 2), (0, 3)])
    with pytest.raises(errors.InvalidParameter, match="tree_wavelet"):
        wavelet([1.0, 2.0, 3.0, 4.0], 1.0, graph=star)
    with pytest.raises(errors.InvalidParameter, match="equal width"):
        wavelet([1.0, 2.0], 1.0, graph=Graph.from_edges(2, [(0, 1)], weights=[2.0]))
