"""Rows of a source, whom they are about, and what shaped them: what a Table and its questions share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ibis.expr.types as ir

from leastnoise.curator import expressions
from leastnoise.curator.engines.engine import Engine, Source
from leastnoise.curator.rows.columns import CleanRows, Type, undeclared_column, unknown_column
from leastnoise.domain import ColumnKind, Lattice
from leastnoise.errors import BadExpression, Code, InvalidParameter, UnknownColumn, WrongType
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.releases.columns import checked_labels
from leastnoise.releases.left_out import LeftOut


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Dataset:
    """Lazy rows, their source, and the unit that is protected."""

    source: Source
    clean: CleanRows
    unit: tuple[str, ...]
    neighbours: Neighbours
    steps: tuple[str, ...] = ()  # what was done to the rows, in public words
    conditions: tuple[LeftOut, ...] = ()  # those of the steps that leave rows out
    lattices: Mapping[str, Lattice] = field(default_factory=dict)  # columns of cells on a map -> whose cells
    row_is_unit: bool = False  # whether a unit has one row at most, made from all its rows
    kernels: Mapping[str, int] = field(default_factory=dict)  # columns of kernel weights -> over how many nodes
    types: Mapping[str, str] = field(default_factory=dict)  # what columns of text were declared to hold
    missing: tuple[str, ...] = ()  # the texts that stand for a missing value
    labels: Mapping[str, str] = field(default_factory=dict)  # what readers call columns
    public_units: int | None = None  # how many units there are, where somebody has said that this is public

    @property
    def rows(self) -> ir.Table:
        """The rows, lazily; NaN is null in them."""
        return self.clean.rows

    @property
    def engine(self) -> Engine:
        """Where the rows are read."""
        return self.source.engine

    @property
    def unit_name(self) -> str:
        """The unit in words."""
        return " + ".join(self.unit)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, with those that have no type and so cannot be used."""
        here = tuple(self.clean.given.columns)
        return (*here, *(column for column in self.source.undeclared if column not in here))

    def with_labels(self, labels: Mapping[str, str]) -> Dataset:
        """The same, with words for some columns."""
        together = {**self.labels, **labels} if isinstance(labels, Mapping) else labels
        checked = checked_labels(together, self.columns)
        for column in labels:
            self.check_exists(column)
        return replace(self, labels=checked)

    def labels_of(self, columns: Iterable[str]) -> dict[str, str]:
        """The labels of the unit and of these columns."""
        named = dict.fromkeys((*self.unit, *columns))
        return {column: self.labels[column] for column in named if column in self.labels}

    def with_rows(
        self,
        rows: ir.Table,
        *steps: str,
        conditions: Sequence[LeftOut] = (),
        kernels: Mapping[str, int] | None = None,
        lattices: Mapping[str, Lattice] | None = None,
    ) -> Dataset:
        """The same with other rows, made of these in the given steps, and only where the conditions hold."""
        return replace(
            self,
            clean=CleanRows(rows, already_clean=True),
            steps=(*self.steps, *steps),
            conditions=(*self.conditions, *conditions),
            kernels={**self.kernels, **(kernels or {})},
            lattices=self.lattices if lattices is None else lattices,
        )

    def expression(self, given: Any, *, what: str, rows: ir.Table | None = None) -> expressions.Node:
        """A condition or a derived column, checked: of these rows, or of some with more columns. The error for a column
        of Python objects says what to declare."""
        try:
            return expressions.read(self.rows if rows is None else rows, given, unit=self.unit, what=what)
        except UnknownColumn as error:
            if error.value not in self.source.undeclared:
                raise
            untyped = undeclared_column(str(error.value))
        raise untyped

    def check_exists(self, column: str) -> None:
        """Raise unless there is such a column."""
        if not isinstance(column, str):
            raise WrongType(f"a column is named by text, such as 'fare'. Got {type(column).__name__} instead.")
        if column not in self.clean.given.schema():
            raise unknown_column(self.source, column, self.columns)

    def check_usable(self, column: str) -> None:
        """Raise unless a question may be about this column."""
        self.check_exists(column)
        if column in self.unit:
            raise BadExpression(
                f'"{column}" names the unit itself, and its values must not be released. Use another column.'
            )
        if column in self.kernels:
            raise WrongType(
                f'"{column}" holds the weights of several nodes, which only a histogram of it alone adds up. For one '
                "node a row leave out kernel_width.",
                parameter="column",
                value=column,
                example={"keys": Code("range(number_of_nodes)", "0:NUMBER_OF_NODES"), "max_rows": 5},
            )


def check_new_name(name: str, columns: Sequence[str]) -> None:
    """Refuse a name that an engine does not distinguish from another column: to them Taxi and taxi are one."""
    twins = [column for column in columns if column != name and column.casefold() == name.casefold()]
    if twins:
        raise InvalidParameter(
            f'"{name}" and the column "{twins[0]}" differ in upper and lower case only, and engines take them for '
            "one. Use another name."
        )


KEY_KINDS: dict[Type, ColumnKind] = {
    Type.BOOLEAN: "boolean", Type.TIMESTAMP: "timestamp", Type.DATE: "date", Type.TEXT: "text",
    Type.INTEGER: "integer", Type.REAL: "number",
}  # fmt: skip


def kind_of(kind: Any) -> ColumnKind | None:
    """What a column holds, as far as keys go. Levels of a category stay out: a frame takes them from its rows."""
    return None if kind.is_uuid() else KEY_KINDS.get(Type.of(kind))
