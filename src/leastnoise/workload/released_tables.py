"""Which plain tables to release, so that those asked for can be summed from them with the least error.

Candidates are the tables asked for and their subsets; and, where larger ones are allowed, unions of tables. Unions are
tried greedily: of the tables that no other contains, the pair whose union lowers the error most is merged, until none
does; and all of them at once. Every candidate set gets its best shares from several starts (`shares`). In the end
single tables are left out or put in. This is a search, not a proof; the tests try random starts, and none is better.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from leastnoise.workload.incidence import Floats
from leastnoise.workload.shares import Division, Spread, Spreads, divide, without_the_small
from leastnoise.workload.tables import Table, Workload

FEW = 40  # tables asked for: up to here subsets are candidates
MERGED = 10  # tables that no other contains: up to here unions are candidates
CANDIDATES, ROUNDS = 48, 10  # of single tables that are left out or put in
LARGEST_UNION = 2**20  # cells of a table that nobody asked for


def block_precisions(workload: Workload, tables: Sequence[Table]) -> Any:
    """The precision of each block (a column) in each table (a row) whose cells have precision one: a SciPy array of
    t_RA = prod over R without A of 1/n_j."""
    from scipy.sparse import csr_array

    if workload.as_in_lattice and not workload.asked and tuple(tables) == workload.tables:
        matrix = workload.lattice.shrink.copy()
        matrix.data = np.sqrt(matrix.data)
        return matrix
    rows, columns, factors = [], [], []
    known = {block: i for i, block in enumerate(workload.blocks)}
    for row, table in enumerate(tables):
        cells = workload.cells_of(table)
        within: Iterable[Table] = (
            itertools.chain.from_iterable(itertools.combinations(table, k) for k in range(len(table) + 1))
            if 2 ** len(table) <= len(known)
            else (block for block in known if set(block) <= set(table))
        )
        for block in within:
            if block in known:
                rows.append(row)
                columns.append(known[block])
                factors.append(workload.cells_of(block) / cells)
    return csr_array((factors, (rows, columns)), shape=(len(tables), len(known)))


def plain_spread(workload: Workload, tables: Sequence[Table], *, power: int) -> Spread:
    """What these tables tell about the blocks, and what is to be small.

    workload: the tables asked for. tables: that could be released. power: a of `shares`.
    """
    lattice = workload.lattice
    return Spread(block_precisions(workload, tables), lattice.shrink, lattice.probability, power)


def choose(workload: Workload, *, power: int, weights: Floats | None, larger: bool) -> dict[Table, float]:
    """The tables to release, each with its share: of epsilon with power 2, of mu^2 with power 1.

    weights: c_B of each table asked for; None makes the largest variance least.
    """
    key = (power, None if weights is None else weights.tobytes(), larger)
    if key not in workload.known_shares:  # they are the same for every epsilon
        workload.known_shares[key] = _search(workload, power=power, weights=weights, larger=larger)
    return workload.known_shares[key]


def _search(workload: Workload, *, power: int, weights: Floats | None, larger: bool) -> dict[Table, float]:
    search = _Search(workload, power, weights)
    asked = len(workload.lattice.cells)
    if asked > FEW:
        search.attempt(list(workload.tables), workload.maximal)
        return search.found
    every = list(dict.fromkeys([*workload.tables, *itertools.islice(workload.smaller(), CANDIDATES)]))
    search.attempt(list(workload.tables), workload.maximal)
    search.attempt(every, workload.maximal)
    # For the largest variance the tables are sought by the sum of variances, which is faster.
    sums = search if weights is not None else _Search(workload, power, np.ones(asked))
    if sums is not search:
        sums.attempt(every, workload.maximal)
    if larger and len(workload.maximal) <= MERGED:
        sums.merge(list(workload.maximal))
    if power > 1:  # else the sum is convex, and where the steps end is the best
        sums.exchange(every)
    if sums is not search:
        others = [table for table in workload.tables if table not in sums.found]
        search.attempt([*sums.found, *others], list(sums.found))
    return search.found


class _Search:
    """The best division that was found so far."""

    def __init__(self, workload: Workload, power: int, weights: Floats | None) -> None:
        self.workload, self.power = workload, power
        self.weights = None if weights is None else np.asarray(workload.in_lattice(weights))
        self.value = math.inf
        self.found: dict[Table, float] = {}

    def attempt(self, tables: list[Table], enough: Sequence[Table]) -> float:
        """The least error of releasing any of these tables; kept where it is the least so far."""
        spread = self._spread(tables)
        sufficient = set(enough)
        alone = np.array([table in sufficient for table in tables])
        starts = [np.ones(len(tables)), np.where(alone, 1.0, 0.0), np.where(alone, 1.0, 0.1)]
        divisions = [divide(spread, start.astype(np.float64), weights=self.weights) for start in starts]
        chosen: Division = min(divisions, key=lambda made: made.value)
        chosen = without_the_small(spread, chosen, weights=self.weights)
        self._keep(tables, chosen)
        return chosen.value

    def exchange(self, candidates: Sequence[Table]) -> None:
        """One table less, or one more of the candidates, as long as that helps."""
        tables = list(dict.fromkeys([*self.found, *candidates]))[:CANDIDATES]
        spread = self._spread(tables)
        for _ in range(ROUNDS):
            now, before = np.array([self.found.get(table, 0.0) for table in tables]), self.value
            for i, share in enumerate(now):
                start = now.copy()
                start[i] = 0.0 if share else 0.25
                if spread.covers(start > 0):
                    made = divide(spread, start, weights=self.weights)
                    self._keep(tables, without_the_small(spread, made, weights=self.weights))
            if self.value > before * (1 - 1e-6):
                return

    def _spread(self, tables: list[Table]) -> Spreads:
        return self.workload.spread(tables, power=self.power)

    def _keep(self, tables: list[Table], division: Division) -> None:
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
