"""The job again, as a Python script and as a command line: each asks the same question of the same table.

Whatever the job's file says, and it may be somebody else's, stands in the script as a value: a text in quotes, a
number, a day. Names of arguments and functions are those that a job may have, which `Draft.job` has checked.
"""

from __future__ import annotations

import shlex
import tomllib
from datetime import date
from decimal import Decimal
from functools import lru_cache
from keyword import iskeyword
from typing import Any, NamedTuple

from leastnoise import errors
from leastnoise._support.toml_files import TomlFile
from leastnoise.jobs.file import parse_job
from leastnoise.jobs.rows import parse_lattice, parse_zones
from leastnoise.privacy.sensitivity import ChosenLimit
from leastnoise.studio import map_question
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
    for name in ("join", "per_unit", "having"):
        if name in draft.section("table"):
            raise errors.InvalidParameter(
                f"{name} was written into the job by hand, and is not written in Python here. Use the command line."
            )
    table, ask, privacy, output = (draft.section(name) for name in ("table", "ask", "privacy", "output"))
    if "unit" not in table:
        return []
    keys, file = _keys(draft, ask), draft.found.get("keys")
    dated = "date(" in _value(keys)
    first = ["from datetime import date", ""] if dated else []
    found = [Cell(TABLE, (*first, "import leastnoise as ln", "", *_table(dict(table))))]
    if not ask:
        return found
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


def _table(table: dict[str, Any]) -> list[str]:
    rows = {name: table.pop(name) for name in ("lattice", "within", "where", "derive") if name in table}
    lines = [f"table = ln.table({_value(table.pop('source'))}, {_arguments(table)})"]
    for name, text in rows.get("within", {}).items():
        file, key, lon, lat = parse_zones(text)
        named = {} if key is None else {"key": key}
        read = ", ".join(filter(None, [repr(file), _arguments(named)]))
        lines.append(f"zones = ln.domain.Zones.read({read})")
        lines.append(f"table = table.within(zones, lon={lon!r}, lat={lat!r}, name={name!r})")
    if "derive" in rows:
        lines.append(f"table = table.derive(**{_value(rows['derive'])})")
    for name, text in rows.get("lattice", {}).items():
        x, y, _ = parse_lattice(text)
        cells = _Code(f"ln.lattice({x!r}, {y!r}, {_value(Decimal(text.split(',')[2]))})")
        lines.append(f"table = table.derive({_arguments({name: cells})})")
    return [*lines, *([f"table = table.where({rows['where']!r})"] if "where" in rows else [])]


def _files(draft: Draft, output: dict[str, Any]) -> list[str]:
    """What is made of the release, for free."""
    lines: list[str] = []
    near: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    if "graph" in output:
        lines.append(f"graph = ln.graphs.Graph.from_parquet({output.get('nodes')!r}, {output['graph']!r})")
        near = {"graph": _Code("graph")}
    if "estimate" in output:
        lines.append(f"estimate = release.denoise({_arguments(near)})")
        lines.append(f"estimate.save({output['estimate']!r})")
        beside = {"estimate": _Code("estimate")}
    drawn_on = near | ({"zones": _Code("zones")} if map_question.kind_of(draft.found) == "zones" else {})
    if "page" in output:
        named = (beside or {"estimate": "auto"}) | drawn_on | ({"title": output["title"]} if "title" in output else {})
        lines.append(f"release.report({output['page']!r}, {_arguments(named)})")
    for word, method in (("csv", "to_csv"), ("excel", "to_excel")):
        if word in output:
            given = ", ".join(filter(None, [repr(output[word]), _arguments(beside)]))
            lines.append(f"release.{method}({given})")
    return lines


