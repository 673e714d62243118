"""How a promise is best divided over tables that get noise of their own.

Table R gets independent noise of precision w_R (one over the variance) on its cells. Summed to the block A in R, one
cell of C_A m_A has the precision w_R/prod over R without A of n_j. Noise on different blocks of one table is
uncorrelated, because the spaces of the blocks are orthogonal, so least squares adds precisions block by block:

    1/y_A = Pi_A = sum over the released tables R that contain A of  w_R t_RA,    t_RA = prod over R without A of 1/n_j,

and the weighted sum of variances is f = sum_A q_A/Pi_A, q_A = s_A p_A. A share x_R of the promise buys w_R = x_R^a:
a = 2 for Laplace noise (epsilon adds up, the variance is 2/epsilon^2) and a = 1 for Gaussian noise (mu^2 adds up). That
is add-remove, where a row costs every table alike; under replace, where a total costs nothing, the same shares are
kept, and others may be better.

*Each step lowers f.* 1/x is convex, so with the parts theta_RA = w_R t_RA/Pi_A, which sum to one over R,
1/Pi_A(new) <= sum_R theta_RA^2/(new_R t_RA), with equality where nothing changes. The sum over A is sum_R h_R/new_R,
with h_R = w_R^2 sum_A q_A t_RA/Pi_A^2, and for a fixed sum of shares it is least where x_R is as h_R^(1/(a+1)).

For Gaussian noise f is convex in the shares, and the steps lead to the optimum. For Laplace noise it is not: releasing
fewer tables may be a valley of its own, so several starts are made, and tables whose share vanishes are dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from leastnoise.workload.incidence import Floats

STEPS = 500
_LEAST = 1e-4  # a share below this of an equal one is dropped
_SETTLED = 1e-9  # relative change of the objective at which the steps end
_PATIENCE = 40  # steps without a better largest variance, which does not fall at every step


@dataclass(frozen=True)
class Spread:
    """What tables could be released, what each tells about each block, and what is to be small.

    matrix: t_RA, a SciPy array with a row a table that could be released. shrink: as in the lattice of the workload.
    """

    matrix: Any
    shrink: Any
    probability: Floats
    power: int  # a

    @property
    def tables(self) -> int:
        """How many tables are asked for."""
        return int(self.shrink.shape[0])

    def variances(self, precisions: Floats) -> tuple[Floats, Floats]:
        """The variance of each table asked for, where those released have these precisions; and the state for `seen`:
        Pi of each block."""
        blocks = self.matrix.T @ precisions
        return self.shrink @ (self.probability / blocks), blocks

    def seen(self, c: Floats, state: Any) -> Floats:
        """sum_A q_A t_RA/Pi_A^2 of each table R: how fast its precision lowers the sum weighted with c."""
        return np.asarray(self.matrix @ ((self.shrink.T @ c) * self.probability / state**2))

    def covers(self, released: Any) -> bool:
        """Whether every block is seen by one of these tables."""
        return bool((self.matrix.T @ np.asarray(released, dtype=np.float64)).min() > 0)


class Spreads(Protocol):
    """What `divide` needs to know: `Spread`, or along a tree `tree_shares.TreeSpread`."""

    @property
    def power(self) -> int:
        """a."""

    @property
    def tables(self) -> int:
        """How many tables are asked for."""

    def variances(self, precisions: Floats) -> tuple[Floats, Any]:
        """The variance of each table asked for, and a state for `seen`."""

    def seen(self, c: Floats, state: Any) -> Floats:
        """How fast the precision of each table released lowers the weighted sum."""

    def covers(self, released: Any) -> bool:
        """Whether these tables are enough."""


@dataclass(frozen=True)
class Division:
    """Shares that sum to one, and what they attain where the whole promise buys w = 1."""

    shares: Floats
    value: float


def divide(spread: Spreads, start: Floats, *, weights: Floats | None) -> Division:
    """The shares from a start: for the least sum of weighted variances, or where weights is None the largest one.

    A start of zero keeps a table out. For the largest variance the weights follow the variances as in `optimum`.
    """
    shares = start / start.sum()
    largest = weights is None
    c = np.full(spread.tables, 1 / spread.tables) if weights is None else weights
    best, idle = Division(shares, math.inf), 0
    for _ in range(STEPS):
        precisions = shares**spread.power
        variances, state = spread.variances(precisions)
        value = float(variances.max() if largest else c @ variances)
        if not math.isfinite(value):
            break  # the start is not enough: a block is seen by no table
        idle = 0 if value < best.value * (1 - _SETTLED) else idle + 1
        if value < best.value:
            best = Division(shares, value)
        if idle > (_PATIENCE if largest else 0):
            break
        shares = (precisions**2 * spread.seen(c, state)) ** (1 / (spread.power + 1))
        shares = shares / shares.sum()
        if largest:
            c = np.maximum(c * variances / value, 1e-200)
            c = c / c.sum()
    return best


def without_the_small(spread: Spreads, division: Division, *, weights: Floats | None) -> Division:
    """Tables of hardly any share are left out where that does no harm."""
    least = _LEAST * division.shares.max()
    small = division.shares < least
    if not small.any():
        return division
    start = np.where(small, 0.0, division.shares)
    if not spread.covers(start > 0):
        # A block would be seen by no table. Along a tree it may be known all the same, from a level above with as many
        # nodes; then steps without end would make the share so small that no noise of its scale can be drawn.
        shares = np.where(division.shares > 0, np.maximum(division.shares, least), 0.0)
        shares = shares / shares.sum()
        variances, _ = spread.variances(shares**spread.power)
        return Division(shares, float(variances.max() if weights is None else weights @ variances))
    trimmed = divide(spread, start, weights=weights)
    return trimmed if trimmed.value <= division.value * (1 + 1e-6) else division
