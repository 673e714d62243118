"""`leastnoise budget FILE` (a statement; --history, --verify), `budget create FILE ...`, `budget reopen FILE ...`."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

from leastnoise.cli import options
from leastnoise.cli.json_output import print_json
from leastnoise.cli.messages import printable
from leastnoise.cli.publishing import notes
from leastnoise.curator.budget import Budget, Entry
from leastnoise.curator.budget.statement import promise_in_words


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


@app.command()
def show(
    file: options.LedgerFile,
    history: options.History = False,
    verify: options.Verify = False,
    json: options.Json = False,
) -> None:
    """A statement of account: `leastnoise budget FILE` is short for this.

    Example: [bold]leastnoise budget city.ledger --history[/bold]
    """
    budget = Budget.open(file)
    checked = budget.verify() if verify else None
    if json:
        print_json(_statement(budget, history, checked))
        return
    console = Console()
    console.print(printable(budget), highlight=False, markup=False, soft_wrap=True)
    if history:
        console.print(_table(budget.history()))
    if checked is not None:
        console.print(
            f"Verified: every hash and sum holds. The last hash is {checked}", highlight=False, soft_wrap=True
        )


@app.command()
def create(
    file: options.LedgerFile,
    epsilon: options.TotalEpsilon,
    delta: options.TotalDelta = None,
    pure_epsilon: options.PureEpsilon = 0.0,
    threshold_delta: options.ThresholdDelta = 0.0,
    unit: options.LedgerUnit = None,
    table: options.LedgerTable = None,
    neighbours: options.LedgerNeighbours = None,
    json: options.Json = False,
) -> None:
    """Begin a ledger. Its limits are fixed from then on; an existing one is never replaced.

    Example: [bold]leastnoise budget create city.ledger --epsilon 3 --delta 1e-6[/bold]
    """
    with notes():
        budget = Budget.open(
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
        print_json(_statement(budget))
    else:
        Console().print(printable(budget), highlight=False, markup=False, soft_wrap=True)


@app.command()
def reopen(file: options.LedgerFile, reason: options.Reason, json: options.Json = False) -> None:
    """Allow releases again after rows could not be read, which closed the budget.

    Example: [bold]leastnoise budget reopen city.ledger --reason "the disk was full"[/bold]
    """
    budget = Budget.open(file)
    budget.reopen(reason=reason)
    if json:
        print_json(_statement(budget))
    else:
        Console().print(printable(budget), highlight=False, markup=False, soft_wrap=True)


def _table(entries: list[Entry]) -> Table:
    table = Table("no.", "when (UTC)", "what", "release", "share", "noise", "query")
    for entry in entries:
        when = f"{entry.created_at:%Y-%m-%d %H:%M:%S}"
        share = f"{100 * entry.share:.6g} %"
        words = (entry.kind, entry.release, share, entry.noise, entry.query)
        table.add_row(str(entry.number), when, *(escape(printable(word)) for word in words))
    return table


def _statement(budget: Budget, history: bool = False, checked: str | None = None) -> dict[str, Any]:
    terms, left = budget.terms, budget.remaining
    facts: dict[str, Any] = {
        "epsilon": float(terms.epsilon),
        "delta": float(terms.delta),
        "pure_epsilon": float(terms.pure_epsilon),
        "threshold_delta": float(terms.threshold_delta),
        "unit": budget.unit,
        "table": budget.table,
        "neighbours": terms.neighbours,
        "promise": promise_in_words(budget) or None,
        "remaining": left._asdict(),
        "closed": budget.closed,
    }
    if history:
        facts["history"] = [_facts(entry) for entry in budget.history()]
    if checked is not None:
        facts["verified"] = checked
    return facts


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
