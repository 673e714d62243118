"""The predicted error of limits: what they leave out, the noise that they need, and both together."""

from __future__ import annotations

import numpy as np

from leastnoise._support.text import rounded
from leastnoise.pictures import captions
from leastnoise.pictures.picture import Axis, Line, Picture, Points
from leastnoise.releases.limit_errors import kept_in_words
from leastnoise.releases.limit_suggestion import LimitSuggestion

# Drawn in this order, so that both together lie on top.
CURVES = (
    ("noise", "noise", "third", "dotted"),
    ("bias", "left out", "second", "dashed"),
    ("error", "together", "main", ""),
)


def limits(of: LimitSuggestion) -> Picture:
    """Error of a bin against max_rows, each with its best max_per_bin, by powers of ten; the proposal is marked."""
    columns, best = of._columns(), of.errors.best
    rows = np.asarray(columns["max_rows"], dtype=float)
    chosen, least = float(of.errors.max_rows[best]), float(of.error)
    low = least / 30  # what is left out falls to nothing, and a thirtieth of the error no longer matters
    lines = []
    for name, words, style, dashes in CURVES:
        values = np.asarray(columns[name], dtype=float)
        lines.append(Line(rows, np.where(values >= low, values, np.nan), style, dashes, words))  # type: ignore[arg-type]
    unit = of.provenance.whom or "person"
    kept = kept_in_words(of.kept, *of.kept_interval)
    return Picture(
        marks=(*lines, Points(np.array([chosen]), np.array([least]), "ink", 10.0)),
        x=Axis(f"rows per {unit} that count", float(rows.min()), max(float(rows.max()), 1.001 * rows.min()), log=True),
        y=Axis("error of a bin", low, log=True),
        title=f"Proposed: {of.limits_in_words()}",
        caption=(
            f"It keeps about {kept} of the rows. Predicted from counts of units, "
            f"{of.noise.mechanism.capitalize()} noise; {captions.promise(of.guarantee, of.delta)}."
            f"{' SEEDED: hides nothing.' if of.seeded else ''}"
        ),
        alt=f"Predicted error of a bin for every limit; {chosen:g} rows, with {rounded(least)}, are proposed.",
    )
