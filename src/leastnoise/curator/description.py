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
