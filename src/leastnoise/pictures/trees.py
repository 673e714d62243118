"""A tree of counts as an indented list of bars: the largest nodes, each as a share of the one it is in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Floats, Number
from leastnoise.pictures import captions
from leastnoise.pictures.picture import Axis, Bars, Mark, Picture, Points, Ranges, Words
from leastnoise.pictures.values import short
from leastnoise.releases import labels
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease

CHILDREN = 5  # shown of one node; of the whole twice as many


@dataclass(frozen=True, slots=True)
class Levels:
    """The numbers of tables along a tree, level by level, the root first."""

    of: CrosstabsRelease
    values: list[Floats]
    halves: list[Floats]
    denoised: list[Floats | None]  # None of a level whose denoised numbers are not better beyond chance

    @classmethod
    def read(cls, of: CrosstabsRelease, estimate: CrosstabsEstimate | None, depth: int, confidence: Number) -> Levels:
        """Down to this depth."""
        tables = [of.workload.at_level((), level) for level in range(depth + 1)]
        values = [np.asarray(of[table].values, dtype=float) for table in tables]
        halves = [of.errors.sum_half_widths(table, confidence=float(confidence)) for table in tables]
        beside = [None if estimate is None else estimate[table] for table in tables]
        return cls(
            of,
            values,
            [np.ravel(np.broadcast_to(half, value.shape)) for half, value in zip(halves, values, strict=True)],
            [None if one is None or one.better_than_raw is False else np.asarray(one.values, float) for one in beside],
        )

    def below(self, level: int, node: int) -> range:
        """The nodes that a node is made of, on the next level."""
        start = int(self.of.workload.shape.starts[level][node])
        return range(start, start + int(self.of.workload.shape.children[level][node]))

    def key(self, level: int, node: int) -> object:
        """What a node is called."""
        return self.of.axes[self.of.workload.levels[level - 1]].key(node) if level else "All"

    def share(self, level: int, node: int) -> float:
        """What a node is shown in shares of: the count of the one that it is in, its own of the root."""
        parent = int(self.of.workload.shape.parents[level][node]) if level else 0
        return max(float(self.values[max(level - 1, 0)][parent]), 1e-300)


def tree(release: CrosstabsRelease, estimate: CrosstabsEstimate | None, rows: int, confidence: Number) -> Picture:
    """The whole, its largest parts, and theirs; `rows` nodes at most."""
    workload = release.workload
    if not workload.levels:
        raise errors.WrongType("These tables are not along a tree. Draw one of them: release[...].plot().")
    level = validation.number("confidence", confidence)
    found = Levels.read(release, estimate, workload.deepest[()], level)
    shown = _chosen(found, validation.integer("rows", rows))
    whole = np.array([found.share(depth, node) for depth, node in shown])
    value, half = (np.array([of[depth][node] for depth, node in shown]) for of in (found.values, found.halves))
    places, low, high = np.arange(float(len(shown))), (value - half) / whole, (value + half) / whole
    marks: list[Mark] = [Bars(places, np.zeros(len(shown)), value / whole), Ranges(places, low, high)]
    if estimate is not None:
        better = np.array([np.nan if (of := found.denoised[d]) is None else of[node] for d, node in shown]) / whole
        marks.append(Points(better, places, "second", 6.0, diamonds=True))
    texts = [f"{count:,.0f}" for count in value]
    marks.append(Words(np.full(len(shown), 1.02), places, texts, shift=(0.0, 0.0)))
    drawn = sum(map(len, found.values))
    left = f"{drawn - len(shown):,} smaller nodes are not drawn. " if drawn > len(shown) else ""
    denoised = "" if estimate is None else f" Diamonds are denoised. {estimate.errors_in_words()}"
    names = ["\u2003" * depth + short(labels.text(found.key(depth, node)), 24) for depth, node in shown]
    return Picture(
        marks=marks,
        x=Axis(
            "share of the node above it; the count is on the right",
            min(0.0, float(low.min())),
            1.14,
            names=[(part / 4, f"{25 * part}%") for part in range(5)],
        ),
        y=Axis(names=list(zip(places, names, strict=True)), indented=True),
        title=" › ".join(workload.levels),
        caption=f"{left}{captions.intervals(release, level)}{denoised}",
        alt=f"The {len(shown)} largest of {drawn:,} nodes.",
        size=(6.8, 1.6 + 0.25 * len(shown)),
        downward=True,
    )


def _chosen(found: Levels, rows: int) -> list[tuple[int, int]]:
    """Level and position of the nodes that are drawn, every one below the one it is in."""

    def below(depth: int, node: int, most: int) -> list[tuple[int, int]]:
        made = [(depth, node)]
        if depth + 1 < len(found.values):
            children = sorted(found.below(depth, node), key=lambda child: -found.values[depth + 1][child])
            for child in children[: most if depth else 2 * most]:
                made += below(depth + 1, child, most)
        return made

    for most in range(CHILDREN, 0, -1):
        made = below(0, 0, most)
        if len(made) <= rows:
            break
    return made[:rows]
