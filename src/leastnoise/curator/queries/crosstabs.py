"""Several tables of counts about the same people, released together with the least noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import ibis.expr.types as ir

from leastnoise._support.validation import Number
from leastnoise.curator import description, expectation
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.engines.engine import unique
from leastnoise.curator.expectation import TablesExpectation
from leastnoise.curator.queries.crosstab_options import (
    TreeColumn,
    checked_workload,
    keys_of_one,
)
from leastnoise.curator.queries.query import Facts, NamedRows, Query, clipped_to
from leastnoise.curator.release import Answer, Batch
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.rows import crosstab_rows, keeping, priorities
from leastnoise.curator.rows.clipping import Clip
from leastnoise.curator.rows.crosstab_rows import SHARED_PARTS, WEIGHT, CellCounter
from leastnoise.curator.rows.keeping import Rule
from leastnoise.curator.rows.placing import Packing, place
from leastnoise.domain import Axis, OrNull, OrOther
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.comparison import Comparison
from leastnoise.privacy.sensitivity import LARGEST_LIMIT, Sensitivity
from leastnoise.privacy.vector_noise import NUMBERS
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.provenance import Provenance
from leastnoise.workload import Workload
from leastnoise.workload.optimal_weights import KINDS
from leastnoise.workload.strategy import Weights
from leastnoise.workload.tables_noise import TablesNoise, TablesPlanner

RowWeight = Literal["whole", "shared"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Crosstabs(Query):
    """Tables of counts over several columns, each with its public keys.

    Noise is added to the integers of the tables' blocks (see `workload.residuals`), and all tables are put together
    from these: unbiased, and consistent with each other.
    """

    kind: str = "crosstabs"
    _in_python: ClassVar[bool] = True
    workload: Workload
    axes: Mapping[str, Axis]
    weights: Weights = "tables"
    row_weight: RowWeight = "whole"
    weight: str | None = None
    clip: Clip | None = None  # of the weights
    counted: tuple[tuple[str, ...], ...] = ()  # the tables that are counted: none contains another
    tree: TreeColumn | None = None  # the column whose rows hold leaves of a tree; its levels are among the axes
    keyed: tuple[str, ...] = ()  # the columns that `other` gave a key for missing and unlisted values

    def __post_init__(self) -> None:
        """Build the expression and the strategy once, so that what is wrong is found before any row is read."""
        self.workload.optimize(weights=self.weights)
        for level, axis in self._placed_axes().items():  # an error about a type names the column as its asker does
            with keys_of_one(self._column_of(level)):
                place(axis, self.rows, self._column_of(level), unique("place"))
        self._expression()

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of weights, if there is one."""
        return () if self.weight is None else (self.weight,)

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The tables that are asked for, each by its columns; () is the total."""
        return self.workload.tables

    @property
    def bins(self) -> int:
        """How many cells all tables have."""
        return self.workload.cells

    @property
    def size(self) -> int:
        """How many integers get noise: the cells of all blocks."""
        return sum(math.prod(self.workload.block_shape(block)) for block in self.workload.blocks)

    @property
    def grid(self) -> float:
        """What one of the integers that are counted is worth."""
        if self.row_weight == "shared":
            return 1 / SHARED_PARTS
        return 1.0 if self.clip is None else self.clip.grid

    @property
    def row_size(self) -> int:
        """The most that the rows of one unit add up to, in steps of the grid."""
        if self.row_weight == "shared":
            return SHARED_PARTS
        return self.limits.max_rows * (1 if self.clip is None else max(abs(self.clip.lowest), abs(self.clip.highest)))

    @property
    def sensitivity(self) -> Sensitivity:
        """Of all tables asked for, as one long vector of counts."""
        steps = Fraction(self.grid) * self.row_size
        # A table of one cell does not move when one unit replaces another.
        divided = sum(1 for table in self.tables if self.workload.cells_of(table) > 1)
        return sensitivities.of_copies(
            copies=len(self.tables), divided=divided, steps=steps, neighbours=self.neighbours
        )

    def _facts(self) -> Facts:
        unit, most, asked = self._data.unit_name, self.limits.max_rows, self.workload.asked
        shared = ", which share one weight" if self.row_weight == "shared" else ""
        rows = "all its rows" if most == LARGEST_LIMIT else f"at most {description.counted(most, 'row')}"
        kept = f"row is one {unit}" if self._data.row_is_unit else f"{unit} keeps {rows}"
        ends = None if self.clip is None else (self.clip.low, self.clip.high)
        salt: dict[str, object] = {
            "sizes": [axis.size for axis in self.axes.values()],
            "tables": len(self.tables),
            "row_weight": self.row_weight,
            "clip": None if ends is None else list(ends),
        }
        return Facts(
            subject=self._subject(),
            by=description.shortened(tuple(self.axes)),
            size=description.counted(self.bins, "cell"),
            clip="" if ends is None else clipped_to(*ends),
            kept=kept + shared,
            salt={**salt, "sums": dict(asked)} if asked else salt,
            left_out=self._values_left_out(),
        )

    def _values_left_out(self) -> Sequence[LeftOut]:
        with_nulls = [column for column in self._closed() if isinstance(self.axes.get(column), OrNull)]
        without = [column for column in self._closed() if column not in with_nulls]
        outside = [
            *([LeftOut("outside its keys", columns=tuple(without))] if without else []),
            *([LeftOut("outside its keys or null", columns=tuple(with_nulls))] if with_nulls else []),
        ]
        if self.weight is None or self.clip is None:
            return outside
        clip = LeftOut(
            "clip", columns=self.columns, numbers=(self.clip.low, self.clip.high), text=self.clip.chosen_with
        )
        return [*outside, LeftOut("null", columns=self.columns), clip]

    def _subject(self) -> str:
        many = description.counted(len(self.tables), "table")
        sums = {kind: [name for name, each in self.workload.asked.items() if each == kind] for kind in KINDS}
        words = {"prefix": "cumulative in", "ranges": "ranges of"}
        also = "".join(f", {words[kind]} {description.shortened(names)}" for kind, names in sums.items() if names)
        return f"{many} of {'rows' if self.weight is None else f'the sums of {self.weight}'}{also}"

    @property
    def limits_used(self) -> dict[str, int]:
        """How much of one unit is used: rows alone."""
        rows = self.limits.max_rows
        return {} if rows == LARGEST_LIMIT else {"max_rows": rows}

    @property
    def _axes(self) -> Mapping[str, Axis]:
        return self.axes

    def _countable(self) -> tuple[ir.Table, tuple[str, ...]]:
        named = self._named()
        placed = self._placed(named)
        return placed.filter([placed[column].notnull() for column in named.unit]), named.unit

    def compare(self, *, epsilon: Number, delta: Number) -> Comparison:
        """The ways to add noise, side by side, the one of least error by the weights first: `ln.compare(query, ...)`.

        epsilon, delta: the promise that all of them keep.
        """
        return self._planner(self.workload).compare(epsilon=epsilon, delta=delta, step=self.grid)

    def _planner(self, workload: Workload) -> TablesPlanner:
        return TablesPlanner(workload, self.weights, self.row_size, self.neighbours)

    def expected(self, charge: Charge[TablesNoise], request: PrivacyRequest) -> TablesExpectation:
        """By table; and what the key for missing and unlisted values costs."""
        closed = self._without_other()
        without = None if closed is None else self._charge(request, closed)
        return expectation.of_tables(
            charge,
            grid=self.grid,
            limits=self.limits_used,
            keyed=self._keyed_axes(),
            closed=() if self.tree is not None else self._closed(),
            without_other=without,
        )

    def _closed(self) -> tuple[str, ...]:
        """The columns in which a missing or unlisted value has no key."""
        return tuple(column for column in self.by if not isinstance(self.axes.get(column), OrOther))

    def _keyed_axes(self) -> dict[str, OrOther]:
        """The axes of the columns that `other` gave a key."""
        return {name: axis for name, axis in self.axes.items() if name in self.keyed and isinstance(axis, OrOther)}

    def _without_other(self) -> Workload | None:
        """The tables as they would be with other=False; None where they are these, or would be refused, or have
        cumulative sums along such a column, whose noise takes long to find."""
        inner = {name: axis.axis for name, axis in self._keyed_axes().items()}
        asked = self.workload.asked
        if not inner or any(name in asked or axis.size == 1 for name, axis in inner.items()):
            return None
        cumulative, ranges = ([name for name in asked if asked[name] == kind] for kind in KINDS)
        axes = {**self.axes, **inner}
        return checked_workload(axes, self.tables, None, cumulative=cumulative, ranges=ranges, tree=self.tree)

    def _charge(self, request: PrivacyRequest, workload: Workload | None = None) -> Charge[TablesNoise]:
        return decide(request, self._planner(self.workload if workload is None else workload))

    @property
    def planner(self) -> TablesPlanner:
        """The ways to add noise to the tables."""
        return self._planner(self.workload)

    def _answering(self, plan: TablesNoise) -> Crosstabs:
        """Noise is on the blocks of the tables, or on larger tables: those are counted that no other contains."""
        return replace(self, counted=_maximal(self.workload, plan))

    @property
    def _in_series(self) -> bool:  # type: ignore[override]
        return not self.workload.asked

    def measure(self, plan: TablesNoise) -> Batch:
        """The integers of every block."""
        tables = dict(zip(self.counted, self._counter().split(self._totals().blocks[NUMBERS]), strict=True))
        return Batch(plan.integers_of(tables))

    def read(self, plan: TablesNoise, noisy: Batch, provenance: Provenance) -> Answer:
        """The tables that are put together from these."""
        return CrosstabsRelease(
            workload=plan.workload,
            axes=self.axes,
            integers=noisy.blocks,
            scales=plan.scales,
            mechanism=plan.mechanism,
            step=self.grid,
            compared=plan.compared,
            weights=plan.weights,
            gap=plan.gap,
            weight=self.weight,
            provenance=provenance,
        )

    def _counter(self) -> CellCounter:
        """How the rows are counted."""
        axes = self._placed_axes()
        place = {column: number for number, column in enumerate(axes)}
        tables = tuple(tuple(place[column] for column in table) for table in self.counted)
        sizes = tuple(axis.size for axis in axes.values())
        return CellCounter(sizes, tables, weighted=self.weight is not None or self.row_weight == "shared")

    def _placed(self, named: NamedRows) -> ir.Table:
        """Unit, packed positions and weight of every row that is inside all keys."""
        axes = self._placed_axes()
        columns = [named.by[self.by.index(self._column_of(level))] for level in axes]
        rows = crosstab_rows.place_rows(named.rows, columns, list(axes.values()))
        return (
            rows if self.clip is None else self.clip.rows_with_value(rows, named.columns[0], name=crosstab_rows.WEIGHT)
        )

    def _placed_axes(self) -> dict[str, Axis]:
        """The axes on which rows get a place: those of the tables that are counted. Levels of a tree above these are
        sums."""
        counted = {column for table in self.counted for column in table}
        levels = () if self.tree is None else self.tree.levels
        return {
            column: self.tree.placed(column) if self.tree is not None and column in levels else axis
            for column, axis in self.axes.items()
            if column in counted
        }

    def _column_of(self, level: str) -> str:
        """The column that a row's place on an axis comes from: for a level of a tree, that of the leaves."""
        return self.tree.column if self.tree is not None and level in self.tree.levels else level

    def _content(self) -> tuple[ir.Table, Rule]:
        """Unit and content of every row that is inside all keys, and which of these are kept."""
        named = self._named()
        words = Packing(tuple(axis.size for axis in self._placed_axes().values())).words
        content = (*words, *(() if self.clip is None else (WEIGHT,)))
        rows = priorities.with_unit_word(
            self._placed(named).select(*named.unit, *content), named.unit, self._data.engine
        )
        rule = Rule(
            unit=named.unit, bin=content[:1], codes=content[1:], keep=content, limits=self.limits, key=self._salt
        )
        return rows, rule

    def _expression(self) -> ir.Table:
        """The rows that are kept: they are counted outside SQL."""
        rows, rule = self._content()
        shared = self.row_weight == "shared"
        return crosstab_rows.shared(rows, rule, rule.keep) if shared else keeping.in_sql(rows, rule)

    def _totals(self) -> Batch:
        """The same way for all rows."""
        engine, counter = self._data.engine, self._counter()
        cells = int(counter.starts[-1])
        if self.row_weight == "shared":
            return Batch({NUMBERS: engine.summed(self._expression(), counter, cells)})
        with self._kept() as kept:
            return Batch({NUMBERS: engine.summed(kept, counter, cells)})


def _maximal(workload: Workload, noise: TablesNoise) -> tuple[tuple[str, ...], ...]:
    """Of the tables that get noise those that no other contains. Laplace noise may be on larger ones than were asked
    for."""
    if noise.mechanism == "gaussian":
        return workload.maximal
    released = noise.scales
    return tuple(table for table in released if not any(workload.sums_up(other, table) for other in released))
