"""A map: values as dots on the coordinates of a graph, its edges as streets.

Noise makes counts negative, and a colour for each of them would draw the noise. So the scale of a count begins at
zero: whatever lies below has the palest colour, and the bar's arrow says that there is more. Values that are
negative in truth, many standard deviations below zero, get two colours that part at zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.graphs.graph import check_graph
from leastnoise.plot import canvas
from leastnoise.plot.canvas import INK, QUIET
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.published import Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from leastnoise.graphs import Graph

METRES_A_DEGREE = 111_320.0
STREET = "#c9ccd1"
MAX_WIDTH_INCHES, MAX_HEIGHT_INCHES = 9.0, 5.6  # of all panels together


class Colours(NamedTuple):
    """A colour map, its norm, and where values lie beyond it."""

    map: str
    norm: Any
    extend: str


def map(  # noqa: A001
    graph: Graph,
    *,
    raw: Published | ArrayLike | None = None,
    estimate: Published | ArrayLike | None = None,
    truth: Published | ArrayLike | None = None,
    signed: bool | None = None,
    ax: Any = None,
) -> Any:
    """Panels side by side on one colour scale: what was published, the estimate, and a truth where a public one is
    known. Each is a Release, an Estimate or an array.

    Returns the Axes, or a tuple of them; `ax` gives as many. `signed` says whether values below zero mean something;
    left out, those far below the noise do.
    """
    given = {"published": raw, "denoised": estimate, "truth": truth}
    check_graph(graph)
    shown = {name: _values(of, graph) for name, of in given.items() if of is not None}
    if not shown:
        raise errors.MissingParameter("A map needs values: say raw=release, estimate=release.denoise(), or both.")
    places = _coordinates(graph)
    noise = next((of.std for of in (raw, estimate) if isinstance(of, Published)), 0.0)
    calm = [v for name, v in shown.items() if name != "published"] or list(shown.values())
    colours = scale(calm, signed=signed, noise=noise, all_values=list(shown.values()))
    aspect = 1 / math.cos(math.radians(float(places[:, 1].mean()))) if in_degrees(places) else 1.0
    axes = panels(ax, len(shown), places, aspect)
    for axis, (name, values) in zip(axes, shown.items(), strict=True):
        dots = _panel(axis, graph, places, values, colours)
        axis.set_aspect(aspect)
        axis.set_title(name, loc="left", fontsize=10.5, fontweight="bold", color=INK, pad=4)
    colour_bar(dots, axes, colours, raw)
    if in_degrees(places):
        scale_bar(axes[0], places)
    write_caption(axes, caption(raw, estimate), own=ax is None)
    return axes[0] if len(axes) == 1 else tuple(axes)


def scale(
    values: list[Floats], *, signed: bool | None, noise: float = 0.0, all_values: list[Floats] | None = None
) -> Colours:
    """One scale for several panels: from zero by square roots, or both ways from zero."""
    canvas.check_installed()
    from matplotlib.colors import CenteredNorm, PowerNorm

    every, calm = (np.concatenate(part) for part in (all_values or values, values))
    every, calm = (part[~np.isnan(part)] for part in (every, calm))  # means of too few rows have no colour
    top, bottom = float(calm.max(initial=-np.inf)), float(calm.min(initial=np.inf))
    if not calm.size:
        every, top, bottom = np.zeros(1), 0.0, 0.0
    if signed is None:
        signed = bottom < -max(6 * noise, 0.3 * max(top, 0.0))
    if signed or top <= 0:
        reach = max(abs(top), abs(bottom)) or 1.0
        return Colours("PuOr", CenteredNorm(0.0, reach), "neither" if every.max() <= reach else "both")
    below, above = bool((every < 0).any()), bool((every > top).any())
    extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get((below, above), "neither")
    return Colours("magma_r", PowerNorm(0.5, 0.0, top, clip=True), extend)


def colour_bar(drawn: Any, axes: Any, colours: Colours, of: Any) -> None:
    """The scale beside the panels, with a few round numbers spread evenly over it."""
    figure = (axes[0] if isinstance(axes, list) else axes).figure
    bar = figure.colorbar(drawn, ax=axes, extend=colours.extend, shrink=0.6, pad=0.02, aspect=28)
    if colours.map != "PuOr":
        top = float(colours.norm.vmax)
        bar.set_ticks(sorted({_round(top * part * part) for part in (0.0, 0.25, 0.5, 0.75)} | {_round(top, down=True)}))
        bar.minorticks_off()
    bar.outline.set_visible(False)
    what = of.kind if isinstance(of, Published) and of.kind in ("count", "sum") else "value"
    bar.set_label(what, fontsize=8.5, color=INK)
    bar.ax.tick_params(labelsize=8.5, colors=QUIET, labelcolor=INK)


def _round(number: float, *, down: bool = False) -> float:
    """To one digit (two for the largest, downward, so that it stays on the scale)."""
    if number <= 0:
        return 0.0
    power = 10 ** (math.floor(math.log10(number)) - down)
    return float((math.floor if down else round)(number / power) * power)


def in_degrees(places: Floats) -> bool:
    """Whether coordinates are longitude and latitude: within their ranges, and not whole numbers."""
    within = (np.abs(places[:, 0]) <= 180).all() and (np.abs(places[:, 1]) <= 90).all()
    return bool(within and (places != np.rint(places)).any())


def _values(of: Any, graph: Graph) -> Floats:
    if isinstance(of, Estimate):  # its values may lie on another device
        of = of.to_arrow()["value"].to_numpy()
    values = np.asarray(of.values if isinstance(of, Published) else of, dtype=float).ravel()
    if values.size != graph.size:
        raise errors.InvalidParameter(f"The graph has {graph.size:,} nodes and there are {values.size:,} values.")
    return values


def _coordinates(graph: Graph) -> Floats:
    if graph.coordinates is None:
        raise errors.MissingParameter(
            "This graph has no places, so no map can be drawn. Say Graph.from_edges(n, edges, coordinates=places)."
        )
    return graph.coordinates


def panels(ax: Any, count: int, places: Floats, aspect: float) -> list[Axes]:
    """The Axes that were given, or those of a figure as wide and high as the places are."""
    if ax is None:
        wide, high = np.ptp(places, axis=0) + 1e-9
        ratio = float(np.clip(high * aspect / wide, 0.3, 3.0))
        width = min(MAX_WIDTH_INCHES / count, MAX_HEIGHT_INCHES / ratio)
        figure = canvas.figure(width * count + 1.1, width * ratio + 0.7, "compressed")
        return list(figure.subplots(1, count, squeeze=False)[0])
    given = list(ax) if isinstance(ax, (list, tuple, np.ndarray)) else [ax]
    if len(given) != count:
        raise errors.InvalidParameter(f"{count} panels need as many Axes. Got {len(given)} instead.")
    return given


def _panel(ax: Axes, graph: Graph, places: Floats, values: Floats, colours: Colours) -> Any:
    from matplotlib.collections import LineCollection

    ax.add_collection(LineCollection(list(places[graph.edges]), colors=STREET, linewidths=0.45, zorder=1))
    height = np.abs(np.asarray(colours.norm(values), dtype=float) - (0.5 if colours.map == "PuOr" else 0.0))
    order = np.argsort(height, kind="stable")  # the large ones on top; what is not a number is not drawn
    order = order[~np.isnan(height[order])]
    size = np.clip(34_000 / max(graph.size, 1), 1.5, 80.0)
    dots = ax.scatter(
        places[order, 0],
        places[order, 1],
        c=values[order],
        s=size * (0.18 + height[order]),
        cmap=colours.map,
        norm=colours.norm,
        linewidths=0,
        zorder=2,
        rasterized=graph.size > 2_000,
    )
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.margins(0.02)
    return dots


def scale_bar(ax: Axes, places: Floats) -> None:
    """A round number of metres, about a third of the map's width, with a halo: what lies below may be dark."""
    from matplotlib import patheffects

    halo = [patheffects.withStroke(linewidth=3.5, foreground="white", alpha=0.85)]
    latitude = float(places[:, 1].mean())
    metres = METRES_A_DEGREE * math.cos(math.radians(latitude))
    wide = float(np.ptp(places[:, 0])) * metres
    power = 10 ** math.floor(math.log10(max(wide / 3, 1e-9)))
    length = max(step * power for step in (1, 2, 5) if step * power <= max(wide / 3, power))
    left = float(places[:, 0].max()) - length / metres
    bottom = float(places[:, 1].min()) + 0.015 * float(np.ptp(places[:, 1]))
    (bar,) = ax.plot([left, left + length / metres], [bottom, bottom], color=INK, linewidth=2, solid_capstyle="butt")
    bar.set(zorder=3, path_effects=[patheffects.withStroke(linewidth=5, foreground="white", alpha=0.85)])
    name = f"{length / 1000:g} km" if length >= 1000 else f"{length:g} m"
    middle = (left + length / metres / 2, bottom)
    place: Any = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center", "zorder": 4}
    ax.annotate(name, middle, fontsize=8, color=INK, path_effects=halo, **place)


