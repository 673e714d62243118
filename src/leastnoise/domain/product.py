"""The bins of a query: the product of its axes, and the keys as people give them."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from leastnoise.domain.axes import MAX_BINS, Axis, IntegerRange, Keys, Listed, plain_value
from leastnoise.domain.tree import Tree
from leastnoise.domain.wrapped import OTHER, Labelled, OrNull, OrOther
from leastnoise.domain.zones import Zones
from leastnoise.errors import BadDomain, Code, Wasteful, WrongType

FILLED_IN = '["a", "b"], { range = [18, 100] } or { edges = [0, 10, 50] }'  # entries of a file of keys
MAX_DENSE_BINS = 2**26  # a vector of this many integers is half a gigabyte; larger domains are kept sparse


@dataclass(frozen=True, slots=True)
class Domain:
    """A product of axes; no axis at all is a domain of one bin.

    names: the column of each axis. axes: the axes, the last turning fastest.
    """

    names: tuple[str, ...] = ()
    axes: tuple[Axis, ...] = ()

    def __post_init__(self) -> None:
        if self.size > MAX_BINS:
            raise BadDomain(
                f"the domain has {self.size:.3g} bins, and an index holds 2^64. Use fewer, coarser keys, or no keys "
                "(None), so that only bins which many people fill are published.",
                parameter="keys",
            )

    @property
    def size(self) -> int:
        """How many bins."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def sparse(self) -> bool:
        """Whether a dense vector of the bins is too large, so that only bins with rows are ever held."""
        return self.size > MAX_DENSE_BINS

    def key(self, index: int) -> Any:
        """The key of a bin: a tuple with several axes, () with none."""
        parts: list[Any] = []
        for axis in reversed(self.axes):
            index, position = divmod(index, axis.size)
            parts.append(axis.key(position))
        if index:
            raise IndexError("no bin has that index")
        return parts[0] if len(parts) == 1 else tuple(reversed(parts))

    def index(self, key: Any) -> int | None:
        """The index of the bin with that key; None where it is outside."""
        parts = (key,) if len(self.axes) == 1 else key
        total = 0
        for axis, part in zip(self.axes, parts, strict=True):
            position = axis.index(part)
            if position is None:
                return None
            total = total * axis.size + position
        return total

    def keys(self) -> list[Any]:
        """Every key in order."""
        return [self.key(index) for index in range(self.size)]


def listed(columns: tuple[str, ...], keys: Sequence[Any]) -> Domain:
    """The domain of keys that a release found."""
    return Domain((" + ".join(columns),), (Listed(columns, tuple(keys)),))


@dataclass(frozen=True, slots=True)
class Unfilled:
    """The keys of a column whose entry in a file is still empty: refused by the questions that ask for the column."""

    column: str
    line: str = field(repr=False)
    path: str = field(repr=False)


def check_filled(keys: Iterable[object]) -> None:
    """Refuse keys that are still to be filled in, all at once."""
    missing = [each for each in keys if isinstance(each, Unfilled)]
    if missing:
        listed = ", ".join(f'"{each.column}"' + (f" ({each.line})" if each.line else "") for each in missing)
        raise BadDomain(
            f"{missing[0].path!r} has no keys yet for {listed}. Fill them in, such as {FILLED_IN}, from what is "
            "public; or ask without them. Crosstabs with ways ask for every line: delete those that you do not want.",
            parameter="keys",
        )


def axis(keys: object) -> Axis:
    """Whatever names bins - a range, a list or array of keys, an axis, the leaves of a tree, zones - as an axis."""
    check_filled([keys])
    if isinstance(keys, Tree):
        return keys.leaves
    if isinstance(keys, Zones):
        return Keys(keys.keys)
    if isinstance(keys, range):
        return IntegerRange(keys.start, keys.stop, keys.step)
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        if isinstance(keys, Axis):
            return keys
        raise WrongType(
            f"keys must be a list of keys, a range, or bins such as ln.domain.Edges(...). Got {type(keys).__name__}."
        )
    listed = tuple(plain_value(value) for value in keys)
    made = Keys(listed)
    if alike := differ_by_case(listed):
        warnings.warn(f"{alike_in_words(alike)} If they mean the same, make them one first.", Wasteful, stacklevel=2)
    return made


