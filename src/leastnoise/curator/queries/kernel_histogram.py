"""A histogram over the nodes of a graph in which each row's weight of one is spread over several nodes nearby."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from leastnoise.curator.dataset import Dataset
from leastnoise.curator.queries.options import limits_of
from leastnoise.curator.queries.query import Facts, Query
from leastnoise.curator.release import Batch
from leastnoise.curator.rows import priorities
from leastnoise.curator.rows.keeping import Rule
from leastnoise.curator.rows.points import ROW_WEIGHT, WEIGHT_BITS
from leastnoise.curator.rows.totals import to_dense
from leastnoise.domain import Domain, IntegerRange
from leastnoise.errors import BadDomain, Code, MissingParameter
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.privacy.vector_noise import NUMBERS
from leastnoise.releases.left_out import LeftOut

MAX_NODES = 2**26
WEIGHT_STEP = 1 / ROW_WEIGHT


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class KernelHistogram(Query):
    """The weight on each node, in steps of 2^-20."""

    kind: str = "count"
    _nodes: Domain
    nodes_per_row: int  # over how many nodes at most a row is spread

    @classmethod
    def of(cls, data: Dataset, by: Sequence[str], keys: Any, max_rows: int | None) -> KernelHistogram:
        """The question, checked."""
        unlimited = max_rows is None and not data.row_is_unit
        if len(by) > 1 or not isinstance(keys, range) or keys.start or keys.step != 1 or unlimited:
            raise MissingParameter(
                "a histogram of kernel weights is by that one column and needs every node and a limit on rows.",
                parameter="keys",
                example={"keys": Code("range(number_of_nodes)", "0:NUMBER_OF_NODES"), "max_rows": 5},
            )
        if keys.stop > MAX_NODES:
            raise BadDomain(f"a histogram of kernel weights may have {MAX_NODES} nodes. Got {keys.stop} instead.")
        limits = limits_of(data, bins=None, by=by, max_rows=max_rows)
        nodes = Domain(tuple(by), (IntegerRange(0, keys.stop),))
        asked = cls(_data=data, by=tuple(by), _nodes=nodes, nodes_per_row=data.kernels[by[0]], limits=limits)
        asked._expression()  # built once, so that what cannot be is found before any row is read
        return asked

    @property
    def grid(self) -> float:
        """A weight's step."""
        return WEIGHT_STEP

    @property
    def domain(self) -> Domain:
        """The nodes."""
        return self._nodes

    @property
    def size(self) -> int:
        """How many nodes."""
        return self._nodes.size

    @property
    def sensitivity(self) -> Sensitivity:
        """Of weights: a row adds one in all."""
        return sensitivities.of_kernel(self.limits, neighbours=self.neighbours)

    def _facts(self) -> Facts:
        return Facts(subject="rows", left_out=[LeftOut("no node near", columns=self.by, numbers=(self.size,))])

    def _content(self) -> tuple[ir.Table, Rule]:
        """Unit and content of every row near a node, its nodes with their weights, and which of these are kept.

        Whatever the column holds, a row adds non-negative weights to bins, and they sum to at most one, or it adds
        none.
        """
        named = self._named()
        (column,) = named.by
        rows = priorities.with_unit_word(named.rows, named.unit, self._data.engine)
        parts = tuple(f"_part{place}" for place in range(self.nodes_per_row))
        rows = rows.mutate(**{name: rows[column][place].fill_null(0) for place, name in enumerate(parts)})
        weights = [rows[name] & (2**WEIGHT_BITS - 1) for name in parts]
        rows = rows.filter((rows[parts[0]] > 0) & (functools.reduce(operator.add, weights) <= ROW_WEIGHT))
        rule = Rule(unit=named.unit, bin=parts[:1], codes=parts[1:], keep=parts, limits=self.limits, key=self._salt)
        return rows, rule

    def _added_up(self, kept: ir.Table) -> ir.Table:
        """The weight on each node."""
        kept = kept.select(part=ibis.array([kept[name] for name in kept.columns]).unnest())
        kept = kept.select(bin=kept["part"] >> WEIGHT_BITS, value=kept["part"] & (2**WEIGHT_BITS - 1))
        kept = kept.filter(kept["bin"].between(0, self.size - 1))  # a node beyond the keys is no bin
        total = self._data.engine.exact_sum(kept["value"])
        return kept.filter(kept["value"] > 0).group_by("bin").aggregate(rows=total)

    def _integers(self, totals: pa.Table) -> Batch:
        return Batch({NUMBERS: to_dense(self.size, totals, "rows")})
