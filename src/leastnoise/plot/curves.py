"""Cumulative sums along an ordered column: a curve with its band, or one for each key of the other columns."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Number
from leastnoise.plot import canvas
from leastnoise.plot.canvas import BLUE, GREEN, INK, ORANGE, QUIET, SKY
from leastnoise.releases import labels
from leastnoise.releases.cumulative import CumulativeTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_CURVES = 6
MAX_NAMES = 8  # of keys below the curve
STYLES = ((BLUE, "-"), (ORANGE, "--"), (GREEN, ":"), (SKY, "-."), (INK, "-"), (QUIET, "--"))


def cumulative(curves: CumulativeTable, *, confidence: Number = 0.95, ax: Axes | None = None) -> Axes:
    """A curve with its band, or one for each key of the other columns, up to six. Returns the Axes.

    curves: what `release["age"].cumulative()` gave. confidence: of the bands, each sum by itself.
    ax: where to draw; left out, in a new figure.
    """
    table, domain = curves.table, curves.table.domain
    if domain is None:
        raise errors.BadDomain("A table of a set has columns.")
    place = table.columns.index(curves.column)
    others = [axis for i, axis in enumerate(domain.axes) if i != place]
    count = int(np.prod([axis.size for axis in others]))
    if count > MAX_CURVES:
        raise errors.InvalidParameter(
            f"There would be {count:,} curves, and more than {MAX_CURVES} cannot be told apart. Draw a table of fewer "
            "columns or keys.",
            parameter="ax",
        )
    ax = canvas.axes(ax)
    low, high = curves.interval(confidence)
    values, low, high = (
        np.moveaxis(np.asarray(each, dtype=float), place, 0).reshape(-1, count) for each in (curves.values, low, high)
    )
    steps = np.arange(len(values))
    keys = itertools.product(*([labels.text(axis.key(i)) for i in range(axis.size)] for axis in others))
    for number, (names, (colour, line)) in enumerate(zip(keys, STYLES, strict=False)):
        ax.fill_between(steps, low[:, number], high[:, number], color=colour, alpha=0.22, linewidth=0)
        ax.plot(steps, values[:, number], color=colour, linestyle=line, linewidth=1.6, label=", ".join(names))
    if count > 1:
        legend = ax.legend(frameon=False, fontsize=9, labelcolor=INK, loc="best")
        for text in legend.get_texts():
            text.set_parse_math(False)
    axis = domain.axes[place]
    named = np.unique(np.linspace(0, len(values) - 1, min(MAX_NAMES, len(values))).astype(int))
    ax.set_xticks(named, [labels.text(axis.key(int(i))) for i in named], parse_math=False)
    ax.set_xlim(-0.5, len(values) - 0.5)
    ax.set_xlabel(f"{table._words(curves.column)}, up to and including", parse_math=False)
    ax.set_ylabel(f"{table.noun}s, added up")
    canvas.heading(ax, f"Cumulative {table.noun}s")
    noise = f"{table.mechanism.capitalize()} noise, standard deviation of a sum at most {curves.std.max():.4g}"
    promise = canvas.promise(table.guarantee, table.delta)
    rest = f"{canvas.weak(table)}{canvas.seeded(table)}{canvas.left_out(table)}"
    canvas.caption(ax, f"{noise}; {promise}.{rest} {canvas.intervals(table, confidence, 'Bands')}")
    return ax
