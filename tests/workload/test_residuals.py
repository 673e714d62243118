"""Blocks and tables: exact integers, exact identities, and types that no count decides."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dense_tables import integer_block_matrix
from leastnoise.workload.residuals import CLAMP, integer_residual, project, table_of_blocks

SIZES = {"a": 3, "b": 2, "c": 4, "one": 1}


def marginal(finest: np.ndarray, table: tuple[str, ...]) -> np.ndarray:
    return finest.sum(axis=tuple(i for i, name in enumerate(SIZES) if name not in table))


def blocks_of(finest: np.ndarray) -> dict[tuple[str, ...], np.ndarray]:
    names = [name for name, size in SIZES.items() if size > 1]
    blocks = [block for k in range(len(names) + 1) for block in itertools.combinations(names, k)]
    return {block: integer_residual(marginal(finest, block)) for block in blocks}


def test_the_integers_are_those_of_the_matrix() -> None:
    finest = np.random.default_rng(0).integers(0, 1000, (3, 2, 4, 1))
    for block, made in blocks_of(finest).items():
        assert made.dtype == np.int64
        expected = integer_block_matrix(SIZES, block) @ finest.ravel()
        assert (made.ravel() == expected).all()


def test_every_table_is_the_sum_of_its_blocks() -> None:
    finest = np.random.default_rng(1).integers(0, 10**6, (3, 2, 4, 1))
    blocks = {block: project(made / made.size) for block, made in blocks_of(finest).items()}
    for k in range(len(SIZES) + 1):
        for table in itertools.combinations(SIZES, k):
            made = table_of_blocks(blocks, table, SIZES)
            assert made.shape == tuple(SIZES[name] for name in table)
            np.testing.assert_allclose(made, marginal(finest, table), rtol=1e-12, atol=1e-6)


def test_tables_of_noisy_blocks_agree_with_each_other() -> None:
    noise = np.random.default_rng(2)
    finest = np.zeros((3, 2, 4, 1), dtype=np.int64)
    noisy = {
        block: project((made + noise.integers(-99, 99, made.shape)) / made.size)
        for block, made in blocks_of(finest).items()
    }
    whole = table_of_blocks(noisy, ("a", "b", "c", "one"), SIZES)
    for table in [(), ("a",), ("b", "c"), ("a", "c"), ("one",)]:
        np.testing.assert_allclose(table_of_blocks(noisy, table, SIZES), marginal(whole, table), atol=1e-10)


def test_what_projection_drops_is_noise_alone() -> None:
    counts = np.random.default_rng(3).integers(0, 50, (3, 5))
    made = integer_residual(counts)
    np.testing.assert_allclose(project(made / made.size), made / made.size, atol=1e-12)
    constant = np.random.default_rng(4).normal(size=(1, 5)) + np.zeros((3, 1))
    np.testing.assert_allclose(project(made / made.size + constant), made / made.size, atol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 2**40, 2**62, 2**63 - 1])
def test_the_type_does_not_depend_on_the_counts(count: int) -> None:
    counts = np.zeros((6, 7), dtype=np.int64)
    counts[0, 0] = count
    made = integer_residual(counts)
    assert made.dtype == np.int64
    exact = integer_residual(counts.astype(object))
    assert exact[0, 0] == 30 * count
    assert exact[1, 1] == count
    assert (made == np.clip(exact, -CLAMP, CLAMP)).all()


def test_clamping_brings_neighbours_no_farther_apart() -> None:
    counts = np.zeros((6, 7), dtype=np.int64)
    counts[0, 0], neighbour = CLAMP // 30, counts.copy()
    neighbour[0, 0] = counts[0, 0] + 1
    near = integer_residual(counts).astype(object) - integer_residual(neighbour).astype(object)
    assert 0 < int((near**2).sum()) < math.prod(n * (n - 1) for n in (6, 7))


def test_the_sensitivity_of_a_block_is_exactly_the_product_of_n_times_n_minus_one() -> None:
    for shape in [(2,), (5,), (2, 3), (4, 3, 2)]:
        for cell in np.ndindex(*shape):
            row = np.zeros(shape, dtype=np.int64)
            row[cell] = 1
            assert int((integer_residual(row) ** 2).sum()) == math.prod(n * (n - 1) for n in shape)
