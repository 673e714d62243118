"""A picture by matplotlib: an Axes comes in, or a new Figure is made, and an Axes goes out.

Nothing global is touched: pyplot is not imported. `picture.figure.savefig("picture.png")` writes a file.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise.pictures import palette
from leastnoise.pictures.picture import (
    Areas,
    Axis,
    Band,
    Bars,
    Cells,
    Line,
    Mark,
    Picture,
    Points,
    Ranges,
    Segments,
    Shades,
    Words,
    extent,
    short_number,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, QUIET, LINE = (palette.LIGHT[name] for name in ("ink", "quiet", "line"))
DASHES: dict[str, Any] = {"": "-", "dashed": (0, (5, 2)), "dotted": (0, (1.2, 1.4)), "dashdot": (0, (6, 2, 1.2, 2))}
LETTERS_PER_INCH, LEAST_LETTERS = 16.5, 34  # of the caption's type, and of a line
MAX_MARKED = 3_000  # cells; of more, each is too small for a pattern


def check_installed() -> None:
    """Raise MissingPackage where there is no matplotlib: before anything is imported from it."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise errors.MissingPackage.named("matplotlib", "A picture", extra="plot") from None


def figure(picture: Picture, ax: Axes | None = None) -> Axes:
    """The picture on its own, on the Axes given or in a new figure."""
    made: Axes = panels([picture], ax)
    return made


def panels(pictures: Sequence[Picture], ax: Any = None) -> Any:
    """Pictures side by side on one scale of shades, the caption of the first below; the Axes, or a tuple of them."""
    check_installed()
    axes, own, first = _panel_axes(pictures, ax), ax is None, pictures[0]
    for axis, picture in zip(axes, pictures, strict=True):
        drawn = _draw(picture, axis)
        axis.set_title(picture.title, loc="left", fontsize=11, fontweight="bold", color=INK, pad=8, parse_math=False)
        if own and picture.y.title == first.y.title and not axis.get_subplotspec().is_first_col():  # type: ignore[union-attr]
            axis.set_ylabel("")
    if first.shades is not None:
        _colour_bar(drawn, axes, first.shades)
    if first.caption:
        _caption(axes[0], first.caption, own)
    return axes[0] if len(axes) == 1 else tuple(axes)


def _panel_axes(pictures: Sequence[Picture], ax: Any) -> list[Axes]:
    if ax is not None:
        given = list(ax) if isinstance(ax, (list, tuple, np.ndarray)) else [ax]
        if len(given) != len(pictures):
            raise errors.InvalidParameter(f"{len(pictures)} panels need as many Axes (got {len(given)}).")
        return given
    across = len(pictures) if len(pictures) <= 3 else math.ceil(len(pictures) / 2)
    down = math.ceil(len(pictures) / across)
    wide, high = pictures[0].size
    bare = pictures[0].bare
    more = (1.1, 0.7) if len(pictures) > 1 else (0.0, 0.0)
    made = _new((wide * across + more[0], high * down + more[1]), "compressed" if bare else "constrained")
    shared = not bare and all(picture.y.names == pictures[0].y.names for picture in pictures)
    every = list(made.subplots(down, across, squeeze=False, sharey=shared).ravel())
    for unused in every[len(pictures) :]:
        unused.remove()
    return every[: len(pictures)]


def _new(size: tuple[float, float], layout: Literal["constrained", "compressed"] = "constrained") -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout=layout, dpi=100, facecolor="white")


def _draw(picture: Picture, ax: Axes) -> Any:
    """All of it but the title and the caption; what the last mark with values became."""
    shaded = None
    for mark in picture.marks:
        shaded = _mark(mark, ax, picture.shades) or shaded
    if picture.bare:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.margins(0.02)
    else:
        _style(picture, ax)
    if picture.aspect:
        ax.set_aspect(picture.aspect)
    if picture.scale_bar is not None:
        _scale_bar(picture, ax)
    handles, names = ax.get_legend_handles_labels()
    if names:
        legend = ax.legend(handles, names, frameon=False, fontsize=8.5, labelcolor=INK, handlelength=2.4)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return shaded


def _style(picture: Picture, ax: Axes) -> None:
    heat = any(isinstance(mark, Cells) for mark in picture.marks)
    ax.spines[["top", "right", *(("left", "bottom") if heat else ())]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LINE)
    ax.tick_params(colors=QUIET, labelsize=9, labelcolor=INK)
    for name, axis in (("x", picture.x), ("y", picture.y)):
        _side(ax, name, axis, heat)
    if picture.downward:
        low, high = extent(picture, "y")
        ax.set_ylim(high, low)
    if picture.top is not None and picture.top.names is not None:
        above = ax.secondary_xaxis("top")
        places = [at for at, _ in picture.top.names]
        above.set_xticks(places, [name for _, name in picture.top.names])
        above.minorticks_off()
        above.tick_params(colors=QUIET, labelsize=8.5, labelcolor=QUIET)
        above.spines["top"].set_color(LINE)
        above.set_xlabel(picture.top.title, fontsize=8.5, color=QUIET)


