"""Tables as matrices on the finest table: the oracle for what `leastnoise.workload` computes without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def table_matrix(sizes: Mapping[str, int], table: Sequence[str]) -> Floats:
    """The matrix that sums the finest table (flattened) to this one."""
    return _product([np.eye(size) if column in table else np.ones((1, size)) for column, size in sizes.items()])


def integer_block_matrix(sizes: Mapping[str, int], block: Sequence[str]) -> Floats:
    """The matrix of prod (n I - J) on the table of the block, from the finest table."""
    return _product([n * np.eye(n) - 1 if column in block else np.ones((1, n)) for column, n in sizes.items()])


def information(sizes: Mapping[str, int], scales: Mapping[tuple[str, ...], float]) -> Floats:
    """X = sum over blocks of S'S/sigma^2, where S x are the integers of a block and sigma its noise."""
    return np.asarray(
        sum(
            integer_block_matrix(sizes, block).T @ integer_block_matrix(sizes, block) / sigma**2
            for block, sigma in scales.items()
        )
    )


def block_information(sizes: Mapping[str, int], variances: Mapping[tuple[str, ...], float]) -> Floats:
    """The same from the variances y_A of noise on C_A m_A."""
    cells = {block: np.prod([sizes[column] for column in block]) for block in variances}
    return information(sizes, {block: float(cells[block] * np.sqrt(y)) for block, y in variances.items()})


def _product(factors: Sequence[Floats]) -> Floats:
    made: Floats = np.ones((1, 1))
    for factor in factors:
        made = np.asarray(np.kron(made, factor), float)
    return made
