"""Missing and unlisted values in a set of tables: one more key of each plain list, so that nobody leaves a table
because of another column."""

from __future__ import annotations

import itertools
import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import errors, testing
from leastnoise.curator.queries.crosstabs import Crosstabs
from leastnoise.domain import OTHER, Axis, Keys, Labelled, OrNull, OrOther

DAYS = [date(2026, 1, 1), date(2026, 1, 2)]
KEYS: dict[str, Any] = {"sex": ["f", "m"], "grade": [9, 10, 12], "smokes": [True, False], "day": DAYS}
ASK = {"epsilon": 1, "delta": 1e-6}


def students(rows: int, *, seed: int = 1, per_unit: int = 1, empty: float = 0.2) -> pd.DataFrame:
    """Each column with missing cells and, but for truth values, with values that are no key."""
    rng = np.random.default_rng(seed)

    def column(values: list[Any], kind: Any) -> pd.Series:
        drawn = pd.Series([values[i] for i in rng.integers(0, len(values), rows)], dtype="object")
        drawn[rng.random(rows) < empty] = None
        return drawn.astype(kind)

    return pd.DataFrame(
        {
            "who": np.arange(rows) // per_unit,
            "sex": column(["f", "m", "x"], "string"),
            "grade": column([9, 10, 12, 13], "Int64"),
            "smokes": column([True, False], "boolean"),
            "day": column([*DAYS, date(2027, 1, 1)], pd.ArrowDtype(pa.date32())),
        }
    )


def asked(frame: pd.DataFrame, *tables: Any, **options: Any) -> Crosstabs:
    given = {"keys": KEYS, "max_rows": 1, **({} if tables else {"ways": 2}), **options}
    query = ln.table(frame, unit="who").crosstabs(*tables, **given)
    assert isinstance(query, Crosstabs)
    return query


def exact(query: Crosstabs) -> dict[tuple[str, ...], np.ndarray[Any, Any]]:
    counted = dict(zip(query.counted, query._counter().split(testing.aggregate(query).values), strict=True))
    return {**dict(query.workload.sums_of(counted, query.workload.blocks)), **counted}


def places(frame: pd.DataFrame, column: str) -> np.ndarray[Any, Any]:
    """By pandas alone: the place of each value among its keys, and after the last of whatever is none of them."""
    keys = KEYS[column]
    known = frame[column].map(lambda value: keys.index(value) if not pd.isna(value) and value in keys else len(keys))
    return known.fillna(len(keys)).to_numpy(dtype=int)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3]), st.sampled_from([1, 2, 3]))
def test_every_table_adds_up_to_all_rows_within_the_limits(rows: int, seed: int, per_unit: int, most: int) -> None:
    frame = students(rows, seed=seed, per_unit=per_unit, empty=0.4)
    found = exact(asked(frame, *KEYS, *itertools.combinations(KEYS, 2), max_rows=most))
    within = int(frame.groupby("who").size().clip(upper=most).sum())
    assert {table: int(values.sum()) for table, values in found.items()} == dict.fromkeys(found, within)


def test_every_cell_is_what_pandas_counts() -> None:
    frame = students(500)
    found = exact(asked(frame, ways=3))
    assert len(found) == 15
    for table, values in found.items():
        shape = [len(KEYS[column]) + 1 for column in table]
        cells = (
            np.ravel_multi_index([places(frame, column) for column in table], shape) if table else np.zeros(500, int)
        )
        want = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
        np.testing.assert_array_equal(values, want)


def test_a_number_far_beyond_its_keys_and_a_text_of_another_case_are_others() -> None:
    frame = pd.DataFrame({"who": range(4), "n": [1, 2**62, -(2**62), 2], "t": ["a", "A", "a ", ""]})
    found = exact(asked(frame, "n", "t", keys={"n": [1, 2], "t": ["a", "b"]}))
    assert found["n",].tolist() == [1, 1, 2]
    assert found["t",].tolist() == [1, 0, 3]


def sizes(**options: Any) -> dict[str, int]:
    query = asked(students(9), "sex", "grade", "smokes", "day", **options)
    return {name: axis.size for name, axis in query.axes.items()}


