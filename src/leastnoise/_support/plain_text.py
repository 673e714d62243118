"""Text that somebody else chose, such as a key, made fit to be shown: nothing in it moves a cursor or turns writing.

Values and files keep it as it is.
"""

from __future__ import annotations

import unicodedata


def printable(text: object, *, lines: bool = False) -> str:
    r"""One line in which whatever is not seen as itself is written out: escapes of a terminal, ends of lines, NUL,
    blanks of other kinds, characters without width and those that turn the direction of writing. Texts without a
    backslash stay different from each other.

    lines: whether the text is of several lines, which stay.

    >>> print(printable("a\x1b[2Jb\u202ec\nd"))
    a\x1b[2Jb\u202ec\nd
    """
    kept = (c if c.isprintable() or (lines and c == "\n") else c.encode("unicode_escape").decode() for c in str(text))
    return "".join(kept)


def key_words(key: object) -> str:
    r"""A key as people read it: the same, but a blank of another kind is a blank.

    >>> key_words("10\xa0000 caf\xe9")
    '10 000 café'
    """
    return printable("".join(" " if unicodedata.category(c) == "Zs" else c for c in str(key)))