def write_caption(axes: list[Axes], text: str, *, own: bool) -> None:
    """Below all panels of a figure of our `own`; below the first panel of somebody else's."""
    if text and own:
        wide = axes[0].figure.get_figure(root=True).get_size_inches()[0]
        axes[0].figure.supxlabel(canvas.wrapped(text, 0.85 * wide), x=0.01, ha="left", fontsize=8, color=QUIET)
    elif text:
        canvas.caption(axes[0], text, below=6)


def caption(raw: object, estimate: object, bin_name: str = "node") -> str:
    """What the noise is, and what it promises; and how what was denoised is off."""
    lines = []
    if isinstance(raw, Published):
        promise = canvas.promise(raw.guarantee, raw.delta)
        few = "" if isinstance(raw, Estimate) else canvas.too_few(np.asarray(raw.values, dtype=float))
        missing = f"{canvas.weak(raw)}{canvas.seeded(raw)}{few}{canvas.left_out(raw)}"
        lines.append(f"Noise of standard deviation {raw.std:.4g}; {promise}.{missing}")
    if isinstance(estimate, Estimate):
        lines.append(f"Denoised by {estimate.method}: estimated error of a {bin_name} {estimate.rmse_in_words()}.")
        lines += [] if isinstance(raw, Published) else [f"{canvas.weak(estimate)}{canvas.left_out(estimate)}".strip()]
    return " ".join(line for line in lines if line)
