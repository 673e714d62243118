"""A command for every question, made from its fields: `leastnoise count | histogram | sum | mean | ...`.

Everything public (parameters, columns, the output path) is checked before any row is read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Annotated, Any

import typer

from leastnoise import errors
from leastnoise.cli.options import by_name, own_parameters, with_options
from leastnoise.cli.output import Answer, printed, showing, written
from leastnoise.cli.shown import facts_of, in_brief, numbers, promise_facts
from leastnoise.jobs.fields import FLAG, FLAG_OR_LABEL, LIMITS, SECTIONS, TEXTS, Field, missing
from leastnoise.jobs.file import Job, typed_job
from leastnoise.jobs.questions import QUESTIONS, Question
from leastnoise.jobs.running import Done, Run, query_of

PANELS = {"table": "The table", "ask": "The question", "privacy": "How private"}
TABLE, PRIVACY = tuple(SECTIONS["table"].values()), tuple(SECTIONS["privacy"].values())
KEYS = Field(
    "keys", TEXTS, "The public bins, one option per column: nodes.parquet:id, zones.geojson:name, 0:24 (a range), "
    "a,b,c, or box:7,9,47,48 (cells of a --lattice, west to east, south to north); or one keys.toml for all.",
    "keys.toml", why="Which keys may columns have? They are public, never read off the data.",
)  # fmt: skip
_OUTPUT = {"output": str | None, "again": bool, "expect": bool}


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed: sections as a job's file has them, keys as texts, and what to do."""

    sections: Mapping[str, Mapping[str, Any]]
    keys: Sequence[str] = ()
    again: bool = False
    expect: bool = False

    @property
    def path(self) -> str:
        """The file to write; "" in a rehearsal without one."""
        return str(self.sections.get("output", {}).get("release", ""))

    def job(self, **ask: Any) -> Job:
        """The job that it is, checked, with more fields of the question."""
        asked = {**self.sections.get("ask", {}), **ask}
        if "limits" in asked and any(name in asked for name in LIMITS):
            raise errors.InvalidParameter("--limits takes all limits from a file. Leave out the others, or --limits.")
        return typed_job({**self.sections, "ask": asked}, self.keys)

    def run(self, job: Job, query: Any) -> Any:
        """What the release would be like; or what became of it, `Done`."""
        run = Run.asking(job, query, again=self.again, keeps_record=False)
        return run.rehearse() if self.expect else run.do()

    def answer(self, job: Job, query: Any) -> Answer:
        """The same for whoever typed it."""
        found = self.run(job, query)
        if not isinstance(found, Done):
            return expected(found)
        with showing(self.path):
            shown = [numbers(found.release), *in_brief(found.release), written(self.path)]
            return Answer(facts_of(found.release, query.describe(), self.path), shown, self.path)


def expected(found: Any) -> Answer:
    """What to expect of a release."""
    facts = {field.name: getattr(found, field.name) for field in fields(found)} | promise_facts(found)
    return Answer(facts, [str(found), "Nothing was read, paid or written."])


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for question in QUESTIONS.values():
        if question.option_of is None:
            app.command(_name(question), rich_help_panel="Publish")(_command(question))


def _name(question: Question) -> str:
    return question.kind.replace("_", "-")


def _command(question: Question) -> Callable[..., None]:
    """The command of a question; one that is an option of it is asked instead where that is typed."""
    asked_by = {
        each.option_of[1]: each for each in QUESTIONS.values() if each.option_of and each.option_of[0] == question.kind
    }

    def ask(typed: Typed, **options: bool) -> Answer:
        asked = next((each for option, each in asked_by.items() if options[option]), question)
        if asked.keys == "all" and not typed.keys:
            raise missing(KEYS)
        job = typed.job(kind=asked.kind)
        return typed.answer(job, query_of(job))

    ask.__name__ = question.kind
    ask.__doc__ = f"{question.sentence}\n\nExample: [bold]leastnoise {_name(question)} {question.example}[/bold]"
    needed = question.needs + (("keys",) if question.keys == "all" else ())
    of_question = [*question.fields.values(), *([] if question.keys == "none" else [KEYS])]
    flags = {name: each.sentence for name, each in asked_by.items()}
    return printed(typed_by(ask, {"table": TABLE, "ask": of_question, "privacy": PRIVACY}, needs=needed, flags=flags))


