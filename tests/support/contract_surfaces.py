"""The ways to type one job: what each asks in the end, which fields it was given, and which it has.

Whatever the way, in the end a `Query` is asked what to expect of its release: there it is caught, before it answers.
"""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

from starlette.testclient import TestClient

import leastnoise as ln
from command_line import TOGETHER, run
from contract_cases import Case
from leastnoise.cli import app
from leastnoise.curator.queries.query import Query
from leastnoise.jobs.fields import SECTIONS
from leastnoise.jobs.questions import QUESTIONS as ASKED
from leastnoise.studio.access import Keys
from leastnoise.studio.app import application
from leastnoise.studio.draft import Draft
from leastnoise.studio.folder import Folder
from leastnoise.studio.session import Studio
from leastnoise.testing import aggregate
from studio_visitor import NAME, ORIGIN, PORT, Visitor, anybody

Used = set[tuple[str, str]]  # (question, field); of the table and of privacy, these are the question


class Asked(BaseException):
    """What was asked, and how private it is to be; no `except Exception` keeps it from who waits for it."""

    def __init__(self, query: Any, privacy: Mapping[str, Any]) -> None:
        super().__init__("asked")
        self.query, self.privacy = query, privacy


def asked(typing: Callable[[], object]) -> Asked:
    """What is asked where something is typed; an error where it is refused."""

    def expect(query: Any, **privacy: Any) -> None:
        raise Asked(query, privacy)

    with mock.patch.object(Query, "expect", expect):
        try:
            refused = typing()
        except Asked as found:
            return found
    raise AssertionError(f"nothing was asked: {refused}")


def facts(found: Asked) -> dict[str, Any]:
    """All that must be the same, whoever typed it how."""
    query, privacy = found.query, dict(found.privacy)
    expected = query.expect(**privacy)
    budget = privacy.pop("budget", None)
    given = {name: _plain(value) for name, value in privacy.items() if value is not None}
    exact = aggregate(query)
    return {
        "describe": query.describe(),
        "domain": repr(query.domain),
        "integers": [int(each) for each in exact.values],
        "keys": None if exact.keys is None else [str(key) for key in exact.keys],
        "sensitivity": str(query.sensitivity),
        "expected": str(expected),  # with labels, what is left out, and what was proposed by an earlier release
        "strength": str(expected.strength),
        "privacy": {"mechanism": "auto", "note": ""} | given,
        "budget": None if budget is None else (str(budget), budget.remaining.share),
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) and "/" not in value and not value[:1].isdigit() else Fraction(str(value))


# ── what is typed ──


def typed_in_python(text: str) -> Asked:
    return asked(lambda: eval(text, {"ln": ln}))


def typed_as_options(case: Case) -> Asked:
    return asked(lambda: run(*shlex.split(case.options), "--expect").stderr)


def written_in_a_file(case: Case) -> Asked:
    Path("job.toml").write_text(f'{case.job}\n[output]\nrelease = "out.parquet"\n')
    return asked(lambda: run("run", "job.toml", "--expect").stderr)


def printed_for_the_file(case: Case) -> Asked:
    Path("job.toml").write_text(f'{case.job}\n[output]\nrelease = "out.parquet"\n')
    return asked(lambda: exec(printed(), {}))


def filled_in(case: Case) -> Asked:
    fill_in(case)
    return asked(lambda: run("run", f"{Path(case.source).stem}.toml", "--expect").stderr)


def printed_for_the_form(case: Case) -> Asked:
    fill_in(case)
    return asked(lambda: exec(Draft.read(Path(f"{Path(case.source).stem}.toml")).python, {}))


def printed() -> str:
    """The Python that the studio prints for the job in its file."""
    return Draft.read(Path("job.toml")).python


def is_rehearsed(way: str, case: Case) -> bool:
    """Whether a rehearsal comes to its end, and is not refused for a mistake."""
    words = ["run", "job.toml"]
    if way == "options":
        words = shlex.split(case.options)
    elif way == "job":
        Path("job.toml").write_text(f'{case.job}\n[output]\nrelease = "out.parquet"\n')
    else:
        try:
            fill_in(case)
        except AssertionError:
            return False
        words[1] = "people.toml"
    code = run(*words, "--expect").returncode
    assert code in (0, 2)
    return code == 0


WAYS: dict[str, Callable[[Case], Asked]] = {
    "options": typed_as_options,
    "job": written_in_a_file,
    "form": filled_in,
    "script of the job": printed_for_the_file,
    "script of the form": printed_for_the_form,
}


LIMIT = re.compile(r'<input id="(max_\w+)"[^>]* value="(\d+)"')  # in the step about limits


