"""`leastnoise budget LEDGER` (a statement; --history, --verify, --report), and what is done to a budget."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

import leastnoise as ln
from leastnoise import errors
from leastnoise._support.number_format import percent
from leastnoise.cli import budget_options, options
from leastnoise.cli.budget_history import history_lines
from leastnoise.cli.json_output import print_json
from leastnoise.cli.messages import printable
from leastnoise.cli.publishing import notes

if TYPE_CHECKING:
    from leastnoise.curator.budget import Allocation, Entry


class _LedgerOrCommand(TyperGroup):
    """A first word that is no command is a ledger to show (a file named "create" is ./create)."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] == "open":
            raise typer.BadParameter(
                'there is no command "open". Begin a ledger with leastnoise budget create LEDGER, and see one with '
                "leastnoise budget LEDGER.",
                ctx=ctx,
            )
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_LedgerOrCommand,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="What a privacy budget promises, what was spent of it, and what is left.\n\n"
    "Example: [bold]leastnoise budget city.ledger[/bold]",
)


@app.command()
def show(
    ledger: budget_options.LedgerPlace,
    history: budget_options.History = False,
    verify: budget_options.Verify = False,
    report: budget_options.BudgetPage = None,
    allocation: budget_options.OnePart = None,
    json: options.Json = False,
) -> None:
    """A statement of account: `leastnoise budget LEDGER` is short for this.

    Example: [bold]leastnoise budget city.ledger --history[/bold]
    """
    budget = ln.Budget.open(ledger, allocation=allocation)
    checked = budget.verify() if verify else None
    if report is not None:
        budget.report(report)
    if json:
        print_json(_statement(budget, history, checked) | ({"report": str(report)} if report is not None else {}))
        return
    console = Console()
    console.print(printable(budget), highlight=False, markup=False, soft_wrap=True)
    if history:
        for line in history_lines(budget.history(), max(80, console.width)):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    if checked is not None:
        console.print(
            f"Verified: every hash and sum holds. The last hash is {checked}", highlight=False, soft_wrap=True
        )
    if report is not None:
        console.print(f"Written: {report}", highlight=False, markup=False, soft_wrap=True)


@app.command()
def create(
    ledger: budget_options.LedgerPlace,
    epsilon: budget_options.TotalEpsilon,
    delta: budget_options.TotalDelta = None,
    pure_epsilon: budget_options.PureEpsilon = 0.0,
    threshold_delta: budget_options.ThresholdDelta = 0.0,
    unit: budget_options.LedgerUnit = None,
    table: budget_options.LedgerTable = None,
    neighbours: budget_options.LedgerNeighbours = None,
    releases: budget_options.PlannedReleases = None,
    json: options.Json = False,
) -> None:
    """Begin a ledger; an existing one is never replaced. Its limits are fixed, but while nothing is paid from it, it
    may be created once more with a --delta of 0, or with one above, or with other --releases.

    Example: [bold]leastnoise budget create city.ledger --epsilon 3 --delta 1e-6 --releases 12[/bold]
    """
    with notes():
        warnings.simplefilter("ignore", errors.Wasteful)  # the statement says it
        budget = ln.Budget.open(
            ledger,
            epsilon=epsilon,
            delta=delta,
            pure_epsilon=pure_epsilon,
            threshold_delta=threshold_delta,
            unit=None if unit is None else " + ".join(unit.split(",")),  # as the releases of several columns say it
            table=table,
            neighbours=neighbours,  # type: ignore[arg-type]
            releases=releases,
        )
    _show(budget, json)


@app.command()
def close(ledger: budget_options.LedgerPlace, reason: budget_options.WhyClosed, json: options.Json = False) -> None:
    """Refuse every release until the budget is reopened.

    Example: [bold]leastnoise budget close city.ledger --reason "the year is over"[/bold]
    """
    budget = ln.Budget.open(ledger)
    budget.close(reason=reason)
    _show(budget, json)


@app.command()
def reopen(ledger: budget_options.LedgerPlace, reason: budget_options.WhyReopened, json: options.Json = False) -> None:
    """Allow releases again: after rows could not be read, which closed the budget, or after `close`.

    Example: [bold]leastnoise budget reopen city.ledger --reason "the disk was full"[/bold]
    """
    budget = ln.Budget.open(ledger)
    budget.reopen(reason=reason)
    _show(budget, json)