def test_what_other_and_nulls_say_is_done() -> None:
    plain, more = [2, 3, 2, 2], [3, 4, 3, 3]
    assert list(sizes().values()) == list(sizes(other="no answer").values()) == list(sizes(other=True).values()) == more
    assert list(sizes(other=False).values()) == list(sizes(nulls="drop").values()) == plain
    kinds = {type(axis) for axis in asked(students(9), nulls="bin").axes.values()}
    assert kinds == {OrNull}
    assert {type(axis) for axis in asked(students(9), other=True, nulls="bin").axes.values()} == {OrOther}
    assert {axis.key(axis.size - 1) for axis in asked(students(9), other="no answer").axes.values()} == {"no answer"}


def test_one_column_may_say_it_for_itself() -> None:
    keys = {**KEYS, "sex": ln.domain.with_other(["f", "m"], "unknown"), "grade": OrNull(Keys((9, 10)))}
    for other, expected in ((None, ["unknown", None, OTHER, OTHER]), (False, ["unknown", None, False, DAYS[1]])):
        query = asked(students(9), "sex", "grade", "smokes", "day", keys=keys, other=other)
        assert [axis.key(axis.size - 1) for axis in query.axes.values()] == expected


ORDERED: dict[str, Any] = {
    "a range": ("grade", range(9, 13)),
    "declared": ("grade", ln.domain.Ordered([9, 10, 12])),
    "days": ("day", ln.domain.Days("2026-01-01", "2026-01-03")),  # type: ignore[arg-type]
    "labelled edges": ("grade", Labelled(ln.domain.Edges((9, 11, 13)), ("low", "high"))),
    "zones": ("sex", ln.domain.Zones(("f", "m"), ((np.zeros((4, 2)),), (np.ones((4, 2)),)))),
}


@pytest.mark.parametrize("name", list(ORDERED))
def test_ordered_columns_and_zones_keep_their_keys_unless_every_column_is_meant(name: str) -> None:
    column, keys = ORDERED[name]
    inner: Axis = ln.domain.axis(keys)  # type: ignore[attr-defined]
    for other, more in ((None, 0), ("none", 0), (False, 0), (True, 1)):
        query = asked(students(9), ("smokes", column), keys={"smokes": [True, False], column: keys}, other=other)
        assert query.axes[column].size == inner.size + more
        outside = [fact.columns for fact in query.left_out if fact.kind == "outside its keys"]
        closed = [each for each in query.by if (each == column or other is False) and other is not True]
        assert outside == ([tuple(closed)] if closed else [])


def test_a_column_with_cumulative_sums_or_ranges_keeps_its_keys() -> None:
    for sums in ({"cumulative": ["grade"]}, {"ranges": ["grade"]}):
        query = asked(students(9), "sex", "grade", **sums)
        assert [axis.size for axis in query.axes.values()] == [3, 3]
    with pytest.raises(errors.WrongType, match="must be a list of columns"):
        asked(students(9), "sex", cumulative="sex")


def test_a_tree_stays_as_it_is_beside_lists_that_get_a_key() -> None:
    tree = ln.domain.Tree.from_columns({"all": ["p", "p", "q"], "sex": ["f", "m", "x"]}, "all", "sex")
    query = asked(students(200), "all", ("sex", "smokes"), keys={"sex": tree, "smokes": [True, False]}, other="none")
    assert {name: axis.size for name, axis in query.axes.items()} == {"all": 2, "sex": 3, "smokes": 3}
    assert query.expect(**ASK).closed == ()  # type: ignore[union-attr]
    with pytest.raises(errors.BadDomain, match="no place for values that are no leaf"):
        asked(students(9), "all", keys={"sex": tree}, other=True)


