"""Zones on a map, each in the colour of its value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.domain import Zones
from leastnoise.plot import maps
from leastnoise.plot.canvas import INK
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.published import Published
from leastnoise.releases.zone_values import oriented_rings, values_of_zones

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BORDER, EMPTY = "#ffffff", "#eceef1"


def zone_map(
    zones: Zones,
    *,
    raw: Published | ArrayLike | None = None,
    estimate: Published | ArrayLike | None = None,
    signed: bool | None = None,
    ax: Any = None,
) -> Any:
    """What was published and the estimate side by side, a zone in the colour of its value; those without one are grey.

    Where zones overlap, the first of them shows, as `Table.within` gives points to it.

    zones: the public polygons. raw, estimate: a Release, an Estimate, or an array with a value for each zone.
    signed: whether values below zero mean something; left out, those far below the noise do.
    ax: as many Axes as there are pictures. Returns the Axes, or a tuple of them.
    """
    shown = {name: _values(of, zones) for name, of in (("published", raw), ("denoised", estimate)) if of is not None}
    if not shown:
        raise errors.MissingParameter("A map needs values: say raw=release, estimate=release.denoise(), or both.")
    noise = next((of.std for of in (raw, estimate) if isinstance(of, Published)), 0.0)
    colours = maps.scale([shown.get("denoised", next(iter(shown.values())))], signed=signed, noise=noise,
                         all_values=list(shown.values()))  # fmt: skip
    west, south, east, north = zones.box
    corners = np.array([[west, south], [east, north]])
    aspect = 1 / math.cos(math.radians((south + north) / 2)) if max(abs(south), abs(north)) < 89 else 1.0
    axes = maps.panels(ax, len(shown), corners, aspect)
    for axis, (name, values) in zip(axes, shown.items(), strict=True):
        drawn = _panel(axis, zones, values, colours)
        axis.set_aspect(aspect)
        axis.set_title(name, loc="left", fontsize=10.5, fontweight="bold", color=INK, pad=4)
    maps.colour_bar(drawn, axes, colours, raw)
    maps.scale_bar(axes[0], corners)
    maps.write_caption(axes, maps.caption(raw, estimate, "zone"), own=ax is None)
    return axes[0] if len(axes) == 1 else tuple(axes)


def _values(of: Any, zones: Zones) -> Floats:
    if isinstance(of, Published):
        values = of.to_arrow()["value"].to_numpy() if isinstance(of, Estimate) else np.asarray(of.values, dtype=float)
        return values_of_zones(of.domain, np.asarray(values, dtype=float), zones)
    values = np.asarray(of, dtype=float).ravel()
    if values.size != zones.size:
        raise errors.InvalidParameter(f"There are {zones.size:,} zones and {values.size:,} values.")
    return values


def _panel(ax: Axes, zones: Zones, values: Floats, colours: maps.Colours) -> Any:
    from matplotlib import colormaps
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path

    paths = [
        Path.make_compound_path(*(Path(ring, closed=True) for ring in oriented_rings(rings)))
        for rings in reversed(zones.rings)  # what is drawn later lies above, and a point is the first zone's
    ]
    colour_map = colormaps[colours.map].with_extremes(bad=EMPTY)
    drawn = PathCollection(paths, cmap=colour_map, norm=colours.norm, edgecolors=BORDER, linewidths=0.5)
    drawn.set_array(np.ma.masked_invalid(values[::-1]))
    ax.add_collection(drawn)
    west, south, east, north = zones.box
    ax.set(xticks=[], yticks=[], xlim=(west, east), ylim=(south, north))
    ax.spines[:].set_visible(False)
    ax.margins(0.02)
    return drawn
