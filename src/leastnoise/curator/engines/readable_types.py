"""Columns of types that no engine reads, refused by name: by the schema alone, and before any row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from leastnoise._support.type_names import type_name
from leastnoise.curator.engines.withheld_errors import reading
from leastnoise.errors import ReadingFailed, UnknownSource

P = TypeVar("P")


def refuse_odd(columns: Mapping[str, tuple[Any, P]], take: Callable[[Sequence[P]], object]) -> None:
    """Refuse the first column of a type that `take` fails at.

    columns: by name, the type and what `take` knows the column by. take: reads these columns of a table without rows.
    """
    if not columns or _works(lambda: take([place for _, place in columns.values()])):
        return
    for name, (kind, place) in columns.items():
        if not _works(lambda place=place: take([place])):  # type: ignore[misc]
            raise UnknownSource(
                f'the column "{name}" holds {type_name(kind)}, a type that is not read. Make it float64, int64, text '
                "or dates before the table is opened, or leave it out of the frame.",
                parameter="source",
                value=name,
            )


def _works(work: Callable[[], object]) -> bool:
    try:
        reading(work)
    except ReadingFailed:
        return False
    return True
