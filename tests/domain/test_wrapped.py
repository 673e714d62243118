"""Axes with a bin for all others, and with labels."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from leastnoise.domain import (
    Axis,
    Days,
    Edges,
    Hours,
    IntegerRange,
    Keys,
    Labelled,
    OrNull,
    OrOther,
    counts_up,
    innermost,
    key_cell,
    product,
    with_other,
)
from leastnoise.errors import BadDomain, WrongType

INNER: list[Axis] = [
    Keys(("a", "b")),
    Keys((3, 1)),
    Keys((True, False)),
    Keys((date(2024, 1, 1),)),
    IntegerRange(-7, 90, 4),
    Edges((-1.0, 0.5, 9.0)),
    Days(date(2024, 1, 1), date(2024, 2, 1)),
    Hours(datetime(2024, 1, 1), datetime(2024, 1, 2)),
    Labelled(Keys((1, 2)), ("men", "women")),
]


@pytest.mark.parametrize("inner", INNER, ids=lambda axis: type(axis).__name__)
def test_every_value_has_one_bin_of_an_axis_with_others(inner: Axis) -> None:
    axis = with_other(inner)
    assert axis.size == inner.size + 1
    assert [axis.index(axis.key(place)) for place in range(axis.size)] == list(range(axis.size))
    assert axis.key(inner.size) == "other"
    for outside in (None, "no such key", "other"):
        assert axis.index(outside) == inner.size
    with pytest.raises(IndexError):
        axis.key(axis.size)


def test_numbers_outside_are_others() -> None:
    assert with_other(range(18, 100)).index(7) == 82
    assert with_other(Edges((0.0, 1.0))).index(1.5) == 1
    assert with_other(Days("2024-01-01", "2024-01-03")).index(date(2025, 1, 1)) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [OrNull(Keys(("a",))), with_other(["a"]), Keys(("a", "other"))])
def test_two_bins_never_have_one_meaning_or_one_name(bad: Axis) -> None:
    with pytest.raises(BadDomain):
        with_other(bad)


@pytest.mark.parametrize(
    ("axis", "labels", "error"),
    [
        (Keys((1, 2)), ("men",), BadDomain),
        (Keys((1, 2)), ("men", "men"), BadDomain),
        (Keys((1, 2)), (1, 2), WrongType),
        (with_other([1]), ("a", "b"), BadDomain),
        (Labelled(Keys((1,)), ("a",)), ("b",), BadDomain),
    ],
)
def test_labels_are_one_text_a_key(axis: Axis, labels: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Labelled(axis, labels)


def test_labels_are_the_keys_of_what_is_published() -> None:
    axis = Labelled(Edges((0.0, 18.0, 65.0)), ("young", "grown"))
    assert [axis.key(place) for place in range(2)] == ["young", "grown"]
    assert (axis.index("grown"), axis.index("old"), axis.size) == (1, None, 2)
    assert innermost(OrOther(axis)) == axis.axis
    with pytest.raises(IndexError):
        axis.key(-1)


def test_a_product_gives_every_axis_its_bin_of_others_once() -> None:
    keys = {"a": ["x"], "b": with_other(range(3)), "not asked for": [1]}
    domain = product(["a", "b"], keys, other=True)
    assert [axis.size for axis in domain.axes] == [2, 4]
    assert domain.index(("?", 99)) == domain.size - 1
    nulls = product(["a", "b"], keys, nulls="bin")
    assert [type(axis) for axis in nulls.axes] == [OrNull, OrOther]  # "other" takes nulls


def test_whole_numbers_count_up_under_labels_too() -> None:
    """So that a column of real numbers refuses them: only exact matches would count."""
    assert counts_up(with_other([1, 2]))
    assert counts_up(Labelled(IntegerRange(0, 2), ("a", "b")))
    assert not counts_up(with_other(Edges((0.0, 1.0))))


def test_a_column_of_numbers_has_null_for_others() -> None:
    assert key_cell(with_other(["a"]), "other") == "other"
    assert key_cell(with_other([1]), "other") is None
    assert key_cell(Keys(("other",)), "other") == "other"


def test_a_path_is_no_list_of_keys_and_the_error_says_what_to_type():
    for names in (["a"], ["a", "b"]):
        with pytest.raises(WrongType, match=r'keys=ln\.domain\.read\("keys\.toml"\)'):
            product(names, "keys.toml")
