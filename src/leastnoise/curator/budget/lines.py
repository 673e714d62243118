"""A line that somebody writes into a ledger: a reason, a note."""

from __future__ import annotations

from leastnoise import errors

MAX_CHARACTERS = 500


def checked_line(name: str, words: object, *, needed: bool = True) -> str:
    """A reason or a note: one line, which the ledger keeps."""
    if not isinstance(words, str):
        raise errors.WrongType(f"{name} must be a sentence. Got {type(words).__name__} instead.", parameter=name)
    line = words.strip()
    if (needed and not line) or len(line) > MAX_CHARACTERS or not line.isprintable():
        raise errors.InvalidParameter(
            f"{name} must be one line of {int(needed)} to {MAX_CHARACTERS} characters: the ledger keeps it for whoever "
            "asks later.",
            parameter=name,
            example={name: "the disk was full; it has room now" if name == "reason" else "the weekly map"},
        )
    return line
