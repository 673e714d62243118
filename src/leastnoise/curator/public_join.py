"""Columns of a public table joined to the rows: what a zone is called, in which borough it lies.

A row finds one row of the public table or none, so it stays one row: the keys of the public table are each there once,
by the equality of the join itself. That compares whole numbers, days, truth values and texts (by their bytes), each in
one type on every engine, and the keys of the public table become values of that type before they are compared: 1, 1.0,
-0.0 and "01" are then what the rows' own column would take them for.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from leastnoise._support.text import type_name
from leastnoise.curator.dataset import Dataset, check_new_name
from leastnoise.curator.description import counted, one_line, shortened
from leastnoise.curator.engines.engine import check_names, unique
from leastnoise.curator.queries.options import column_names
from leastnoise.curator.rows.columns import PATTERNS
from leastnoise.curator.rows.placing import as_integer, epoch_days
from leastnoise.domain.public_files import read_public_table
from leastnoise.errors import BadDomain, InvalidParameter, MissingParameter, UnknownColumn, WrongType

MAX_ROWS = 2**22
Key = int | str


def join_public(data: Dataset, public: Any, *, on: Any, columns: Sequence[str] | None) -> Dataset:
    """The rows with the columns of a public table, found by equal values of `on`; null where there is none."""
    pairs = _pairs(on)
    columns = None if columns is None else column_names(columns, parameter="columns")
    for column in pairs:
        data.check_usable(column)
    needed = None if columns is None else [*pairs.values(), *columns]
    table = read_public_table(public, needed, as_text=list(pairs.values()))
    for name in pairs.values():
        if name not in table:
            raise UnknownColumn.among_columns(name, list(table))
    chosen = [name for name in (table if columns is None else columns) if name not in pairs.values()]
    _check_names(data, chosen)
    left = {column: _comparable(data.rows[column], column) for column in pairs}
    keys = _unique_keys(table, pairs, {column: data.rows[column].type() for column in pairs})
    kept = [place for place, key in enumerate(keys) if key is not None]
    found = {name: [table[name][place] for place in kept] for name in chosen}
    rows = attached(data.rows, list(left.values()), [key for key in keys if key is not None], found)
    names, by = (shortened([one_line(name) for name in part]) for part in (chosen, list(pairs)))
    digest = _digest([key for key in keys if key is not None], found)
    step = f"with {names} of a public table by {by} ({counted(len(kept), 'row')}, SHA-256 {digest})"
    return data.with_rows(rows, step)


def attached(
    rows: ir.Table, left: Sequence[ir.Value], keys: Sequence[tuple[Key, ...]], columns: Mapping[str, Sequence[Any]]
) -> ir.Table:
    """`rows` with public columns: each row those of the one key that equals its values of `left`, or nulls.

    The values travel as text and become what they are in the engine: a whole number beside a missing one would arrive
    as a double on the way through pandas, and a missing text as NaN. A letter before each tells it from a missing one.
    """
    names = [unique("key") for _ in left]
    texts = {name: unique("public") for name in columns}
    kinds = [pa.string() if value.type().is_string() else pa.int64() for value in left]
    public = {name: pa.array([key[i] for key in keys], kinds[i]) for i, name in enumerate(names)}
    public |= {texts[name]: pa.array([_text(cell) for cell in column], pa.string()) for name, column in columns.items()}
    table = ibis.memtable(pa.table(public))
    own = [unique("left") for _ in left]
    wide = rows.mutate(**dict(zip(own, left, strict=True)))
    joined = wide.left_join(table, [wide[a] == table[b] for a, b in zip(own, names, strict=True)])
    made = {name: joined[texts[name]].nullif("").substr(1).cast(_kind(column)) for name, column in columns.items()}
    return joined.select(*rows.columns, *(value.name(name) for name, value in made.items()))


def _pairs(on: Any) -> dict[str, str]:
    """The columns of the rows, and the column of the public table that each is compared with."""
    named = [on] if isinstance(on, str) or not isinstance(on, Iterable) else on
    pairs = list(named.items()) if isinstance(named, Mapping) else [(name, name) for name in named]
    if not pairs or not all(isinstance(name, str) for pair in pairs for name in pair):
        raise MissingParameter(
            "join_public needs the column by which rows find their row of the public table.",
            parameter="on",
            example={"on": "zone_id"},
        )
    return dict(pairs)


def _check_names(data: Dataset, chosen: Sequence[str]) -> None:
    if not chosen:
        raise MissingParameter("the public table has no column but its keys, so there is nothing to join in.")
    check_names(chosen)
    for name in chosen:
        if name in data.columns:
            raise InvalidParameter(
                f'both tables have a column "{name}". Rename it in the public one, or name the columns to join in '
                "without it.",
                parameter="columns",
                value=name,
            )
        check_new_name(name, data.columns)


def _comparable(value: ir.Value, column: str) -> ir.Value:
    """The column in one type whose equality is the same on every engine: 64-bit integers, or text by its bytes."""
    kind = value.type()
    if kind.is_string() or kind.is_uuid():
        return value.cast("string")
    if kind.is_boolean():
        return value.cast("int64")
    if kind.is_date():
        return epoch_days(value, column)
    if kind.is_integer() or kind.is_floating() or (kind.is_decimal() and kind.scale == 0):
        return as_integer(value, column)
    raise WrongType(
        f'"{column}" holds {type_name(kind)}, and rows find each other by whole numbers, text, truth values or dates. '
        "Derive a column of one of these first.",
        parameter="on",
        value=column,
    )


def _unique_keys(
    table: Mapping[str, Sequence[Any]], pairs: Mapping[str, str], kinds: Mapping[str, Any]
) -> list[tuple[Key, ...] | None]:
    """The key of each row of the public table, None where a part is missing: it equals nothing. Each is there once."""
    parts = [[_key(cell, kinds[own], name) for cell in table[name]] for own, name in pairs.items()]
    keys = [None if None in key else key for key in zip(*parts, strict=True)]
    if len(keys) > MAX_ROWS:
        raise BadDomain(f"a public table may have {MAX_ROWS:,} rows, and this one has {len(keys):,}.")
    seen: dict[Any, int] = {}
    for place, key in enumerate(keys):
        if key is not None and key in seen:
            shown = ", ".join(f"{name} {table[name][row]!r}" for row in (seen[key], place) for name in pairs.values())
            raise BadDomain(
                f"rows {seen[key] + 1} and {place + 1} of the public table have one key ({shown}), and a row of yours "
                "would be doubled. Keep one of them.",
                parameter="on",
            )
        seen[key] = place
    return keys


def _key(cell: Any, kind: Any, name: str) -> Key | None:
    """A cell of the public table as a value of the rows' own column; None where it is missing."""
    if cell is None:
        return None
    made: Key | None
    if kind.is_string() or kind.is_uuid():
        made = cell if isinstance(cell, str) else None
    elif kind.is_boolean():
        made = int(cell) if isinstance(cell, bool) else _flag(cell)
    elif kind.is_date():
        made = _days(cell)
    else:
        made = _whole(cell)
    if made is None and isinstance(cell, int | float) and not isinstance(cell, bool) and kind.is_numeric():
        raise WrongType(
            f'the key {cell!r} of the public table ("{name}") is no whole number of 64 bits. Rows find each other by '
            "whole numbers, text, truth values or dates: fractions that look alike may differ. Make both text, or "
            "number the keys.",
            parameter="on",
            value=cell,
        )
    if made is None:
        raise WrongType(
            f'the key {cell!r} of the public table ("{name}") is {type(cell).__name__}, and the column of the rows '
            f"holds {type_name(kind)}, so no row could ever find it. Make both the same: the types of a CSV's "
            "columns are declared where the table is opened.",
            parameter="on",
            value=cell,
        )
    return made


