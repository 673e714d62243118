"""What shaped the rows is on record, in words that are public, short and the same every time."""

from __future__ import annotations

import subprocess
import sys

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ibis import _

import leastnoise as ln
from leastnoise.curator import description
from leastnoise.errors import InvalidParameter
from leastnoise.graphs import Graph
from leastnoise.testing import aggregate

FRAME = pd.DataFrame(
    {
        "unit": [1, 2, 3, 4],
        "hour": [1, 2, 3, 4],
        "zone": ["a", "b", "a", "secret"],
        "fare": [1.5, 2.0, 3.2, 4.0],
        "time": pd.to_datetime(["2013-01-01 00:30"] * 4),
        "lon": [0.0, 1.0, 2.0, 3.0],
        "lat": [0.0, 1.0, 2.0, 3.0],
    }
)
CONDITIONS = {
    "hour < 3": "hour < 3",
    "hour<3\n  and\tzone = 'a  b'": "hour < 3 AND zone = 'a  b'",
    "zone != '\x1b[2J\u202e'": r"zone <> '\x1b[2J\u202e'",
    "not (hour in (1,2) or fare = 1) and time>'2013-01-01'": "NOT (hour IN (1, 2) OR fare = 1.0) AND "
    "time > TIMESTAMP '2013-01-01 00:00:00'",
    "(hour + 1) * 2 - -3 % hour > (1 - (2 - hour))": "(hour + 1) * 2 - -3 % hour > 1 - (2 - hour)",
    "zone is not null and case when hour>1 then 'x' end is distinct from zone": "zone IS NOT NULL AND "
    "CASE WHEN hour > 1 THEN 'x' ELSE NULL END IS DISTINCT FROM zone",
    "substring(zone, 2, 3) like 'b%' and date_trunc('day', time) = time": "SUBSTRING(zone, 2, 3) LIKE 'b%' AND "
    "DATE_TRUNC('day', time) = time",
}
EXPRESSIONS = {
    "comparison": (_.hour < 3, "hour < 3"),
    "junction": ((_.hour < 3) & ~(_.zone == "it's"), "hour < 3 AND NOT zone = 'it''s'"),
    "a function": (lambda rows: rows.fare.between(1, 2), "fare >= 1.0 AND fare <= 2.0"),
    "few values": (_.zone.isin(["a", "b"]), "zone IN ('a', 'b')"),
    "many values": (_.hour.isin(list(range(5000))), "hour IN (5000 values)"),
}


@pytest.fixture
def rows() -> ln.Table:
    return ln.table(FRAME, unit="unit")


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_text_is_recorded_in_one_way_of_writing_on_one_line(rows, text):
    assert rows.where(text).count(max_rows=1).describe().startswith(f"rows (1 bin), where {CONDITIONS[text]}; one unit")


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_is_recorded_as_sql(rows, name):
    given, words = EXPRESSIONS[name]
    assert f", where {words};" in rows.where(given).count(max_rows=1).describe()


def test_every_step_is_recorded_in_its_order(rows):
    made = rows.where("hour < 9").derive(late=_.hour > 20, cell=ln.lattice("lon", "lat", 0.5)).where(~_.late)
    graph = Graph.from_edges(2, [(0, 1)], coordinates=np.array([[0.0, 0.0], [1.0, 1.0]]))
    made = made.nearest(graph, lon="lon", lat="lat", within=200, name="node")
    assert made._data.steps == (
        "where hour < 9",
        "with late = hour > 20",
        "with cell = cells of 0.5 over lon and lat",
        "where NOT late",
        "with node = nearest of 2 nodes within 200 m of lon, lat",
    )
    assert ", ".join(made._data.steps) in made.count(max_rows=1).describe()


@pytest.mark.slow
def test_the_record_is_in_the_release_its_file_its_page_and_the_ledger(rows, tmp_path):
    condition = "zone = '<b>' AND hour < 3"
    budget = ln.Budget.open(tmp_path / "a.ledger", epsilon=1, delta=1e-6)
    question = rows.where(condition).histogram("hour", keys=range(3), max_rows=1)
    made = question.release(budget=budget, share=0.5)
    made.save(tmp_path / "r.parquet")
    made.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert condition in made.query == ln.load(tmp_path / "r.parquet").query == budget.history()[-1].query
    assert condition in made.explain()
    assert "where zone = &#39;&lt;b&gt;&#39; AND hour &lt; 3" in page
    assert "zone = '<b>'" not in page


def test_every_kind_of_answer_explains_its_question(rows):
    asked = rows.where("hour < 3")
    huge = {"hour": range(2**20), "lon": ln.domain.Edges(tuple(np.linspace(0, 1, 2**7 + 1)))}
    for question in (
        asked.mean("fare", clip=(0, 5), max_rows=1),
        asked.quantile("fare", 0.5, clip=(0, 5), max_rows=1),
        asked.histogram("hour", "lon", keys=huge, max_rows=1),
        asked.histogram("zone", max_rows=1),
        asked.vector_sum(["lon", "lat"], clip_norm=1.0, max_rows=1),
    ):
        assert f"The question: {question.describe()}." in question.release(epsilon=1, delta=1e-6).explain()


