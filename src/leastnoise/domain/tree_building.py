"""A tree from a public table: columns of keys become arrays of positions, and what is no tree is refused by its key.

No loop goes over nodes: keys are numbered by their first appearance, and parents are arrays of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leastnoise.domain.axes import Keys, plain_value
from leastnoise.domain.public_files import read_arrow
from leastnoise.domain.tree import Integers, Tree, TreeShape
from leastnoise.errors import BadDomain, MissingParameter, WrongType


def of_columns(source: Any, levels: Sequence[str]) -> Tree:
    """`Tree.from_columns`."""
    table = _table(source, levels, levels)
    numbered = [_numbered(table[name], name) for name in levels]
    _check_missing(levels, numbered)
    keys: list[list[Any]] = []
    counts, above = [], np.zeros(table.num_rows, dtype=np.int64)
    size = 1
    for name, (codes, values) in zip(levels, numbered, strict=True):
        parent = np.zeros(len(values), dtype=np.int64)
        parent[codes] = above
        wrong = np.flatnonzero(parent[codes] != above)
        if wrong.size:
            key = values[int(codes[wrong[0]])]
            one, other = (_text(keys[-1][int(p)]) for p in sorted({int(parent[codes[wrong[0]]]), int(above[wrong[0]])}))
            raise _two_parents(name, key, one, other)
        order = np.argsort(parent, kind="stable")
        keys.append([values[i] for i in order.tolist()])
        counts.append(np.bincount(parent, minlength=size))
        above = _inverse(order)[codes]
        size = len(values)
    return _tree(levels, keys, counts)


def of_parents(source: Any, levels: Sequence[str], child: str, parent: str) -> Tree:
    """`Tree.from_parents`."""
    table = _table(source, levels, (child, parent))
    if table[child].null_count:
        raise BadDomain(f'a row of the tree has no key in "{child}". Leave such rows out.')
    parents, values = _parents(table[child], table[parent], child, parent)
    depth = _depths(parents, values, levels)
    has_children = np.zeros(len(values), dtype=bool)
    has_children[parents[parents >= 0]] = True
    alone = np.flatnonzero((parents < 0) & ~has_children)
    if alone.size and len(levels) > 1:
        raise _alone(child, values[int(alone[0])])
    keys, counts = [], []
    nodes, size = np.flatnonzero(parents < 0), 1
    above = np.zeros(nodes.size, dtype=np.int64)
    for level in range(1, len(levels) + 1):
        order = np.argsort(above, kind="stable")
        counts.append(np.bincount(above, minlength=size))
        nodes, size = nodes[order], nodes.size
        keys.append([values[i] for i in nodes.tolist()])
        place = np.zeros(len(values), dtype=np.int64)
        place[nodes] = np.arange(size)
        below = np.flatnonzero(depth == level + 1)
        carried = nodes[~has_children[nodes]]  # a leaf above the last level is its own only child
        above = np.concatenate([place[parents[below]], place[carried]])
        nodes = np.concatenate([below, carried])
    return _tree(levels, keys, counts)


def _tree(levels: Sequence[str], keys: list[list[Any]], counts: list[Integers]) -> Tree:
    return Tree(tuple(levels), tuple(Keys(tuple(each)) for each in keys), TreeShape(tuple(counts)))


def _table(source: Any, levels: Sequence[str], columns: Sequence[str]) -> pa.Table:
    if not levels or not all(isinstance(name, str) for name in levels):
        raise MissingParameter(
            'The levels of a tree are named from the coarsest to its leaves: "state", "county".', parameter="levels"
        )
    table = read_arrow(source, columns)
    if not table.num_rows:
        raise BadDomain("the table of the tree has no rows: there is no key.")
    return table


def _numbered(column: pa.ChunkedArray, name: str) -> tuple[Integers, list[Any]]:
    """The number of each row's key, -1 where it is missing; and the keys, by first appearance."""
    array = column.combine_chunks()
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    made = array.dictionary_encode()
    codes = np.asarray(made.indices.fill_null(-1), dtype=np.int64)
    found = made.dictionary.to_pylist()
    simple = pa.types.is_string(array.type) or pa.types.is_integer(array.type) or pa.types.is_large_string(array.type)
    values = found if simple else [plain_value(key) for key in found]
    kinds = {type(key).__name__ for key in values}
    if not kinds <= {"str", "int", "bool", "date"}:
        raise WrongType(
            f'the keys in "{name}" must be texts, whole numbers, truth values or days. Got {", ".join(sorted(kinds))} '
            "instead."
        )
    return codes, values


