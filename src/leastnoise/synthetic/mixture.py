"""A mixture of products: rows that are independent columns within each of K groups.

    p(x) = sum over groups k of  w_k  prod over columns i of  p_ki(x_i)

Every joint distribution is such a mixture if there are enough groups. Its table over a few columns is a sum of K outer
products, so all tables of two columns are one product of matrices, and a row is drawn by drawing its group first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats

Rows = NDArray[np.int64]  # a row for each, with the index of its key in every column


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """weights: w_k, which add up to 1. columns: of each the K x n_i matrix of p_ki, whose rows add up to 1."""

    weights: Floats
    columns: tuple[Floats, ...]

    def table(self, axes: Sequence[int]) -> Floats:
        """The probability of every cell over these columns, an array with an axis for each; () is 1."""
        groups = self.weights[:, None]
        for axis in axes:
            groups = (groups[:, :, None] * self.columns[axis][:, None, :]).reshape(len(self.weights), -1)
        return np.asarray(groups.sum(axis=0)).reshape([self.columns[axis].shape[1] for axis in axes])

    def information(self) -> float:
        """sum over columns i of I(x_i; k), the information in nats that the group gives about each column.

        It bounds the total correlation of the columns, KL(p || prod p_i), from above, because columns are independent
        given the group: KL(p || prod p_i) <= KL(p(x, k) || p(k) prod p_i(x_i)), which is this sum.
        """
        found = 0.0
        for column in self.columns:
            mean = self.weights @ column
            ratio = np.divide(column, mean, out=np.ones_like(column), where=column > 0)
            found += float(self.weights @ (column * np.log(ratio)).sum(axis=1))
        return found
