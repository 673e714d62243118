"""A table of a set: bars for one column, heat maps for two, side by side on one colour scale, slices for three.

In what was published, cells that cannot be told from zero are hatched: a colour would draw their noise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats, Number
from leastnoise.domain import Domain
from leastnoise.plot import bins, canvas, maps
from leastnoise.plot.canvas import INK, QUIET
from leastnoise.releases import labels
from leastnoise.releases.crosstab_estimate import CrosstabTableEstimate
from leastnoise.releases.crosstab_table import CrosstabTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_SLICES = 6
MAX_HATCHED = 3_000  # cells; of more, each is too small for a pattern
PANEL_INCHES, NAMES_INCHES = 3.5, 1.2  # how wide one heat map is, and the names beside the first


def table(
    release: CrosstabTable,
    *,
    estimate: Any = None,
    truth: Any = None,
    confidence: Number = 0.95,
    ax: Any = None,
) -> Any:
    """A table of a set as a picture. Returns the Axes, or a tuple of them.

    release: the table. estimate: the same table, denoised. truth: its true values, where public ones are known.
    confidence: of the intervals. ax: the Axes to draw on, as many as there are panels.
    """
    shown: dict[str, Floats] = {"published": _cells(release, release.values)}
    if estimate is not None:
        shown["denoised"] = _cells(release, estimate)
    if truth is not None:
        shown["truth"] = _cells(release, truth)
    told = isinstance(estimate, CrosstabTableEstimate)
    error = f" Denoised: the error of a cell is {estimate.errors_in_words()}." if told else ""
    if len(release.columns) == 3 and min(release.shape) <= MAX_SLICES:
        worse = told and estimate.better_than_raw is False
        best = [
            name for name in ("denoised", "truth", "published") if name in shown and not (worse and name == "denoised")
        ]
        return _slices(release, best[0], shown[best[0]], confidence, ax, error)
    if labels.plane(release.domain) is not None:
        panels = {name: (values, _marks(release, name, confidence)) for name, values in shown.items()}
        return _heat_maps(release, panels, release._shown_domain, ax, error)
    low, high = (np.asarray(end, dtype=float) for end in release.interval(confidence))
    better = shown.get("denoised", shown.get("truth"))
    caption = f"{canvas.noise_and_promise(release)} {canvas.intervals(release, confidence)}{error}"
    draw = bins.bars if release.bins <= labels.MAX_BARS else bins.steps
    name = "denoised" if "denoised" in shown else "truth"
    return draw(shown["published"], low, high, better, release.bin_names(labels.MAX_BARS), caption, ax, name)


def _cells(release: CrosstabTable, of: Any) -> Floats:
    """One value a cell, from an array or from what has values."""
    values = np.asarray(of.values if hasattr(of, "values") else of, dtype=float).ravel()
    if values.size != release.bins:
        raise errors.InvalidParameter(f"The table has {release.bins:,} cells and there are {values.size:,} values.")
    return values


def _marks(release: CrosstabTable, name: str, confidence: Number) -> Any:
    """Which published cells have an interval that reaches down to zero; no cell is negative in truth."""
    low = np.asarray(release.interval(confidence).low, dtype=float)
    return low <= 0 if name == "published" else np.zeros(release.bins, dtype=bool)


def _slices(release: CrosstabTable, name: str, shown: Floats, confidence: Number, ax: Any, error: str) -> Any:
    """The best values known, a heat map for each key of the column that has the fewest."""
    cut = int(np.argmin(release.shape))
    domain = release._shown_domain
    if domain is None:
        raise errors.BadDomain("A table of a set has columns.")
    values, marks = (
        np.moveaxis(part.reshape(release.shape), cut, 0) for part in (shown, _marks(release, name, confidence))
    )
    left = [place for place in range(3) if place != cut]
    rest = Domain(tuple(domain.names[place] for place in left), tuple(domain.axes[place] for place in left))
    axis = domain.axes[cut]
    panels = {
        f"{name}, {domain.names[cut]}: {labels.text(axis.key(place))}": (values[place].ravel(), marks[place].ravel())
        for place in range(axis.size)
    }
    return _heat_maps(release, panels, rest, ax, error)


def _heat_maps(
    release: CrosstabTable, panels: dict[str, tuple[Floats, Any]], domain: Domain | None, ax: Any, error: str
) -> Any:
    if domain is not None and _is_lying(domain):
        shape = tuple(axis.size for axis in domain.axes)
        panels = {
            name: (values.reshape(shape).T.ravel(), marks.reshape(shape).T.ravel())
            for name, (values, marks) in panels.items()
        }
        domain = Domain(domain.names[::-1], domain.axes[::-1])
    plane = labels.plane(domain)
    if plane is None:
        raise errors.BadDomain("A heat map needs two columns of at least two keys each.")
    every = [values for values, _ in panels.values()]
    calm = [values for name, (values, _) in panels.items() if not name.startswith("published")] or every
    colours = maps.scale(calm, signed=None, noise=release.std, all_values=every)
    axes = _panels(ax, len(panels), plane)
    for number, (axis, (name, (values, marks))) in enumerate(zip(axes, panels.items(), strict=True)):
        drawn = _heat_map(axis, plane, values, colours)
        _hatch(axis, plane, marks)
        bins.name_cells(axis, plane, beside=number % _across(len(panels)) == 0)
        axis.set_title(name, loc="left", fontsize=10.5, fontweight="bold", color=INK, pad=6, parse_math=False)
        axis.set_xlabel(plane.across, parse_math=False)
    for axis in axes[:: _across(len(panels))]:
        axis.set_ylabel(plane.along, parse_math=False)
    maps.colour_bar(drawn, axes, colours, release)
    hatched = any(marks.any() for _, marks in panels.values())
    marked = " Hatched cells cannot be told from zero." if hatched and axes[0].patches else ""
    caption = canvas.noise_and_promise(release) + marked + error
    wide = axes[0].figure.get_figure(root=True).get_size_inches()[0]
    if ax is None:
        axes[0].figure.supxlabel(canvas.wrapped(caption, 0.85 * wide), x=0.01, ha="left", fontsize=8, color=QUIET)
    else:
        canvas.caption(axes[0], caption, below=60)
    return axes[0] if len(axes) == 1 else tuple(axes)


def _is_lying(domain: Domain) -> bool:
    """Whether its second column has the names, which are read beside the cells, and its first numbers or ranges."""
    first, second = (isinstance(axis.key(0), str) for axis in domain.axes)
    return second and not first


def _across(count: int) -> int:
    """How many panels stand in a row."""
    return count if count <= 3 else math.ceil(count / 2)


def _panels(ax: Any, count: int, plane: labels.Plane) -> list[Axes]:
    if ax is not None:
        given = list(ax) if isinstance(ax, (list, tuple, np.ndarray)) else [ax]
        if len(given) != count:
            raise errors.InvalidParameter(f"{count} panels need as many Axes. Got {len(given)} instead.")
        return [canvas.axes(axis) for axis in given]
    columns = _across(count)
    rows = math.ceil(count / columns)
    wide = PANEL_INCHES if count > 1 else 5.0
    high = float(np.clip(0.24 * plane.rows, 1.6, 4.2))
    figure = canvas.figure(wide * columns + NAMES_INCHES, (high + 1.0) * rows + 0.7)
    made = list(figure.subplots(rows, columns, squeeze=False, sharey=True).ravel())
    for unused in made[count:]:
        unused.remove()
    return [canvas.axes(axis) for axis in made[:count]]


def _heat_map(ax: Axes, plane: labels.Plane, values: Floats, colours: maps.Colours) -> Any:
    picture = ax.imshow(
        values.reshape(plane.rows, plane.columns),
        origin="upper" if plane.downward else "lower",
        cmap=colours.map,
        norm=colours.norm,
        interpolation="nearest",
        aspect="auto",
    )
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return picture


def _hatch(ax: Axes, plane: labels.Plane, marks: Any) -> None:
    from matplotlib.patches import Rectangle

    if plane.rows * plane.columns > MAX_HATCHED:
        return
    for cell in np.flatnonzero(marks):
        row, column = divmod(int(cell), plane.columns)
        style: Any = {"facecolor": "#f0f0f0", "edgecolor": "#a8a8a8", "hatch": "////", "linewidth": 0}
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, **style))
