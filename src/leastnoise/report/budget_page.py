"""The page about a budget, all of it in one file: the promise, what is left, spending over time, every entry."""

from __future__ import annotations

import os
import shlex
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Protocol

from leastnoise._support.number_format import percent
from leastnoise._support.version import VERSION
from leastnoise.privacy.strength import Strength
from leastnoise.report import markup, page_file
from leastnoise.report.markup import piece
from leastnoise.report.promise_sentences import Step
from leastnoise.report.spending_picture import spending

MAX_ENTRIES = 2_000  # of the table: the last ones


class PublicBudget(Protocol):
    """What is read of a budget."""

    @property
    def name(self) -> Any: ...
    @property
    def location(self) -> Any: ...
    @property
    def terms(self) -> Any: ...
    @property
    def strength(self) -> Strength: ...
    @property
    def remaining(self) -> Any: ...
    @property
    def closed(self) -> Any: ...
    @property
    def allocations(self) -> Any: ...
    @property
    def unit(self) -> Any: ...
    @property
    def table(self) -> Any: ...
    def history(self) -> list[Any]: ...


def write(path: str | os.PathLike[str], of: PublicBudget, *, title: str | None = None) -> Path:
    """The page about a budget, in a file that appears whole or not at all."""
    return page_file.write(path, lambda: page(of, title=title))


def page(of: PublicBudget, *, title: str | None = None) -> str:
    """The page as text."""
    entries, left, allocations = of.history(), of.remaining, of.allocations
    cap = "pure" if of.terms.laplace_only else "gaussian"
    return Template(piece("budget_page.html")).substitute(
        policy=markup.policy(),
        css=piece("page.css") + piece("tables.css") + piece("budget.css"),
        title=escape(title or f"The budget {of.name}"),
        warning=_warning(of.closed, entries) + _weak(of.strength),
        lead=escape(_lead(of)),
        number=escape(percent(left.share, 4)),
        label="left to be spent",
        made=escape(_last(entries)),
        facts=markup.definitions(_facts(of)),
        picture=spending(entries, cap),
        caption=escape(_caption(of.terms.laplace_only, bool(allocations))),
        parts=_parts(allocations),
        table=_table(entries),
        check=markup.steps([Step("That every entry is as it was written:", _command(of.location))]),
        version=escape(VERSION),
    )


def _warning(closed: bool, entries: list[Any]) -> str:
    if not closed:
        return ""
    last = [entry for entry in entries if entry.kind == "close"][-1]
    words = (
        f"Closed since {last.created_at:%Y-%m-%d %H:%M} UTC: {last.query}. Nothing is released until it is reopened."
    )
    return f'<p class="warning" role="alert">{escape(words)}</p>'


def _weak(strength: Strength) -> str:
    return f'<p class="warning" role="alert">{escape(strength.in_words())}</p>' if strength.warns else ""


def _lead(of: PublicBudget) -> str:
    about = f' in "{of.table}"' if of.table else ""
    return (
        f"The most that all releases together may tell about any one {of.unit or 'unit'}{about}: what is spent of it, "
        "by whom and for what. Every entry was written before its noise was drawn."
    )


def _last(entries: list[Any]) -> str:
    if not entries:
        return "No entry yet."
    return f"{len(entries):,} entries; the last of {entries[-1].created_at:%Y-%m-%d %H:%M} UTC."


def _facts(of: PublicBudget) -> list[tuple[str, str]]:
    terms, left = of.terms, of.remaining
    rows = [
        ("epsilon, delta", f"{float(terms.epsilon):g}, {float(terms.delta):g}"),
        ("strength", of.strength.band),
        ("neighbours", str(terms.neighbours)),
        ("ledger", _place(of.location)),
    ]
    if not terms.laplace_only:
        rows.append(("Gaussian (mu²) left", f"{percent(left.share, 6)}, mu {left.mu:.6g}"))
    if terms.pure_epsilon:
        rows.append(("Laplace (epsilon) left", f"epsilon {left.pure_epsilon:.6g} of {float(terms.pure_epsilon):g}"))
    if terms.threshold_delta:
        rows.append(
            ("unknown keys (delta) left", f"delta {left.threshold_delta:.3g} of {float(terms.threshold_delta):g}")
        )
    return rows


def _caption(laplace_only: bool, allocated: bool) -> str:
    unit = "epsilon" if laplace_only else "mu² (in which Gaussian releases add up)"
    striped = " Striped: allocated, and not released from (as far as this ledger knows)." if allocated else ""
    return f"The share of {unit} that releases have used.{striped}"


def _parts(allocations: list[Any]) -> str:
    if not allocations:
        return ""
    depth = {"": -1}
    rows = []
    for each in allocations:
        depth[each.id] = depth.get(each.parent, -1) + 1
        people = ", ".join(each.people) or "whoever may spend"
        expires = f"{each.expires_at:%Y-%m-%d}" if each.expires_at is not None else "–"
        state = "returned" if each.returned else "in a file of its own" if each.own_file else "open"
        cells = (
            percent(float(each.share), 4),
            "unknown" if each.own_file else percent(each.spent_share, 4),
            people,
            expires,
            state,
        )
        name = f'<td style="padding-left:{0.5 + 1.2 * depth[each.id]:g}rem">{escape(each.name)}</td>'
        rows.append(f"<tr>{name}{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    head = "".join(
        f"<th scope=col>{name}</th>" for name in ("name", "share", "used of it", "people", "expires", "state")
    )
    return (
        '<section aria-labelledby="parts"><h2 id="parts">Allocations</h2><div class="scroll" tabindex="0">'
        '<table class="parts">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _table(entries: list[Any]) -> str:
    shown = entries[-MAX_ENTRIES:]
    more = f"<p>The last {len(shown):,} of {len(entries):,} entries.</p>" if len(shown) < len(entries) else ""
    head = "".join(f"<th scope=col>{name}</th>" for name in ("no.", "when (UTC)", "share", "what", "who"))
    rows = "".join(map(_row, reversed(shown)))
    return (
        f'{more}<div class="scroll" tabindex="0"><table class="entries"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(entry: Any) -> str:
    share = percent(entry.share, 6) if entry.share else ""
    note = f"<strong>{escape(entry.note)}</strong>" if entry.note else ""
    kind = "" if entry.kind == "release" else f"{entry.kind}: "
    small = [
        f'of "{entry.table}"' if entry.table else "",
        entry.noise,
        f"release {entry.release}" if entry.release else "",
    ]
    small.append(f"written to {entry.file}" if entry.file else "")
    details = escape("; ".join(part for part in small if part))
    who = escape(entry.who) + (f"<small>{escape(entry.allocation)}</small>" if entry.allocation else "")
    what = f"{note}{escape(kind + entry.query)}<small>{details}</small>"
    when = f"{entry.created_at:%Y-%m-%d %H:%M}"
    return f'<tr><td>{entry.number}</td><td>{when}</td><td class="share">{share}</td><td>{what}</td><td>{who}</td></tr>'


def _command(location: str) -> str:
    return f"leastnoise budget {shlex.quote(_place(location))} --verify"


def _place(location: str) -> str:
    """The address, or the name of the file: where it lies on somebody's disk is nobody's business."""
    return location if "://" in location else os.path.basename(location)
