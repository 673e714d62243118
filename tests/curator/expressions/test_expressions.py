"""What may shape the rows, and what may not."""

from __future__ import annotations

import re
from pathlib import Path

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from ibis import _

from leastnoise.curator.table import table
from leastnoise.errors import (
    BadExpression,
    InvalidParameter,
    UnknownColumn,
    WrongType,
)
from leastnoise.testing import aggregate


@pytest.fixture
def rows():
    return table(
        pd.DataFrame(
            {
                "unit": [1, 2, 3, 4],
                "n": [2**62, -7, 0, 5],
                "x": [0.5, np.nan, np.inf, -2.5],
                "word": ["a", "it's", None, "b"],
                "time": pd.to_datetime(["2013-01-01 00:30", "2013-01-01 02:00", None, "2013-01-02 00:00"]),
                "day": pd.to_datetime(["2013-01-01", "2013-01-02", None, "2013-01-03"]).date,
                "flag": [True, False, True, False],
            }
        ),
        unit="unit",
        types={"day": "date"},  # a column of Python's dates has no type of its own
    )


ACROSS_ROWS = {
    "aggregate": lambda t: t.x > t.x.mean(),
    "window": lambda t: t.x.sum().over(group_by="word") > 1,
    "rank": lambda t: ibis.row_number() < 2,
    "lag": lambda t: t.x.lag() > 0,
    "subquery": lambda t: t.n.isin(t.n),
    "scalar subquery": lambda t: t.n > t.aggregate(m=t.n.max()).m.as_scalar(),
    "random": lambda t: ibis.random() < 0.5,
    "now": lambda t: t.time < ibis.now(),
    "row id": lambda t: t.rowid() < 3,
    "hash": lambda t: t.word.hash() > 0,
    "logarithm": lambda t: t.x.log() > 0,
    "cast to single precision": lambda t: t.x.cast("float32") > 0,
    "cast to few bits": lambda t: t.n.cast("int8") > 0,
    "truncation to nanoseconds": lambda t: t.time.truncate("ns") == t.time,
    "an array": lambda t: ibis.array([t.n]) == [1],
    "cast of a fraction": lambda t: t.x.cast("int64") > 0,
    "unnest": lambda t: ibis.array([t.n, t.n]).unnest() > 0,
    "unit": lambda t: t.unit == 3,
    "unit inside": lambda t: (t.n + t.unit * 0) > 0,
}  # fmt: skip


@pytest.mark.parametrize("name", ACROSS_ROWS)
def test_more_than_a_function_of_one_row_is_refused(rows, name):
    with pytest.raises(BadExpression):
        rows.where(ACROSS_ROWS[name])


@pytest.mark.parametrize(
    "make",
    [
        lambda t, other: t["n"].isin(other.k),
        lambda t, other: other.k > 1,
        lambda t, other: other.rename(n="k").n > 1,  # called like a column of ours
    ],
)
def test_another_table_is_refused(rows, make):
    with pytest.raises(InvalidParameter):
        rows.where(make(rows, ibis.memtable(pa.table({"k": [1, 2]}))))


def test_a_user_function_is_refused(rows):
    @ibis.udf.scalar.python
    def tell(n: int) -> int:
        return n

    with pytest.raises(BadExpression, match="not a fixed function"):
        rows.derive(other=tell(rows["n"]))


def test_the_unit_cannot_be_replaced_or_released(rows):
    with pytest.raises(BadExpression):
        rows.derive(unit=_.n)
    with pytest.raises(BadExpression):
        rows.histogram("unit", keys=range(5), max_rows=1)
    with pytest.raises(BadExpression):
        rows.sum("unit", clip=(0, 9), max_rows=1)