@app.command()
def allocate(
    ledger: budget_options.LedgerPlace,
    share: budget_options.PartShare,
    name: budget_options.PartName = None,
    people: budget_options.People = "",
    expires: budget_options.Expires = None,
    output: budget_options.PartFile = None,
    within: budget_options.Within = None,
    note: budget_options.EntryNote = "",
    json: options.Json = False,
) -> None:
    """Give a part of the budget to others, with a name and limits of its own. It is debited at once.

    Example: [bold]leastnoise budget allocate city.ledger --name "maps team" --share 0.25[/bold]
    """
    if name is None and output is None:
        raise errors.MissingParameter(
            "What is the allocation called?", parameter="name", example=errors.Code("", '--name "maps team"')
        )
    part = ln.Budget.open(ledger, allocation=within).allocate(
        name if name is not None else str(output and output.stem),
        share=share,
        people=[each for each in people.split(",") if each.strip()],
        expires=expires,
        path=output,
        note=note,
    )
    _show(part, json)


@app.command("return")
def give_back(
    ledger: budget_options.LedgerPlace,
    name: budget_options.AllocationName,
    note: budget_options.EntryNote = "",
    json: options.Json = False,
) -> None:
    """End an allocation: what it has not spent goes back to the budget.

    Example: [bold]leastnoise budget return city.ledger "maps team"[/bold]
    """
    budget = ln.Budget.open(ledger)
    budget.allocation(name).return_unused(note=note)
    _show(budget, json)


@app.command()
def reconcile(ledger: budget_options.LedgerPlace, files: budget_options.PartFiles, json: options.Json = False) -> None:
    """Look at the files of allocations that came back: what each has spent, and whether two copies of one both did.

    Example: [bold]leastnoise budget reconcile city.ledger field-office.ledger[/bold]
    """
    found = ln.Budget.open(ledger).reconcile(*files)
    if json:
        print_json({"files": [{name: getattr(each, name) for name in each.__slots__} for each in found]})
        return
    for each in found:
        line = f"{each.path}: {percent(each.spent, 6)} of the allocation {each.allocation} is spent, entry by entry."
        Console().print(printable(line), highlight=False, markup=False, soft_wrap=True)


@app.command()
def move(ledger: budget_options.LedgerPlace, target: budget_options.NewPlace, json: options.Json = False) -> None:
    """Carry a budget over from its file to PostgreSQL, entry by entry; the file is sealed.

    Example: [bold]leastnoise budget move city.ledger 'postgresql://host/db?budget=city'[/bold]
    """
    from leastnoise.curator.budget.moving import move as carry

    _show(carry(ledger, target), json)


def _show(budget: ln.Budget, json: bool) -> None:
    if json:
        print_json(_statement(budget))
    else:
        Console().print(printable(budget), highlight=False, markup=False, soft_wrap=True)


def _statement(budget: ln.Budget, history: bool = False, checked: str | None = None) -> dict[str, Any]:
    from leastnoise.curator.budget.kinds import plan
    from leastnoise.curator.budget.statement import promise_in_words

    terms, left = budget.terms, budget.remaining
    facts: dict[str, Any] = {
        "name": budget.name,
        "location": budget.location,
        "epsilon": float(terms.epsilon),
        "delta": float(terms.delta),
        "pure_epsilon": float(terms.pure_epsilon),
        "threshold_delta": float(terms.threshold_delta),
        "unit": budget.unit,
        "table": budget.table,
        "neighbours": terms.neighbours,
        "releases": terms.releases,
        "plan": plan(terms),
        "promise": promise_in_words(budget) or None,
        "strength": budget.strength,
        "band": budget.strength.band,
        "remaining": left._asdict(),
        "closed": budget.closed,
        "allocations": [_part(each) for each in budget.allocations],
    }
    if history:
        facts["history"] = [_facts(entry) for entry in budget.history()]
    if checked is not None:
        facts["verified"] = checked
    return facts


def _part(allocation: Allocation) -> dict[str, Any]:
    expires = allocation.expires_at
    return {
        "id": allocation.id,
        "name": allocation.name,
        "parent": allocation.parent,
        "share": float(allocation.share),
        "spent": allocation.spent_share,
        "people": list(allocation.people),
        "expires_at": None if expires is None else expires.isoformat(),
        "own_file": allocation.own_file,
        "returned": allocation.returned,
    }


def _facts(entry: Entry) -> dict[str, Any]:
    words = ("kind", "release", "query", "noise", "unit", "table", "who", "note", "file", "allocation")
    return {
        "number": entry.number,
        "created_at": entry.created_at.isoformat(),
        **{name: getattr(entry, name) for name in words},
        "gaussian": float(entry.gaussian),
        "pure": float(entry.pure),
        "threshold": float(entry.threshold),
    }