def differ_by_case(keys: Iterable[object]) -> list[tuple[str, ...]]:
    """Texts that differ by capitals or by blanks at their ends alone, together.

    >>> differ_by_case(["Other", "other", "Pool", "pool ", 7])
    [('Other', 'other'), ('Pool', 'pool ')]
    """
    found: dict[str, list[str]] = {}
    for key in keys:
        if isinstance(key, str):
            found.setdefault(key.strip().casefold(), []).append(key)
    return [tuple(alike) for alike in found.values() if len(alike) > 1]


def alike_in_words(alike: Sequence[tuple[str, ...]]) -> str:
    """That they are bins of their own.

    >>> alike_in_words([("Other", "other")])
    'The keys "Other" and "other" differ by case or blanks alone, and are bins of their own.'
    """
    first = " and ".join(f'"{key}"' for key in alike[0])
    more = f" (and {len(alike) - 1:,} more like them)" if len(alike) > 1 else ""
    return f"The keys {first}{more} differ by case or blanks alone, and are bins of their own."


def with_other(keys: object, label: str = OTHER) -> OrOther:
    """The keys with one more bin, "missing or other", for nulls and for every other value.

    keys: a range, a list of keys or an axis. label: what the bin is called.

    >>> with_other(["port", "park"]).key(2), with_other(range(18, 100), "no answer").index("no answer")
    ('missing or other', 82)
    """
    return OrOther(axis(keys), label)


def is_plain_list(keys: object) -> bool:
    """Whether keys are, or an axis is, a list and nothing more, labelled or not: no range, edges or days, nothing that
    was declared to be in order, no leaves of a tree, no zones, and no bin for nulls or others yet."""
    listed = keys.axis if isinstance(keys, Labelled) else keys
    return type(listed) is Keys or not isinstance(listed, Axis | Tree | Zones | range)


def product(names: Sequence[str], keys: object, *, nulls: str = "drop", other: bool = False) -> Domain:
    """The domain of a histogram over the columns `names`: `keys` for one, a mapping or a sequence for several.

    nulls: "bin" gives every axis a bin for nulls; an axis with a bin for all others has them there already.
    other: whether every axis gets a bin for all others.
    """
    axes = [axis(part) for part in entries(names, keys)]
    if other:
        axes = [each if isinstance(each, OrOther) else OrOther(each) for each in axes]
    with_nulls = (each if nulls != "bin" or isinstance(each, OrOther) else OrNull(each) for each in axes)
    return Domain(tuple(names), tuple(with_nulls))


def entries(names: Sequence[str], keys: object) -> list[object]:
    """The keys of each column."""
    if isinstance(keys, str | os.PathLike) and os.fspath(keys).endswith(".toml"):
        raise WrongType(
            "a file of keys is read first, so that nothing is a file by its name alone.",
            parameter="keys",
            value=keys,
            example={"keys": Code(f'ln.domain.read("{os.fspath(keys)}")', os.fspath(keys))},
        )
    parts: list[object]
    if len(names) == 1 and not isinstance(keys, Mapping):
        parts = [keys]
    elif isinstance(keys, Mapping):
        missing = [name for name in names if name not in keys]
        if missing:
            raise BadDomain(
                f"there are keys for {', '.join(map(str, keys)) or 'nothing'}, and none for {', '.join(missing)}. Give "
                "keys for each column of the bins.",
                parameter="keys",
            )
        parts = [keys[name] for name in names]
    elif isinstance(keys, Sequence) and len(keys) == len(names) and not isinstance(keys, str):
        parts = list(keys)
    else:
        raise BadDomain(
            f"a histogram by {len(names)} columns needs keys for each.",
            parameter="keys",
            example={"keys": dict.fromkeys(names, ...)},
        )
    check_filled(parts)
    return [tuple(part) if isinstance(part, Iterator) else part for part in parts]


def counts_up(keys: object) -> bool:
    """Whether keys are whole numbers, and written as such: a range, or integers one by one. (Keys((1, 2)) and
    [1.0, 2.0] are for those who know that a column of real numbers holds exactly these.)"""
    if isinstance(keys, OrOther | Labelled):
        inner = keys.inner
        return counts_up(inner.values if isinstance(inner, Keys) else inner)
    if isinstance(keys, (range, IntegerRange)):
        return True
    if isinstance(keys, (str, Axis)) or not isinstance(keys, Iterable):
        return False
    return all(isinstance(value.as_py() if hasattr(value, "as_py") else value, Integral) for value in keys)
