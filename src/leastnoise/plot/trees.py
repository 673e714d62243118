"""A tree of counts as an indented list of bars: the largest nodes, each as a share of the one it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.plot import canvas
from leastnoise.plot.canvas import INK, ORANGE, QUIET, SKY
from leastnoise.releases import labels
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.workload import TreeWorkload

if TYPE_CHECKING:
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate

CHILDREN = 5  # shown of one node; of the whole twice as many


def tree(
    release: CrosstabsRelease,
    *,
    estimate: CrosstabsEstimate | None = None,
    rows: int = 36,
    confidence: Number = 0.95,
    ax: Any = None,
) -> Any:
    """Tables along a tree as a picture: the whole, its largest parts, and theirs. Returns the Axes.

    release: a set of tables along a tree. estimate: what `denoise` made of it, marked beside.
    rows: how many nodes are drawn at most. confidence: of the intervals. ax: the Axes to draw on.
    """
    workload = release.workload
    if not isinstance(workload, TreeWorkload):
        raise errors.WrongType("These tables are not along a tree. Draw one of them: release[...].plot().")
    level = validation.number("confidence", confidence)
    shown = _chosen(release, workload, validation.integer("rows", rows))
    tables = [workload.at_level((), depth) for depth in range(workload.deepest[()] + 1)]
    values = [np.asarray(release[table].values, dtype=float) for table in tables]
    halves = [
        np.ravel(np.broadcast_to(release.errors.sum_half_widths(table, confidence=level), values[i].shape))
        for i, table in enumerate(tables)
    ]
    ax = canvas.axes(ax, 6.8, 1.6 + 0.25 * len(shown))
    for place, (depth, node) in enumerate(shown):
        above = values[0][0] if not depth else values[depth - 1][workload.shape.parents[depth][node]]
        whole = max(float(above), 1e-300)
        value, half = values[depth][node] / whole, halves[depth][node] / whole
        ax.barh(place, value, height=0.66, color=SKY, edgecolor=QUIET, linewidth=0.5)
        ax.hlines(place, value - half, value + half, color=INK, linewidth=1.1)
        if estimate is not None:
            better = float(estimate[tables[depth]].values[node]) / whole
            ax.plot(better, place, "D", color=ORANGE, markersize=4, markeredgecolor="white")
        ax.annotate(f"{values[depth][node]:,.0f}", (1.02, place), va="center", fontsize=8.5, color=INK)
    ax.set_yticks(range(len(shown)), [_name(release, workload, *one) for one in shown], parse_math=False)
    for text in ax.get_yticklabels():
        text.set_horizontalalignment("left")
    ax.tick_params(axis="y", length=0, pad=148)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(min(0.0, ax.get_xlim()[0]), 1.14)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
    ax.set_xlabel("share of the node above it; the count is on the right")
    canvas.heading(ax, " › ".join(workload.levels))
    drawn = sum(workload.shape.sizes[: len(tables)])
    left = f"{drawn - len(shown):,} smaller nodes are not drawn. " if drawn > len(shown) else ""
    marks = "" if estimate is None else f" Diamonds are denoised. {estimate.errors_in_words()}"
    canvas.caption(ax, f"{left}{canvas.intervals(release, level)}{marks}", inches=4.0)  # names take the rest
    return ax


def _chosen(release: CrosstabsRelease, workload: TreeWorkload, rows: int) -> list[tuple[int, int]]:
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


def _name(release: CrosstabsRelease, workload: TreeWorkload, depth: int, node: int) -> str:
    key = "All" if not depth else labels.text(release.axes[workload.levels[depth - 1]].key(node))
    short = key if len(key) <= 24 else key[:23] + "…"
    return "    " * depth + short
