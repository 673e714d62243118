"""The optimal noise for a set of tables.

Each block A gets independent noise of variance y_A on the cells of C_A m_A. Under add-remove a row costs
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
eigenvalue N s_A/N_A^2 on the space of block A, of dimension N_A p_A, so tr sqrt V = sqrt N sum_A p_A sqrt s_A, and the
bound is (sum_A p_A sqrt s_A)^2/mu^2: what the noise above attains.

**Largest variance.** For weights lambda >= 0 that sum to one, max_B Var_B >= sum_B lambda_B Var_B >= the optimum of the
weighted sum, D(lambda)^2/mu^2 with D = sum_A p_A sqrt(s_A(lambda)). So every lambda certifies a lower bound, and its
noise has an upper one, max_B Var_B. lambda_B <- lambda_B Var_B^2 / sum never lowers D: by Cauchy and Schwarz
sqrt(s_A(lambda)) sqrt(s_A(new)) >= sum_B sqrt(lambda_B new_B) prod n_j^-2, with equality at new = lambda, so D(new) >=
sum_B sqrt(lambda_B new_B) G_B with G_B = sum_A p_A prod n_j^-2/sqrt(s_A(lambda)), which is proportional to Var_B; and
new_B proportional to lambda_B G_B^2 makes the right side largest. Every table has its own lambda. Tables that a
symmetry of the workload exchanges keep equal ones by themselves, because they begin equal; tables that only look alike
(the same sizes, in other company) need different ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leastnoise.workload.incidence import Floats, Incidence

GAP = 1e-9  # where the search for the least largest variance ends
STEPS = 3000  # and at the latest; the gap that was reached is returned
_LEAST = 1e-200  # of a multiplier: its square root times any factor is no denormal number


@dataclass(frozen=True)
class Optimum:
    """The variances y_A at mu = 1, what they attain, what no Gaussian noise beats, and the weights that prove it."""

    variances: Floats
    value: float
    bound: float
    multipliers: Floats

    @property
    def gap(self) -> float:
        """How far the value may be above the optimum, relatively."""
        return max(0.0, self.value / self.bound - 1)


def weighted_sum(lattice: Incidence, c: Floats) -> Optimum:
    """The least sum of c_B Var_B at mu = 1, for c > 0."""
    y, root = _noise(lattice, c)
    return Optimum(y, float(c @ lattice.variances(y)), root**2, c)


def least_largest(lattice: Incidence, *, gap: float = GAP, steps: int = STEPS) -> Optimum:
    """The least largest variance at mu = 1, to a certified gap.

    Steps are taken in pairs, and from two of them a further one is extrapolated in the logarithms (SQUAREM, Varadhan &
    Roland 2008); it is kept where it raises the bound.
    """
    search = _Search(lattice, gap, steps)
    start = np.full(len(lattice.cells), 1 / len(lattice.cells))
    while not search.done:
        first = search.step(start)
        second = search.step(first)
        bound = search.last
        further = search.step(_extrapolated(start, first, second))
        start = further if search.last >= bound else second
    assert search.best is not None
    return Optimum(search.best.variances, search.best.value, search.bound, search.best.multipliers)


class _Search:
    """The best noise, and the best bound, of the multipliers that were tried."""

    def __init__(self, lattice: Incidence, gap: float, steps: int) -> None:
        self.lattice, self.gap, self.left = lattice, gap, steps
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
        y, root = _noise(self.lattice, multipliers)
        variance = self.lattice.variances(y)
        largest = float(variance.max())
        self.last = root**2
        self.bound = max(self.bound, self.last)
        if self.best is None or largest < self.best.value:
            self.best = Optimum(y, largest, self.bound, multipliers)
        return _on_simplex(multipliers * (variance / largest) ** 2)


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


def _noise(lattice: Incidence, c: Floats) -> tuple[Floats, float]:
    """y_A = K/sqrt(s_A) at mu = 1, and K = sum_A p_A sqrt(s_A)."""
    roots = np.sqrt(lattice.weights(c))
    total = math.fsum(lattice.probability * roots) if len(roots) < 10_000 else float(lattice.probability @ roots)
    return total / roots, total
