"""`leastnoise budget LEDGER` (a statement; --history, --verify, --report), and what is done to a budget.

A budget is shown as facts for programs, and its history in lines of 80 characters, two or three for each entry.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

import leastnoise as ln
from leastnoise import errors
from leastnoise._support.text import percent
from leastnoise.cli.output import Answer, Line, printable, printed, written

if TYPE_CHECKING:
    from leastnoise.curator.budget import Allocation, Entry

Ledger = Annotated[
    str, typer.Argument(metavar="LEDGER", help="A file, or postgresql://host/db?budget=NAME.", show_default=False)
]


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
@printed
def show(
    ledger: Ledger,
    *,
    history: bool = False,
    verify: bool = False,
    report: Path | None = None,
    allocation: str | None = None,
) -> Answer:
    """A statement of account: `leastnoise budget LEDGER` is short for this.

    Example: [bold]leastnoise budget city.ledger --history[/bold]
    """
    budget = ln.Budget.open(ledger, allocation=allocation)
    checked = budget.verify() if verify else None
    if report is not None:
        budget.report(report)
    facts, lines = statement(budget, history, checked), [str(budget)]
    if history:
        lines += history_lines(budget.history(), max(80, Console().width))
    if checked is not None:
        lines.append(f"Verified: every hash and sum holds. The last hash is {checked}")
    if report is not None:
        facts["report"] = str(report)
        lines.append(written(report))
    return Answer(facts, [Line(line) for line in lines])


@app.command()
@printed
def create(
    ledger: Ledger,
    *,
    epsilon: float,
    delta: float | None = None,
    pure_epsilon: float = 0.0,
    threshold_delta: float = 0.0,
    unit: str | None = None,
    table: str | None = None,
    neighbours: str | None = None,
    releases: int | None = None,
) -> Answer:
    """Begin a ledger; an existing one is never replaced. Its limits are fixed, but while nothing is paid from it, it
    may be created once more with a --delta of 0, or with one above, or with other --releases.

    Example: [bold]leastnoise budget create city.ledger --epsilon 3 --delta 1e-6 --releases 12[/bold]
    """
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
    return _shown(budget)


@app.command()
@printed
def close(ledger: Ledger, *, reason: str) -> Answer:
    """Refuse every release until the budget is reopened.

    Example: [bold]leastnoise budget close city.ledger --reason "the year is over"[/bold]
    """
    budget = ln.Budget.open(ledger)
    budget.close(reason=reason)
    return _shown(budget)


@app.command()
@printed
def reopen(ledger: Ledger, *, reason: str) -> Answer:
    """Allow releases again: after rows could not be read, which closed the budget, or after `close`.

    Example: [bold]leastnoise budget reopen city.ledger --reason "the disk was full"[/bold]
    """
    budget = ln.Budget.open(ledger)
    budget.reopen(reason=reason)
    return _shown(budget)


@app.command()
@printed
def allocate(
    ledger: Ledger,
    *,
    share: str,
    name: str | None = None,
    people: str = "",
    expires: str | None = None,
    within: str | None = None,
    note: str = "",
) -> Answer:
    """Give a part of the budget to others, with a name and limits of its own. It is debited at once.

    Example: [bold]leastnoise budget allocate city.ledger --name "maps team" --share 0.25[/bold]
    """
    if name is None:
        raise errors.MissingParameter(
            "What is the allocation called?", parameter="name", example=errors.Code("", '--name "maps team"')
        )
    part = ln.Budget.open(ledger, allocation=within).allocate(
        name,
        share=share,
        people=[each for each in people.split(",") if each.strip()],
        expires=expires,
        note=note,
    )
    return _shown(part)


@app.command("return")
@printed
def give_back(
    ledger: Ledger,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the allocation is called.")],
    *,
    note: str = "",
) -> Answer:
    """End an allocation: what it has not spent goes back to the budget.

    Example: [bold]leastnoise budget return city.ledger "maps team"[/bold]
    """
    budget = ln.Budget.open(ledger)
    budget.allocation(name).return_unused(note=note)
    return _shown(budget)


@app.command()
@printed
def move(
    ledger: Ledger,
    target: Annotated[str, typer.Argument(metavar="URL", help="postgresql://host/db?budget=NAME, where none is yet.")],
) -> Answer:
    """Carry a budget over from its file to PostgreSQL, entry by entry; the file is sealed.

    Example: [bold]leastnoise budget move city.ledger 'postgresql://host/db?budget=city'[/bold]
    """
    from leastnoise.curator.budget.moving import move as carry

    return _shown(carry(ledger, target))


def _shown(budget: ln.Budget) -> Answer:
    return Answer(statement(budget), [Line(str(budget))])


INDENT = " " * 6


def history_lines(entries: list[Entry], width: int) -> Iterator[str]:
    """When, what, how much and who in one line; the note, the question and the file below, no line over the width."""
    for entry in entries:
        yield from entry_lines(entry, width)


def entry_lines(entry: Entry, width: int) -> Iterator[str]:
    """The lines of one entry."""
    share = percent(entry.share, 6) if entry.share else ""
    of = f"  from {entry.allocation}" if entry.allocation else ""
    first = f"{entry.number:>4}  {entry.created_at:%Y-%m-%d %H:%M}  {entry.kind:<9} {share:>11}  {entry.who}{of}"
    yield printable(first)[:width].rstrip()
    if entry.note:
        yield from _indented(entry.note, width)
    yield from _indented(_question(entry), width)
    if entry.kind == "release":
        yield from _indented(f"release {entry.release}" + (f", written to {entry.file}" if entry.file else ""), width)


def _question(entry: Entry) -> str:
    """What was asked, without its limits, which --json has in full."""
    asked = entry.query.partition(";")[0]
    return f'{asked}, of "{entry.table}"' if entry.table and entry.table not in asked else asked


def _indented(text: str, width: int) -> list[str]:
    return [INDENT + line for line in wrap(printable(text), width - len(INDENT), break_long_words=True)]


def statement(budget: ln.Budget, history: bool = False, checked: str | None = None) -> dict[str, Any]:
    """What it guarantees, what was spent and what is left."""
    from leastnoise.curator.budget.kinds import plan

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
