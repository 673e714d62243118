"""Ordered axes are chained, names never are."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from leastnoise import errors
from leastnoise.domain import (
    Days,
    Domain,
    Edges,
    Hours,
    IntegerRange,
    Keys,
    Labelled,
    Lattice,
    Listed,
    OrNull,
    Steps,
    with_other,
)
from leastnoise.graphs import Graph
from leastnoise.graphs.bin_graph import graph_along, ordered_axes

ORDERED = [
    IntegerRange(0, 12, 3),
    Edges((0.0, 0.5, 1.0, 7.0, 9.0)),
    Steps(0.0, 1.0, 4),
    Days(date(2024, 1, 1), date(2024, 1, 5)),
    Hours(datetime(2024, 1, 1, 0), datetime(2024, 1, 1, 4)),
    Keys((1, 2, 3, 4)),
    Keys((0, 10, 20, 30)),
    Keys((date(2024, 1, 1), date(2024, 1, 2), date(2024, 3, 1), date(2024, 5, 1))),
]
NOT_ORDERED = [
    Keys(("a", "b", "c", "d")),
    Keys(("1", "2", "3", "4")),
    Keys((False, True)),
    Keys((4, 3, 2, 1)),
    Keys((10, 11, 40)),
    Keys((7,)),
    Keys((date(2024, 1, 2), date(2024, 1, 1))),
    Listed(("k",), (1, 2, 3)),
    IntegerRange(0, 1),
]


@pytest.mark.parametrize("axis", ORDERED, ids=repr)
def test_an_axis_with_an_order_is_a_chain(axis):
    domain = Domain(("k",), (axis,))
    assert ordered_axes(domain) == ("k",)
    assert (graph_along(domain, ["k"]).edges == Graph.path(4).edges).all()


@pytest.mark.parametrize("axis", NOT_ORDERED, ids=repr)
def test_a_list_without_order_is_not_chained(axis):
    assert ordered_axes(Domain(("k",), (axis,))) == ()


def test_names_and_months_make_a_chain_for_each_name():
    domain = Domain(("carrier", "month"), (Keys(("AA", "UA")), IntegerRange(1, 4)))
    assert ordered_axes(domain) == ("month",)
    assert graph_along(domain, ["month"]).edges.tolist() == [[0, 1], [1, 2], [3, 4], [4, 5]]
    assert graph_along(domain, ["carrier"]).edges.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_two_ordered_axes_and_a_lattice_are_grids():
    ranges = Domain(("a", "b"), (IntegerRange(0, 3), IntegerRange(0, 4)))
    assert (graph_along(ranges, ["a", "b"]).edges == Graph.grid((3, 4)).edges).all()
    cells = Lattice("x", "y", 1.0).box(x=(0, 4), y=(0, 3))
    lattice = Domain(("cell",), (cells,))
    assert ordered_axes(lattice) == ("cell",)
    assert (graph_along(lattice, ["cell"]).edges == Graph.grid((3, 4)).edges).all()
    hours = Domain(("cell", "hour"), (cells, IntegerRange(0, 2)))
    assert (graph_along(hours, ["cell", "hour"]).edges == Graph.grid((3, 4, 2)).edges).all()


def test_the_bin_of_nulls_has_no_neighbour():
    domain = Domain(("k",), (OrNull(IntegerRange(0, 3)),))
    assert ordered_axes(domain) == ("k",)
    assert graph_along(domain, ["k"]).edges.tolist() == [[0, 1], [1, 2]]
    assert ordered_axes(Domain(("k",), (OrNull(Keys(("a", "b"))),))) == ()


def test_others_have_no_neighbour_and_labels_keep_the_order_of_their_keys():
    labelled = Labelled(Edges((0.0, 18.0, 65.0, 120.0)), ("young", "grown", "old"))
    for axis in (with_other(IntegerRange(0, 3)), with_other(labelled)):
        assert ordered_axes(Domain(("k",), (axis,))) == ("k",)
        assert graph_along(Domain(("k",), (axis,)), ["k"]).edges.tolist() == [[0, 1], [1, 2]]
    assert ordered_axes(Domain(("k",), (with_other(["a", "b"]),))) == ()


def test_an_unknown_axis_is_refused():
    with pytest.raises(errors.InvalidParameter, match='Did you mean "month"'):
        graph_along(Domain(("month",), (IntegerRange(1, 13),)), ["mnth"])
