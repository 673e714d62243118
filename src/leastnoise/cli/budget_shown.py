"""A budget as facts for programs; and its history in lines of 80 characters, two or three for each entry."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from leastnoise._support.text import percent
from leastnoise.cli.output import printable

if TYPE_CHECKING:
    import leastnoise as ln
    from leastnoise.curator.budget import Allocation, Entry

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
