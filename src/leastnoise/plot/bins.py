"""Values and their intervals: bars for few bins, a step line for many, an image for a lattice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats, Number
from leastnoise.plot import canvas, maps, quantiles
from leastnoise.plot.canvas import BLUE, FAINT, INK, ORANGE, QUIET, SKY
from leastnoise.plot.zones import zone_map
from leastnoise.releases import labels
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.labels import MAX_BARS
from leastnoise.releases.lattice_cells import LatticeCells, lattice_cells
from leastnoise.releases.published import Published
from leastnoise.releases.quantile import QuantileRelease

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from leastnoise.domain import Zones
    from leastnoise.graphs import Graph
    from leastnoise.releases.estimate import Estimate

MAX_LETTERS_BELOW, MAX_NAMES_BESIDE = 66, 24  # of the keys of an image
MAX_SLANTED_NAMES = 20  # columns of an image whose names may slant


def release(
    release: Published,
    *,
    estimate: Estimate | None = None,
    graph: Graph | None = None,
    zones: Zones | None = None,
    confidence: Number = 0.95,
    ax: Axes | None = None,
) -> Any:
    """Published values with their intervals, and, where one is given, the estimate beside them.

    With a `graph` or `zones` it is a map of its nodes, or of polygons by name.
    """
    if graph is not None:
        return maps.map(graph, raw=release, estimate=estimate, ax=ax)
    if zones is not None:
        return zone_map(zones, raw=release, estimate=estimate, ax=ax)
    if isinstance(release, QuantileRelease) and release.domain is not None:
        return quantiles.groups(release, confidence=confidence, ax=ax)
    values = np.asarray(release.values, dtype=float)
    caption = canvas.noise_and_promise(release) + canvas.too_few(values)
    cells = lattice_cells(release)
    if cells is not None:
        return _lattice(values, cells, caption, "Published values", ax, release)
    plane = labels.plane(release._shown_domain) if release.covers_domain else None
    if plane is not None:
        return _image(values, plane, caption, "Published values", ax, release)
    low, high = (np.asarray(end, dtype=float) for end in release.interval(confidence))
    better = None if estimate is None else column(estimate, "value")
    caption = f"{caption} {canvas.intervals(release, confidence)}"
    places = labels.with_bars(release.domain if release.covers_domain else None, values)
    if places is None:
        return steps(values, low, high, better, release.bin_names(MAX_BARS), caption, ax)
    some = f"{caption} {labels.largest_in_words(places.size, values.size)}".strip()
    kept = None if better is None else better[places]
    return bars(values[places], low[places], high[places], kept, _names(release, places), some, ax)


def estimate(
    estimate: Estimate, *, graph: Graph | None = None, zones: Zones | None = None, ax: Axes | None = None
) -> Any:
    """Denoised values, with what was published faint behind them; with a `graph` or `zones` a map of them alone."""
    if graph is not None:
        return maps.map(graph, estimate=estimate, ax=ax)
    if zones is not None:
        return zone_map(zones, estimate=estimate, ax=ax)
    values, noisy = column(estimate, "value"), column(estimate, "noisy")
    caption = (
        f"{values.size:,} values denoised by {estimate.method}: error of a bin, estimated without the truth, "
        f"{estimate.rmse_in_words()}; before {estimate.std:.4g}.{canvas.weak(estimate)}{canvas.left_out(estimate)}"
    )
    cells = lattice_cells(estimate)
    if cells is not None:
        return _lattice(values, cells, caption, "Denoised values", ax, estimate)
    plane = labels.plane(estimate._shown_domain)
    if plane is None and len(estimate.values.shape) == 2:
        rows, columns = estimate.values.shape
        plane = labels.Plane(rows, columns, "column", "row", None)
    if plane is not None:
        return _image(values, plane, caption, "Denoised values", ax, estimate)
    places = labels.with_bars(estimate.domain, values)
    if places is None:
        return steps(noisy, None, None, values, estimate.bin_names(MAX_BARS), caption, ax)
    some = f"{caption} {labels.largest_in_words(places.size, values.size)}".strip()
    return bars(noisy[places], None, None, values[places], _names(estimate, places), some, ax)


def _names(published: Published, places: Any) -> tuple[str, list[str]]:
    """What the bins are by, and what these are called."""
    title, names = published.bin_names(int(places.max(initial=0)) + 1)
    return title, [names[int(place)] for place in places]


def column(estimate: Estimate, name: str) -> Floats:
    """One column of an estimate on this machine, whatever library its arrays belong to."""
    return np.asarray(estimate.to_arrow()[name].to_numpy(), dtype=float)


def bars(
    values: Floats,
    low: Floats | None,
    high: Floats | None,
    better: Floats | None,
    names: tuple[str, list[str]],
    caption: str,
    ax: Axes | None,
    better_name: str = "denoised",
) -> Axes:
    """A bar for each bin, with its interval, and a mark where the better value is."""
    ax = canvas.axes(ax, 6.4, 1.8 + 0.27 * max(3, values.size))
    title, ticks = names
    places = np.arange(values.size)
    behind = FAINT if low is None else SKY
    ax.barh(places, values, height=0.66, color=behind, edgecolor=QUIET, linewidth=0.5, label="published")
    if low is not None and high is not None:
        known = ~np.isnan(values)
        ax.hlines(places[known], low[known], high[known], color=INK, linewidth=1.1)
        for place in places[~known]:
            at: Any = {"xytext": (4, 0), "textcoords": "offset points"}
            ax.annotate(TOO_FEW, (low[place], place), **at, color=QUIET, fontsize=8.5, va="center", ha="left")
            ax.update_datalim([(low[place], place), (high[place], place)])
    if better is not None:
        ax.plot(better, places, "D", color=ORANGE, markersize=5, markeredgecolor="white", label=better_name)
        ax.legend(frameon=False, fontsize=9, loc="best")
    ax.axvline(0, color=QUIET, linewidth=0.8)
    ax.set_yticks(places, [_short(tick) for tick in ticks], parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(values.size - 0.4, -0.6)  # the first on top; a share of many bars would be an empty strip
    ax.set_ylabel(title, parse_math=False)
    ax.set_xlabel("value")
    canvas.heading(ax, "Published values" if low is not None else "Denoised values")
    canvas.caption(ax, caption)
    return ax


def steps(
    values: Floats,
    low: Floats | None,
    high: Floats | None,
    better: Floats | None,
    names: tuple[str, list[str]],
    caption: str,
    ax: Axes | None,
    better_name: str = "denoised",
) -> Axes:
    """A line of steps, with a band of intervals, and a line of better values."""
    ax = canvas.axes(ax)
    edges = np.arange(values.size + 1) - 0.5
    if low is not None and high is not None:
        ends = (np.append(low, low[-1]), np.append(high, high[-1]))
        ax.fill_between(edges, *ends, step="post", color=SKY, alpha=0.35, linewidth=0, label="interval")
    ax.stairs(values, edges, color=BLUE if better is None else QUIET, linewidth=0.9, baseline=None, label="published")
    if better is not None:
        ax.stairs(better, edges, color=ORANGE, linewidth=1.5, baseline=None, label=better_name)
    ax.legend(frameon=False, fontsize=9, loc="best")
    ax.axhline(0, color=QUIET, linewidth=0.8)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_xlabel(f"{names[0]}, in its order", parse_math=False)
    ax.set_ylabel("value")
    canvas.heading(ax, "Published values" if low is not None else "Denoised values")
    canvas.caption(ax, caption)
    return ax


def _image(values: Floats, plane: labels.Plane, caption: str, title: str, ax: Axes | None, of: Published) -> Axes:
    if values.size != plane.rows * plane.columns:
        raise errors.InvalidParameter(f"{values.size:,} values do not fill {plane.rows:,} by {plane.columns:,} cells.")
    ax = canvas.axes(ax, 6.0, 5.0)
    colours = maps.scale([values], signed=None)
    picture = ax.imshow(
        values.reshape(plane.rows, plane.columns),
        origin="upper" if plane.downward else "lower",
        extent=plane.extent,
        cmap=colours.map,
        norm=colours.norm,
        interpolation="nearest",
        aspect="equal" if plane.extent else "auto",
    )
    maps.colour_bar(picture, ax, colours, of)
    below = name_cells(ax, plane)
    ax.set_xlabel(plane.across, parse_math=False)
    ax.set_ylabel(plane.along, parse_math=False)
    canvas.heading(ax, title)
    canvas.caption(ax, caption, below=36.0 + below)
    return ax


def _lattice(values: Floats, cells: LatticeCells, caption: str, title: str, ax: Axes | None, of: Published) -> Axes:
    """Cells in their places, as wide and high as they are on the ground."""
    ratio = float(np.clip(cells.height * cells.aspect / cells.width, 0.25, 2.0))
    ax = canvas.axes(ax, *((6.0, 1.8 + 4.6 * ratio) if ratio <= 1 else (1.4 + 4.6 / ratio, 6.4)))
    colours = maps.scale([values], signed=None)
    picture = ax.imshow(
        cells.image(values),
        origin="lower",
        extent=cells.extent,
        cmap=colours.map,
        norm=colours.norm,
        interpolation="nearest",
        aspect=cells.aspect,
    )
    maps.colour_bar(picture, ax, colours, of)
    ax.locator_params(nbins=6)
    ax.ticklabel_format(useOffset=False, style="plain")
    ax.set_xlabel(cells.lattice.x, parse_math=False)
    ax.set_ylabel(cells.lattice.y, parse_math=False)
    canvas.heading(ax, title)
    canvas.caption(ax, caption)
    return ax


def name_cells(ax: Axes, plane: labels.Plane, *, beside: bool = True) -> float:
    """The keys below the cells and `beside` them, in their order; one in several where there are many. Returns the
    points that long names reach below a line."""
    if plane.down is not None and beside:
        places = _spread(plane.rows, MAX_NAMES_BESIDE)
        ax.set_yticks(places, _keys(plane.down, places), parse_math=False)
    if plane.over is None:
        return 0.0
    longest = max(len(name) for name in _keys(plane.over, _spread(plane.columns, MAX_LETTERS_BELOW)))
    places = _spread(plane.columns, MAX_LETTERS_BELOW // (longest + 2))
    if len(places) == plane.columns or plane.columns > MAX_SLANTED_NAMES:
        ax.set_xticks(places, _keys(plane.over, places), parse_math=False)
        return 0.0
    places = list(range(plane.columns))
    names = _keys(plane.over, places)
    ax.set_xticks(places, names, rotation=40, ha="right", rotation_mode="anchor", parse_math=False)
    return 3.6 * longest


def _keys(axis: Any, places: list[int]) -> list[str]:
    return [_short(labels.text(axis.key(place))) for place in places]


def _spread(count: int, most: int) -> list[int]:
    """Every place, or one in so many that at most this many are left."""
    return list(range(0, count, -(-count // max(1, most))))


def _short(name: str, most: int = 28) -> str:
    line = " ".join(name.split())
    return line if len(line) <= most else line[: most - 1] + "…"
