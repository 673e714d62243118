"""Cumulative sums and ranges of sets of tables, as a user asks for them: from the question to files and pages."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors, report
from leastnoise.curator.request import PrivacyRequest
from leastnoise.pictures import cumulative, svg
from leastnoise.releases.crosstab_table import CumulativeTable
from leastnoise.testing import aggregate, seeded
from leastnoise.workload import Workload
from leastnoise.workload.tables_noise import TablesPlanner

KEYS = {"age": range(20, 60), "sex": ["f", "m"], "pay": ln.domain.Edges(tuple(range(0, 110, 10)))}
SUMS: dict[str, Any] = {"cumulative": ["age"], "ranges": ["pay"]}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "who": range(4000),
            "age": rng.integers(20, 60, 4000),
            "sex": rng.choice(["f", "m"], 4000),
            "pay": rng.uniform(0, 100, 4000),
        }
    )


@pytest.fixture(scope="module")
def query(frame: pd.DataFrame) -> Any:
    people = ln.table(frame, unit="who")
    return people.crosstabs("age", ("age", "sex"), ("sex", "pay"), keys=KEYS, max_rows=1, **SUMS)


@pytest.fixture(scope="module")
def release(query: Any) -> Any:
    with seeded(3):
        return query.release(epsilon=1, delta=1e-6, mechanism="gaussian")


def test_curves_and_ranges_have_the_error_that_was_expected(frame, query, release):
    expected = query.expect(epsilon=1, delta=1e-6, mechanism="gaussian")
    assert expected.std == dict(release.std)
    assert expected.tables[0].sums_std == pytest.approx(math.sqrt(release.errors.mean_variance("age")))
    assert "sums: std" in str(expected)
    counts = frame.age.value_counts().sort_index().to_numpy()
    curve = release["age"].cumulative()
    assert (curve.values == np.cumsum(release["age"].values)).all()
    low, high = curve.interval(1 - 1e-9)
    assert ((low <= counts.cumsum()) & (counts.cumsum() <= high)).all()
    flat = ln.table(frame, unit="who").crosstabs("age", ("age", "sex"), ("sex", "pay"), keys=KEYS, max_rows=1)
    before = flat.expect(epsilon=1, delta=1e-6, mechanism="gaussian")
    assert curve.std.max() < 0.5 * before.std["age",] * math.sqrt(20)
    young = release["age", "sex"].total({"age": range(20, 30), "sex": "f"})
    assert young.value == pytest.approx(release["age", "sex"].to_numpy()[:10, 0].sum())
    assert young.std == pytest.approx(release["age", "sex"].cumulative("age").std[9, 0], rel=1e-9)
    assert young.low < young.value < young.high
    wide = curve.interval(0.95, simultaneous=True)
    assert (wide.high - wide.low > low * 0 + (curve.interval().high - curve.interval().low)).all()


def test_cells_of_ordered_columns_have_intervals_of_their_own(release):
    low, high = release["age"].interval()
    widths = np.asarray(high - low)
    assert widths.max() > widths.min() * 1.01
    variances = release.errors.sum_variances("age")
    assert np.allclose(widths / 2, 1.96 * np.sqrt(variances), rtol=0.02)
    assert release.std["age",] == pytest.approx(math.sqrt(variances.max()))


def test_the_promise_is_that_of_the_integers(release):
    cost = release.workload.squared_cost(release.scales)
    assert math.sqrt(cost) <= release.guarantee.mu <= math.sqrt(cost) * (1 + 1e-9)


def test_under_replace_a_unit_costs_more(frame):
    people = ln.table(frame, unit="who", neighbours="replace")
    query = people.crosstabs("age", keys=KEYS, max_rows=1, cumulative=["age"])
    made = query.expect(epsilon=1, delta=1e-6, mechanism="gaussian")
    plain = ln.table(frame, unit="who").crosstabs("age", keys=KEYS, max_rows=1, cumulative=["age"])
    ratio = made.rmse / plain.expect(epsilon=1, delta=1e-6, mechanism="gaussian").rmse
    assert 1.2 < ratio <= math.sqrt(2.5)


def test_few_sums_from_laplace_noise_on_plain_tables(frame):
    # Eight keys: a small table, whose cumulative sums are sums of few cells.
    query = ln.table(frame, unit="who").crosstabs("age", keys={"age": range(20, 28)}, max_rows=1, cumulative=["age"])
    with seeded(5):
        release = query.release(epsilon=1, delta=0)
    assert release.mechanism == "laplace"
    assert not release.workload.strategies
    curve = release["age"].cumulative()
    assert np.allclose(curve.std, release.std["age",] * np.sqrt(np.arange(1, 9)))
    assert release["age"].total({"age": range(20, 23)}).std == pytest.approx(curve.std[2])
    assert query.expect(epsilon=1, delta=1e-6).mechanism == "laplace"
    assert [row.mechanism for row in ln.compare(query, epsilon=1, delta=1e-6).rows] == ["laplace", "gaussian"]
    longer = Workload({"age": 400}, ways=(1,), cumulative=["age"])
    planner = TablesPlanner(longer, "tables", 1, "add-remove")
    assert planner.compare(epsilon=1, delta=1e-6, step=1).best.mechanism == "gaussian"


def test_it_is_saved_with_its_strategies(release, tmp_path: Path):
    release.save(tmp_path / "set.parquet", allow_seeded=True)
    again: Any = ln.load(tmp_path / "set.parquet")
    assert again.workload == release.workload
    assert (again["age", "sex"].values == release["age", "sex"].values).all()
    curve = release["age"].cumulative()
    assert (again["age"].cumulative().interval().low == curve.interval().low).all()
    assert again.explain() == release.explain()
    assert again.gap is None


def test_a_file_whose_strategy_is_none_is_refused(release, tmp_path: Path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    release.save(tmp_path / "set.parquet", allow_seeded=True)
    table = pq.read_table(tmp_path / "set.parquet")
    names, values = table["block"].to_pylist(), table["integer"].to_numpy().copy()
    values[names.index("strategy of age")] = 0  # no diagonal
    broken = table.set_column(2, "integer", pa.array(values)).replace_schema_metadata(table.schema.metadata)
    pq.write_table(broken, tmp_path / "broken.parquet", write_page_checksum=True)
    with pytest.raises(errors.NotOurs):
        ln.load(tmp_path / "broken.parquet")
    pq.write_table(table.slice(0, 100), tmp_path / "short.parquet", write_page_checksum=True)
    with pytest.raises(errors.NotOurs):
        ln.load(tmp_path / "short.parquet")


def test_what_people_read(release, tmp_path: Path):
    assert "A cumulative sum of age is off by at most" in release.explain()
    assert "standard deviation at most" in release["age", "sex"].explain()
    assert "standard deviation at most" not in release["sex"].explain()
    assert "A range of pay in sex x pay has a standard deviation of" in release.explain()
    frame = release["age", "sex"].to_pandas()
    assert list(frame.columns) == [
        *("age", "sex", "value", "low", "high", "cumulative", "cumulative_low", "cumulative_high")
    ]
    curve = release["age", "sex"].cumulative()
    assert np.allclose(frame.cumulative, curve.values.ravel())
    assert np.allclose(curve.to_pandas(confidence=0.9).high, curve.interval(0.9).high.ravel())
    folder = release.to_csv(tmp_path / "csv", allow_seeded=True)
    text = (folder / "age.csv").read_text()
    assert '"age","value","low","high","cumulative","cumulative_low","cumulative_high"' in text
    assert "cumulative: the sum from the first age up to that of the line" in text
    release.report(tmp_path / "page.html", allow_seeded=True)
    page = (tmp_path / "page.html").read_text()
    assert re.findall(r"<figcaption>(\w+): how many up to and including each key", page) == ["age", "pay"]
    for column in ("age", "pay"):
        assert svg.svg(cumulative.cumulative(release[column].cumulative())) in page
    assert "r.workload.squared_cost(r.scales" in page
    assert "CumulativeTable along age: 120 sums" in repr(curve)  # of two sexes, and of missing or other ones


def test_pictures(release):
    ax = release["age", "sex"].cumulative().plot()
    assert len(ax.lines) == 3
    assert len(ax.collections) == 3
    assert len(release["age"].cumulative().plot(confidence=0.5).lines) == 1
    with pytest.raises(errors.InvalidParameter, match="10 curves"):
        CumulativeTable(table=release["sex", "pay"], column="sex", values=release["sex", "pay"].to_numpy()).plot()


def test_rows_that_are_no_key_are_not_on_the_curve(frame):
    people = ln.table(frame, unit="who")
    query = people.crosstabs("age", keys={"age": range(20, 50)}, max_rows=1, other=True, cumulative=["age"])
    with seeded(8):
        release = query.release(epsilon=1, delta=1e-6, mechanism="gaussian")
    assert release["age"].bins == 31
    curve = release["age"].cumulative()
    assert curve.values.shape == curve.std.shape == (30,)
    shown = release["age"].to_pandas()
    assert shown.cumulative.isna().tolist() == [False] * 30 + [True]


def test_shared_and_given_weights(frame):
    rows = pd.concat([frame, frame.assign(age=59 - (frame.age - 20))])
    rows["w"] = 2.5
    people = ln.table(rows, unit="who")
    shared = people.crosstabs("age", keys=KEYS, row_weight="shared", cumulative=["age"])
    weighted = people.crosstabs("age", keys=KEYS, max_rows=2, weight="w", weight_clip=(0, 4), cumulative=["age"])
    for query, total in ((shared, 4000), (weighted, 20_000)):
        with seeded(2):
            release = query.release(epsilon=5, delta=1e-6, mechanism="gaussian")
        curve = release["age"].cumulative()
        assert abs(curve.values[-1] - total) < 6 * curve.std[-1]
        assert abs(curve.values[19] - total / 2) < 0.05 * total


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_unit_moves_the_answer_by_more_than_the_noise_allows_for(neighbours: str):
    rng = np.random.default_rng(6)
    rows = pd.DataFrame(
        {"who": rng.integers(0, 12, 40), "age": rng.integers(20, 26, 40), "sex": rng.choice(["f", "m"], 40)}
    )
    keys = {"age": range(20, 26), "sex": ["f", "m"]}

    def asked(frame: pd.DataFrame) -> Any:
        people = ln.table(frame, unit="who", neighbours=neighbours)
        return people.crosstabs(("age", "sex"), "age", keys=keys, max_rows=2, cumulative=["age"])

    noise = asked(rows)._charge(PrivacyRequest(epsilon=1, delta=1e-6, mechanism="gaussian")).plan
    workload, found = noise.workload, []

    def integers(frame: pd.DataFrame) -> Any:
        query = asked(frame)
        counted = dict(zip(query.counted, query._counter().split(aggregate(query).values), strict=True))
        return np.concatenate(
            [
                workload.integers(block, exact).ravel() / noise.scales[block]
                for block, exact in workload.sums_of(counted, workload.blocks)
            ]
        )

    whole = integers(rows)
    for unit in range(5):
        left = rows[rows.who != unit]
        found.append(float(((whole - integers(left)) ** 2).sum()))
        if neighbours == "replace":
            other = rows.assign(age=np.where(rows.who == unit, 45 - rows.age, rows.age))
            found.append(float(((whole - integers(other)) ** 2).sum()))
    assert 0.2 * noise.cost < max(found) <= noise.cost


def test_denoising_is_refused_with_the_reason(release):
    with pytest.raises(errors.InvalidParameter, match="correlated along their columns"):
        release.denoise()


def test_a_curve_needs_an_order_and_a_column(release):
    with pytest.raises(errors.BadDomain, match="no order"):
        release["age", "sex"].cumulative("sex")
    with pytest.raises(errors.UnknownColumn, match="pay"):
        release["age"].cumulative("pay")
    with pytest.raises(errors.InvalidParameter, match="total"):
        release[()].cumulative()


@pytest.mark.parametrize(
    ("sums", "mistake", "words"),
    [
        ({"cumulative": ["sex"]}, errors.BadDomain, "need keys with an order"),
        ({"ranges": ["sex"]}, errors.BadDomain, "Ranges need keys with an order"),
        ({"cumulative": ["code"]}, errors.BadDomain, "do not rise"),
        ({"cumulative": ["height"]}, errors.UnknownColumn, "height"),
        ({"cumulative": ["age"], "ranges": ["age"]}, errors.InvalidParameter, "named twice"),
        ({"cumulative": "age"}, errors.WrongType, "list of columns"),
        ({"ranges": [["age"]]}, errors.WrongType, "names of columns"),
        ({"cumulative": None}, errors.WrongType, "list of columns"),
    ],
)
def test_what_cannot_be_summed_is_refused_and_nothing_is_debited(frame, tmp_path: Path, sums, mistake, words):
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=1, delta=1e-6, unit="who")
    people = ln.table(frame.assign(code=1), unit="who")
    keys = {**KEYS, "code": [3, 1, 2]}
    with pytest.raises(mistake, match=words):
        people.crosstabs(("age", "sex"), "code", keys=keys, max_rows=1, **sums).release(budget=budget, share=0.5)
    assert not budget.history()


def test_texts_that_were_declared_to_be_in_order_have_curves(tmp_path: Path) -> None:
    """Grades, whose order is not that of the alphabet; it is kept in files, with labels and a bin for others."""
    grades = ["low", "middle", "high", "top"]
    people = pd.DataFrame({"who": range(400), "grade": np.repeat([*grades, "none"], 80)})
    keys: Any
    for keys in (
        ln.domain.Ordered(grades),
        ln.domain.with_other(ln.domain.Ordered(tuple(grades))),
        ln.domain.Labelled(ln.domain.Ordered(grades), ("1", "2", "3", "4")),
    ):
        query = ln.table(people, unit="who").crosstabs("grade", keys={"grade": keys}, cumulative=["grade"], max_rows=1)
        with seeded(2):
            made = query.release(epsilon=50, delta=1e-6)
        np.testing.assert_allclose(made["grade"].cumulative().values[:4], [80, 160, 240, 320], atol=5)
        made.save(tmp_path / "r.parquet", allow_seeded=True)
        again = ln.load(tmp_path / "r.parquet")
        assert again.axes == made.axes
        np.testing.assert_array_equal(again["grade"].cumulative().values, made["grade"].cumulative().values)
    with pytest.raises(errors.BadDomain, match=r"declare the order of a list.*Ordered"):
        ln.table(people, unit="who").crosstabs("grade", keys={"grade": grades}, cumulative=["grade"], max_rows=1)
    (tmp_path / "keys.toml").write_text('grade = { ordered = ["low", "high"] }\n')
    assert ln.domain.read(tmp_path / "keys.toml") == {"grade": ln.domain.Ordered(["low", "high"])}
    with pytest.raises(errors.WrongType, match="a list"):
        ln.domain.Ordered("low")  # type: ignore[arg-type]
    single = ln.table(people, unit="who").histogram("grade", keys=ln.domain.Ordered(grades), max_rows=1)
    with seeded(1):
        counted = single.release(epsilon=1, delta=1e-6)
    counted.save(tmp_path / "h.parquet", allow_seeded=True)
    assert ln.load(tmp_path / "h.parquet").domain == counted.domain


def test_what_stands_beside_a_curve() -> None:
    """Long names are cut: what passes the edge of a drawing is not seen. Laplace noise is not made for
    sums, and the page does not say so."""
    names = ["None", "Possession with intent to supply", "At home", "Over 54 and some more of it"]
    rows = pd.DataFrame({"who": range(40), "offence": names * 10})
    keys = {"offence": ln.domain.Ordered(names)}
    asked = ln.table(rows, unit="who").crosstabs("offence", keys=keys, max_rows=1, cumulative=["offence"])
    with seeded(3):
        made = {noise: asked.release(epsilon=1, delta=1e-6, mechanism=noise) for noise in ("gaussian", "laplace")}
    drawn = svg.svg(cumulative.cumulative(made["laplace"]["offence"].cumulative()))
    shown = re.findall(r">([^<]*)</text>", drawn)
    assert [short for short in shown if short[:4] in {name[:4] for name in names}] == [
        "None",
        "Possession with…",
        "At home",
        "Over 54 and som…",
    ]
    for noise, said in (
        ("gaussian", "The noise was chosen so that such sums"),
        ("laplace", "The noise is on the cells"),
    ):
        assert said in report.page(made[noise])


def test_sums_along_a_column_that_no_table_has_are_refused_in_those_words() -> None:
    """The table of people may have it all the same."""
    people = ln.table(pd.DataFrame({"who": [1], "age": [1], "sex": [1]}), unit="who")
    with pytest.raises(ln.errors.UnknownColumn, match="no table that is asked for has that column") as refused:
        people.crosstabs("age", keys={"age": range(3)}, max_rows=1, cumulative=["sex"])
    assert "there is no column" not in str(refused.value)
