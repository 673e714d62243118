"""Axes with a bin for all others, and with labels."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import pytest

from leastnoise.domain import (
    Axis,
    Days,
    Edges,
    Hours,
    IntegerRange,
    Keys,
    Labelled,
    Ordered,
    OrNull,
    OrOther,
    Tree,
    Zones,
    counts_up,
    is_plain_list,
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
def test_an_axis_with_others_has_one_more_key_under_its_label(inner: Axis) -> None:
    for axis, label in ((with_other(inner), "missing or other"), (with_other(inner, "no answer"), "no answer")):
        assert axis.size == inner.size + 1
        assert [axis.index(axis.key(place)) for place in range(axis.size)] == list(range(axis.size))
        assert axis.key(inner.size) == label
        assert axis.index(None) == inner.size
        with pytest.raises(IndexError):
            axis.key(axis.size)


@pytest.mark.parametrize("inner", INNER, ids=lambda axis: type(axis).__name__)
def test_a_key_that_was_mistyped_is_not_taken_for_all_others(inner: Axis) -> None:
    assert with_other(inner).index("no such key") is None
    assert with_other(range(18, 100)).index(7) is None
    assert with_other(Edges((0.0, 1.0))).index(1.5) is None


@pytest.mark.parametrize(
    "bad",
    [
        OrNull(Keys(("a",))),
        with_other(["a"]),
        Keys(("a", "missing or other")),
        Keys(("a", "Missing or Other")),
        Labelled(Keys((1, 2)), ("a", "MISSING OR OTHER")),
    ],
)
def test_two_bins_never_have_one_meaning_or_one_name(bad: Axis) -> None:
    with pytest.raises(BadDomain):
        with_other(bad)


def test_a_label_is_a_text_that_no_key_reads_as() -> None:
    assert with_other(["a", "other"]).key(2) == "missing or other"
    for keys, label in ((["a"], "A"), ([9, 10], "10"), ([True, False], "true"), ([date(2024, 1, 1)], "2024-01-01")):
        with pytest.raises(BadDomain, match="another label"):
            with_other(keys, label)
    bad: list[Any] = ["", "  ", 7, None, "\ud800"]
    for label in bad:
        with pytest.raises(WrongType, match="must be a text"):
            with_other(["a"], label)


@pytest.mark.parametrize(
    ("keys", "plain"),
    [
        (["a", "b"], True),
        ((2, 1), True),
        (Keys((1, 2)), True),
        (Labelled(Keys((1, 2)), ("a", "b")), True),
        (range(3), False),
        (Ordered(["low", "high"]), False),
        (Edges((0.0, 1.0)), False),
        (Labelled(Edges((0.0, 1.0)), ("a",)), False),
        (Days(date(2024, 1, 1), date(2024, 2, 1)), False),
        (OrNull(Keys((1, 2))), False),
        (with_other([1]), False),
        (Tree.from_columns({"a": ["x", "x"], "b": ["y", "z"]}, "a", "b"), False),
        (Zones(("a",), ((np.zeros((4, 2)),),)), False),
    ],
)
def test_what_a_plain_list_is(keys: object, plain: bool) -> None:
    assert is_plain_list(keys) is plain


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
    assert OrOther(axis).inner == axis.axis
    with pytest.raises(IndexError):
        axis.key(-1)


def test_a_product_gives_every_axis_its_bin_of_others_once() -> None:
    keys = {"a": ["x"], "b": with_other(range(3)), "not asked for": [1]}
    domain = product(["a", "b"], keys, other=True)
    assert [axis.size for axis in domain.axes] == [2, 4]
    assert domain.index(("missing or other", None)) == domain.size - 1
    assert domain.index(("?", None)) is None
    nulls = product(["a", "b"], keys, nulls="bin")
    assert [type(axis) for axis in nulls.axes] == [OrNull, OrOther]  # "other" takes nulls


def test_whole_numbers_count_up_under_labels_too() -> None:
    """So that a column of real numbers refuses them: only exact matches would count."""
    assert counts_up(with_other([1, 2]))
    assert counts_up(Labelled(IntegerRange(0, 2), ("a", "b")))
    assert not counts_up(with_other(Edges((0.0, 1.0))))


def test_a_column_of_numbers_has_null_for_others() -> None:
    assert key_cell(with_other(["a"]), "missing or other") == "missing or other"
    assert key_cell(with_other([1]), "missing or other") is None
    assert key_cell(with_other([1], "none"), "none") is None
    assert key_cell(Keys(("other",)), "other") == "other"


def test_a_path_is_no_list_of_keys_and_the_error_says_what_to_type():
    for names in (["a"], ["a", "b"]):
        with pytest.raises(WrongType, match=r'keys=ln\.domain\.read\("keys\.toml"\)'):
            product(names, "keys.toml")
