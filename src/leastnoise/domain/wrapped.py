"""An axis made of another: with one more bin for nulls or for every other value, or with labels for its keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from leastnoise.domain.axes import Axis, Keys, is_text, within
from leastnoise.errors import BadDomain, WrongType

OTHER = "missing or other"


class _OneMoreBin(Axis):
    """An axis with one more bin at its end, whose key is its label."""

    __slots__ = ()
    axis: Axis

    @property
    def label(self) -> Any:
        """The key of that bin."""
        return None

    @property
    def size(self) -> int:
        return self.axis.size + 1

    def key(self, position: int) -> Any:
        return self.label if position == self.axis.size else self.axis.key(position)

    @property
    def inner(self) -> Axis:
        return self.axis.inner


@dataclass(frozen=True, slots=True)
class OrNull(_OneMoreBin):
    """An axis with one more bin at its end, for rows whose key is null.

    axis: the axis without it.
    """

    axis: Axis

    def index(self, key: Any) -> int | None:
        return self.axis.size if key is None else self.axis.index(key)


@dataclass(frozen=True, slots=True)
class OrOther(_OneMoreBin):
    """An axis with one more bin at its end, "missing or other": for nulls, and for values that are none of its keys.

    So no row is outside. In frames and files its label is a text among texts; a column of numbers, days or ends keeps
    its type and has null there.

    axis: the axis without it. label: what the bin is called.
    """

    axis: Axis
    label: str = OTHER

    def __post_init__(self) -> None:
        if isinstance(self.axis, _OneMoreBin):
            raise BadDomain("the axis already has a bin for nulls or for others, which takes nulls as well: once.")
        if not isinstance(self.label, str) or not is_text(self.label) or not self.label.strip():
            raise WrongType(f"the label of the bin for all other values must be a text. Got {self.label!r} instead.")
        taken = next((key for key in _names(self.axis) if str(key).casefold() == self.label.casefold()), None)
        if taken is not None:
            raise BadDomain(
                f"{taken!r} is one of the keys, and the bin for missing and all other values would have the same name, "
                f"{self.label!r}. Give that bin another label."
            )

    def index(self, key: Any) -> int | None:
        """The position of a key: the last for its label, or None. A key that somebody mistyped has none."""
        if key is None or key == self.label:
            return self.axis.size
        return self.axis.index(key) if isinstance(key, str) == _has_texts(self.axis) else None


@dataclass(frozen=True, slots=True)
class Labelled(Axis):
    """An axis whose keys are published under other names: 1 and 2 in the rows, "men" and "women" in the release.

    axis: how rows are binned. labels: a text for each of its keys, in order, each once.
    """

    axis: Axis
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if isinstance(self.axis, _OneMoreBin | Labelled):
            raise BadDomain("labels are for keys alone. Give them first, and then a bin for nulls or others.")
        if not all(isinstance(label, str) and is_text(label) for label in self.labels):
            raise WrongType("labels must be texts. Put numbers in quotes.")
        if len(self.labels) != self.axis.size:
            raise BadDomain(f"there are {self.axis.size:,} keys and {len(self.labels):,} labels. Give each key one.")
        if len(set(self.labels)) < len(self.labels):
            raise BadDomain("a label is given twice, and two bins would have one name. Give every label once.")

    @property
    def size(self) -> int:
        return self.axis.size

    def key(self, position: int) -> str:
        return self.labels[within(position, self.size)]

    def index(self, key: str) -> int | None:
        return self.labels.index(key) if key in self.labels else None

    @property
    def inner(self) -> Axis:
        return self.axis.inner


def ordered_size(axis: Axis) -> int:
    """How many keys have the order: all but the bin for nulls or others."""
    return axis.size - isinstance(axis, _OneMoreBin)


def key_cell(axis: Axis, key: Any) -> Any:
    """A key as a cell of a column, which has one type: the label of all others is null where the keys are no texts."""
    return None if isinstance(axis, OrOther) and key == axis.label and not _has_texts(axis.axis) else key


def _names(axis: Axis) -> Iterable[Any]:
    """The keys that were listed one by one, as they are shown."""
    return axis.labels if isinstance(axis, Labelled) else axis.values if isinstance(axis, Keys) else ()


def _has_texts(axis: Axis) -> bool:
    return isinstance(axis, Labelled) or (isinstance(axis, Keys) and isinstance(axis.values[0], str))