def test_a_query_is_one_line(rows):
    question = rows.where("hour\n<\n3").count(max_rows=2)
    assert repr(question) == f"<Query: {question.describe()}>"
    assert "\n" not in repr(question)


def test_no_row_is_in_the_record(rows):
    """A table or an array inside a condition is refused; of a long list its length is told."""
    with pytest.raises(InvalidParameter):
        rows.where(lambda t: t.zone.isin(ibis.memtable(pa.table({"k": FRAME["zone"]})).k))
    listed = rows.where(_.zone.isin([*FRAME["zone"], *"cdefghijkl"])).where("hour < 3")
    assert listed._data.steps == ("where zone IN (14 values)", "where hour < 3")
    arrays = ln.table(pa.table({"unit": [1], "a": [[1.0] * 20]}), unit="unit")
    with pytest.raises(InvalidParameter):
        arrays.where(lambda t: t.a == [9.5] * 20)


def test_a_record_means_what_was_asked(rows):
    """What is recorded can be typed again, and is then recorded the same."""
    for text in CONDITIONS.values():
        if "\\" not in text:
            assert rows.where(text)._data.steps == (f"where {text}",)


ODD_NAMES = pa.table({"unit": [1, 2], "true": [True, False], "null": [1, None], "select": [1, 2], "inf": [0.0, 1.0]})


@pytest.mark.parametrize(
    "condition",
    [
        "cast(select_ as double) * 1000 > 5e14",
        'NOT "true"',
        '"null" IS NULL',
        '"select" = 1',
        "inf < 1e999",
        _.inf > -ibis.literal(-5),
        (_["true"] | (_.inf > 0)) ^ (_.inf > 5),
        "extract(hour from cast(cast('2013-01-01' as date) as timestamp)) = 0 or inf > 3",
        "inf = 0 or 'a\\b' = 'a'",
    ],
)
def test_what_is_recorded_is_what_ran(condition):
    rows = ln.table(ODD_NAMES.append_column("select_", pa.array([10**15, 3])), unit="unit")
    made = rows.where(condition)
    again = rows.where(made._data.steps[0].removeprefix("where ").replace("\\\\", "\\"))
    found = [aggregate(asked.count(max_rows=1)).values.tolist() for asked in (made, again)]
    assert found[0] == found[1]


def test_a_shared_part_is_not_written_without_end(rows):
    made = _.hour
    for _again in range(12):
        made = made + made
    assert rows.derive(x=made)._data.steps == ("with x = an expression of more than 2000 parts",)


@pytest.mark.slow
def test_the_words_do_not_change_from_process_to_process():
    code = (
        "import leastnoise as ln, pandas as pd; from ibis import _; "
        "t = ln.table(pd.DataFrame({'u': [1], 'x': [0.5]}), unit='u').derive(y=lambda r: r.x.floor()); "
        "print(t.where((_.y > 1) | (_.x < 2)).count(max_rows=1).describe())"
    )
    told = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in "12"
    ]
    assert told[0] == told[1]
    assert "with y = FLOOR(x), where y > 1 OR x < 2.0" in told[0]
    assert "0x" not in told[0]


@given(st.lists(st.text(max_size=30), max_size=5), st.integers(1, 1000))
@example(["a < 5"], 1000)
def test_the_record_has_a_greatest_length_and_is_one_line(texts, times):
    told = description.all_steps(tuple(f"where {description.one_line(text * times)}" for text in texts))
    assert len(told) <= description.MAX_CHARACTERS + 80
    assert told.isprintable()


def test_records_that_differ_beyond_the_cut_are_told_apart():
    long = "x" * description.MAX_CHARACTERS
    assert description.all_steps((long + "a",)) != description.all_steps((long + "b",))


def test_the_same_rows_are_kept_however_a_condition_is_written():
    frame = pd.DataFrame({"unit": np.arange(2000) % 50, "bin": np.arange(2000) % 40, "x": np.arange(2000) % 7})
    asked = [ln.table(frame, unit="unit").where(way) for way in ("x < 5", "x<5", _.x < 5)]
    first, *others = [aggregate(t.histogram("bin", keys=range(40), max_rows=3)).values.tolist() for t in asked]
    assert all(other == first for other in others)


def test_conditions_that_differ_are_recorded_differently() -> None:
    table = ln.table(pd.DataFrame({"who": [1, 2], "s": ["a b", "a  b"]}), unit="who")
    texts = ["s = 'a b'", "s = 'a  b'", "s = 'a\tb'", "s = 'a\nb'"]
    assert len({table.where(text).count(max_rows=1).describe() for text in texts}) == len(texts)
