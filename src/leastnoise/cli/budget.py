"""`leastnoise budget FILE` (a statement; --history, --verify), `budget create FILE ...`, `budget reopen FILE ...`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

from leastnoise.cli.messages import shown
from leastnoise.curator.budget import Budget, Entry


class _FileOrCommand(TyperGroup):
    """A first word that is no command is a file to show (a file named "create" is ./create)."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_FileOrCommand,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="What a privacy budget promises, what was spent of it, and what is left.\n\n"
    "Example: [bold]leastnoise budget city.ledger[/bold]",
)

File = Annotated[Path, typer.Argument(help="The ledger.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, for programs.")]


@app.command()
def show(
    file: File,
    history: Annotated[bool, typer.Option("--history", help="Every entry, too.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Check every page, hash and sum first.")] = False,
    json: Json = False,
) -> None:
    """A statement of account: `leastnoise budget FILE` is short for this.

    Example: [bold]leastnoise budget city.ledger --history[/bold]
    """
    book = Budget.open(file)
    checked = book.verify() if verify else None
    if json:
        _print_json(book, history, checked)
        return
    console = Console()
    console.print(shown(book), highlight=False, markup=False, soft_wrap=True)
    if history:
        console.print(_table(book.history()))
    if checked is not None:
        console.print(
            f"Verified: every hash and sum holds. The last hash is {checked}", highlight=False, soft_wrap=True
        )


@app.command()
def create(
    file: File,
    epsilon: Annotated[float, typer.Option(help="The most that all releases together may tell.")],
    delta: Annotated[float | None, typer.Option(help="A small probability, such as 1e-6.")] = None,
    pure_epsilon: Annotated[float, typer.Option(help="The part of epsilon set aside for Laplace releases.")] = 0.0,
    threshold_delta: Annotated[float, typer.Option(help="The part of delta set aside for unknown keys.")] = 0.0,
    unit: Annotated[
        str | None, typer.Option(help="Whom it protects: the column, such as taxi; several with commas.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="The table it is about, by the name that --table of a release says.")
    ] = None,
    neighbours: Annotated[str | None, typer.Option(help="add-remove or replace.")] = None,
    json: Json = False,
) -> None:
    """Begin a book. Its limits are fixed from then on; an existing book is never replaced.

    Example: [bold]leastnoise budget create city.ledger --epsilon 3 --delta 1e-6[/bold]
    """
    book = Budget.open(
        file,
        epsilon=epsilon,
        delta=delta,
        pure_epsilon=pure_epsilon,
        threshold_delta=threshold_delta,
        unit=None if unit is None else " + ".join(unit.split(",")),  # as the releases of several columns say it
        table=table,
        neighbours=neighbours,  # type: ignore[arg-type]
    )
    if json:
        _print_json(book, False, None)
    else:
        Console().print(shown(book), highlight=False, markup=False, soft_wrap=True)


@app.command()
def reopen(
    file: File,
    reason: Annotated[
        str, typer.Option(help="Why the rows could not be read, and what was mended. The ledger keeps it.")
    ],
    json: Json = False,
) -> None:
    """Allow releases again after rows could not be read, which closed the budget.

    Example: [bold]leastnoise budget reopen city.ledger --reason "the disk was full"[/bold]
    """
    book = Budget.open(file)
    book.reopen(reason=reason)
    if json:
        _print_json(book, False, None)
    else:
        Console().print(shown(book), highlight=False, markup=False, soft_wrap=True)


def _table(entries: list[Entry]) -> Table:
    table = Table("no.", "when (UTC)", "what", "release", "share", "noise", "query")
    for entry in entries:
        when = f"{entry.created_at:%Y-%m-%d %H:%M:%S}"
        share = f"{100 * entry.share:.6g} %"
        words = (entry.kind, entry.release, share, entry.noise, entry.query)
        table.add_row(str(entry.number), when, *(escape(shown(word)) for word in words))
    return table


def _print_json(book: Budget, history: bool, checked: str | None) -> None:
    terms, left = book.terms, book.remaining
    facts: dict[str, Any] = {
        "epsilon": float(terms.epsilon),
        "delta": float(terms.delta),
        "pure_epsilon": float(terms.pure_epsilon),
        "threshold_delta": float(terms.threshold_delta),
        "unit": book.unit,
        "table": book.table,
        "neighbours": terms.neighbours,
        "remaining": left._asdict(),
        "closed": book.closed,
    }
    if history:
        facts["history"] = [_facts(entry) for entry in book.history()]
    if checked is not None:
        facts["verified"] = checked
    typer.echo(json.dumps(facts))


def _facts(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "created_at": entry.created_at.isoformat(),
        "kind": entry.kind,
        "release": entry.release,
        "query": entry.query,
        "noise": entry.noise,
        "gaussian": float(entry.gaussian),
        "pure": float(entry.pure),
        "threshold": float(entry.threshold),
    }
