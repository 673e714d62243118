"""Tables along a tree as an indented list: every node with its count, its margin, and its share of what it is in.

It is plain HTML that opens and closes by itself, so it needs no script and prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastnoise.pictures.tables import decimals, written
from leastnoise.pictures.trees import Levels
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.report.data import label

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
    """The tree of a set of tables, from the root down; None for what has none."""
    if not isinstance(of, CrosstabsRelease) or not of.workload.levels:
        return None
    deepest, sizes = of.workload.deepest[()], np.cumsum(of.workload.shape.sizes)
    depth = max(level for level in range(deepest + 1) if level <= 1 or sizes[level] <= MAX_NODES)
    found = Levels.read(of, estimate, depth, 0.95)
    shown = [values is not None for values in found.denoised]
    beside = "" if not any(shown) else "all" if all(shown) else "some"
    return Tree(" › ".join(of.workload.levels[:depth]), beside, deepest - depth, _node(found, 0, 0))


def _node(found: Levels, level: int, node: int) -> Node:
    value, half, better = float(found.values[level][node]), float(found.halves[level][node]), found.denoised[level]
    numbers = value, half, *(() if better is None else (better[node],))
    texts = [written(number, decimals(half)) for number in numbers]
    return Node(
        name=label(found.key(level, node)),
        value=texts[0],
        half=texts[1],
        denoised="".join(texts[2:]),
        share=min(1.0, max(0.0, value / found.share(level, node))),
        below=[_node(found, level + 1, child) for child in found.below(level, node)]
        if level + 1 < len(found.values)
        else [],
    )