def typed_by(
    command: Callable[..., Any],
    sections: Mapping[str, Sequence[Field]],
    *,
    needs: Sequence[str] = (),
    flags: Mapping[str, str] = MappingProxyType({}),
    writes: bool = True,
) -> Callable[..., Any]:
    """The command with an option for each of these fields, as typer reads it: it gets them as one `Typed`, and what
    else it declares. flags: options that are typed or not, and their help. writes: it makes a release, and has the
    options of one."""
    made = _OUTPUT if writes else {}
    parameters = [
        parameter
        for section, listed in sections.items()
        for field in listed
        for parameter in _parameters(field, section, needed=field.name in ("unit", *needs))
    ]
    parameters += [
        each for each in own_parameters(command) if each.name != "typed" and each.kind is not each.VAR_KEYWORD
    ]
    parameters += [_annotated(name, bool, typer.Option(f"--{name}", help=text)) for name, text in flags.items()]
    parameters += [by_name(name, kind) for name, kind in made.items()]

    def called(**given: Any) -> Any:
        output = {name: given.pop(name) for name in made}
        if writes and output["output"] is None and not output["expect"]:
            raise errors.MissingParameter(
                "Where should the release be written? (Or what should be expected of it, which is free?)",
                parameter="output",
                example=[{"output": "out.parquet"}, {"expect": True}],
            )
        keys = given.pop("keys", None) or ()
        found = {name: _read(listed, given) for name, listed in sections.items()}
        if output.get("output") is not None:
            found["output"] = {"release": output["output"]}
        typed = Typed(found, keys, again=output.get("again", False), expect=output.get("expect", False))
        return command(typed, **given)

    return with_options(command, parameters, called)


def _parameters(field: Field, section: str, *, needed: bool) -> Iterator[inspect.Parameter]:
    """The options of a field; the table itself is an argument."""
    if field.name == "source":
        yield inspect.Parameter(
            "source", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[str, typer.Argument(help=field.help)]
        )
        return
    look: dict[str, Any] = {
        "help": f"{field.help} Required." if needed else field.help,
        "rich_help_panel": PANELS[section],
    }
    if field.kind in (FLAG, FLAG_OR_LABEL):
        words = field.option or f"{field.flag}/--no-{field.name}"
        yield _annotated(field.name, bool | None, typer.Option(words, **look))
        if field.kind is FLAG_OR_LABEL:
            look["help"] = "What that key is called."
            yield _annotated(f"{field.name}_label", str | None, typer.Option(f"{field.flag}-label", **look))
        return
    kind: Any = list[str] if field.kind.several else str
    yield _annotated(field.name, kind | None, typer.Option(field.flag, metavar=field.kind.metavar, **look))


def _annotated(name: str, kind: Any, look: Any) -> inspect.Parameter:
    return by_name(name, kind).replace(annotation=Annotated[kind, look])


def _read(listed: Sequence[Field], given: dict[str, Any]) -> dict[str, Any]:
    """The fields that were typed, as a job's file has them; they are taken from what was given."""
    found = {}
    for field in listed:
        value, label = given.pop(field.name, None), given.pop(f"{field.name}_label", None)
        if value is not None and label is not None:
            raise errors.InvalidParameter(
                f"{field.flag}-label names the key that plain lists get. Leave out {field.flag} and --no-{field.name}, "
                f"or {field.flag}-label.",
                parameter=f"{field.name}_label",
                value=label,
            )
        if isinstance(value, bool) or label is not None:
            found[field.name] = value if label is None else label
        elif value:
            found[field.name] = field.read(value if isinstance(value, list) else [value])
    return found