def _check_missing(levels: Sequence[str], numbered: Sequence[tuple[Integers, list[Any]]]) -> None:
    """A key under a missing one has no parent; a missing leaf is no leaf."""
    codes = numbered[-1][0]
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        raise BadDomain(f'row {row + 1} of the tree has no key in "{levels[-1]}", the level of the leaves.')
    for name, (above, _), below, (found, keys) in zip(levels, numbered, levels[1:], numbered[1:], strict=False):
        orphans = np.flatnonzero((above < 0) & (found >= 0))
        if orphans.size:
            raise _orphan(below, keys[int(found[orphans[0]])], name)


def _parents(child: pa.ChunkedArray, parent: pa.ChunkedArray, name: str, other: str) -> tuple[Integers, list[Any]]:
    """The number of the parent of every key, -1 for none; and the keys."""
    own, values = _numbered(child, name)
    above, found = _numbered(parent, other)
    places = {key: place for place, key in enumerate(values)}
    for key in found:  # keys that are nobody's child
        places.setdefault(key, len(places))
    values = list(places)
    if len({type(key) for key in values}) > 1:
        raise WrongType(f'the keys in "{name}" and in "{other}" must be of one type.')
    renamed = np.array([places[key] for key in found] + [-1], dtype=np.int64)[above]
    parents = np.full(len(values), -1, dtype=np.int64)
    parents[own] = renamed
    wrong = np.flatnonzero(parents[own] != renamed)
    if wrong.size:
        row = int(wrong[0])
        pair = [int(parents[own[row]]), int(renamed[row])]
        raise _two_parents(name, values[int(own[row])], *(_text(values[p] if p >= 0 else None) for p in pair))
    return parents, values


def _depths(parents: Integers, values: Sequence[Any], levels: Sequence[str]) -> Integers:
    """The level of every key, 1 for those without a parent."""
    depth = np.where(parents < 0, 1, 0)
    for level in range(2, len(levels) + 1):
        depth[(depth == 0) & (depth[parents] == level - 1)] = level
    if (depth == 0).any():
        raise _too_deep(parents, values, int(np.flatnonzero(depth == 0)[0]), len(levels))
    if depth.max() < len(levels):
        raise BadDomain(
            f"{len(levels)} levels are named, and the longest way down has {int(depth.max())} keys. Name as many.",
            parameter="levels",
        )
    return depth


def _too_deep(parents: Integers, values: Sequence[Any], start: int, levels: int) -> BadDomain:
    """Why a key has no level: it is in a cycle or below one, or there are more levels than names."""
    seen: dict[int, int] = {}
    node = start
    while node >= 0 and node not in seen:
        seen[node] = len(seen)
        node = int(parents[node])
    if node < 0:
        return BadDomain(
            f"the key {values[start]!r} has {len(seen) - 1} keys above it, and {levels} levels are named. Name every "
            "level, from the coarsest to the leaves.",
            parameter="levels",
        )
    cycle = [key for key, place in seen.items() if place >= seen[node]]
    shown = " in ".join(repr(values[key]) for key in [*cycle[:5], cycle[0]])
    return BadDomain(f"the keys of a tree must not go round in a cycle: {shown}. Correct one of these rows.")


def _two_parents(level: str, key: Any, one: str, other: str) -> BadDomain:
    return BadDomain(
        f'the key {key!r} of "{level}" is in two: {one} and {other}. A row with it would lie in both. Give each its '
        "own key, such as a code, or a name with the place in it."
    )


def _orphan(level: str, key: Any, above: str) -> BadDomain:
    return BadDomain(f'the key {key!r} of "{level}" has no parent: its row has nothing in "{above}". Give it one.')


def _alone(level: str, key: Any) -> BadDomain:
    return BadDomain(
        f'the key {key!r} of "{level}" has neither a parent nor children: it would stand in the coarsest level, as its '
        "own only leaf. Give it a parent, one of its own if it stands alone."
    )


def _text(key: Any) -> str:
    return "none" if key is None else repr(key)


def _inverse(order: Integers) -> Integers:
    made = np.empty_like(order)
    made[order] = np.arange(order.size)
    return made
