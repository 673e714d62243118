"""What every question about a table has: frozen, lazy, and public, but for the one method that reads the rows.

A Query knows everything a release needs before any row is read: domain, limits, grid and sensitivity. Reading gives
exact integers, in steps of the grid. It is a total function of the rows: an empty table, no row in the domain, null
units or NaN give integers like any other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from leastnoise._support.calls import explained
from leastnoise._support.validation import Number
from leastnoise.curator import description, expectation, private_check
from leastnoise.curator import release as loop
from leastnoise.curator.budget import Budget
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.budget.terms import Share
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.expectation import Preview
from leastnoise.curator.queries.options import left_out_by_limits, left_out_by_unit
from leastnoise.curator.release import Answer, Batch, Decision
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.rows import keeping, priorities
from leastnoise.curator.rows.keeping import Rule
from leastnoise.curator.rows.placing import is_missing
from leastnoise.curator.rows.totals import Aggregate, saturate, to_int64
from leastnoise.domain import Axis, Domain
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_plan import Choice, NoisePlanner
from leastnoise.privacy.sensitivity import Limits, Sensitivity
from leastnoise.privacy.vector_noise import NUMBERS, VectorPlan, VectorPlanner
from leastnoise.releases.block import Values
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.release import Release

SALT_VERSION = 1
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True, eq=False)
class NamedRows:
    """The columns that a question reads, under names of ours: unit0, by0, column0 ...

    A column of the user's called like one of ours (`_place`, `code`) would otherwise be overwritten on the way, and
    rows ranked within something that is not the unit.
    """

    rows: ir.Table
    unit: tuple[str, ...]
    by: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a question is about: public, and what its words, its salt and the rows that it leaves out are made of."""

    subject: str  # what is counted or added up
    by: str = ""  # the columns of its bins, where not all that `by` names
    size: str = ""  # how many numbers it has, where not as many as bins
    clip: str = ""  # what values are clipped to
    kept: str = ""  # how much of one unit is used, where not as much as the limits say
    salt: Mapping[str, object] = field(default_factory=dict)  # what values are clipped to, for the salt
    left_out: Sequence[LeftOut] = ()  # what rows must have to be counted, and what becomes of their values
    missing: Sequence[str] = ()  # what rows without a value are called, by column of values
    limits_leave_out: bool = True  # not where the limits are part of what is asked
    bins: int | None = None  # over how many bins a unit's rows can be spread; None: any number


def clipped_to(low: float, high: float) -> str:
    """The ends of a clip, after what is clipped."""
    return f", clipped to [{low!r}, {high!r}]"


