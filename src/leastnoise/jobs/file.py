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
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import leastnoise as ln
from leastnoise import errors
from leastnoise._support import toml
from leastnoise._support.toml import TomlFile
from leastnoise.jobs import fields
from leastnoise.jobs.fields import IMMATERIAL, LIMITS, NEEDED, SECTIONS, listed
from leastnoise.jobs.keys import named_keys, parse_keys, select_keys
from leastnoise.jobs.proposed_limits import proposed_clip, with_proposed
from leastnoise.jobs.questions import QUESTIONS, Question
from leastnoise.jobs.rows import parse_lattice, parse_zones
from leastnoise.jobs.statistics import parse

if TYPE_CHECKING:
    from leastnoise.curator.table import Table


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked for, on one day: of a file, or of options; the keys as the questions take them.

    keys: by column. typed_keys: of options, the texts that were typed, which are read by the types of the columns.
    """

    file: TomlFile
    table: Mapping[str, Any]
    keys: Mapping[str, Any]
    ask: Mapping[str, Any]
    privacy: Mapping[str, Any]
    output: Mapping[str, Any]
    typed_keys: tuple[str, ...] = ()

    @property
    def question(self) -> Question:
        """Which kind of question."""
        return QUESTIONS[self.ask["kind"]]

    @property
    def by(self) -> list[str]:
        """The columns whose values are the bins."""
        return listed(self.ask.get("by", []))

    def arguments(self, table: Table | None = None) -> dict[str, Any]:
        """The arguments of the question, with the keys of its columns. Texts that were typed need the table."""
        given = {name: value for name, value in self.ask.items() if name != "kind"}
        if "by" in given:
            given["by"] = self.by
        if "statistics" in given:
            given["statistics"] = parse(given["statistics"])
        if "limits" in given:
            given = with_proposed(given, self.path(given.pop("limits")), self.question.fields)
        if isinstance(given.get("clip"), str):
            given["clip"] = proposed_clip(self.path(given["clip"]), given["column"])
        by, wanted = self.by, self.question.keys
        if self.typed_keys and wanted != "none":
            assert table is not None
            named = wanted == "all"
            given["keys"] = named_keys(table, self.typed_keys) if named else parse_keys(table, by, self.typed_keys)
        elif wanted == "all":
            given["keys"] = dict(self.keys)
        elif wanted == "by" and self.keys and by:
            given["keys"] = select_keys(self.keys, by, self.file.path)
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
    return _checked(toml.load(path, "job", parse_float=Decimal), day)


def read_text(path: str, text: str) -> Job:
    """The same of a text that need not be on disk, for a run today."""
    return _checked(TomlFile(path, tomllib.loads(text, parse_float=Decimal), text), date.today())


def typed_job(sections: Mapping[str, Mapping[str, Any]], keys: Sequence[str]) -> Job:
    """The job that options ask for: sections as a file has them, and keys as they were typed. A rehearsal needs no
    output, and a vector in a file neither table nor question."""
    return _checked(TomlFile("", dict(sections), ""), None, keys)


def _checked(file: TomlFile, day: date | None, typed_keys: Sequence[str] = ()) -> Job:
    """The job, whose every name and value is one that a job may have. day: None where no text has a date in it."""
    for name in file.found:
        with _at(file, name):
            if name not in (*SECTIONS, "keys"):
                raise errors.InvalidParameter.among("a section", name, [*SECTIONS, "keys"])
    sections = {name: _section(file, name, day) if file.path or name in file.found else {} for name in SECTIONS}
    if sections["ask"]:
        _check_question(file, sections["ask"])
    keys = _zone_keys(file, sections) | _keys(file, day, sections["table"].get("lattice", {}))
    return Job(file, **sections, keys=keys, typed_keys=tuple(typed_keys))


def _section(file: TomlFile, name: str, day: date | None) -> dict[str, Any]:
    given, found = file.found.get(name, {}), {}
    with _at(file, name):
        if not isinstance(given, dict):
            raise errors.InvalidParameter(f"[{name}] is a section, with lines of its own under it.")
    for word in NEEDED[name]:
        if word not in given and (file.path or name != "output"):
            raise _missing(file, name, word)
    for word, value in given.items():
        with _at(file, name, word):
            if word not in SECTIONS[name]:
                raise errors.InvalidParameter.among(f"a name in [{name}]", word, SECTIONS[name])
            SECTIONS[name][word].check(value)
            found[word] = on_day(value if name == "privacy" else _each(value, _plain), day)
    return found


def _check_question(file: TomlFile, ask: Mapping[str, Any]) -> None:
    with _at(file, "ask", "kind"):
        if ask["kind"] not in QUESTIONS:
            raise errors.InvalidParameter.among("kind", ask["kind"], QUESTIONS)
    question = QUESTIONS[ask["kind"]]
    for word in question.needs:
        if word not in ask:
            raise _missing(file, "ask", word)
    for word in ask:
        with _at(file, "ask", word):
            if word not in ("kind", *question.fields):
                taken = ", ".join(question.fields) or "nothing"
                raise errors.InvalidParameter(f"a {ask['kind']} takes no {word}. It takes {taken}.")


def _keys(file: TomlFile, day: date | None, lattices: Mapping[str, str]) -> dict[str, Any]:
    found = file.found.get("keys", {})
    with _at(file, "keys"):
        found = on_day(found, day) if isinstance(found, str) else found
        if not isinstance(found, str | dict):
            raise errors.InvalidParameter("keys are a section, or the name of a file of keys in quotes.")
    if isinstance(found, str):
        return ln.domain.read(file.folder / found)
    cells, others = dict[str, Any](), dict[str, Any]()
    for column, entry in found.items():
        if column in lattices and isinstance(entry, dict) and set(entry) == {"box"}:
            with _at(file, "keys", column):
                cells[column] = _cells(lattices[column], entry["box"])
        else:
            others[column] = entry
    if not others:
        return cells
    return cells | ln.domain.parse(
        others, place=lambda column: file.place("keys", column), folder=file.folder, path=file.path
    )


def _zone_keys(file: TomlFile, sections: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Of the columns that are asked for and that [table] makes by `within`: the names of all zones, unless listed."""
    within, given = sections["table"].get("within", {}), file.found.get("keys", {})
    wanted = [name for name in listed(sections["ask"].get("by", [])) if name in within]
    if not wanted or not isinstance(given, dict):
        return {}
    texts = {name: parse_zones(within[name]) for name in wanted if name not in given}
    return {
        name: list(ln.domain.Zones.read(file.folder / path, key=key).keys) for name, (path, key, *_) in texts.items()
    }


