"""What goes before a question: `leastnoise suggest-limits` and `suggest-clip` buy limits and clips with a release,
`private-check` is the curator's exact look, and `keys` writes a file of public keys to be filled in.

What `private-check` prints is private, and nothing else the command line prints is: its exit code is its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table as PrintedTable

from leastnoise import errors
from leastnoise.cli.ask import KEYS, PRIVACY, TABLE, Typed, expected, typed_by
from leastnoise.cli.output import PRIVATE, Answer, Line, printed, show, showing, written
from leastnoise.cli.shown import MAX_ROWS_SHOWN, in_brief
from leastnoise.jobs.fields import LIMITS, PAIR, SECTIONS, Field, missing
from leastnoise.jobs.keys import parse_keys
from leastnoise.jobs.proposed_limits import around
from leastnoise.jobs.questions import QUESTIONS
from leastnoise.jobs.running import Done, limits_question, open_table, request_of

if TYPE_CHECKING:
    from leastnoise.curator.queries.query import Query

_ASK = SECTIONS["ask"]
_WITHIN = Field(
    "clip_within", PAIR, "low,high: the public ends that no value is beyond.", [0, 500],
    why="Between which public ends do all values lie, such as what a tariff or a law allows?",
)  # fmt: skip
_ENDS = Field(
    "levels", PAIR, "The share of the rows below each end (default: 0.005,0.995); a 0 or 1 keeps the public end.",
    [0, 0.995],
)  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    bins, values = [_ASK["by"], KEYS], [_ASK["column"], _WITHIN, _ASK["max_rows"], _ENDS]
    checked = [*bins, *(_ASK[name] for name in (*LIMITS, "limits", "nulls", "column", "clip"))]
    limits = typed_by(suggest_limits, {"table": TABLE, "ask": bins, "privacy": PRIVACY})
    clip = typed_by(suggest_clip, {"table": TABLE, "ask": values, "privacy": PRIVACY}, needs=("column", "clip_within"))
    app.command("suggest-limits", rich_help_panel="Prepare")(printed(limits))
    app.command("suggest-clip", rich_help_panel="Prepare")(printed(clip))
    check = typed_by(private_check, {"table": TABLE, "ask": checked}, writes=False)
    app.command("private-check", rich_help_panel="Prepare")(check)
    app.command("keys", rich_help_panel="Prepare")(printed(typed_by(keys, {"table": TABLE}, writes=False)))


def suggest_limits(
    typed: Typed,
    *,
    for_epsilon: float | None = None,
    for_delta: float | None = None,
    for_share: float | None = None,
) -> Answer:
    """Limits for a question, from one small release of its own: paid for, and written like any other.

    Example: [bold]leastnoise suggest-limits trips.parquet --unit taxi --by junction --keys nodes.parquet:id --budget
    city.ledger --share 0.05 -o limits.parquet[/bold]
    """
    job = typed.job(kind="histogram" if "by" in typed.sections["ask"] else "count")
    request = request_of(job, ("auto", "gaussian", "laplace"))
    later = {"for_epsilon": for_epsilon, "for_delta": for_delta, "for_share": for_share}
    found = typed.run(job, limits_question(job, request, **later))
    return _limits_shown(found.release, typed.path) if isinstance(found, Done) else expected(found)


def suggest_clip(typed: Typed) -> Answer:
    """Ends for a column's values, from two private quantiles: with the part of the rows beyond each, and how far that
    can move a mean. It is a release of its own, paid for and written like any other.

    Example: [bold]leastnoise suggest-clip trips.parquet --unit taxi --column fare --clip-within 0,500 --max-rows 5
    --budget city.ledger --share 0.05 -o clip.parquet[/bold]. Then [bold]--clip clip.parquet[/bold] takes it.
    """
    from leastnoise.curator.queries.suggestions import ClipQuestion

    ask = dict(typed.sections["ask"])
    within, levels = ask.pop("clip_within", None), ask.pop("levels", None)
    for field in (_ASK["column"], _WITHIN):
        if (ask.get("column") if field.name == "column" else within) is None:
            raise missing(field)
    job = Typed({**typed.sections, "ask": {**ask, "clip": within}}).job(kind="mean")
    given: dict[str, Any] = {} if levels is None else {"levels": tuple(map(float, levels))}
    given |= {"within": tuple(job.ask["clip"]), "max_rows": job.ask.get("max_rows")}
    return typed.answer(job, ClipQuestion.asked(open_table(job)._data, job.ask["column"], **given))


def private_check(typed: Typed) -> None:
    """An exact look at what a question leaves out, for the curator's own eyes: PRIVATE, outside every guarantee.

    Rows without a unit, cells that are not written like their type, keys that cover no row and rows that no key covers,
    rows beyond the limits, values beyond the clip. Nothing is written, paid or recorded, and the exit code is 4.

    Example: [bold]leastnoise private-check trips.csv --unit taxi --types month=int --by month --keys 1:13 --max-rows
    5[/bold]
    """
    found = _checked(typed).private_check()
    Console(stderr=True).print("PRIVATE: never publish, save or send this.", style="bold red", highlight=False)
    show(str(found))
    raise typer.Exit(PRIVATE)


def _checked(typed: Typed) -> Query:
    """The question that the options describe; without a limit, of all rows."""
    from leastnoise.privacy.sensitivity import LARGEST_LIMIT

    ask = typed.sections["ask"]
    kind = "sum" if "column" in ask else "histogram" if "by" in ask else "count"
    limit = {} if any(name in ask for name in (*LIMITS, "limits")) else {"max_rows": LARGEST_LIMIT}
    known = {name: value for name, value in {**ask, **limit}.items() if name in QUESTIONS[kind].fields}
    job = Typed({**typed.sections, "ask": known}, typed.keys).job(kind=kind)
    table = open_table(job)
    return job.question.ask(table, job.arguments(table))


def _limits_shown(made: Any, path: str) -> Answer:
    with showing(path):
        rows = made.to_arrow().to_pylist()
        names = ("error", "kept", "kept_interval", "error_interval", "regret", "risk")
        facts = {
            "output": path,
            "rows": rows,
            **{name: getattr(made, name) for name in names},
            "limits": dict(made.limits),
        }
        shown = around(made, MAX_ROWS_SHOWN)
        table = PrintedTable(caption=f"{len(shown)} of {len(rows):,} limits; all predicted")
        for name in ("max_rows", "max_per_bin", "rows kept", "bias", "noise", "error"):
            table.add_column(name, justify="right")
        for cells, proposed in shown:
            table.add_row(*cells, style="bold" if proposed else None)
        return Answer(facts, [table, *in_brief(made), written(path)], path)


def keys(typed: Typed, *, output: Path, known: list[str] | None = None) -> Answer:
    """A file of public keys to be filled in, one line per column, from names and types alone: no row is read.

    Keys come from a public file, a range or a list; never from the table itself. Columns that --known leaves out are
    for you to fill in. Questions take the file: --keys keys.toml.

    Example: [bold]leastnoise keys trips.parquet --unit taxi --known zone=zones.csv:zone_id --known hour=0:24 -o
    keys.toml[/bold]
    """
    table, given = open_table(typed.job(kind="count_units")), {}
    for text in known or []:
        column, equals, keys_of_it = text.partition("=")
        if not equals:
            raise errors.BadDomain(f"--known takes COLUMN=KEYS, such as month=1:13. Got {text!r} instead.")
        table._data.check_usable(column)
        given[column] = parse_keys(table, [column], [keys_of_it])
    table.write_keys(output, keys=given)
    told = f"Written: {output}. Fill in the [] of what you ask for, from what is public; say --keys {output}."
    return Answer({"output": str(output)}, [Line(told)])
