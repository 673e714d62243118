"""The job again, as a Python script and as a command line: each asks the same question of the same table.

Whatever the job's file says, and it may be somebody else's, stands in the script as a value: a text in quotes, a
number, a day. Names of arguments and functions are those that a job may have, which `Draft.job` has checked.
"""

from __future__ import annotations

import shlex
import tomllib
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from keyword import iskeyword
from typing import Any, NamedTuple

from leastnoise import errors
from leastnoise._support.toml import TomlFile
from leastnoise.domain.key_files import equal_edges
from leastnoise.graphs.bin_graph import GRAPH_NAMES
from leastnoise.jobs.fields import ROWS
from leastnoise.jobs.file import on_day, parse_job
from leastnoise.jobs.questions import QUESTIONS
from leastnoise.jobs.rows import parse_join, parse_lattice, parse_nearest, parse_statistic, parse_zones
from leastnoise.jobs.statistics import Call, call_of
from leastnoise.privacy.sensitivity import ChosenLimit
from leastnoise.studio.draft import Draft

TABLE, QUESTION, PRIVACY, RELEASE, FILES = (
    "The table", "The question", "How private", "The release", "What is made of it",
)  # fmt: skip


class Cell(NamedTuple):
    """Some lines that belong together, and what they are about."""

    title: str
    lines: tuple[str, ...]


class _Code(str):
    """Python that is no text: it stands in the script as it is."""

    __slots__ = ()


def command_lines(draft: Draft) -> str:
    """What to type in the folder of the job."""
    name = shlex.quote(draft.path.name)
    return f"leastnoise run {name} --expect   # what it would be like: free\nleastnoise run {name}"


def file_name(draft: Draft) -> str:
    """Of the script. No module can be called like this, so it hides none."""
    return f"{draft.name}-job.py"


def python(draft: Draft) -> str:
    """The script, to be run in the folder of the job; an error where the draft is no job."""
    return "\n".join("\n".join([*cell.lines, ""]) for cell in cells(draft))


def so_far(draft: Draft, title: str) -> str:
    """The lines of one part, of a draft that need not be finished; nothing where they cannot be written yet."""
    try:
        found = [cell for cell in cells(draft) if cell.title == title]
    except errors.LeastnoiseError:
        return ""
    return "\n".join(line for cell in found for line in cell.lines)


def cells(draft: Draft) -> list[Cell]:
    """The job in parts: each ends with something that can be looked at."""
    if draft.section("ask"):
        _check(str(draft.path), draft.text)
    table, ask, privacy, output = (_today(draft.section(name)) for name in ("table", "ask", "privacy", "output"))
    if "unit" not in table:
        return []
    timed = sorted({kind.__name__ for kind in _times(draft.found.get("keys"))}) if ask else []
    first = [f"from datetime import {', '.join(timed)}", ""] if timed else []
    found = [Cell(TABLE, (*first, "import leastnoise as ln", "", *_table(dict(table))))]
    if not ask:
        return found
    keys, file = _keys(draft, ask), _today(draft.found.get("keys"))
    read = [f"keys = ln.domain.read({file!r})"] if isinstance(file, str) else []
    proposed = ask.pop("limits", None)
    chosen = _proposed(str(draft.path), draft.text) if proposed is not None else ()
    if chosen:
        read.append(f"proposed = ln.load({proposed!r}).limits  # by the paid look")
        ask |= {name: _Code(f'proposed["{name}"]') for name in chosen}
    found.append(Cell(QUESTION, (*read, f"question = table.{_question(ask, keys)}")))
    if not privacy:
        return found
    privacy.pop("force", None)
    paid = []
    if "budget" in privacy:
        part = {"allocation": privacy.pop("allocation")} if "allocation" in privacy else {}
        opened = ", ".join(filter(None, [repr(privacy["budget"]), _arguments(part)]))
        paid, privacy["budget"] = [f"budget = ln.Budget.open({opened})"], _Code("budget")
    given = _arguments(privacy)
    found.append(Cell(PRIVACY, (*paid, f"print(question.expect({given}))  # free: no row is read")))
    save = f"release.save({output['release']!r})"
    found.append(Cell(RELEASE, (f"release = question.release({given})  # pays, reads rows, draws noise", save)))
    return [*found, Cell(FILES, tuple(_files(draft, output)))]


@lru_cache(maxsize=16)  # the names in a text are those it had: a slider asks again and again
def _check(path: str, text: str) -> None:
    """Refuse a text that is no job; an error is not remembered."""
    parse_job(TomlFile(path, tomllib.loads(text, parse_float=Decimal), text), date.today())


@lru_cache(maxsize=16)  # another look changes the limits in the text
def _proposed(path: str, text: str) -> tuple[str, ...]:
    """Which limits of the job are those that a paid look proposed."""
    job = parse_job(TomlFile(path, tomllib.loads(text, parse_float=Decimal), text), date.today())
    return tuple(name for name, value in job.arguments().items() if isinstance(value, ChosenLimit))


