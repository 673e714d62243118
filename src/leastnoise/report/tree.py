"""Tables along a tree as an indented list: every node with its count, its margin, and its share of what it is in.

It is plain HTML that opens and closes by itself, so it needs no script and prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.report.data import label
from leastnoise.report.shown import decimals
from leastnoise.workload import Workload

MAX_NODES = 6_000


@dataclass(frozen=True, slots=True)
class Node:
    """One node: its numbers, already as text, and what is below it."""

    name: str
    value: str
    half: str
    denoised: str
    share: float
    below: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Tree:
    """The whole tree: its levels, which of them are denoised, and how many more are in the tables alone."""

    title: str
    beside: str
    left: int
    root: Node


def tree(of: Any, estimate: Any) -> Tree | None:
    """The tree of a set of tables; None for what has none."""
    if not isinstance(of, CrosstabsRelease) or not of.workload.levels:
        return None
    return _Reader(of, estimate, of.workload).tree


class _Reader:
    def __init__(self, of: CrosstabsRelease, estimate: Any, workload: Workload) -> None:
        sizes = np.cumsum(workload.shape.sizes)
        self.depth = max(level for level in range(workload.deepest[()] + 1) if level <= 1 or sizes[level] <= MAX_NODES)
        self.names = workload.levels[: self.depth]
        self.axes, self.left = of.axes, workload.deepest[()] - self.depth
        self.starts, self.children = workload.shape.starts, workload.shape.children
        tables = [workload.at_level((), level) for level in range(self.depth + 1)]
        self.values = [np.asarray(of[table].values, dtype=float) for table in tables]
        self.halves = [
            np.ravel(np.broadcast_to(of.errors.sum_half_widths(table, confidence=0.95), self.values[i].shape))
            for i, table in enumerate(tables)
        ]
        beside = [None] * len(tables) if estimate is None else [estimate[table] for table in tables]
        # Levels whose denoised numbers are not better beyond chance have none beside.
        self.denoised = [
            None if one is None or one.better_than_raw is False else np.asarray(one.values, float) for one in beside
        ]

    @property
    def tree(self) -> Tree:
        """All of it, from the root down."""
        shown = [values is not None for values in self.denoised]
        beside = "" if not any(shown) else "all" if all(shown) else "some"
        return Tree(" › ".join(self.names), beside, self.left, self._node(0, 0, "All", 1.0))

    def _node(self, level: int, node: int, name: str, share: float) -> Node:
        value, half = float(self.values[level][node]), float(self.halves[level][node])
        digits, better = decimals(half), self.denoised[level]
        beside = "" if better is None else f"{better[node]:,.{digits}f}"
        texts = f"{value:,.{digits}f}", f"{half:,.{digits}f}", beside
        return Node(name, *texts, min(1.0, max(0.0, share)), self._below(level, node))

    def _below(self, level: int, node: int) -> list[Node]:
        if level == self.depth:
            return []
        start, count = int(self.starts[level][node]), int(self.children[level][node])
        whole = max(float(self.values[level][node]), 1e-300)
        axis = self.axes[self.names[level]]
        return [
            self._node(level + 1, child, label(axis.key(child)), float(self.values[level + 1][child]) / whole)
            for child in range(start, start + count)
        ]
