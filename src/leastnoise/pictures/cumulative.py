"""Cumulative sums along an ordered column: a curve with its band, or one for each key of the other columns."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from leastnoise import errors
from leastnoise._support.text import rounded
from leastnoise._support.validation import Number
from leastnoise.pictures import captions
from leastnoise.pictures.picture import Axis, Band, Line, Mark, Picture
from leastnoise.pictures.tables import column
from leastnoise.pictures.values import axis_of
from leastnoise.releases import labels
from leastnoise.releases.crosstab_table import CumulativeTable

STYLES = (("main", ""), ("second", "dashed"), ("third", "dotted"), ("bar", "dashdot"), ("ink", ""), ("quiet", "dashed"))


def cumulative(curves: CumulativeTable, confidence: Number = 0.95) -> Picture:
    """A curve with its band, or one for each key of the other columns, up to six."""
    table, domain = curves.table, curves.table.domain
    if domain is None:
        raise errors.BadDomain("A table of a set has columns.")
    place = table.columns.index(curves.column)
    others = [axis for i, axis in enumerate(domain.axes) if i != place]
    count = int(np.prod([axis.size for axis in others]))
    if count > len(STYLES):
        raise errors.InvalidParameter(
            f"There would be {count:,} curves, and more than {len(STYLES)} cannot be told apart. Draw a table of fewer "
            "columns or keys.",
            parameter="ax",
        )
    values, low, high = (
        np.moveaxis(np.asarray(each, dtype=float), place, 0).reshape(-1, count)
        for each in (curves.values, *curves.interval(confidence))
    )
    at = np.arange(float(len(values)))
    keys = itertools.product(*([labels.text(axis.key(i)) for i in range(axis.size)] for axis in others))
    marks: list[Mark] = []
    for number, (names, (style, dashes)) in enumerate(zip(keys, STYLES, strict=False)):
        marks.append(Band(at, low[:, number], high[:, number], style))
        marks.append(Line(at, values[:, number], style, dashes, ", ".join(names)))  # type: ignore[arg-type]
    axis = axis_of(column(table, curves.column, domain.axes[place]))
    noise = f"{table.mechanism.capitalize()} noise, standard deviation of a sum at most {curves.std.max():.4g}"
    rest = f"{captions.weak(table)}{captions.seeded(table)}{captions.left_out(table)}"
    return Picture(
        marks=marks,
        x=replace(axis, title=f"{axis.title}, up to and including"),
        y=Axis(f"{table.noun}s, added up", min(0.0, float(low.min()))),
        title=f"Cumulative {table.noun}s",
        caption=f"{noise}; {captions.promise(table.guarantee, table.delta)}.{rest} "
        f"{captions.intervals(table, confidence, 'Bands')}",
        alt=f"{axis.title}: {len(values)} cumulative sums, up to {rounded(float(values[-1].max()))}, off by at most "
        f"{rounded(float((high - low).max()) / 2)}.",
        size=(7.0, 3.4),
    )
