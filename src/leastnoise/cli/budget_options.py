"""The options of `leastnoise budget`, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leastnoise.cli.options import NEIGHBOURS

LedgerPlace = Annotated[
    str, typer.Argument(metavar="LEDGER", help="A file, or postgresql://host/db?budget=NAME.", show_default=False)
]
History = Annotated[bool, typer.Option("--history", help="Every entry, too.")]
Verify = Annotated[bool, typer.Option("--verify", help="Check every page, hash and sum first.")]
TotalEpsilon = Annotated[float, typer.Option("--epsilon", help="The most that all releases together may tell.")]
TotalDelta = Annotated[
    float | None, typer.Option("--delta", help="A small probability, such as 1e-6; 0 for Laplace releases only.")
]
PlannedReleases = Annotated[
    int | None, typer.Option("--releases", help="How many are planned, to say which kind of budget has less noise.")
]
PureEpsilon = Annotated[float, typer.Option(help="The part of epsilon set aside for Laplace releases.")]
ThresholdDelta = Annotated[float, typer.Option(help="The part of delta set aside for unknown keys.")]
LedgerUnit = Annotated[
    str | None, typer.Option("--unit", help="Whom it protects: the column, such as taxi; several with commas.")
]
LedgerTable = Annotated[
    str | None, typer.Option("--table", help="The table it is about, by the name that --table of a release says.")
]
LedgerNeighbours = Annotated[str | None, NEIGHBOURS]
WhyClosed = Annotated[
    str, typer.Option("--reason", help="Why it is closed, such as 'the year is over'. The ledger keeps it.")
]
WhyReopened = Annotated[
    str, typer.Option("--reason", help="Why it was closed, and what has changed since. The ledger keeps it.")
]

AllocationName = Annotated[str, typer.Argument(metavar="NAME", help="What the allocation is called.")]
PartName = Annotated[
    str | None, typer.Option("--name", help="What the allocation is called; of a file of its own, else by that file.")
]
PartShare = Annotated[str, typer.Option("--share", help="The part of the budget, such as 0.25 or 1/4.")]
People = Annotated[
    str, typer.Option(help="Who may spend from it, with commas: users, with PostgreSQL roles. Else whoever may.")
]
Expires = Annotated[str | None, typer.Option(help="The last day on which it can be spent from, such as 2027-12-31.")]
PartFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="A new ledger, for somebody who cannot reach this one: never returned."),
]
Within = Annotated[str | None, typer.Option("--within", help="A part of this allocation, not of the whole budget.")]
EntryNote = Annotated[str, typer.Option("--note", help="A line for the ledger.")]
PartFiles = Annotated[list[str], typer.Argument(metavar="FILE...", help="Ledgers that allocate -o made.")]
NewPlace = Annotated[str, typer.Argument(metavar="URL", help="postgresql://host/db?budget=NAME, where none is yet.")]
BudgetPage = Annotated[Path | None, typer.Option("--report", help="Write a page about it to this .html file, too.")]
OnePart = Annotated[str | None, typer.Option("--allocation", help="Of this allocation alone.")]
