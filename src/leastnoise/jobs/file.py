"""A job in a file: [table] [keys] [ask] [privacy] [output], read and checked before anything is opened.

    [table]
    source = "register.parquet"         # paths begin at the folder of this file
    unit = "person"

    [keys]                              # or, first of all lines: keys = "keys.toml"
    district = ["Harbour", "Old Town"]

    [ask]
    kind = "histogram"
    by = "district"
    max_rows = 1

    [privacy]
    budget = "city.ledger"
    share = 0.05

    [output]
    release = "districts-{date:%Y-%m}.parquet"
    page = "districts.html"

In every text but a key, {date:...} is the day of the run, written as strftime writes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

import leastnoise as ln
from leastnoise import errors
from leastnoise._support import toml_files
from leastnoise._support.toml_files import TomlFile
from leastnoise.jobs.kinds import KINDS, Kind
from leastnoise.jobs.proposed_limits import NAMES as LIMITS
from leastnoise.jobs.proposed_limits import proposed_clip, with_proposed
from leastnoise.jobs.rows import parse_lattice, parse_zones
from leastnoise.jobs.statistics import parse


class _Type(NamedTuple):
    """What may stand behind a name, in words and as a test."""

    words: str
    fits: Callable[[Any], bool]


def _is_number(value: object) -> bool:
    """Not NaN, nor an infinity, nor what would take a gigabyte to write out."""
    if isinstance(value, Decimal):
        return value.is_finite() and -1000 < value.adjusted() < 1000
    return type(value) is int


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)


_TEXT = _Type("a text in quotes", lambda value: isinstance(value, str))
_TEXTS = _Type("a text in quotes, or a list of texts", lambda value: isinstance(value, str) or _is_texts(value))
_NUMBER = _Type("a number", _is_number)
_SHARE = _Type('a number, or a text like "1/52"', lambda value: _is_number(value) or isinstance(value, str))
_INTEGER = _Type("a whole number", lambda value: type(value) is int)
_NUMBERS = _Type(
    "a number, or a list of numbers",
    lambda value: _is_number(value) or (isinstance(value, list) and bool(value) and all(map(_is_number, value))),
)
_PAIR = _Type(
    "two numbers, [low, high]",
    lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)),
)
_CLIP = _Type(
    "two numbers, [low, high], or the file that suggest-clip wrote, in quotes",
    lambda value: isinstance(value, str) or _PAIR.fits(value),
)
_INTEGERS = _Type(
    "a whole number, or a list of them",
    lambda value: type(value) is int or (isinstance(value, list) and all(type(each) is int for each in value)),
)
_TABLES = _Type(
    'a list of columns, and of lists of columns: ["age", ["age", "sex"]]',
    lambda value: (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, str) or each == [] or _is_texts(each) for each in value)
    ),
)
_WEIGHTS = _Type(
    'a text in quotes, or numbers by table, { "age,sex" = 10 }',
    lambda value: isinstance(value, str) or (isinstance(value, dict) and all(map(_is_number, value.values()))),
)
_FLAG = _Type("true or false", lambda value: isinstance(value, bool))
_OTHER = _Type(
    'true, false, or a label in quotes, "no answer"',
    lambda value: isinstance(value, bool) or (isinstance(value, str) and bool(value.strip())),
)
_TEXT_BY_NAME = _Type(
    'texts by name, { hour = "int" }',
    lambda value: isinstance(value, dict) and all(isinstance(each, str) for each in value.values()),
)

NAMES: dict[str, dict[str, _Type]] = {
    "table": {
        "source": _TEXTS, "unit": _TEXTS, "types": _TEXT_BY_NAME, "join": _TEXTS, "within": _TEXT_BY_NAME,
        "derive": _TEXT_BY_NAME, "lattice": _TEXT_BY_NAME, "where": _TEXT, "per_unit": _TEXT_BY_NAME, "having": _TEXT,
        "name": _TEXT, "neighbours": _TEXT, "engine": _TEXT, "memory_limit": _TEXT, "config": _TEXT_BY_NAME,
        "missing": _TEXTS, "public_units": _INTEGER, "delimiter": _TEXT, "decimal": _TEXT,
        "labels": _TEXT_BY_NAME,
    },
    "ask": {
        "kind": _TEXT, "by": _TEXTS, "column": _TEXT, "clip": _CLIP, "levels": _NUMBERS, "bins": _INTEGER,
        "max_rows": _INTEGER, "max_per_bin": _INTEGER, "max_bins": _INTEGER, "limits": _TEXT, "nulls": _TEXT,
        "tables": _TABLES,
        "ways": _INTEGERS, "weights": _WEIGHTS, "row_weight": _TEXT, "weight": _TEXT, "weight_clip": _PAIR,
        "other": _OTHER, "statistics": _TEXT_BY_NAME, "cumulative": _TEXTS, "ranges": _TEXTS,
        "intervals": _FLAG, "expected_rows": _NUMBER, "others": _SHARE,
    },
    "privacy": {
        "epsilon": _NUMBER, "delta": _NUMBER, "sigma": _NUMBER, "mechanism": _TEXT, "budget": _TEXT, "share": _SHARE,
        "force": _FLAG, "note": _TEXT, "allocation": _TEXT,
    },
    "output": {
        "release": _TEXT, "page": _TEXT, "estimate": _TEXT, "csv": _TEXT, "excel": _TEXT, "title": _TEXT,
        "graph": _TEXT, "nodes": _TEXT,
    },
}  # fmt: skip
WRITTEN = ("release", "page", "estimate", "csv", "excel")  # of [output]: the files that a run makes
ROW_NAMES = ("join", "within", "derive", "lattice", "where", "per_unit", "having")  # what one row is: `rows`
NEEDED = {"table": ("source", "unit"), "ask": ("kind",), "privacy": (), "output": ("release",)}
_EXAMPLES = {
    "source": '"people.parquet"', "unit": '"person"', "kind": '"histogram"', "release": '"out-{date:%Y-%m}.parquet"',
    "by": '"district"', "column": '"income"', "clip": "[0, 100000]", "levels": "0.5",
    "statistics": '{ people = "count" }',
}  # fmt: skip
# What changes neither the answer nor its cost: a job with another of these is the same job.
_IMMATERIAL = {"engine", "memory_limit", "config", "force", "note"}


@dataclass(frozen=True, slots=True)
class Job:
    """What a job's file asks for, on one day; the keys as the questions take them."""

    file: TomlFile
    table: Mapping[str, Any]
    keys: Mapping[str, Any]
    ask: Mapping[str, Any]
    privacy: Mapping[str, Any]
    output: Mapping[str, Any]

    @property
    def kind(self) -> Kind:
        """Which kind of question."""
        return KINDS[self.ask["kind"]]

    def arguments(self) -> dict[str, Any]:
        """The arguments of the question, with the keys of its columns."""
        given = {name: value for name, value in self.ask.items() if name != "kind"}
        if "by" in given:
            given["by"] = [given["by"]] if isinstance(given["by"], str) else given["by"]
        if "statistics" in given:
            given["statistics"] = parse(given["statistics"].items())
        if "limits" in given:
            given = with_proposed(given, self.path(given.pop("limits")))
        if isinstance(given.get("clip"), str):
            given["clip"] = proposed_clip(self.path(given["clip"]), given["column"])
        if self.kind.keys == "by" and self.keys and "by" in given:
            given["keys"] = select_keys(self.keys, given["by"], self.file.path)
        elif self.kind.keys == "all":
            given["keys"] = dict(self.keys)
        return given

    def fingerprints(self) -> dict[str, str]:
        """A hash of each part that the answer or its cost depends on: the same for the same job."""
        from leastnoise.curator.budget import postgres_url

        given = self.arguments()
        keys = given.get("keys")
        proposed = {name: given[name] for name in LIMITS if "limits" in self.ask and name in given}
        if isinstance(self.ask.get("clip"), str):
            proposed["clip"] = list(given["clip"])
        privacy = dict(self.privacy)
        if postgres_url.is_url(privacy.get("budget")):  # a password is no part of the job, and its hash is in no file
            privacy["budget"] = postgres_url.parsed(privacy["budget"]).location
        parts = {"table": self.table, "keys": repr(keys), "ask": {**self.ask, **proposed}, "privacy": privacy}
        return {name: _hash(part) for name, part in parts.items()}

    def path(self, text: str) -> str:
        """A path of the file, from the folder where the job lies; an address of another kind is as it is."""
        return text if "://" in text else os.path.normpath(self.file.folder / text)


