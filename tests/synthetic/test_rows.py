"""`release.rows()`: rows of the columns and keys of a set, near its tables, whatever is known or forbidden."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.testing import seeded

KEYS: dict[str, Any] = {
    "age": ln.domain.Edges([0, 18, 45, 67, 100]),
    "job": ["none", "care", "trade"],
    "town": ["Ash", "Elm", "Oak"],
}


def people(count: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.integers(0, 100, count)
    job = np.where(age < 18, "none", rng.choice(["none", "care", "trade"], count))
    town = np.where(job == "care", "Ash", rng.choice(KEYS["town"], count))
    return pd.DataFrame({"who": range(count), "age": age, "job": job, "town": town})


@pytest.fixture(scope="module")
def release() -> Any:
    query = ln.table(people(), unit="who").crosstabs(ways=2, keys=KEYS, max_rows=1, other=False)
    with seeded(1):
        return query.release(epsilon=2, delta=1e-6)


@pytest.fixture(scope="module")
def rows(release: Any) -> Any:
    return release.rows(groups=20)


def test_as_many_rows_as_were_counted_with_the_keys_of_the_set(rows: Any, release: Any) -> None:
    frame = rows.to_pandas()
    assert len(frame) == len(rows) == round(release.denoise()[()].values[0])
    assert set(frame["job"]) <= set(KEYS["job"])
    assert list(frame.columns) == ["age_low", "age_high", "job", "town"]
    assert set(zip(frame["age_low"], frame["age_high"], strict=True)) <= {(0, 18), (18, 45), (45, 67), (67, 100)}


def test_values_can_be_drawn_within_bins(rows: Any) -> None:
    drawn, bins = rows.to_pandas(within_bins=True), rows.to_pandas()
    assert ((bins["age_low"] <= drawn["age"]) & (drawn["age"] <= bins["age_high"])).all()
    assert drawn["age"].nunique() > 1000
    assert drawn["age"].equals(rows.to_pandas(within_bins=True)["age"])


def test_rows_are_near_the_tables(rows: Any) -> None:
    """Nothing random is left: release and rows are seeded. Independent columns are further off: 0.13 of job x town."""
    assert {each.table for each in rows.distances} >= {("age",), ("job", "town")}
    assert max(each.total_variation for each in rows.distances) < 0.03
    frame = rows.to_pandas()
    assert abs((frame[frame["job"] == "care"]["town"] == "Ash").mean() - 1) < 0.05


def test_the_same_seed_gives_the_same_rows(release: Any) -> None:
    first, same, other = (release.rows(100, groups=5, seed=seed).to_pandas() for seed in (3, 3, 4))
    assert len(first) == 100
    assert first.equals(same)
    assert not first.equals(other)


def test_known_tables_and_forbidden_combinations_are_kept(release: Any) -> None:
    known = {"town": {"Ash": 1500, "Elm": 800, "Oak": 700}}
    forbidden = [{"age": [(0.0, 18.0)], "job": ["care", "trade"]}]
    frame = release.rows(groups=5, known=known, forbidden=forbidden).to_pandas()
    assert frame["town"].value_counts().to_dict() == known["town"]
    assert not ((frame["age_low"] == 0) & (frame["job"] != "none")).any()


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"n": 0}, "n"),
        ({"forbidden": [{"height": 3}]}, "forbidden"),
        ({"forbidden": [{"job": "nurse"}]}, "forbidden"),
        ({"known": {"town": [1, 2, 3]}, "n": 7}, "n"),
    ],
)
def test_mistakes_are_refused(release: Any, options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(errors.InvalidParameter) as refused:
        release.rows(groups=2, **options)
    assert refused.value.parameter == parameter


def test_sets_that_are_no_plain_counts_are_refused() -> None:
    query = ln.table(people(), unit="who").crosstabs("age", keys=KEYS, max_rows=1, cumulative=["age"])
    with seeded(1):
        release = query.release(epsilon=1, delta=1e-6, mechanism="gaussian")
    with pytest.raises(errors.InvalidParameter, match="plain counts"):
        release.rows()


def test_files_say_what_the_rows_are_and_replace_nothing(rows: Any, release: Any, tmp_path: Path) -> None:
    with pytest.raises(errors.SeededRelease):
        rows.save(tmp_path / "rows.parquet")
    path = rows.save(tmp_path / "rows.parquet", allow_seeded=True)
    facts = json.loads(pq.read_schema(path).metadata[b"leastnoise rows"])
    assert facts["release"] == release.id
    assert facts["kind"] == "synthetic rows"
    assert pd.read_parquet(path).equals(rows.to_pandas())
    with pytest.raises(errors.BadOutput):
        rows.save(path, allow_seeded=True)
    assert len(pd.read_csv(rows.save(tmp_path / "rows.csv", allow_seeded=True))) == len(rows)
    with pytest.raises(errors.BadOutput):
        rows.save(tmp_path / "rows.xlsx", allow_seeded=True)


def test_the_report_says_what_is_a_guess(rows: Any, release: Any) -> None:
    assert release.id in rows.report
    assert "guess" in rows.report
    assert "job x town" in rows.report
