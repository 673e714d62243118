"""Rows in memory, or in somebody else's lazy frame, as Arrow.

Only schemas are looked at. A pandas column of dtype `object` may hold anything: whoever looks at its cells for a type
lets one person decide what all others are, so it has no type until one is declared, and then each cell is converted by
itself, by a total function: one that is none of the type is null. A column of a type that no engine reads is refused by
name, before any row.

Arrow's own tables come through the PyCapsule protocol, and so do DuckDB relations. What pandas and Polars export there
is not safe to take: pandas looks at the cells of an object column for a type, and fails where they differ; Polars
exports the addresses of Python objects as bytes. Another library's stream may do either, so it is not accepted.
"""

from __future__ import annotations

import numbers
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from leastnoise._support.text import type_name
from leastnoise.curator.engines.engine import attempt, check_names, redact_errors
from leastnoise.curator.engines.given_table import exact_batch, exact_schema
from leastnoise.errors import ReadingFailed, UnknownSource

FIRST, LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)
EPOCH, MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)
P = TypeVar("P")


def refuse_odd(columns: Mapping[str, tuple[Any, P]], take: Callable[[Sequence[P]], object]) -> None:
    """Refuse the first column of a type that `take` fails at.

    columns: by name, the type and what `take` knows the column by. take: reads these columns of a table without rows.
    """
    if not columns or _works(take, [place for _, place in columns.values()]):
        return
    for name, (kind, place) in columns.items():
        if not _works(take, [place]):
            raise UnknownSource(
                f'the column "{name}" holds {type_name(kind)}, a type that is not read. Make it float64, int64, text '
                "or dates before the table is opened, or leave it out of the frame.",
                parameter="source",
                value=name,
            )


def _works(take: Callable[[Sequence[P]], object], places: Sequence[P]) -> bool:
    with suppress(ReadingFailed):
        redact_errors(lambda: take(places))
        return True
    return False


def convert(cells: Iterable[Any], kind: str) -> pa.Array:
    """The cells as an Arrow array of a kind that `types` may name; never an error because of a cell."""
    reads: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
        "text": (_text, pa.large_string(), None),
        "int": (_int, pa.int64(), None),
        "float": (_float, pa.float64(), None),
        "bool": (_bool, pa.bool_(), None),
        "date": (_days, pa.int32(), pa.date32()),
        "timestamp": (_microseconds, pa.int64(), pa.timestamp("us")),
    }
    read, stored, viewed = reads[kind]
    array = pa.array([attempt(read, cell) for cell in cells], stored)  # any method of any object may fail
    return array if viewed is None else array.view(viewed)


def _text(cell: Any) -> str | None:
    """Half of a surrogate pair is no Unicode: encoding fails, and the cell is null."""
    return str.encode(cell, "utf-8").decode("utf-8") if isinstance(cell, str) else None


def _is_number(cell: Any) -> bool:
    return isinstance(cell, numbers.Real | Decimal) and not isinstance(cell, bool | np.bool_)


def _int(cell: Any) -> int | None:
    """The bounds come first: the digits of Decimal("1e999999999") would fill the memory."""
    if not _is_number(cell) or not -(2**63) <= cell < 2**63:
        return None
    integer = int(cell)
    return integer if integer == cell else None


def _float(cell: Any) -> float | None:
    return float(cell) if _is_number(cell) else None


def _bool(cell: Any) -> bool | None:
    return bool(cell) if isinstance(cell, bool | np.bool_) else None


def _days(cell: Any) -> int | None:
    moment = _microseconds(cell)
    return None if moment is None else moment // 86_400_000_000


