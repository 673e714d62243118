"""The optimal noise for a set of tables.

Each residual A gets independent noise of variance y_A on the cells of C_A m_A. Under add-remove a row costs
mu^2 = sum_A p_A/y_A, the same for every row, and one cell of table B has the variance
Var_B = sum over A in B of y_A p_A prod over j in B without A of n_j^-2, the same for every cell.

**Weighted sum.** With s_A = sum over the tables B that contain A of c_B prod n_j^-2 the sum of c_B Var_B is that of
s_A p_A y_A. By Cauchy and Schwarz (sum_A p_A sqrt s_A)^2 <= (sum_A p_A/y_A) (sum_A s_A p_A y_A), with equality exactly
where y_A = K/sqrt(s_A); then mu^2 fixes K = sum_A p_A sqrt(s_A)/mu^2.

*No Gaussian linear mechanism does better under add-remove.* Let M_B be the matrix of table B, N the number of cells of
the finest table, and V = sum_B (c_B/cells_B) M_B' M_B. A mechanism whose information matrix is X (of which the diagonal
is what a row costs, so at most mu^2) has sum_B c_B Var_B = tr(V X^-1) on average over the cells of each table. And
tr(V X^-1) tr(X) >= (tr sqrt V)^2 (Cauchy and Schwarz for sqrt V = (V^.5 X^-.5 U) (U' X^.5)), so the sum is at least
(tr sqrt V)^2/(N mu^2): the SVD bound. V commutes with every permutation of the keys of a column, so sqrt V does, too;
its diagonal is constant, and X proportional to sqrt V attains the bound. With N_A the cells of the table A, V has the
eigenvalue N s_A/N_A^2 on the space of residual A, of dimension N_A p_A, so tr sqrt V = sqrt N sum_A p_A sqrt s_A, and
the bound is (sum_A p_A sqrt s_A)^2/mu^2: what the noise above attains.

**Levels of a tree.** The noise of residual A at level k has the precision q_Ak, and Var_B takes the variance at the
level of B of least squares along the tree. Let f(theta) = sum over levels l of w_l times the mean variance of a node of
level l, where a part theta_k of all precision of a residual goes to level k. With P_k the sums of the leaves into level
k and X = sum theta_k P_k'P_k,

    f = sum_l (w_l/n_l) tr(P_l X^-1 P_l'),

so f is convex (X^-1 is, as a matrix), and homogeneous: f(t theta) = f(theta)/t. Without a tree f = w_0/theta_0 = s_A.

*Steps.* theta_k <- theta_k sqrt(g_k), g_k = -df/dtheta_k, never raises f: X^-1 is at most the sum over k of
(theta_k^2/new_k) X^-1 P_k'P_k X^-1, with equality where nothing changes, so f(new) <= sum theta_k^2 g_k/new_k, which is
least where new_k is proportional to theta_k sqrt(g_k).

*Bound.* By convexity at t theta, f(other) >= 2 f/t - (g.other)/t^2 for every t > 0; the best t gives
f(other) >= f^2/(g.other) >= f^2/max_k g_k for every other division. So max_k g_k/f - 1 is a certified gap.

*Several residuals.* A residual A with p_A that gets the precision x_A in all has p_A f_A/x_A, and costs p_A x_A. By
Cauchy and Schwarz the best is x_A proportional to sqrt(f_A), and the sum is (sum_A p_A sqrt f_A)^2/mu^2. With the least
f_A replaced by their bounds it is a bound for the whole, among noise that treats the nodes of a level alike.

**Largest variance.** For weights lambda >= 0 that sum to one, max_B Var_B >= sum_B lambda_B Var_B >= the optimum of the
weighted sum, D(lambda)^2/mu^2 with D = sum_A p_A sqrt(s_A(lambda)). So every lambda certifies a lower bound, and its
noise has an upper one, max_B Var_B. lambda_B <- lambda_B Var_B^2 / sum never lowers D: by Cauchy and Schwarz
sqrt(s_A(lambda)) sqrt(s_A(new)) >= sum_B sqrt(lambda_B new_B) prod n_j^-2, with equality at new = lambda, so D(new) >=
sum_B sqrt(lambda_B new_B) G_B with G_B = sum_A p_A prod n_j^-2/sqrt(s_A(lambda)), which is proportional to Var_B; and
new_B proportional to lambda_B G_B^2 makes the right side largest. Every table has its own lambda. Tables that a
symmetry of the workload exchanges keep equal ones by themselves, because they begin equal; tables that only look alike
(the same sizes, in other company) need different ones. Along a tree the divisions move, too, while lambda does, and
lambda_B <- lambda_B Var_B is the calmer step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.domain import Orbits
from leastnoise.workload.incidence import Incidence, Integers
from leastnoise.workload.tree_least_squares import level_means

GAP = 1e-9  # where the search ends
TREE_GAP = 1e-7  # for the least largest variance along a tree
STEPS = 3000  # and at the latest; the gap that was reached is returned
ROUND = 50
_SMALL = 0.05  # a part below this may be none: steps toward zero become ever shorter
_LEAST = 1e-200  # of a multiplier: its square root times any factor is no denormal number


@dataclass(frozen=True, eq=False)
class Optimum:
    """The variances of the noise at mu = 1, by residual and level, infinite where it is not measured; what they attain,
    and what no others beat."""

    noise: Floats
    value: float
    bound: float


@dataclass(frozen=True, eq=False)
class Means:
    """The mean variance of a node of each level, by residual, where their levels have these precisions.

    means: infinite where a residual is not measured deep enough; of a root alone 1/q.
    slopes: which residuals are computed together, their last level, and the derivatives of their means: by level, by
    the precision of which level, and by residual.
    """

    precisions: Floats
    means: Floats
    slopes: list[tuple[Integers, int, Floats]]

    def times(self, cost: Floats) -> Floats:
        """p_A times the means."""
        return cost[:, None] / self.precisions if self.of_root else cost[:, None] * self.means

    def falls(self, weights: Floats) -> Floats:
        """-d/dq of the sum of the means with these weights, by residual and level."""
        if self.of_root:
            return np.asarray(weights / self.precisions**2)
        made = np.zeros_like(self.means)
        for chosen, depth, slopes in self.slopes:
            made[chosen, : depth + 1] = -np.einsum("bl,lkb->bk", weights[chosen, : depth + 1], slopes)
        return made

    @property
    def of_root(self) -> bool:
        """Whether there is no level but the whole."""
        return int(self.precisions.shape[1]) == 1


def means_of(precisions: Floats, orbits: Orbits, deepest: Integers) -> Means:
    """By residual and level, of least squares along the tree.

    precisions: of one node of each level, by residual. orbits: of the tree's nodes.
    deepest: the last level that is asked for with each residual.
    """
    if precisions.shape[1] == 1:
        with np.errstate(divide="ignore"):
            return Means(precisions, 1 / precisions, [])
    means, slopes = np.full(precisions.shape, np.inf), []
    depths = last_measured(precisions)
    for depth in np.unique(depths[depths >= deepest]).tolist():
        chosen = np.flatnonzero((depths == depth) & (depths >= deepest))
        found, derivatives = level_means(precisions[chosen, : depth + 1].T, orbits)
        means[chosen, : depth + 1] = found.T
        means[chosen, depth + 1 :] = 0.0  # nobody asks for these
        slopes.append((chosen, depth, derivatives))
    return Means(precisions, means, slopes)


def last_measured(precisions: Floats) -> NDArray[np.int64]:
    """The last level of each residual that has a precision; -1 where none has."""
    measured = precisions > 0
    return np.where(measured.any(axis=1), measured.shape[1] - 1 - np.argmax(measured[:, ::-1], axis=1), -1)


def weighted_sum(tables: Incidence, c: Floats, *, gap: float = GAP) -> Optimum:
    """The least sum of c_B times the mean variance of a cell of table B, at mu = 1, for c > 0; to a certified gap."""
    state = _Division(tables)
    state.weigh(c)
    for _ in range(STEPS // ROUND):
        if state.gap <= gap:
            break
        state.steps(ROUND)
        state.without_the_small()
    return Optimum(state.noise, float(c @ state.table_variances()), state.bound)


def least_largest(tables: Incidence) -> Optimum:
    """The least largest variance at mu = 1, along a tree of the means over the cells of a table: to a certified gap.

    Steps are taken in pairs, and from two of them a further one is extrapolated in the logarithms (SQUAREM, Varadhan &
    Roland 2008); it is kept where it raises the bound.
    """
    search = _Search(tables)
    start = np.full(tables.cells.size, 1 / tables.cells.size)
    while not search.done:
        first = search.step(start)
        second = search.step(first)
        bound = search.last
        further = search.step(_extrapolated(start, first, second))
        start = further if search.last >= bound else second
    assert search.best is not None
    return Optimum(search.best.noise, search.best.value, search.bound)


class _Search:
    """The best noise, and the best bound, of the multipliers that were tried."""

    def __init__(self, tables: Incidence) -> None:
        self.tree = tables.tree.depth > 0
        self.state, self.gap, self.left = _Division(tables), TREE_GAP if self.tree else GAP, STEPS
        self.best: Optimum | None = None
        self.bound = self.last = 0.0

    @property
    def done(self) -> bool:
        reached = self.best is not None and self.best.value <= self.bound * (1 + self.gap)
        return reached or self.left <= 0

    def step(self, multipliers: Floats) -> Floats:
        """The multipliers after these, which are judged."""
        if self.done:
            return multipliers
        self.left -= 1
        self.state.weigh(multipliers)
        if self.tree:
            self.state.steps(10 if self.left > STEPS - ROUND else 2)
        variances = self.state.table_variances()
        largest = float(variances.max())
        self.last = self.state.bound
        self.bound = max(self.bound, self.last)
        if self.best is None or largest < self.best.value:
            self.best = Optimum(self.state.noise, largest, self.bound)
        return _on_simplex(multipliers * (variances / largest) ** (1 if self.tree else 2))


def _extrapolated(start: Floats, first: Floats, second: Floats) -> Floats:
    """exp(x + 2 a r + a^2 v) with x, x + r, x + 2 r + v the logarithms, and a = |r|/|v|, at least 1."""
    x, once, twice = (np.log(np.maximum(made, _LEAST)) for made in (start, first, second))
    r, v = once - x, twice - 2 * once + x
    weight = np.sqrt(first)
    turn = float(np.linalg.norm(weight * v))
    length = max(1.0, float(np.linalg.norm(weight * r)) / turn) if turn > 0 else 1.0
    logarithms = x + 2 * length * r + length**2 * v
    return _on_simplex(np.exp(logarithms - logarithms.max()))


def _on_simplex(multipliers: Floats) -> Floats:
    made = np.maximum(multipliers, _LEAST)
    return np.asarray(made / made.sum())


class _Division:
    """Parts theta of each residual's precision for its levels; without a tree all of it is for the one there is."""

    def __init__(self, tables: Incidence) -> None:
        self.tables = tables
        levels = np.arange(tables.shape[1])
        self.parts = (levels <= tables.deepest[:, None]).astype(np.float64)
        for level in levels[:-1]:
            if tables.tree.sizes[level] == tables.tree.sizes[level + 1]:  # the level below says the same
                self.parts[tables.deepest > level, level] = 0.0
        self.parts /= self.parts.sum(axis=1, keepdims=True)

    def weigh(self, c: Floats) -> None:
        """Take these weights of the tables."""
        self.weights = self.tables.weights(c)
        self._evaluate()

    def _evaluate(self) -> None:
        tables = self.tables
        if tables.tree.depth:
            found = means_of(self.parts, tables.orbits, tables.deepest)
            self.means, self.slopes = found.means, found.falls(self.weights)
            self.value = (self.weights * self.means).sum(axis=1)
            self.least = self.value**2 / self.slopes.max(axis=1)
        else:
            self.means, self.slopes = np.ones_like(self.parts), self.weights
            self.value = self.least = self.weights[:, 0]
        self.root = _dot(tables.cost, np.sqrt(self.value))
        self.bound = (self.root if self.least is self.value else _dot(tables.cost, np.sqrt(self.least))) ** 2

    @property
    def gap(self) -> float:
        """Of the weighted sum."""
        return self.root**2 / self.bound - 1

    def steps(self, count: int) -> None:
        """So many steps toward the best division of each residual."""
        for _ in range(count):
            made = self.parts * np.sqrt(self.slopes)
            self.parts = made / made.sum(axis=1, keepdims=True)
            self._evaluate()

    def without_the_small(self) -> None:
        """Residuals that are nearer to the best without their small parts are left without them. The bound is over all
        levels, so it would show where one was needed."""
        before, gaps = self.parts, self.value / self.least
        last = np.arange(self.parts.shape[1]) == self.tables.deepest[:, None]
        trial = np.where((before < _SMALL) & ~last, 0.0, before)
        if (trial == before).all():
            return
        self.parts = trial / trial.sum(axis=1, keepdims=True)
        self._evaluate()
        self.steps(ROUND)
        better = self.value / self.least < gaps
        self.parts = np.where(better[:, None], self.parts, before)
        self._evaluate()

    @property
    def noise(self) -> Floats:
        """y = K/(theta sqrt(f_A)), so that sum p_A x_A = 1."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.root / (self.parts * np.sqrt(self.value)[:, None]))

    def table_variances(self) -> Floats:
        """The mean variance of a cell of each table."""
        return self.tables.variances(self.means * (self.root / np.sqrt(self.value))[:, None])


def _dot(cost: Floats, roots: Floats) -> float:
    return math.fsum(cost * roots) if len(roots) < 10_000 else float(cost @ roots)
