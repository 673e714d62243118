"""The job again, as a Python script and as a command line: each asks the same question of the same table.

Whatever the job's file says, and it may be somebody else's, stands in the script as a value: a text in quotes, a
number, a day. Names of arguments and functions are those that a job may have, which `Draft.job` has checked.
"""

from __future__ import annotations

import shlex
from datetime import date
from decimal import Decimal
from keyword import iskeyword
from typing import Any

from leastnoise import errors
from leastnoise.jobs.rows import parse_lattice
from leastnoise.studio.draft import Draft


class _Code(str):
    """Python that is no text: it stands in the script as it is."""

    __slots__ = ()


def command_lines(draft: Draft) -> str:
    """What to type in the folder of the job."""
    name = shlex.quote(draft.path.name)
    return f"leastnoise run {name} --expect   # what it would be like: free\nleastnoise run {name}"


def python(draft: Draft) -> str:
    """The script, to be run in the folder of the job; an error where the draft is no job."""
    draft.job()
    table, ask, privacy, output = (draft.section(name) for name in ("table", "ask", "privacy", "output"))
    keys, file = _keys(draft, ask), draft.found.get("keys")
    lines = ["from datetime import date", ""] if "date(" in _value(keys) else []
    lines += ["import leastnoise as ln", "", *_table(table)]
    if isinstance(file, str):
        lines.append(f"keys = ln.domain.read({file!r})")
    lines.append(f"question = table.{_question(ask, keys)}")
    privacy.pop("force", None)
    if "budget" in privacy:
        lines.append(f"budget = ln.Budget.open({privacy['budget']!r})")
        privacy["budget"] = _Code("budget")
    given = _arguments(privacy)
    lines += [f"print(question.expect({given}))  # free: no row is read", "", f"release = question.release({given})"]
    lines.append(f"release.save({output['release']!r})")
    if "page" in output:
        named = {"title": output["title"]} if "title" in output else {}
        lines.append(f"release.report({', '.join(filter(None, [repr(output['page']), _arguments(named)]))})")
    return "\n".join(lines) + "\n"


def _table(table: dict[str, Any]) -> list[str]:
    rows = {name: table.pop(name) for name in ("lattice", "where", "derive") if name in table}
    lines = [f"table = ln.table({_value(table.pop('source'))}, {_arguments(table)})"]
    if "derive" in rows:
        lines.append(f"table = table.derive(**{_value(rows['derive'])})")
    for name, text in rows.get("lattice", {}).items():
        x, y, _ = parse_lattice(text)
        cells = _Code(f"ln.lattice({x!r}, {y!r}, {_value(Decimal(text.split(',')[2]))})")
        lines.append(f"table = table.derive({_arguments({name: cells})})")
    return [*lines, *([f"table = table.where({rows['where']!r})"] if "where" in rows else [])]


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
    return {name: _axis(name, entry) for name, entry in draft.section("keys").items()}


def _axis(column: str, entry: Any) -> Any:
    """The keys of a column as Python."""
    if not isinstance(entry, dict):
        return entry
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