def _cells(lattice: str, box: Any) -> Any:
    """The cells of a rectangle, { box = [west, east, south, north] }, of a column that [table] makes by lattice."""
    if not (isinstance(box, list) and len(box) == 4 and all(map(fields.is_number, box))):
        raise errors.InvalidParameter("box must be four numbers: [west, east, south, north].")
    west, east, south, north = map(float, box)
    return ln.domain.Lattice(*parse_lattice(lattice)).box(x=(west, east), y=(south, north))


def on_day(value: Any, day: date | None) -> Any:
    """The value with the day of the run for {date:...} in its texts; as it is where there is no such day."""

    def dated(text: Any) -> Any:
        if day is None or not isinstance(text, str):
            return text
        if re.search(r"\{date(?!:[^{}]+\})", text):
            raise errors.InvalidParameter("a date is written {date:%Y-%m-%d}, with what it is made of after the colon.")
        return re.sub(r"\{date:([^{}]+)\}", lambda found: day.strftime(found[1]), text)

    return _each(value, dated)


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with every text and number in it changed."""
    if isinstance(value, list):
        return [_each(each, change) for each in value]
    if isinstance(value, dict):
        return {name: _each(each, change) for name, each in value.items()}
    return change(value)


def _plain(value: Any) -> Any:
    """A number as Python's own; those of [privacy] stay the decimals that were typed."""
    return float(value) if isinstance(value, Decimal) else value


def _missing(file: TomlFile, section: str, word: str) -> errors.MissingParameter:
    field = SECTIONS[section][word]
    if not file.path:
        return fields.missing(field)
    return errors.MissingParameter(
        f"{file.place(section)}: [{section}] lacks {word}. Write, for instance, {field.line}", parameter=word
    )


@contextmanager
def _at(file: TomlFile, *names: str) -> Iterator[None]:
    """Within it what is wrong is said with its place in the file, where it is of a file."""
    try:
        yield
    except errors.InvalidParameter as problem:
        if where := file.place(*names):
            problem.message = f"{where}: {problem.message}"
        problem.parameter = names[-1]
        raise


def _hash(part: Any) -> str:
    """Of what is material in it, in canonical JSON."""
    material = part
    if isinstance(part, Mapping):
        material = {name: value for name, value in part.items() if name not in IMMATERIAL}
    return hashlib.sha256(json.dumps(material, sort_keys=True, default=str).encode()).hexdigest()
