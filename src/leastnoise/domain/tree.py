"""A tree of keys: counties in states, products in groups. Rows hold its leaves; every level can be a table's axis.

    tree = Tree.from_columns(places, "state", "county")             # a public table with a column a level
    tree = Tree.from_parents(codes, "chapter", "group", "code")     # one with columns child and parent

A key is the name of one node of its level, so it has one parent. Names that occur in several places (a Washington
County in thirty states) are no keys: take codes, or names with the state in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from leastnoise.domain.axes import Keys
from leastnoise.domain.tree_shape import Integers, TreeShape
from leastnoise.errors import BadDomain, InvalidParameter


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
class TreeLevel:
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
