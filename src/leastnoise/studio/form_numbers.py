"""Numbers as they are typed into a form."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from leastnoise import errors

MAX_POWER = 300  # of ten: what is beyond is no float


def read_number(fields: Mapping[str, Any], name: str) -> int | Decimal:
    """A number; a whole one is an int."""
    found = decimal(str(fields.get(name, "")), name)
    return int(found) if found == found.to_integral_value() and abs(found) < 10**15 else found


def shown_end(end: float) -> str:
    """An end of a range as it would be typed.

    >>> shown_end(40.0), shown_end(0.25)
    ('40', '0.25')
    """
    return f"{Decimal(repr(float(end))).normalize():f}"


def decimal(text: str, name: str) -> Decimal:
    """A finite number, as it was typed."""
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        raise errors.InvalidParameter(f'"{name}" must be a number. Got {text!r} instead.', parameter=name) from None
    if not found.is_finite() or abs(found.adjusted()) > MAX_POWER:
        raise errors.InvalidParameter(f'"{name}" must be finite, and of at most {MAX_POWER} digits.', parameter=name)
    return found
