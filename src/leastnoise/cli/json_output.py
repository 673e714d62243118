"""--json: one JSON object on standard output, for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import typer


def print_json(facts: object) -> None:
    """Print one line of JSON. Dataclasses and mappings are objects; what JSON has no word for, such as a date, is
    text; no number, or one without end, is null."""
    typer.echo(json.dumps(_plain(facts), default=str, allow_nan=False))


def _plain(value: Any) -> Any:
    """A value of JSON: dataclasses and mappings are objects."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
