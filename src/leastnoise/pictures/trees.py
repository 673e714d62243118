"""A tree of counts as an indented list of bars: the largest nodes, each as a share of the one it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.pictures import captions
from leastnoise.pictures.picture import Axis, Bars, Mark, Picture, Points, Ranges, Words
from leastnoise.releases import labels
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.workload import Workload

if TYPE_CHECKING:
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate

CHILDREN = 5  # shown of one node; of the whole twice as many


def tree(release: CrosstabsRelease, estimate: CrosstabsEstimate | None, rows: int, confidence: Number) -> Picture:
    """The whole, its largest parts, and theirs; `rows` nodes at most."""
    workload = release.workload
    if not workload.levels:
        raise errors.WrongType("These tables are not along a tree. Draw one of them: release[...].plot().")
    level = validation.number("confidence", confidence)
    shown = _chosen(release, workload, validation.integer("rows", rows))
    tables = [workload.at_level((), depth) for depth in range(workload.deepest[()] + 1)]
    values = [np.asarray(release[table].values, dtype=float) for table in tables]
    halves = [
        np.ravel(np.broadcast_to(release.errors.sum_half_widths(table, confidence=level), values[i].shape))
        for i, table in enumerate(tables)
    ]
    above = [values[d - 1][workload.shape.parents[d][node]] if d else values[0][0] for d, node in shown]
    whole = np.maximum(np.array(above, dtype=float), 1e-300)
    value, half = (np.array([of[d][node] for d, node in shown]) / whole for of in (values, halves))
    places = np.arange(float(len(shown)))
    texts = [f"{values[d][node]:,.0f}" for d, node in shown]
    marks: list[Mark] = [Bars(places, np.zeros(len(shown)), value), Ranges(places, value - half, value + half)]
    if estimate is not None:
        better = np.array([float(estimate[tables[d]].values[node]) for d, node in shown]) / whole
        marks.append(Points(better, places, "second", 6.0, diamonds=True))
    marks.append(Words(np.full(len(shown), 1.02), places, texts, shift=(0.0, 0.0)))
    drawn = sum(workload.shape.sizes[: len(tables)])
    left = f"{drawn - len(shown):,} smaller nodes are not drawn. " if drawn > len(shown) else ""
    denoised = "" if estimate is None else f" Diamonds are denoised. {estimate.errors_in_words()}"
    return Picture(
        marks=marks,
        x=Axis(
            "share of the node above it; the count is on the right",
            min(0.0, float((value - half).min())),
            1.14,
            names=[(part / 4, f"{25 * part}%") for part in range(5)],
        ),
        y=Axis(names=[(float(at), _name(release, workload, *one)) for at, one in enumerate(shown)], indented=True),
        title=" › ".join(workload.levels),
        caption=f"{left}{captions.intervals(release, level)}{denoised}",
        alt=f"The {len(shown)} largest of {drawn:,} nodes.",
        size=(6.8, 1.6 + 0.25 * len(shown)),
        downward=True,
    )


def _chosen(release: CrosstabsRelease, workload: Workload, rows: int) -> list[tuple[int, int]]:
    """Level and position of the nodes that are drawn, every one below the one it is in."""
    shape, last = workload.shape, workload.deepest[()]
    values = [np.asarray(release[workload.at_level((), depth)].values) for depth in range(last + 1)]

    def below(depth: int, node: int, most: int) -> list[tuple[int, int]]:
        made = [(depth, node)]
        if depth < last:
            start, count = int(shape.starts[depth][node]), int(shape.children[depth][node])
            order = start + np.argsort(-values[depth + 1][start : start + count], kind="stable")
            for child in order[: most if depth else 2 * most].tolist():
                made += below(depth + 1, child, most)
        return made

    for most in range(CHILDREN, 0, -1):
        made = below(0, 0, most)
        if len(made) <= rows:
            return made
    return made[:rows]


def _name(release: CrosstabsRelease, workload: Workload, depth: int, node: int) -> str:
    """Indented by its level; every name as long as the longest, so that all begin at the left."""
    key = "All" if not depth else labels.text(release.axes[workload.levels[depth - 1]].key(node))
    return "\u2003" * depth + (key if len(key) <= 24 else key[:23] + "…")
