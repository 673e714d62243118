"""A job as a Python script, which asks the same question of the same table.

Nothing in it is text of the job's file but as a value: see `calls`. The script of an unfinished job ends where it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

from leastnoise import errors
from leastnoise._support import toml
from leastnoise.domain.key_files import equal_edges
from leastnoise.graphs.bin_graph import GRAPH_NAMES
from leastnoise.jobs.calls import Call, Variable, arguments, printed
from leastnoise.jobs.fields import listed
from leastnoise.jobs.file import Job, on_day, read_text
from leastnoise.jobs.questions import QUESTIONS
from leastnoise.jobs.rows import steps, zones_variable
from leastnoise.jobs.statistics import parse
from leastnoise.privacy.sensitivity import ChosenLimit

TABLE, QUESTION, PRIVACY, RELEASE, FILES = (
    "The table", "The question", "How private", "The release", "What is made of it",
)  # fmt: skip
Sections = Mapping[str, Any]


class Cell(NamedTuple):
    """Some lines that belong together, and what they are about."""

    title: str
    lines: tuple[str, ...]


def python(path: str, found: Sections) -> str:
    """The script, to be run in the folder of the job; an error where the sections are no job."""
    return "\n".join("\n".join([*cell.lines, ""]) for cell in cells(path, found))


def so_far(path: str, found: Sections, title: str) -> str:
    """The lines of one part, of a job that need not be finished; nothing where they cannot be written yet."""
    try:
        return "\n".join(line for cell in cells(path, found) if cell.title == title for line in cell.lines)
    except errors.LeastnoiseError:
        return ""


def cells(path: str, found: Sections) -> list[Cell]:
    """The job in parts: each ends with something that can be looked at."""
    job = _checked(path, toml.document(found)) if found.get("ask") else None
    today, keys = date.today(), found.get("keys", {})
    table, ask, privacy, output = (
        on_day(dict(found.get(name, {})), today) for name in ("table", "ask", "privacy", "output")
    )
    if "unit" not in table:
        return []
    timed = sorted({kind.__name__ for kind in _times(keys)}) if ask else []
    first = [f"from datetime import {', '.join(timed)}", ""] if timed else []
    rows = [f"{variable} = {printed(call)}" for variable, call in steps(table)]
    made = [Cell(TABLE, (*first, "import leastnoise as ln", "", *rows))]
    if job is None:
        return made
    made.append(
        Cell(QUESTION, tuple(_question(job, table, dict(ask), on_day(keys, today) if isinstance(keys, str) else keys)))
    )
    if not privacy:
        return made
    privacy.pop("force", None)
    paid = []
    if "budget" in privacy:
        part = {"allocation": privacy.pop("allocation")} if "allocation" in privacy else {}
        paid = [f"budget = {printed(Call('ln.Budget.open', [privacy['budget']], part))}"]
        privacy["budget"] = Variable("budget")
    given = arguments(privacy)
    made.append(Cell(PRIVACY, (*paid, f"print(question.expect({given}))  # free: no row is read")))
    save = f"release.save({output['release']!r})"
    made.append(Cell(RELEASE, (f"release = question.release({given})  # pays, reads rows, draws noise", save)))
    return [*made, Cell(FILES, tuple(_files(table, ask, output)))]


_checked = lru_cache(maxsize=16)(read_text)  # a slider asks again and again; an error is not remembered


def _times(value: Any) -> set[type]:
    """Which of Python's classes of days and times are in it."""
    if isinstance(value, list | dict):
        return {kind for each in (value.values() if isinstance(value, dict) else value) for kind in _times(each)}
    return {type(value)} if isinstance(value, date) else set()


def _question(job: Job, table: Sections, ask: dict[str, Any], keys: Any) -> list[str]:
    """The method of the table, below what it is given and has to be read first."""
    lines = [f"keys = ln.domain.read({keys!r})"] if isinstance(keys, str) else []
    if "limits" in ask:
        chosen = [name for name, value in job.arguments().items() if isinstance(value, ChosenLimit)]
        lines += [f"proposed = ln.load({ask.pop('limits')!r}).limits  # by the paid look"] if chosen else []
        ask |= {name: Variable(f'proposed["{name}"]') for name in chosen}
    question, by = QUESTIONS[ask.pop("kind")], job.by
    for name in ("clip", "weight_clip"):
        if name in ask:
            ask[name] = _clip(ask[name])
    if "statistics" in ask:
        ask["statistics"] = parse(ask["statistics"])
    public = _keys(table.get("within", {}), by, keys)
    listed_keys = [public[name] for name in by if name in public]
    given: dict[str, Any] = {}
    if question.keys == "all":
        given = {"keys": Variable("keys") if isinstance(keys, str) else public}
    elif listed_keys:
        given = {"keys": listed_keys[0] if len(listed_keys) == 1 else listed_keys}
    return [*lines, f"question = {printed(question.call(given | ask))}"]


