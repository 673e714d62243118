"""Which linear questions about the same people are asked together, and the noise of least error for all of them.

Nothing here sees data: a `Workload` is a set of tables over columns of public sizes, along a tree if there is one, and
its `optimize` makes a `Strategy`: how much noise each block gets, and how accurate every table is then.
`laplace_tables` is noise on plain tables instead; `Workload.unit_cost` proves what one unit costs.

The optimum is the bound of singular values (Li & Miklau 2013), (sum_A p_A sqrt s_A)^2/mu^2 for the sum of the variances
over all sets of columns A: noise of variance proportional to 1/sqrt s_A on the residual of A attains it, and no
Gaussian linear mechanism is below it under add-remove. Proof, p_A and s_A in `workload.optimum`.

    >>> import leastnoise as ln
    >>> s = ln.workload.Workload({"age": 85, "sex": 2, "race": 5}, ways=2).optimize(mu=1, weights="cells")
    >>> round(s.rmse, 3), s.gap < 1e-12
    (1.631, True)
"""

from leastnoise._support.calls import explain_public
from leastnoise.workload.noisy_tables import NoisyTables
from leastnoise.workload.ordered import IntegerStrategy, prefix_strategy, range_strategy
from leastnoise.workload.residuals import integer_residual, project, table_of_blocks
from leastnoise.workload.shares import laplace_tables
from leastnoise.workload.strategy import Strategy, integer_scales, scales_within
from leastnoise.workload.tables import Workload

__all__ = [
    "IntegerStrategy",
    "NoisyTables",
    "Strategy",
    "Workload",
    "integer_residual",
    "integer_scales",
    "laplace_tables",
    "prefix_strategy",
    "project",
    "range_strategy",
    "scales_within",
    "table_of_blocks",
]


def __dir__() -> list[str]:
    return __all__


explain_public(globals(), __all__)
