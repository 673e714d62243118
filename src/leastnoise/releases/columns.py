"""A domain as columns of a table, for frames and files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import domain as domains
from leastnoise import errors
from leastnoise.domain import Axis, Domain, Keys, Labelled, Listed, Ordered, OrNull, OrOther, cell_centres, key_cell
from leastnoise.releases import records

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
