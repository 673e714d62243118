"""`leastnoise keys`, and --keys: a file of keys (keys.toml), a column of a public file (nodes.parquet:id), a property
of public zones (zones.geojson:name), a range (0:24), a list (a,b), or the cells of a rectangle
(box:west,east,south,north)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import leastnoise as ln
from leastnoise import errors
from leastnoise.cli import options
from leastnoise.cli.messages import printable
from leastnoise.cli.options import TableOptions
from leastnoise.jobs.file import select_keys

if TYPE_CHECKING:
    from leastnoise.curator.table import Table

_FILES = (".parquet", ".csv")
_ZONE_FILES = (".geojson", ".json")
# What a name ends in that is no key but a file, of a kind that keys are not read from.
_OTHER_FILES = re.compile(
    r".+\.(arrow|avro|bz2|db|dbf|dta|duckdb|feather|geojsonl|gpkg|gz|ipc|jsonl|kml|ndjson|ods|orc|pkl|pickle|sav|shp|"
    r"sqlite|topojson|tsv|txt|xlsm?|xlsx|xml|xz|ya?ml|zip|zst)",
    re.IGNORECASE,
)
_TRUTH = {"true": True, "false": False}
_KEY_FILE = ".toml"
_BOX = "box:"


Known = Annotated[
    list[str] | None,
    typer.Option(help="Public keys of a column: month=1:13, zone=zones.csv:zone_id, sex=f,m. Others are left open."),
]
KeyFile = Annotated[Path, typer.Option("--output", "-o", help="The file of keys, such as keys.toml. Never replaced.")]


def keys(table: TableOptions, output: KeyFile, known: Known = None, quiet: options.Quiet = False) -> None:
    """A file of public keys to be filled in, one line a column, from names and types alone: no row is read.

    Keys come from a public file, a range or a list; never from the table itself. Columns that --known leaves out are
    for you to fill in. Questions take the file: --keys keys.toml.

    Example: [bold]leastnoise keys trips.parquet --unit taxi --known zone=zones.csv:zone_id --known hour=0:24 -o
    keys.toml[/bold]
    """
    opened = table.open()
    given: dict[str, Any] = {}
    for text in known or []:
        column, equals, keys_of_it = text.partition("=")
        if not equals:
            raise errors.BadDomain(f"--known takes COLUMN=KEYS, such as month=1:13. Got {text!r} instead.")
        opened._data.check_usable(column)
        given[column] = parse_keys(opened, [column], [keys_of_it])
    opened.write_keys(output, keys=given)
    if not quiet:
        Console().print(
            printable(
                f"Written: {output}. Fill in the [] of what you ask for, from what is public; say --keys {output}."
            )
        )


def parse_keys(table: Table, by: Sequence[str], texts: Sequence[str] | None) -> Any:
    """The keys of every column of `by`, as the queries take them."""
    if texts is None:
        return None
    if len(texts) == 1 and texts[0].endswith(_KEY_FILE) and by:
        return select_keys(ln.domain.read(texts[0]), by, texts[0])
    if len(texts) != len(by):
        raise errors.BadDomain(
            f"Give one --keys for each --by, {len(by)} of them, or one keys.toml for all. Got {len(texts)} instead."
        )
    texts = _in_order(by, texts)
    keys = [_parse(table, column, text) for column, text in zip(by, texts, strict=True)]
    return keys[0] if len(keys) == 1 else keys


def _in_order(by: Sequence[str], texts: Sequence[str]) -> Sequence[str]:
    """The keys in the order of `by`, where each is said with its column: town=big,mid. Some with and some without would
    make "town=big" a key."""
    named = {name: rest for name, equals, rest in (text.partition("=") for text in texts) if equals and name in by}
    if not named:
        return texts
    if len(named) < len(by):
        asked = " ".join(f"--keys {column}=..." for column in by)
        raise errors.BadDomain(
            f"Say every --keys with its column, or none of them. Got {', '.join(texts)} instead.",
            parameter="keys",
            example=errors.Code(asked, asked),
        )
    return [named[column] for column in by]


def _parse(table: Table, column: str, text: str) -> Any:
    from leastnoise.domain import read_public_column

    if re.fullmatch(r"-?\d{1,30}:-?\d{1,30}", text):
        start, stop = (int(part) for part in text.split(":"))
        return range(start, stop)
    if text.endswith(_KEY_FILE):
        return select_keys(ln.domain.read(text), [column], text)
    if text.startswith(_BOX):
        return _cells(table, column, text)
    path, name = file_and_name(text)
    if path.lower().endswith(_ZONE_FILES):
        _check_public(table, path)
        return list(read_zones("keys", path, name).keys)
    if path.lower().endswith(_FILES):
        if name is None:
            raise errors.BadDomain(f"Which column of {path!r} holds the keys? Say --keys {path}:COLUMN.")
        _check_public(table, path)
        return read_public_column(path, name)
    if path:
        raise errors.BadDomain(
            f"Keys are read from {', '.join((*_FILES, *_ZONE_FILES))} and {_KEY_FILE} files: nodes.parquet:id, "
            f"zones.geojson:name, keys.toml. Got {text!r} instead. If that is itself a key, list it in a keys.toml.",
            parameter="keys",
            value=text,
        )
    return _typed(text.split(","), table[column].type())


def file_and_name(text: str) -> tuple[str, str | None]:
    """The file that is meant, and its column or property; "" where it is keys."""
    for path, colon, name in (text.rpartition(":"), (text, "", "")):
        known = path.lower().endswith((*_FILES, *_ZONE_FILES)) or _OTHER_FILES.fullmatch(path)
        if path and (known or os.path.isfile(path)):
            return path, name if colon else None
    return "", None


def read_zones(option: str, path: str, name: str | None) -> ln.domain.Zones:
    """Zones by the property of this name; None: by their ids."""
    try:
        return ln.domain.Zones.read(path, key=name)
    except errors.MissingParameter as problem:
        why, named = problem.message, problem.examples[0]["key"]  # type: ignore[index]
    asked = f"--{option} {path}:{named}"
    raise errors.MissingParameter(why, parameter=option, example=errors.Code(asked, asked))


def _typed(items: list[str], kind: Any) -> list[Any]:
    """Words as keys of a column of this type: true and false in any case, days, whole numbers; else texts."""
    if kind.is_boolean() and all(item.lower() in _TRUTH for item in items):
        return [_TRUTH[item.lower()] for item in items]
    if kind.is_date() and all(re.fullmatch(r"\d{4}-\d\d-\d\d", item) for item in items):
        return [_day(item) for item in items]
    if not kind.is_string() and all(re.fullmatch(r"-?\d{1,30}", item) for item in items):
        return [int(item) for item in items]
    return items


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise errors.BadDomain(f"There is no day {text}.", parameter="keys", value=text) from None


def _check_public(table: Table, path: str) -> None:
    """Refuse the table's own files: their keys are people's rows."""
    if any(os.path.realpath(path) == os.path.realpath(file) for file in table._data.source.files):
        raise errors.BadDomain(
            f"{path!r} holds people's rows, and which keys it has tells about them. Keys come from a public file; left "
            "out, histograms, sums and means find those that enough rows have.",
            parameter="keys",
            value=path,
        )


def _cells(table: Table, column: str, text: str) -> ln.domain.Cells:
    """box:west,east,south,north of a column of cells."""
    try:
        west, east, south, north = (float(part) for part in text.removeprefix(_BOX).split(","))
    except ValueError:
        west, east, south, north = 0.0, 0.0, 0.0, 0.0
    lattice = table.lattices.get(column)
    if lattice is None or not (west < east and south < north):
        raise errors.BadDomain(
            "The cells of a rectangle are given by its west, east, south and north ends, of a column that --lattice "
            f"makes: --keys {_BOX}-74.1,-73.7,40.6,40.9. Got {text!r} for {column!r} instead.",
            parameter="keys",
            value=text,
        )
    return lattice.box(x=(west, east), y=(south, north))
