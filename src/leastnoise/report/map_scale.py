"""How long a kilometre is on a map of a page: places in kilometres, and a bar of a round length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.report.picture import round_step

KILOMETRES_A_DEGREE = 111.32


def kilometres(coordinates: Floats) -> tuple[Floats, bool]:
    """Degrees as kilometres from the middle, true at its latitude; other coordinates as they are."""
    within = (np.abs(coordinates[:, 0]) <= 180).all() and (np.abs(coordinates[:, 1]) <= 90).all()
    if not within or (coordinates == np.rint(coordinates)).all():
        return coordinates, False
    middle = (coordinates.min(axis=0) + coordinates.max(axis=0)) / 2
    shrink = np.array([math.cos(math.radians(float(middle[1]))), 1.0])
    return (coordinates - middle) * shrink * KILOMETRES_A_DEGREE, True


def scale_bar(places: Floats) -> dict[str, Any]:
    """A round length, about a fifth of the map, at its lower right."""
    low, high = places.min(axis=0), places.max(axis=0)
    wanted = max(float(high[0] - low[0]) / 3, 1e-6)
    length = round_step(wanted)
    right, bottom = float(high[0]), float(low[1])
    name = f"{length:g} km" if length >= 1 else f"{1000 * length:g} m"
    return {"from": [right - length, bottom], "to": [right, bottom], "label": name}


def scale_layers(alt: Any) -> list[Any]:
    """The bar and its name, each above a halo in the colour of the page: what lies below may be dark."""
    bar, name = alt.Chart(alt.NamedData("scale")), alt.Chart(alt.NamedData("scale_name"))
    name = name.encode(longitude="x:Q", latitude="y:Q", text="label:N")
    bars = [bar.mark_geoshape(style=style, filled=False) for style in ("scale_halo", "scale")]
    names = [name.mark_text(style=style, dy=-7) for style in ("scale_name_halo", "scale_name")]
    return [bars[0], names[0], bars[1], names[1]]