def read_job(path: str | os.PathLike[str], day: date) -> Job:
    """The job in the file, for a run on this day, checked. Nothing is opened but files of keys."""
    return parse_job(toml_files.load(path, "job", parse_float=Decimal), day)


def parse_job(file: TomlFile, day: date) -> Job:
    """The same of a text that need not be on disk. Its numbers with a point are decimals."""
    for name in file.found:
        if name not in (*NAMES, "keys", "compose"):  # [compose] is for `leastnoise compose`
            raise _mistake(file, (name,), errors.InvalidParameter.among("a section", name, [*NAMES, "keys"]).message)
    sections = {name: _section(file, name, day) for name in NAMES}
    _check_kind(file, sections["ask"])
    return Job(
        file=file, keys=_zone_keys(file, sections) | _keys(file, day, sections["table"].get("lattice", {})), **sections
    )


def select_keys(keys: Mapping[str, Any], by: Sequence[str], path: str) -> Any:
    """Of the keys in a file those of the columns of `by`, as the queries take them."""
    missing = [column for column in by if column not in keys]
    if missing:
        raise errors.BadDomain(
            f"{path!r} has no keys for {', '.join(missing)}. It has them for {', '.join(keys)}.", parameter="keys"
        )
    return keys[by[0]] if len(by) == 1 else [keys[column] for column in by]


