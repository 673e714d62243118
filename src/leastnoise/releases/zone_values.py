"""The values of a release by zone, and zones as shapes that can be filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise.domain import Domain, OrOther, Zones

Values = NDArray[np.float64]


def bins_of_zones(domain: Domain | None, zones: Zones) -> NDArray[np.int64]:
    """The bin of each zone, -1 where it has none. A bin that is no zone, but for missing and other keys, is an error:
    it would be missing from the map."""
    if domain is None or len(domain.axes) != 1:
        raise errors.InvalidParameter(
            "A map of zones needs bins by the one column that names the zones, as Table.within makes it.",
            parameter="zones",
        )
    places = {key: place for place, key in enumerate(zones.keys)}
    found = np.full(zones.size, -1, np.int64)
    for index in range(domain.size):
        key = domain.key(index)
        if key in places:
            found[places[key]] = index
        elif key is not None and not (isinstance(domain.axes[0], OrOther) and index == domain.size - 1):
            raise errors.InvalidParameter(f"There is no zone {key!r} on the map.", parameter="zones", value=key)
    return found


def values_of_zones(domain: Domain | None, values: Values, zones: Zones) -> Values:
    """A value for each zone, NaN where none was published."""
    bins = bins_of_zones(domain, zones)
    return np.where(bins >= 0, np.append(values, np.nan)[bins], np.nan)


def oriented_rings(rings: Sequence[Any]) -> list[Any]:
    """The rings, outer ones one way round and holes the other, so that whoever fills them leaves the holes empty."""
    made = []
    for place, ring in enumerate(rings):
        others = (other for number, other in enumerate(rings) if number != place)
        hole = sum(_holds(other, ring[:-1].mean(axis=0) if len(ring) == 4 else ring[0]) for other in others) % 2 == 1
        x, y = ring[:, 0], ring[:, 1]
        counterclockwise = float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum()) > 0
        made.append(ring[::-1] if counterclockwise == hole else ring)
    return made


def _holds(ring: Any, point: Any) -> bool:
    """Whether a point is inside a ring, by the edges that a ray to the right meets; for drawing alone."""
    (x1, y1), (x2, y2) = ring[:-1].T, ring[1:].T
    crossing = (y1 > point[1]) != (y2 > point[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = crossing & (point[0] < x1 + (x2 - x1) * (point[1] - y1) / (y2 - y1))
    return bool(meets.sum() % 2)
