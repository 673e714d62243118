"""Inputs of a form for the fields of a job, typed as the command line takes them; and numbers as they are typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from leastnoise import errors
from leastnoise.jobs.fields import FLAG, LINES, MAX_POWER, NAMED, TABLES, WEIGHTS, Field, number


@dataclass(frozen=True, slots=True)
class Input:
    """One input: its field, and what stands in it."""

    field: Field
    value: str

    @property
    def label(self) -> str:
        """What it is called."""
        return self.field.name.replace("_", " ")

    @property
    def example(self) -> str:
        """What might be typed."""
        return "" if self.field.example is None else self.field.shown(self.field.example)

    @property
    def is_long(self) -> bool:
        """Whether it has a line for each of several."""
        return self.field.kind in (LINES, NAMED, TABLES, WEIGHTS)

    @property
    def choices(self) -> tuple[str, ...]:
        """What can be chosen, where that is not typed."""
        return ("", "yes", "no") if self.field.kind is FLAG else ()


def inputs(listed: Iterable[Field], given: Mapping[str, Any], typed: Mapping[str, Any]) -> list[Input]:
    """The inputs of these fields, with what was typed, or else what the job says."""
    shown = {field.name: field.shown(given[field.name]) for field in listed if field.name in given}
    return [Input(field, str(typed.get(field.name, shown.get(field.name, "")))) for field in listed]


def read(listed: Iterable[Field], typed: Mapping[str, Any]) -> dict[str, Any]:
    """What a job has of these fields: None where nothing was typed."""
    return {field.name: _read(field, str(typed.get(field.name) or "")) for field in listed}


def _read(field: Field, text: str) -> Any:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    try:
        return field.read(lines)
    except errors.InvalidParameter:
        raise errors.InvalidParameter(
            f'"{field.name.replace("_", " ")}" takes {field.kind.how}. Got {text!r} instead. For example: '
            f"{field.shown(field.example)}",
            parameter=field.name,
        ) from None


def read_number(fields: Mapping[str, Any], name: str) -> int | Decimal:
    """The number of this name; "new:epsilon" is the epsilon of something new."""
    return typed_number(str(fields.get(name, "")), name.removeprefix("new:"))


def typed_number(text: str, name: str) -> int | Decimal:
    """A number as it was typed."""
    try:
        return number(text)
    except ValueError:
        rule = f"be a number of at most {MAX_POWER} digits"
        raise errors.InvalidParameter.must(f'"{name}"', rule, text, parameter=name) from None


def shown_end(end: float) -> str:
    """An end of a range as it would be typed.

    >>> shown_end(40.0), shown_end(0.25)
    ('40', '0.25')
    """
    return f"{Decimal(repr(float(end))).normalize():f}"