def _side(ax: Axes, name: Literal["x", "y"] | str, axis: Axis, heat: bool) -> None:
    getattr(ax, f"set_{name}label")(axis.title, fontsize=9.5, color=INK, parse_math=False)
    if axis.log:
        getattr(ax, f"set_{name}scale")("log")
    getattr(ax, f"set_{name}lim")(axis.low, axis.high)
    if axis.names is not None:
        slanted: Any = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if axis.slanted else {}
        places, texts = [at for at, _ in axis.names], [text for _, text in axis.names]
        getattr(ax, f"set_{name}ticks")(places, texts, parse_math=False, **slanted)
        if name == "y" or heat:
            ax.tick_params(axis=name, length=0)  # type: ignore[arg-type]
        if axis.indented:
            ax.tick_params(axis=name, pad=5.0 * max(map(len, texts), default=0) + 8)  # type: ignore[arg-type]
            for label in ax.get_yticklabels():
                label.set_horizontalalignment("left")
    elif not axis.log:
        getattr(ax, f"{name}axis").set_major_formatter(lambda value, _: short_number(value))


def _mark(mark: Mark, ax: Axes, shades: Shades | None) -> Any:
    match mark:
        case Line():
            style = {"color": _colour(mark.style), "linewidth": mark.width, "linestyle": DASHES[mark.dashes]}
            ax.plot(mark.x, mark.y, label=mark.name or None, **style)
        case Band():
            look: Any = {"color": _colour(mark.style), "alpha": 0.22, "linewidth": 0}
            ax.fill_between(mark.x, mark.low, mark.high, label=mark.name or None, **look)
        case Bars():
            wide = np.asarray(mark.end, float) - np.asarray(mark.start, float)
            look = {"hatch": "////", "facecolor": "white", "edgecolor": QUIET} if mark.striped else {}
            look = look or {"color": _colour(mark.style)}
            ax.barh(mark.y, wide, left=mark.start, height=mark.height, label=mark.name or None, **look)
        case Ranges():
            ax.hlines(mark.y, mark.low, mark.high, color=_colour(mark.style), linewidth=1.1)
        case Points():
            return _points(mark, ax, shades)
        case Segments():
            from matplotlib.collections import LineCollection

            ax.add_collection(LineCollection(list(mark.ends), colors="#c9ccd1", linewidths=0.45, zorder=1))
        case Areas():
            return _areas(mark, ax, shades)
        case Cells():
            return _cells(mark, ax, shades)
        case Words():
            _words(mark, ax)
    return None


def _colour(style: str) -> str:
    return palette.LIGHT.get(style, style)


def _shading(shades: Shades | None) -> dict[str, Any]:
    """The colour map and the norm, whose ends are the scale's."""
    from matplotlib.colors import LinearSegmentedColormap, Normalize, PowerNorm

    assert shades is not None
    ramp = palette.BOTH_WAYS if shades.kind == "both" else palette.RAMP
    colours = LinearSegmentedColormap.from_list("leastnoise", ramp["light"]).with_extremes(bad=palette.LIGHT["none"])
    if shades.kind == "root":
        return {"cmap": colours, "norm": PowerNorm(0.5, shades.low, shades.high, clip=True)}
    return {"cmap": colours, "norm": Normalize(shades.low, shades.high, clip=True)}


def _points(mark: Points, ax: Axes, shades: Shades | None) -> Any:
    shape = "D" if mark.diamonds else "o"
    if mark.values is None or shades is None:
        edge: Any = {"markeredgecolor": "white"} if mark.diamonds else {}
        look: Any = {"color": _colour(mark.style), "markersize": 0.72 * mark.size, **edge}
        ax.plot(mark.x, mark.y, shape, label=mark.name or None, **look)
        return None
    parts = shades.part(mark.values)
    height = np.abs(parts - 0.5) * 2 if shades.kind == "both" else parts
    order = np.argsort(height, kind="stable")  # the large ones on top; what is not a number is not drawn
    order = order[~np.isnan(height[order])]
    size = (0.72 * mark.size * (0.4 + 0.6 * height[order])) ** 2
    return ax.scatter(
        np.asarray(mark.x)[order],
        np.asarray(mark.y)[order],
        c=np.asarray(mark.values, float)[order],
        s=size,
        linewidths=0,
        zorder=2,
        rasterized=order.size > 2_000,
        **_shading(shades),
    )


