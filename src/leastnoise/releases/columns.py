"""A domain as columns of a table, and back: what a frame or a file needs of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from leastnoise import domain as domains
from leastnoise import errors
from leastnoise.domain import Axis, Domain, Keys, Labelled, Listed, Ordered, OrNull, OrOther, cell_centres, key_cell

if TYPE_CHECKING:
    import pyarrow as pa

_TYPES: dict[str, Any] = {
    t.__name__: t
    for t in (
        domains.IntegerRange,
        domains.Edges,
        domains.Steps,
        domains.Days,
        domains.Hours,
        domains.Lattice,
        domains.Cells,
    )
}


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
    stride = domain.size
    for name, axis in zip(domain.names, domain.axes, strict=True):
        stride //= axis.size
        keys = [axis.key(p) for p in range(min(axis.size, (count - 1) // stride + 1))]
        keys = keys if for_people else [key_cell(axis, key) for key in keys]
        column = [keys[i // stride % axis.size] for i in range(count)]
        if any(isinstance(key, tuple) for key in keys):
            columns[f"{name}_low"] = [key[0] if isinstance(key, tuple) else key for key in column]
            columns[f"{name}_high"] = [key[1] if isinstance(key, tuple) else key for key in column]
        else:
            columns[name] = column
            columns |= _places(cell_centres(axis, column), (*domain.names, *columns))
    return columns


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


def write_domain(domain: Domain | None) -> list[dict[str, Any]] | None:
    """The axes as JSON; explicit keys stay in their column."""
    if domain is None:
        return None
    return [{"name": n, "axis": _write(axis)} for n, axis in zip(domain.names, domain.axes, strict=True)]


def read_domain(facts: list[dict[str, Any]] | None, table: pa.Table | None) -> Domain | None:
    """The domain that `write_domain` wrote, explicit keys taken from their column of the table."""
    if facts is None or table is None:
        return None
    if facts and facts[0]["axis"]["type"] == "Listed":
        columns = tuple(facts[0]["axis"]["columns"])
        cells = [table[name].to_pylist() for name in columns]
        found = domains.listed(columns, cells[0] if len(cells) == 1 else list(zip(*cells, strict=True)))
        lattices = dict(zip(columns, map(_read, facts[0]["axis"].get("lattices", [])), strict=False))
        return domains.with_lattices(found, lattices)
    stride = table.num_rows
    names, axes = [], []
    for fact in facts:
        axis = _read(fact["axis"])
        if axis is None:  # explicit keys: every stride-th row names the next one
            size = fact["axis"]["size"]
            if not 0 < size <= table.num_rows:
                raise errors.BadDomain(f"{size} keys cannot stand in {table.num_rows} rows.")
            stride //= size
            nulls, other = fact["axis"].get("nulls", False), fact["axis"].get("other")
            more = nulls or other is not None
            cells = table[fact["name"]].take([i * stride for i in range(size - more)]).to_pylist()
            axis = _keys(fact["axis"])(tuple(cells))
            axis = OrNull(axis) if nulls else axis if other is None else OrOther(axis, other)
        else:
            stride //= axis.size
        names.append(fact["name"])
        axes.append(axis)
    return Domain(tuple(names), tuple(axes))


def write_axis(axis: Axis) -> dict[str, Any]:
    """One axis as JSON, explicit keys included: for files whose rows are not the bins."""
    if isinstance(axis, OrNull | OrOther):
        return {"type": type(axis).__name__, "axis": write_axis(axis.axis), **_label(axis)}
    if isinstance(axis, Keys):
        return {"type": "Keys", "values": [_write(key) for key in axis.values], **_order(axis)}
    found: dict[str, Any] = _write(axis)
    return found


def read_axis(facts: dict[str, Any]) -> Axis:
    """The axis that `write_axis` wrote."""
    axis: Axis = _read(facts)
    return axis


def _label(axis: OrNull | OrOther) -> dict[str, str]:
    """What the bin for all others is called."""
    return {"label": axis.label} if isinstance(axis, OrOther) else {}


def _order(keys: Keys) -> dict[str, bool]:
    """What is said of keys that were declared to be in order; nothing of others."""
    return {"ordered": True} if isinstance(keys, Ordered) else {}


def _keys(facts: dict[str, Any]) -> type[Keys]:
    return Ordered if facts.get("ordered") is True else Keys


def _write(value: Any) -> Any:
    if isinstance(value, Keys):
        return {"type": "Keys", "size": value.size, **_order(value)}
    if isinstance(value, Listed):
        facts: dict[str, Any] = {"type": "Listed", "columns": list(value.columns)}
        return {**facts, "lattices": [_write(each) for each in value.lattices]} if value.lattices else facts
    if isinstance(value, OrNull | OrOther):
        inner = _write(value.axis)
        if inner["type"] == "Keys":
            more = {"nulls": True} if isinstance(value, OrNull) else {"other": value.label}
            return {**inner, "size": value.size, **more}
        return {"type": type(value).__name__, "axis": inner, **_label(value)}
    if isinstance(value, Labelled):  # the column holds the labels, so its keys stand here
        keys = value.axis
        return {"type": "Labelled", "labels": list(value.labels), "axis": write_axis(keys)}
    if type(value).__name__ in _TYPES:
        return {"type": type(value).__name__, **{f.name: _write(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, date):  # a datetime is one, too; so is a pandas Timestamp
        return {"type": "datetime" if isinstance(value, datetime) else "date", "iso": value.isoformat()}
    return list(value) if isinstance(value, tuple) else value


def _read(value: Any) -> Any:
    """An axis, or one of the values that it is made of; None for keys that stand in their column."""
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, dict):
        return value
    facts = dict(value)
    kind = facts.pop("type")
    if kind == "Keys":
        return _keys(facts)(tuple(map(_read, facts["values"]))) if "values" in facts else None
    if kind == "OrNull":
        return OrNull(_read(facts["axis"]))
    if kind == "OrOther":
        return OrOther(_read(facts["axis"]), facts["label"])
    if kind == "Labelled":
        return Labelled(_read(facts["axis"]), tuple(facts["labels"]))
    if kind in ("date", "datetime"):
        return (date if kind == "date" else datetime).fromisoformat(facts["iso"])
    return _TYPES[kind](**{name: _read(item) for name, item in facts.items()})
