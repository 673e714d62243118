"""Tables of a set: unbiased, consistent, with intervals that hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
import saved_releases
from drawing import drawer
from leastnoise import errors, testing
from leastnoise.curator.queries.crosstabs import Crosstabs
from leastnoise.releases.crosstabs import CrosstabsRelease

KEYS: dict[str, Any] = {"age": range(5), "sex": ["f", "m"], "job": ["a", "b", "c"]}
DRAWS = 400


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "who": np.arange(2000),
            "age": rng.choice(5, 2000, p=[0.5, 0.3, 0.15, 0.05, 0.0]),
            "sex": rng.choice(["f", "m"], 2000),
            "job": rng.choice(["a", "b", "c"], 2000, p=[0.7, 0.29, 0.01]),
        }
    )


def truth(frame: pd.DataFrame, table: tuple[str, ...]) -> np.ndarray[Any, Any]:
    want = np.zeros([len(KEYS[column]) for column in table])
    np.add.at(want, tuple(frame[c].map({k: i for i, k in enumerate(KEYS[c])}).to_numpy() for c in table), 1)
    return want


@pytest.fixture(scope="module", params=["gaussian", "laplace"])
def releases(request: pytest.FixtureRequest, frame: pd.DataFrame) -> list[CrosstabsRelease]:
    """Many draws of one answer: the rows are read once."""
    query = ln.table(frame, unit="who").crosstabs(ways=2, keys=KEYS, max_rows=1, other=False)
    assert isinstance(query, Crosstabs)
    draw = drawer(query, epsilon=1, delta=1e-6, mechanism=request.param)
    made = []
    for seed in range(DRAWS):
        with testing.seeded(seed):
            made.append(draw())
    return made


def test_every_table_is_unbiased_with_the_std_it_says(releases: list[CrosstabsRelease], frame: pd.DataFrame) -> None:
    """7 tables, 41 cells; a mean beyond 5 standard errors, or a variance beyond 5 of its own, has a chance below 6e-5
    in all."""
    normal = releases[0].mechanism == "gaussian"
    for table in releases[0].tables:
        want = truth(frame, table).ravel() if table else np.array([2000.0])
        off = np.array([release[table].values - want for release in releases])
        std = releases[0].std[table]
        assert np.abs(off.mean(axis=0)).max() < 5 * std / DRAWS**0.5
        # A fourth moment of 6, that of Laplace noise, makes it sqrt(5/2) times as wide as 3, that of normal noise.
        assert np.abs(off.var(axis=0) / std**2 - 1).max() < 5 * ((2 if normal else 5) / DRAWS) ** 0.5


def test_tables_agree_with_each_other(releases: list[CrosstabsRelease]) -> None:
    release = releases[0]
    pair = release["sex", "age"].to_numpy()
    assert release["sex", "age"].columns == ("age", "sex")
    np.testing.assert_allclose(pair.sum(axis=1), release["age"].values, atol=1e-9)
    np.testing.assert_allclose(pair.sum(axis=0), release["sex", "job"].to_numpy().sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(pair.sum(), release.total().value, atol=1e-9)


def covered(found: list[tuple[float, float]], want: float) -> float:
    return float(np.mean([low <= want <= high for low, high in found]))


def test_intervals_hold_as_often_as_they_say(releases: list[CrosstabsRelease], frame: pd.DataFrame) -> None:
    """Of 400 draws 95% cover; fewer than 90% has a chance below 1e-4 each (exact binomial)."""
    pair = truth(frame, ("age", "sex"))
    young = {"age": range(2), "sex": "f"}
    totals = [release["age", "sex"].total(young) for release in releases]
    assert covered([(t.low, t.high) for t in totals], pair[:2, 0].sum()) > 0.90
    gaps = [release["age", "sex"].difference({"sex": "f"}, {"sex": "m"}) for release in releases]
    assert covered([(t.low, t.high) for t in gaps], pair[:, 0].sum() - pair[:, 1].sum()) > 0.90
    shares = [release["age", "sex"].ratio(young, {"age": range(2)}) for release in releases]
    assert covered([(t.low, t.high) for t in shares], pair[:2, 0].sum() / pair[:2].sum()) > 0.90
    whole = [release.total() for release in releases]
    assert covered([(t.low, t.high) for t in whole], 2000) > 0.90
    for row, column in ((0, 0), (3, 1), (4, 0)):
        cells = [[end[row * 2 + column] for end in release["age", "sex"].interval(0.95)] for release in releases]
        assert covered([(low, high) for low, high in cells], pair[row, column]) > 0.90


def test_intervals_of_all_cells_hold_together(releases: list[CrosstabsRelease], frame: pd.DataFrame) -> None:
    """At least 95% of 400 draws; fewer than 90% has a chance below 1e-4."""
    pair = truth(frame, ("age", "job")).ravel()
    one = [release["age", "job"].interval(0.95, simultaneous=True) for release in releases]
    assert np.mean([np.all((low <= pair) & (pair <= high)) for low, high in one]) > 0.90
    every = []
    for release in releases[:100]:
        found = release.intervals(0.95)
        every.append(
            all(
                np.all((found[t][0] <= truth(frame, t).ravel()) & (truth(frame, t).ravel() <= found[t][1]))
                for t in release.tables
                if t
            )
        )
    assert np.mean(every) > 0.85  # of 100: a chance below 1e-4


def test_a_ratio_over_what_may_be_nothing_says_so(releases: list[CrosstabsRelease]) -> None:
    found = releases[0]["age", "sex"].ratio({"age": 4, "sex": "f"}, {"age": 4})
    assert np.isnan(found.value)
    assert (found.low, found.high) == (-np.inf, np.inf)


def test_expected_is_what_is_released(frame: pd.DataFrame) -> None:
    query = ln.table(frame, unit="who").crosstabs("age", ("age", "sex"), keys=KEYS, max_rows=1)
    private = {"epsilon": 1, "delta": 1e-6, "mechanism": "gaussian"}
    expected, made = query.expect(**private), query.release(**private)  # type: ignore[arg-type]
    assert expected.std == {table: made.std[table] for table in made.tables}  # type: ignore[union-attr]
    half = expected.tables[1].half_width  # type: ignore[union-attr]
    low, high = made["age", "sex"].interval(0.95)
    np.testing.assert_allclose(high - low, 2 * half)
    assert "the total" in str(expected)
    assert "no other Gaussian noise on linear sums has less error, but for rounding to whole numbers." in str(expected)


def test_one_table_cannot_be_saved_or_denoised_by_itself(releases: list[CrosstabsRelease], tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidParameter, match="save the set"):
        releases[0]["age"].save(tmp_path / "age.parquet")
    with pytest.raises(errors.InvalidParameter, match="denoised together"):
        releases[0]["age"].denoise()


def test_keys_that_are_none_are_refused(releases: list[CrosstabsRelease]) -> None:
    table = releases[0]["age", "sex"]
    with pytest.raises(errors.BadDomain, match="no key 17"):
        table.total({"age": 17})
    with pytest.raises(errors.UnknownColumn):
        table.total({"job": "a"})
    with pytest.raises(errors.WrongType, match="by column"):
        table.total([1, 2])
    with pytest.raises(errors.UnknownColumn):
        releases[0]["nobody"]
    with pytest.raises(errors.InvalidParameter, match="no table that was asked for"):
        releases[0]["age", "sex", "job"]


def test_a_set_is_one_debit(frame: pd.DataFrame, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=1, delta=1e-6)
    query = ln.table(frame, unit="who", name="t").crosstabs(ways=2, keys=KEYS, max_rows=1)
    whole = query.expect(budget=budget, share=1, mechanism="gaussian")
    half = query.release(budget=budget, share=0.5)
    assert budget.remaining.share == pytest.approx(0.5)
    assert len([entry for entry in budget.history() if entry.kind == "release"]) == 1
    # but for the rounding to whole numbers, 1/12 of which does not grow with the noise
    assert half.std["age",] == pytest.approx(2**0.5 * whole.std["age",], rel=1e-4)  # type: ignore[union-attr]
    query.release(budget=budget, epsilon=0.3, delta=1e-6)
    with pytest.raises(ln.BudgetExhausted):
        query.release(budget=budget, share=0.5)
    with pytest.raises(errors.InvalidParameter, match="noise of its own"):
        query.release(sigma=3)


@pytest.mark.parametrize(("mechanism", "delta"), [("gaussian", 1e-6), ("laplace", 0)])
def test_a_set_costs_what_one_release_of_its_promise_costs(
    frame: pd.DataFrame, tmp_path: Path, mechanism: str, delta: float
) -> None:
    query = ln.table(frame, unit="who", name="t").crosstabs(ways=2, keys=KEYS, max_rows=1)
    of_set, of_one = (ln.Budget.open(tmp_path / name, epsilon=3, delta=1e-6, pure_epsilon=1) for name in ("a", "b"))
    query.release(budget=of_set, epsilon=0.5, delta=delta, mechanism=mechanism)
    ln.release([1], sensitivity=1, epsilon=0.5, delta=delta, mechanism=mechanism, budget=of_one)
    for left in ("epsilon", "pure_epsilon"):
        assert getattr(of_set.remaining, left) == pytest.approx(getattr(of_one.remaining, left), rel=1e-9)
        assert getattr(of_set.remaining, left) <= getattr(of_one.remaining, left) * (1 + 1e-12)


def test_what_to_expect_is_refused_where_the_ledger_is_about_another_table(frame: pd.DataFrame, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=1, delta=1e-6, table="people", unit="who")
    ask = {"keys": KEYS, "ways": 1, "max_rows": 1}
    other = ln.table(frame, unit="who", name="pupils").crosstabs(**ask)
    for spend in (other.expect, other.release):
        with pytest.raises(errors.BudgetMismatch, match="'people' and the release about 'pupils'"):
            spend(budget=budget, share=0.5)
    assert budget.remaining.share == 1
    assert ln.table(frame, unit="who", name="people").crosstabs(**ask).expect(budget=budget, share=0.5)


def test_whole_numbers_are_tables_frames_and_files(frame: pd.DataFrame, tmp_path: Path) -> None:
    with testing.seeded(1):
        release = ln.table(frame, unit="who").crosstabs(ways=2, keys=KEYS, max_rows=1).release(epsilon=1, delta=1e-6)
    whole = release.denoise().integers()  # type: ignore[union-attr]
    assert set(whole) == set(release.tables)  # type: ignore[union-attr]
    pair = whole["sex", "age"]
    assert pair.columns == ("age", "sex")
    assert (pair.to_numpy().sum(axis=1) == whole["age"].to_numpy()).all()
    assert pair.to_numpy().sum() == whole[()].values[0]
    shown = pair.to_pandas()
    assert list(shown) == ["age", "sex", "value"]
    assert shown["value"].dtype == np.int64
    assert shown["value"].min() >= 0
    with pytest.raises(errors.SeededRelease):
        whole.to_csv(tmp_path / "csv")
    folder = whole.to_csv(tmp_path / "csv", allow_seeded=True)
    assert pd.read_csv(folder / "age-sex.csv", comment="#").equals(shown.astype({"age": int}))


def test_whole_number_keys_beside_other_stay_whole_in_pandas(frame: pd.DataFrame) -> None:
    query = ln.table(frame, unit="who").crosstabs("age", keys={"age": [0, 1]}, max_rows=1, other=True)
    with testing.seeded(1):
        shown = query.release(epsilon=1, delta=1e-6)["age"].to_pandas()  # type: ignore[index]
    assert shown["age"].dtype == pd.Int64Dtype()
    assert shown["age"].tolist() == [0, 1, pd.NA]


def test_print_shows_the_numbers_of_the_smallest_tables() -> None:
    made = saved_releases.every_kind()["tables"]
    text = str(made)
    assert "CrosstabsRelease of 4 tables" in text
    assert str(made["town"]) in text
    assert str(made["age"]) in text
    assert str(made["town", "age"]) not in text
    for value in made["town"].values:
        assert f"{value:.6g}" in text
