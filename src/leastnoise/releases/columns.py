"""A domain as columns of a table, for frames and files; and what readers call columns.

Data, files and the ledger keep the columns' own names; only words take labels.

A label stands for one column: it is neither the label nor the name of another, so that words stay unambiguous.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from leastnoise import domain as domains
from leastnoise import errors
from leastnoise._support.text import key_words
from leastnoise.domain import Axis, Domain, Keys, Labelled, Listed, Ordered, OrNull, OrOther, cell_centres, key_cell
from leastnoise.releases import records
from leastnoise.releases.left_out import LeftOut, left_out_in_words

# What our own columns are called in frames and files.
RESERVED = {
    *("value", "index", "mean", "low", "high", "sum", "count", "component", "enough", "noisy", "std"),
    *("denoised", "denoised_low", "denoised_high", "denoised_error"),
}


def refuse_reserved(names: Iterable[str]) -> None:
    """Refuse key columns that would overwrite a release's own, before anything is read or spent."""
    for name in names:
        if name in RESERVED:
            raise errors.BadDomain(
                f'A key column named "{name}" collides with a column of the release itself. Rename it first, '
                f"such as table.derive(my_{name}=...), or in the file."
            )


def key_columns(domain: Domain, count: int, *, for_people: bool = False) -> dict[str, list[Any]]:
    """The keys of the first `count` bins, a column an axis; a bin between two ends gives two columns.

    A column has one type, so the label of all other values is null among numbers and days; for people it is written
    everywhere.
    """
    columns: dict[str, list[Any]] = {}
    if domain.axes and isinstance(domain.axes[0], Listed):
        return _listed_columns(domain.axes[0], count)
    stride, bins = domain.size, np.arange(count)
    for name, axis in zip(domain.names, domain.axes, strict=True):
        stride //= axis.size
        keys = [axis.key(p) for p in range(min(axis.size, (count - 1) // stride + 1))]
        keys = keys if for_people else [key_cell(axis, key) for key in keys]
        places = bins // min(stride, max(count, 1)) % min(axis.size, max(count, 1))  # both may be past 64 bits
        if any(isinstance(key, tuple) for key in keys):
            columns[f"{name}_low"] = _each([key[0] if isinstance(key, tuple) else key for key in keys], places)
            columns[f"{name}_high"] = _each([key[1] if isinstance(key, tuple) else key for key in keys], places)
        else:
            columns[name] = _each(keys, places)
            centres = {centre: _each(ends, places) for centre, ends in cell_centres(axis, keys).items()}
            columns |= _places(centres, (*domain.names, *columns))
    return columns


def _each(keys: Sequence[Any], places: NDArray[np.int64]) -> list[Any]:
    """The key at each place: as they are, whatever types they have."""
    found = np.empty(len(keys), dtype=object)
    found[:] = keys
    return list(found[places].tolist())


def _places(centres: dict[str, list[Any]], taken: Iterable[str]) -> dict[str, list[Any]]:
    """Longitude and latitude beside cells, under the names of the rows' own columns, unless something else has them."""
    taken = {*taken, *RESERVED}
    return {name: values for name, values in centres.items() if name not in taken}


def _listed_columns(axis: Listed, count: int) -> dict[str, list[Any]]:
    rows = axis.values[:count] if len(axis.columns) > 1 else [(key,) for key in axis.values[:count]]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(axis.columns)}
    for name, lattice in zip(axis.columns, axis.lattices, strict=False):
        columns |= _places(cell_centres(lattice, columns[name]), columns) if lattice is not None else {}
    return columns


records.UNIONS[Axis] = (
    *(Keys, Ordered, Listed, domains.IntegerRange, domains.Edges, domains.Steps, domains.Days, domains.Hours),
    *(domains.Cells, OrNull, OrOther, Labelled),
)
records.HINTS[Keys, "values"] = records.HINTS[Ordered, "values"] = tuple[Any, ...]
records.HINTS[Listed, "lattices"] = tuple[domains.Lattice | None, ...]


MAX_CHARACTERS = 80
D = TypeVar("D", bound=Domain | None)


def checked_labels(labels: object, columns: Sequence[str]) -> dict[str, str]:
    """Labels by column, or an error. columns: those that the table has; that each label names one is checked there."""
    if not isinstance(labels, Mapping):
        raise errors.WrongType(
            f"labels are words by column. Got {type(labels).__name__} instead.",
            parameter="labels",
            value=labels,
            example={"labels": {"edu": "education"}},
        )
    for column, label in labels.items():
        if not isinstance(label, str) or not label.strip() or len(label) > MAX_CHARACTERS or not label.isprintable():
            raise errors.InvalidParameter(
                f'the label of "{column}" must be one line of 1 to {MAX_CHARACTERS} characters. Got {label!r} instead.',
                parameter="labels",
                value=label,
                example={"labels": {column: "education"}},
            )
    taken = [name for name in columns if name not in labels]
    for column, label in labels.items():
        if label in taken:
            raise errors.InvalidParameter(
                f'"{label}" would stand for the column "{column}" and for another. Give each column words of its own.',
                parameter="labels",
                value=label,
            )
        taken.append(label)
    return dict(labels)


def column_words(column: str, labels: Mapping[str, str]) -> str:
    """What readers call a column: its label, or its name."""
    return labels.get(column) or key_words(column)


def unit_words(unit: Iterable[str], labels: Mapping[str, str]) -> str:
    """What readers call the unit.

    >>> unit_words(["company", "who"], {"who": "person"})
    'company + person'
    """
    return " + ".join(column_words(column, labels) for column in unit)


def labelled_domain(domain: D, labels: Mapping[str, str]) -> D:
    """The domain under the names that readers see, for titles and axes."""
    if domain is None or not labels:
        return domain
    return replace(domain, names=tuple(column_words(name, labels) for name in domain.names))


def labelled_in_words(facts: Iterable[LeftOut], unit: str | None, labels: Mapping[str, str]) -> str:
    """Which rows are not in the numbers, with the unit and the columns as readers call them."""
    return left_out_in_words(labelled_facts(facts, labels), reader_unit(unit, labels))


def reader_unit(unit: str | None, labels: Mapping[str, str]) -> str | None:
    """What readers call a unit of these columns, which stand with " + " between them."""
    return unit and unit_words(unit.split(" + "), labels)


def labelled_facts(facts: Iterable[LeftOut], labels: Mapping[str, str]) -> tuple[LeftOut, ...]:
    """What is left out, with the columns as readers call them."""
    return tuple(
        replace(fact, columns=tuple(column_words(column, labels) for column in fact.columns)) for fact in facts
    )