def fill_in(case: Case) -> Iterator[str]:
    """Send every form of the studio's walk; the pages that were shown."""
    desk, job = visitor(case.source), f"/job/{Path(case.source).stem}"
    pages = []
    for step, fields in case.form.items():
        address = f"{job}/{step.split()[0]}"  # "limits again" is the step about limits
        shown = LIMIT.findall(desk.client.get(address).text) if "as shown" in fields else ()
        sent = desk.send(address, **(dict(shown) or fields))
        assert sent.status_code == 303, (step, re.findall(r'class="problem"[^>]*>([^<]*)', sent.text))
        pages.append(desk.client.get(address).text)
    return iter(pages)


def visitor(source: str) -> Visitor:
    """A visitor of a studio that was started for this file of the folder."""
    studio, keys = Studio(Folder.of(Path.cwd()), source), Keys(lambda link: None)
    keys.name = NAME
    client = TestClient(application(studio, keys, PORT, anybody), base_url=ORIGIN)
    assert client.get(f"/?key={keys.link}").status_code == 200
    return Visitor(client, studio, Path.cwd())


# ── which fields were typed ──

VERBS = {"join_public": "join", "within": "within", "derive": "derive", "where": "where", "per_unit": "per_unit",
         "label": "labels", "nearest": "nearest"}  # fmt: skip
PRIVACY = ("expect", "release")


def questions() -> dict[str, inspect.Signature]:
    """The methods of a table that make a query."""
    found = {name: inspect.signature(method) for name, method in inspect.getmembers(ln.Table, inspect.isfunction)}
    return {name: each for name, each in found.items() if each.return_annotation == "Query" and name[0] != "_"}


def fields() -> dict[str, set[str]]:
    """Every field of every question, of the table and of privacy, as Python has them."""
    found = {name: set(each.parameters) - {"self"} for name, each in questions().items()}
    shapes = {*VERBS.values(), "lattice", "having"}
    found["table"] = set(inspect.signature(ln.table).parameters) | shapes
    found["privacy"] = set(inspect.signature(Query.release).parameters) - {"self"} | {"allocation"}
    return found


def said() -> dict[str, set[str]]:
    """The same, and what is a field elsewhere and has no parameter in Python: of a file of limits Python passes ** its
    limits, and of a weak promise Python warns, and goes on."""
    found = fields()
    for kind, job in jobs_of().items():
        found[kind] |= job & {"limits", "force"}
    return found


