"""Constants as typed values: each written in one way only, so that no engine has to guess."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from leastnoise.curator.expressions.tree import Literal, Type
from leastnoise.domain import is_text
from leastnoise.errors import BadExpression

DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?")


def literal(value: Any) -> Literal | None:
    """A Python value as a literal; None where it is nothing we know."""
    if value is None:
        return Literal(None, Type.NULL)
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return Literal(bool(value), Type.BOOLEAN)
    if isinstance(value, Integral):
        return integer(int(value))
    if isinstance(value, Real | Decimal):
        number = float(value)
        return Literal(None, Type.REAL) if math.isnan(number) else Literal(number, Type.REAL)
    if isinstance(value, str):
        return Literal(value, Type.TEXT) if is_text(value) and "\0" not in value else None
    if isinstance(value, datetime):
        return Literal(utc(value), Type.TIMESTAMP)
    return Literal(value, Type.DATE) if isinstance(value, date) else None


def integer(value: int) -> Literal:
    """A whole number; one that 64 bits do not hold is a real number."""
    if -(2**63) <= value < 2**63:
        return Literal(value, Type.INTEGER)
    return Literal(number(str(value)), Type.REAL)


def number(text: str) -> float:
    """The nearest double, past the largest infinity."""
    return float(text)


def utc(value: datetime) -> datetime:
    """Without a zone, in UTC; pandas' nanoseconds are cut."""
    plain = datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond, value.tzinfo
    )
    if plain.tzinfo is None:
        return plain
    try:
        return plain.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise BadExpression("a time before the year 1 or after 9999 (in UTC) is in no row. Leave it out.") from None


def recast(node: Literal, wanted: Type) -> Literal | None:
    """The constant as another type, read here and now; None where it has to be cast as any value."""
    if isinstance(node.value, str):
        return parse_literal(node.value, wanted)
    if wanted is Type.REAL and isinstance(node.value, int):
        return Literal(float(node.value), Type.REAL)
    if wanted is Type.TIMESTAMP and type(node.value) is date:
        return Literal(datetime(node.value.year, node.value.month, node.value.day), Type.TIMESTAMP)
    return None


DESCRIPTIONS = {
    Type.DATE: ("a date", "'2013-01-31'"),
    Type.TIMESTAMP: ("a time", "'2013-01-31 07:00' or '2013-01-31'"),
    Type.INTEGER: ("a whole number", "42"),
    Type.REAL: ("a number", "4.2"),
    Type.BOOLEAN: ("true or false", "TRUE"),
}


def parse_literal(text: str, wanted: Type) -> Literal:
    """A text that stands where a date, a time, a number or a truth is wanted, in the one way it may be written."""
    made = _read(text, wanted)
    if made is None:
        description, example = DESCRIPTIONS[wanted]
        raise BadExpression(
            f"'{text}' stands where {description} is needed and is not written like one. Write {example}."
        )
    return Literal(made, wanted)


def _read(text: str, wanted: Type) -> Any:
    try:
        if wanted is Type.DATE and DAY.fullmatch(text):
            return date.fromisoformat(text)
        if wanted is Type.TIMESTAMP and (DAY.fullmatch(text) or MOMENT.fullmatch(text)):
            return datetime.fromisoformat(text)
    except ValueError:  # February 30
        return None
    if wanted is Type.INTEGER and re.fullmatch(r"[-+]?[0-9]{1,18}", text):
        return int(text)
    if wanted is Type.REAL and re.fullmatch(r"[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]{1,3})?", text):
        return number(text)
    return {"true": True, "false": False}.get(text.lower()) if wanted is Type.BOOLEAN else None