def _section(file: TomlFile, name: str, day: date) -> dict[str, Any]:
    found = file.found.get(name, {})
    if not isinstance(found, dict):
        raise _mistake(file, (name,), f"[{name}] is a section, with lines of its own under it.")
    for word in NEEDED[name]:
        if word not in found:
            raise _missing(file, name, word)
    for word, value in found.items():
        if word not in NAMES[name]:
            message = errors.InvalidParameter.among(f"a name in [{name}]", word, NAMES[name]).message
            raise _mistake(file, (name, word), message)
        if not NAMES[name][word].fits(value):
            message = f"{word} must be {NAMES[name][word].words}. Got {_shown(value)} instead."
            raise _mistake(file, (name, word), message)
    return {
        word: _dated(_plain(value, exact=name == "privacy"), day, file, (name, word)) for word, value in found.items()
    }


def _check_kind(file: TomlFile, ask: Mapping[str, Any]) -> None:
    if ask["kind"] not in KINDS:
        message = errors.InvalidParameter.among("kind", ask["kind"], KINDS).message
        raise _mistake(file, ("ask", "kind"), message)
    kind = KINDS[ask["kind"]]
    for word in kind.needs:
        if word not in ask:
            raise _missing(file, "ask", word)
    for word in ask:
        if word not in ("kind", *kind.needs, *kind.takes):
            message = f"a {ask['kind']} takes no {word}. It takes {', '.join((*kind.needs, *kind.takes)) or 'nothing'}."
            raise _mistake(file, ("ask", word), message)


