"""What shaped the rows before the question, in public words: for the page, the file and the ledger.

Conditions and derived columns are written by `expressions.record`: columns of the row and literals, and of a long list
of values only their number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

FEW = 8  # values of a list that are written out
LONGEST = 2000  # characters of all rules of a query


def condition(words: str) -> str:
    """The rule of `where`."""
    return f"where {escaped(words)}"


def column(name: str, words: str) -> str:
    """The rule of `derive`."""
    return f"with {one_line(name)} = {escaped(words)}"


def cells(name: str, x: str, y: str, step: float) -> str:
    """The rule of a lattice."""
    return f"with {one_line(name)} = cells of {step!r} over {one_line(x)} and {one_line(y)}"


def nearest(name: str, lon: str, lat: str, nodes: int, within: float, spread: tuple[float, int] | None) -> str:
    """The rule of the nearest node, or of a kernel over several."""
    which = "nearest" if spread is None else f"{spread[1]} nearest (kernel width {spread[0]:g} m)"
    place = f"{one_line(lon)}, {one_line(lat)}"
    return f"with {one_line(name)} = {which} of {nodes} nodes within {within:g} m of {place}"


def told(rules: tuple[str, ...]) -> str:
    """All rules in the order in which they were applied. A text that was cut is told from others by its digest."""
    text = "".join(f", {rule}" for rule in rules)
    if len(text) <= LONGEST:
        return text
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
    return f"{text[:LONGEST]}... (cut: {len(text)} characters, SHA-256 {digest})"


def some(words: Sequence[str]) -> str:
    """The first few of a long list."""
    more = f" and {len(words) - FEW} more" if len(words) > FEW else ""
    return ", ".join(words[:FEW]) + more


def escaped(text: str) -> str:
    """One line in which a backslash is doubled, so that no two texts are recorded alike."""
    return one_line(text.replace("\\", "\\\\"))


def one_line(text: str) -> str:
    """As it was written, but for what would break a line, move a cursor or turn the writing round: that is escaped."""
    kept = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text.strip())
    return "".join(kept)
