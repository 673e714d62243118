"""Inputs of a form for the fields of a job that have none of their own: typed as the command line takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from leastnoise import errors
from leastnoise.jobs.fields import FLAG, LINES, NAMED, TABLES, WEIGHTS, Field


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
    def is_long(self) -> bool:
        """Whether it has a line for each of several."""
        return self.field.kind in (LINES, NAMED, TABLES, WEIGHTS)

    @property
    def choices(self) -> tuple[str, ...]:
        """What can be chosen, where that is not typed."""
        return ("", "yes", "no") if self.field.kind is FLAG else ()


def inputs(listed: Iterable[Field], given: Mapping[str, Any], typed: Mapping[str, Any]) -> list[Input]:
    """The inputs of these fields, with what was typed, or else what the job says."""
    return [Input(field, _text(field, given, typed)) for field in listed]


def _text(field: Field, given: Mapping[str, Any], typed: Mapping[str, Any]) -> str:
    if field.name in typed:
        return str(typed[field.name])
    return field.shown(given[field.name]) if field.name in given else ""


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
