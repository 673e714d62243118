"""Tables along a tree, from rows to release, file, estimate and page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.domain import Tree
from leastnoise.testing import aggregate, seeded

PLACES = {
    "region": ["N", "N", "N", "N", "S", "S"],
    "state": ["A", "A", "B", "B", "C", "C"],
    "county": ["a1", "a2", "b1", "b2", "c1", "c2"],
}
TREE = Tree.from_columns(PLACES, "region", "state", "county")
KEYS: dict[str, Any] = {"county": TREE, "sex": ["f", "m"]}


def rows(count: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    county = rng.choice(["a1", "a2", "b1", "b2", "c1", "elsewhere"], count, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05])
    return pd.DataFrame({"who": np.arange(count) // 2, "county": county, "sex": rng.choice(["f", "m"], count)})


def asked(*tables: Any, **options: Any) -> Any:
    return ln.table(rows(), unit="who").crosstabs(*tables, **{"keys": KEYS, "max_rows": 2, **options})


def counts(level: str, *columns: str) -> pd.Series:
    known = rows()[rows().county.isin(PLACES["county"])].merge(pd.DataFrame(PLACES), on="county")
    return known.groupby([level, *columns]).size()


def test_the_engine_counts_the_finest_tables_alone() -> None:
    query = asked("state", "county", ("region", "sex"))
    assert query.counted == (("county",), ("region", "sex"))
    county, region = query._counter().split(aggregate(query).values)
    assert county.tolist() == [int(counts("county").get(key, 0)) for key in PLACES["county"]]
    assert region[:, :2].tolist() == [[int(counts("region", "sex").get((r, s), 0)) for s in "fm"] for r in "NS"]
    assert region[:, 2].tolist() == [0, 0]  # nobody's sex is missing
    assert asked("state").counted == (("state",),)  # rows hold counties, and are placed in states at once


def test_a_release_adds_up_and_is_unbiased_about_the_truth() -> None:
    query = asked("state", "county", ("region", "sex"), ())
    with seeded(3):
        made = query.release(epsilon=5, delta=1e-6, mechanism="gaussian")
    county, state = made["county"].values, made["state"].values
    np.testing.assert_allclose(np.add.reduceat(county, [0, 2, 4]), state, atol=1e-9)
    np.testing.assert_allclose(made["region"].values, [state[0] + state[1], state[2]], atol=1e-9)
    np.testing.assert_allclose(made["region", "sex"].to_numpy().sum(axis=1), made["region"].values, atol=1e-9)
    assert made.total().value == pytest.approx(county.sum())
    truth = np.array([int(counts("county").get(key, 0)) for key in PLACES["county"]])
    low, high = made["county"].interval(0.999999)
    assert ((low <= truth) & (truth <= high)).all()
    whole = made["county"].total({"county": ["a1", "a2"]})
    parent = made["state"].total({"state": "A"})
    assert whole.value == pytest.approx(parent.value)
    assert whole.std == pytest.approx(parent.std)  # the whole of a family is its parent
    assert whole.high == pytest.approx(parent.high)
    assert made["state"].difference({"state": "A"}, {"state": "B"}).std > 0
    assert made["state"].ratio({"state": "A"}).low < 0.7
    assert "nodes of a level" in made.explain()
    assert set(made.intervals(0.95)) == set(made.tables)


def test_what_is_expected_is_what_is_released_and_one_debit_pays(tmp_path: Path) -> None:
    query = asked("state", "county", ways=None)
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=3, delta=1e-6)
    expected = query.expect(budget=budget, share=0.25)
    with seeded(1):
        made = query.release(budget=budget, share=0.25)
    assert dict(made.std) == expected.std
    assert len(budget.history()) == 1
    assert budget.remaining.share == pytest.approx(0.75, abs=1e-6)


def test_files_keep_tree_and_numbers(tmp_path: Path) -> None:
    with seeded(9):
        made = asked("county", ("region", "sex")).release(epsilon=1, delta=1e-6)
    made.save(tmp_path / "r.parquet", allow_seeded=True)
    again = ln.load(tmp_path / "r.parquet")
    assert again.workload == made.workload
    for table in made.tables:
        np.testing.assert_array_equal(again[table].values, made[table].values)
        np.testing.assert_array_equal(again[table].interval().low, made[table].interval().low)
    estimate = made.denoise()
    estimate.save(tmp_path / "e.parquet", allow_seeded=True)
    other = ln.load(tmp_path / "e.parquet")
    np.testing.assert_allclose(other["county"].values, estimate["county"].values)
    made.to_csv(tmp_path / "csv", allow_seeded=True)
    assert (tmp_path / "csv" / "county.csv").read_text().count("\n") > 6
    made.to_excel(tmp_path / "r.xlsx", estimate=estimate, allow_seeded=True)


def test_every_node_has_its_curve_and_curves_add_up_along_the_tree(tmp_path: Path) -> None:
    """From rows to a file: cumulative sums by state and by county, near the truth, and as they were expected."""
    people = rows().assign(age=np.random.default_rng(6).integers(0, 8, 400))
    keys = {"county": TREE, "age": range(8)}
    named: Any = {"keys": keys, "cumulative": ["age"], "max_rows": 2}
    query = ln.table(people, unit="who").crosstabs(("state", "age"), ("county", "age"), **named)
    expected = query.expect(epsilon=5, delta=1e-6)
    with seeded(4):
        made = query.release(epsilon=5, delta=1e-6)
    assert (made.mechanism, dict(made.std)) == ("gaussian", expected.std)
    state, county = (made[level, "age"].cumulative() for level in ("state", "county"))
    curves = [made[level, "age"].to_numpy().cumsum(axis=1) for level in ("state", "county")]
    np.testing.assert_allclose(np.add.reduceat(curves[1], [0, 2, 4]), curves[0], atol=1e-9)
    known = people[people.county.isin(PLACES["county"])]
    table = pd.crosstab(known.county, known.age).reindex(PLACES["county"], fill_value=0).reindex(columns=range(8))
    low, high = county.interval(0.999999)
    truth = table.to_numpy().cumsum(axis=1)
    assert ((low.reshape(6, 8) <= truth) & (truth <= high.reshape(6, 8))).all()
    assert (high - low).max() < 8 * 2 * 4 * float(made.std["county", "age"])
    made.save(tmp_path / "r.parquet", allow_seeded=True)
    again = ln.load(tmp_path / "r.parquet")
    assert again.workload == made.workload
    np.testing.assert_array_equal(again["state", "age"].values, made["state", "age"].values)
    np.testing.assert_array_equal(again["state", "age"].cumulative().interval()[0], state.interval()[0])
    assert "cumulative" in made.explain()
    with pytest.raises(errors.BadDomain, match="need keys with an order"):
        asked("county", "state", cumulative=["state"])


def test_without_noise_the_estimate_has_no_negative_cell_and_adds_up() -> None:
    with seeded(2):
        made = asked((), "state", ("state", "sex"), "county").release(epsilon=0.2, delta=1e-6, mechanism="gaussian")
    assert made["county"].values.min() < 0  # else this shows nothing
    estimate = made.denoise()
    county, state = estimate["county"].values, estimate["state"].values
    assert county.min() == 0
    np.testing.assert_allclose(np.add.reduceat(county, [0, 2, 4]), state, atol=1e-6)
    np.testing.assert_allclose(estimate["state", "sex"].to_numpy().sum(axis=1), state, atol=1e-6)
    whole = estimate.integers()
    assert (np.add.reduceat(whole["county"].values, [0, 2, 4]) == whole["state"].values).all()
    assert (whole["state", "sex"].to_numpy().sum(axis=1) == whole["state"].values).all()
    assert whole["county"].values.min() >= 0
    assert np.abs(whole["county"].values - county).max() < 2
    assert 0 < estimate["county"].rmse < estimate["county"].rmse_at_most(0.95).value
    with pytest.raises(errors.InvalidParameter, match="not held"):
        made.denoise(known={(): 400})


def test_tables_of_one_level_of_which_none_contains_the_others_are_not_denoised() -> None:
    people = rows().assign(age=1 + np.arange(400) % 2)
    query = ln.table(people, unit="who").crosstabs(
        ("county", "sex"), ("county", "age"), keys={**KEYS, "age": [1, 2]}, max_rows=2
    )
    with seeded(2):
        made = query.release(epsilon=1, delta=1e-6)
    with pytest.raises(errors.InvalidParameter, match="by sex and by age"):
        made.denoise().explain()


@pytest.mark.parametrize(
    ("tables", "options", "message"),
    [
        ([("state", "county")], {}, "two levels of one tree"),
        (["state"], {"keys": {"county": TREE, "state": ["A"]}}, "has keys of its own"),
        (["state"], {"keys": {"sex": TREE}}, "Give both one name"),
        (["state"], {"nulls": "bin"}, "no place for values that are no leaf"),
        (["state"], {"other": True}, "no place for values that are no leaf"),
        (["state"], {"keys": {"county": TREE, "sex": TREE}}, "both have a tree"),
        (["nation"], {}, "nation"),
        (["state"], {"weights": {"county": 2}}, "county"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_paid(
    tables: list[Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=3, delta=1e-6)
    with pytest.raises(errors.LeastnoiseError, match=message):
        asked(*tables, **options).release(budget=budget, share=0.5)
    assert budget.history() == []


@pytest.mark.parametrize("limits", [{}, {"row_weight": "shared"}])
def test_laplace_noise_from_expectation_to_file_and_page(tmp_path: Path, limits: dict[str, Any]) -> None:
    """At delta = 0, and by itself where it has the lesser error; the tables add up, and hold the truth."""
    query = asked((), "state", "county", ("region", "sex"), **limits)
    expected = query.expect(epsilon=4, delta=0)
    assert expected.mechanism == "laplace"
    assert query.expect(epsilon=1, delta=1e-6).mechanism == "laplace"  # four tables
    assert ln.compare(query, epsilon=1, delta=1e-6).rows[0].mechanism == "laplace"
    with seeded(3):
        made = query.release(epsilon=4, delta=0)
    assert (made.mechanism, dict(made.std)) == ("laplace", expected.std)
    assert 4 * (1 - 1e-12) < made.guarantee.epsilon <= 4
    county, state = made["county"].values, made["state"].values
    np.testing.assert_allclose(np.add.reduceat(county, [0, 2, 4]), state, atol=1e-9)
    np.testing.assert_allclose(made["region", "sex"].to_numpy().sum(axis=1), made["region"].values, atol=1e-9)
    if not limits:
        truth = np.array([int(counts("county").get(key, 0)) for key in PLACES["county"]])
        low, high = made["county"].interval(0.999999)
        assert ((low <= truth) & (truth <= high)).all()
    whole, parent = made["county"].total({"county": ["a1", "a2"]}), made["state"].total({"state": "A"})
    assert (whole.value, whole.std) == pytest.approx((parent.value, parent.std))
    assert (whole.high, whole.low) == pytest.approx((parent.high, parent.low))
    ratio = made["state"].ratio({"state": "A"})
    assert ratio.low < ratio.value < ratio.high
    made.save(tmp_path / "r.parquet", allow_seeded=True)
    again = ln.load(tmp_path / "r.parquet")
    for table in made.tables:
        np.testing.assert_array_equal(again[table].values, made[table].values)
        np.testing.assert_array_equal(again[table].interval().low, made[table].interval().low)
    assert "Laplace noise" in again.note
    assert "95%" in made.explain()
    estimate = made.denoise()
    assert estimate["county"].values.min() >= 0
    summed = np.add.reduceat(estimate["county"].values, [0, 2, 4])
    np.testing.assert_allclose(summed, estimate["state"].values, atol=1e-6)
    page = made.report(tmp_path / "page.html", estimate=estimate, allow_seeded=True)
    assert "Laplace" in page.read_text()


def test_laplace_noise_is_paid_from_a_budget_at_its_price(tmp_path: Path) -> None:
    query = asked("state", "county")
    pure = ln.Budget.open(tmp_path / "pure.ledger", epsilon=3, delta=1e-6, pure_epsilon=1)
    with seeded(1):
        query.release(budget=pure, epsilon=0.9, delta=0)
    assert len(pure.history()) == 1
    with pytest.raises(errors.BudgetExhausted), seeded(1):
        query.release(budget=pure, epsilon=0.2, delta=0)
    gaussian = ln.Budget.open(tmp_path / "b.ledger", epsilon=3, delta=1e-6)
    with seeded(1):
        made = query.release(budget=gaussian, epsilon=0.5, delta=0, mechanism="laplace")
    assert made.mechanism == "laplace"
    assert gaussian.remaining.pure_epsilon == 0  # nothing is set aside for it: it is paid in mu^2
    assert 0 < gaussian.remaining.share < 1


def test_tables_that_were_not_asked_for_may_be_counted() -> None:
    """One table of counties by sex costs less than two that it contains."""
    query = asked("county", ("region", "sex"), max_rows=1)
    with seeded(4):
        made = query.release(epsilon=1, delta=0)
    assert list(made.integers) == [("county", "sex")]
    np.testing.assert_allclose(made["county"].values.sum(), made["region", "sex"].values.sum())


def test_a_file_without_a_level_that_was_asked_for_is_refused(tmp_path: Path) -> None:
    with seeded(4):
        made = asked((), "county").release(epsilon=1, delta=0)
    less = {("region",): made.integers["county",][:2].copy()}
    object.__setattr__(made, "integers", less)
    object.__setattr__(made, "scales", {("region",): 1.0})
    made.save(tmp_path / "r.parquet", allow_seeded=True)
    with pytest.raises(errors.LeastnoiseError, match="workload does not fit"):
        ln.load(tmp_path / "r.parquet")


def test_every_table_of_at_most_two_columns_has_one_level() -> None:
    assert asked(ways=2).tables == (
        (), ("region",), ("state",), ("county",), ("sex",),
        ("region", "sex"), ("state", "sex"), ("county", "sex"),
    )  # fmt: skip
