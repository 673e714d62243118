"""Tables along a tree as dense matrices, and trees at random: oracles for small ones."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from leastnoise.domain import TreeShape
from leastnoise.workload import Workload


def random_shape(rng: np.random.Generator, depth: int, most: int = 3) -> TreeShape:
    """A tree whose nodes have one to `most` children each."""
    children, nodes = [], 1
    for _ in range(depth):
        children.append(rng.integers(1, most + 1, nodes))
        nodes = int(children[-1].sum())
    return TreeShape(tuple(children))


def sums(shape: TreeShape, level: int) -> np.ndarray:
    """P: the nodes of a level as sums of leaves."""
    made = np.zeros((shape.sizes[level], shape.sizes[-1]))
    made[shape.ancestors(level, of=shape.depth), np.arange(shape.sizes[-1])] = 1
    return made


def table_matrix(workload: Workload, table: tuple[str, ...]) -> np.ndarray:
    """A table as sums of cells of the finest table: leaves first, then every other column."""
    level = workload.level_of(table)
    parts = [sums(workload.shape, level)]
    columns = [name for name in workload.columns if name not in workload.levels]
    parts += [np.eye(workload.sizes[c]) if c in table else np.ones((1, workload.sizes[c])) for c in columns]
    made = parts[0]
    for part in parts[1:]:
        made = np.kron(made, part)
    own = [workload.shape.sizes[level], *(workload.sizes[c] if c in table else 1 for c in columns)]
    names = [workload.levels[level - 1] if level else "", *(c if c in table else "" for c in columns)]
    cube = made.reshape(*own, -1)
    order = [names.index(name) for name in table]
    return cube.transpose([*order, *(i for i in range(len(own)) if i not in order), len(own)]).reshape(
        -1, made.shape[1]
    )


def block_matrix(workload: Workload, block: tuple[str, ...]) -> np.ndarray:
    """What `Workload.integers` makes of the finest table, a row a whole number."""
    table = table_matrix(workload, block)
    shape = [workload.sizes[name] for name in block]
    rows = [workload.integers(block, column.reshape(shape).astype(np.int64)).ravel() for column in table.T]
    return np.array(rows, dtype=np.float64).T


def covariance(workload: Workload, variances: dict[tuple[str, ...], float]) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares on everything measured: the pseudo-inverse of its information, and that itself.

    variances: of the noise on each whole number of a block.
    """
    information = sum(
        matrix.T @ matrix / variance
        for block, variance in variances.items()
        for matrix in [block_matrix(workload, block)]
    )
    return np.linalg.pinv(information, rcond=1e-12, hermitian=True), np.asarray(information)


def cells(workload: Workload) -> list[tuple[int, ...]]:
    """Every cell of the finest table."""
    columns = [name for name in workload.columns if name not in workload.levels]
    return list(itertools.product(range(workload.shape.sizes[-1]), *(range(workload.sizes[c]) for c in columns)))


def made_workload(rng: np.random.Generator, tables: Any, *, sizes: dict[str, int], depth: int = 2) -> Workload:
    """Tables over the levels a, b, c ... of a random tree, and other columns."""
    shape = random_shape(rng, depth)
    while shape.sizes[1] < 2 or shape.sizes[2] < 4:
        shape = random_shape(rng, depth)
    levels = tuple("abcdef"[:depth])
    return Workload(
        {**dict(zip(levels, shape.sizes[1:], strict=True)), **sizes}, tables=tables, levels=levels, shape=shape
    )
