"""The page about a budget, all of it in one file: what is left, what every release spent, every entry.

The budget itself is a type of the curator, which nothing here may import."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from leastnoise.pictures import svg
from leastnoise.pictures.budgets import budget as bar_of
from leastnoise.pictures.captions import in_percent
from leastnoise.report.check import Step
from leastnoise.report.document import render, write_text

MAX_ENTRIES = 2_000  # of the table: the last ones


class Allocated(NamedTuple):
    """A line of the table of allocations."""

    depth: int
    name: str
    cells: tuple[str, ...]


class Line(NamedTuple):
    """A line of the table of entries: its note first, or what it is."""

    number: int
    when: str
    share: str
    what: str
    details: str
    who: str
    allocation: str


def write(path: str | os.PathLike[str], of: Any, *, title: str | None = None) -> Path:
    """The page about a budget, in a file that appears whole or not at all."""
    return write_text(path, lambda: page(of, title=title))


def page(of: Any, *, title: str | None = None) -> str:
    """The page as text."""
    entries, left = of.history(), of.remaining
    picture = bar_of(entries, of.terms)
    command = f"leastnoise budget {shlex.quote(_place(of.location))} --verify"
    return render(
        "budget.html",
        title=title or f"The budget {of.name}",
        warnings=_warnings(of, entries),
        lead=_lead(of),
        left=in_percent(left.share),
        made=_last(entries),
        facts=_facts(of),
        picture=Markup(svg.svg(picture)),
        spent=picture.alt,
        allocations=_allocations(of.allocations),
        lines=[line(entry) for entry in reversed(entries[-MAX_ENTRIES:])],
        more=f"The last {MAX_ENTRIES:,} of {len(entries):,} entries." if len(entries) > MAX_ENTRIES else "",
        check=[Step("That every entry is as it was written:", command)],
    )


def _warnings(of: Any, entries: list[Any]) -> list[str]:
    found = [of.strength.in_words()] if of.strength.warns else []
    if not of.closed:
        return found
    last = [entry for entry in entries if entry.kind == "close"][-1]
    closed = f"Closed since {last.created_at:%Y-%m-%d %H:%M} UTC: {last.query}."
    return [f"{closed} Nothing is released until it is reopened.", *found]


def _lead(of: Any) -> str:
    about = f' in "{of.table}"' if of.table else ""
    return (
        f"The most that all releases together may reveal about any one {of.unit or 'unit'}{about}. Every entry was "
        "written before its noise was drawn."
    )


def _last(entries: list[Any]) -> str:
    if not entries:
        return "No entry yet."
    return f"{len(entries):,} entries; the last of {entries[-1].created_at:%Y-%m-%d %H:%M} UTC."


def _facts(of: Any) -> list[tuple[str, str]]:
    terms, left = of.terms, of.remaining
    rows = [
        ("epsilon, delta", f"{float(terms.epsilon):g}, {float(terms.delta):g}"),
        ("strength", of.strength.band),
        ("neighbours", str(terms.neighbours)),
        ("ledger", _place(of.location)),
    ]
    if not terms.laplace_only:
        rows.append(("Gaussian (mu²) left", f"{in_percent(left.share, 6)}, mu {left.mu:.6g}"))
    if terms.pure_epsilon:
        rows.append(("Laplace (epsilon) left", f"epsilon {left.pure_epsilon:.6g} of {float(terms.pure_epsilon):g}"))
    if terms.threshold_delta:
        of_delta = f"delta {left.threshold_delta:.3g} of {float(terms.threshold_delta):g}"
        rows.append(("unknown keys (delta) left", of_delta))
    return rows


def _allocations(allocations: list[Any]) -> list[Allocated]:
    depth, rows = {"": -1}, []
    for each in allocations:
        depth[each.id] = depth.get(each.parent, -1) + 1
        cells = (
            in_percent(float(each.share)),
            in_percent(each.spent_share),
            ", ".join(each.people) or "whoever may spend",
            f"{each.expires_at:%Y-%m-%d}" if each.expires_at is not None else "–",
            "returned" if each.returned else "open",
        )
        rows.append(Allocated(depth[each.id], each.name, cells))
    return rows


def line(entry: Any) -> Line:
    """An entry in words."""
    kind = "" if entry.kind == "release" else f"{entry.kind}: "
    what, query = entry.note or kind + entry.query, kind + entry.query if entry.note else ""
    details = [
        query,
        f'of "{entry.table}"' if entry.table else "",
        entry.noise,
        f"release {entry.release}" if entry.release else "",
        f"written to {_place(entry.file)}" if entry.file else "",
    ]
    return Line(
        entry.number,
        f"{entry.created_at:%Y-%m-%d %H:%M}",
        in_percent(float(entry.share)) if entry.share else "",
        what,
        "; ".join(part for part in details if part),
        entry.who,
        entry.allocation or "",
    )


def _place(location: str) -> str:
    """The address, or the name of the file: where it lies on somebody's disk is nobody's business."""
    return location if "://" in location else os.path.basename(location)
