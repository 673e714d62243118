"""Cumulative sums and ranges over one column of ordered keys: which whole-number sums of the counts get noise.

`prefix_strategy(n)` and `range_strategy(n)` are strategies by themselves: an integer matrix S, what one row costs, and
how the counts come back from S x plus noise.
"""

from leastnoise.workload.ordered.integer_strategy import IntegerStrategy, prefix_strategy, range_strategy
from leastnoise.workload.ordered.questions import Kind, OrderedQuestions

__all__ = ["IntegerStrategy", "Kind", "OrderedQuestions", "prefix_strategy", "range_strategy"]


def __dir__() -> list[str]:
    return __all__
