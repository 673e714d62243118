"""Which rows a question can leave out, from public facts: its limits, its bins, its conditions."""

from __future__ import annotations

import math

from leastnoise.curator.dataset import Dataset
from leastnoise.domain import Axis, Domain, IntegerRange, Keys, OrNull, OrOther, innermost
from leastnoise.privacy.sensitivity import LARGEST_LIMIT, Limits
from leastnoise.releases.left_out import LeftOut, TruncatingKind


def by_limits(limits: Limits, *, bins: int | None) -> list[LeftOut]:
    """The limits that can leave out rows which no other of them leaves out; `bins` is the size of the domain."""
    all_bins = math.inf if bins is None else bins
    in_bin = limits.max_per_bin < limits.max_rows
    of_bins = limits.max_bins < min(all_bins, limits.max_rows)
    implied = in_bin and limits.max_rows >= limits.max_per_bin * (limits.max_bins if of_bins else all_bins)
    rows = limits.max_rows < LARGEST_LIMIT and not implied
    binding: dict[TruncatingKind, bool] = {"max_rows": rows, "max_per_bin": in_bin, "max_bins": of_bins}
    chosen = dict(limits.chosen)
    return [
        LeftOut(name, numbers=(limits.numbers[name],), text=chosen.get(name))
        for name, binds in binding.items()
        if binds
    ]


def by_unit(data: Dataset) -> list[LeftOut]:
    """Rows without a unit, unless its columns cannot be null. (NaN and days that no calendar has are null.) And whether
    a row is a whole unit."""
    kinds = [data.clean.given.schema()[column] for column in data.unit]
    nullable = any(kind.nullable or kind.is_floating() or kind.is_date() or kind.is_timestamp() for kind in kinds)
    missing = [LeftOut("unit is null", columns=data.unit)] if nullable else []
    return [*missing, *([LeftOut("row is a unit")] if data.row_is_unit else [])]


def by_domain(domain: Domain) -> list[LeftOut]:
    """Rows outside the bins; without a key they are outside as well, unless those have a bin of their own. No row is
    outside an axis with a bin for all others."""
    axes = zip(domain.names, domain.axes, strict=True)
    return [by_axis(column, axis) for column, axis in axes if not isinstance(axis, OrOther)]


def by_axis(column: str, axis: Axis) -> LeftOut:
    """Rows whose value is not on the axis."""
    inner = innermost(axis)
    if isinstance(inner, Keys | IntegerRange):
        kind = "not a key or null" if isinstance(axis, OrNull) else "not a key"
    else:
        kind = "outside the bins or null" if isinstance(axis, OrNull) else "outside the bins"
    return LeftOut(kind, columns=(column,), numbers=(inner.size,))  # type: ignore[arg-type]
