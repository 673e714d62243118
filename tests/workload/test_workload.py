"""What a workload is: its tables, blocks and cells, and the mistakes it refuses."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise import errors
from leastnoise.workload import Workload

SIZES = {"age": 5, "sex": 2, "race": 3, "one": 1}


@given(st.data())
def test_tables_blocks_and_cells_are_those_of_sets(data: st.DataObject) -> None:
    every = [table for k in range(5) for table in itertools.combinations(SIZES, k)]
    tables = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    shuffled = [data.draw(st.permutations(table)) for table in tables]
    made = Workload(SIZES, tables=shuffled)
    assert made.tables == tuple(tables)
    sets = [frozenset(table) for table in tables]
    assert set(made.maximal) == {t for t, s in zip(tables, sets, strict=True) if not any(s < other for other in sets)}
    blocks = {block for table in tables for k in range(5) for block in itertools.combinations(table, k)}
    assert set(made.blocks) == {block for block in blocks if "one" not in block}
    assert len(set(made.blocks)) == len(made.blocks)
    cells = [SIZES["age"] ** ("age" in t) * 2 ** ("sex" in t) * 3 ** ("race" in t) for t in tables]
    assert made.cells == sum(cells)
    assert [made.cells_of(table) for table in made.tables] == cells
    again = pickle.loads(pickle.dumps(made))
    assert (again, hash(again)) == (made, hash(made))
    assert made != Workload({**SIZES, "sex": 7}, tables=tables)
    strategy = made.optimize()
    assert list(strategy.std) == tables
    for table, other in zip(tables, shuffled, strict=True):
        assert strategy.std[tuple(other)] == pytest.approx(strategy.table_variances[made.place(table)] ** 0.5)


def test_cells_are_counted_exactly_whatever_their_number() -> None:
    assert Workload({"a": 2**30, "b": 2**30 + 1, "c": 3}, ways=3).cells == math.prod(
        n + 1 for n in (2**30, 2**30 + 1, 3)
    )


def test_ways() -> None:
    assert Workload(SIZES, ways=(2,)).tables == tuple(itertools.combinations(SIZES, 2))
    assert Workload(SIZES, ways=1).tables == ((), ("age",), ("sex",), ("race",), ("one",))
    assert Workload({"a": 2}, ways=3).tables == ((), ("a",))
    assert Workload(SIZES, ways=0).tables == ((),)


def test_names_are_taken_in_any_order_and_alone() -> None:
    made = Workload(SIZES, tables=["sex", ("race", "age"), ()]).optimize()
    assert made.std["sex"] == made.std[("sex",)]
    assert made.std["race", "age"] == made.std["age", "race"]
    assert made.std[()] > 0
    assert made.std["age"] > 0  # not asked for, but a sum of what was
    assert "sex" in made.std
    assert ("age", "race") in made.std
    assert "age" not in made.std
    assert "income" not in made.std


def test_a_table_within_no_other_cannot_be_looked_up() -> None:
    made = Workload(SIZES, tables=["sex", ("race", "age")]).optimize()
    with pytest.raises(errors.InvalidParameter, match="within no table"):
        made.std["sex", "race"]
    with pytest.raises(errors.UnknownColumn, match='Did you mean "race"'):
        made.std["rase"]


def test_a_column_with_one_key_adds_nothing() -> None:
    with_one = Workload(SIZES, tables=[("age", "one"), ("age", "sex")]).optimize()
    without = Workload({"age": 5, "sex": 2}, tables=["age", ("age", "sex")]).optimize()
    assert with_one.std["age", "one"] == pytest.approx(without.std["age"])
    assert with_one.workload.blocks == without.workload.blocks
    alone = Workload({"one": 1}, tables=["one"]).optimize(mu=2)
    assert (alone.workload.blocks, alone.std["one"]) == (((),), pytest.approx(0.5))


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: Workload(SIZES), errors.MissingParameter, "Which tables"),
        (lambda: Workload(SIZES, ways=1, tables=["age"]), errors.MissingParameter, "not both"),
        (lambda: Workload(SIZES, tables=[]), errors.MissingParameter, "no table"),
        (lambda: Workload(SIZES, tables=[("age", "age")]), errors.InvalidParameter, '"age" twice'),
        (lambda: Workload(SIZES, tables=[("age", "sex"), ("sex", "age")]), errors.InvalidParameter, "asked for twice"),
        (lambda: Workload(SIZES, tables=["aeg"]), errors.UnknownColumn, 'Did you mean "age"'),
        (lambda: Workload({"age": 0}, ways=1), errors.InvalidParameter, "at least 1"),
        (lambda: Workload({"age": 2.5}, ways=1), errors.WrongType, "whole number"),
        (lambda: Workload({"age": 2**40}, ways=1), errors.BadDomain, "more than a table can have"),
        (lambda: Workload({3: 2}, ways=1), errors.WrongType, "named by a string"),
        (lambda: Workload([("age", 2)], ways=1), errors.WrongType, "mapping"),
        (lambda: Workload(SIZES, ways=-1), errors.InvalidParameter, "at least 0"),
        (lambda: Workload(SIZES, ways=(5,)), errors.InvalidParameter, "from 0 to 4"),
        (lambda: Workload(SIZES, ways=()), errors.InvalidParameter, "from 0 to 4"),
        (lambda: Workload(SIZES, ways="2"), errors.WrongType, "whole number"),
        (lambda: Workload({str(i): 2 for i in range(200)}, ways=5), errors.BadDomain, "do not fit in memory"),
        (lambda: Workload(SIZES, ways=2).optimize(weights="all"), errors.InvalidParameter, "must be one of"),
        (lambda: Workload(SIZES, ways=2).optimize(weights=3), errors.WrongType, "mapping"),
        (lambda: Workload(SIZES, ways=2).optimize(weights={"aeg": 2}), errors.UnknownColumn, "Did you mean"),
        (lambda: Workload(SIZES, ways=1).optimize(weights={("age", "sex"): 2}), errors.InvalidParameter, "not asked"),
        (lambda: Workload(SIZES, ways=1).optimize(weights={"age": 0}), errors.InvalidParameter, "above 0"),
        (lambda: Workload(SIZES, ways=1).optimize(weights={"age": 1, ("age",): 2}), errors.InvalidParameter, "two"),
        (lambda: Workload(SIZES, ways=1).optimize(mu=0), errors.InvalidParameter, "above 0"),
    ],
)
def test_mistakes(make: Callable[[], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make()


def test_a_weight_lowers_the_error_of_its_table() -> None:
    workload = Workload(SIZES, ways=2)
    alike, heavy = workload.optimize(), workload.optimize(weights={("sex", "age"): 100})
    assert heavy.std["age", "sex"] < alike.std["age", "sex"]
    assert heavy.std["race"] > alike.std["race"]
