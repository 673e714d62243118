"""Which linear questions about the same people are asked together, and the noise of least error for all of them.

Nothing here sees data: a `Workload` is a set of tables over columns of public sizes, and its `optimize` makes a
`Strategy`: how much noise each residual block gets, and how accurate every table is then. `noise_options` compares that
with noise on plain tables; `squared_cost` proves what one unit costs.
"""

from leastnoise._support.calls import explain_public
from leastnoise.workload.gaussian_blocks import GaussianBlocks
from leastnoise.workload.integer_noise import integer_scales, scales_within
from leastnoise.workload.noise_options import NoiseOption, noise_options
from leastnoise.workload.ordered import IntegerStrategy, prefix_strategy, range_strategy
from leastnoise.workload.plain_tables import PlainTables, gaussian_tables, laplace_tables
from leastnoise.workload.residuals import integer_residual, project, table_of_blocks
from leastnoise.workload.sensitivity import squared_cost
from leastnoise.workload.strategy import Strategy
from leastnoise.workload.tables import Workload
from leastnoise.workload.tree_tables import TreeWorkload

__all__ = [
    "GaussianBlocks",
    "IntegerStrategy",
    "NoiseOption",
    "PlainTables",
    "Strategy",
    "TreeWorkload",
    "Workload",
    "gaussian_tables",
    "integer_residual",
    "integer_scales",
    "laplace_tables",
    "noise_options",
    "prefix_strategy",
    "project",
    "range_strategy",
    "scales_within",
    "squared_cost",
    "table_of_blocks",
]


def __dir__() -> list[str]:
    return __all__


explain_public(globals(), __all__)
