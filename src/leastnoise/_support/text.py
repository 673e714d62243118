"""Text for people: numbers to as many digits as they need, keys in which nothing moves a cursor, types of columns.

Files, attributes and JSON keep all digits, and keys as they are.
"""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import ROUND_CEILING, Context, Decimal


def rounded(number: float, digits: int = 4) -> str:
    """A number to so many significant digits, with commas and without an exponent where people can do without.

    >>> rounded(12345.678), rounded(0.25), rounded(3.0), rounded(1e-9)
    ('12,350', '0.25', '3', '1e-09')
    """
    number = float(number)
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    exponent = int(f"{number:.{digits - 1}e}".rpartition("e")[2])
    if not -5 <= exponent < 15:
        return f"{number:.{digits}g}"
    decimals = digits - 1 - exponent
    text = f"{round(number, decimals):,.{max(0, decimals)}f}"
    return text.rstrip("0").rstrip(".") if "." in text and digits > 2 else text  # of two digits a zero says something


def percent(part: float, digits: int = 3) -> str:
    """A part of one as a percentage to so many digits; of one that would need an exponent, a limit.

    >>> percent(0.1234567), percent(0.0), percent(4e-30), percent(4e-30, digits=6)
    ('12.3 %', '0 %', 'less than 0.01 %', 'less than 0.00001 %')
    """
    least = 10.0 ** -(digits + 1)
    return f"less than {100 * least:.{digits - 1}f} %" if 0 < part < least else f"{100 * part:.{digits}g} %"


def percent_at_most(part: float) -> str:
    """A part of one as a percentage of three digits, rounded up: what "at most" is said of.

    >>> percent_at_most(0.082436), percent_at_most(0.05), percent_at_most(0.99999999), percent_at_most(1.0)
    ('8.25', '5', '100', '100')
    """
    percent = Decimal(repr(round(100 * part, 10)))  # 0.05 is a little more than 5 %
    return f"{Context(prec=3, rounding=ROUND_CEILING).plus(percent).normalize():f}"


def digits_beside(error: float, known: float | None) -> int:
    """To how many digits an estimated error is shown: two, and up to four where one that is `known` is shown beside it
    to four, so that rounding is a tenth at most of what is between them.

    >>> digits_beside(756.1, 756.4), digits_beside(92.3, 127.8), digits_beside(756.1, None)
    (4, 2, 2)
    """
    if known is None:
        return 2
    near = (digits for digits in (2, 3) if abs(float(f"{error:.{digits}g}") - error) <= abs(known - error) / 10)
    return next(near, 4)


def about(number: float, beside: float | None = None) -> str:
    """An estimate of an error, which is known to two digits at best; `beside` is the one it will be compared with.

    >>> about(4.4132), about(3.96), about(1234.5), about(756.1, beside=756.4)
    ('about 4.4', 'about 4.0', 'about 1,200', 'about 756.1')
    """
    return f"about {rounded(number, digits_beside(number, beside))}"


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


def type_name(kind: object) -> str:
    """The type of a column in Ibis, Arrow, NumPy, pandas or Polars without what is inside it:
    the names of a nested type's fields may have been taken from people's dictionaries, so they stay out of messages.

    >>> type_name("struct<alice: int64>"), type_name("timestamp('UTC', 6)"), type_name("!decimal(38, 0)")
    ('struct', 'timestamp', 'decimal')
    """
    found = re.match(r"!?(\w+)", str(kind))
    return found.group(1).lower() if found else "another type"
