"""Denoised tables along a tree: whether the error that is stated is the error."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from leastnoise.denoise.tree_levels import STEP, EstimatedLevels
from leastnoise.domain import TreeShape
from leastnoise.workload import Workload, laplace_tables, scales_within
from leastnoise.workload.noisy_tables import NoisyTables

SHAPE = TreeShape((np.array([3]), np.array([4, 3, 5])))
TRUTH = np.array([60, 25, 0, 3, 0, 0, 8, 110, 40, 2, 0, 1])


def noise(kind: str) -> NoisyTables:
    workload = Workload({"a": 3, "b": 12}, tables=[(), "a", "b"], levels="ab", shape=SHAPE)
    if kind == "laplace":
        made: Any = laplace_tables(workload, epsilon=0.25)
    else:
        made = workload.with_noise(scales_within(workload.optimize(), Fraction(1, 40)))
    return made


def estimate(
    made: NoisyTables,
    rng: np.random.Generator,
    kind: str,
    wider: float = 1.0,
    truth: Any = TRUTH,
    shape: TreeShape = SHAPE,
) -> EstimatedLevels:
    """From the truth and noise of this kind, `wider` times as wide."""
    noisy: dict[Any, Any] = {}
    for block, scale in made.scales.items():
        level = made.workload.level_of(block)
        exact = shape.sums(truth, level, of=2).reshape([made.workload.sizes[name] for name in block])
        if kind == "laplace":
            noisy[block] = exact + np.rint(wider * rng.laplace(0, scale, exact.shape))
        else:
            noisy[block] = exact * made.workload.step_of(block) + rng.normal(0, wider * scale, exact.shape)
    return EstimatedLevels(made, made.residuals(noisy))


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_its_error_estimate_is_right_on_average(kind: str) -> None:
    """The estimate is of the squared error under 1 + STEP times the variance, so the two means agree: over 400 draws of
    each within 5 standard errors of their difference (a false alarm once in 1.7 million, seeded), which are below 7 %
    of the error. Under Laplace noise the identity is an approximation, above the truth by at most a third."""
    made, rng = noise(kind), np.random.default_rng(17)
    told = np.array([estimate(made, rng, kind).rmse(("b",)) ** 2 for _ in range(400)])
    found = [made.workload.table_of(estimate(made, rng, kind, math.sqrt(1 + STEP)).blocks, ("b",)) for _ in range(400)]
    true = np.array([((values - TRUTH) ** 2).mean() for values in found])
    spread = math.hypot(told.std(), true.std()) / math.sqrt(400)
    assert spread < 0.07 * true.mean()
    assert told.mean() - true.mean() > -5 * spread
    assert told.mean() - true.mean() < 5 * spread + (true.mean() / 3 if kind == "laplace" else 0)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_its_upper_limit_holds_and_it_is_nearer_than_what_was_released(kind: str) -> None:
    """200 draws: the 95 % limit fails at most 24 times, which a true rate of 5 % passes with a chance of 1e-4."""
    made, rng = noise(kind), np.random.default_rng(3)
    failed, errors = 0, []
    for _ in range(200):
        one = estimate(made, rng, kind)
        off = float(((made.workload.table_of(one.blocks, ("b",)) - TRUTH) ** 2).mean())
        failed += off > one.rmse_at_most(0.95, ("b",)).value ** 2
        errors.append(off)
    assert failed <= 24
    assert np.mean(errors) < 0.9 * made.node_variances("b").mean()


def test_levels_that_gain_nothing_are_not_called_better() -> None:
    """Counts far above their noise: of 100 draws, 19 or more would be called better with a chance below 1e-6, were it
    one in twenty."""
    assert binom.sf(18, 100, 0.05) < 1e-6
    made, rng = noise("gaussian"), np.random.default_rng(4)
    called = sum(
        bool(estimate(made, rng, "gaussian", truth=5_000 + 100 * TRUTH).is_below(made.std["b",], ("b",)))
        for _ in range(100)
    )
    assert called <= 18


def test_many_empty_leaves_are_called_better() -> None:
    """800 leaves, of which one in ten has rows, under noise of 10: most of the noise can be taken out."""
    rng = np.random.default_rng(8)
    shape = TreeShape((np.array([8]), np.full(8, 100)))
    workload = Workload({"a": 8, "b": 800}, tables=[(), "a", "b"], levels="ab", shape=shape)
    made: Any = workload.with_noise(scales_within(workload.optimize(), Fraction(1, 40)))
    truth = np.where(rng.random(800) < 0.1, 200, 0)
    one = estimate(made, rng, "gaussian", truth=truth, shape=shape)
    off = float(((workload.table_of(one.blocks, ("b",)) - truth) ** 2).mean())
    assert off < 0.6 * made.node_variances("b").mean()
    assert one.is_below(made.std["b",], ("b",)) is True
    assert one.is_below(one.rmse(("b",)), ("b",)) is False
    assert one.is_below(1e9, ("no such",)) is None
