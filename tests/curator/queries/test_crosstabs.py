"""Tables counted exactly, bounded per unit, and what one unit can move."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors, testing
from leastnoise.cli.output import explain
from leastnoise.curator.queries.crosstabs import Crosstabs
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.rows.crosstab_rows import SHARED_PARTS
from leastnoise.domain import OTHER
from leastnoise.privacy.guarantees import PureDP
from leastnoise.workload.residuals import integer_residual

KEYS = {"age": range(4), "sex": ["f", "m"], "job": ["a", "b", "c"]}


def people(rows: int = 300, *, per_unit: int = 1, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "who": np.arange(rows) // per_unit,
            "age": rng.integers(0, 4, rows),
            "sex": rng.choice(["f", "m"], rows),
            "job": rng.choice(["a", "b", "c"], rows),
            "w": rng.uniform(0.1, 3, rows),
        }
    )


def asked(frame: pd.DataFrame, *tables: Any, neighbours: str = "add-remove", **options: Any) -> Crosstabs:
    query = ln.table(frame, unit="who", neighbours=neighbours).crosstabs(
        *tables, **{"keys": KEYS, "max_rows": 1, **options}
    )
    assert isinstance(query, Crosstabs)
    return query


def exact(query: Crosstabs) -> dict[tuple[str, ...], np.ndarray[Any, Any]]:
    """The exact tables that are counted, and all below them."""
    counted = dict(zip(query.counted, query._counter().split(testing.aggregate(query).values), strict=True))
    return {**dict(query.workload.sums_of(counted, query.workload.blocks)), **counted}


def moved(
    query: Crosstabs, one: Mapping[Any, np.ndarray[Any, Any]], other: Mapping[Any, np.ndarray[Any, Any]]
) -> tuple[float, float]:
    """The squared distance of two answers in units of the noise, and what the noise allows for."""
    noise = query._charge(PrivacyRequest(epsilon=1, delta=1e-6, mechanism="gaussian")).plan
    square = 0.0
    for block, scale in noise.scales.items():
        change = (integer_residual(one[block]) - integer_residual(other[block])).astype(float)
        square += float((change**2).sum()) / scale**2
    return square, float(noise.cost)


def test_tables_are_counted_exactly() -> None:
    frame = people()
    found = exact(asked(frame, ways=3, other=False))
    assert found["age", "sex", "job"].sum() == len(frame)
    for table in (("age",), ("sex",), ("age", "job"), ("sex", "job")):
        want = np.zeros([len(KEYS[column]) for column in table], int)  # type: ignore[arg-type]
        places = [frame[column].map(dict(zip(KEYS[column], range(9), strict=False))) for column in table]  # type: ignore[call-overload]
        np.add.at(want, tuple(places), 1)
        np.testing.assert_array_equal(found[table], want)


def test_a_row_outside_any_key_leaves_all_tables_or_is_other() -> None:
    frame = people()
    frame.loc[:9, "job"] = "unlisted"
    frame.loc[10:14, "sex"] = None
    found = exact(asked(frame, "age", ("sex", "job"), other=False))
    assert {table.sum() for table in found.values()} == {len(frame) - 15}
    for everywhere in (None, True):
        other = exact(asked(frame, "age", ("sex", "job"), other=everywhere))
        assert {table.sum() for table in other.values()} == {len(frame)}
        assert other["sex", "job"][:, 3].sum() == 10
        assert other["sex", "job"][2].sum() == 5
    missing = exact(asked(frame, "age", ("sex", "job"), nulls="bin"))
    assert missing["sex", "job"][2].sum() == 5


def test_a_null_unit_is_left_out() -> None:
    frame = people().astype({"who": "Int64"})
    frame.loc[:4, "who"] = None
    assert exact(asked(frame, "age"))["age",].sum() == len(frame) - 5


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_each_unit_keeps_so_many_rows_whatever_the_order_and_the_others(limit: int) -> None:
    frame = people(24, per_unit=6)
    whole = exact(asked(frame, ways=2, max_rows=limit))
    assert whole["age", "sex"].sum() == 4 * limit
    shuffled = exact(asked(frame.sample(frac=1, random_state=3), ways=2, max_rows=limit))
    alone = [exact(asked(frame[frame.who == who], ways=2, max_rows=limit)) for who in range(4)]
    for table, values in whole.items():
        np.testing.assert_array_equal(values, shuffled[table])
        np.testing.assert_array_equal(values, sum(one[table] for one in alone))


def test_keys_of_many_columns_are_bounded_and_counted_alike() -> None:
    """Positions of eleven columns take several words; the rows that are kept are whole rows of the unit."""
    rng = np.random.default_rng(4)
    names = [f"c{place}" for place in range(11)]
    frame = pd.DataFrame({name: rng.integers(0, 200, 12) for name in names} | {"who": np.arange(12) // 4})
    keys = {name: range(200) for name in names}
    query = asked(frame, ("c0", "c5"), ("c5", "c10"), *names, keys=keys, max_rows=2)
    assert len(query._expression().columns) == 4
    found = exact(query)
    assert found["c0", "c5"].sum() == 6
    for who, own in frame.groupby("who"):
        one = exact(asked(own, ("c0", "c5"), ("c5", "c10"), *names, keys=keys, max_rows=2))
        kept = {(int(a), int(b)) for a, b in np.argwhere(one["c0", "c5"])}
        assert kept <= set(zip(own.c0, own.c5, strict=True)), who
        found = {table: values - one[table] for table, values in found.items()}
    assert not any(values.any() for values in found.values())


@pytest.mark.parametrize("memory_limit", [None, "1GB"])
@pytest.mark.parametrize("limit", [1, 2])
def test_no_row_decides_what_is_asked_of_the_engine(limit: int, memory_limit: str | None, monkeypatch: Any) -> None:
    """Else one person's row could decide how much memory is needed, and so whether a release fails."""
    ran: list[str] = []

    def recorded(frame: pd.DataFrame) -> list[str]:
        ran.clear()
        query = ln.table(frame, unit="who", memory_limit=memory_limit).crosstabs(ways=2, keys=KEYS, max_rows=limit)
        engine = type(query._data.engine)
        for name in ("fetch", "summed"):
            before = getattr(engine, name)

            def record(self: Any, rows: Any, *more: Any, _before: Any = before) -> Any:
                ran.append(self.sql(lambda: rows))
                return _before(self, rows, *more)

            monkeypatch.setattr(engine, name, record)
        testing.aggregate(query)
        monkeypatch.undo()
        return [re.sub(r"[a-z_]*[0-9a-z]{16,}", "table", text) for text in ran]

    alone, crowded = people(40), people(40, per_unit=4)
    assert recorded(alone) == recorded(crowded) == recorded(alone[:0])
    *counted, _ = ran  # how many rows there are, of people and of keys; then the rows
    assert all(text.startswith("SELECT\n  COUNT(*)") and "WHERE" not in text for text in counted)


