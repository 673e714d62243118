"""Zones on a map: public polygons, each with a name, as GeoJSON holds them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import BadDomain, FileProblem, InvalidParameter, MissingParameter, NoSuchFile, WrongType

MAX_CORNERS = 10**7
Ring = NDArray[np.float64]  # n x 2, longitude and latitude; the last corner is the first again


@dataclass(frozen=True, slots=True, eq=False)
class Zones:
    """Public polygons by name, for `Table.within` and for maps.

    keys: the names of the zones, texts or whole numbers, in the order of the file: the public keys of a histogram.
    rings: for each zone the rings of its polygons; a ring inside another is a hole.
    """

    keys: tuple[str, ...] | tuple[int, ...]
    rings: tuple[tuple[Ring, ...], ...]

    @classmethod
    def read(cls, source: Any, *, key: str | None = None) -> Zones:
        """Zones from a GeoJSON FeatureCollection of Polygons and MultiPolygons.

        source: a file, or what `json.load` makes of one.
        key: the property that names a zone. Left out, it is the feature's id. Features of one name are one zone.
        """
        if isinstance(source, Zones):
            return source
        found = _load(source) if isinstance(source, str | os.PathLike) else source
        if not isinstance(found, Mapping) or found.get("type") != "FeatureCollection":
            raise WrongType("zones are a GeoJSON FeatureCollection of polygons: a file, or what was read from one.")
        features = found.get("features")
        if not isinstance(features, list) or not features:
            raise BadDomain("the GeoJSON has no feature, so there is no zone.")
        rings: dict[Any, list[Ring]] = {}
        for number, feature in enumerate(features, 1):
            rings.setdefault(_name(feature, key, number, features), []).extend(_rings(feature, number))
        if len({type(name) for name in rings}) > 1:
            raise WrongType("the names of the zones must be all texts or all whole numbers. Use another property.")
        if sum(len(ring) for each in rings.values() for ring in each) > MAX_CORNERS:
            raise BadDomain(f"zones may have {MAX_CORNERS:,} corners in all. Simplify their borders.")
        return cls(tuple(rings), tuple(tuple(each) for each in rings.values()))

    @property
    def size(self) -> int:
        """How many zones."""
        return len(self.keys)

    @property
    def digest(self) -> str:
        """Which zones these are, in 16 digits: of their names and corners."""
        made = hashlib.sha256(json.dumps(self.keys).encode(errors="replace"))
        for rings in self.rings:
            for ring in rings:
                made.update(np.asarray(ring.shape, "<i8").tobytes() + ring.astype("<f8").tobytes())
        return made.hexdigest()[:16]

    @property
    def box(self) -> tuple[float, float, float, float]:
        """West, south, east and north of all zones."""
        corners = np.concatenate([ring for rings in self.rings for ring in rings])
        (west, south), (east, north) = corners.min(axis=0), corners.max(axis=0)
        return float(west), float(south), float(east), float(north)


def _load(path: str | os.PathLike[str]) -> Any:
    if not os.path.isfile(path):
        raise NoSuchFile(f"There is no file {os.fspath(path)!r} with zones. Check the path.")
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (ValueError, RecursionError):
        pass
    raise FileProblem(f"{os.fspath(path)!r} is no GeoJSON: it cannot be read as JSON in UTF-8.")


def _name(feature: Any, key: str | None, number: int, features: list[Any]) -> str | int:
    if not isinstance(feature, Mapping):
        raise WrongType(f"feature {number} of the GeoJSON is no object.")
    properties = feature.get("properties") or {}
    name = feature.get("id") if key is None else properties.get(key)
    if name is None and key is None:
        names = ", ".join(sorted(str(each) for each in properties)) or "none"
        raise MissingParameter(
            f"feature {number} of the GeoJSON has no id, so a property must name the zones. It has {names}.",
            parameter="key",
            example={"key": next(iter(properties), "name")},
        )
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise InvalidParameter(
            f"feature {number} of the GeoJSON has no text or whole number as its {key or 'id'!r}. Got {name!r} "
            "instead.",
            parameter="key",
            value=key,
        )
    return name


def _rings(feature: Mapping[str, Any], number: int) -> list[Ring]:
    geometry = feature.get("geometry")
    kind = geometry.get("type") if isinstance(geometry, Mapping) else None
    if not isinstance(geometry, Mapping) or kind not in ("Polygon", "MultiPolygon"):
        raise WrongType(f"feature {number} of the GeoJSON is {kind or 'without a place'}, and zones are polygons.")
    try:
        polygons = [geometry["coordinates"]] if kind == "Polygon" else list(geometry["coordinates"])
        found = [_corners(ring) for polygon in polygons for ring in polygon]
    except (KeyError, TypeError, ValueError, OverflowError):  # (a whole number of a thousand digits)
        found = []
    if not found:
        raise BadDomain(f"feature {number} of the GeoJSON has no rings of coordinates, as a {kind} has.")
    return [_closed(ring, number) for ring in found]


def _corners(ring: Any) -> Ring:
    return np.array([corner[:2] for corner in ring], dtype=np.float64)


def _closed(ring: Ring, number: int) -> Ring:
    if ring.ndim != 2 or ring.shape[1] != 2 or len(ring) < 3 or not np.isfinite(ring).all():
        raise BadDomain(f"a ring of feature {number} has fewer than three corners, or one that is no pair of numbers.")
    if np.abs(ring[:, 0]).max() > 180 or np.abs(ring[:, 1]).max() > 90:
        raise BadDomain(
            f"feature {number} of the GeoJSON is outside the degrees of longitude and latitude. GeoJSON is in WGS 84; "
            "convert the zones to it first."
        )
    closed = ring if (ring[0] == ring[-1]).all() else np.concatenate([ring, ring[:1]])
    closed.flags.writeable = False
    return closed
