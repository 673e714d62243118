"""Numbers as they are typed into a form."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from leastnoise import errors
from leastnoise.jobs.fields import MAX_POWER, number


def read_number(fields: Mapping[str, Any], name: str) -> int | Decimal:
    """The number of this name; "new:epsilon" is the epsilon of something new."""
    return typed_number(str(fields.get(name, "")), name.removeprefix("new:"))


def typed_number(text: str, name: str) -> int | Decimal:
    """A number as it was typed."""
    try:
        return number(text)
    except ValueError:
        raise errors.InvalidParameter(
            f'"{name}" must be a number of at most {MAX_POWER} digits. Got {text!r} instead.', parameter=name
        ) from None


def shown_end(end: float) -> str:
    """An end of a range as it would be typed.

    >>> shown_end(40.0), shown_end(0.25)
    ('40', '0.25')
    """
    return f"{Decimal(repr(float(end))).normalize():f}"
