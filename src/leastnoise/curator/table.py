"""What is read and who is protected: a Table, lazy and frozen, and the questions that can be asked of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis.expr.types as ir

from leastnoise import stats
from leastnoise._support import files, validation
from leastnoise._support.calls import explained
from leastnoise._support.text import printable
from leastnoise._support.validation import Number
from leastnoise.curator import dataset, private_check, public_join, transform
from leastnoise.curator.budget import Budget
from leastnoise.curator.budget.terms import Share
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.description import counted, escaped, one_line, shortened
from leastnoise.curator.engines.engine import unique
from leastnoise.curator.engines.files import CsvLayout
from leastnoise.curator.engines.sources import open_source
from leastnoise.curator.queries import suggestions
from leastnoise.curator.queries.suggestions import USUAL_LEVELS, ClipQuestion
from leastnoise.curator.questions import Questions
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.rows.columns import CleanRows, check_missing, check_types, parsed, typed_before, unknown_unit
from leastnoise.curator.rows.points import (
    HasCoordinates,
    KernelWeights,
    Nearest,
    ZoneLookup,
    check_kernel,
    check_nodes,
    prepare_zones,
)
from leastnoise.curator.rows.priorities import word as unit_word
from leastnoise.domain import Lattice, Zones, template
from leastnoise.errors import Code, InvalidParameter, MissingParameter, WrongType
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.releases.clip_suggestion import ClipSuggestion
from leastnoise.releases.limit_suggestion import LimitSuggestion


def table(
    source: Any,
    *,
    unit: str | Sequence[str] | None = None,
    neighbours: str = "add-remove",
    name: str | None = None,
    engine: str | None = None,
    memory_limit: str | None = None,
    config: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    missing: str | Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    public_units: int | None = None,
) -> Table:
    """Open a table of people's rows. Only its schema is read.

    source: a path or a glob of Parquet or CSV files, a pandas, Polars or Arrow table, a DuckDB relation, an Ibis or a
        Spark table. With Spark also an address such as "s3a://bucket/trips", or the name of a table of its catalogue.
    unit: the column, or columns, that name whom to protect, such as "taxi"; it must be given. A row whose unit is null
        is nobody's and is left out.
    neighbours: "add-remove" (the default: one unit more or less changes little), or "replace" (one unit instead of
        another).
    name: what a budget's ledger calls this table. Left out, it is the file's name. Its releases are paid from a budget
        about that name.
    engine: "duckdb" (the default); the master of a Spark cluster, such as "spark://host:7077" or "local[2]"; or a
        Spark Connect server, "sc://host".
    memory_limit: how much memory DuckDB may take, such as "1GB", and our own loops nearly as much again. Left out,
        DuckDB decides.
    config: settings of a Spark session that is started for this, such as {"spark.executor.memory": "4g"}. Left out,
        those of its spark-defaults.conf.
    types: what columns of text hold, in any table, such as {"hour": "int", "fare": "float"}; also "bool", "date",
        "timestamp" and "text". A CSV does not declare it, and guessing would look at people's rows, so undeclared
        columns are text; columns that folders name, day=5/, too. A pandas column of Python objects cannot be used until
        it is declared. A cell that is not written like its type is null. A "timestamp" may end in Z: times are in UTC.
    delimiter: what separates the cells of a CSV: ",", ";", "|" or a tab. Left out, a comma, and in .tsv a tab.
    decimal: the sign before the fraction of its numbers, "." or ",". Left out, a point; 3,5 is then null, and with a
        comma 3.5 is.
    missing: texts that stand for a missing value, such as "NA" or ["NA", "-999"]: such a cell is null in every column
        of text, and before its type is read. An empty cell of a CSV is null as it is.
    labels: what readers call the unit and other columns, such as {"taxi_id": "taxi", "edu": "education"}: in sentences,
        titles and pictures. Data and files keep the columns' own names. `label` names derived columns.
    public_units: how many units there are, where everybody may know that: a delta of one over it, or more, is then
        called too much. It is your word, not counted; leave it out where the number is not public.
    """
    relation, units, types = check_neighbours(neighbours), _checked_units(unit or ()), types or {}
    layout, words = CsvLayout(delimiter, decimal), check_missing(missing)
    check_types(types)
    if public_units is not None:
        validation.integer("public_units", public_units)
    opened = open_source(
        source, name=name, engine=engine, memory_limit=memory_limit, config=config, types=types, layout=layout
    )
    for column in units:
        if column not in opened.rows.columns:
            raise unknown_unit(opened, column)
    rows = parsed(opened, types, words)
    for column in units:
        if rows[column].type().is_floating():
            raise _decimal_unit(source, column, types)
        unit_word(rows[column], column, opened.engine)
    data = Dataset(
        source=opened,
        clean=CleanRows(rows),
        unit=units,
        neighbours=relation,
        types=dict(types),
        missing=words,
        steps=(f"{shortened([escaped(repr(word)) for word in words])} read as missing",) if words else (),
        public_units=public_units,
    )
    return Table(data.with_labels(labels or {}))


def _checked_units(unit: object) -> tuple[str, ...]:
    """The columns that name whom to protect: one, or several."""
    units = (unit,) if isinstance(unit, str) or not isinstance(unit, Iterable) else tuple(unit)
    if not all(isinstance(column, str) for column in units):
        raise WrongType(
            f"unit names a column, or several, by text. Got {unit!r} instead.",
            parameter="unit",
            value=unit,
            example={"unit": "person"},
        )
    if not units:
        raise MissingParameter(
            "Whom should the numbers protect? Without a unit nobody would be protected: name the column of the person. "
            "Where every row is a person, add a column that numbers the rows.",
            parameter="unit",
            example={"unit": "person"},
        )
    if len(set(units)) < len(units):
        raise InvalidParameter(
            "unit names a column twice. Name each once.",
            parameter="unit",
            value=unit,
            example={"unit": Code('["company", "person"]', "company,person")},
        )
    return units


def lattice(x: str, y: str, step: float) -> Lattice:
    """Square cells over two columns, for `derive(cell=lattice("lon", "lat", 0.001))`.

    x, y: the names of the two columns of coordinates.
    step: the side of a cell, in their unit.
    """
    return Lattice(x, y, step)


@explained
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table(Questions):
    """Rows of people, never looked at before a release; `ln.table` opens one.

    Every method returns another Table or a Query, and reads nothing. Most questions limit how much of one unit is used,
    because noise must hide all of it:

    max_rows: how many rows of one unit are used at most; which ones, a hash of the unit and the row decides.
    max_per_bin: how many of its rows in one bin. Left out, as many as max_rows.
    max_bins: in how many bins. Left out, as many as max_rows.

    max_rows may be left out where the other two limit it.
    """

    def __repr__(self) -> str:
        unit, columns = self._data.unit_name, ", ".join(self.columns)
        return printable(f"<Table {self._data.source.name}: unit {unit}, columns {columns}>")

    @property
    def unit(self) -> tuple[str, ...]:
        """The columns that name whom to protect."""
        return self._data.unit

    @property
    def neighbours(self) -> Neighbours:
        """Between which tables the answers must not differ much."""
        return self._data.neighbours

    @property
    def rows(self) -> ir.Table:
        """The rows, lazily; NaN is null in them."""
        return self._data.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._data.columns

    @property
    def lattices(self) -> Mapping[str, Lattice]:
        """The columns of cells on a map, and whose cells they hold."""
        return self._data.lattices

    def __getitem__(self, column: str) -> ir.Column:
        """A column, to build expressions for `where` and `derive`."""
        self._data.check_exists(column)
        return self.rows[column]

    def label(self, /, **labels: str) -> Table:
        """What readers call columns, derived ones too: in sentences, titles and pictures. Data and files keep names.

        labels: the column = its label, such as edu="education".
        """
        return Table(self._data.with_labels(labels))

    def where(self, condition: Any) -> Table:
        """Only the rows for which a public condition holds.

        condition: SQL text over one row, such as "hour < 3 AND zone = 'port'", an Ibis expression, or a function of the
            rows. It may not read the unit, other rows, a clock or chance.
        """
        return Table(transform.filter_rows(self._data, condition))

    def derive(self, /, **columns: Any) -> Table:
        """New columns, each a fixed function of its own row.

        columns: the new name = SQL text over one row, such as night="hour < 6", an Ibis expression, a function of the
            rows, or `ln.lattice(...)` for cells on a map.
        """
        return Table(transform.add_columns(self._data, columns))

    def per_unit(self, /, **columns: stats.Statistic) -> Table:
        """A table of one row a unit, each made from all rows of the unit: how many taxis made 1, 2, 3 trips; the median
        spend of a customer. Every question can be asked of it, and none needs a limit: `max_rows` is 1.

        columns: the new name = a statistic of the unit's rows: `ln.stats.count()`, `sum("fare", grid=0.01)`,
            `min("day")`, `max("day")`, `mode("zone")` (the most frequent value; of several, the least) or
            `distinct("zone")`. Missing values are left out; where all are, the column is missing too.

        Why one unit is one row, and no more: a new row is a function of the multiset of one unit's rows, whatever else
        is in the table and in whichever order it is read. So a unit that is added or removed adds or removes at most
        one new row, and changes no other. A unit that is replaced by another exchanges one row for one, or, where a
        condition leaves all rows of either out, adds or removes one. Under "replace" both are hidden: the sensitivity
        of every question is the larger of the two.
        """
        return Table(transform.per_unit(self._data, columns))

    def join_public(
        self, public: Any, *, on: str | Sequence[str] | Mapping[str, str], columns: Sequence[str] | None = None
    ) -> Table:
        """New columns from a table that everybody may see, such as the borough of each zone. A row that finds no row of
        it has nulls there; no row is lost or doubled.

        public: a CSV or Parquet file, a pandas, Polars or Arrow table, or a mapping of names to lists. Every key must
            be in it once, as the rows' column compares them: where that holds whole numbers, 1, 1.0 and "01" are one.
        on: the column, or columns, that both tables have; or {"pickup": "zone_id"} where the names differ.
        columns: which columns of the public table to join in. Left out, all of them.
        """
        return Table(public_join.join_public(self._data, public, on=on, columns=columns))

    def within(
        self,
        zones: Zones | Mapping[str, Any] | str | os.PathLike[str],
        *,
        lon: str,
        lat: str,
        name: str = "zone",
        key: str | None = None,
    ) -> Table:
        """A new column with the zone that holds each row's point, null where none does.

        A point on a border that two zones share is in one of them, always the same; where zones overlap, the first in
        the file holds it. Places are compared in steps of about 3 cm, exactly.

        zones: public polygons: a GeoJSON file or what was read from one, a FeatureCollection; or `ln.domain.Zones`.
        lon, lat: the columns of a row's longitude and latitude, in degrees.
        name: the new column.
        key: the property of each feature that names its zone, a text or a whole number. Left out, it is the feature's
            id. Features of one name are one zone.
        """
        data, places, number = self._data, Zones.read(zones, key=key), unique("zone")
        points = transform.points_of(data, lon, lat, name)
        prepare_zones()
        rows = data.rows.mutate(**{number: data.engine.map_points(ZoneLookup.of(places), *points, result="int64")})
        numbers = [(place,) for place in range(places.size)]
        rows = public_join.attached(rows, [rows[number]], numbers, {name: places.keys}).drop(number)
        held = f"{counted(places.size, 'zone')} holds {one_line(lon)}, {one_line(lat)} (SHA-256 {places.digest})"
        return Table(data.with_rows(rows, f"with {one_line(name)} = which of {held}"))

    def nearest(
        self,
        graph: HasCoordinates,
        *,
        lon: str,
        lat: str,
        within: float,
        name: str = "node",
        kernel_width: float | None = None,
        spread: int = 4,
    ) -> Table:
        """A new column with the number of the graph's node nearest to each row's point, -1 where none is near.

        graph: a public graph with coordinates (longitude and latitude of each node).
        lon, lat: the columns of a row's longitude and latitude, in degrees.
        within: how far away a node may be, in metres.
        name: the new column.
        kernel_width: metres. Given, a row's weight of one is spread over several nearby nodes (by a Gaussian kernel of
            that width), and a histogram of `name` adds up the weights. Left out, a row counts at its nearest node.
        spread: over how many nodes at most, 1 to 64; for kernel_width alone.
        """
        data, nodes = self._data, check_nodes(graph, within)
        points, within = transform.points_of(data, lon, lat, name), float(within)
        which = f"of {len(nodes)} nodes within {within:g} m of {one_line(lon)}, {one_line(lat)}"
        if kernel_width is None:
            node = data.engine.map_points(Nearest(nodes=nodes, within=within), *points, result="int64")
            return Table(data.with_rows(data.rows.mutate({name: node}), f"with {one_line(name)} = nearest {which}"))
        check_kernel(kernel_width, spread)
        width, count = float(kernel_width), min(spread, len(nodes))
        kernel = KernelWeights(nodes=nodes, within=within, width=width, count=count)
        weights = data.engine.map_points(kernel, *points, result="array<int64>")
        step = f"with {one_line(name)} = {count} nearest (kernel width {width:g} m) {which}"
        return Table(data.with_rows(data.rows.mutate({name: weights}), step, kernels={name: count}))

    def write_keys(self, path: str | os.PathLike[str], *, keys: Mapping[str, Any] | None = None) -> Path:
        """Write a file of keys to be filled in, one line a column, from names and types alone; no row is read.

        Filled in from what is public, `ln.domain.read(path)` makes `keys=` of it. A question that asks for a column
        which is not filled in is refused.

        path: where the file goes, such as "keys.toml". A file that is there already is never replaced.
        keys: those of some columns that are known, by name, as questions take them: they are filled in.
        """
        for column in keys or {}:
            self._data.check_usable(column)
        kinds = self._data.clean.given.schema()
        usable = {column: dataset.kind_of(kinds[column]) for column in kinds if column not in self._data.kernels}
        columns = {column: usable.get(column) for column in self._data.columns if column not in self._data.unit}
        return files.create(path, template(columns, keys or {}))

    def private_check(self) -> private_check.PrivateCheck:
        """A look at data quality for the curator's own eyes, OUTSIDE every guarantee: never publish it.

        Exact numbers of rows, of rows without a unit or with one that looks like a word for a missing value, of cells
        that are not written like their type, and for each column of rows where it is null or NaN.
        """
        return private_check.check_table(self._data)

    def suggest_limits(
        self,
        *by: str,
        keys: Any = None,
        nulls: str = "drop",
        epsilon: Number | None = None,
        delta: Number | None = None,
        budget: Budget | None = None,
        share: Share | None = None,
        note: str = "",
        for_epsilon: Number | None = None,
        for_delta: Number | None = None,
        for_share: Share | None = None,
    ) -> LimitSuggestion:
        """Limits for a question by these bins, from one small release of its own.

        Every unit is counted once: by how many rows it has, by how many of these share a bin, and by one bin. From
        these counts with noise follows what any limits would leave out.

        by, keys, nulls: the bins of the question, as for `histogram`; without any, of a count, sum or mean of all rows.
        epsilon, delta: the promise of this release; or
        budget, share, note: an open `ln.Budget`, how much of it to spend, such as 0.02, and a line for its history.
        for_epsilon, for_delta: the promise of the question that the limits are for. Left out, the same; or
        for_share: the share of the budget that it will take. Left out, all that is left.
        """
        request = PrivacyRequest(epsilon=epsilon, delta=delta, budget=budget, share=share, note=note)
        later = {"for_epsilon": for_epsilon, "for_delta": for_delta, "for_share": for_share}
        asked = {"keys": keys, "nulls": nulls, "request": request, **later}
        return suggestions.suggest_limits(self._data, by, **asked)

    def suggest_clip(
        self,
        column: str,
        *,
        within: tuple[float, float],
        levels: tuple[float, float] = USUAL_LEVELS,
        max_rows: int | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        budget: Budget | None = None,
        share: Share | None = None,
        note: str = "",
    ) -> ClipSuggestion:
        """Ends for a column's values, from a small release of its own: two private quantiles, the part of the rows
        beyond each, and how far that can move a mean.

        column: the column of numbers. Rows in which it is missing are left out.
        within: the public ends (low, high) that no value is beyond, such as what a tariff or a law allows. A value
            beyond counts as the nearer end. What the rows beyond the proposed ends can do to a mean is bounded by it.
        levels: which share of the rows should lie below each end, about. A 0 or a 1 keeps the public end of that side:
            (0, 0.995) for a sum of numbers that begin at 0.
        max_rows: how many rows of one unit count at most: as many as in the question that the clip is for.
        epsilon, delta: the guarantee of this release; or
        budget, share, note: an open `ln.Budget`, how much of it to spend, such as 0.05, and a line for its history.
        """
        question = ClipQuestion.asked(self._data, column, within=within, levels=levels, max_rows=max_rows)
        made = question.release(epsilon=epsilon, delta=delta, budget=budget, share=share, note=note)
        assert isinstance(made, ClipSuggestion)
        return made


def _decimal_unit(source: object, column: str, types: Mapping[str, str]) -> WrongType:
    """The error for a unit of numbers with decimals, and how the kind of table at hand makes whole numbers of it."""
    frames = {
        "pandas": f'df["{column}"] = df["{column}"].astype("Int64")',
        "polars": f'df = df.with_columns(pl.col("{column}").cast(pl.Int64))',
        "pyspark": f'df = df.withColumn("{column}", df["{column}"].cast("bigint"))',
    }
    code = frames.get(type(source).__module__.split(".")[0])
    return WrongType(
        f'the unit "{column}" holds numbers with decimals, and two that look the same may differ: one person could '
        "count as two. Programs make such numbers of whole ones where some are missing. Make them whole numbers or "
        "text before the table is opened; a missing one stays missing.",
        parameter="unit",
        value=column,
        example={"types": {column: "int"}} if column in types else typed_before(code) if code else (),
    )
