"""One look for every figure: colours that survive colour-blindness and a grey printer, and a file for print.

A method has one colour, one marker and one dash everywhere (Okabe & Ito's palette, ordered by lightness so that grey
copies still differ; markers tell apart what lightness does not).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

WIDTH = 7.2  # inches: two columns of a printed page

plt.rcParams.update(
    {
        "font.size": 8,
        "axes.titlesize": 8.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "axes.grid": True,
        "grid.color": "#e4e4e4",
        "grid.linewidth": 0.5,
        "axes.axisbelow": True,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.minor.visible": False,
        "ytick.minor.visible": False,
        "legend.fontsize": 7.5,
        "legend.frameon": False,
        "lines.linewidth": 1.4,
        "lines.markersize": 3.8,
        "figure.constrained_layout.use": True,
        "figure.dpi": 100,
        "savefig.dpi": 160,
        "pdf.fonttype": 42,
        "mathtext.default": "regular",
    }
)


class Look(NamedTuple):
    """How a method is drawn."""

    label: str
    colour: str
    marker: str
    dash: Any = "-"


LOOKS = {
    "Lap": Look("Laplace", "#E69F00", "s"),
    "cGM": Look("classical Gaussian", "#7f7f7f", "v"),
    "aGM": Look("analytic Gaussian", "#000000", "o"),
    "JS": Look("aGM + James-Stein", "#56B4E9", "^"),
    "TH": Look("aGM + soft threshold", "#CC79A7", "D"),
    "wavelet": Look("aGM + tree wavelets", "#D55E00", "P"),
    "trend": Look("aGM + trend filter", "#0072B2", "X"),
    "auto": Look("aGM + auto (ours)", "#7CCBA2", "*"),
    "ours": Look("least noise + auto (ours)", "#009E73", "*"),
    "known": Look("least noise + auto, public total (ours)", "#009E73", "*"),
}
INK, PALE = "#222222", "#8a8a8a"


def panels(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    """A figure as wide as the page, `height` inches high."""
    return plt.subplots(rows, columns, figsize=(WIDTH, height), squeeze=False, **options)


def curve(ax: Axes, method: str, x: Any, mean: Any, error: Any = None, **options: Any) -> None:
    """A method's mean with a band of two standard errors."""
    look = LOOKS[method]
    x, mean = np.asarray(x, dtype=float), np.asarray(mean, dtype=float)
    style = {"label": look.label, "color": look.colour, "marker": look.marker, "linestyle": look.dash}
    style["markersize"] = 6 if look.marker == "*" else 3.6  # a star of equal size looks smaller
    if method in ("auto", "ours", "known"):  # wide and behind, so that what coincides with it still shows
        style |= {"linewidth": 2.2, "zorder": 1.9}
    ax.plot(x, mean, **{**style, "markeredgecolor": "white", "markeredgewidth": 0.4, **options})
    if error is not None:
        low, high = mean - 2 * np.asarray(error), mean + 2 * np.asarray(error)
        ax.fill_between(x, np.maximum(low, mean * 0.3), high, color=look.colour, alpha=0.18, linewidth=0)


def classical(ax: Axes, x: Any, mean: Any, error: Any = None) -> None:
    """The classical mechanism: solid where it is a theorem (epsilon < 1), dashed where it is an extrapolation."""
    x, mean = np.asarray(x, dtype=float), np.asarray(mean, dtype=float)
    inside = int((x < 1).sum())
    curve(ax, "cGM", x[:inside], mean[:inside], None if error is None else np.asarray(error)[:inside])
    curve(ax, "cGM", x[max(inside - 1, 0) :], mean[max(inside - 1, 0) :], linestyle=(0, (2, 2)), label="_", marker="")


def legend_below(figure: Figure, ax: Axes, columns: int) -> None:
    """One legend for all panels, under them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=2.4)


class Map(NamedTuple):
    """Where to draw: the places of the junctions, and the streets between them."""

    coordinates: Any
    edges: Any


def city_map(ax: Axes, place: Map, values: Any, *, top: float, size: float = 2.2) -> Any:
    """Junction values over thin streets; negative values are drawn as zero, and all panels share `top`."""
    ax.add_collection(LineCollection(place.coordinates[place.edges], colors="#d9d9d9", linewidths=0.25, zorder=1))
    shown = np.clip(values, 0, top)
    order = np.argsort(shown)
    drawn = ax.scatter(
        *place.coordinates[order].T,
        c=shown[order],
        s=size * (0.35 + 1.65 * np.sqrt(shown[order] / top)),
        cmap="inferno_r",
        norm=PowerNorm(0.5, 0, top),
        linewidths=0,
        zorder=2,
        rasterized=True,  # thousands of dots: a PDF of vectors would be slow to open
    )
    ax.set_aspect(1 / np.cos(np.radians(place.coordinates[:, 1].mean())))
    ax.set_axis_off()
    ax.margins(0.01)
    return drawn


def save(figure: Figure, folder: Path, name: str, *, quick: bool) -> None:
    """PNG for the screen and PDF for print, without dates: the same run makes the same files."""
    figure.savefig(folder / f"{name}.png", metadata={"Software": None})
    if not quick:
        figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
    plt.close(figure)