def _question(ask: dict[str, Any], keys: Any) -> str:
    kind, by = ask.pop("kind"), ask.pop("by", [])
    by = [by] if isinstance(by, str) else by
    first, named = [], dict(ask)
    if kind == "crosstabs":
        named = {"keys": keys, **ask}
    elif kind == "summarize":
        statistics = {name: _statistic(text) for name, text in named.pop("statistics").items()}
        first, named = list(by), _listed(keys, by) | named | statistics
    elif kind == "histogram":
        first, named = list(by), _listed(keys, by) | ask
    elif kind != "count_units":
        first, named = [named.pop("column")], ({"by": by} | _listed(keys, by) if by else {}) | named
    if isinstance(named.get("clip"), list):
        named["clip"] = tuple(named["clip"])
    return f"{kind}({', '.join([*map(_value, first), *filter(None, [_arguments(named)])])})"


def _statistic(text: str) -> _Code:
    word, _, rest = text.partition(":")
    if not _is_name(word):
        raise errors.InvalidParameter(f"{word!r} is no statistic.", parameter="statistics")
    return _Code(f"ln.stats.{word}({rest!r})" if rest else f"ln.stats.{word}()")


def _listed(keys: Any, by: list[str]) -> dict[str, Any]:
    found = [keys[name] for name in by if name in keys]
    return {"keys": found[0] if len(found) == 1 else found} if found else {}


def _keys(draft: Draft, ask: dict[str, Any]) -> Any:
    """Of each column, or of those asked for in a file of keys."""
    if isinstance(draft.found.get("keys"), str):
        by = ask.get("by", [])
        named = {name: _Code(f"keys[{name!r}]") for name in ([by] if isinstance(by, str) else by)}
        return _Code("keys") if ask["kind"] == "crosstabs" else named
    zones = {name: _Code("list(zones.keys)") for name in draft.section("table").get("within", {})}
    return zones | {name: _axis(name, entry) for name, entry in draft.section("keys").items()}


def _axis(column: str, entry: Any) -> Any:
    """The keys of a column as Python."""
    if not isinstance(entry, dict):
        return entry
    if "other" in entry:
        keys = _axis(column, {name: value for name, value in entry.items() if name != "other"})
        label = "" if entry["other"] is True else f", {entry['other']!r}"
        return _Code(f"ln.domain.with_other({_value(keys)}{label})")
    if set(entry) == {"keys"}:
        return entry["keys"]
    if set(entry) == {"ordered"}:
        return _Code(f"ln.domain.Ordered({_value(entry['ordered'])})")
    if not any(set(entry) == form for form in ({"range"}, {"edges"}, {"days"}, {"box"}, {"file", "column"})):
        raise errors.InvalidParameter(
            f'The keys of "{column}" were written into the job by hand, and are not written in Python here. Use the '
            "command line."
        )
    if "range" in entry:
        return _Code(f"range({', '.join(map(_value, entry['range']))})")
    if "edges" in entry:
        return _Code(f"ln.domain.Edges(({', '.join(map(_value, entry['edges']))}))")
    if "days" in entry:
        return _Code(f"ln.domain.Days({', '.join(map(_value, entry['days']))})")
    if "box" in entry:
        west, east, south, north = map(_value, entry["box"])
        return _Code(f"table.lattices[{column!r}].box(x=({west}, {east}), y=({south}, {north}))")
    return _Code(f"ln.domain.read_public_column({entry['file']!r}, {entry['column']!r})")


def _arguments(named: dict[str, Any]) -> str:
    plain = [f"{name}={_value(value)}" for name, value in named.items() if _is_name(name)]
    others = {name: value for name, value in named.items() if not _is_name(name)}
    return ", ".join([*plain, *([f"**{_value(others)}"] if others else [])])


def _is_name(word: str) -> bool:
    return word.isidentifier() and not iskeyword(word)


def _value(value: Any) -> str:
    if isinstance(value, _Code | Decimal):
        return str(value)
    if isinstance(value, date):
        return f"date({value.year}, {value.month}, {value.day})"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_value, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {_value(each)}" for name, each in value.items()) + "}"
    return repr(value)
