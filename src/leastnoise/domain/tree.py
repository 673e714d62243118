"""A tree of keys: counties in states, products in groups. Rows hold its leaves; every level can be a table's axis.

    tree = Tree.from_columns(places, "state", "county")             # a public table with a column a level
    tree = Tree.from_parents(codes, "chapter", "group", "code")     # one with columns child and parent

A key is the name of one node of its level, so it has one parent. Names that occur in several places (a Washington
County in thirty states) are no keys: take codes, or names with the state in them.

Nodes of a level are in the order of their parents, so the children of one node stand side by side: sums over children
are sums over runs, and three million leaves are added up in milliseconds. Level 0 is the root, the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.domain.axes import Axis, Keys
from leastnoise.errors import BadDomain, InvalidParameter

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TreeShape:
    """A tree whose leaves all have one depth.

    children: for every level but the last, how many children each of its nodes has, at least one; the first is the
    root alone. Without any it is the tree of a root alone.
    """

    children: tuple[Integers, ...]

    def __post_init__(self) -> None:
        made = tuple(np.array(counts, dtype=np.int64) for counts in self.children)
        sizes = [1, *(int(counts.sum()) for counts in made)]
        if any(counts.ndim != 1 or (counts < 1).any() for counts in made):
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


@dataclass(frozen=True)
class Tree:
    """Keys in levels, from the coarsest to the leaves, which are what rows hold.

    levels: the names of the levels, the leaves' last. keys: the keys of every level, in the order of their parents.
    shape: how many children each node has, beginning with the whole.

    >>> places = {"state": ["AL", "AL", "WY"], "county": ["01001", "01003", "56001"]}
    >>> tree = Tree.from_columns(places, "state", "county")
    >>> tree
    Tree(state: 2, county: 3)
    >>> tree.parent("county", "01003")
    'AL'
    """

    levels: tuple[str, ...]
    keys: tuple[Keys, ...]
    shape: TreeShape

    def __post_init__(self) -> None:
        if len(set(self.levels)) < len(self.levels) or not all(name and isinstance(name, str) for name in self.levels):
            raise BadDomain("every level of a tree needs a name of its own.")
        if [axis.size for axis in self.keys] != list(self.shape.sizes[1:]) or len(self.levels) != len(self.keys):
            raise BadDomain("every node of a tree needs a key.")

    @staticmethod
    def from_columns(source: Any, *levels: str) -> Tree:
        """The tree of a public table in which every row has the keys of one leaf and of all that it is in.

        source: a CSV or Parquet file, a pandas, Polars or Arrow table, or a mapping of names to lists. Rows may repeat.
        levels: the columns, from the coarsest to the one that private rows hold.
        """
        from leastnoise.domain.tree_building import of_columns

        return of_columns(source, levels)

    @staticmethod
    def from_parents(source: Any, *levels: str, child: str = "child", parent: str = "parent") -> Tree:
        """The tree of a public table in which every row has a key and the key of its parent.

        source: a CSV or Parquet file, a pandas, Polars or Arrow table, or a mapping of names to lists.
        levels: names for the levels, from the coarsest to that of the leaves: as many as the longest way down has keys.
        child, parent: the names of the two columns. The coarsest keys have no parent: a row without one, or no row.

        A leaf that is less deep than others stands in the levels below as its own only child. One without a parent is
        refused: that is mostly a parent that somebody forgot.
        """
        from leastnoise.domain.tree_building import of_parents

        return of_parents(source, levels, child, parent)

    @property
    def leaves(self) -> Keys:
        """The keys that rows hold."""
        return self.keys[-1]

    def level(self, name: str) -> int:
        """Which level has this name: 1 for the coarsest; 0 would be the whole.

        name: one of `levels`.
        """
        if name not in self.levels:
            raise InvalidParameter.among("level", name, self.levels)
        return self.levels.index(name) + 1

    def parent(self, level: str, key: Any) -> Any:
        """The key above this one; None above the coarsest.

        level: the name of the key's level. key: the key.
        """
        number = self.level(level)
        position = self.keys[number - 1].index(key)
        if position is None:
            raise BadDomain(f'the level "{level}" has no key {key!r}.', parameter="key", value=key)
        return None if number == 1 else self.keys[number - 2].key(int(self.shape.parents[number][position]))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {axis.size:,}" for name, axis in zip(self.levels, self.keys, strict=True))
        return f"Tree({sizes})"


@dataclass(frozen=True)
class TreeLevel(Axis):
    """A level of a tree as an axis whose rows hold leaves: each lies in the node above its leaf.

    tree: the whole tree. name: of the level.
    """

    tree: Tree
    name: str

    @property
    def size(self) -> int:
        return self._own.size

    def key(self, position: int) -> Any:
        return self._own.key(position)

    def index(self, key: Any) -> int | None:
        return self._own.index(key)

    @cached_property
    def positions(self) -> Integers:
        """Where each leaf lies on this axis."""
        return self.tree.shape.ancestors(self.tree.level(self.name), of=self.tree.shape.depth)

    @property
    def _own(self) -> Keys:
        return self.tree.keys[self.tree.level(self.name) - 1]
