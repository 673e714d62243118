"""What leaks through floats in other libraries must not leak through a release: audits of ln.release itself."""

from __future__ import annotations

import multiprocessing
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.audit import last_bit, lower_bound
from leastnoise.testing import seeded

N = 200_000


def _samples(value: Any, dtype: Any, seed: int, **ask: Any) -> np.ndarray:
    with seeded(seed):
        return ln.release(np.full(N, value, dtype=dtype), **ask).values.astype(float)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize(("dtype", "pair"), [(np.int64, (0, 1)), (np.float64, (0.0, 1.0)), (np.float64, (0.1, 1.1))])
def test_no_event_separates_neighbours(mechanism: Any, dtype: Any, pair: tuple[float, float]) -> None:
    """Each value is a run of its own (bins are independent). At confidence 1 - 1e-6 the audit must not refute the
    claim; it refutes the naive mechanism with 0.05 (see test_audit)."""
    ask = {"sensitivity": 1, "l1_sensitivity": 1, "epsilon": 1, "delta": 1e-6, "mechanism": mechanism}
    found = lower_bound(_samples(pair[0], dtype, 1, **ask), _samples(pair[1], dtype, 2, **ask), epsilon=1)
    assert not found.refutes(delta=1e-6), str(found)
    # and it can see what is really there: at epsilon 0 both mechanisms do differ
    seen = lower_bound(_samples(pair[0], dtype, 1, **ask), _samples(pair[1], dtype, 2, **ask), epsilon=0)
    assert 0.02 < seen.delta <= 0.45


def test_every_output_lies_on_the_grid_whatever_the_input() -> None:
    x = np.random.default_rng(1).normal(0, 1e3, 20_000)
    r = ln.release(x, sensitivity=1, epsilon=1, delta=1e-6)
    assert (last_bit(r.values) >= np.log2(r.grid)).all()


def test_a_zero_never_has_a_sign() -> None:
    """Inputs just below zero round to -0.0 on the grid; with noise 0 the sum must still be +0.0."""
    x = np.concatenate([np.full(50_000, -0.0), np.full(50_000, -1e-15), np.full(50_000, 1e-15)])
    r = ln.release(x, sensitivity=2**-13, sigma=2**-35)
    zeros = r.values[r.values == 0]
    assert zeros.size > 1000
    assert not np.signbit(zeros).any()


def test_rounding_has_no_bias_toward_either_side() -> None:
    """Halves round to even and noise is symmetric: 200,000 released zeros have mean 0 within 5.5 standard errors
    (false alarm 4e-8; the seed is fixed)."""
    for dtype in (np.int64, np.float64):
        values = _samples(0, dtype, 9, sensitivity=1, epsilon=1, delta=1e-6)
        assert abs(values.mean()) < 5.5 * values.std() / np.sqrt(N)


def _kind(values: Any) -> dict[str, Any]:
    """All that the same seed publishes of the values, their sum with the noise apart."""
    with seeded(11):
        made = ln.release(values, sensitivity=1, epsilon=1, delta=1e-6)
    return {
        "type": made.values.dtype,
        "noise": made.noise,
        "guarantee": made.guarantee,
        "words": made.explain(),
        "drawn": (made.values - 3).tolist(),
    }


THREES = [3, 3.0, Fraction(3), Decimal(3), Decimal("3.0"), np.float64(3), IntEnum("E", {"THREE": 3})(3)]


@pytest.mark.parametrize("other", THREES[1:], ids=repr)
def test_no_type_of_a_bare_number_shows(other: Any) -> None:
    """The total of a list is 3 or 3.0 by one person's 1 or 1.0: nothing that is published may tell which."""
    assert _kind(other) == _kind(3) == _kind([3])


@pytest.mark.parametrize("odd", [None, True, 2.5, 10**30, Decimal(2), pd.NA, "3", float("nan")], ids=repr)
def test_one_value_does_not_change_the_grid_of_the_others(odd: Any) -> None:
    """In a list, and alone: whatever it is, the release is of the same type and grid, with the same noise."""
    usual, alone = _kind([3, 3]), _kind(3)
    one = _kind([3, odd])
    assert {**one, "drawn": one["drawn"][0]} == {**usual, "drawn": usual["drawn"][0]}
    if not isinstance(odd, str):
        assert {**_kind(odd), "drawn": 0} == {**alone, "drawn": 0}


@pytest.mark.parametrize("odd", [None, True, 1.0, 2.5, 10**30, Decimal(1), "1"], ids=repr)
def test_one_count_does_not_change_the_noise_of_sparse_ones(odd: Any) -> None:
    def shown(counts: list[Any], indices: list[Any]) -> Any:
        with seeded(11):
            made = ln.release_sparse(indices, counts, domain_size=10**6, sensitivity=1, epsilon=1, delta=1e-6)
        return made.indices.dtype, made.values.dtype, made.noise, made.values[made.indices == 0].tolist()

    assert shown([100, odd], [0, 9]) == shown([100, 1], [0, 9]) == shown([100, 1], [0, odd])


def _child(queue: Any) -> None:
    queue.put(ln.release(np.zeros(40), sensitivity=1, epsilon=1, delta=1e-6).values.tolist())


def test_forked_processes_publish_different_noise() -> None:
    """40 draws on a fine grid: two processes sharing entropy would agree in all, honest ones in none or few."""
    ln.release(np.zeros(40), sensitivity=1, epsilon=1, delta=1e-6)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_child, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    one, other = queue.get(timeout=60), queue.get(timeout=60)
    for child in children:
        child.join()
    assert sum(a == b for a, b in zip(one, other, strict=True)) < 5


def test_an_id_is_no_noise() -> None:
    """The release's id comes from its own entropy: with the same seed the noise repeats and the id does not."""
    made = []
    for _ in range(2):
        with seeded(7):
            made.append(ln.release(np.zeros(5), sensitivity=1, epsilon=1, delta=1e-6))
    assert (made[0].values == made[1].values).all()
    assert made[0].id != made[1].id