def test_a_list_of_one_key_is_a_column_of_two() -> None:
    query = asked(students(9), "sex", keys={"sex": ["f"]})
    assert query.axes["sex"].size == 2
    expected: Any = query.expect(**ASK)
    assert expected.other.rmse is None
    assert re.search(r'^"missing or other" is one more key of sex: [\d.]+ per cell\.$', str(expected), re.MULTILINE)
    with pytest.raises(errors.BadDomain, match="one key"):
        asked(students(9), "sex", keys={"sex": ["f"]}, other=False)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"other": 1}, errors.WrongType, "True, False, or the label"),
        ({"other": " "}, errors.WrongType, "must be a text"),
        ({"other": True, "nulls": "drop"}, errors.InvalidParameter, "Say one of the two"),
        ({"other": "none", "nulls": "drop"}, errors.InvalidParameter, "Say one of the two"),
        ({"nulls": "keep"}, errors.InvalidParameter, "nulls"),
        ({"other": "F"}, errors.BadDomain, """The keys of "sex": 'f' is one of the keys.*Say other="no answer", or"""),
        ({"keys": {"sex": ["f", "Missing or other"], "day": DAYS}}, errors.BadDomain, 'The keys of "sex"'),
    ],
)
def test_what_contradicts_itself_is_refused(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        asked(students(9), **options)


def test_the_key_is_decided_by_what_was_typed_and_no_row() -> None:
    """A table of the same types without one empty cell gives the same question, price and words."""
    dirty, whole = students(60), students(600, empty=0)
    clean = whole[
        [
            bool((row != [len(KEYS[c]) for c in KEYS]).all())
            for row in np.stack([places(whole, c) for c in KEYS], axis=1)
        ]
    ]
    assert 0 < len(clean) < len(whole)
    one, two = (asked(frame) for frame in (dirty, clean))
    assert one.axes == two.axes
    assert (one.left_out, one.sensitivity, one.describe()) == (two.left_out, two.sensitivity, two.describe())
    assert str(one.expect(**ASK)) == str(two.expect(**ASK))


def test_one_row_moves_as_much_as_before() -> None:
    """Each row lies in one cell of every table, with the key and without."""
    for tables in (("sex",), ("sex", ("grade", "day")), ()):
        with_key, without = (asked(students(9), *tables, other=other) for other in (None, False))
        assert with_key.sensitivity == without.sensitivity


@pytest.mark.parametrize("sums", [{}, {"cumulative": ["grade"]}])
@pytest.mark.parametrize("request_", [ASK, {"epsilon": 1, "delta": 0}, {**ASK, "mechanism": "gaussian"}])
def test_what_the_key_costs_is_said_and_true(request_: Any, sums: Any) -> None:
    expected: Any = asked(students(9), **sums).expect(**request_)
    without: Any = asked(students(9), other=False, **sums).expect(**request_)
    assert expected.other.columns == (("sex", "smokes", "day") if sums else ("sex", "grade", "smokes", "day"))
    closed = asked(students(9), keys={**KEYS, "grade": ln.domain.Ordered(KEYS["grade"])}, **sums) if sums else None
    assert expected.other.rmse == pytest.approx(without.rmse)
    assert expected.other.rmse < expected.rmse
    assert closed is None or str(closed.expect(**request_)) == str(expected)
    said = re.search(r"([\d.]+) per cell; ([\d.]+) with other=False \(--no-other\), if every row", str(expected))
    assert said is not None
    assert [float(number) for number in said.groups()] == pytest.approx([expected.rmse, without.rmse], rel=1e-2)
    assert without.other is None
    assert "per cell" not in str(without)


def test_rows_that_leave_every_table_are_named_before_any_number(tmp_path: Path) -> None:
    said = "Left out of every table: rows whose sex, grade, smokes or day is missing or not one of its keys;"
    query = asked(students(400), other=False)
    assert str(query.expect(**ASK)).splitlines()[1].startswith(said)
    with testing.seeded(1):
        made: Any = query.release(**ASK)
    for explained in (made.explain(), made["sex"].explain(), made.denoise().explain()):
        assert explained.splitlines()[1].startswith(said)
    made.to_csv(tmp_path / "csv", allow_seeded=True)
    assert (tmp_path / "csv" / "sex.csv").read_text().splitlines()[2].startswith(f"# {said}")
    page = made.report(tmp_path / "page.html", allow_seeded=True).read_text()
    right_below_the_chart = page.partition('id="chart"')[2].partition("<details")[0]  # nothing to open, no table yet
    assert said in right_below_the_chart
    assert page.index(said) < page.index('id="protection"')
    nulls = str(asked(students(9), nulls="bin").expect(**ASK))
    assert "rows whose sex, grade, smokes or day is neither missing nor one of its keys" in nulls
    assert "of every table" not in str(asked(students(9)).expect(**ASK))


def test_the_way_to_keep_everybody_is_advised_beside_what_is_left_out() -> None:
    keys = {"grade": range(9, 13), "sex": ["f", "m"]}
    words = "other=True (--other) gives missing and unlisted values of grade a key."
    assert words in str(asked(students(9), keys=keys).expect(**ASK))
    assert "gives missing" not in str(asked(students(9), keys=keys, other=True).expect(**ASK))
