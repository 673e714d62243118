"""A file of keys to be filled in, from what a table's schema says: names and types, and never a row."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leastnoise._support import atomic_files
from leastnoise.curator.dataset import Dataset
from leastnoise.domain import ColumnKind, template


def write_template(data: Dataset, path: str | os.PathLike[str], known: Mapping[str, Any]) -> Path:
    """One entry for each column that bins can be of; the unit's own cannot be released."""
    for column in known:
        data.check_usable(column)
    kinds = data.clean.given.schema()
    usable = {column: kind_of(kinds[column]) for column in kinds if column not in data.kernels}
    columns = {column: usable.get(column) for column in data.columns if column not in data.unit}
    return atomic_files.create(path, template(columns, known))


def kind_of(kind: Any) -> ColumnKind | None:
    """What a column holds, as far as keys go. Levels of a category stay out: a frame takes them from its rows."""
    tests: tuple[tuple[bool, ColumnKind], ...] = (
        (kind.is_boolean(), "boolean"),
        (kind.is_timestamp(), "timestamp"),
        (kind.is_date(), "date"),
        (kind.is_string(), "text"),
        (kind.is_integer(), "integer"),
        (kind.is_numeric(), "number"),
    )
    return next((word for holds, word in tests if holds), None)
