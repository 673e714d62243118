"""Keys as a file: TOML, one entry a column, for a table of thirty columns or for a program.

    district = ["Harbour", "Old Town"]                  # a list: texts, whole numbers, true and false, dates
    age = { range = [18, 100] }                         # 18 to 99; a third number is the step
    income = { edges = [0, 1000, 2500, 10000] }         # three bins
    height = { bins = 20, between = [1.0, 2.2] }        # twenty equal ones
    grade = { ordered = ["low", "middle", "high"] }     # keys in an order: cumulative sums and ranges need one
    day = { days = [2026-01-01, 2026-02-01] }           # the second is the day after the last
    hour = { hours = [2026-01-01T00:00:00, 2026-01-02T00:00:00] }
    junction = { file = "nodes.parquet", column = "id" }        # a column of a public file, beside this one
    county = { tree = "places.csv", levels = ["state", "county"] }      # a column a level, from the coarsest
    code = { tree = "codes.csv", levels = ["chapter", "code"], child = "code", parent = "within" }      # or parents
    sex = { keys = [1, 2], labels = ["men", "women"] }  # labels: any of the above under names of their own
    job = { keys = ["nurse", "cook"], other = true }    # one more bin for missing and all other values, or its label

An empty list is an entry that is still to be filled in (`Table.write_keys` writes such): a question that asks for its
column is refused.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from leastnoise import errors
from leastnoise._support import files, toml
from leastnoise.domain.axes import Axis, Edges, IntegerRange, Keys, Ordered
from leastnoise.domain.product import FILLED_IN, Unfilled, axis, with_other
from leastnoise.domain.public_files import FILES, read_public_column
from leastnoise.domain.times import Days, Hours
from leastnoise.domain.tree import Tree
from leastnoise.domain.wrapped import OTHER, Labelled, OrOther

# one of these says what the bins are
WORDS = ("keys", "ordered", "range", "edges", "bins", "days", "hours", "file", "tree")
# what goes with some of them; labels and other go with all
MORE = {"bins": ("between",), "file": ("column",), "tree": ("levels", "child", "parent")}

ColumnKind = Literal["text", "integer", "number", "boolean", "date", "timestamp"]

_HEAD = """\
# The public keys of each column. This was made from names and types alone: no row was read.
# Fill in the [] of every column that you ask for, from what is public and never from the rows.
# In {braces}, other = true adds one more bin for every other value, and labels = ["...", "..."] names the bins.

"""
_ENTRIES: dict[ColumnKind, tuple[str, str]] = {
    "text": ("[]", '["a", "b"], or { file = "places.csv", column = "name" }'),
    "integer": ("{ range = [] }", "{ range = [18, 100] } is 18 to 99; or a list, [1, 2, 3]; or edges"),
    "number": ("{ edges = [] }", "{ edges = [0, 10, 50] }, or { bins = 20, between = [0, 100] }"),
    "boolean": ("[false, true]", ""),
    "date": ("{ days = [] }", "{ days = [2026-01-01, 2026-02-01] }: the second is the day after the last"),
    "timestamp": ("{ days = [] }", "days as of a date, or { hours = [2026-01-01T00:00:00, 2026-01-02T00:00:00] }"),
}


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The keys in a file, by column, as `keys=` of the questions takes them.

    path: a TOML file with one entry a column: a list of keys, or what the bins are, such as { range = [18, 100] },
        { edges = [0, 10, 50] }, { days = [2026-01-01, 2026-02-01] }, { file = "nodes.parquet", column = "id" } or
        { tree = "places.parquet", levels = ["state", "county"] }.
        Paths in it begin at its own folder.
    """
    file = toml.load(path, "keys")
    return parse(file.found, place=file.place, folder=file.folder, path=file.path)


def parse(found: Mapping[str, Any], *, place: Callable[[str], str], folder: Path, path: str) -> dict[str, Any]:
    """The keys of each column; `place` says where in the file a column stands."""
    if not found:
        raise errors.BadDomain(f"{path!r} has no keys. Give one line a column, such as: age = {{ range = [18, 100] }}")
    return {
        column: Unfilled(column, place(column).removeprefix(path).strip(", "), path)
        if _is_empty(entry)
        else _Entry(column, place, folder).keys(entry)
        for column, entry in found.items()
    }