def _keys(file: TomlFile, day: date, lattices: Mapping[str, str]) -> dict[str, Any]:
    found = file.found.get("keys", {})
    if isinstance(found, str):
        return ln.domain.read(file.folder / _dated(found, day, file, ("keys",)))
    if not isinstance(found, dict):
        raise _mistake(file, ("keys",), "keys are a section, or the name of a file of keys in quotes.")
    boxes = {column: entry for column, entry in found.items() if column in lattices and _is_box(entry)}
    cells = {column: _cells(file, column, lattices[column], entry["box"]) for column, entry in boxes.items()}
    found = {column: entry for column, entry in found.items() if column not in boxes}
    if not found:
        return cells
    return cells | ln.domain.parse(
        found, place=lambda column: file.place("keys", column), folder=file.folder, path=file.path
    )


def _zone_keys(file: TomlFile, sections: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Of the columns that are asked for and that [table] makes by `within`: the names of all zones, unless listed."""
    by, within = sections["ask"].get("by", []), sections["table"].get("within", {})
    listed = file.found.get("keys", {})
    wanted = [name for name in ([by] if isinstance(by, str) else by) if name in within]
    if not wanted or not isinstance(listed, dict):
        return {}
    texts = {name: parse_zones(within[name]) for name in wanted if name not in listed}
    return {
        name: list(ln.domain.Zones.read(file.folder / path, key=key).keys) for name, (path, key, *_) in texts.items()
    }


def _is_box(entry: object) -> bool:
    return isinstance(entry, dict) and set(entry) == {"box"}


def _cells(file: TomlFile, column: str, lattice: str, box: Any) -> Any:
    """The cells of a rectangle, { box = [west, east, south, north] }, of a column that [table] makes by lattice."""
    if not (isinstance(box, list) and len(box) == 4 and all(map(_is_number, box))):
        raise _mistake(file, ("keys", column), "box must be four numbers: [west, east, south, north].")
    west, east, south, north = map(float, box)
    return ln.domain.Lattice(*parse_lattice(lattice)).box(x=(west, east), y=(south, north))


def _dated(value: Any, day: date, file: TomlFile, names: tuple[str, ...]) -> Any:
    """The value with the day of the run for {date:...} in its texts."""
    if isinstance(value, list):
        return [_dated(each, day, file, names) for each in value]
    if isinstance(value, dict):
        return {name: _dated(each, day, file, names) for name, each in value.items()}
    if not isinstance(value, str):
        return value
    if re.search(r"\{date(?!:[^{}]+\})", value):
        raise _mistake(file, names, "a date is written {date:%Y-%m-%d}, with what it is made of after the colon.")
    return on_day(value, day)


def on_day(text: str, day: date) -> str:
    """The text with the day for {date:...}: what a run of that day takes it for."""
    return re.sub(r"\{date:([^{}]+)\}", lambda found: day.strftime(found[1]), text)


def _plain(value: Any, *, exact: bool) -> Any:
    """Numbers as Python's own; those of [privacy] stay the decimals that were typed."""
    if isinstance(value, list):
        return [_plain(each, exact=exact) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each, exact=exact) for name, each in value.items()}
    return float(value) if isinstance(value, Decimal) and not exact else value


def _missing(file: TomlFile, section: str, word: str) -> errors.MissingParameter:
    return errors.MissingParameter(
        f"{file.place(section)}: [{section}] lacks {word}. Write, for instance, {word} = {_EXAMPLES[word]}",
        parameter=word,
    )


def _mistake(file: TomlFile, names: tuple[str, ...], message: str) -> errors.InvalidParameter:
    return errors.InvalidParameter(f"{file.place(*names)}: {message}", parameter=names[-1])


def _shown(value: object) -> str:
    return str(value) if isinstance(value, Decimal) else repr(value)


def _hash(part: Any) -> str:
    """Of what is material in it, in canonical JSON."""
    material = {name: value for name, value in part.items() if name not in _IMMATERIAL} if _is_section(part) else part
    return hashlib.sha256(json.dumps(material, sort_keys=True, default=str).encode()).hexdigest()


def _is_section(part: object) -> bool:
    return isinstance(part, Mapping)