def _today(value: Any) -> Any:
    """With the day for {date:...} in its texts, as a run of today takes it."""
    if isinstance(value, list):
        return [_today(each) for each in value]
    if isinstance(value, dict):
        return {name: _today(each) for name, each in value.items()}
    return on_day(value, date.today()) if isinstance(value, str) else value


def _times(value: Any) -> set[type]:
    """Which of Python's classes of days and times are in it."""
    if isinstance(value, list | dict):
        return {kind for each in (value.values() if isinstance(value, dict) else value) for kind in _times(each)}
    return {type(value)} if isinstance(value, date) else set()


def _table(table: dict[str, Any]) -> list[str]:
    """In the order of `jobs.rows`."""
    rows = {name: table.pop(name) for name in (*ROWS, "labels") if name in table}
    lines = [f"table = ln.table({_value(table.pop('source'))}, {_arguments(table)})"]
    joined = rows.get("join", [])
    for text in [joined] if isinstance(joined, str) else joined:
        file, on = parse_join(text)
        lines.append(f"table = table.join_public({file!r}, on={_value(on)})")
    for name, text in rows.get("within", {}).items():
        file, key, lon, lat = parse_zones(text)
        named = {} if key is None else {"key": key}
        read = ", ".join(filter(None, [repr(file), _arguments(named)]))
        zones = _zones(rows["within"], name)
        lines.append(f"{zones} = ln.domain.Zones.read({read})")
        lines.append(f"table = table.within({zones}, lon={lon!r}, lat={lat!r}, name={name!r})")
    for name, text in rows.get("nearest", {}).items():
        nodes, edges, near = parse_nearest(text)
        graph = f"ln.graphs.Graph.from_parquet({nodes!r}, {edges!r})"
        lines.append(f"table = table.nearest({graph}, {_arguments(near | {'name': name})})")
    if rows.get("derive"):
        lines.append(f"table = table.derive(**{_value(rows['derive'])})")
    for name, text in rows.get("lattice", {}).items():
        x, y, _ = parse_lattice(text)
        cells = _Code(f"ln.lattice({x!r}, {y!r}, {_value(Decimal(text.split(',')[2]))})")
        lines.append(f"table = table.derive({_arguments({name: cells})})")
    if "where" in rows:
        lines.append(f"table = table.where({rows['where']!r})")
    if rows.get("per_unit"):
        made = {name: _statistic(parse_statistic(text)) for name, text in rows["per_unit"].items()}
        lines.append(f"table = table.per_unit({_arguments(made)})")
    if "having" in rows:
        lines.append(f"table = table.where({rows['having']!r})")
    return [*lines, *([f"table = table.label(**{_value(rows['labels'])})"] if "labels" in rows else [])]


def _zones(within: dict[str, str], name: str) -> str:
    """The variable that holds the zones of a column."""
    place = list(within).index(name)
    return f"zones_{place + 1}" if place else "zones"


def _files(draft: Draft, output: dict[str, Any]) -> list[str]:
    """What is made of the release, for free."""
    lines: list[str] = []
    near: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    if output.get("graph") in GRAPH_NAMES:
        near = {"graph": output["graph"]}
    elif "graph" in output:
        lines.append(f"graph = ln.graphs.Graph.from_parquet({output.get('nodes')!r}, {output['graph']!r})")
        near = {"graph": _Code("graph")}
    if "estimate" in output:
        lines.append(f"estimate = release.denoise({_arguments(near)})")
        lines.append(f"estimate.save({output['estimate']!r})")
        beside = {"estimate": _Code("estimate")}
    drawn_on = {name: value for name, value in near.items() if isinstance(value, _Code)}
    within, by = draft.section("table").get("within", {}), draft.section("ask").get("by", [])
    column = by[0] if isinstance(by, list) and len(by) == 1 else by
    if isinstance(column, str) and column in within and draft.section("ask")["kind"] in ("histogram", "sum", "mean"):
        drawn_on["zones"] = _Code(_zones(within, column))
    if "page" in output:
        named = (beside or {"estimate": "auto"}) | drawn_on | ({"title": output["title"]} if "title" in output else {})
        lines.append(f"release.report({output['page']!r}, {_arguments(named)})")
    for word, method in (("csv", "to_csv"), ("excel", "to_excel")):
        if word in output:
            given = ", ".join(filter(None, [repr(output[word]), _arguments(beside)]))
            lines.append(f"release.{method}({given})")
    return lines


def _clip(found: Any) -> Any:
    """Two numbers, or the file of a release that proposed them."""
    return _Code(f"ln.load({found!r}).clip") if isinstance(found, str) else tuple(found)


