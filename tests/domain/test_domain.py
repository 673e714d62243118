"""Laws of bins: index and key are inverse, whatever the axes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise.domain import (
    Days,
    Domain,
    Edges,
    Hours,
    IntegerRange,
    Keys,
    Labelled,
    Lattice,
    Ordered,
    OrNull,
    Steps,
    axis,
    product,
    with_other,
)
from leastnoise.errors import BadDomain, InvalidParameter, WrongType

AXES = [
    Keys(("a", "b", "ü")),
    Keys((True, False)),
    IntegerRange(-7, 90, 4),
    IntegerRange(-(2**40), 2**40),
    Edges((-1.0, 0.5, 0.75, 9.0)),
    Steps(low=-1.0, high=2.0, bins=7),
    Days(date(1969, 12, 30), date(1970, 2, 1)),
    Hours(datetime(2013, 1, 1, 22), datetime(2013, 1, 3)),
    Lattice("x", "y", 0.25).box(x=(-1.1, 2), y=(0, 0.6)),
    OrNull(Keys((3, 1))),
    with_other(Keys(("a", "b"))),
    Labelled(Keys((3, 1)), ("three", "one")),
]


@given(st.lists(st.sampled_from(AXES), max_size=3), st.data())
def test_index_inverts_key(axes, data):
    domain = Domain(tuple(str(n) for n in range(len(axes))), tuple(axes)) if _fits(axes) else Domain()
    index = data.draw(st.integers(0, domain.size - 1))
    assert domain.index(domain.key(index)) == index


def _fits(axes: list) -> bool:
    size = 1
    for each in axes:
        size *= each.size
    return size <= 2**64


def test_a_domain_may_have_2_to_the_64_bins_and_no_more():
    half = IntegerRange(0, 2**32)
    domain = Domain(("a", "b"), (half, half))
    assert domain.size == 2**64
    assert domain.key(2**64 - 1) == (2**32 - 1, 2**32 - 1)
    with pytest.raises(BadDomain):
        Domain(("a", "b"), (half, OrNull(half)))


@pytest.mark.parametrize("each", AXES)
def test_no_bin_lies_past_the_end(each):
    with pytest.raises(IndexError):
        each.key(each.size + 1)
    with pytest.raises(IndexError):
        Domain(("a",), (each,)).key(each.size)


@pytest.mark.parametrize(
    ("each", "outside"),
    [
        (AXES[0], "z"),
        (AXES[2], -6),
        (AXES[4], 9.1),
        (AXES[4], (0.5, 9.0)),
        (AXES[6], date(1970, 2, 1)),
        (AXES[7], datetime(2014, 1, 1)),
    ],
)
def test_keys_outside_have_no_index(each, outside):
    assert each.index(outside) is None


def test_the_last_edge_belongs_to_the_last_bin():
    assert [AXES[4].index(x) for x in (-1.0, 0.5, 8.0, 9.0)] == [0, 1, 2, 2]  # type: ignore[attr-defined]


def test_the_order_of_a_product_turns_the_last_axis_fastest():
    domain = product(["a", "b"], {"b": [1, 2], "a": ["x", "y"]})
    assert domain.keys() == [("x", 1), ("x", 2), ("y", 1), ("y", 2)]


def test_a_lattice_box_covers_its_rectangle():
    lattice = Lattice("x", "y", 0.1)
    box = lattice.box(x=(0.05, 0.95), y=(-0.3, 0.3))
    for x, y in [(0.05, -0.3), (0.94, 0.29), (0.5, 0.0)]:
        assert box.index(lattice.cell(x, y)) is not None
    assert box.index(lattice.cell(1.05, 0)) is None


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        ([], BadDomain),
        (["a", "b", "a"], BadDomain),
        ([1, "a"], WrongType),
        ([0.5, 1.5], WrongType),
        ([None, "a"], WrongType),
        (7, WrongType),
        ("abc", WrongType),
        (range(5, 5), BadDomain),
    ],
)
def test_keys_that_are_no_set_of_bins_are_refused(keys, error):
    with pytest.raises(error):
        axis(keys)


def test_bad_edges_and_ranges_are_refused():
    with pytest.raises(BadDomain):
        Edges((1.0, 1.0))
    with pytest.raises(InvalidParameter):
        Edges((0.0, float("nan")))
    with pytest.raises(BadDomain):
        Hours(datetime(2013, 1, 1, 0, 30), datetime(2013, 1, 2))
    with pytest.raises(BadDomain):
        Days(date(2013, 1, 2), date(2013, 1, 2))
    with pytest.raises(BadDomain):
        product(["a", "b"], [[1, 2]])
    with pytest.raises(BadDomain):
        product(["a", "b"], {"a": [1], "c": [2]})


NOON, NEXT = datetime(2013, 1, 1, 12), datetime(2013, 1, 2)
INDIA = timezone(timedelta(hours=5, minutes=30))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        *((lambda edges=edges: Edges(edges), WrongType, r"Say ln\.domain\.Edges\(\(0, 10, 20\)\)")
          for edges in (["a", "b"], ["1", "2"], "12", None, 3, [None, 1], [1j, 2], [[0, 1], [2, 3]], [NOON, NEXT])),
        (lambda: Edges([0, 10**400]), InvalidParameter, "finite"),
        *((lambda ends=ends: Days(*ends), WrongType, r'Say ln\.domain\.Days\("2013-01-01", "2013-02-01"\)')
          for ends in (("x", "y"), (1, 2), (None, None), (NOON, NEXT), ("2013-01-01", 5), (pd.NaT, pd.NaT),
                       (datetime(2013, 1, 1, tzinfo=UTC), datetime(2013, 1, 2, tzinfo=UTC)))),
        *((lambda ends=ends: Hours(*ends), WrongType, r'Say ln\.domain\.Hours\("2013-01-01 00:00"')
          for ends in (("x", "y"), (1, 2), (date(2013, 1, 1), date(2013, 1, 2)), (pd.NaT, pd.NaT),
                       (datetime(1, 1, 1, tzinfo=INDIA), NOON), (pd.Timestamp(2013, 1, 1, nanosecond=5), NEXT))),
        (lambda: Hours(NOON, NEXT.replace(tzinfo=UTC)), BadDomain, "the other has none"),
        (lambda: Hours(NOON.replace(tzinfo=INDIA), NEXT.replace(tzinfo=INDIA)), BadDomain, "on one of UTC"),
        (lambda: IntegerRange("a", 3), WrongType, r"the start .* Say keys=range\(24\)"),
        (lambda: IntegerRange(0, 2.5), WrongType, "the stop"),
        (lambda: Keys("abc"), WrongType, "keys are a list"),
        (lambda: Keys(3), WrongType, "keys are a list"),
        (lambda: Ordered(None), WrongType, "keys are a list"),
        (lambda: Lattice("x", "y", "wide"), WrongType, r'Say ln\.lattice\("lon", "lat", 0\.01\)'),
        (lambda: Lattice("x", 3, 0.1), WrongType, "Got str, int, float"),
        (lambda: Lattice("x", "y", 0.1).box(x=3, y=(0, 1)), WrongType, "along x"),
        (lambda: Lattice("x", "y", 0.1).box(x=(0, 1), y=(0, float("inf"))), WrongType, "along y"),
    ],
)  # fmt: skip
def test_an_axis_of_something_else_is_refused_where_it_is_made(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_ends_of_other_libraries_are_the_same_days_and_hours():
    days, hours = Days("2013-01-01", "2013-01-03"), Hours("2013-01-01 00:00", "2013-01-03 00:00")
    for make in (pd.Timestamp, np.datetime64, datetime.fromisoformat):
        assert Days(make("2013-01-01"), make("2013-01-03")) == days
        assert Hours(make("2013-01-01"), make("2013-01-03")) == hours
    assert Days(np.datetime64("2013-01-01", "ns"), date(2013, 1, 3)) == days


def test_hours_of_a_clock_that_is_set_are_counted_as_they_pass():
    zurich = ZoneInfo("Europe/Zurich")
    spring = Hours(datetime(2020, 3, 29, tzinfo=zurich), datetime(2020, 3, 30, tzinfo=zurich))
    assert spring.size == 23
    assert spring.key(22) == datetime(2020, 3, 29, 21, tzinfo=UTC)


def test_keys_in_a_list_are_those_in_a_tuple():
    assert Keys([1, 2]) == Keys((1, 2))