def used_in_python(text: str) -> Used:
    """The fields that the calls in Python give."""
    made = ast.parse(text)
    calls = [node for node in ast.walk(made) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    verbs = {node.func.attr for node in calls if isinstance(node.func, ast.Attribute)}
    return {pair for call in calls for pair in _used_in_call(call, verbs)}


def _used_in_call(call: ast.Call, verbs: set[str]) -> Iterator[tuple[str, str]]:
    name = call.func.attr  # type: ignore[attr-defined]
    on = ast.unparse(call.func.value)  # type: ignore[attr-defined]
    if on in ("ln.stats", "ln.domain"):
        return
    if name in questions():
        yield from ((name, field) for field in _parameters(questions()[name], call))
    elif name == "table" and on == "ln":
        yield from (("table", field) for field in _parameters(inspect.signature(ln.table), call))
    elif name in VERBS:
        field = "lattice" if "ln.lattice" in ast.unparse(call.keywords) else VERBS[name]
        yield "table", field
        if field == "where" and "per_unit" in verbs:
            yield "table", "having"
    elif name in PRIVACY or (name == "open" and on == "ln.Budget"):
        yield from (("privacy", str(each.arg)) for each in call.keywords)


def field_of(call: ast.Call, keyword: ast.keyword) -> tuple[str, str] | None:
    """The question and the field that an argument by name gives; None where it is a part of another's value."""
    one = ast.Call(call.func, [], [keyword])
    return next(_used_in_call(one, set()), None) if isinstance(call.func, ast.Attribute) else None


def _parameters(signature: inspect.Signature, call: ast.Call) -> set[str]:
    """The parameters of a function that a call gives. Limits of a file are ** of what was loaded."""
    places = [each for each in signature.parameters.values() if each.name != "self"]
    found = set()
    for number, _ in enumerate(call.args):
        several = next((each for each in places if each.kind is each.VAR_POSITIONAL), None)
        found.add(several.name if several else places[number].name)
    rest = next((each.name for each in places if each.kind is each.VAR_KEYWORD), None)
    for keyword in call.keywords:
        if keyword.arg is None:
            found.add("limits")
        else:
            found.add(keyword.arg if keyword.arg in signature.parameters else str(rest))
    return found


# Options that are called otherwise than the field; "" for those that say what to do with a release.
OPTIONS = {"--stat": "statistics", "--table-by": "tables", "--table": "name", "--label": "labels",
           "--no-other": "other", "--other-label": "other", "--no-intervals": "intervals", "--units": "", "--q": "",
           "--output": "", "-o": "", "--again": "", "--expect": "", "--json": "", "--quiet": "", "-q": "",
           "--help": ""}  # fmt: skip


def used_in_options(text: str) -> Used:
    words = shlex.split(text)
    kind = "count_units" if "--units" in words else words[0].replace("-", "_")
    return {(kind, "source")} | {(kind, field) for word in words if word[:2] == "--" if (field := _field_of(word))}


def _field_of(option: str) -> str:
    return OPTIONS.get(option, option.removeprefix("--").replace("-", "_"))


def options_of() -> dict[str, set[str]]:
    """The fields that each command has; of `count`, also with --units."""
    commands = TOGETHER(app.app).commands  # type: ignore[attr-defined]
    found = {}
    for kind in questions():
        if kind.replace("_", "-") in commands:
            texts = [
                text for each in commands[kind.replace("_", "-")].params for text in (*each.opts, *each.secondary_opts)
            ]
            found[kind] = {_field_of(text) for text in texts} - {""}
    return found | {"count_units": found["count"] - {"max_rows", "limits"}}


def used_in_job(text: str) -> Used:
    found = tomllib.loads(text)
    kind = found["ask"].pop("kind")
    sections = {"table": "table", "ask": kind, "privacy": "privacy"}
    keys = {(kind, "keys")} if "keys" in found or "within" in found["table"] else set()
    return keys | {(of, name) for section, of in sections.items() for name in found[section]}


def jobs_of() -> dict[str, set[str]]:
    """The fields that a job's file may have."""
    found = {name: {*asked.fields} | ({"keys"} if asked.keys != "none" else set()) for name, asked in ASKED.items()}
    return found | {section: set(SECTIONS[section]) for section in ("table", "privacy")}


# What the names in the studio's forms stand for: the field, or "" for a name that chooses nothing of the job.
STEPS: dict[str, dict[str, str]] = {
    "table": {name: name for name in SECTIONS["table"]} | {"type": "types"},
    "question": {name: name for name in SECTIONS["ask"]} | dict.fromkeys(("low", "high"), "clip")
    | dict.fromkeys(("keys", "keys_file", "step", "west", "east", "south", "north", "zones"), "keys")
    | {"zone_name": "keys", "nodes": "keys"}
    | dict.fromkeys(("place", "map", "x", "y"), "by")
    | {"condition": "statistics", "other_label": "other", "question": "", "graph": ""},
    "limits": {"max_rows": "max_rows", "max_per_bin": "max_per_bin", "max_bins": "max_bins", "take limits": "limits",
               "take clip": "clip", "leave clip": "clip", "budget": "", "share": "", "once": "", "of": "",
               "suggest": "", "suggest clip": ""},
    "privacy": {name: name for name in SECTIONS["privacy"]} | dict.fromkeys(("error", "ledger", "new", "create"), ""),
}  # fmt: skip
CARDS = {"rate": "summarize", "map": "histogram"}  # common cases under names of their own
MAPS = {"squares": "lattice", "zones": "within"}  # the columns that a map derives are fields of the table


def _kind_of(card: str) -> str:
    return CARDS.get(card, card)


def used_in_form(form: Mapping[str, Mapping[str, Any]]) -> Used:
    kind = _kind_of(form["question"]["question"])
    found = {("table", "source")}
    for step, filled in form.items():
        for name, value in filled.items():
            if name == "as shown":
                continue
            found |= _chosen(kind, step.split()[0], value if name == "go" else name.partition("__")[0])
    drawn = MAPS.get(form["question"].get("map", ""))
    return found | ({("table", drawn)} if drawn else set())


def offered_in_form(form: Mapping[str, Any], pages: Iterator[str]) -> Used:
    """The fields that the pages of a walk ask for. A name that stands for nothing known fails: add it to STEPS."""
    kind = _kind_of(form["question"]["question"])
    found = {("table", "source")}
    for step, page in zip(form, pages, strict=True):
        names = re.findall(r'<(?:input|select|textarea)[^>]* name="([^":]*)', page)
        names += re.findall(r'<button[^>]* name="go" value="([^"]*)"', page)
        for name in {*names} - {"form_key", "next"}:
            found |= _chosen(kind, step.split()[0], name)
        if name := next(iter(MAPS[each] for each in MAPS if f'<option value="{each}"' in page), None):
            found |= {("table", each) for each in MAPS.values()}
    return found


def _chosen(kind: str, step: str, name: str) -> Used:
    field = STEPS[step][name]
    if kind == "crosstabs" and field == "by":
        field = "keys"  # the columns that have keys are those of the tables
    return {(step if step in ("table", "privacy") else kind, field)} if field else set()


def kinds_in_form() -> set[str]:
    """The questions that the form has."""
    desk = visitor("people.parquet")
    desk.send("/job/people/table", unit="person")
    page = desk.client.get("/job/people/question").text
    return {_kind_of(word) for word in re.findall(r'name="question" value="([^"]*)"', page)}
