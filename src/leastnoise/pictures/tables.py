"""A table of a set: bars for one column, heat maps for two, side by side on one scale of shades, slices for three.

In what was published, cells that cannot be told from zero are hatched: a shade would draw their noise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats, Number
from leastnoise.domain import Domain
from leastnoise.pictures import captions, values
from leastnoise.pictures.picture import Picture, shades_for
from leastnoise.releases import labels
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate, CrosstabTableEstimate
from leastnoise.releases.crosstab_table import CrosstabTable
from leastnoise.releases.crosstabs import CrosstabsRelease

MAX_SLICES = 6
PANEL_INCHES, NAMES_INCHES = 3.5, 1.2  # how wide one heat map is, and the names beside the first


def table(release: CrosstabTable, estimate: Any, truth: Any, confidence: Number) -> list[Picture]:
    """What was published, the estimate and the truth, whichever are given: one picture, or a heat map for each."""
    given = {"published": release.values, "denoised": estimate, "truth": truth}
    shown = {name: _cells(release, of) for name, of in given.items() if of is not None}
    told = isinstance(estimate, CrosstabTableEstimate)
    error = f" Denoised: {estimate.errors_in_words()}" if told else ""
    if len(release.columns) == 3 and min(release.shape) <= MAX_SLICES:
        worse = told and estimate.better_than_raw is False
        best = next(
            name for name in ("denoised", "truth", "published") if name in shown and not (worse and name == "denoised")
        )
        return _slices(release, best, shown[best], confidence, error)
    if labels.plane(release.domain) is not None:
        panels = {name: (of, _marks(release, name, confidence)) for name, of in shown.items()}
        return _heat_maps(release, panels, release._shown_domain, error)
    low, high = (np.asarray(end, dtype=float) for end in release.interval(confidence))
    caption = f"{captions.noise_and_promise(release)} {captions.intervals(release, confidence)}{error}"
    draw = values.bars if release.bins <= labels.MAX_BARS else values.steps
    name = "denoised" if "denoised" in shown else "truth"
    better = shown.get("denoised", shown.get("truth"))
    series = values.Series(shown["published"], low, high, better, *release.bin_names(labels.MAX_BARS), name)
    return [draw(series, f"Published {release.noun}s", caption)]


def one_way(of: CrosstabsRelease | CrosstabsEstimate, confidence: Number) -> list[Picture]:
    """A picture for each table of one column, at most six; of a set without any, for its first tables."""
    asked = [columns for columns in of.tables if len(columns) == 1] or list(of.tables)[:1]
    made = []
    for columns in asked[:MAX_SLICES]:
        one = of[columns]
        picture = table(one, None, None, confidence)[0] if isinstance(one, CrosstabTable) else _denoised(of, columns)
        made.append(replace(picture, title=" × ".join(map(of._words, columns)) or "The total", size=(4.2, 3.6)))
    return made


def _denoised(of: Any, columns: tuple[str, ...]) -> Picture:
    domain = Domain(columns, tuple(of.axes[name] for name in columns))
    found = np.asarray(of[columns].values, dtype=float).ravel()
    draw = values.bars if found.size <= labels.MAX_BARS else values.steps
    names = labels.of(domain, range(min(found.size, labels.MAX_BARS)))
    return draw(values.Series(found, found, found, None, labels.title(domain), names), "Denoised", of.errors_in_words())


def _cells(release: CrosstabTable, of: Any) -> Floats:
    """One value a cell, from an array or from what has values."""
    found = np.asarray(of.values if hasattr(of, "values") else of, dtype=float).ravel()
    if found.size != release.bins:
        raise errors.InvalidParameter(f"The table has {release.bins:,} cells and there are {found.size:,} values.")
    return found


def _marks(release: CrosstabTable, name: str, confidence: Number) -> Any:
    """Which published cells have an interval that reaches down to zero; no cell is negative in truth."""
    low = np.asarray(release.interval(confidence).low, dtype=float)
    return low <= 0 if name == "published" else np.zeros(release.bins, dtype=bool)


def _slices(release: CrosstabTable, name: str, shown: Floats, confidence: Number, error: str) -> list[Picture]:
    """The best values known, a heat map for each key of the column that has the fewest."""
    cut, domain = int(np.argmin(release.shape)), release._shown_domain
    if domain is None:
        raise errors.BadDomain("A table of a set has columns.")
    of, marks = (
        np.moveaxis(part.reshape(release.shape), cut, 0) for part in (shown, _marks(release, name, confidence))
    )  # fmt: skip
    left, axis = [place for place in range(3) if place != cut], domain.axes[cut]
    rest = Domain(tuple(domain.names[place] for place in left), tuple(domain.axes[place] for place in left))
    panels = {
        f"{name}, {domain.names[cut]}: {labels.text(axis.key(place))}": (of[place].ravel(), marks[place].ravel())
        for place in range(axis.size)
    }
    return _heat_maps(release, panels, rest, error)


def _heat_maps(
    release: CrosstabTable, panels: dict[str, tuple[Floats, Any]], domain: Domain | None, error: str
) -> list[Picture]:
    if domain is not None and _is_lying(domain):
        shape = tuple(axis.size for axis in domain.axes)
        panels = {name: (_turned(of, shape), _turned(marks, shape)) for name, (of, marks) in panels.items()}
        domain = Domain(domain.names[::-1], domain.axes[::-1])
    plane = labels.plane(domain)
    if plane is None:
        raise errors.BadDomain("A heat map needs two columns of at least two keys each.")
    calm = [of for name, (of, _) in panels.items() if not name.startswith("published")]
    shades = shades_for(calm or [of for of, _ in panels.values()], noise=release.std, title=release.kind)
    hatched = " Hatched cells may be zero." if any(marks.any() for _, marks in panels.values()) else ""
    caption = captions.noise_and_promise(release) + hatched + error
    wide = PANEL_INCHES if len(panels) > 1 else 5.0 + NAMES_INCHES
    size = wide, float(np.clip(0.24 * plane.rows, 1.6, 4.2)) + 1.0
    return [
        values.rectangle(of, plane, shades, name, caption, marks, size) for name, (of, marks) in panels.items()
    ]  # fmt: skip


def _turned(values: Any, shape: tuple[int, ...]) -> Any:
    return values.reshape(shape).T.ravel()


def _is_lying(domain: Domain) -> bool:
    """Whether its second column has the names, which are read beside the cells, and its first numbers or ranges."""
    first, second = (isinstance(axis.key(0), str) for axis in domain.axes)
    return second and not first
