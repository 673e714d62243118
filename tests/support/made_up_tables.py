"""Made-up people for tests of sets of tables: their true tables, and noisy blocks of them."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from leastnoise.workload import Workload
from leastnoise.workload.residuals import Table, project


class Survey(NamedTuple):
    sizes: dict[str, int]
    tables: list[Table]
    truth: dict[Table, Any]
    variances: dict[Table, float]

    def noisy(self, seed: int) -> dict[Table, Any]:
        """r_A plus Gaussian noise of covariance y_A C_A."""
        rng = np.random.default_rng(seed)
        return {
            a: project(self.truth[a] + math.sqrt(y) * rng.standard_normal(np.shape(self.truth[a])))
            for a, y in self.variances.items()
        }

    def errors(self, tables: dict[Table, Any]) -> Any:
        """The mean squared error of each table."""
        return np.array([np.mean((tables[t] - self.truth[t]) ** 2) for t in self.tables])


def survey(ways: int = 2, people: int = 5000, mu: float = 0.05, *, sizes: dict[str, int] | None = None) -> Survey:
    """Columns that depend on a hidden class of people, with rare and missing keys."""
    sizes = sizes or {"age": 20, "job": 12, "place": 9, "sex": 2, "kind": 5}
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 4, people)
    rows = {}
    for column, n in sizes.items():
        shares = rng.dirichlet(np.full(n, 0.3), 4)
        uniform = rng.random(people)
        rows[column] = np.minimum((uniform[:, None] > np.cumsum(shares[hidden], axis=1)).sum(axis=1), n - 1)
    workload = Workload(sizes, ways=ways)
    blocks = {a for t in workload.tables for k in range(len(t) + 1) for a in combinations(t, k)}
    truth = {a: _counts(rows, a, sizes) for a in blocks}
    return Survey(sizes, list(workload.tables), truth, dict(workload.optimize(mu=mu).variances))


def _counts(rows: dict[str, Any], table: Table, sizes: dict[str, int]) -> Any:
    shape = [sizes[c] for c in table]
    if not table:
        return np.array(float(len(next(iter(rows.values())))))
    code = np.ravel_multi_index([rows[c] for c in table], shape)
    return np.bincount(code, minlength=math.prod(shape)).reshape(shape).astype(float)