def _areas(mark: Areas, ax: Axes, shades: Shades | None) -> Any:
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path

    paths = [Path.make_compound_path(*(Path(ring, closed=True) for ring in rings)) for rings in mark.rings]
    drawn = PathCollection(paths, edgecolors="white", linewidths=0.5, **_shading(shades))
    drawn.set_array(np.ma.masked_invalid(np.asarray(mark.values, float)))
    ax.add_collection(drawn)
    ax.autoscale_view()
    return drawn


def _cells(mark: Cells, ax: Axes, shades: Shades | None) -> Any:
    drawn = ax.imshow(
        mark.values,
        origin="upper" if mark.downward else "lower",
        extent=mark.extent if not mark.downward else (*mark.extent[:2], mark.extent[3], mark.extent[2]),
        interpolation="nearest",
        aspect="auto",
        **_shading(shades),
    )
    if mark.marked is not None and mark.values.size <= MAX_MARKED:
        _hatch(mark, ax)
    return drawn


def _hatch(mark: Cells, ax: Axes) -> None:
    from matplotlib.patches import Rectangle

    rows, columns = mark.values.shape
    left, right, bottom, top = mark.extent
    wide, high = (right - left) / columns, (top - bottom) / rows
    style: Any = {"facecolor": "#f0f0f0", "edgecolor": "#a8a8a8", "hatch": "////", "linewidth": 0}
    for row, column in zip(*np.nonzero(mark.marked), strict=True):
        ax.add_patch(Rectangle((left + column * wide, bottom + row * high), wide, high, **style))


def _words(mark: Words, ax: Axes) -> None:
    side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
    shift = (0.72 * mark.shift[0], 0.72 * mark.shift[1])
    at: Any = {"xytext": shift, "textcoords": "offset points", "ha": side, "va": "center", "annotation_clip": False}
    for x, y, text in zip(mark.x, mark.y, mark.texts, strict=True):
        note = ax.annotate(text, (x, y), fontsize=8.5, color=_colour(mark.style), **at)
        note.set_parse_math(False)
        if mark.halo:
            from matplotlib import patheffects

            note.set_path_effects([patheffects.withStroke(linewidth=3, foreground="white", alpha=0.85)])


def _colour_bar(drawn: Any, axes: list[Axes], shades: Shades) -> None:
    bar = axes[0].figure.colorbar(drawn, ax=axes, shrink=0.6, pad=0.02, aspect=28)
    bar.set_ticks(shades.ticks, labels=[short_number(tick) for tick in shades.ticks])
    bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label(shades.title or "value", fontsize=8.5, color=INK)
    bar.ax.tick_params(labelsize=8.5, colors=QUIET, labelcolor=INK)


def _scale_bar(picture: Picture, ax: Axes) -> None:
    """A round length at the lower right, with a halo: what lies below may be dark."""
    from matplotlib import patheffects

    assert picture.scale_bar is not None
    length, name = picture.scale_bar
    high, bottom = extent(picture, "x")[1], extent(picture, "y")[0]
    (bar,) = ax.plot([high - length, high], [bottom, bottom], color=INK, linewidth=2, solid_capstyle="butt")
    bar.set(zorder=3, path_effects=[patheffects.withStroke(linewidth=5, foreground="white", alpha=0.85)])
    halo = [patheffects.withStroke(linewidth=3.5, foreground="white", alpha=0.85)]
    at: Any = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center", "zorder": 4}
    ax.annotate(name, (high - length / 2, bottom), fontsize=8, color=INK, path_effects=halo, **at)


def _caption(ax: Axes, text: str, own: bool) -> None:
    """Below all of a figure of our own, or below the Axes that were given."""
    root = ax.figure.get_figure(root=True)
    style: Any = {"fontsize": 8, "color": QUIET, "linespacing": 1.35, "parse_math": False}
    wide = root.get_size_inches()[0] * (1.0 if own else ax.get_position().width)
    wrapped = "\n".join(textwrap.wrap(text, max(LEAST_LETTERS, int(LETTERS_PER_INCH * wide))))
    if own:
        root.supxlabel(wrapped, x=0.01, ha="left", **style)
    else:
        below: Any = {"xycoords": "axes fraction", "xytext": (0, -36), "textcoords": "offset points", "va": "top"}
        ax.annotate(wrapped, (0, 0), **below, **style)
