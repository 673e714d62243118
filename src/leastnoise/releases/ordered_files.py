"""The ordered columns of a set of tables in its file: which sums were asked for, and the whole numbers of strategies.

A release is read back by the strategy that it was made with, so that is in its file, whatever a later version would
choose: after the integers of the blocks, the numbers of each strategy on and above the diagonal, row by row; of more
than 4,096 keys its coefficients. Files of sets without such columns have neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise.releases.facts import Facts
from leastnoise.workload import Workload
from leastnoise.workload.columns import ColumnStrategy
from leastnoise.workload.ordered.integer_strategy import MAX_KEYS
from leastnoise.workload.ordered.long_column import LongColumn
from leastnoise.workload.ordered.ordered_column import OrderedColumn
from leastnoise.workload.ordered.questions import KINDS, OrderedQuestions

MAX_BITS = 24
Ordered = OrderedColumn | LongColumn


def facts_of(workload: Workload) -> dict[str, Any]:
    """What is said of ordered columns; nothing where there are none."""
    if not workload.asked:
        return {}
    bits = {name: each.bits for name, each in workload.strategies.items() if isinstance(each, Ordered)}
    return {"sums": [{"column": name, "kind": kind, "bits": bits.get(name)} for name, kind in workload.asked.items()]}


def packed(strategies: Mapping[str, ColumnStrategy]) -> dict[str, NDArray[np.int64]]:
    """The numbers of each strategy, by what they are called in the file."""
    return {f"strategy of {name}": _numbers(each) for name, each in strategies.items() if isinstance(each, Ordered)}


def _numbers(strategy: Ordered) -> NDArray[np.int64]:
    if isinstance(strategy, LongColumn):
        return strategy.coefficients
    return strategy.matrix[np.triu_indices(strategy.rows, m=strategy.size)]


def asked_columns(facts: Facts) -> dict[str, Any]:
    """The columns of which sums were asked for, as `Workload` takes them. The facts stay for `with_strategies`."""
    found = facts.peek("sums") if facts.has("sums") else []
    facts.check("sums", isinstance(found, list) and all(isinstance(one, dict) for one in found))
    names = {kind: [one.get("column") for one in found if one.get("kind") == kind] for kind in KINDS}
    facts.check("sums", all(isinstance(name, str) for each in names.values() for name in each))
    return {"cumulative": names["prefix"], "ranges": names["ranges"]}


def with_strategies(workload: Workload, values: NDArray[np.int64], facts: Facts) -> tuple[Workload, NDArray[np.int64]]:
    """The tables with the strategies of their file, and the integers that are left: those of the blocks."""
    if not facts.has("sums"):
        return workload, values
    bits: dict[str, int] = {}
    for one in facts.list_of_facts("sums"):
        name, kind, own = one.text("column"), one.word("kind", KINDS), one.optional_integer("bits")
        one.check("column", workload.asked.get(name) == kind)
        one.finish()
        if own is not None:
            one.check("bits", 1 <= own <= MAX_BITS)
            bits[name] = own
    strategies: dict[str, ColumnStrategy] = {}
    for name, own in reversed(bits.items()):  # the last is the last in the file
        size = workload.sizes[name]
        count = size - 1 if size > MAX_KEYS else size * (size + 1) // 2 - 1
        facts.check("columns", len(values) >= count)
        values, numbers = values[: len(values) - count], values[len(values) - count :]
        try:
            strategies[name] = _strategy(OrderedQuestions(workload.asked[name], size), numbers, own)
        except errors.InvalidParameter:
            facts.check("columns", False)
    return workload.with_strategies({name: strategies[name] for name in bits}) if bits else workload, values


def _strategy(questions: OrderedQuestions, numbers: NDArray[np.int64], bits: int) -> Ordered:
    """What `_numbers` wrote."""
    size = questions.size
    if size > MAX_KEYS:
        return LongColumn(questions, numbers, bits)
    matrix = np.zeros((size - 1, size), dtype=np.int64)
    matrix[np.triu_indices(size - 1, m=size)] = numbers
    return OrderedColumn(questions, matrix, bits)
