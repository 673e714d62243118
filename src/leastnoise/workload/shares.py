"""Laplace noise on plain tables, instead of Gaussian noise on residuals: for a handful of tables, without a delta.

Some tables are released as whole numbers with noise of their own; all tables asked for come from them by least squares,
residual by residual: unbiased, consistent with each other. The tables released need not be those asked for: fewer,
larger ones may cost less than they lose when summed up.

Table R gets independent noise of precision w_R (one over the variance) on its cells. Summed to the residual A in R, one
cell of C_A m_A has the precision w_R/prod over R without A of n_j, at the level of R. Noise on different residuals of
one table is uncorrelated, because their spaces are orthogonal, so precisions add up residual by residual:

    q_A = sum over the released tables R that contain A of  w_R t_RA,    t_RA = prod over R without A of 1/n_j,

along a tree at each level by itself, and least squares runs along the tree. The weighted sum of variances is
f = sum_A s_A p_A/q_A. A share x_R of epsilon buys w_R = x_R^2: epsilon adds up, and the variance of Laplace noise is
2/epsilon^2. That is add-remove, where a row costs every table alike; under replace, where a total costs nothing, the
same shares are kept, and others may be better.

*Each step lowers f.* 1/x is convex, so with the parts theta_RA = w_R t_RA/q_A, which sum to one over R,
1/q_A(new) <= sum_R theta_RA^2/(new_R t_RA), with equality where nothing changes. The sum over A is sum_R h_R/new_R,
with h_R = w_R^2 sum_A t_RA s_A p_A/q_A^2, and for a fixed sum of shares it is least where x_R is as h_R^(1/3). Along a
tree, with P_l the sums of the leaves into level l, the variances of residual A are those of X^-1,
X = sum_R w_R t_RA P_l'P_l, and X^-1 after a change is at most sum_R (w_R^2/new_R) t_RA X^-1 P_l'P_l X^-1, with equality
where nothing changes (`optimum`). So f(new) <= sum_R h_R/new_R with h_R = w_R^2 sum_A t_RA (-df/dq_Al).

f is not convex in the shares: releasing fewer tables may be a valley of its own, so several starts are made, and tables
whose share vanishes are dropped.

*Which tables.* Candidates are the tables asked for and their subsets; and, where larger ones are allowed, unions of
tables. Unions are tried greedily: of the tables that no other contains, the pair whose union lowers the error most is
merged, until none does; and all of them at once. Every candidate set gets its best shares from several starts. In the
end single tables are left out or put in. This is a search, not a proof; the tests try random starts: none is better.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from leastnoise._support import validation
from leastnoise._support.validation import Floats, Number
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.unit_cost import least_noise
from leastnoise.workload.columns import Table
from leastnoise.workload.incidence import informs
from leastnoise.workload.noisy_tables import NoisyTables
from leastnoise.workload.optimum import Means, last_measured, means_of
from leastnoise.workload.strategy import Weights, table_weights
from leastnoise.workload.tables import Workload

STEPS = 500
FEW = 40  # tables asked for: up to here subsets are candidates
MERGED = 10  # tables that no other contains: up to here unions are candidates
CANDIDATES, ROUNDS = 48, 10  # of single tables that are left out or put in
LARGEST_UNION = 2**20  # cells of a table that nobody asked for
_LEAST = 1e-4  # a share below this of an equal one is dropped
_SETTLED = 1e-9  # relative change of the objective at which the steps end
_PATIENCE = 40  # steps without a better largest variance, which does not fall at every step
_NOTHING = 1e-30  # of the largest precision: a share that the steps make ever smaller


def laplace_tables(
    workload: Workload,
    *,
    epsilon: Number,
    weights: Weights = "tables",
    unit: int = 1,
    larger: bool = True,
    weight: int = 1,
    neighbours: Neighbours = "add-remove",
) -> NoisyTables:
    """Laplace noise on plain tables, with the shares of epsilon that make the stated error least.

    workload: the tables asked for. epsilon: of all of them together. weights: as for `Workload.optimize`.
    unit: how many whole steps a row of weight one counts.
    larger: whether tables that were not asked for may be released, to sum those asked for from.
    weight: the most that the rows of a unit weigh together, in whole steps. neighbours: "add-remove" or "replace".
    """
    spend = Fraction(validation.number("epsilon", epsilon))
    wanted = None if isinstance(weights, str) and weights == "worst" else table_weights(workload, weights)
    shares = choose(workload, weights=wanted, larger=larger)
    scales = {table: 1 / float(share) for table, share in shares.items()}
    cost = workload.unit_cost(weight, neighbours)
    return workload.with_laplace(least_noise(cost.epsilon, scales, spend, power=1)[0], unit=unit)


class Candidates:
    """What tables could be released, and what is to be small.

    workload: the tables asked for. tables: that could be released.
    """

    def __init__(self, workload: Workload, tables: Sequence[Table]) -> None:
        self.asked, self.told = workload.incidence, informs(workload, tables)

    def variances(self, precisions: Floats) -> tuple[Floats, Means]:
        """The variance of each table asked for, where those released have these precisions; and of each residual."""
        q = self._measured(precisions)
        q[q < _NOTHING * q.max()] = 0.0
        means = means_of(q, self.asked.orbits, self.asked.deepest)
        return np.asarray(self.asked.asks @ means.times(self.asked.cost).ravel()), means

    def seen(self, c: Floats, means: Means) -> Floats:
        """How fast the precision of each table released lowers the sum weighted with c: sum_A t_RA (-df/dq_Al)."""
        falls = means.falls(self.asked.weights(c) * self.asked.cost[:, None])
        return np.asarray(self.told @ np.maximum(falls, 0.0).ravel())

    def covers(self, released: Any) -> bool:
        """Whether every residual is measured at the deepest level that is asked for with it, or below."""
        measured = self._measured(np.asarray(released, dtype=np.float64))
        return bool((last_measured(measured) >= self.asked.deepest).all())

    def _measured(self, precisions: Floats) -> Floats:
        return np.asarray(self.told.T @ precisions).reshape(self.asked.shape)


@dataclass(frozen=True)
class PrecisionShares:
    """Shares that sum to one, and what they attain where the whole promise buys w = 1."""

    shares: Floats
    value: float


def divide(candidates: Candidates, start: Floats, *, weights: Floats | None) -> PrecisionShares:
    """The shares from a start: for the least sum of weighted variances, or where weights is None the largest one.

    A start of zero keeps a table out. For the largest variance the weights follow the variances as in `optimum`.
    """
    shares = start / start.sum()
    largest = weights is None
    c = np.full(candidates.asked.cells.size, 1 / candidates.asked.cells.size) if weights is None else weights
    best, idle = PrecisionShares(shares, math.inf), 0
    for _ in range(STEPS):
        precisions = shares**2
        variances, means = candidates.variances(precisions)
        value = float(variances.max() if largest else c @ variances)
        if not math.isfinite(value):
            break  # the start is not enough: a residual is seen by no table
        idle = 0 if value < best.value * (1 - _SETTLED) else idle + 1
        if value < best.value:
            best = PrecisionShares(shares, value)
        if idle > (_PATIENCE if largest else 0):
            break
        shares = (precisions**2 * candidates.seen(c, means)) ** (1 / 3)
        shares = shares / shares.sum()
        if largest:
            c = np.maximum(c * variances / value, 1e-200)
            c = c / c.sum()
    return best


def without_the_small(candidates: Candidates, division: PrecisionShares, *, weights: Floats | None) -> PrecisionShares:
    """Tables of hardly any share are left out where that does no harm."""
    least = _LEAST * division.shares.max()
    small = division.shares < least
    if not small.any():
        return division
    start = np.where(small, 0.0, division.shares)
    if not candidates.covers(start > 0):
        # A residual would be seen by no table. Along a tree it may be known all the same, from a level above with as
        # many nodes; then steps without end would make the share so small that no noise of its scale can be drawn.
        shares = np.where(division.shares > 0, np.maximum(division.shares, least), 0.0)
        shares = shares / shares.sum()
        variances, _ = candidates.variances(shares**2)
        return PrecisionShares(shares, float(variances.max() if weights is None else weights @ variances))
    trimmed = divide(candidates, start, weights=weights)
    return trimmed if trimmed.value <= division.value * (1 + 1e-6) else division


def choose(workload: Workload, *, weights: Floats | None, larger: bool) -> dict[Table, float]:
    """The tables to release, each with its share of epsilon.

    weights: c_B of each table asked for; None makes the largest variance least.
    """
    key = (None if weights is None else weights.tobytes(), larger)
    if key not in workload.known_shares:  # they are the same for every epsilon
        workload.known_shares[key] = _search(workload, weights=weights, larger=larger)
    return workload.known_shares[key]


def _search(workload: Workload, *, weights: Floats | None, larger: bool) -> dict[Table, float]:
    search = _Search(workload, weights)
    asked = len(workload.tables)
    if asked > FEW:
        search.attempt(list(workload.tables), workload.maximal)
        return search.found
    every = list(dict.fromkeys([*workload.tables, *itertools.islice(workload.smaller(), CANDIDATES)]))
    search.attempt(list(workload.tables), workload.maximal)
    search.attempt(every, workload.maximal)
    # For the largest variance the tables are sought by the sum of variances, which is faster.
    sums = search if weights is not None else _Search(workload, np.ones(asked))
    if sums is not search:
        sums.attempt(every, workload.maximal)
    if larger and len(workload.maximal) <= MERGED:
        sums.merge(list(workload.maximal))
    sums.exchange(every)
    if sums is not search:
        others = [table for table in workload.tables if table not in sums.found]
        search.attempt([*sums.found, *others], list(sums.found))
    return search.found


class _Search:
    """The best division that was found so far."""

    def __init__(self, workload: Workload, weights: Floats | None) -> None:
        self.workload = workload
        self.weights = weights
        self.value = math.inf
        self.found: dict[Table, float] = {}

    def attempt(self, tables: list[Table], enough: Sequence[Table]) -> float:
        """The least error of releasing any of these tables; kept where it is the least so far."""
        candidates = Candidates(self.workload, tables)
        sufficient = set(enough)
        alone = np.array([table in sufficient for table in tables])
        starts = [np.ones(len(tables)), np.where(alone, 1.0, 0.0), np.where(alone, 1.0, 0.1)]
        divisions = [divide(candidates, start.astype(np.float64), weights=self.weights) for start in starts]
        chosen: PrecisionShares = min(divisions, key=lambda made: made.value)
        chosen = without_the_small(candidates, chosen, weights=self.weights)
        self._keep(tables, chosen)
        return chosen.value

    def exchange(self, others: Sequence[Table]) -> None:
        """One table less, or one more of the others, as long as that helps."""
        tables = list(dict.fromkeys([*self.found, *others]))[:CANDIDATES]
        candidates = Candidates(self.workload, tables)
        for _ in range(ROUNDS):
            now, before = np.array([self.found.get(table, 0.0) for table in tables]), self.value
            for i, share in enumerate(now):
                start = now.copy()
                start[i] = 0.0 if share else 0.25
                if candidates.covers(start > 0):
                    made = divide(candidates, start, weights=self.weights)
                    self._keep(tables, without_the_small(candidates, made, weights=self.weights))
            if self.value > before * (1 - 1e-6):
                return

    def _keep(self, tables: list[Table], division: PrecisionShares) -> None:
        if division.value < self.value:
            self.value = division.value
            shares = zip(tables, division.shares.tolist(), strict=True)
            self.found = {table: share for table, share in shares if share > 0}

    def merge(self, tops: list[Table]) -> None:
        """Pairs of tables become their unions as long as that helps; and all at once."""
        self._with_tops([self.workload.union(tops)])
        reached = math.inf
        while len(tops) > 1:
            unions = [self._merged(tops, one, other) for one, other in itertools.combinations(tops, 2)]
            errors = [self._with_tops(made) for made in unions]
            least = int(np.argmin(errors))
            if errors[least] >= min(reached, self.value * 1.5):  # a merge may open the way to a better one
                return
            reached, tops = errors[least], unions[least]

    def _merged(self, tops: list[Table], one: Table, other: Table) -> list[Table]:
        union = self.workload.union([one, other])
        return [union, *(table for table in tops if table != union and not self.workload.sums_up(union, table))]

    def _with_tops(self, tops: list[Table]) -> float:
        if max(map(self.workload.cells_of, tops)) > LARGEST_UNION:
            return math.inf
        others = [table for table in self.workload.tables if table not in tops]
        return self.attempt([*tops, *others], tops)
