"""Public keys as they are typed, behind --keys or into a form, and as a job's [keys] has them.

    Harbour,Old Town                    a list; one key on each line where a key has a comma
    18:100, or 18 to 99                 { range = [18, 100] }
    edges:0,10,20,50                    { edges = [0, 10, 20, 50] }; of a column of real numbers without the word
    2026-01-01 to 2026-01-31            { days = [2026-01-01, 2026-02-01] }
    nodes.parquet:id                    { file = "nodes.parquet", column = "id" }
    box:7,9,47,48                       { box = [7, 9, 47, 48] }: cells of a lattice, west to east, south to north

Options take two more: keys.toml, a file of keys, and zones.geojson:name, a property of public zones.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import leastnoise as ln
from leastnoise import errors
from leastnoise.jobs.fields import number, words

if TYPE_CHECKING:
    from leastnoise.curator.table import Table
    from leastnoise.domain import ColumnKind

FILES = (".parquet", ".csv")
ZONE_FILES = (".geojson", ".json")
KEY_FILE = ".toml"
# What a name ends in that is no key but a file, of a kind that keys are not read from.
_OTHER_FILES = re.compile(
    r".+\.(arrow|avro|bz2|db|dbf|dta|duckdb|feather|geojsonl|gpkg|gz|ipc|jsonl|kml|ndjson|ods|orc|pkl|pickle|sav|shp|"
    r"sqlite|topojson|tsv|txt|xlsm?|xlsx|xml|xz|ya?ml|zip|zst)",
    re.IGNORECASE,
)
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}
_DAY = r"\d{4}-\d\d-\d\d"
HINTS: dict[ColumnKind | None, str] = {
    "integer": "18 to 99, or 1, 2, 3", "number": "0, 10, 20, 50", "boolean": "yes, no",
    "date": "2026-01-01 to 2026-01-31", "timestamp": "2026-01-01 to 2026-01-31",
}  # fmt: skip
LIST_HINT = "Harbour, Old Town, or districts.csv:name"


def entry(column: str, text: str, kind: ColumnKind | None) -> Any:
    """What [keys] holds for a column of this kind."""
    text = text.strip()
    if not text:
        raise _wrong(column, kind, "has no keys yet. List them from what is public, never from the rows.")
    if whole := re.fullmatch(r"([+-]?\d{1,30})(:|\s+to\s+)([+-]?\d{1,30})", text):
        first, last = int(whole[1]), int(whole[3]) + (whole[2] != ":")
        if last <= first:
            raise _wrong(column, kind, "begins with the smaller number.")
        return {"range": [first, last]}
    if kind != "text" and (days := re.fullmatch(rf"({_DAY})(:|\s+to\s+)({_DAY})", text)):
        end = _day(column, kind, days[3])
        return {"days": [_day(column, kind, days[1]), end if days[2] == ":" else end + timedelta(days=1)]}
    for word, count in (("edges", None), ("box", 4)):
        if text.startswith(f"{word}:"):
            return {word: _numbers(column, kind, text.removeprefix(f"{word}:"), count)}
    path, name = file_and_name(text)
    if path.lower().endswith(FILES):
        if name is None:
            raise errors.BadDomain(
                f"Which column of {path!r} holds the keys? Say --keys {path}:COLUMN.", parameter="keys"
            )
        return {"file": path, "column": name}
    if path:
        raise errors.BadDomain(
            f"Keys are read from {', '.join((*FILES, *ZONE_FILES))} and {KEY_FILE} files: nodes.parquet:id, "
            f"zones.geojson:name, keys.toml. Got {text!r} instead. If that is itself a key, list it in a keys.toml.",
            parameter="keys",
            value=text,
        )
    if kind == "number":
        return {"edges": _numbers(column, kind, text)}
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [_key(column, kind, word) for word in (lines if len(lines) > 1 else words(text))]


def _key(column: str, kind: ColumnKind | None, word: str) -> Any:
    """One key of a list; of a column of texts it is as it was typed."""
    if kind == "integer":
        if not re.fullmatch(r"[+-]?\d{1,30}", word):
            raise _wrong(column, kind, f"holds whole numbers, and {word!r} is none.")
        return int(word)
    if kind == "boolean":
        if word.lower() not in _TRUTH:
            raise _wrong(column, kind, "has the keys yes and no.")
        return _TRUTH[word.lower()]
    return _day(column, kind, word) if kind == "date" else word


def _numbers(column: str, kind: ColumnKind | None, text: str, count: int | None = None) -> list[Any]:
    try:
        found = [number(word) for word in words(text.replace("\n", ","))]
    except ValueError:
        found = []
    if not found or count not in (None, len(found)):
        raise _wrong(column, kind, f"takes {count or 'finite'} numbers with commas, and got {text!r}.")
    return found


def _day(column: str, kind: ColumnKind | None, word: str) -> date:
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise _wrong(column, kind, f"holds days, such as 2026-01-31; there is no day {word}.") from None


def _wrong(column: str, kind: ColumnKind | None, message: str) -> errors.BadDomain:
    hint = HINTS.get(kind, LIST_HINT)
    return errors.BadDomain(f'"{column}" {message} For example: {hint}', parameter="keys", value=column)


def shown(found: Any) -> str:
    """An entry of [keys] as it is typed; "" of a kind that is written by hand."""
    if not isinstance(found, dict):
        listed = [("yes" if word else "no") if isinstance(word, bool) else str(word) for word in found]
        return ("\n" if any("," in word for word in listed) else ", ").join(listed)
    if "range" in found and len(found["range"]) == 2:
        return f"{found['range'][0]} to {found['range'][1] - 1}"
    if "days" in found:
        return f"{found['days'][0]} to {found['days'][1] - timedelta(days=1)}"
    if "file" in found and "labels" not in found and "other" not in found:
        return f"{found['file']}:{found.get('column', '')}"
    word = next((word for word in ("edges", "box") if set(found) == {word}), None)
    return "" if word is None else f"{word}:{', '.join(map(str, found[word]))}"


def parse_keys(table: Table, by: Sequence[str], texts: Sequence[str]) -> Any:
    """The keys of every column of `by`, as the questions take them: one text for each, or each with its column,
    town=big,mid; or one file of keys for all. Some with and some without would make "town=big" a key."""
    if len(texts) == 1 and texts[0].endswith(KEY_FILE) and by:
        return select_keys(ln.domain.read(texts[0]), by, texts[0])
    named = {name: rest for name, sign, rest in (text.partition("=") for text in texts) if sign and name in by}
    if len(texts) != len(by):
        raise errors.BadDomain(
            f"Give one --keys for each --by, {len(by)} of them, or one keys.toml for all. Got {len(texts)} instead."
        )
    if named and len(named) < len(by):
        raise _with_columns(by, texts)
    read_in = named or dict(zip(by, texts, strict=True))
    keys = [_read(table, column, read_in[column]) for column in by]
    return keys[0] if len(keys) == 1 else keys


def named_keys(table: Table, texts: Sequence[str]) -> Mapping[str, Any]:
    """The keys of all columns: a file of keys, or each with its column, sex=f,m."""
    if len(texts) == 1 and texts[0].endswith(KEY_FILE):
        found: Mapping[str, Any] = ln.domain.read(texts[0])
        return found
    named = dict(text.partition("=")[::2] for text in texts)
    if not all(named.values()) or len(named) < len(texts):
        raise _with_columns(("sex", "age"), texts)
    return {column: _read(table, column, text) for column, text in named.items()}


def _with_columns(by: Sequence[str], texts: Sequence[str]) -> errors.BadDomain:
    asked = " ".join(f"--keys {column}=..." for column in by)
    return errors.BadDomain(
        f"Say every --keys with its column, or none of them. Got {', '.join(texts)} instead.",
        parameter="keys",
        example=errors.Code(asked, asked),
    )


def select_keys(keys: Mapping[str, Any], by: Sequence[str], path: str) -> Any:
    """Of the keys in a file those of the columns of `by`, as the queries take them."""
    missing = [column for column in by if column not in keys]
    if missing:
        raise errors.BadDomain(
            f"{path!r} has no keys for {', '.join(missing)}. It has them for {', '.join(keys)}.", parameter="keys"
        )
    return keys[by[0]] if len(by) == 1 else [keys[column] for column in by]


def _read(table: Table, column: str, text: str) -> Any:
    """One text of --keys, read by the type of its column."""
    from leastnoise.curator.dataset import kind_of

    if text.endswith(KEY_FILE):
        return select_keys(ln.domain.read(text), [column], text)
    path, name = file_and_name(text)
    if path:
        _check_public(table, path)
    if path.lower().endswith(ZONE_FILES):
        return list(read_zones("keys", path, name).keys)
    found = entry(column, text, kind_of(table[column].type()))
    if not isinstance(found, dict):
        return found
    if "file" in found:
        return ln.domain.read_public_column(found["file"], found["column"])
    if "box" in found:
        return _cells(table, column, found["box"], text)
    return ln.domain.parse({column: found}, place=lambda _: "--keys", folder=Path(), path="--keys")[column]


def _check_public(table: Table, path: str) -> None:
    """Refuse the table's own files: their keys are people's rows."""
    if any(os.path.realpath(path) == os.path.realpath(file) for file in table._data.source.files):
        raise errors.BadDomain(
            f"{path!r} holds people's rows, and which keys it has tells about them. Keys come from a public file; left "
            "out, histograms, sums and means find those that enough rows have.",
            parameter="keys",
            value=path,
        )


def _cells(table: Table, column: str, box: list[Any], text: str) -> ln.domain.Cells:
    """The cells of a rectangle: its west, east, south and north ends."""
    west, east, south, north = map(float, box)
    lattice = table.lattices.get(column)
    if lattice is None or not (west < east and south < north):
        raise errors.BadDomain(
            "The cells of a rectangle are given by its west, east, south and north ends, of a column that --lattice "
            f"makes: --keys box:-74.1,-73.7,40.6,40.9. Got {text!r} for {column!r} instead.",
            parameter="keys",
            value=text,
        )
    return lattice.box(x=(west, east), y=(south, north))


def file_and_name(text: str) -> tuple[str, str | None]:
    """The file that is meant, and its column or property; "" where it is keys."""
    for path, colon, name in (text.rpartition(":"), (text, "", "")):
        known = path.lower().endswith((*FILES, *ZONE_FILES)) or _OTHER_FILES.fullmatch(path)
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
