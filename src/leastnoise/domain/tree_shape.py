"""The shape of a tree: how many children every node has, level by level. Nothing of its names.

Nodes of a level are in the order of their parents, so the children of one node stand side by side: sums over children
are sums over runs, and three million leaves are added up in milliseconds. Level 0 is the root, the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import BadDomain

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TreeShape:
    """A tree whose leaves all have one depth.

    children: for every level but the last, how many children each of its nodes has, at least one; the first is the
    root alone.
    """

    children: tuple[Integers, ...]

    def __post_init__(self) -> None:
        made = tuple(np.array(counts, dtype=np.int64) for counts in self.children)
        sizes = [1, *(int(counts.sum()) for counts in made)]
        if not made or any(counts.ndim != 1 or (counts < 1).any() for counts in made):
            raise BadDomain("every node of a tree above its leaves has a child.")
        if any(counts.size != size for counts, size in zip(made, sizes, strict=False)):
            raise BadDomain("a level of a tree has as many nodes as the level above has children.")
        for counts in made:
            counts.setflags(write=False)
        object.__setattr__(self, "children", made)

    @property
    def depth(self) -> int:
        """The level of the leaves."""
        return len(self.children)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has, the root's first."""
        return (1, *(int(counts.sum()) for counts in self.children))

    @cached_property
    def starts(self) -> tuple[Integers, ...]:
        """For every level but the last, where the children of each node begin."""
        return tuple(np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64) for counts in self.children)

    @cached_property
    def parents(self) -> tuple[Integers, ...]:
        """For every level, the position of each node's parent in the level above; none for the root."""
        return (np.zeros(0, np.int64), *(np.repeat(np.arange(c.size), c) for c in self.children))

    def ancestors(self, level: int, *, of: int) -> Integers:
        """The position in `level` of the ancestor of every node of the level `of`, which is not above it."""
        made = np.arange(self.sizes[of])
        for below in range(of, level, -1):
            made = self.parents[below][made]
        return made

    def sums(self, values: NDArray[Any], level: int, *, of: int, axis: int = 0) -> NDArray[Any]:
        """What the nodes of `level` have together, from values of the nodes of the level `of` along an axis."""
        for above in range(of - 1, level - 1, -1):
            values = np.add.reduceat(values, self.starts[above], axis=axis)
        return values

    def cut(self, level: int) -> TreeShape:
        """The tree without what is below a level."""
        return self if level == self.depth else TreeShape(self.children[:level])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeShape):
            return NotImplemented
        return self.sizes == other.sizes and all(map(np.array_equal, self.children, other.children))

    def __hash__(self) -> int:
        return hash(self.sizes)


@dataclass(frozen=True, eq=False)
class Orbits:
    """The nodes of a tree put together that no renaming of nodes tells apart: they have the same error.

    of: for every level, the orbit of each node. parents: the orbit of an orbit's parents. multiple: how many children
    in this orbit each of these has. counts: how many nodes. Orbits of one parent stand side by side; `starts` is where.
    """

    of: tuple[Integers, ...]
    parents: tuple[Integers, ...]
    multiple: tuple[NDArray[np.float64], ...]
    counts: tuple[NDArray[np.float64], ...]
    starts: tuple[Integers, ...]


def orbits(shape: TreeShape) -> Orbits:
    """Two nodes are in one orbit where their parents are, and the trees below them are alike.

    Trees are compared by the sum over children of random 64-bit words, one for each kind of child, from the leaves up.
    Two different ones have the same sum with a chance of 2^-64; a second word is compared then.
    """
    kinds = _kinds(shape)
    of, parents = [np.zeros(1, np.int64)], [np.zeros(0, np.int64)]
    multiple, counts, starts = [np.ones(1)], [np.ones(1)], []
    for level in range(1, shape.depth + 1):
        above = of[-1][shape.parents[level]]
        many = int(kinds[level].max()) + 1
        codes, own, sizes = np.unique(above * many + kinds[level], return_inverse=True, return_counts=True)
        parent = codes // many
        of.append(own.astype(np.int64))
        parents.append(parent)
        counts.append(sizes.astype(np.float64))
        multiple.append(sizes / counts[-2][parent])
        starts.append(np.searchsorted(parent, np.arange(counts[-2].size)))
    return Orbits(tuple(of), tuple(parents), tuple(multiple), tuple(counts), tuple(starts))


def _kinds(shape: TreeShape) -> list[Integers]:
    """For every level, which nodes have the same tree below them: numbered from 0."""
    words = np.random.default_rng(20180710)
    kinds = [np.zeros(shape.sizes[-1], dtype=np.int64)]
    for level in range(shape.depth - 1, -1, -1):
        pair = words.integers(0, 2**64, size=(2, int(kinds[0].max()) + 1), dtype=np.uint64)
        with np.errstate(over="ignore"):
            one, other = (np.add.reduceat(word[kinds[0]], shape.starts[level]) for word in pair)
        _, first, found = np.unique(one, return_index=True, return_inverse=True)
        if not np.array_equal(other[first][found], other):  # two kinds of one sum: every node by itself
            found = np.arange(shape.sizes[level])
        kinds.insert(0, found.astype(np.int64))
    return kinds