def _is_empty(entry: object) -> bool:
    return entry == [] or (isinstance(entry, dict) and any(entry.get(word) == [] for word in WORDS))


@dataclass(frozen=True, slots=True)
class _Entry:
    """One column of the file; every error names it and its line."""

    column: str
    place: Callable[[str], str]  # asked for a mistake alone: finding a line takes longer than reading the entry
    folder: Path

    def keys(self, entry: object) -> Any:
        try:
            return self._keys(entry)
        except errors.FileProblem as problem:
            raise type(problem)(f"{self._where}: {problem.message}") from None
        except errors.InvalidParameter as problem:
            raise type(problem)(f"{self._where}: {problem}", parameter="keys", value=self.column) from None

    @property
    def _where(self) -> str:
        return f'{self.place(self.column)}, column "{self.column}"'

    def _keys(self, entry: object) -> Any:
        if isinstance(entry, list):
            return self._list(entry)
        if not isinstance(entry, dict):
            raise errors.WrongType(f"keys are a list, or what the bins are: {FILLED_IN}. Got {entry!r} instead.")
        kinds = [word for word in WORDS if word in entry]
        if len(kinds) != 1:
            raise errors.BadDomain(
                f"one of {', '.join(WORDS)} says what the bins are. Got {' and '.join(kinds) or 'none'} instead."
            )
        kind = kinds[0]
        known = (kind, *MORE.get(kind, ()), "labels", "other")
        for word in entry:
            if word not in known:
                raise errors.InvalidParameter.among("what stands beside " + kind, word, known[1:])
        if kind == "tree":
            return self._tree(entry)
        made = self._bins(kind, entry)
        if "labels" in entry:
            made = Labelled(axis(made), tuple(self._labels(entry)))
        if "other" not in entry:
            return made
        if entry["other"] is not True and not isinstance(entry["other"], str):
            raise errors.WrongType(
                'other is true, or the label of the bin: other = "no answer". To leave out other values leave it out; '
                "of a set of tables, which has such a bin for every list of keys, say other = false in [ask], or "
                "--no-other."
            )
        return with_other(made) if entry["other"] is True else with_other(made, entry["other"])

    def _bins(self, kind: str, entry: dict[str, Any]) -> Any:
        value = entry[kind]
        if kind == "keys":
            return self._list(value)
        if kind == "ordered":
            return Ordered(tuple(self._list(value)))
        if kind == "range":
            return self._range(value)
        if kind == "edges":
            return Edges(tuple(_number(edge, kind) for edge in _list(value, kind)))
        if kind == "bins":
            return Edges(equal_edges(value, entry.get("between")))
        if kind == "file":
            return self._list(self._column(entry, entry.get("column"), "column"))
        ends = _list(value, kind, count=(2,))
        wanted = date if kind == "days" else datetime
        if not all(type(end) is wanted for end in ends):
            example = "[2026-01-01, 2026-02-01]" if kind == "days" else "[2026-01-01T00:00:00, 2026-01-02T00:00:00]"
            raise errors.WrongType(f"{kind} are two {wanted.__name__}s, without quotes: {kind} = {example}")
        return Days(*ends) if kind == "days" else Hours(*ends)

    def _list(self, value: Any) -> list[Any]:
        """A list of keys, which stays a list: whole numbers for a column of real numbers are then refused."""
        keys = [float(key) if isinstance(key, Decimal) else key for key in _list(value, "keys")]
        axis(keys)
        return keys

    def _range(self, value: Any) -> range:
        ends = _list(value, "range", count=(2, 3))
        if not all(type(end) is int for end in ends):
            raise errors.WrongType("a range is of whole numbers. Numbers with fractions are cut by edges.")
        made = IntegerRange(*ends)
        return range(made.start, made.stop, made.step)

    def _tree(self, entry: dict[str, Any]) -> Tree:
        """From columns of a public file, or from its columns of children and parents."""
        for word in ("labels", "other"):
            if word in entry:
                raise errors.InvalidParameter(f"a tree takes no {word}: give it leaves for all values that rows hold.")
        file, levels = entry["tree"], _list(entry.get("levels"), "levels")
        if not isinstance(file, str) or not file.endswith(FILES):
            raise errors.BadDomain(f"a tree is read from a file that ends in {' or '.join(FILES)}. Got {file!r}.")
        if not levels or not all(isinstance(name, str) for name in levels):
            raise errors.WrongType('levels are names, from the coarsest to the leaves: levels = ["state", "county"]')
        if levels[-1] != self.column:
            raise errors.BadDomain(
                f'the last of the levels is that of the leaves, "{self.column}". Got {levels[-1]!r}.'
            )
        path, pair = str(self.folder / file), {name: entry[name] for name in ("child", "parent") if name in entry}
        if not all(isinstance(name, str) for name in pair.values()):
            raise errors.WrongType("child and parent are names of columns.")
        return Tree.from_parents(path, *levels, **pair) if pair else Tree.from_columns(path, *levels)

    def _labels(self, entry: dict[str, Any]) -> Sequence[Any]:
        labels = entry["labels"]
        return self._column(entry, labels, "labels") if isinstance(labels, str) else _list(labels, "labels")

    def _column(self, entry: dict[str, Any], column: object, word: str) -> list[Any]:
        file = entry.get("file")
        if not isinstance(file, str) or not isinstance(column, str):
            raise errors.BadDomain(
                f'{word} must name a column of a public file: {{ file = "nodes.parquet", {word} = "id" }}.'
            )
        if not file.endswith(FILES):
            raise errors.BadDomain(f"keys are read from files that end in {' or '.join(FILES)}. Got {file!r} instead.")
        return read_public_column(str(self.folder / file), column)