@explained
@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Query(ABC):
    """One question about a table: made by the methods of `Table`, asked by `release`.

    `limits` bound how much of one unit is used, and `sensitivity` how far one unit can then move the answer (L1, L2 and
    Linf). `grid` is the step of the exact integers behind the answer, which is integers * grid. `by` and `domain` name
    the bins.
    """

    kind: str
    mechanisms: ClassVar[tuple[str, ...]] = ("auto", "gaussian", "laplace")
    _data: Dataset
    limits: Limits
    by: tuple[str, ...] = ()

    @property
    def unit(self) -> tuple[str, ...]:
        """The columns that name whom to protect."""
        return self._data.unit

    @property
    def neighbours(self) -> Neighbours:
        """Between which tables the answers must not differ much."""
        return self._data.neighbours

    @property
    def files(self) -> tuple[str, ...]:
        """The files that will be read, if it is files."""
        return self._data.source.files

    @property
    def rows(self) -> ir.Table:
        """The rows, lazily; NaN is null in them."""
        return self._data.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose values are added up; none where rows are counted."""
        return ()

    @property
    def grid(self) -> float:
        """The step of the exact integers: the answer is integers * grid."""
        return 1.0

    @property
    def domain(self) -> Domain | None:
        """The public bins; None where the answer has none, or nobody listed them."""
        return None

    @property
    def bins(self) -> int | None:
        """How many bins; None when the keys are unknown."""
        return None if self.domain is None else self.domain.size

    @property
    def sparse(self) -> bool:
        """Whether the domain is too large for a dense vector, so that the answer is indices and values."""
        return self.domain is not None and self.domain.sparse

    @property
    @abstractmethod
    def size(self) -> int | None:
        """How many integers the answer has; None when the keys are unknown."""

    @property
    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """How far one unit can move the answer under these limits, rounded up."""

    @property
    def limits_used(self) -> dict[str, int]:
        """How much of one unit is used, as a release records it."""
        return {} if self._data.row_is_unit else self.limits.numbers

    @abstractmethod
    def _facts(self) -> Facts:
        """What it is about."""

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Which rows can be missing from the answer, and which values are changed first: public, no row is read."""
        data, facts = self._data, self._facts()
        limited = facts.limits_leave_out and not data.row_is_unit
        by_limits = left_out_by_limits(self.limits, bins=facts.bins) if limited else []
        return (*by_limits, *left_out_by_unit(data), *facts.left_out, *data.conditions)

    _counts_rows: ClassVar[bool] = False  # True: `_expression` has `rows`, how many rows of each bin are kept
    _in_series: ClassVar[bool] = False  # whether it may be asked every period, for one debit (`curator.series`)
    _in_python: ClassVar[bool] = False  # True: rows are added up by Python where they are

    def describe(self) -> str:
        """The question in public words, with what shaped the rows before it: nothing in it depends on a row."""
        facts, steps = self._facts(), description.all_steps(self._data.steps)
        size = "unknown keys" if self.bins is None else description.counted(self.bins, "bin")
        place = f" by {facts.by or ', '.join(self.by)}" if self.by else ""
        kept = facts.kept or self._kept_in_words()
        return description.one_line(
            f"{facts.subject}{place} ({facts.size or size}){facts.clip}{steps}; one {kept}; "
            f"neighbours {self.neighbours}"
        )

    def _kept_in_words(self) -> str:
        """How much of one unit is used, after "one"."""
        limits, counted, unit = self.limits, description.counted, self._data.unit_name
        if self._data.row_is_unit:
            return f"row is one {unit}"
        return (
            f"{unit} keeps at most {counted(limits.max_rows, 'row')}, {limits.max_per_bin} in a bin, "
            f"{counted(limits.max_bins, 'bin')}"
        )

    def __repr__(self) -> str:
        return f"<Query: {self.describe()}>"

    def sql(self) -> str:
        """The question as SQL of its engine, as text. Nothing is run.

        What runs may be quicker and gives the same integers: of millions of rows, engines are asked for rows in order,
        and a compiled loop finds which are kept.
        """
        return self._data.engine.sql(self._expression)

    def expect(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        sigma: Number | None = None,
        mechanism: Choice = "auto",
        budget: Budget | None = None,
        share: Share | None = None,
        note: str = "",
    ) -> Preview:
        """What `release` with the same arguments would be like: mechanism, noise, half-widths, threshold.

        It is free: no row is read and nothing is debited. The arguments are those of `release`, and what that would
        refuse before it reads a row is refused here: a budget that is closed, has too little left, cannot be written
        to or is about another table, unit or neighbours; files that were changed; names that a release needs itself.
        """
        loop.check_question(self)
        asked = {"epsilon": epsilon, "delta": delta, "sigma": sigma, "budget": budget, "share": share, "note": note}
        return loop.expect(self, PrivacyRequest(**asked, mechanism=mechanism, mechanisms=self.mechanisms))  # type: ignore[arg-type]

    def release(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        sigma: Number | None = None,
        mechanism: Choice = "auto",
        budget: Budget | None = None,
        share: Share | None = None,
        note: str = "",
    ) -> Answer:
        """The answer with noise. Everything public is checked, and a budget debited, before the first row is read.

        Say how private it must be in one of three ways: `epsilon` and `delta`, `sigma`, or a `budget` and a `share`.

        epsilon: the privacy loss of this release, above 0; 1 is common. Smaller is more private and noisier.
        delta: the probability with which epsilon may be exceeded, such as 1e-6; 0 takes Laplace noise.
        sigma: the standard deviation of Gaussian noise itself, in the unit of the answer, instead of the two.
        mechanism: "gaussian", "laplace", or "auto" (the default): whichever has less noise. Of quantiles also
            "exponential", by rank.
        budget: an open `ln.Budget`, debited on disk before a row is read. Left out, nothing is debited or limited.
        share: how much of the whole budget to spend, such as 0.25 or "1/52", instead of epsilon and delta.
        note: a line for the budget's history, such as "the weekly map". It is public.
        """
        loop.check_question(self)
        asked = {"epsilon": epsilon, "delta": delta, "sigma": sigma, "budget": budget, "share": share, "note": note}
        request = PrivacyRequest(**asked, mechanism=mechanism, mechanisms=self.mechanisms)  # type: ignore[arg-type]
        return loop.release(self, request)

    def _labels(self) -> dict[str, str]:
        """What readers call the unit and the columns that the question names."""
        left_out = (column for fact in self.left_out for column in fact.columns)
        return self._data.labels_of((*self.by, *self.columns, *left_out))

    def private_check(self) -> private_check.PrivateCheck:
        """The curator's own exact look at what this question leaves out: PRIVATE, outside every guarantee.

        Rows without a unit, cells that are not written like their type, keys that cover no row and rows that no key
        covers, rows beyond the limits, values beyond the clip. Nothing is debited or recorded: never publish it.
        """
        return private_check.check(self)

    @property
    def _axes(self) -> Mapping[str, Axis]:
        """The columns with public keys."""
        return {}

    def _countable(self) -> tuple[ir.Table, tuple[str, ...]]:
        """The rows that would be counted if there were no limits, and the names of the unit's columns in them."""
        named = self._named()
        known = (*named.unit, *self._known(named))
        return named.rows.filter([~is_missing(named.rows[column]) for column in known]), named.unit

    def _known(self, named: NamedRows) -> tuple[str, ...]:
        """The columns beside the unit without which a row is not counted."""
        return named.columns

    def _salt_facts(self) -> dict[str, object]:
        """The public facts that salt the order of a unit's rows. Conditions are not among them: a question keeps the
        same rows on every engine, and however its conditions are written."""
        limits = self.limits
        return {
            "version": SALT_VERSION,
            "kind": self.kind,
            "columns": list(self.columns),
            "by": list(self.by),
            "bins": None if self.bins is None else int(self.bins),
            **self._facts().salt,
            "limits": [limits.max_rows, limits.max_per_bin, limits.max_bins],
            "unit": list(self.unit),
            "neighbours": self.neighbours,
        }

    @property
    def _salt(self) -> int:
        return priorities.salt(self._salt_facts())

    # What the loop asks: `planner`, `decide`, `measure`, `draw`, `read` and `expected`. One noise on one vector of
    # numbers, unless a question says otherwise.

    @property
    def planner(self) -> NoisePlanner[Any]:
        """The ways to add noise, from public facts alone."""
        return self._vector_planner

    @property
    def _vector_planner(self) -> VectorPlanner:
        """Of one noise on all integers."""
        if self.size is None:
            raise TypeError("a question of unknown size has a planner of its own")
        norms = self.sensitivity
        return VectorPlanner(
            bins=self.size,
            integers=True,
            grid=self.grid,
            sensitivity=norms.l2,
            l1_sensitivity=norms.l1,
            neighbours=self.neighbours,
        )

    def decide(self, request: PrivacyRequest) -> Decision[Any]:
        """The noise and its cost, from public facts alone. Nothing is paid."""
        charge = decide(request, self.planner)
        return Decision(charge, self._answering(charge.plan))

    def _answering(self, plan: Any) -> Query:
        """The question that reads what this plan has noise for."""
        return self

    def measure(self, plan: Any) -> Batch:
        """The exact integers by block. PRIVATE: the budget is debited before."""
        return saturated(self._totals())

    def draw(self, plan: Any, batch: Batch) -> Batch:
        """The same with noise."""
        return loop.add_noise(plan, batch)

    def read(self, plan: Any, noisy: Batch, provenance: Provenance) -> Answer:
        """What is published, of the noisy integers."""
        return released(noisy, plan, provenance, kind=self.kind, domain=self.domain)

    def expected(self, charge: Charge[Any], request: PrivacyRequest) -> Preview:
        """What a release with this plan would be like."""
        return expectation.of_vector(charge, size=self.size, limits=self.limits, centred=self._centred())

    def _centred(self) -> dict[str, float]:
        """Of means, what their sums are from, and how far a value is from there at most."""
        return {}

    # Reading: which rows are counted, which of them are kept, and what is added up

    @abstractmethod
    def _content(self) -> tuple[ir.Table, Rule]:
        """Unit and content of every row that can be counted, and which of these are kept."""

    def _added_up(self, kept: ir.Table) -> ir.Table:
        """The totals over the rows that are kept; these themselves, where they are not added up in SQL."""
        return kept

    def _integers(self, totals: pa.Table) -> Batch:
        """The integers by block, from the totals."""
        raise NotImplementedError

    def _kept(self) -> AbstractContextManager[ir.Table]:
        return keeping.kept(*self._content(), self._data.engine)

    def _expression(self) -> ir.Table:
        """The lazy table of totals: one expression for every engine."""
        return self._added_up(keeping.in_sql(*self._content()))

    def _totals(self) -> Batch:
        """The exact integers by block, read from the rows: Python's where 64 bits do not hold them."""
        with self._kept() as kept:
            return self._integers(self._data.engine.fetch(self._added_up(kept)))

    def _aggregate(self) -> Aggregate:
        """The exact integers, block after block. PRIVATE: for tests."""
        found = self._of_one_state(self._totals)
        values = to_int64(np.concatenate(list(found.blocks.values())))
        return Aggregate(values, found.indices, found.keys, found.total)

    def _of_one_state(self, work: Callable[[], Read]) -> Read:
        """What is read, of one state of the table: of one query; or of several about files that nobody changed
        meanwhile, or about rows in memory. Else a unit might pass a check in one state and be summed in another."""
        source = self._data.source
        source.check_unchanged()
        try:
            with source.exclusive():
                source.engine.verify(source.files)
                return work()
        finally:
            source.check_unchanged()

    def _named(self) -> NamedRows:
        """The columns that are read, under our names."""
        given = {"unit": self.unit, "by": self.by, "column": self.columns}
        names = {side: tuple(f"{side}{place}" for place in range(len(old))) for side, old in given.items()}
        chosen = {new: self.rows[old] for side in given for new, old in zip(names[side], given[side], strict=True)}
        return NamedRows(self.rows.select(**chosen), names["unit"], names["by"], names["column"])


def saturated(exact: Batch) -> Batch:
    """The same within 64 bits: whether a total was larger must not show. No two totals are moved apart, so that the
    sensitivity stays."""
    return replace(exact, blocks={name: saturate(values) for name, values in exact.blocks.items()})


def released(noisy: Batch, plan: VectorPlan, provenance: Provenance, *, kind: str, domain: Domain | None) -> Release:
    """The noisy integers of a vector, in their unit."""
    numbers = noisy.blocks[NUMBERS]
    values: Values = numbers if plan.grid == 1 else numbers.astype(np.float64) * plan.grid
    return Release.of(values, loop.noise_of(plan), provenance=provenance, domain=domain, kind=kind)
