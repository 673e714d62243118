"""Vectors along some axes of an array, as the rows of a matrix, and the denoising of every row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise.denoise.arrays import Floats, host_numbers, namespace, sigmas_of
from leastnoise.denoise.estimates import Estimates
from leastnoise.releases.estimate import Estimate, RiskEstimate

OneVector = Callable[[Any, float | Floats], Estimate]  # denoises y of any shape, as one vector, and a sigma


def axes_of(axis: Any, dimensions: int) -> tuple[int, ...]:
    """Which axes make up a vector, counted from zero, in increasing order."""
    named = axis if isinstance(axis, tuple) else (axis,)
    if not named or any(isinstance(one, bool) or not isinstance(one, (int, np.integer)) for one in named):
        raise errors.WrongType(
            f"axis must be a whole number, several in a tuple, or None. Got {axis!r} instead.", parameter="axis"
        )
    counted = sorted(int(one) + dimensions * (one < 0) for one in named)
    if counted[0] < 0 or counted[-1] >= dimensions or len(set(counted)) < len(counted):
        raise errors.InvalidParameter(
            f"axis must name different axes of an array of {dimensions} dimensions. Got {axis!r} instead.",
            parameter="axis",
            value=axis,
        )
    if len(counted) == dimensions:
        raise errors.InvalidParameter(
            "With all axes named there is only one vector. Say None, or leave axis out where y has one dimension.",
            parameter="axis",
            value=axis,
            example={"axis": None},
        )
    return tuple(counted)


class Rows:
    """`matrix` has a row for each vector of y along `axes`; `sigma` is one number, or n by 1, or n by d."""

    def __init__(self, y: Any, sigma: Any, axes: tuple[int, ...]) -> None:
        self.y, self.axes = y, axes
        self.others = tuple(axis for axis in range(len(y.shape)) if axis not in axes)
        self.order = (*self.others, *axes)
        self.shape = tuple(int(y.shape[axis]) for axis in self.others)
        self.vector = tuple(int(y.shape[axis]) for axis in axes)
        self.size = math.prod(self.shape)
        if not self.size:
            raise errors.InvalidParameter(f"y has no vectors: its shape is {tuple(y.shape)}.", parameter="y")
        xp = namespace(y)
        self.matrix = xp.reshape(xp.permute_dims(y, self.order), (self.size, math.prod(self.vector)))
        level = sigmas_of(sigma, tuple(y.shape), broadcast=True)
        if not isinstance(level, float):
            level = np.transpose(level, self.order).reshape(self.matrix.shape)
            level = level[:, :1] if (level == level[:, :1]).all() else level
        self.sigma: float | Floats = level

    def back(self, matrix: Any) -> Any:
        """A matrix like ours in the shape of y."""
        xp = namespace(matrix)
        where = tuple(self.order.index(axis) for axis in range(len(self.order)))
        return xp.permute_dims(xp.reshape(matrix, (*self.shape, *self.vector)), where)

    def row(self, i: int) -> Any:
        """One vector, in the shape that it has in y."""
        return namespace(self.y).reshape(self.matrix[i, ...], self.vector)

    def sigma_of(self, i: int) -> float | Floats:
        """The noise of one vector."""
        if isinstance(self.sigma, float):
            return self.sigma
        own = self.sigma[i]
        return float(own[0]) if (own == own[0]).all() else own.reshape(self.vector)

    def estimates(
        self, method: str, values: Any, row: Callable[[int], Estimate], estimate_risks: Callable[[], RiskEstimate]
    ) -> Estimates:
        """What was made of every row, in the shape of y."""
        return Estimates(
            values=self.back(values),
            noisy=self.y,
            method=method,
            axis=self.axes,
            shape=self.shape,
            row=row,
            estimate_risks=estimate_risks,
        )


def one_by_one(one_vector: OneVector, rows: Rows) -> Estimates:
    """Row after row, by a denoiser of one vector."""
    made = [one_vector(rows.row(i), rows.sigma_of(i)) for i in range(rows.size)]
    xp = namespace(made[0].values)
    values = xp.stack([xp.reshape(one.values, (-1,)) for one in made])

    def estimate_risks() -> RiskEstimate:
        columns = zip(*(one.estimate_risk() for one in made), strict=True)
        found: Any = (np.array([math.nan if figure is None else figure for figure in column]) for column in columns)
        return RiskEstimate(*found)

    return rows.estimates(made[0].method, values, made.__getitem__, estimate_risks)


def all_at_once(function: Callable[[Any, Any], Estimate], one_vector: OneVector, rows: Rows) -> Estimates:
    """By a function of the whole matrix; a row is made once more where it is asked for by itself."""
    made = function(rows.matrix, rows.sigma)

    def row(i: int) -> Estimate:
        return one_vector(rows.row(i), rows.sigma_of(i))

    def estimate_risks() -> RiskEstimate:
        return RiskEstimate(*map(host_numbers, made.estimate_risk()))

    return rows.estimates(made.method, made.values, row, estimate_risks)
