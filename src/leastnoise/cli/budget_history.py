"""The history of a budget in lines of 80 characters: two or three for each entry."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from leastnoise._support.number_format import percent
from leastnoise.cli.messages import printable

if TYPE_CHECKING:
    from leastnoise.curator.budget import Entry

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