def _written(cell: Any, kind: str) -> str | None:
    """What the rows' own parsing reads of a text; None where it is not written like one of this kind."""
    found = re.search(PATTERNS[kind][1].replace(r"\z", r"\Z"), cell) if isinstance(cell, str) else None
    return found[1] if found else None


def _flag(cell: Any) -> int | None:
    word = _written(cell, "bool")
    return None if word is None else int(word.lower() in ("true", "1"))


def _whole(cell: Any) -> int | None:
    if word := _written(cell, "int"):
        return int(word)
    if isinstance(cell, bool) or not isinstance(cell, int | float) or cell != cell // 1:
        return None
    return int(cell) if -(2**63) <= cell < 2**63 else None


def _days(cell: Any) -> int | None:
    if isinstance(cell, str):
        try:
            cell = date.fromisoformat(cell)
        except ValueError:
            return None
    return (cell - date(1970, 1, 1)).days if isinstance(cell, date) and not isinstance(cell, datetime) else None


def _kind(column: Sequence[Any]) -> str:
    """The one type of a public column; text where nothing is in it."""
    kinds = {type(cell) for cell in column if cell is not None}
    names = {bool: "boolean", int: "int64", float: "float64", date: "date", datetime: "timestamp(6)"}
    (kind,) = kinds or {str}
    return names.get(kind, "string")


def _text(cell: Any) -> str:
    """A value as text after a letter; a missing one is empty."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return f"v{str(cell).lower()}"
    if isinstance(cell, datetime):
        return f"v{cell.isoformat(sep=' ', timespec='microseconds')}"
    if isinstance(cell, int) and not -(2**63) <= cell < 2**63:
        raise BadDomain("whole numbers of the public table must fit into 64 bits. Make them text, or leave them out.")
    return f"v{cell!r}" if isinstance(cell, float) else f"v{cell}"


def _digest(keys: Sequence[tuple[Key, ...]], columns: Mapping[str, Sequence[Any]]) -> str:
    """Which public table it was: of its keys and columns, whatever the order of its rows."""
    cells = zip(*([_text(cell) for cell in column] for column in columns.values()), strict=True)
    rows = [[list(map(str, key)), *texts] for key, texts in zip(keys, cells, strict=True)]
    written = json.dumps([list(columns), sorted(rows)], separators=(",", ":"))
    return hashlib.sha256(written.encode(errors="replace")).hexdigest()[:16]
