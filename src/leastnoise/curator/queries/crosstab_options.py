"""What the asker of several tables typed, checked before any row is read: columns, keys, tables, weights."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from leastnoise import domain as domains
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.queries.options import check_columns, exact_matches, limits_of
from leastnoise.curator.rows.clipping import Clip, rounded_end
from leastnoise.domain import (
    OTHER,
    Axis,
    OrNull,
    OrOther,
    Tree,
    TreeLevel,
    TreeShape,
    counts_up,
    is_plain_list,
)
from leastnoise.domain.product import check_filled
from leastnoise.errors import BadDomain, Code, Example, InvalidParameter, MissingParameter, WrongType, as_argument
from leastnoise.privacy.sensitivity import LARGEST_LIMIT, Limits
from leastnoise.releases.columns import refuse_reserved
from leastnoise.releases.table_set import table_name
from leastnoise.workload import Workload
from leastnoise.workload.optimal_weights import Kind
from leastnoise.workload.tables import checked_sums, checked_ways

Other = bool | str | None  # whether missing and unlisted values have a key, or what it is called
WEIGHT_BITS = 30  # of the largest weight times the cells of the largest table, so that 2^32 rows stay below 2^62
MIN_WEIGHT_BITS = 8
ORDERED_WEIGHT_BITS = 12  # with cumulative sums or ranges, whose integers are 2^28 times as large as sums of weights
MAX_CELLS = 2**28  # of all tables that are counted, and of all blocks: two gigabytes of integers


def checked_axes(
    data: Dataset,
    tables: Sequence[str | Iterable[str]],
    *,
    keys: Any,
    ways: int | Sequence[int] | None,
    other: Other,
    nulls: str | None,
    ordered: Iterable[str] = (),
) -> tuple[dict[str, Axis], TreeColumn | None]:
    """The keys of every column that is in a table, in the order of the columns in `keys`; and the one with a tree.

    ordered: the columns of which cumulative sums or ranges are asked for: no key is added to these by itself.
    """
    if not isinstance(keys, Mapping):
        raise MissingParameter(
            "Tables need the public keys of their columns, by name. Keys that nobody listed would tell who is there: "
            "list them, or read them from a file by ln.domain.read.",
            example={"keys": {"sex": ["F", "M"]}},
        )
    _check_other(other, nulls)
    wanted = _named(tables)
    found = tree_column(keys, wanted, ways)
    missing = [column for column in wanted if column not in keys and (found is None or column not in found.levels)]
    if missing:
        data.check_usable(missing[0])
        raise MissingParameter(
            f'There are no keys for "{missing[0]}", which is in a table. Give the keys of every column.',
            parameter="keys",
            value=missing[0],
            example=Code(
                as_argument("keys", {missing[0]: ["a", "b"]}), f'a line {missing[0]} = ["a", "b"] among the keys'
            ),
        )
    tree = None if found is None else found.column
    used = [column for column in keys if ways is not None or column in wanted or column == tree]
    check_filled(keys[column] for column in used)
    check_columns(data, used, nulls or "drop")
    axes: dict[str, Axis] = {}
    for column in used:
        if found is not None and column == tree:
            check_tree(data, found, other=other, nulls=nulls)
            axes |= found.axes
        else:
            plain = column not in ordered and is_plain_list(keys[column])
            axes[column] = _axis(data, column, keys[column], label=_label(other, nulls, plain=plain), nulls=nulls)
    return axes, found


def _check_other(other: Other, nulls: str | None) -> None:
    if other is not None and not isinstance(other, bool | str):
        raise WrongType(
            "other must be True, False, or the label of the key for missing and unlisted values. "
            f"Got {other!r} instead.",
            value=other,
            example={"other": "no answer"},
        )
    if other and nulls == "drop":
        raise InvalidParameter(
            "other gives missing values a key, and nulls leaves them out. Say one of the two.",
            parameter="nulls",
            value=nulls,
            example=[{"other": False}, {"other": other}],
        )


def _label(other: Other, nulls: str | None, *, plain: bool) -> str | None:
    """What the key for missing and unlisted values is called that a column gets; None where it gets none.

    By default a plain list of keys gets one, so that nobody leaves all tables because of one column. What was typed
    decides it, and no row.
    """
    if other is True:
        return OTHER
    if isinstance(other, str):
        return other if plain else None
    return OTHER if plain and other is None and nulls is None else None


def _named(tables: Sequence[str | Iterable[str]]) -> dict[str, None]:
    """The columns of the tables, in order. A table is a name or several."""
    found: dict[str, None] = {}
    for table in tables:
        names = _tuple(table) if isinstance(table, Iterable) else (table,)
        if not all(isinstance(name, str) for name in names):
            raise WrongType(
                f"A table is a column's name, or a tuple of names. Got {table!r} instead.", parameter="tables"
            )
        found.update(dict.fromkeys(names))
    return found


def _axis(data: Dataset, column: str, keys: Any, *, label: str | None, nulls: str | None) -> Axis:
    if keys is None:
        raise BadDomain(
            f'The keys of "{column}" must be listed: tables over keys that nobody listed are not known.',
            parameter="keys",
            value=column,
        )
    if data.rows[column].type().is_floating() and counts_up(keys):
        raise exact_matches(column)
    try:
        axis = domains.axis(keys)
        if label is not None and not isinstance(axis, OrOther):
            axis = _with_key(axis, label)
        elif nulls == "bin" and not isinstance(axis, OrOther):
            axis = OrNull(axis)
    except (BadDomain, WrongType) as problem:
        problem.message = f'The keys of "{column}": {problem.message}'  # of many columns, which
        raise
    if axis.size == 1:
        raise BadDomain(
            f'"{column}" has one key, so a table by it is the same as one without. Leave it out, or list more keys; to '
            "count the rows of that key alone, filter them first.",
            parameter="keys",
            value=column,
        )
    return axis


def _with_key(axis: Axis, label: str) -> OrOther:
    try:
        return OrOther(axis, label)
    except (BadDomain, WrongType) as problem:
        problem.examples = ({"other": "no answer"}, {"other": False})
        raise


@contextmanager
def keys_of_one(column: str) -> Iterator[None]:
    """Errors whose examples are keys of one column advise them as keys of this column among several."""
    try:
        yield
    except WrongType as problem:
        problem.examples = tuple(_among_columns(column, example) for example in problem.examples)
        raise


def _among_columns(column: str, example: Example) -> Example:
    if not isinstance(example, Mapping) or "keys" not in example:
        return example
    keys = example["keys"]
    line = "{ range = [0, 24] }" if isinstance(keys, Code) else json.dumps(keys)
    return Code(as_argument("keys", {column: keys}), f"a line {column} = {line} among the keys")


def checked_workload(
    axes: Mapping[str, Axis],
    tables: Sequence[str | Iterable[str]],
    ways: int | Sequence[int] | None,
    *,
    cumulative: Sequence[str],
    ranges: Sequence[str],
    tree: TreeColumn | None = None,
) -> Workload:
    """The tables, not too large to be counted; cumulative sums and ranges are of columns that have an order."""
    sizes = {name: axis.size for name, axis in axes.items()}
    if not tables and ways is None:
        raise MissingParameter(
            "Which tables? Name their columns one table after the other, or say how many columns they may have.",
            example={"ways": 2},
        )
    if tables and ways is not None:
        raise InvalidParameter(
            "Either the tables are named, or it is said how many columns they may have, not both.",
            value=ways,
            example={"ways": 2},
        )
    named = [_tuple(table) for table in tables]
    if tree is not None and ways is not None:
        named, ways = list(tree.of_ways(tuple(sizes), ways)), None
    if ways is None:
        check_tables(sizes, named)
    else:
        check_ways(sizes, checked_ways(ways, len(sizes))[-1])
    _check_order(axes, checked_sums(sizes, cumulative, ranges))
    asked: Any = {"tables": named} if ways is None else {"ways": ways}
    along: Any = {} if tree is None else {"levels": tree.levels, "shape": tree.shape}
    workload = Workload(sizes, **asked, cumulative=cumulative, ranges=ranges, **along)
    if workload.maximal == ((),):
        raise InvalidParameter("A total alone is no set of tables: ask for it by count.", parameter="tables")
    check_workload(workload)
    return workload


def _check_order(axes: Mapping[str, Axis], asked: Mapping[str, Kind]) -> None:
    for column, kind in asked.items():
        if not axes[column].inner.has_order:
            words = {"prefix": ("cumulative", "Cumulative sums"), "ranges": ("ranges", "Ranges")}
            parameter, what = words[kind]
            raise BadDomain(
                f'{what} need keys with an order, and those of "{column}" have none: texts, or numbers that do not '
                "rise. Bin a column of numbers or dates, or declare the order of a list.",
                parameter=parameter,
                value=column,
                example=Code(
                    f'keys={{"{column}": ln.domain.Ordered(["low", "high"])}}',
                    f'a line {column} = {{ ordered = ["low", "high"] }} among the keys',
                ),
            )


def _tuple(table: str | Iterable[str]) -> tuple[str, ...]:
    return (table,) if isinstance(table, str) else tuple(table)


def checked_weight(data: Dataset, weight: str | None, clip: object, *, shared: bool, workload: Workload) -> Clip | None:
    """The clip of a column of weights, on a grid as fine as the size of the tables allows.

    A weight is rounded by half a step at most, so a million rows that are all rounded the same way are off by as much
    as a million half steps: the larger the tables, the coarser the grid must be for their integers to fit 64 bits.
    """
    if weight is None:
        if clip is not None:
            raise MissingParameter("weight_clip is of a column of weights: name it.", parameter="weight")
        return None
    data.check_usable(weight)
    if shared:
        raise InvalidParameter(
            "Rows that share one weight have no weights of their own. Take one of the two.", parameter="row_weight"
        )
    if clip is None:
        raise MissingParameter(
            "Weights need the largest that one row may have, a public number, or one row could change the tables "
            "without limit.",
            example={"weight_clip": (0, 500)},
        )
    ends = Clip.of(clip, data.rows[weight].type())
    if ends.low < 0:
        raise InvalidParameter(
            f"Weights are never negative, so the clip begins at 0 or above. Got {ends.low!r} instead.",
            value=clip,
            example={"weight_clip": (0, 500)},
        )
    reach = max(abs(ends.low), abs(ends.high))
    largest = math.ceil(math.log2(max(map(workload.cells_of, workload.maximal))))
    bits = ORDERED_WEIGHT_BITS if workload.asked else max(MIN_WEIGHT_BITS, WEIGHT_BITS - largest)
    step = math.ldexp(1.0, math.frexp(reach)[1] - bits)
    if ends.integers and step <= 1:
        return ends
    lowest, highest = rounded_end(ends.low, step), rounded_end(ends.high, step)
    return Clip(low=ends.low, high=ends.high, grid=step, lowest=lowest, highest=highest, integers=False)


def crosstab_limits(data: Dataset, by: tuple[str, ...], max_rows: int | None, *, shared: bool) -> Limits:
    """How much of one unit is kept. Rows that share one weight need no limit."""
    if shared and max_rows is None and not data.row_is_unit:
        return Limits(max_rows=LARGEST_LIMIT, max_per_bin=LARGEST_LIMIT, max_bins=LARGEST_LIMIT)
    return limits_of(data, bins=None, by=by, max_rows=max_rows)


# A tree among the columns


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

    def of_ways(self, columns: Sequence[str], ways: int | Sequence[int]) -> Sequence[tuple[str, ...]]:
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


# Are the tables asked for too large? Found from the sizes of their columns, before anything is made of them.
#
# A table of k columns has 2^k tables within it, and these have prod (n_i + 1) cells: each column is either one of its
# n_i keys, or summed over. All tables of k of the columns have as many cells as the elementary symmetric polynomial of
# their sizes says, which a pass over the columns finds exactly.


def check_tables(sizes: Mapping[str, int], tables: Iterable[Sequence[str]]) -> None:
    """Refuse tables of which one alone is too large.

    sizes: how many keys each column has. tables: the columns of each.
    """
    own = [tuple(dict.fromkeys(table)) for table in tables]
    largest = max(own, key=lambda table: _cells(sizes, table))
    _check_counted(_cells(sizes, largest), largest, _cells(sizes, largest))
    widest = max(own, key=lambda table: _cells_within(sizes, table))
    _check_noise(_cells_within(sizes, widest), widest)


def check_ways(sizes: Mapping[str, int], ways: int) -> None:
    """Refuse all tables of at most so many columns where they are too large.

    sizes: how many keys each column has. ways: how many columns the largest tables have.
    """
    by_order = cells_by_order(sizes.values(), ways)
    largest = set(sorted(sizes, key=sizes.__getitem__)[-ways:]) if ways else set()
    shown = tuple(column for column in sizes if column in largest)
    _check_counted(by_order[-1], shown, _cells(sizes, shown))
    _check_noise(sum(by_order), shown)


def check_workload(workload: Workload) -> None:
    """Refuse tables that are too large together.

    workload: the tables; none of them is too large alone.
    """
    cells = {table: workload.cells_of(table) for table in workload.maximal}
    largest = max(cells, key=cells.__getitem__)
    _check_counted(sum(cells.values()), largest, cells[largest])
    _check_noise(workload.block_cells, max(workload.maximal, key=len))


def cells_by_order(sizes: Iterable[int], most: int) -> list[int]:
    """How many cells all tables of 0, 1, ... `most` of these columns have."""
    made = [1, *[0] * most]
    for size in sizes:
        for order in range(most, 0, -1):
            made[order] += size * made[order - 1]
    return made


def _cells(sizes: Mapping[str, int], table: Iterable[str]) -> int:
    return math.prod(sizes[column] for column in table)


def _cells_within(sizes: Mapping[str, int], table: Iterable[str]) -> int:
    return math.prod(sizes[column] + 1 for column in table)


def _check_counted(cells: int, largest: tuple[str, ...], own: int) -> None:
    if cells > MAX_CELLS:
        raise BadDomain(
            f"The tables have {cells:,} cells, of which {table_name(largest)} has {own:,}, and at most {MAX_CELLS:,} "
            "can be counted. Use coarser keys, or tables of fewer columns.",
            parameter="keys",
            value=largest,
        )


def _check_noise(cells: int, longest: tuple[str, ...]) -> None:
    if cells > MAX_CELLS:
        raise BadDomain(
            f"The tables are put together from all tables within them, and these have {cells:,} cells, of which at "
            f"most {MAX_CELLS:,} can get noise. {table_name(longest)} has {len(longest)} columns: use tables of fewer.",
            parameter="tables",
            value=longest,
        )
