"""How a promise is best divided among the levels of a tree, with a bound on how far from the best that is.

Let f(theta) = sum over levels l of w_l times the mean variance of a node of level l, where a part theta_k of all
precision goes to level k. With P_k the sums of the leaves into level k and X = sum theta_k P_k'P_k,

    f = sum_l (w_l/n_l) tr(P_l X^-1 P_l'),

so f is convex (X^-1 is, as a matrix), and homogeneous: f(t theta) = f(theta)/t.

**Steps.** theta_k <- theta_k sqrt(g_k), g_k = -df/dtheta_k, never raises f: X^-1 is at most the sum over k of
(theta_k^2/new_k) X^-1 P_k'P_k X^-1, with equality where nothing changes, so f(new) <= sum theta_k^2 g_k/new_k, which is
least where new_k is proportional to theta_k sqrt(g_k).

**Bound.** By convexity at t theta, f(other) >= 2 f/t - (g.other)/t^2 for every t > 0; the best t gives
f(other) >= f^2/(g.other) >= f^2/max_k g_k for every other division. So max_k g_k/f - 1 is a certified gap.

**Several blocks.** A block A with p_A that gets the precision x_A in all has p_A f_A/x_A, and costs p_A x_A. By Cauchy
and Schwarz the best is x_A proportional to sqrt(f_A), and the sum is (sum_A p_A sqrt f_A)^2/mu^2. With the least f_A
replaced by their bounds it is a bound for the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leastnoise.domain import Orbits
from leastnoise.workload.incidence import Floats
from leastnoise.workload.tree_least_squares import level_means

GAP = 1e-9
STEPS = 3000
ROUND = 50
_SMALL = 0.05  # a part below this may be none: steps toward zero become ever shorter


@dataclass(frozen=True, eq=False)
class LevelBlocks:
    """The blocks of a set of tables along a tree.

    orbits: of the tree's nodes. deepest: for each block the last level that a table asks for.
    probability: p_A of each. weights: a SciPy array with a row a table and a column a block and level, in that order,
    (levels of all blocks as many as the tree has): prod over j in B without A of n_j^-2 where the table has that
    level and contains A.
    levels: how many levels the tree has, the root among them. idle: levels as large as the one below, which says the
    same.
    """

    orbits: Orbits
    deepest: np.ndarray[Any, Any]
    probability: Floats
    weights: Any
    levels: int
    idle: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class LevelOptimum:
    """The precisions at mu = 1, a row a block and a column a level; what they attain, and what no others beat."""

    precisions: Floats
    value: float
    bound: float
    means: Floats  # mean variance of a node, by block and level

    @property
    def gap(self) -> float:
        """How far the value may be above the least, relatively."""
        return max(0.0, self.value / self.bound - 1)


def weighted_sum(blocks: LevelBlocks, c: Floats) -> LevelOptimum:
    """The least sum of c_B times the mean variance of a cell of table B, at mu = 1."""
    state = _Division(blocks)
    state.weigh(c)
    while state.gap > GAP and state.steps < STEPS:
        for _ in range(ROUND):
            state.step()
        state.without_the_small()
    return state.optimum(float(c @ state.table_variances()), state.bound)


def least_largest(blocks: LevelBlocks) -> LevelOptimum:
    """The least of the largest variance of a table, the mean over its cells, at mu = 1: to a certified gap.

    For weights lambda that sum to one the weighted sum is at most the largest, so its bound is one for that, too. The
    weights follow the variances.
    """
    state = _Division(blocks)
    tables = blocks.weights.shape[0]
    c = np.full(tables, 1 / tables)
    best, bound = None, 0.0
    for count in range(STEPS):
        state.weigh(c)
        for _ in range(2 if count > 50 else 10):
            state.step()
        variances = state.table_variances()
        largest, bound = float(variances.max()), max(bound, state.bound)
        if best is None or largest < best.value:
            best = state.optimum(largest, bound)
        if best.value <= bound * (1 + 1e-7):
            break
        c = np.maximum(c * variances / largest, 1e-200)
        c = c / c.sum()
    assert best is not None
    return LevelOptimum(best.precisions, best.value, bound, best.means)


class _Division:
    """Parts theta of each block's precision for its levels; blocks of one depth are computed together."""

    def __init__(self, blocks: LevelBlocks) -> None:
        self.blocks = blocks
        count = blocks.probability.size
        self.parts = np.zeros((count, blocks.levels))
        for block, deepest in enumerate(blocks.deepest.tolist()):
            self.parts[block, : deepest + 1] = 1.0
        for level in blocks.idle:
            self.parts[blocks.deepest > level, level] = 0.0  # the level below says the same
        self.parts /= self.parts.sum(axis=1, keepdims=True)
        self.weights = np.zeros_like(self.parts)
        self.means, self.slopes = np.zeros_like(self.parts), np.zeros_like(self.parts)
        self.value, self.least, self.bound = np.zeros(count), np.zeros(count), 0.0
        self.steps = 0

    def weigh(self, c: Floats) -> None:
        """Take these weights of the tables."""
        self.weights = np.asarray(self.blocks.weights.T @ c).reshape(self.parts.shape)
        self._evaluate()

    def step(self) -> float:
        """One step; returns the gap after it."""
        made = self.parts * np.sqrt(self.slopes)
        self.parts = made / made.sum(axis=1, keepdims=True)
        self._evaluate()
        self.steps += 1
        return self.gap

    @property
    def gap(self) -> float:
        """Of the weighted sum."""
        return float(self.blocks.probability @ np.sqrt(self.value)) ** 2 / self.bound - 1

    def without_the_small(self) -> None:
        """Blocks that are nearer to the best without their small parts are left without them. The bound is over all
        levels, so it would show where one was needed."""
        before, gaps = self.parts, self.value / self.least
        last = np.arange(self.parts.shape[1]) == self.blocks.deepest[:, None]
        trial = np.where((before < _SMALL) & ~last, 0.0, before)
        if (trial == before).all():
            return
        self.parts = trial / trial.sum(axis=1, keepdims=True)
        self._evaluate()
        for _ in range(ROUND):
            self.step()
        better = self.value / self.least < gaps
        self.parts = np.where(better[:, None], self.parts, before)
        self._evaluate()

    def table_variances(self) -> Floats:
        """The mean variance of a cell of each table, at mu = 1."""
        share = self._shares()
        spread = self.blocks.probability[:, None] * self.means / share[:, None]
        return np.asarray(self.blocks.weights @ spread.ravel())

    def optimum(self, value: float, bound: float) -> LevelOptimum:
        share = self._shares()[:, None]
        return LevelOptimum(self.parts * share, value, bound, self.means / share)

    def _shares(self) -> Floats:
        """x_A: of the whole precision, so that sum p_A x_A = 1."""
        roots = np.sqrt(self.value)
        return np.asarray(roots / float(self.blocks.probability @ roots))

    def _evaluate(self) -> None:
        for deepest in np.unique(self.blocks.deepest).tolist():
            chosen = np.flatnonzero(self.blocks.deepest == deepest)
            means, slopes = level_means(self.parts[chosen, : deepest + 1].T, self.blocks.orbits)
            self.means[chosen, : deepest + 1] = means.T
            self.slopes[chosen, : deepest + 1] = -np.einsum("bl,lkb->bk", self.weights[chosen, : deepest + 1], slopes)
        self.value = (self.weights * self.means).sum(axis=1)
        self.least = self.value**2 / self.slopes.max(axis=1)
        self.bound = float(self.blocks.probability @ np.sqrt(self.least)) ** 2