def _list(value: Any, word: str, count: tuple[int, ...] = ()) -> list[Any]:
    if not isinstance(value, list) or (count and len(value) not in count):
        many = f" of {' or '.join(map(str, count))}" if count else ""
        raise errors.WrongType.must(word, f"be a list{many}", value)
    return value


def _number(value: Any, word: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise errors.WrongType.must(word, "be numbers", value)
    try:
        return float(value)
    except OverflowError:
        return math.inf  # refused where it is used


def equal_edges(count: Any, between: Any) -> tuple[float, ...]:
    """The edges of bins of equal width: how many, and between which ends."""
    if type(count) is not int or not 1 <= count <= 2**20:
        raise errors.BadDomain.must("bins", "be a whole number from 1 to 2^20", count)
    low, high = (_number(end, "between") for end in _list(between, "between", count=(2,)))
    return (*(low + (high - low) * place / count for place in range(count)), high)


def template(columns: Mapping[str, ColumnKind | None], known: Mapping[str, Any] | None = None) -> str:
    """A file of keys to be filled in, from the names and the types of columns; None is a type that has no keys.

    known: the keys of some columns, by name, as they are given to questions: these are written already.
    """
    lines, given = [], known or {}
    for column, kind in columns.items():
        if column in given:
            lines.append(f"{toml.name(column)} = {_entry(column, axis(given[column]))}")
            continue
        if kind is None:
            lines.append(f"# {toml.name(column)}: no keys are known for its type")
            continue
        entry, hint = _ENTRIES[kind]
        lines.append(f"{toml.name(column)} = {entry}" + (f"  # {kind}: {hint}" if hint else ""))
    return _HEAD + "\n".join(lines) + "\n"


def write(path: str | os.PathLike[str], keys: Mapping[str, Any]) -> Path:
    """A file of keys that `read` brings back; a file that is there already is never replaced.

    path: where it goes, such as "keys.toml".
    keys: by column, what `keys=` of the questions takes: lists, ranges, edges, days, hours; with labels or "other".
    """
    lines = [f"{toml.name(column)} = {_entry(column, axis(given))}" for column, given in keys.items()]
    return files.create(path, "\n".join(lines) + "\n")


def _entry(column: str, given: Axis) -> str:
    named = given.axis if isinstance(given, OrOther) else given
    inner = named.axis if isinstance(named, Labelled) else named
    bins = inner.toml()
    if bins is None:
        raise errors.WrongType(
            f'the keys of "{column}" are {type(given).__name__}, which a file of keys has no word for. Give them in '
            "Python.",
            parameter="keys",
            value=column,
        )
    more = f", labels = {toml.value(named.labels)}" if isinstance(named, Labelled) else ""
    if isinstance(given, OrOther):
        more += f", other = {'true' if given.label == OTHER else toml.value(given.label)}"
    return bins.removeprefix("keys = ") if isinstance(inner, Keys) and not more else f"{{ {bins}{more} }}"
