"""Trees of keys from public tables: what they hold, and what is no tree."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.domain import Keys, Tree, TreeShape
from leastnoise.testing import aggregate

PLACES = {"state": ["AL", "WY", "AL", "AL"], "county": ["a1", "w1", "a2", "a1"]}
CODES = {"child": ["A1", "A2", "B1", "A"], "parent": ["A", "A", "B", None]}


@pytest.mark.parametrize(
    "source", [PLACES, pd.DataFrame(PLACES), pl.DataFrame(PLACES), pd.DataFrame(PLACES).convert_dtypes()]
)
def test_columns_make_a_tree_whose_children_stand_together(source: Any) -> None:
    tree = Tree.from_columns(source, "state", "county")
    assert tree.keys == (Keys(("AL", "WY")), Keys(("a1", "a2", "w1")))
    assert [counts.tolist() for counts in tree.shape.children] == [[2], [2, 1]]
    assert [tree.parent("county", key) for key in tree.leaves.values] == ["AL", "AL", "WY"]
    assert tree.parent("state", "AL") is None
    assert repr(tree) == "Tree(state: 2, county: 3)"


def test_files_and_other_keys(tmp_path: Path) -> None:
    pd.DataFrame({"year": [2024, 2024], "day": [date(2024, 1, 1), date(2024, 1, 2)]}).to_parquet(tmp_path / "d.parquet")
    tree = Tree.from_columns(tmp_path / "d.parquet", "year", "day")
    assert tree.leaves.values == (date(2024, 1, 1), date(2024, 1, 2))
    (tmp_path / "fips.csv").write_text("state,county,year\n01,01001,2024\n56,56001,2024\n")
    codes = Tree.from_columns(tmp_path / "fips.csv", "year", "state", "county")
    assert codes.keys == (Keys((2024,)), Keys(("01", "56")), Keys(("01001", "56001")))  # not 1001
    (tmp_path / "c.csv").write_text("code,within\nA1,A\nA2,A\nB1,B\n")
    other = Tree.from_parents(tmp_path / "c.csv", "chapter", "code", child="code", parent="within")
    assert other.keys == (Keys(("A", "B")), Keys(("A1", "A2", "B1")))


def test_a_leaf_that_is_less_deep_is_its_own_only_child() -> None:
    deep = Tree.from_parents({"child": ["b", "c", "x"], "parent": ["a", "b", "a"]}, "one", "two", "three")
    assert deep.keys == (Keys(("a",)), Keys(("b", "x")), Keys(("c", "x")))
    assert deep.parent("three", "x") == "x"
    flat = Tree.from_parents({"child": ["a", "b"], "parent": pd.Series([None, None], dtype=str)}, "only")
    assert flat.keys == (Keys(("a", "b")),)


def test_sums_go_up_the_tree() -> None:
    shape = TreeShape((np.array([2]), np.array([2, 1])))
    np.testing.assert_array_equal(shape.sums(np.array([[1, 10], [2, 20], [4, 40]]), 1, of=2), [[3, 30], [4, 40]])
    np.testing.assert_array_equal(shape.sums(np.array([[1, 2, 4]]), 0, of=2, axis=1), [[7]])
    assert shape.ancestors(1, of=2).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tree.from_columns({"s": ["A", "B"], "c": ["x", "x"]}, "s", "c"), "is in two: 'A' and 'B'"),
        (lambda: Tree.from_columns({"s": ["A", None], "c": ["x", "y"]}, "s", "c"), "'y' of \"c\" has no parent"),
        (lambda: Tree.from_columns({"s": ["A", "B"], "c": ["x", None]}, "s", "c"), 'row 2 of the tree has no key'),
        (lambda: Tree.from_columns({"s": ["A"], "c": [1.5]}, "s", "c"), "must be texts, whole numbers"),
        (lambda: Tree.from_columns({"s": [], "c": []}, "s", "c"), "no rows"),
        (lambda: Tree.from_columns(PLACES, "state", "county", "ward"), 'no column "ward"'),
        (lambda: Tree.from_columns(PLACES), "named from the coarsest"),
        (lambda: Tree.from_parents({"child": ["a", "b", "c"], "parent": ["b", "c", "a"]}, "x"), "'b' in 'c' in 'a'"),
        (lambda: Tree.from_parents({"child": ["a", "b"], "parent": ["s", None]}, "x", "y"), "neither a parent nor"),
        (lambda: Tree.from_parents({"child": ["a", "d"], "parent": ["a", "a"]}, "x", "y"), "'a' in 'a'"),
        (lambda: Tree.from_parents({"child": ["a", "a"], "parent": ["b", "c"]}, "x", "y"), "'a' of \"child\" is in"),
        (lambda: Tree.from_parents({"child": ["a", "b"], "parent": ["b", "c"]}, "x", "y"), "has 2 keys above it"),
        (lambda: Tree.from_parents({"child": ["a"], "parent": ["b"]}, "x", "y", "z"), "longest way down has 2 keys"),
        (lambda: Tree.from_parents({"child": [None, "b"], "parent": ["b", "c"]}, "x", "y"), 'no key in "child"'),
        (lambda: Tree.from_parents({"child": ["a"], "parent": [1]}, "x", "y"), "must be of one type"),
        (lambda: Tree.from_columns(PLACES, "state", "county").level("ward"), "ward"),
        (lambda: Tree.from_columns(PLACES, "state", "county").parent("county", "zz"), "no key 'zz'"),
        (lambda: TreeShape((np.array([2]), np.array([1, 0]))), "has a child"),
        (lambda: TreeShape((np.array([2]), np.array([1]))), "as many nodes"),
    ],
)  # fmt: skip
def test_what_is_no_tree_is_refused_by_its_key(make: Any, message: str) -> None:
    with pytest.raises(errors.InvalidParameter) as problem:
        make()
    assert message in str(problem.value)


def test_a_histogram_takes_the_leaves() -> None:
    tree = Tree.from_columns(PLACES, "state", "county")
    people = pd.DataFrame({"who": range(3), "county": ["a1", "w1", "a1"]})
    query = ln.table(people, unit="who").histogram("county", keys=tree, max_rows=1)
    assert aggregate(query).values.tolist() == [2, 0, 1]


def test_keys_files_have_trees(tmp_path: Path) -> None:
    pd.DataFrame(PLACES).to_csv(tmp_path / "places.csv", index=False)
    pd.DataFrame(CODES).to_csv(tmp_path / "codes.csv", index=False)
    file = tmp_path / "keys.toml"
    file.write_text('county = { tree = "places.csv", levels = ["state", "county"] }\n')
    assert ln.domain.read(file)["county"] == Tree.from_columns(PLACES, "state", "county")
    file.write_text('code = { tree = "codes.csv", levels = ["chapter", "code"], child = "child" }\n')
    assert ln.domain.read(file)["code"] == Tree.from_parents(CODES, "chapter", "code")
    for line, message in [
        ('county = { tree = "places.csv" }', "levels"),
        ('county = { tree = "places.csv", levels = ["county", "state"] }', "that of the leaves"),
        ('county = { tree = "places.txt", levels = ["county"] }', ".parquet"),
        ('county = { tree = "places.csv", levels = ["county"], other = true }', "takes no other"),
        ('county = { tree = "none.csv", levels = ["county"] }', "no file"),
        ('county = { tree = "codes.csv", levels = ["county"], child = 3 }', "names of columns"),
    ]:
        file.write_text(line + "\n")
        with pytest.raises(errors.LeastnoiseError, match=message):
            ln.domain.read(file)
