"""How noise, denoisers and limits were chosen: mechanisms compared, penalties, weights of a mixture, limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support.text import rounded
from leastnoise.pictures import captions
from leastnoise.pictures.captions import in_percent
from leastnoise.pictures.picture import Axis, Bars, Line, Picture, Points, Ranges, Words
from leastnoise.privacy.comparison import Comparison
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.limit_errors import kept_in_words
from leastnoise.releases.limit_suggestion import LimitSuggestion

# Drawn in this order, so that both together lie on top.
CURVES = (
    ("noise", "noise", "third", "dotted"),
    ("bias", "left out", "second", "dashed"),
    ("error", "together", "main", ""),
)


def comparison(of: Comparison) -> Picture:
    """The standard deviation of every mechanism as a bar, the half-width of its 95% interval as a line beyond it."""
    rows, best = list(of.rows), of.best.mechanism
    places, std = np.arange(float(len(rows))), np.array([row.std for row in rows])
    half = np.array([row.half_width for row in rows])
    first = np.array([row.mechanism == best for row in rows])
    texts = [
        f"{row.std:.4g}   {'least noise' if row.mechanism == best else f'{row.variance_ratio:.3g} × variance'}"
        for row in rows
    ]
    many = "one number" if of.bins == 1 else f"{of.bins:,} bins"
    return Picture(
        marks=(
            *(
                Bars(places[which], np.zeros(int(which.sum())), std[which], style)
                for which, style in ((first, "main"), (~first, "none"))
            ),
            Ranges(places, std, half),
            Words(half, places, texts),
        ),
        x=Axis("standard deviation (bar), 95% half-width (line)", 0.0, 1.42 * half.max()),
        y=Axis(names=[(float(place), row.mechanism) for place, row in enumerate(rows)]),
        title=f"Least noise here: {best}",
        caption=f"Every mechanism at epsilon = {of.epsilon:g}, delta = {of.delta:g}, for {many}.",
        alt=f"The noise of {len(rows)} mechanisms; {best} has the least.",
        size=(6.4, 1.6 + 0.42 * len(rows)),
        downward=True,
    )


def path(of: Any) -> Picture:
    """Estimated error (`sure`) against the `penalties`, the least marked; above it, the `degrees_of_freedom` that each
    leaves."""
    order = np.argsort(np.asarray(of.penalties, dtype=float))
    penalties, sure, free = (
        np.asarray(each, dtype=float)[order] for each in (of.penalties, of.sure, of.degrees_of_freedom)
    )
    best, log = int(np.nanargmin(sure)), bool(penalties[0] > 0)
    ends = penalties[0], penalties[-1]
    places = np.geomspace(*ends, 6) if log else np.linspace(*ends, 6)
    left = np.interp(np.log(places), np.log(penalties), free) if log else np.interp(places, penalties, free)
    chosen = penalties[best : best + 1], sure[best : best + 1]
    return Picture(
        marks=(Line(penalties, sure), Points(penalties, sure, "main", 5.0), Points(*chosen, "second", 11.0)),
        x=Axis("penalty", log=log),
        y=Axis("estimated squared error per bin (SURE)"),
        top=Axis(  # an estimate may fall below none
            "degrees of freedom", names=[(float(at), f"{max(0.0, n):,.0f}") for at, n in zip(places, left, strict=True)]
        ),
        title="The penalty with the least estimated error",
        caption=f"Penalty {penalties[best]:.4g}: {free[best]:,.0f} degrees of freedom, estimated squared error "
        f"{sure[best]:.4g}. Each estimate is unbiased by itself and made without the truth.",
        alt=f"The estimated error of {penalties.size} penalties; {penalties[best]:.4g} has the least.",
    )


def weights(estimate: Estimate) -> Picture:
    """What a mixture is made of: the weight of each candidate, largest first."""
    shares = estimate.parameters.get("weights")
    if not isinstance(shares, Mapping) or not shares:
        raise errors.InvalidParameter(
            f'{estimate.method} is one estimator, not a mixture, so it has no weights. Draw those of denoise("auto").'
        )
    rows = sorted(shares.items(), key=lambda item: -item[1])
    places, share = np.arange(float(len(rows))), np.array([float(part) for _, part in rows])
    return Picture(
        marks=(
            Bars(places, np.zeros(len(rows)), 100 * share, "main"),
            Words(100 * share, places, [in_percent(part, 3) for part in share]),
        ),
        x=Axis("weight in the mixture, %", 0.0, 100 * min(1.15, 1.25 * float(share.max()))),
        y=Axis(names=[(float(place), name.replace("_", " ")) for place, (name, _) in enumerate(rows)]),
        title="What the estimate is made of",
        caption=f"{estimate.bins:,} values. Estimated error of a bin {estimate.rmse_in_words()}; it was "
        f"{estimate.std:.4g}. Chosen for the least risk.",
        alt=f"The weights of {len(rows)} estimators.",
        size=(6.4, 1.5 + 0.42 * len(rows)),
        downward=True,
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