def _question(ask: dict[str, Any], keys: Any) -> str:
    """The method of the table, with the fields that Python takes by position first."""
    question = QUESTIONS[ask.pop("kind")]
    named = ask | {name: _clip(ask[name]) for name in ("clip", "weight_clip") if name in ask}
    by = [named["by"]] if isinstance(named.get("by"), str) else named.get("by", [])
    statistics = {name: _statistic(call_of(name, text)) for name, text in named.pop("statistics", {}).items()}
    public = {"keys": keys} if question.keys == "all" else _listed(keys, by)
    first, rest = question.call(public | named)
    return f"{question.kind}({', '.join([*map(_value, first), *filter(None, [_arguments(rest | statistics)])])})"


def _statistic(call: Call) -> _Code:
    given = [*map(repr, call.given), *filter(None, [_arguments(dict(call.named))])]
    return _Code(f"ln.stats.{call.word}({', '.join(given)})")


def _listed(keys: Any, by: list[str]) -> dict[str, Any]:
    found = [keys[name] for name in by if name in keys]
    return {"keys": found[0] if len(found) == 1 else found} if found else {}


def _keys(draft: Draft, ask: dict[str, Any]) -> Any:
    """Of each column, or of those asked for in a file of keys."""
    by = ask.get("by", [])
    by = [by] if isinstance(by, str) else by
    if isinstance(draft.found.get("keys"), str):
        named = {name: _Code(f"keys[{name!r}]") for name in by}
        return _Code("keys") if ask.get("kind") == "crosstabs" else named
    within = draft.section("table").get("within", {})
    zones = {name: _Code(f"list({_zones(within, name)}.keys)") for name in by if name in within}
    return zones | {name: _axis(name, entry) for name, entry in draft.section("keys").items()}


def _axis(column: str, entry: Any) -> Any:
    """The keys of a column as Python."""
    if not isinstance(entry, dict):
        return entry
    made = _bins(column, entry)
    if "labels" in entry:
        labels = entry["labels"]
        named = _public_column(entry["file"], labels) if isinstance(labels, str) else _value(labels)
        made = _Code(f"ln.domain.Labelled({_as_axis(entry, made)}, tuple({named}))")
    if not (other := entry.get("other")):
        return made
    label = "" if other is True else f", {other!r}"
    return _Code(f"ln.domain.with_other({_value(made)}{label})")


def _bins(column: str, entry: dict[str, Any]) -> Any:
    if "keys" in entry:
        return entry["keys"]
    if "file" in entry:
        return _Code(_public_column(entry["file"], entry["column"]))
    if "range" in entry:
        return _Code(f"range({_values(entry['range'])})")
    if "tree" in entry:
        pair: dict[str, Any] = {name: entry[name] for name in ("child", "parent") if name in entry}
        given = [_values([entry["tree"], *entry["levels"]]), *filter(None, [_arguments(pair)])]
        return _Code(f"ln.domain.Tree.from_{'parents' if pair else 'columns'}({', '.join(given)})")
    if "box" in entry:
        west, east, south, north = map(_value, entry["box"])
        return _Code(f"table.lattices[{column!r}].box(x=({west}, {east}), y=({south}, {north}))")
    if "bins" in entry:
        return _Code(f"ln.domain.Edges({_value(equal_edges(entry['bins'], entry['between']))})")
    for word, kind in (("edges", "Edges"), ("ordered", "Ordered")):
        if word in entry:
            return _Code(f"ln.domain.{kind}({_value(tuple(entry[word]))})")
    word = "days" if "days" in entry else "hours"
    return _Code(f"ln.domain.{word.title()}({_values(entry[word])})")


def _as_axis(entry: dict[str, Any], made: Any) -> str:
    """Labels are given to an axis, and to no list."""
    if "range" in entry:
        return f"ln.domain.IntegerRange({_values(entry['range'])})"
    return f"ln.domain.Keys(tuple({_value(made)}))" if "keys" in entry or "file" in entry else _value(made)


def _public_column(file: str, column: str) -> str:
    return f"ln.domain.read_public_column({file!r}, {column!r})"


def _arguments(named: dict[str, Any]) -> str:
    plain = [f"{name}={_value(value)}" for name, value in named.items() if _is_name(name)]
    others = {name: value for name, value in named.items() if not _is_name(name)}
    return ", ".join([*plain, *([f"**{_value(others)}"] if others else [])])


def _is_name(word: str) -> bool:
    return word.isidentifier() and not iskeyword(word)


def _values(values: Any) -> str:
    return ", ".join(map(_value, values))


def _value(value: Any) -> str:
    if isinstance(value, _Code | Decimal):
        return str(value)
    if isinstance(value, datetime):
        return f"datetime({value.year}, {value.month}, {value.day}, {value.hour}, {value.minute}, {value.second})"
    if isinstance(value, date):
        return f"date({value.year}, {value.month}, {value.day})"
    if isinstance(value, list | tuple):
        inner = _values(value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_value(name)}: {_value(each)}" for name, each in value.items()) + "}"
    return repr(value)
