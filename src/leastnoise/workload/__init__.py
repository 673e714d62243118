"""Which linear questions about the same people are asked together, and the noise of least error for all of them.

Nothing here sees data: a `Workload` is a set of tables over columns of public sizes, its `optimize` a `Strategy`.
"""

from leastnoise.workload.strategy import Strategy
from leastnoise.workload.workload import Workload

__all__ = ["Strategy", "Workload"]


def __dir__() -> list[str]:
    return __all__
