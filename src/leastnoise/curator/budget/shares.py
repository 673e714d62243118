"""Shares as people write them: 0.25, 1/52, Fraction(1, 52), "1/52".

A decimal is taken as it is typed: 0.01 is 1/100, not the double beside it. A double of many digits that is the nearest
one to a simple fraction is taken as that fraction: 1/52 is 0.019230769230769232 in Python, a little more than 1/52, and
52 of those would not fit. What is debited is exactly what is taken here, so the budget's limit is kept whatever was
meant.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number

Share = Number | str
MAX_DENOMINATOR = 10_000  # of a simple fraction
MANY_DIGITS = 12  # a decimal of no more was typed as it is


def exact(share: Share, name: str = "share") -> Fraction:
    """The share as it was meant; any errors name the parameter `name`.

    >>> exact(0.01), exact(1 / 52), exact("1/365"), exact("0.25")
    (Fraction(1, 100), Fraction(1, 52), Fraction(1, 365), Fraction(1, 4))
    """
    if isinstance(share, str):
        share = _read(share, name)
    validation.number(name, share)
    if isinstance(share, (float, np.floating)):
        return _simple(share)
    return Fraction(int(share)) if isinstance(share, np.integer) else Fraction(share)


def _simple(share: float | np.floating) -> Fraction:
    """The decimal as typed, or the simple fraction that the double is nearest to."""
    decimal = Fraction(str(share))
    near = decimal.limit_denominator(MAX_DENOMINATOR)
    digits = len(Decimal(str(share)).as_tuple().digits)
    return near if digits > MANY_DIGITS and type(share)(near.numerator / near.denominator) == share else decimal


def _read(text: str, name: str) -> Fraction:
    """A number, or a fraction, in text."""
    above, slash, below = text.partition("/")
    try:
        parts = [Decimal(part.strip()) for part in (above, below if slash else "1")]
        usable = all(part.is_finite() and -1000 < part.adjusted() < 1000 for part in parts)  # 1e999999999 is too long
        if usable and parts[1] > 0:
            return Fraction(parts[0]) / Fraction(parts[1])
    except ArithmeticError:
        pass
    raise errors.WrongType(
        f"A share is a number or a fraction. Got {text!r} instead.",
        parameter=name,
        value=text,
        example=[{name: 0.25}, {name: "1/52"}],
    )
