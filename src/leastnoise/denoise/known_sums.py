"""Values whose sums are known: totals that are public, and parents that are the sums of their children.

    h = argmin over {A h = totals} of  sum_i (h_i - y_i)^2 / v_i  =  y - V A' (A V A')^+ (A y - totals)

v_i is the variance of y_i; where it is 0, y_i is known and stays. h is linear in y and unbiased for every truth with
these sums, so no linear unbiased estimate has less variance (Gauss and Markov), and its error has the covariance

    V - V A' (A V A')^+ A V

whatever the truth is. Rows of A may follow from others: only the space that they span matters. With A V A' + e I in
place of A V A', solved again for what is left over, the part of the answer on an eigenvalue l is off by e/(l + e) each
time, so a few rounds suffice, and a combination of zero is never touched.

**Whole numbers in a tree**: every parent is the sum of its children, each within one of what it was. From the roots
down. A root is rounded to the nearest whole number; the children of a node are rounded down, and those
that lose most get one more until they add up. That is always possible: the children add up to their parent, which is
rounded up or down, so between none and all of those that are not whole get one more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import Floats, Mechanism
from leastnoise.denoise.denoiser import Denoised, denoiser
from leastnoise.denoise.risk import sure
from leastnoise.privacy.distributions import normal_reach
from leastnoise.releases.block import Total
from leastnoise.releases.estimate import RiskEstimate
from leastnoise.releases.noise import Noise

MAX_EXACT_BINS = 20_000  # beyond, the standard deviations of known sums would take longer than the sums
COLUMNS_AT_A_TIME = 512
ROUNDS = 6
RIDGE = 1e-9
NEWTON_STEPS = 200
FAR_OFF = 1e-9  # the chance with which noise alone moves the sums as far as is told
_NEARLY = 1e-6  # a number this close to a whole one is that


@denoiser(sigmas=True)
def consistent(
    y: Any,
    sigma: Any,
    *,
    matrix: Any,
    totals: Any = 0.0,
    variances: Any = 1.0,
    nonnegative: bool = False,
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """Known sums of bins: the weighted least-squares point of {A h = totals}, for a sparse matrix A.

        h = y - V A' (A V A')^+ (A y - totals),   V = sigma^2 diag(variances)

    A hierarchy is a row for every parent: +1 for it, -1 for each of its children, total 0. Rows may repeat what others
    say. `details` has covariances and intervals of any sums of the values, the nearest values without negative ones,
    and whole numbers.

    y: the noisy values, a vector. sigma: the standard deviation of their noise: one, or one for each value.
    matrix: A, a row for each known sum; dense or sparse. totals: what each row adds up to.
    variances: of the values, relative to sigma^2: a number, or one for each; 0 where a value is known exactly.
    nonnegative: whether to return the nearest values of which none is negative, which are no longer unbiased.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> made = consistent([10.0, 4.0, 3.0], sigma=1.0, matrix=[[1, -1, -1]])
    >>> made.values
    array([9., 5., 4.])
    >>> round(made.details.total([0, 1, -1]).std, 3)                 # of the difference of the two children
    1.414
    """
    from scipy.sparse import csr_array

    a = csr_array(matrix, dtype=np.float64)
    if a.ndim != 2 or a.shape[1] != y.size:
        raise errors.InvalidParameter(f"matrix must have a column for each of the {y.size:,} values of a vector y.")
    if not np.isfinite(a.data).all():
        raise errors.InvalidParameter("matrix must hold finite numbers.", parameter="matrix")
    v = np.broadcast_to(sigma, y.shape) ** 2 * _relative(variances, y.size)
    sums = KnownSums(y, v, a, _spread(totals, a.shape[0], "totals"), mechanism)
    values, same = sums.nonnegative() if nonnegative else sums.values, bool(np.ptp(v) == 0)
    if not v.any():
        raise errors.InvalidParameter("Some value must have noise: all variances are 0.", parameter="variances")
    return Denoised(
        values,
        {"sums": int(a.shape[0]), "nonnegative": nonnegative},
        None if nonnegative else sums.risk,
        nonnegative=nonnegative,
        details=sums,
        also={
            "noise": Noise.of(mechanism, sigma=math.sqrt(float(v.mean()))),
            "sigmas": None if same else np.sqrt(v),
            "exact_std": None if nonnegative or y.size > MAX_EXACT_BINS else sums.std,
            "description": sums.in_words(),
        },
    )


@dataclass(frozen=True, eq=False)
class KnownSums:
    """What is known of values with known sums: their errors together, and other values near them.

    y: the noisy values. v: their variances. a: the matrix of the sums. totals: what each adds up to.
    """

    y: Floats
    v: Floats
    a: Any
    totals: Floats
    mechanism: Mechanism = "gaussian"

    @cached_property
    def values(self) -> Floats:
        """The least-squares values."""
        made = self.y - self._scaled.T @ self._solve(self.a @ self.y - self.totals)
        if not np.allclose(self.a @ made, self.totals, atol=1e-6 * (1 + np.abs(self.totals).max(initial=0.0))):
            raise errors.InvalidParameter(
                "Some rows of matrix contradict others, or what is known exactly, so no values have all these sums. "
                "Drop one of them.",
                parameter="matrix",
            )
        return np.asarray(made)

    @cached_property
    def std(self) -> Floats:
        """The standard deviation of each value."""
        taken = np.empty(self.v.size)
        for start in range(0, self.v.size, COLUMNS_AT_A_TIME):
            part = self._scaled[:, start : start + COLUMNS_AT_A_TIME].toarray()
            taken[start : start + COLUMNS_AT_A_TIME] = np.einsum("ij,ij->j", part, self._solve(part))
        return np.sqrt(np.maximum(self.v - taken, 0.0))

    @cached_property
    def free(self) -> float | None:
        """How many numbers are left free: the values less the rank of the sums. None for very many values."""
        if self.v.size > MAX_EXACT_BINS:
            return None
        kept = np.divide(self.std**2, self.v, out=np.zeros(self.v.size), where=self.v > 0)
        return float(round(float(kept.sum())))

    def risk(self) -> RiskEstimate:
        """The error of a linear unbiased estimate is known, whatever the truth is."""
        free, size = self.free, self.y.size
        moved = float(((self.values - self.y) ** 2).sum())
        same = bool(np.ptp(self.v) == 0)
        stein = sure(moved, free, size, math.sqrt(self.v[0])) if same and free is not None else None
        known = None if size > MAX_EXACT_BINS else float((self.std**2).mean())
        return RiskEstimate(known, free, stein)

    def covariance(self, factors: Any) -> Floats:
        """The covariance matrix of the errors of sums of the values.

        factors: a matrix with a row for each sum and a column for each value.
        """
        rows = np.atleast_2d(np.asarray(factors, dtype=np.float64))
        if rows.shape[1] != self.y.size:
            raise errors.InvalidParameter(
                f"factors must have one for each of the {self.y.size:,} values.", parameter="factors"
            )
        part = self._scaled @ rows.T
        return np.asarray((rows * self.v) @ rows.T - part.T @ self._solve(part))

    def total(self, factors: Any, confidence: Number = 0.95) -> Total:
        """One sum of the values, with its standard deviation and interval.

        factors: one for each value: 1 to add it, -1 to take it away. confidence: of the interval, which is that of
        normal noise; under Laplace noise it is of Chebyshev's inequality, and wide.
        """
        level = validation.number("confidence", confidence)
        row = np.asarray(factors, dtype=np.float64).ravel()
        std = math.sqrt(max(0.0, float(self.covariance(row)[0, 0])))
        half = std * (normal_reach(level, 1) if self.mechanism == "gaussian" else 1 / math.sqrt(1 - level))
        value = float(row @ self.values)
        return Total(value, std, value - half, value + half)

    def nonnegative(self) -> Floats:
        """The nearest values with these sums of which none is negative: argmin of the same squares.

        h = max(0, y - V A' x), with x the minimum of the convex function sum of h^2/(2 v) + totals' x, found by
        Newton's method on the values that are above zero.
        """
        known = self.v == 0
        if (self.y[known] < 0).any():
            raise self._infeasible()
        x, tolerance = np.zeros(self.a.shape[0]), 1e-8 * (1 + float(np.abs(self.y).max()))
        h, cost = self._at(x)
        for _ in range(NEWTON_STEPS):
            slope = self.a @ h - self.totals
            if np.abs(slope).max(initial=0.0) <= tolerance:
                return h
            direction = _Solver(self.a, self.v * ((h > 0) & ~known)).solve(slope)
            length = 1.0
            while length > 1e-12:
                moved, below = self._at(x + length * direction)
                if below <= cost - 1e-4 * length * float(slope @ direction):
                    break
                length /= 2
            x, h, cost = x + length * direction, moved, below
            if length <= 1e-12 or np.abs(x).max() * math.sqrt(float(self.v.max())) > 1e12 * tolerance:
                break
        raise self._infeasible()

    def integers(self) -> Any:
        """Whole numbers with these sums, none negative, each within one of `nonnegative`: where the sums are trees.

        A row is a parent (+1) and its children (-1), with a total of zero, and no value has two parents.
        """
        return whole_numbers(self.nonnegative(), self.a, self.totals)

    def in_words(self) -> str:
        """How far off the sums were, where that is more than noise of these variances makes."""
        from scipy.special import chdtri

        if self.v.size > MAX_EXACT_BINS or self.free is None:
            return ""
        rank = float((self.v > 0).sum()) - self.free
        off = self.a @ self.y - self.totals
        squares = float(off @ self._solve(off))
        usual = float(chdtri(max(rank, 1.0), FAR_OFF)) * (1 if self.mechanism == "gaussian" else 3)
        if rank < 1 or squares <= usual:
            return ""
        return (
            f"The sums were off by {math.sqrt(squares / rank):.3g} times what noise of this standard deviation makes. "
            "Check it (a variance is its square), what each row of the matrix adds up, and the totals."
        )

    def _at(self, x: Floats) -> tuple[Floats, float]:
        """h, and the function that x is to make least."""
        free = self.v > 0
        h = np.where(free, np.maximum(self.y - self.v * (self.a.T @ x), 0.0), self.y)
        known = float((self.a[:, ~free] @ self.y[~free]) @ x) if not free.all() else 0.0
        return h, float((h[free] ** 2 / (2 * self.v[free])).sum()) + float(self.totals @ x) - known

    def _infeasible(self) -> errors.InvalidParameter:
        return errors.InvalidParameter(
            "No values of which none is negative were found with these sums. Leave out the totals that are too small.",
            parameter="totals",
        )

    @cached_property
    def _scaled(self) -> Any:
        return self.a.multiply(self.v).tocsr()

    @cached_property
    def _solver(self) -> _Solver:
        return _Solver(self.a, self.v)

    def _solve(self, right: Any) -> Any:
        return self._solver.solve(right)


class _Solver:
    """(A V A')^+ applied to what lies in its range."""

    def __init__(self, a: Any, v: Floats) -> None:
        from scipy.sparse import eye_array
        from scipy.sparse.linalg import splu

        self.matrix = (a.multiply(v) @ a.T).tocsc()
        largest = float(self.matrix.diagonal().max(initial=0.0))
        self.factor = splu((self.matrix + RIDGE * (largest or 1.0) * eye_array(a.shape[0])).tocsc())

    def solve(self, right: Any) -> Any:
        made = self.factor.solve(right)
        for _ in range(ROUNDS):
            made = made + self.factor.solve(right - self.matrix @ made)
        return made


def _relative(variances: Any, size: int) -> Floats:
    made = _spread(variances, size, "variances")
    if not (np.isfinite(made) & (made >= 0)).all():
        raise errors.InvalidParameter(
            "variances must be finite and not negative; 0 is a value that is known exactly.", parameter="variances"
        )
    return made


def _spread(value: Any, length: int, name: str) -> Floats:
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (length,)):
        raise errors.InvalidParameter(
            f"{name} must be a number or {length:,} of them. Got shape {array.shape} instead."
        )
    return np.broadcast_to(array, (length,))


def whole_numbers(values: Floats, a: Any, totals: Floats) -> NDArray[np.int64]:
    """values: which have the sums of the rows of a. totals: zeros."""
    parents = parents_of(a, totals, values.size)
    made = np.rint(values).astype(np.int64)
    level = parents < 0
    while (below := np.flatnonzero((parents >= 0) & level[parents])).size:
        made[below] = divided(values[below], parents[below], made)
        level = np.isin(np.arange(values.size), below)
    if (a @ made != 0).any():
        raise _no_tree()
    return made


def divided(values: Floats, parents: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole children that add up to totals[parents]: rounded down, and those that lose most get one more.

    Where a parent was rounded below what its children round down to (they were whole but for rounding), the largest
    get one less.
    """
    near = np.rint(values)
    values = np.where(np.abs(values - near) < _NEARLY * (1 + np.abs(values)), near, values)
    low = np.floor(values).astype(np.int64)
    missing = totals - np.bincount(parents, low, totals.size).astype(np.int64)
    for sign, first in ((1, low - values), (-1, -low)):
        order = np.lexsort((first, parents))
        family = parents[order]
        rank = np.arange(order.size) - np.searchsorted(family, family)
        low[order] += sign * (rank < sign * missing[family])
    return low


def parents_of(a: Any, totals: Floats, size: int) -> NDArray[np.int64]:
    """The parent of every value, or -1, where each row is +1 for a parent and -1 for its children."""
    if np.any(totals != 0) or not np.isin(a.data, (1.0, -1.0)).all():
        raise _no_tree()
    found = np.full(size, -1, dtype=np.int64)
    seen = set()
    for row in range(a.shape[0]):
        start, end = a.indptr[row : row + 2]
        columns, signs = a.indices[start:end], a.data[start:end]
        parent, below = columns[signs > 0], columns[signs < 0]
        if parent.size != 1 or not below.size:
            raise _no_tree()
        if parent[0] in seen:  # a second sum of one parent follows from the others, or is missed at the end
            continue
        if (found[below] >= 0).any():
            raise _no_tree()
        found[below] = parent[0]
        seen.add(parent[0])
    return found


def _no_tree() -> errors.InvalidParameter:
    return errors.InvalidParameter(
        "Whole numbers are made where the sums are trees: a row is +1 for a parent and -1 for each of its children, "
        "with a total of 0, and no value has two parents.",
        parameter="matrix",
    )
