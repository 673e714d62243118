"""The zone that holds each row's point: a fixed function of the row and of public polygons."""

from __future__ import annotations

import math
from typing import Any

from leastnoise.curator import description
from leastnoise.curator.aggregate import zone_lookup
from leastnoise.curator.aggregate.binning import as_double, double_literal
from leastnoise.curator.aggregate.zone_lookup import ZoneLookup
from leastnoise.curator.dataset import Dataset, check_new_name
from leastnoise.curator.engines.column_names import check_names
from leastnoise.curator.engines.temporary_names import unique
from leastnoise.curator.public_join import attached
from leastnoise.domain import Zones
from leastnoise.errors import InvalidParameter


def add_zones(data: Dataset, zones: Any, *, lon: str, lat: str, name: str, key: str | None) -> Dataset:
    """The rows with a column of zones, null where none holds the point."""
    places = Zones.read(zones, key=key)
    for column in (lon, lat):
        data.check_usable(column)
    check_names([name])
    if name in data.columns:
        raise InvalidParameter(f'there is a column "{name}" already. Use another name.', parameter="name")
    check_new_name(name, data.columns)
    zone_lookup.prepare()
    points = [as_double(data.rows[column], column).fill_null(double_literal(math.nan)) for column in (lon, lat)]
    number = unique("zone")
    rows = data.rows.mutate(**{number: data.engine.map_points(ZoneLookup.of(places), *points, result="int64")})
    numbers = [(place,) for place in range(places.size)]
    rows = attached(rows, [rows[number]], numbers, {name: places.keys}).drop(number)
    return data.with_rows(rows, description.zones(name, lon, lat, places.size, places.digest))