def _microseconds(cell: Any) -> int | None:
    """From 1970, in UTC: of a time with a zone, of one without as it is written, of the beginning of a day."""
    if isinstance(cell, np.datetime64):
        # The year first: a cast to a finer unit wraps around where it overflows.
        year = 1970 + int(cell.astype("datetime64[Y]").astype(np.int64))
        cell = cell.astype("datetime64[us]").item() if 1 <= year <= 9999 else None
    if hasattr(cell, "to_pydatetime"):
        cell = cell.to_pydatetime(warn=False)  # nanoseconds are cut
    if isinstance(cell, date) and not isinstance(cell, datetime):
        cell = datetime(cell.year, cell.month, cell.day)
    if not isinstance(cell, datetime):
        return None
    plain = cell if cell.tzinfo is None else cell.astimezone(UTC).replace(tzinfo=None)
    return (plain - EPOCH) // MICROSECOND if FIRST <= plain <= LAST else None


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """What DuckDB can read as a table; `lazy` where its rows are not here yet."""

    rows: Any
    declared: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    lazy: bool = False
    index: tuple[str, ...] = ()  # names that pandas keeps beside the columns

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns, as they are called here."""
        if hasattr(self.rows, "collect_schema"):
            return tuple(self.rows.collect_schema().names())
        return tuple(self.rows.schema.names)

    def arrow_schema(self) -> Any:
        """The types of its columns in Arrow."""
        if not hasattr(self.rows, "collect_schema"):
            return self.rows.schema
        import polars as pl

        return pl.DataFrame(schema=self.rows.collect_schema()).to_arrow().schema


def frame_of(source: Any, types: Mapping[str, str]) -> Frame | None:
    """pandas, Polars, Arrow or a DuckDB relation as a frame; None where the source is none of them."""
    module = type(source).__module__.split(".")[0]
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        check_names(source.schema.names)
        return redact_errors(lambda: Frame(_plain(pa.table(source))))
    if module == "pandas" and hasattr(source, "columns"):
        index = tuple(str(name) for name in source.index.names if name is not None)
        return replace(redact_errors(lambda: _pandas(source, types)), index=index)
    if module == "polars" and hasattr(source, "lazy"):
        return redact_errors(lambda: _polars(source, types))
    if type(source).__name__ == "DuckDBPyRelation":
        return Frame(Relation(source), lazy=True)
    return None


def _pandas(frame: Any, types: Mapping[str, str]) -> Frame:
    import pandas as pd

    objects, texts = [], []
    for place, kind in enumerate(frame.dtypes):
        held = getattr(getattr(kind, "categories", None), "dtype", getattr(kind, "subtype", kind))
        if getattr(held, "kind", "") == "O" and type(held).__module__.startswith("numpy"):
            objects.append(place)
        elif isinstance(held, pd.StringDtype) and held.storage == "python":
            texts.append(place)  # may hold half of a surrogate pair, at which Arrow fails
    typed = [place for place in range(frame.shape[1]) if place not in (*objects, *texts)]
    names = {place: str(frame.columns[place]) for place in range(frame.shape[1])}
    if len(set(names.values())) < len(names):
        raise UnknownSource("two columns of the frame have one name. Rename one: which of them is meant is not clear.")
    refuse_odd(
        {names[place]: (frame.dtypes.iloc[place], place) for place in typed},
        lambda places: pa.Table.from_pandas(frame.iloc[:0, places], preserve_index=False),
    )
    chosen = {place: types[names[place]] for place in objects if names[place] in types} | dict.fromkeys(texts, "text")
    rows = pa.Table.from_pandas(frame if len(typed) == len(names) else frame.iloc[:, typed], preserve_index=False)
    columns = {names[place]: rows.column(here) for here, place in enumerate(typed)}
    for place, kind in chosen.items():
        columns[names[place]] = convert(frame.iloc[:, place].astype(object).tolist(), kind)
    return _framed(columns, [names[place] for place in objects], types, order=list(names.values()))


def _polars(frame: Any, types: Mapping[str, str]) -> Frame:
    import polars as pl

    schema = frame.collect_schema()
    objects = [name for name, kind in schema.items() if kind == pl.Object]
    typed = {name: kind for name, kind in schema.items() if name not in objects}
    refuse_odd(
        {name: (kind, name) for name, kind in typed.items()},
        lambda names: pl.DataFrame(schema={name: typed[name] for name in names}).to_arrow(),
    )
    if hasattr(frame, "collect") and any(name in types for name in objects):
        frame = frame.collect()
    if hasattr(frame, "collect"):
        plain = [pl.col(name).cast(pl.String) for name, kind in schema.items() if kind == pl.Null]
        zoned = [name for name, kind in schema.items() if isinstance(kind, pl.Datetime) and kind.time_zone]
        plain += [pl.col(name).dt.convert_time_zone("UTC").dt.replace_time_zone(None) for name in zoned]
        lazy = frame.drop(objects).with_columns(plain) if objects or plain else frame
        return Frame(lazy, undeclared=tuple(objects), lazy=True)
    rows = frame.drop(objects).to_arrow()
    columns = dict(zip(rows.column_names, rows.columns, strict=True))
    columns |= {name: convert(frame[name].to_list(), types[name]) for name in objects if name in types}
    return _framed(columns, objects, types, order=list(schema))


def _framed(columns: dict[str, Any], objects: list[str], types: Mapping[str, str], *, order: list[str]) -> Frame:
    rows = pa.table({name: columns[name] for name in order if name in columns})
    if objects and not columns:
        raise UnknownSource(
            "every column of the frame holds Python objects and has no type, and guessing one would look at people's "
            "rows. Name the types of those that you need, or convert the frame before: df.convert_dtypes().",
            parameter="types",
            example={"types": {objects[0]: "text"}},
        )
    return Frame(
        _plain(rows),
        declared=tuple(name for name in objects if name in types),
        undeclared=tuple(name for name in objects if name not in types),
    )


def zoneless(kind: Any) -> Any:
    """An Arrow type; of a time with a zone, the one without. DuckDB makes microseconds of seconds and milliseconds with
    a zone while it scans, and fails at those that are out of range; nanoseconds with one it does not know."""
    return pa.timestamp(kind.unit) if pa.types.is_timestamp(kind) and kind.tz else kind


def _plain(rows: Any) -> Any:
    """A column without any value has no type in Arrow; it is text here, so that being empty is no mistake. A dictionary
    would be an enumeration of the values that people have; its column is what it stands for. Times lose
    their zone, and are instants in UTC as before."""
    for place, field in enumerate(rows.schema):
        kind = zoneless(field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        if pa.types.is_null(kind):
            kind = pa.string()
        if pa.types.is_float16(kind):
            kind = pa.float32()  # exactly; DuckDB does not know halves
        if pa.types.is_duration(kind):
            kind = pa.int64()  # whole numbers of its unit, as in a Parquet file: DuckDB's conversion fails
        if kind != field.type:
            rows = rows.set_column(place, field.name, rows.column(place).cast(kind))
    return rows


class Relation:
    """A DuckDB relation as Arrow rows: all of its columns, read once and whole when the first query needs them.

    They stay in memory, outside memory_limit: (connection, table name) is the way for what is too large for that.
    A relation belongs to a connection that can do one thing at a time, and a query may ask for its rows twice at once.
    """

    def __init__(self, relation: Any) -> None:
        self.schema = redact_errors(lambda: exact_schema(relation.limit(0).to_arrow_table().schema, relation.types))
        self._relation, self._lock = relation, threading.Lock()
        self._rows: Any = None

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        with self._lock:
            if self._rows is None:
                self._rows = self._read()
        return self._rows.__arrow_c_stream__(requested_schema)

    def _read(self) -> Any:
        batches = self._relation.to_arrow_table().to_batches()
        return pa.Table.from_batches([exact_batch(batch, self.schema) for batch in batches], self.schema)
