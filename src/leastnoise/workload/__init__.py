"""Which linear questions about the same people are asked together, and the noise of least error for all of them.

Nothing here sees data: a `Workload` is a set of tables over columns of public sizes, along a tree if there is one, and
its `optimize` makes a `Strategy`: how much noise each block gets, and how accurate every table is then.
`laplace_tables` is noise on plain tables instead; `Workload.unit_cost` proves what one unit costs.
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