TOTAL = {
    "product beyond 64 bits": (lambda t: t.n * t.n * t.n, [(-7) ** 3, 0, 125]),
    "sum beyond 64 bits": (lambda t: t.n + t.n, [-14, 0, 10]),
    "division by zero": (lambda t: 100 // t.n, [-15, 20]),
    "remainder by zero": (lambda t: 100 % t.n, [-5, 0]),
    "floor of infinity": (lambda t: t.x.floor(), [0, -3]),
    "ceiling of infinity": (lambda t: t.x.ceil(), [1, -2]),
    "negative of the least": (lambda t: -t.n, [7, 0, -5]),
}


@pytest.mark.parametrize("name", TOTAL)
def test_what_could_fail_is_null_and_so_dropped(rows, name):
    expression, expected = TOTAL[name]
    derived = rows.derive(made=expression)
    found = aggregate(derived.histogram("made", max_rows=1))
    assert sorted(found.keys) == sorted(expected)


WHERE = {
    "n > -7 and n < 5": [3],
    "n > -7 AND (n < 5 OR word = 'b')": [3, 4],
    "not flag = true": [2, 4],
    "word = 'it''s'": [2],
    "word != 'a'": [2, 4],
    "time < '2013-01-01 01:00'": [1],
    "day >= '2013-01-02' and \"flag\" == false": [2, 4],
    "x <= 0.5": [1, 4],
    "n = -7 or n = 5 and flag = true": [2],
    "not (n = 0 or n = 5)": [1, 2],
    "x > -1e3": [1, 3, 4],
    "n in (0, 5)": [3, 4],
    "n not in (0, 5)": [1, 2],
    "n between -7 and 0": [2, 3],
    "word like '_t%'": [2],
    "word is null": [3],
    "word is not null and flag": [1],
    "flag is not true": [2, 4],
    "word is distinct from 'a'": [2, 3, 4],
    "case when n > 0 then word = 'a' else flag end": [1, 3],
    "case n when 5 then true when 0 then true end": [3, 4],
    "extract(hour from time) = 2": [2],
    "year(day) = 2013 and extract(isodow from day) >= 3": [2, 4],
    "date_trunc('month', day) = '2013-01-01'": [1, 2, 4],
    "time::date = '2013-01-01'": [1, 2],
    "cast(word as bigint) is null": [1, 2, 3, 4],
    "n % 3 = 2": [2, 4],
    "n // 2 = -4": [2],
    "abs(n) = 7": [2],
    "n > x": [1, 4],
    "n + 1 > 2 -- a comment": [4],
    "floor(x) = 0 or ceil(x) = -2": [1, 4],
    "coalesce(word, 'none') = 'none'": [3],
    "length(word) = 4 and substring(word, 1, 2) = 'it'": [2],
    "starts_with(word, 'i') or ends_with(word, 'b') or contains(word, 'zz')": [2, 4],
    "nullif(n, 0) is null": [3],
    "x = 1e999": [3],
    "n = 4611686018427387904": [1],
    "n > -9223372036854775808": [1, 2, 3, 4],
    "if(flag, n, 0) > 0": [1],
}


@pytest.mark.parametrize("text", WHERE)
def test_where_reads_comparisons(rows, text):
    kept = rows.where(text)
    keys = {2**62: 1, -7: 2, 0: 3, 5: 4}
    found = aggregate(kept.histogram("n", max_rows=1))
    assert sorted(keys[key] for key in found.keys) == WHERE[text]


REFUSED = {
    BadExpression: [
        "", "n >", "n > 1 and", "(n > 1", "n > 1)", "n > 1; drop table rows", "n > (select 1)", "n in (select 1)",
        "exists (select 1)", "n between symmetric 3 and 1", "n > random()", "time < now()", "time < 'now'",
        "time < current_timestamp", "day = '20130101'", "day = '2013-W01-1'", "day = '２０１３-01-01'",
        "day = '2013-02-30'", "cast('2013-01-01x00:00' as timestamp) = time", "cast('1_000' as bigint) = n",
        "sum(n) > 1", "row_number() over () = 1", "word = 'a' collate nocase", "word ilike 'a'",
        "word like 'a!%' escape '!'", "word like 'a\\%'", "lower(word) = 'a'", "word || word = 'aa'", "rows.n > 1",
        "n = ?", "n = $1", "n = null", "n in (1, null)", "n in ()", "word = 'a\0'", "length(word, n) = 1",
        "floor(x, 2) = 1", "date_trunc('day', time, 'America/New_York') = time", "cast(x as float) = 1",
        "n" + "::bigint" * 1000 + " = 1", "substring(word, n, 1) = 'a'", "date_trunc('nanosecond', time) = time",
        "cast(x as bigint) = 1", "+".join(["n"] * 60) + " > 1", "not " * 60 + "n > 1", "time < 'yesterday'",
        "unit = 3",
    ],
    WrongType: [
        "n", "extract(hour from day) = 1", "n and flag", "word > 1", "n = 'a'", "x = true",
    ],
    UnknownColumn: [
        "m > 1",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("text", "error"), [(text, error) for error in REFUSED for text in REFUSED[error]])
def test_where_refuses_everything_else(rows, text, error):
    with pytest.raises(error):
        rows.where(text)


def test_a_condition_must_be_true_or_false(rows):
    with pytest.raises(WrongType):
        rows.where(_.n + 1)
    with pytest.raises(WrongType):
        rows.where(7)


def test_a_column_that_is_not_there_is_suggested(rows):
    with pytest.raises(UnknownColumn, match='Did you mean "word"'):
        rows.where(_.wrd == "a")
    with pytest.raises(UnknownColumn, match='Did you mean "word"'):
        rows.histogram("wodr", keys=["a"], max_rows=1)


def test_a_column_called_like_a_word_of_sql_is_quoted():
    rows = table(pa.table({"unit": [1], "when": [3], "order": [3]}), unit="unit")
    with pytest.raises(BadExpression, match='write "when", in double quotes'):
        rows.where("when > 2")
    assert aggregate(rows.where('"when" > 2 and "order" = 3').count(max_rows=1)).values.tolist() == [1]


def test_a_text_that_looks_like_a_variable_is_a_text():
    rows = table(pa.table({"unit": [1, 2], "s": ["${env:HOME}", "other"]}), unit="unit")
    assert aggregate(rows.where("s = '${env:HOME}'").count(max_rows=1)).values.tolist() == [1]


@pytest.mark.slow
def test_thousands_of_alternatives_are_one_call(rows):
    many = " or ".join(f"n = {number}" for number in range(1500))
    assert aggregate(rows.where(many).count(max_rows=1)).values.tolist() == [2]


def test_a_chain_of_arithmetic_does_not_grow_without_end(rows):
    made = rows.derive(made="+".join(["n"] * 40)).histogram("made", max_rows=1)
    assert len(made.sql()) < 200_000
    assert sorted(aggregate(made).keys) == [-280, 0, 200]
    shared = _.n
    for _again in range(12):
        shared = shared + shared
    assert sorted(aggregate(rows.derive(made=shared).histogram("made", max_rows=1)).keys) == [-28672, 0, 20480]


def test_an_expression_too_deep_or_too_wide_is_refused(rows):
    deep = _.n
    for _again in range(200):
        deep = deep + 1
    with pytest.raises(BadExpression, match="deep"):
        rows.derive(made=deep)


def test_nan_is_missing_in_what_is_computed(rows):
    infinite = rows.derive(made=lambda t: t.x - t.x)  # infinity minus infinity
    assert aggregate(infinite.where("made is null").count(max_rows=1)).values.tolist() == [2]


@pytest.mark.parametrize("constant", ["2", "'a'", "true", "DATE '2013-01-01'", "cast(null as bigint)", "1 + 1"])
def test_a_constant_is_a_column_like_any_other(rows, constant):
    found = aggregate(rows.derive(made=constant).histogram("made", max_rows=1, nulls="bin"))
    assert found.values.tolist() == [4]


def test_a_negation_keeps_its_meaning_where_it_is_asked_whether_it_is_null():
    """Put in where it is used, NOT (x > 4) IS NULL would be NOT ((x > 4) IS NULL)."""
    opened = table(pa.table({"unit": [1, 2, 3, 4], "x": [1, 9, None, 2]}), unit="unit").derive(few=~(_.x > 4))
    assert aggregate(opened.histogram("few", keys=[True, False], max_rows=1, nulls="bin")).values.tolist() == [2, 1, 1]
    assert aggregate(opened.where(_.few.isnull()).count(max_rows=1)).values.tolist() == [1]


def test_parts_keep_their_meaning_inside_comparisons(rows):
    """Ibis writes (NOT b) = c without its parentheses."""
    flags = {2**62: True, -7: False, 0: True, 5: False}
    for text, meaning in {
        "(not flag) = (n = 5)": lambda flag, n: (not flag) == (n == 5),
        "(flag is not distinct from (n = 0)) = flag": lambda flag, n: (flag == (n == 0)) == flag,
        "(n in (0, 5)) = flag": lambda flag, n: (n in (0, 5)) == flag,
        "(not flag) is not null": lambda flag, n: True,
        "(flag and flag) in (true)": lambda flag, n: flag,
        "(n is null) in (false)": lambda flag, n: True,
        "(not flag) in (true)": lambda flag, n: not flag,
    }.items():
        found = aggregate(rows.where(text).histogram("n", max_rows=1))
        assert sorted(found.keys) == sorted(n for n, flag in flags.items() if meaning(flag, n)), text


@pytest.mark.parametrize(
    ("condition", "declared", "quotes"),
    [("age > 3", "int", False), ("age < 3.5", "float", False), ("age + 1 > 3", "int", False), ("age = 3", "int", True),
     ("age in (1, 2)", "int", True), ("age between 1 and 3", "int", False), ("hour(age) = 1", "timestamp", False)],
)  # fmt: skip
def test_a_number_beside_a_column_of_text_leads_to_its_type(
    tmp_path: Path, condition: str, declared: str, quotes: bool
) -> None:
    """In quotes it would be compared letter by letter: '10' > '3' is false."""
    path = tmp_path / "rows.csv"
    path.write_text("who,age\n1,10\n2,4\n3,2\n")
    with pytest.raises(WrongType, match="age holds text") as caught:
        table(path, unit="who").where(condition)
    assert f'Say types={{"age": "{declared}"}}.' in str(caught.value)
    assert ("'single quotes'" in str(caught.value)) == quotes
    if declared == "int":
        table(path, unit="who", types={"age": "int"}).where(condition)


@pytest.mark.parametrize("target", ["FLOAT", "SMALLINT", "DECIMAL(5, 2)"])
def test_a_cast_that_is_refused_says_which_are_not(target: str) -> None:
    fares = table(pd.DataFrame({"unit": [1], "fare": [1.5]}), unit="unit")
    said = rf"casts to {re.escape(target)}, .* Cast to DOUBLE \(what a declared type calls float\)"
    with pytest.raises(BadExpression, match=said):
        fares.where(f"CAST(fare AS {target}) > 1")
    assert fares.where("CAST(fare AS DOUBLE) > 1").columns == fares.columns
