"""A tree among the columns of several tables: which of its levels are asked for, checked before any row is read."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leastnoise.curator.dataset import Dataset
from leastnoise.curator.queries.options import exact_matches
from leastnoise.domain import Axis, Tree, TreeLevel, TreeShape, counts_up
from leastnoise.errors import BadDomain, InvalidParameter
from leastnoise.releases.columns import refuse_reserved
from leastnoise.workload.tables import checked_ways

Tables = Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class TreeColumn:
    """The column whose rows hold leaves of a tree, and the levels down to the finest that a table has."""

    column: str
    tree: Tree
    levels: tuple[str, ...]

    @property
    def axes(self) -> dict[str, Axis]:
        """The keys of every level."""
        return {name: self.tree.keys[self.tree.level(name) - 1] for name in self.levels}

    def placed(self, level: str) -> TreeLevel:
        """The level as an axis on which a leaf has a place."""
        return TreeLevel(self.tree, level)

    @property
    def shape(self) -> TreeShape:
        """The tree down to that level."""
        return self.tree.shape.cut(len(self.levels))

    def of_ways(self, columns: Sequence[str], ways: int | Sequence[int]) -> Tables:
        """Every table of so many columns, of which at most one is a level."""
        levels = set(self.levels)
        return [
            table
            for count in checked_ways(ways, len(columns))
            for table in itertools.combinations(columns, count)
            if len(levels.intersection(table)) <= 1
        ]


def tree_column(keys: Mapping[str, Any], wanted: Iterable[str], ways: int | Sequence[int] | None) -> TreeColumn | None:
    """The tree among the keys that is in a table; None where there is none.

    wanted: the columns and levels that tables name. ways: where it is given, all are.
    """
    asked = set(wanted)
    trees = {column: tree for column, tree in keys.items() if isinstance(tree, Tree)}
    used = [column for column, tree in trees.items() if ways is not None or asked.intersection(tree.levels)]
    if not used:
        return None
    if len(used) > 1:
        raise InvalidParameter(
            f'"{used[0]}" and "{used[1]}" both have a tree, and how noise is best divided over two trees at once is '
            "not known. Give the keys of one of them as a list, or ask in two questions.",
            parameter="keys",
            value=used[1],
        )
    column, tree = used[0], trees[used[0]]
    if tree.levels[-1] != column:
        raise BadDomain(
            f'The finest level of the tree is called "{tree.levels[-1]}", and the column with its leaves "{column}". '
            "Give both one name.",
            parameter="keys",
            value=column,
        )
    clash = [name for name in tree.levels[:-1] if name in keys]
    if clash:
        raise BadDomain(
            f'"{clash[0]}" is a level of the tree of "{column}", and has keys of its own. Leave these out: a row lies '
            "in the node above its leaf.",
            parameter="keys",
            value=clash[0],
        )
    refuse_reserved(tree.levels)
    deepest = len(tree.levels) if ways is not None else max(tree.level(name) for name in asked & set(tree.levels))
    return TreeColumn(column, tree, tree.levels[:deepest])


def check_tree(data: Dataset, found: TreeColumn, *, other: bool | str | None, nulls: str | None) -> None:
    """Raise unless a column's rows can be placed in a tree."""
    if data.rows[found.column].type().is_floating() and counts_up(list(found.tree.leaves.values[:1])):
        raise exact_matches(found.column)
    if other is True or nulls == "bin":
        raise BadDomain(
            f'The tree of "{found.column}" has no place for values that are no leaf. Give the tree a leaf for them, '
            "and the rows its key.",
            parameter="other" if other is True else "nulls",
        )
