"""`leastnoise suggest-limits` and `suggest-clip`: limits and clips bought with a release; and `private-check`, the
curator's exact look.

What the last prints is private, and nothing else the command line prints is: it ends with an exit code of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from rich.console import Console
from rich.table import Table as PrintedTable

from leastnoise import errors
from leastnoise._support.number_format import rounded
from leastnoise.cli import option_texts, options
from leastnoise.cli.json_output import print_json
from leastnoise.cli.keys import parse_keys
from leastnoise.cli.messages import PRIVATE, printable
from leastnoise.cli.option_groups import grouped
from leastnoise.cli.options import BinOptions, OutputOptions, PrivacyOptions, TableOptions, ValueOptions
from leastnoise.cli.publishing import MAX_ROWS_SHOWN, check_output, notes, publish, show_expected, show_written
from leastnoise.jobs.running import arguments, recorded, refuse_weak

if TYPE_CHECKING:
    from leastnoise.curator.queries.query import Query
    from leastnoise.curator.table import Table
    from leastnoise.releases.limit_suggestion import LimitSuggestion


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions:
    """Which bins limits are for, and how private the question about them will be."""

    panel: ClassVar[str] = "What the limits are for"

    by: Annotated[list[str] | None, options.BY] = None
    keys: Annotated[list[str] | None, options.KEYS] = None
    for_epsilon: Annotated[float | None, typer.Option(help="The epsilon of the question; else this one's.")] = None
    for_delta: Annotated[float | None, typer.Option(help="The delta of the question.")] = None
    for_share: Annotated[float | None, typer.Option(help="Its share of the budget; else all that is left.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipOptions:
    """Which values a clip is for."""

    panel: ClassVar[str] = "What the clip is for"

    column: Annotated[str, typer.Option(help="The column of values.")]
    clip_within: Annotated[str, typer.Option(help="low,high: the public ends that no value is beyond.")]
    max_rows: options.MaxRows = None
    levels: Annotated[
        str | None,
        typer.Option(help="The share of the rows below each end, else 0.005,0.995; a 0 or 1 keeps the public end."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoingOnOptions:
    """What to do where one look leaves open which limits are good."""

    panel: ClassVar[str] = "Where one look does not decide"

    most_share: Annotated[
        str | None, typer.Option(help="Look again while it does not, up to this share of the budget in all.")
    ] = None
    after: Annotated[str | None, typer.Option(help="The file of an earlier look at the same, to go on from.")] = None

    def earlier(self) -> LimitSuggestion | None:
        """The earlier look."""
        from leastnoise.jobs.proposed_limits import load_look

        return None if self.after is None else load_look(self.after, "after")


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(grouped(suggest_limits))
    app.command()(grouped(suggest_clip))
    app.command()(grouped(private_check))


def suggest_limits(
    table: TableOptions, limits: LimitOptions, privacy: PrivacyOptions, going_on: GoingOnOptions, output: OutputOptions
) -> None:
    """Limits for a question, from one small release of its own: paid for, and written like any other.

    Where one look leaves open which limits are good, --most-share buys further ones at once, and --after goes on from
    the file of an earlier one. The counts of all are put together.

    Example: [bold]leastnoise suggest-limits trips.parquet --unit taxi --by junction --keys nodes.parquet:id --budget
    city.ledger --share 0.02 --most-share 0.2 -o limits.parquet[/bold]
    """
    from leastnoise.curator.suggest import limit_question, looks

    opened, request = table.open(), privacy.request()
    asked: dict[str, Any] = {
        "keys": parse_keys(opened, limits.by or [], limits.keys),
        "nulls": "drop",
        "request": request,
        "for_epsilon": limits.for_epsilon,
        "for_delta": limits.for_delta,
        "for_share": limits.for_share,
        "after": going_on.earlier(),
    }
    question = limit_question(opened._data, limits.by or [], **asked)
    expected = question.expect(**arguments(request))
    refuse_weak(expected.strength, privacy.force)
    check_output(output, sources=question.files, goes_on_from=going_on.after)
    if output.expect:
        show_expected(expected, output)
        return
    recorded(request, output.path)
    with notes():
        for made in looks(opened._data, limits.by or [], most_share=going_on.most_share, **asked):
            made.save(output.path)  # each at once: if a later one fails, what was paid for is there, to go on from
    if not output.quiet:
        _show(made, output)


def suggest_clip(table: TableOptions, clip: ClipOptions, privacy: PrivacyOptions, output: OutputOptions) -> None:
    """Ends for a column's values, from two private quantiles: with the part of the rows beyond each, and how far that
    can move a mean. It is a release of its own, paid for and written like any other.

    Example: [bold]leastnoise suggest-clip trips.parquet --unit taxi --column fare --clip-within 0,500 --max-rows 5
    --budget city.ledger --share 0.05 -o clip.parquet[/bold]. Then [bold]--clip clip.parquet[/bold] takes it.
    """
    from leastnoise.curator.queries.clip_question import ClipQuestion

    question = ClipQuestion.asked(
        table.open()._data,
        clip.column,
        within=option_texts.ends("clip_within", clip.clip_within),
        max_rows=clip.max_rows,
        **({} if clip.levels is None else {"levels": option_texts.ends("levels", clip.levels)}),
    )
    publish(question, privacy, output)


def private_check(
    table: TableOptions, bins: BinOptions, column: options.CheckedColumn = None, clip: options.CheckedClip = None
) -> None:
    """An exact look at what a question leaves out, for the curator's own eyes: PRIVATE, outside every guarantee.

    Rows without a unit, cells that are not written like their type, keys that cover no row and rows that no key covers,
    rows beyond the limits, values beyond the clip. Nothing is written, paid or recorded, and the exit code is 4.

    Example: [bold]leastnoise private-check trips.csv --unit taxi --types month=int --by month --keys 1:13 --max-rows
    5[/bold]
    """
    found = _query(table.open(), bins, column, clip).private_check()
    Console(stderr=True).print("PRIVATE: never publish, save or send this.", style="bold red", highlight=False)
    Console().print(printable(found), markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(PRIVATE)


def _query(opened: Table, bins: BinOptions, column: str | None, clip: str | None) -> Query:
    """The question that the options describe; without a limit, of all rows."""
    from leastnoise.privacy.sensitivity import LARGEST_LIMIT

    limits: dict[str, Any] = {"max_rows": bins.max_rows, "max_per_bin": bins.max_per_bin, "max_bins": bins.max_bins}
    if all(limit is None for limit in limits.values()):
        limits["max_rows"] = LARGEST_LIMIT
    by = bins.by or []
    keys = parse_keys(opened, by, bins.keys)
    if column is not None:
        if clip is None:
            raise errors.MissingParameter(
                "The values of a column are clipped before they are added up.",
                parameter="clip",
                example={"clip": (0, 100)},
            )
        ends = ValueOptions(column=column, clip=clip).ends()
        return opened.sum(column, clip=ends, by=by, keys=keys, **limits)
    if by:
        return opened.histogram(*by, keys=keys, **limits)
    return opened.count(max_rows=limits["max_rows"])


def _show(made: LimitSuggestion, output: OutputOptions) -> None:
    from leastnoise.releases.limit_errors import kept_in_words

    rows = made.to_arrow().to_pylist()
    if output.json:
        facts = {"output": output.path, "error": made.error, "kept": made.kept, "rows": rows}
        facts |= {
            "kept_interval": made.kept_interval,
            "error_interval": made.error_interval,
            "regret": made.regret,
            "risk": made.risk,
            "looks": [look.id for look in made.looks],
        }
        print_json({**facts, "limits": dict(made.limits)})
        return
    chosen = next(place for place, row in enumerate(rows) if row["max_rows"] == made.limits["max_rows"])
    first = max(0, min(chosen - MAX_ROWS_SHOWN // 2, len(rows) - MAX_ROWS_SHOWN))
    shown = rows[first : first + MAX_ROWS_SHOWN]
    printed = PrintedTable(caption=f"{len(shown)} of {len(rows):,} limits; all predicted")
    for name in ("max_rows", "max_per_bin", "rows kept", "bias", "noise", "error"):
        printed.add_column(name, justify="right")
    for row in shown:
        kept = kept_in_words(row["kept"], row["kept_low"], row["kept_high"])
        cells = [f"{row['max_rows']:,}", f"{row['max_per_bin']:,}", kept]
        numbers = [rounded(row[name]) for name in ("bias", "noise", "error")]
        printed.add_row(*cells, *numbers, style="bold" if row is rows[chosen] else None)
    Console().print(printed)
    show_written(made.explain(), output.path)