def _clip(found: Any) -> Any:
    """Two numbers, or the file of a release that proposed them."""
    return Variable(f"{printed(Call('ln.load', [found]))}.clip") if isinstance(found, str) else tuple(found)


def _keys(within: Mapping[str, str], by: list[str], keys: Any) -> dict[str, Any]:
    """By column, of a section or of a file of keys."""
    if isinstance(keys, str):
        return {name: Variable(f"keys[{name!r}]") for name in by}
    zones = {name: Variable(f"list({zones_variable(within, name)}.keys)") for name in by if name in within}
    return zones | {name: _axis(name, entry) for name, entry in keys.items()}


def _axis(column: str, entry: Any) -> Any:
    """The keys of a column."""
    if not isinstance(entry, dict):
        return entry
    made = _bins(column, entry)
    if "labels" in entry:
        labels = entry["labels"]
        named = Call("ln.domain.read_public_column", [entry["file"], labels]) if isinstance(labels, str) else labels
        made = Call("ln.domain.Labelled", [_as_axis(entry, made), Call("tuple", [named])])
    if not (other := entry.get("other")):
        return made
    return Call("ln.domain.with_other", [made] if other is True else [made, other])


def _bins(column: str, entry: dict[str, Any]) -> Any:
    if "keys" in entry:
        return entry["keys"]
    if "file" in entry:
        return Call("ln.domain.read_public_column", [entry["file"], entry["column"]])
    if "range" in entry:
        return Call("range", entry["range"])
    if "tree" in entry:
        pair: dict[str, Any] = {name: entry[name] for name in ("child", "parent") if name in entry}
        return Call(f"ln.domain.Tree.from_{'parents' if pair else 'columns'}", [entry["tree"], *entry["levels"]], pair)
    if "box" in entry:
        west, east, south, north = entry["box"]
        return Call(f"table.lattices[{column!r}].box", named={"x": (west, east), "y": (south, north)})
    if "bins" in entry:
        return Call("ln.domain.Edges", [equal_edges(entry["bins"], entry["between"])])
    for word in ("edges", "ordered"):
        if word in entry:
            return Call(f"ln.domain.{word.title()}", [tuple(entry[word])])
    word = "days" if "days" in entry else "hours"
    return Call(f"ln.domain.{word.title()}", entry[word])


def _as_axis(entry: dict[str, Any], made: Any) -> Any:
    """Labels are given to an axis, and to no list."""
    if "range" in entry:
        return Call("ln.domain.IntegerRange", entry["range"])
    return Call("ln.domain.Keys", [Call("tuple", [made])]) if "keys" in entry or "file" in entry else made


def _files(table: Sections, ask: Sections, output: dict[str, Any]) -> list[str]:
    """What is made of the release, for free."""
    lines: list[str] = []
    near: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    if output.get("graph") in GRAPH_NAMES:
        near = {"graph": output["graph"]}
    elif "graph" in output:
        lines.append(f"graph = ln.graphs.Graph.from_parquet({output.get('nodes')!r}, {output['graph']!r})")
        near = {"graph": Variable("graph")}
    if "estimate" in output:
        lines += [f"estimate = release.denoise({arguments(near)})", f"estimate.save({output['estimate']!r})"]
        beside = {"estimate": Variable("estimate")}
    drawn_on = {name: value for name, value in near.items() if isinstance(value, Variable)}
    within, by = table.get("within", {}), listed(ask.get("by", []))
    if len(by) == 1 and by[0] in within and ask["kind"] in ("histogram", "sum", "mean"):
        drawn_on["zones"] = zones_variable(within, by[0])
    if "page" in output:
        named = (beside or {"estimate": "auto"}) | drawn_on | ({"title": output["title"]} if "title" in output else {})
        lines.append(printed(Call("release.report", [output["page"]], named)))
    written = (("csv", "to_csv"), ("excel", "to_excel"))
    return lines + [printed(Call(f"release.{to}", [output[word]], beside)) for word, to in written if word in output]
