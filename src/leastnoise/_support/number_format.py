"""How many digits people are shown. Files, attributes and JSON keep them all."""

from __future__ import annotations

import math
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


def percent_at_most(part: float) -> str:
    """A part of one as a percentage of three digits, rounded up: what "at most" is said of.

    >>> percent_at_most(0.082436), percent_at_most(0.05), percent_at_most(0.99999999), percent_at_most(1.0)
    ('8.25', '5', '100', '100')
    """
    percent = Decimal(repr(round(100 * part, 10)))  # 0.05 is a little more than 5 %
    return f"{Context(prec=3, rounding=ROUND_CEILING).plus(percent).normalize():f}"


def about(number: float) -> str:
    """An estimate of an error, which is known to two digits at best.

    >>> about(4.4132), about(3.96), about(1234.5)
    ('about 4.4', 'about 4.0', 'about 1,200')
    """
    return f"about {rounded(number, 2)}"
