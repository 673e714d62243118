"""A strategy: how much noise each residual block gets, and how accurate every table is then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.workload.incidence import Floats
from leastnoise.workload.optimum import least_largest, weighted_sum
from leastnoise.workload.table_errors import ByBlock, TableErrors
from leastnoise.workload.tables import Table, Workload

Weights = Literal["tables", "cells", "worst"] | Mapping[Any, Number]
WORDS = ("tables", "cells", "worst")


class Strategy(TableErrors):
    """Gaussian noise for every block of a workload, and the errors of its tables. Made by `Workload.optimize`.

    >>> s = Workload({"age": 100, "sex": 2}, ways=2).optimize(mu=1, weights="cells")
    >>> round(s.rmse, 3), round(s.std["sex", "age"], 3), s.gap < 1e-12
    (1.21, 1.079, True)
    """

    def __init__(
        self, workload: Workload, *, mu: float, variances: Floats, weights: Weights, value: float, bound: float
    ) -> None:
        super().__init__(workload, variances)
        self._mu = mu
        self._weights: Weights = weights
        self._value, self._bound = value, bound

    @property
    def mu(self) -> float:
        """What one row costs under add-remove: mu^2 = sum_A p_A/y_A."""
        return self._mu

    @property
    def variances(self) -> Mapping[Table, float]:
        """y_A of each block: the variance of the noise on one cell of C_A m_A, before it is projected."""
        return ByBlock(self.workload, self.block_variances)

    @property
    def gap(self) -> float | None:
        """How far the error may be above the least that any Gaussian linear mechanism has under add-remove (certified,
        relative). Of replace it says nothing: there a table of two keys that counts everybody has twice the least.

        None where a column has cumulative sums or ranges: nobody knows the least for sets of such tables."""
        return None if self.workload.strategies else max(0.0, self._value / self._bound - 1)

    @property
    def certificate(self) -> dict[str, Any]:
        """What is optimal, among what, under which neighbours: the value reached and the bound nobody can beat."""
        return {
            "objective": "largest variance" if self._weights == "worst" else "weighted sum of variances",
            "weights": self._weights if isinstance(self._weights, str) else "given",
            "among": f"all Gaussian {'noise on these blocks' if self.workload.strategies else 'linear mechanisms'}",
            "neighbours": "add-remove",
            "mu": self._mu,
            "value": self._value,
            "lower_bound": self._bound,
            "gap": self.gap,
        }

    def at(self, mu: Number) -> Strategy:
        """The same strategy with noise for another mu: variances grow by (mu before/mu)^2.

        mu: what one row may cost, as in Gaussian DP.
        """
        other = validation.number("mu", mu)
        factor = (self._mu / other) ** 2
        return Strategy(
            self.workload,
            mu=other,
            variances=self.block_variances * factor,
            weights=self._weights,
            value=self._value * factor,
            bound=self._bound * factor,
        )

    def __repr__(self) -> str:
        gap = "" if self.gap is None else f", gap={self.gap:.1e}"
        return f"Strategy({self.workload!r}, mu={self._mu:g}, rmse={self.rmse:.4g}{gap})"


def optimal(workload: Workload, *, mu: Number = 1.0, weights: Weights = "tables") -> Strategy:
    """`Workload.optimize`."""
    budget = validation.number("mu", mu)
    scale = budget**-2
    workload = with_best_strategies(workload, weights)
    if isinstance(weights, str) and validation.word("weights", weights, WORDS) == "worst":
        found = least_largest(workload.lattice)
    else:
        found = weighted_sum(workload.lattice, workload.in_lattice(table_weights(workload, weights)))
    return Strategy(
        workload,
        mu=budget,
        variances=found.variances * scale,
        weights=weights if isinstance(weights, str) else dict(weights),
        value=found.value * scale,
        bound=found.bound * scale,
    )


def with_best_strategies(workload: Workload, weights: Weights) -> Workload:
    """The same tables, their ordered columns with the strategies that are best for these weights; as they are, where
    they have strategies already or no column needs one.

    workload: the tables. weights: what is to be least, as for `Workload.optimize`; for "worst" every table counts.
    """
    if not workload.asked or workload.strategies:
        return workload
    from leastnoise.workload.ordered.chosen_columns import best_columns

    c = np.ones(len(workload.lattice.cells)) if weights == "worst" else table_weights(workload, weights)
    key = c.tobytes()
    if key not in workload.known_strategies:
        workload.known_strategies[key] = best_columns(workload, c)
    return workload.with_strategies(workload.known_strategies[key])


def table_weights(workload: Workload, weights: Weights) -> Floats:
    """c_B for each table asked for, in order: what multiplies the variance of one of its cells in the sum."""
    lattice = workload.lattice
    if isinstance(weights, str):
        word = validation.word("weights", weights, WORDS)
        return np.asarray(workload.in_order(lattice.cells)) if word == "cells" else np.ones(len(lattice.cells))
    if not isinstance(weights, Mapping):
        raise errors.WrongType(
            f"weights must be a word or a mapping of tables to numbers. Got {type(weights).__name__} instead.",
            parameter="weights",
            example=[{"weights": "tables"}, {"weights": {("age", "sex"): 10}}],
        )
    made = np.ones(len(lattice.cells))
    given: dict[int, Any] = {}
    for columns, weight in weights.items():
        place = workload.place(columns)
        if place is None or place in given:
            wrong = "was not asked for, so it can have no weight" if place is None else "has two weights"
            raise errors.InvalidParameter(
                f"The table {workload.table(columns)!r} {wrong}.", parameter="weights", value=columns
            )
        given[place] = weight
        made[place] = validation.number("weights", weight)
    return made