@pytest.mark.parametrize("who", ["i", "i // 2", "0"])
def test_little_memory_is_enough_however_the_rows_lie(who: str, tmp_path: Path) -> None:
    """The rows are ranked on disk, also where all are of one unit: what is sorted is three times the memory."""
    rows, path = 3_000_000, tmp_path / "rows.parquet"
    columns = ", ".join(f"(hash(i + {seed}) % 50)::TINYINT AS c{seed}" for seed in range(3))
    duckdb.sql(f"COPY (SELECT ({who})::BIGINT AS who, {columns} FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)")
    keys = {f"c{seed}": range(50) for seed in range(3)}
    limited = ln.table(path, unit="who", memory_limit="48MB").crosstabs(ways=2, keys=keys, max_rows=1)
    assert testing.aggregate(limited).values.sum() == 3 * {"i": rows, "i // 2": rows // 2, "0": 1}[who]


def test_rows_of_one_unit_share_one_weight() -> None:
    frame = people(60, per_unit=1)
    frame["who"] = np.repeat([0, 1, 2, 3], [1, 2, 7, 50])
    query = asked(frame, "age", ("sex", "job"), row_weight="shared", max_rows=None)
    found = exact(query)
    assert found["age",].sum() == 4 * SHARED_PARTS
    assert query.row_size == SHARED_PARTS
    assert query.sensitivity.l2 == pytest.approx(2**0.5)
    seven = exact(asked(frame[frame.who == 2], "age", row_weight="shared", max_rows=None))["age",]
    assert seven.sum() == SHARED_PARTS
    few = exact(asked(frame, "age", row_weight="shared", max_rows=3))
    assert few["age",].sum() == 4 * SHARED_PARTS


def test_survey_weights_are_added_up() -> None:
    frame = people()
    frame.loc[0, "w"] = 1e9
    frame.loc[1, "w"] = np.nan
    frame.loc[2, "w"] = -5
    query = asked(frame, "age", ("sex", "job"), weight="w", weight_clip=(0, 2))
    found = exact(query)
    want = frame.drop(index=1).w.clip(0, 2).sum()
    assert found["age",].sum() * query.grid == pytest.approx(want, abs=len(frame) * query.grid)
    assert query.grid < 1e-6
    assert query.release(epsilon=1, delta=1e-6)["age"].kind == "sum"


CASES: dict[str, dict[str, Any]] = {
    "one row": {},
    "three rows": {"max_rows": 3},
    "shared": {"row_weight": "shared", "max_rows": None},
    "weights": {"weight": "w", "weight_clip": (0, 2), "max_rows": 2},
}


@pytest.mark.parametrize(
    ("case", "weights"),
    [("one row", "tables"), ("three rows", "cells"), ("shared", "worst"), ("weights", "tables")],
)
def test_no_unit_moves_the_answer_by_more_than_the_noise_allows_for(case: str, weights: str) -> None:
    frame = people(20, per_unit=5)
    options = CASES[case]
    query = asked(frame, ways=2, weights=weights, **options)
    base = exact(query)
    moves = []
    for who in range(4):
        without = exact(asked(frame[frame.who != who], ways=2, weights=weights, **options))
        square, allowed = moved(query, base, without)
        assert square <= allowed * (1 + 1e-12)
        moves.append(square / allowed)
    if case == "one row":
        assert min(moves) > 1 - 1e-9  # every unit costs the same, and nothing is wasted


def test_equal_rows_reach_what_the_noise_allows_for() -> None:
    frame = pd.DataFrame({"who": [1, 1, 1, 2], "age": [1, 1, 1, 2], "sex": "f", "job": "a"})
    query = asked(frame, ways=2, max_rows=3)
    square, allowed = moved(query, exact(query), exact(asked(frame[frame.who == 2], ways=2, max_rows=3)))
    assert square == pytest.approx(allowed, rel=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_no_replaced_unit_moves_the_answer_by_more_than_the_noise_allows_for(case: str) -> None:
    options, largest = CASES[case], 0.0
    query = asked(people(5), ways=2, neighbours="replace", **options)

    def answer(age: int, sex: str, job: str) -> dict[tuple[str, ...], np.ndarray[Any, Any]]:
        unit = pd.DataFrame({"who": [1, 1], "age": age, "sex": sex, "job": job, "w": 2.0})
        return exact(asked(unit, ways=2, neighbours="replace", **options))

    old = answer(0, "f", "a")
    for new in itertools.product((0, 1), "fm", "ab"):  # which columns differ is all that counts
        square, allowed = moved(query, old, answer(*new))
        assert square <= allowed * (1 + 1e-12)
        largest = max(largest, square / allowed)
    if case in ("one row", "shared"):
        assert largest > 1 - 1e-9


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("case", CASES)
def test_laplace_noise_allows_for_what_one_unit_moves(case: str, neighbours: str) -> None:
    options = {**CASES[case], "neighbours": neighbours}
    query = asked(people(5), "age", ("age", "sex"), "job", **options)
    noise = query._charge(PrivacyRequest(epsilon=1, delta=0)).plan
    assert noise.cost <= 1
    unit = pd.DataFrame({"who": [1, 1], "age": 0, "sex": "f", "job": "a", "w": 2.0})
    other = unit.assign(age=1, sex="m", job="b") if neighbours == "replace" else unit.iloc[:0]
    read = replace(query, counted=tuple(noise.scales))
    answers = [
        dict(zip(read.counted, read._counter().split(testing.aggregate(one).values), strict=True))
        for one in (
            replace(asked(frame, "age", ("age", "sex"), "job", **options), counted=read.counted)
            for frame in (unit, other)
        )
    ]
    moved = sum(
        float(np.abs(answers[0][table] - answers[1][table]).sum()) / scale for table, scale in noise.scales.items()
    )
    rows = {"one row": 1.0, "three rows": 2 / 3, "shared": 1.0, "weights": 1.0}[case]  # the unit has two rows
    assert moved == pytest.approx(rows * float(noise.cost), rel=1e-9)


def test_the_noise_of_less_error_is_taken() -> None:
    few, many = asked(people(), "age", "sex"), asked(people(), ways=3)
    assert few.release(epsilon=1, delta=1e-6).mechanism == "laplace"
    assert "of that of Gaussian noise" in few.expect(epsilon=1, delta=1e-6).note
    pair = [many.expect(epsilon=1, delta=1e-6, mechanism=name) for name in ("gaussian", "laplace")]
    chosen = many.expect(epsilon=1, delta=1e-6)
    assert chosen.std == min(pair, key=lambda one: sum(std**2 for std in one.std.values())).std  # type: ignore[union-attr]
    assert few.release(epsilon=1, delta=0).guarantee == PureDP(few.release(epsilon=1, delta=0).guarantee.epsilon)


def test_an_empty_table_is_released_like_any_other() -> None:
    frame = people().iloc[:0]
    release = asked(frame, ways=2).release(epsilon=1, delta=1e-6)
    assert len(release.tables) == 7
    assert abs(release.total().value) < 20 * release.std[()]


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda t: t.crosstabs("age", keys=None, max_rows=1), errors.MissingParameter, "public keys"),
        (lambda t: t.crosstabs("age", "w", keys=KEYS, max_rows=1), errors.MissingParameter, 'no keys for "w"'),
        (lambda t: t.crosstabs(("age", "age"), keys=KEYS, max_rows=1), errors.InvalidParameter, '"age" twice'),
        (lambda t: t.crosstabs("age", "age", keys=KEYS, max_rows=1), errors.InvalidParameter, "asked for twice"),
        (lambda t: t.crosstabs("age", keys={"age": None}, max_rows=1), errors.BadDomain, "must be listed"),
        (lambda t: t.crosstabs("age", keys={"age": range(1)}, max_rows=1), errors.BadDomain, "one key"),
        (lambda t: t.crosstabs("age", keys=KEYS), errors.ContributionUnbounded, "any number of rows"),
        (lambda t: t.crosstabs(keys=KEYS, max_rows=1), errors.MissingParameter, "Which tables"),
        (lambda t: t.crosstabs((), keys=KEYS, max_rows=1), errors.InvalidParameter, "total alone"),
        (lambda t: t.crosstabs(3, keys=KEYS, max_rows=1), errors.WrongType, "a tuple of names"),
        (
            lambda t: t.crosstabs(ways=2, keys={"age": range(10**5), "w": range(10**5)}, max_rows=1),
            errors.WrongType,
            "real numbers",
        ),
        (
            lambda t: t.crosstabs(("age", "who2"), keys={"age": range(10**5), "who2": range(10**5)}, max_rows=1),
            errors.BadDomain,
            "10,000,000,000 cells, of which age x who2",
        ),
        (
            lambda t: t.crosstabs("age", keys=KEYS, max_rows=1, weights={("age", "sex"): 3}),
            errors.LeastnoiseError,
            "sex",
        ),
        (lambda t: t.crosstabs("aeg", keys=KEYS, max_rows=1), errors.UnknownColumn, 'Did you mean "age"'),
        (lambda t: t.crosstabs("who2", keys=KEYS, max_rows=1), errors.MissingParameter, '{"who2": '),
        (
            lambda t: t.crosstabs(ways=1, keys={"age": range(4), "job": [1, 2]}, max_rows=1),
            errors.WrongType,
            '"job" holds string.* types={"job": "int"}',
        ),
        (
            lambda t: t.crosstabs(ways=1, keys={"age": range(4), "job": ["a", OTHER]}, max_rows=1, other=True),
            errors.BadDomain,
            """The keys of "job": 'missing or other' is one of the keys""",
        ),
        (lambda t: t.crosstabs("age", keys=KEYS, max_rows=1, weight="w"), errors.MissingParameter, "largest"),
        (
            lambda t: t.crosstabs("age", keys=KEYS, max_rows=1, weight="w", weight_clip=(-1, 1)),
            errors.InvalidParameter,
            "never negative",
        ),
        (
            lambda t: t.crosstabs("age", keys=KEYS, weight="w", weight_clip=(0, 1), row_weight="shared"),
            errors.InvalidParameter,
            "share one weight",
        ),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_read(ask: Any, error: type[Exception], words: str) -> None:
    frame = people().assign(who2=1)
    with pytest.raises(error, match=words):
        ask(ln.table(frame, unit="who"))


def test_the_kinds_of_noise_are_compared() -> None:
    query = asked(people(), "age", ("age", "sex"))
    found = ln.compare(query, epsilon=1, delta=1e-6)
    assert {row.mechanism for row in found.rows} == {"gaussian", "laplace"}
    made = query.expect(epsilon=1, delta=1e-6)
    assert found.best.mechanism == made.mechanism == "laplace"
    variances = [std**2 for std in made.std.values()]  # type: ignore[union-attr]
    assert found.best.std == pytest.approx((sum(variances) / 2) ** 0.5)
    assert [row.mechanism for row in ln.compare(query, epsilon=1, delta=0).rows] == ["laplace"]


def test_keys_of_another_type_are_advised_for_their_column_in_python_and_as_a_line_of_the_file() -> None:
    with pytest.raises(errors.WrongType) as wrong:
        asked(people(), "age", keys={"age": ["x", "y"]})
    assert str(wrong.value).endswith('Say keys={"age": [1, 2, 3]}, or keys={"age": range(24)}.')
    assert explain(wrong.value).endswith(
        "Say a line age = [1, 2, 3] among the keys, or a line age = { range = [0, 24] } among the keys."
    )
