"""A strategy for tables along a tree: how much noise each level of each block gets, with a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.workload.strategy import WORDS, Strategy, Weights, table_weights
from leastnoise.workload.tree_errors import TreeErrors
from leastnoise.workload.tree_optimum import least_largest, weighted_sum

if TYPE_CHECKING:
    from typing import Any

    from leastnoise.workload.incidence import Floats
    from leastnoise.workload.tree_tables import TreeWorkload


class TreeStrategy(TreeErrors, Strategy):
    """Gaussian noise for every block at every level of a tree. Made by `TreeWorkload.optimize`."""

    @property
    def certificate(self) -> dict[str, Any]:
        """What is optimal, among what, under which neighbours: the value reached and the bound nobody can beat."""
        return {**super().certificate, "among": "Gaussian noise that treats the nodes of a level alike"}

    def at(self, mu: Number) -> TreeStrategy:
        """The same strategy with noise for another mu.

        mu: what one row may cost, as in Gaussian DP.
        """
        made = super().at(mu)
        return _strategy(self._tree, self._weights, made.mu, made.block_variances, made._value, made._bound)


def optimal(workload: TreeWorkload, *, mu: Number = 1.0, weights: Weights = "tables") -> TreeStrategy:
    """`TreeWorkload.optimize`."""
    budget = validation.number("mu", mu)
    if isinstance(weights, str) and validation.word("weights", weights, WORDS) == "worst":
        found = least_largest(workload.level_blocks)
    else:
        found = weighted_sum(workload.level_blocks, table_weights(workload, weights))
    deepest = workload.level_blocks.deepest.tolist()
    with np.errstate(divide="ignore"):
        rows = [1 / row[: last + 1] for row, last in zip(found.precisions, deepest, strict=True)]
    scale = budget**-2
    return _strategy(workload, weights, budget, np.concatenate(rows) * scale, found.value * scale, found.bound * scale)


def _strategy(
    workload: TreeWorkload, weights: Weights, mu: float, variances: Floats, value: float, bound: float
) -> TreeStrategy:
    given = weights if isinstance(weights, str) else dict(weights)
    return TreeStrategy(workload, mu=mu, variances=variances, weights=given, value=value, bound=bound)
