"""What shaped the rows before the question, step by step, in public words: for the page, the file and the ledger.

Conditions and derived columns are written by `expressions.tree.text`: columns of the row and literals, and of
a long list of values only their number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from leastnoise._support.text import printable

MAX_ITEMS_SHOWN = 8  # of a list
MAX_CHARACTERS = 2000  # of all steps of a query


def condition(words: str) -> str:
    """The step of `where`."""
    return f"where {escaped(words)}"


def column(name: str, words: str) -> str:
    """The step of `derive`."""
    return f"with {one_line(name)} = {escaped(words)}"


def cells(name: str, x: str, y: str, step: float) -> str:
    """The step of a lattice."""
    return f"with {one_line(name)} = cells of {step!r} over {one_line(x)} and {one_line(y)}"


def nearest(name: str, lon: str, lat: str, nodes: int, within: float, spread: tuple[float, int] | None) -> str:
    """The step of the nearest node, or of a kernel over several."""
    which = "nearest" if spread is None else f"{spread[1]} nearest (kernel width {spread[0]:g} m)"
    place = f"{one_line(lon)}, {one_line(lat)}"
    return f"with {one_line(name)} = {which} of {nodes} nodes within {within:g} m of {place}"


def per_unit(unit: str, columns: Sequence[str]) -> str:
    """The step after which a row is a unit."""
    return f"a row for each {one_line(unit)} with {', '.join(columns)}"


def joined(columns: Sequence[str], on: Sequence[str], rows: int, digest: str) -> str:
    """The step of a public table."""
    names, keys = (shortened([one_line(name) for name in part]) for part in (columns, on))
    return f"with {names} of a public table by {keys} ({counted(rows, 'row')}, SHA-256 {digest})"


def zones(name: str, lon: str, lat: str, count: int, digest: str) -> str:
    """The step of zones on a map."""
    place = f"{one_line(lon)}, {one_line(lat)}"
    return f"with {one_line(name)} = which of {counted(count, 'zone')} holds {place} (SHA-256 {digest})"


def all_steps(steps: tuple[str, ...]) -> str:
    """All steps in the order in which they were applied."""
    return cut("".join(f", {step}" for step in steps))


def cut(text: str) -> str:
    """A long text cut short. A digest distinguishes texts that were cut alike."""
    if len(text) <= MAX_CHARACTERS:
        return text
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
    return f"{text[:MAX_CHARACTERS]}... (cut: {len(text)} characters, SHA-256 {digest})"


def shortened(words: Sequence[str]) -> str:
    """The first of a long list, and how many more there are."""
    if len(words) <= MAX_ITEMS_SHOWN + 1:  # one more is named: that is no longer than to count it
        return ", ".join(words)
    return f"{', '.join(words[:MAX_ITEMS_SHOWN])} and {len(words) - MAX_ITEMS_SHOWN} more"


def counted(count: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(5, "row")
    ('1 row', '5 rows')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def escaped(text: str) -> str:
    """One line in which a backslash is doubled, so that no two texts are recorded alike."""
    return one_line(text.replace("\\", "\\\\"))


def one_line(text: str) -> str:
    """As it was written, but for what would break a line, move a cursor or turn the writing round: that is escaped."""
    return printable(text.strip())
