"""What is read and who is protected: a Table, lazy and frozen, and the questions that can be asked of it."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.curator import description, expressions
from leastnoise.curator.aggregate import clipping
from leastnoise.curator.aggregate.binning import exactly, is_missing, lattice_cell, place_rows, real
from leastnoise.curator.aggregate.bounding import word
from leastnoise.curator.aggregate.clipping import Clip
from leastnoise.curator.aggregate.entrance import Door
from leastnoise.curator.aggregate.nearest import FARTHEST, FULL, NARROWEST, HasCoordinates, Nearest, Spread, check_nodes
from leastnoise.curator.aggregate.parsing import check_types, parsed, undeclared, unknown
from leastnoise.curator.aggregate.vectors import Ball, check_columns
from leastnoise.curator.engines import Source, unique
from leastnoise.curator.engines.sources import open_source
from leastnoise.curator.query import Kind, Query, expression
from leastnoise.domain import Domain, IntegerRange, Lattice, Steps, counts_up, entries, product
from leastnoise.errors import (
    BadDomain,
    BadExpression,
    InvalidParameter,
    MissingParameter,
    UnknownColumn,
    WrongType,
)
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.privacy.sensitivity import Limits

if TYPE_CHECKING:
    import ibis.expr.types as ir


def table(
    source: Any,
    *,
    unit: str | Sequence[str],
    neighbours: str = "add-remove",
    name: str | None = None,
    engine: str | None = None,
    memory_limit: str | None = None,
    types: Mapping[str, str] | None = None,
) -> Table:
    """Open a table of people's rows; reads the schema only.

    `unit` is the column, or columns, that name whom to protect. `engine` is "duckdb" (the default) or
    the master of a Spark cluster, such as "spark://host:7077" or "local[2]"; `memory_limit`, such as
    "1GB", is for DuckDB. `name` is what a book calls this table (else the file's name): its releases are paid from a
    book about that name. A CSV does not say what its columns hold, and guessing would look at people's rows: they are
    text, but for those in `types`, such as {"hour": "int", "fare": "float"}; a cell that is none of that type is null.
    So are columns that folders name, day=5/; and a pandas column of Python objects cannot be used until `types` has it.
    """
    relation = check_neighbours(neighbours)
    units = (unit,) if isinstance(unit, str) else tuple(unit or ())
    if not units:
        raise MissingParameter("unit is empty: nobody would be protected. Name the column of the person, unit='taxi'.")
    if len(set(units)) < len(units):
        raise InvalidParameter("unit names a column twice. Name each once: unit=['company', 'person'].")
    check_types(types or {})
    opened = open_source(source, name=name, engine=engine, memory_limit=memory_limit, types=types or {})
    for column in units:
        if column not in opened.rows.columns:
            raise unknown(opened, column)
    rows = parsed(opened, types or {})
    for column in units:
        word(rows[column], column, opened.engine)
    return Table(source=opened, door=Door(rows), unit=units, neighbours=relation)


def check_names(by: Sequence[object]) -> None:
    """Raise unless every bin's column is named by text: whoever forgets to write `keys=` gives a list here."""
    for name in by:
        if not isinstance(name, str):
            raise WrongType(
                f"bins are by columns, and a column is named by text. Got {type(name).__name__} instead. "
                "The public keys go into keys=[...], and several columns are named one by one."
            )


def exact_matches(column: str) -> WrongType:
    """The error for whole-number keys of a column of real numbers."""
    return WrongType(
        f'"{column}" holds real numbers, and keys that are whole numbers would count only the rows that are exactly '
        "equal to one. Cut it into bins, ln.domain.Edges((0.0, 10.0, 20.0)), or round it, "
        f"derive(whole=lambda rows: rows['{column}'].floor()). If it holds whole numbers alone (pandas makes them real "
        "where one is missing), store them as integers, .astype('Int64')."
    )


def lattice(x: str, y: str, step: float) -> Lattice:
    """Square cells of side `step` over two columns, for `derive(cell=lattice("lon", "lat", 0.001))`."""
    return Lattice(x, y, float(step))


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of people, never looked at before a release."""

    source: Source
    door: Door
    unit: tuple[str, ...]
    neighbours: Neighbours
    kernels: tuple[tuple[str, int], ...] = ()
    rules: tuple[str, ...] = ()  # what was done to the rows, in public words

    def __repr__(self) -> str:
        return f"<Table {self.source.name}: unit {' + '.join(self.unit)}, columns {', '.join(self.columns)}>"

    @property
    def rows(self) -> ir.Table:
        """The rows, lazily; NaN is null in them."""
        return self.door.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        here = tuple(self.door.given.columns)
        return (*here, *(column for column in self.source.undeclared if column not in here))

    def __getitem__(self, column: str) -> ir.Column:
        """A column, to build expressions for `where` and `derive`."""
        self._known(column)
        return self.rows[column]

    def where(self, condition: Any) -> Table:
        """Only the rows for which a public condition holds: an Ibis expression, or text such as "hour <
        3"."""
        made = self._read(self.rows, condition, what="where")
        if made.type is not expressions.Type.BOOLEAN:
            raise WrongType(f"where must be true or false for a row. Got {made.type.value} instead.")
        kept = expressions.filtered(self.rows, made)
        return replace(
            self, door=Door(kept, passed=True), rules=(*self.rules, description.condition(expressions.text(made)))
        )

    def derive(self, **columns: Any) -> Table:
        """New columns, each a fixed function of its own row."""
        rows, told = self.rows, list(self.rules)
        for name, given in columns.items():
            if name in self.unit:
                raise BadExpression(
                    f'derive would replace the unit "{name}", and nobody would be protected. Use another name.'
                )
            if name in dict(self.kernels):
                raise BadExpression(
                    f'derive would replace "{name}", the weights of nearby nodes, and what replaced them might weigh '
                    "more than one row may. Use another name."
                )
            self._new(name, rows.columns)
            if isinstance(given, Lattice):
                for column in (given.x, given.y):
                    self._public(column)
                rows = rows.mutate(**{name: lattice_cell(rows, given)})
                told.append(description.cells(name, given.x, given.y, given.step))
            else:
                made = self._read(rows, given, what=f"derive({name}=...)")
                rows = expressions.with_column(rows, made, name)
                told.append(description.column(name, expressions.text(made)))
        return replace(self, door=Door(rows, passed=True), rules=tuple(told))

    def _read(self, rows: ir.Table, given: Any, *, what: str) -> expressions.Node:
        """The checked expression; one that reads a column of Python objects is told what to declare."""
        try:
            return expressions.read(rows, given, unit=self.unit, what=what)
        except UnknownColumn as error:
            if error.value not in self.source.undeclared:
                raise
            untyped = undeclared(str(error.value))
        raise untyped

    def check(self) -> dict[str, int]:
        """A look at data quality for the curator's own eyes, OUTSIDE every guarantee: never publish it.

        Rows, rows without a unit, and for each column how many rows are null or NaN.
        """
        rows = self.rows
        nameless = functools.reduce(operator.or_, [rows[column].isnull() for column in self.unit])
        counts = {"rows": rows.count(), "rows without a unit": nameless.sum()}
        for column in rows.columns:
            counts[f"missing in {column}"] = is_missing(rows[column]).sum()
        found = self.source.engine.fetch(rows.aggregate(**{name: n.cast("int64") for name, n in counts.items()}))
        return {name: int(found[name][0].as_py() or 0) for name in counts}

    def nearest(
        self, graph: HasCoordinates, *, lon: str, lat: str, within: float, name: str = "node",
        kernel_width: float | None = None, spread: int = 4,
    ) -> Table:  # fmt: skip
        """A column `name` with the number of the graph's node nearest to the point, at most `within`
        metres away.

        With `kernel_width` (metres) a row's weight of one is spread over up to `spread` nearby nodes
        instead, and a histogram of `name` sums the weights.
        """
        nodes = check_nodes(graph, within)
        for column in (lon, lat):
            self._public(column)
        if name in self.columns:
            raise InvalidParameter(f'there is a column "{name}" already. Say name="another".')
        self._new(name, self.columns)
        points = [real(self.rows[column], column).fill_null(exactly(math.nan)) for column in (lon, lat)]
        function: Any = Nearest(nodes=nodes, within=float(within))
        if kernel_width is not None:
            if isinstance(spread, bool) or not isinstance(spread, int) or not 1 <= spread <= 64:
                raise InvalidParameter(f"spread is a whole number of nodes from 1 to 64. Got {spread!r} instead.")
            if not NARROWEST <= kernel_width <= FARTHEST:
                raise InvalidParameter(
                    f"kernel_width is metres from {NARROWEST:g} to {FARTHEST:g}. Got {kernel_width!r} instead."
                )
            function = Spread(
                nodes=nodes, within=float(within), width=float(kernel_width), count=min(spread, len(nodes))
            )
        result = "int64" if kernel_width is None else "array<int64>"
        made = self.source.engine.map_points(function, *points, result=result)
        kernels = dict(self.kernels) | ({name: function.count} if kernel_width is not None else {})
        width = None if kernel_width is None else (float(kernel_width), function.count)
        rule = description.nearest(name, lon, lat, len(nodes), float(within), width)
        return replace(
            self,
            door=Door(self.rows.mutate(**{name: made}), passed=True),
            kernels=tuple(kernels.items()),
            rules=(*self.rules, rule),
        )

    def count(self, *, max_rows: int | None = None) -> Query:
        """The number of rows."""
        return self._counts("count", Domain(), max_rows=max_rows)

    def count_units(self) -> Query:
        """The number of distinct units."""
        return self._counts("units", Domain(), max_rows=1)

    def histogram(
        self,
        *by: str,
        keys: Any = None,
        max_rows: int | None = None,
        max_per_bin: int | None = None,
        max_bins: int | None = None,
        nulls: str = "drop",
    ) -> Query:
        """The number of rows in each bin of `by`; with keys=None the bins are found in the rows and
        thresholded."""
        if not by:
            raise MissingParameter(
                "histogram needs a column: histogram('junction', keys=...). For one number use count()."
            )
        check_names(by)
        if by[0] in dict(self.kernels):
            if max_per_bin is not None or max_bins is not None or nulls != "drop":
                raise InvalidParameter(
                    "a row of kernel weights touches several nodes, so only max_rows limits a unit: leave out "
                    "max_per_bin, max_bins and nulls."
                )
            return self._kernel(by, keys, max_rows)
        domain = self._domain(by, keys, nulls)
        return self._counts(
            "count", domain, by=by, nulls=nulls, max_rows=max_rows, max_per_bin=max_per_bin, max_bins=max_bins
        )

    def quantile(
        self, column: str, q: float | Sequence[float], *, clip: tuple[float, float], bins: int = 1000,
        max_rows: int | None = None,
    ) -> Query:  # fmt: skip
        """Quantiles of a column through a histogram of `bins` equal steps of the clip."""
        self._public(column)
        levels = tuple(float(level) for level in np.ravel(np.asarray(q, dtype=np.float64)))
        if not levels or any(not 0 <= level <= 1 for level in levels):
            raise InvalidParameter(f"q must be between 0 and 1. Got {q!r} instead. The median is q=0.5.")
        if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or not 1 <= bins <= 2**20:
            raise BadDomain(f"bins must be a whole number from 1 to 2^20. Got {bins!r} instead.")
        ends = Clip.of(clip, self.rows[column].type())
        domain = Domain((column,), (Steps(low=ends.low, high=ends.high, bins=int(bins)),))
        made = self._counts("quantile", domain, by=(column,), max_rows=max_rows)
        return replace(made, levels=levels)

    def sum(
        self, column: str, *, clip: tuple[float, float], by: str | Sequence[str] = (), keys: Any = None,
        max_rows: int | None = None, max_per_bin: int | None = None, max_bins: int | None = None,
        nulls: str = "drop",
    ) -> Query:  # fmt: skip
        """The sum of a column clipped to [low, high], in each bin of `by`."""
        return self._values("sum", column, clip, by, keys, nulls, (max_rows, max_per_bin, max_bins))

    def mean(
        self, column: str, *, clip: tuple[float, float], by: str | Sequence[str] = (), keys: Any = None,
        max_rows: int | None = None, max_per_bin: int | None = None, max_bins: int | None = None,
        nulls: str = "drop",
    ) -> Query:  # fmt: skip
        """The mean of a column clipped to [low, high], in each bin of `by`: centred sum and count
        together."""
        return self._values("mean", column, clip, by, keys, nulls, (max_rows, max_per_bin, max_bins))

    def vector_sum(
        self,
        columns: str | Sequence[str],
        *,
        clip_norm: float,
        length: int | None = None,
        max_rows: int | None = None,
    ) -> Query:
        """The sum of vectors clipped to the L2 norm `clip_norm`: several columns, or one array column of
        `length`."""
        return self._vectors("vector_sum", columns, clip_norm, length, max_rows)

    def vector_mean(
        self,
        columns: str | Sequence[str],
        *,
        clip_norm: float,
        length: int | None = None,
        max_rows: int | None = None,
    ) -> Query:
        """The mean of vectors clipped to the L2 norm `clip_norm`: their sum and their number together."""
        return self._vectors("vector_mean", columns, clip_norm, length, max_rows)

    def _vectors(
        self,
        kind: Kind,
        columns: str | Sequence[str],
        clip_norm: float,
        length: int | None,
        max_rows: int | None,
    ) -> Query:
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        for column in names:
            self._public(column)
        size = self._vector_length(names, length)
        radius = clipping.norm(clip_norm)
        check_columns(self.door.given, names, size)
        ball = Ball.of(radius, size)
        limits = self._limits(1, (), max_rows, None, None)
        reach = sensitivities.of_vector_sum(
            norm=ball.radius * Fraction(ball.grid), length=size, max_rows=limits.max_rows,
            counted=kind == "vector_mean", neighbours=self.neighbours,
        )  # fmt: skip
        return self._query(
            kind=kind,
            by=(),
            domain=None,
            limits=limits,
            sensitivity=reach,
            columns=names,
            ball=ball,
            grid=ball.grid,
        )

    def _vector_length(self, names: tuple[str, ...], length: int | None) -> int:
        if not names or len(set(names)) < len(names):
            raise InvalidParameter("a vector needs one or more different columns. Name each once.")
        if not self.door.given[names[0]].type().is_array():
            return len(names)
        if len(names) > 1 or length is None or isinstance(length, bool) or not 2 <= length <= 2**20:
            raise MissingParameter("an array column needs its public length, from 2 to 2^20: say length=128.")
        return length

    def _counts(
        self, kind: Kind, domain: Domain | None, *, by: Sequence[str] = (), nulls: str = "drop",
        max_rows: int | None = None, max_per_bin: int | None = None, max_bins: int | None = None,
    ) -> Query:  # fmt: skip
        bins = None if domain is None else domain.size
        limits = self._limits(bins, by, max_rows, max_per_bin, max_bins)
        size = sensitivities.of_sum(limits, low=0, high=1, bins=bins, neighbours=self.neighbours)
        return self._query(kind=kind, by=tuple(by), domain=domain, limits=limits, sensitivity=size, nulls=nulls)

    def _kernel(self, by: Sequence[str], keys: Any, max_rows: int | None) -> Query:
        if len(by) > 1 or not isinstance(keys, range) or keys.start or keys.step != 1 or max_rows is None:
            raise MissingParameter(
                "a histogram of kernel weights is by that one column and needs every node and a "
                "limit on rows: "
                f'histogram("{by[0]}", keys=range(number_of_nodes), max_rows=5).'
            )
        if keys.stop > 2**26:
            raise BadDomain(f"a histogram of kernel weights may have {2**26} nodes. Got {keys.stop} instead.")
        limits = self._limits(None, by, max_rows, None, None)
        size = sensitivities.of_kernel(limits, neighbours=self.neighbours)
        domain = Domain(tuple(by), (IntegerRange(0, keys.stop),))
        made = Query(
            kind="count",
            source=self.source,
            door=self.door,
            unit=self.unit,
            neighbours=self.neighbours,
            by=tuple(by),
            domain=domain,
            limits=limits,
            sensitivity=size,
            grid=1 / FULL,
            spread=dict(self.kernels)[by[0]],
            rules=self.rules,
        )
        expression(made)  # built once, so that what cannot be is found before any row is read
        return made

    def _values(
        self, kind: Kind, column: str, clip: object, by: str | Sequence[str], keys: Any, nulls: str,
        given: tuple[int | None, int | None, int | None],
    ) -> Query:  # fmt: skip
        self._public(column)
        names = (by,) if isinstance(by, str) or not isinstance(by, Iterable) else tuple(by)
        check_names(names)
        if names and keys is None:
            raise MissingParameter(
                f"{kind} by {', '.join(names)} needs the public keys: keys=[...]. Only histograms find keys."
            )
        domain = self._domain(names, keys, nulls) if names else Domain()
        assert domain is not None
        ends = Clip.of(clip, self.rows[column].type())
        if domain.sparse or domain.size << ends.bits >= 2**62:
            raise BadDomain(f"a {kind} may have {2**26} bins, and this domain has {domain.size}. Use coarser keys.")
        limits = self._limits(domain.size, names, *given)
        step = Fraction(ends.grid)
        if kind == "sum":
            size = sensitivities.of_sum(
                limits,
                low=ends.lowest * step,
                high=ends.highest * step,
                bins=domain.size,
                neighbours=self.neighbours,
            )
        else:
            size = sensitivities.of_mean(limits, half=ends.half * step, bins=domain.size, neighbours=self.neighbours)
        return self._query(
            kind=kind,
            by=names,
            domain=domain,
            limits=limits,
            sensitivity=size,
            nulls=nulls,
            columns=(column,),
            clip=ends,
            grid=ends.grid,
        )

    def _query(self, **parts: Any) -> Query:
        """The query, with its expression built once so that a wrong type is found before any row is read."""
        made = Query(
            source=self.source,
            door=self.door,
            unit=self.unit,
            neighbours=self.neighbours,
            rules=self.rules,
            **parts,
        )
        if made.domain is not None:
            place_rows(self.rows, made.domain, name=unique("place"))
        if made.clip is not None:
            made.clip.apply(self.rows[made.columns[0]], made.columns[0])
        return made

    def _domain(self, by: Sequence[str], keys: Any, nulls: str) -> Domain | None:
        if nulls not in ("drop", "bin"):
            raise InvalidParameter.among("nulls", nulls, ["drop", "bin"])
        for column in by:
            self._public(column)
        if len(set(by)) < len(by):
            raise BadDomain("a column is named twice. Name each once.")
        if keys is not None:
            given = entries(by, keys)
            for column, part in zip(by, given, strict=True):
                if self.rows[column].type().is_floating() and counts_up(part):
                    raise exact_matches(column)
            return product(by, given[0] if len(by) == 1 else given, nulls=nulls)
        for column in by:
            word(self.rows[column], column, self.source.engine)
        return None

    def _limits(self, bins: int | None, by: Sequence[str], *given: int | None) -> Limits:
        return Limits.of(
            max_rows=given[0], max_per_bin=given[1], max_bins=given[2], bins=bins,
            unit=" + ".join(self.unit), what=f'"{", ".join(by)}"' if by else "the answer",
        )  # fmt: skip

    def _known(self, column: str) -> None:
        if not isinstance(column, str):
            raise WrongType(f"a column is named by text, such as 'fare'. Got {type(column).__name__} instead.")
        if column not in self.door.given.schema():
            missing = column in self.source.undeclared
            raise undeclared(column) if missing else UnknownColumn.among_columns(column, self.columns)

    def _new(self, name: str, columns: Sequence[str]) -> None:
        """Refuse a name that an engine cannot tell from another column: to them Taxi and taxi are one."""
        twins = [column for column in columns if column != name and column.casefold() == name.casefold()]
        if twins:
            raise InvalidParameter(
                f'"{name}" and the column "{twins[0]}" differ in upper and lower case only, and engines take them for '
                "one. Use another name."
            )

    def _public(self, column: str) -> None:
        self._known(column)
        if column in self.unit:
            raise BadExpression(
                f'"{column}" names the unit itself, and its values must not be released. Use another column.'
            )
        if column in dict(self.kernels):
            raise WrongType(
                f'"{column}" holds the weights of several nodes, which only a histogram of it alone adds up: '
                f'histogram("{column}", keys=range(number_of_nodes), max_rows=5). For one node a row leave out '
                "kernel_width."
            )
