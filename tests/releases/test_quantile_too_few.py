"""A quantile whose interval is the whole clip is too few to tell: in words, frames, files, pages and pictures."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import report
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.quantile import levels_drawn
from leastnoise.testing import seeded
from page_parser import decoded

GROUPS = {"a": 5_000, "b": 1_000, "c": 8, "d": 0}  # rows of each: of the last two nothing can be known
KNOWN, LOST = slice(0, 2), slice(2, 4)
MECHANISMS = ("exponential", "gaussian", "laplace")


@cache
def waits(levels: tuple[float, ...] = (0.1, 0.5, 0.9), mechanism: str = "exponential", intervals: bool = True) -> Any:
    rng = np.random.default_rng(1)
    names = np.repeat(list(GROUPS), list(GROUPS.values()))
    rows = pd.DataFrame({"who": np.arange(names.size), "town": names, "wait": rng.gamma(4.0, 1.2, names.size)})
    asked = ln.table(rows, unit="who").quantile(
        "wait", list(levels), by="town", keys=list(GROUPS), clip=(0, 40), max_rows=1, intervals=intervals
    )
    with seeded(5):
        return asked.release(epsilon=1, delta=1e-6, mechanism=mechanism)


def page_data(made: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(report.page(made).split('id="data">', 1)[1].split("</script>", 1)[0])
    return data


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_quantile_is_told_where_its_interval_is_narrower_than_the_clip(mechanism: str) -> None:
    made = waits(mechanism=mechanism)
    low, high = made.interval(0.95)
    assert made.enough[KNOWN].all()
    assert not made.enough[LOST].any()
    assert (low[LOST] == 0).all()
    assert (high[LOST] == 40).all()
    assert np.isnan(made.values[LOST]).all()
    assert (np.diff(made.values[KNOWN]) >= 0).all()


def test_files_and_frames_tell_which_quantiles_are_too_few(tmp_path: Path) -> None:
    made = waits()
    frame, arrow = made.to_pandas(), made.to_arrow()
    assert list(frame.columns) == ["town", "level", "quantile", "low", "high", "enough"]
    assert frame["enough"].tolist() == [True] * 6 + [False] * 6
    assert arrow["quantile"].null_count == made.to_polars()["quantile"].null_count() == 6
    made.save(tmp_path / "waits.parquet", allow_seeded=True)
    assert ln.load(tmp_path / "waits.parquet").to_arrow().equals(arrow)
    lines = made.to_csv(tmp_path / "waits.csv", allow_seeded=True).read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert [row["quantile"] == "" for row in rows] == [row["enough"] in ("False", "false") for row in rows]
    assert [row["quantile"] == "" for row in rows] == [False] * 6 + [True] * 6
    assert any("6 of 12 quantiles are too few to tell" in line for line in lines)


def test_where_nothing_can_be_told_the_page_says_so() -> None:
    rows = pd.DataFrame({"who": range(5), "town": ["a"] * 5, "wait": [1.0] * 5})
    people = ln.table(rows, unit="who")
    with seeded(1):
        groups = people.quantile("wait", 0.5, by="town", keys=["a", "b"], clip=(0, 40), max_rows=1)
        for asked in (groups, people.quantile("wait", 0.5, clip=(0, 40), max_rows=1)):
            made = asked.release(epsilon=0.1, delta=1e-6)
            (measure,) = page_data(made)["tables"][0]["measures"]
            assert measure["missing"] == TOO_FEW
            assert np.isnan(decoded(measure["values"])).all()
            made.plot()


def test_the_chart_draws_every_interval_and_none_of_the_lost() -> None:
    measures = page_data(waits())["tables"][0]["measures"]
    low, high = waits().interval(0.95)
    for place, measure in enumerate(measures):
        assert decoded(measure["low"]) == pytest.approx(low[:, place])
        assert decoded(measure["high"]) == pytest.approx(high[:, place])
        assert np.isnan(decoded(measure["values"])[2:]).all()
        assert measure["missing"] == TOO_FEW


def test_the_plot_draws_every_interval_and_names_the_lost() -> None:
    made = waits()
    ax = made.plot()
    drawn = np.array([segment[:, 0] for level in ax.collections for segment in level.get_segments()])
    low, high = made.interval(0.95)
    assert drawn == pytest.approx(np.stack([low[KNOWN].T.ravel(), high[KNOWN].T.ravel()], axis=1))
    assert [text.get_text() for text in ax.texts].count(TOO_FEW) == 2


def test_quantiles_without_intervals_are_shown_as_unknown_and_not_as_too_few() -> None:
    made = waits(intervals=False)
    assert made.enough.all()
    assert not np.isnan(made.values).any()
    assert "No intervals were paid for" in made.explain()
    assert all("low" not in measure for measure in page_data(made)["tables"][0]["measures"])
    made.plot()


def test_of_many_levels_the_picture_has_five() -> None:
    levels = tuple(round(0.05 * i, 2) for i in range(1, 20))
    made = waits(levels=levels, mechanism="gaussian")
    measures = page_data(made)["tables"][0]["measures"]
    assert len(levels_drawn(levels)) == 5
    drawn = [measure["title"] for measure in measures if measure["drawn"]]
    assert drawn == ["5% quantile", "25% quantile", "median", "75% quantile", "95% quantile"]
    assert "Of 19 levels the chart shows 5; the table has all." in report.page(made)
