"""Series: paid once, a period answered once, limits kept over periods, and nothing lost by a crash at any point."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator import release as loop
from leastnoise.curator import series as module
from leastnoise.testing import seeded

KEYS = ["a", "b"]


def rows(*visits: tuple[int, str]) -> pd.DataFrame:
    return pd.DataFrame({"person": [who for who, _ in visits], "place": [where for _, where in visits]})


def visits(frame: pd.DataFrame, **limits: Any) -> ln.Query:
    return ln.table(frame, unit="person", name="visits").histogram("place", keys=KEYS, **{"max_rows": 2, **limits})


def integers(series: ln.Series, period: int, kind: str = "private") -> np.ndarray:
    file = f"private/{period:04d}/integers.parquet" if kind == "private" else f"numbers/{period:04d}.parquet"
    return np.array(pq.read_table(series.folder / file)["integers"][0].as_py())


WEEK = rows((1, "a"), (2, "a"), (3, "b"))


@pytest.fixture
def budget(tmp_path: Path) -> ln.Budget:
    return ln.Budget.open(tmp_path / "city.ledger", epsilon=3, delta=1e-6)


def open_series(path: Path, **more: Any) -> ln.Series:
    return ln.Series.open(path / "visits.series", **{"periods": 4, "epsilon": 1, "delta": 1e-6, **more})


def test_a_series_is_paid_once(tmp_path: Path, budget: ln.Budget) -> None:
    series = ln.Series.open(tmp_path / "s", periods=4, budget=budget, share=0.5)
    for _ in range(4):
        series.publish(visits(WEEK))
    assert len(budget.history()) == 1
    assert budget.remaining.share == pytest.approx(0.5)
    with pytest.raises(errors.BudgetExhausted):
        series.publish(visits(WEEK))


def test_a_period_is_answered_once(tmp_path: Path) -> None:
    series = open_series(tmp_path)
    first = series.publish(visits(WEEK), period="2026-W01")
    other = series.publish(visits(rows((9, "b"))), period="2026-W01")
    assert first["period"].id == other["period"].id
    assert (first["period"].values == other["period"].values).all()
    assert series.published == 1
    assert ln.Series.open(series.folder, epsilon=1, delta=1e-6).publish(visits(WEEK), period="2026-W02").number == 2


def test_sums_are_those_of_the_noisy_integers(tmp_path: Path) -> None:
    """Recomputed from the public files alone, in doubles."""
    series = open_series(tmp_path, sums=["period", "to date", "last 2"], max_periods=1)
    weeks = [rows(*((10 * t + who, "ab"[who % 2]) for who in range(5 + t))) for t in range(4)]
    releases = [series.publish(visits(week)) for week in weeks]
    noisy = np.array([integers(series, t, "noisy") for t in range(1, 5)])
    periods = np.linalg.solve(series.strategy.matrix, noisy)
    for t, each in enumerate(releases):
        assert each["period"].values == pytest.approx(np.rint(periods[t]))
        assert each["to date"].values == pytest.approx(np.rint(periods[: t + 1].sum(axis=0)))
        assert each["last 2"].values == pytest.approx(np.rint(periods[max(0, t - 1) : t + 1].sum(axis=0)))


def test_the_exact_integers_are_counts(tmp_path: Path) -> None:
    series = open_series(tmp_path)
    for week in (WEEK, rows((1, "b"), (1, "b"), (1, "b"), (4, "a"))):
        series.publish(visits(week))
    assert integers(series, 1).tolist() == [2, 1]
    assert integers(series, 2).tolist() == [1, 2]


def test_rows_count_in_the_first_periods_of_a_unit(tmp_path: Path) -> None:
    series = open_series(tmp_path, max_periods=2)
    weeks = [rows((1, "a")), rows((2, "a")), rows((1, "a"), (2, "a")), rows((1, "a"), (2, "a"), (3, "b"))]
    for week in weeks:
        last = series.publish(visits(week))
    assert [integers(series, t).tolist() for t in range(1, 5)] == [[1, 0], [1, 0], [2, 0], [0, 1]]
    assert "after the first 2 periods" in last["period"].explain()


def test_a_row_that_no_question_counts_is_no_period(tmp_path: Path) -> None:
    """Rows outside the keys, or that fail the condition, take none of a unit's periods."""
    series = open_series(tmp_path, max_periods=1)
    for week in (rows((1, "elsewhere")), rows((1, "a")), rows((1, "a"))):
        series.publish(visits(week))
    assert [integers(series, t).tolist() for t in (1, 2, 3)] == [[0, 0], [1, 0], [0, 0]]


@pytest.mark.parametrize("kind", ["crosstabs", "summarize", "count", "sum"])
def test_other_questions(tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame({"person": range(40), "place": ["a", "b"] * 20, "sex": ["f", "m", "m", "f"] * 10, "fare": 2.0})
    table = ln.table(frame, unit="person", name="visits")
    query = {
        "crosstabs": lambda: table.crosstabs(ways=2, keys={"place": KEYS, "sex": ["f", "m"]}, max_rows=1),
        "summarize": lambda: table.summarize("place", keys=KEYS, fare=ln.stats.mean("fare", clip=(0, 4)), max_rows=1),
        "count": lambda: table.count(max_rows=1),
        "sum": lambda: table.sum("fare", clip=(0, 4), max_rows=1),
    }[kind]()
    series = open_series(tmp_path, epsilon=500)
    last = [series.publish(query) for _ in range(3)][-1]
    loaded = ln.load(series.folder / "releases" / "0003-to-date.parquet")
    assert loaded.id == last["to date"].id
    expected = {"crosstabs": 120, "count": 120, "sum": 240}
    if kind == "crosstabs":
        assert last["to date"][()].values == pytest.approx(120, abs=3)
    elif kind == "summarize":
        assert last["to date"]["fare"].values == pytest.approx([2, 2], abs=0.1)
    else:
        assert last["to date"].values == pytest.approx(expected[kind], abs=6)


def test_intervals_cover(tmp_path: Path) -> None:
    """Of all sums at all times: 2,000 independent cells of twelve intervals each at 95%. Whatever the twelve have in
    common, their mean is below 92% with a chance of at most exp(-2000 KL(.92, .95)) < 1e-6 (Chernoff); seeded."""
    frame = pd.DataFrame({"person": range(2000), "place": range(2000)})
    query = ln.table(frame, unit="person", name="v").histogram("place", keys=range(2000), max_rows=1)
    series = open_series(tmp_path, sums=["period", "to date", "last 2"], max_periods=1)
    truth = {"period": [1, 0, 0, 0], "to date": [1, 1, 1, 1], "last 2": [1, 1, 0, 0]}  # who came counts once
    covered = []
    with seeded(5):
        for t in range(4):
            for name, each in series.publish(query, allow_seeded=True).items():
                low, high = each.interval(0.95)
                covered.append((low <= truth[name][t]) & (truth[name][t] <= high))
    assert 0.92 < np.mean(covered) < 0.98


people = st.lists(st.tuples(st.integers(1, 3), st.sampled_from(KEYS)), max_size=6)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stream=st.lists(people, min_size=4, max_size=4), k=st.integers(1, 4))
def test_no_unit_costs_more_than_was_paid(
    tmp_path_factory: pytest.TempPathFactory, stream: list[list[tuple[int, str]]], k: int
) -> None:
    """Neighbouring streams: without person 1 the integers that get noise move by at most mu, in units of the noise."""
    exact = []
    for without in (False, True):
        series = open_series(tmp_path_factory.mktemp("stream"), max_periods=k)
        for week in stream:
            series.publish(visits(rows((0, "a"), *(row for row in week if not (without and row[0] == 1)))))
        exact.append(np.array([integers(series, t) for t in range(1, 5)]))
    assert series.terms.paid is not None
    assert series.terms.paid.guarantee <= (1 + 1e-12) / ln.sigma(epsilon=1, delta=1e-6)
    (_, scale), *_ = series.terms.paid.scales
    moved = series.strategy.matrix @ (exact[0] - exact[1])
    assert (moved**2).sum() / (scale * series.strategy.step) ** 2 <= series.terms.paid.guarantee**2 * (1 + 1e-12)


STEPS = ["_write_paid", "_pay", "_measure", "_draw", "_releases"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("period", "step"), [(1, step) for step in STEPS] + [(2, step) for step in STEPS[1:]])
def test_a_run_that_ended_early_goes_on(
    tmp_path: Path, budget: ln.Budget, monkeypatch: pytest.MonkeyPatch, step: str, period: int, after: bool
) -> None:
    """Stopped before or after any step: the next run pays nothing twice, reads no period twice and loses none."""
    series = ln.Series.open(tmp_path / "s", periods=4, budget=budget, share=0.5)
    for t in range(1, period):
        series.publish(visits(WEEK), period=str(t))
    own = getattr(ln.Series, step)

    def stopped(self: ln.Series, *args: Any, **options: Any) -> Any:
        if after:
            own(self, *args, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module.Series, step, stopped)
        with pytest.raises(KeyboardInterrupt):
            series.publish(visits(WEEK), period=str(period))
    before = {path.name: path.read_bytes() for path in (series.folder / "numbers").iterdir()}
    again = ln.Series.open(tmp_path / "s", budget=budget, share=0.5)
    made = again.publish(visits(WEEK), period=str(period))
    assert made.number == period
    assert len(budget.history()) == 1
    for name, written in before.items():
        assert (series.folder / "numbers" / name).read_bytes() == written
    assert again.publish(visits(WEEK), period=str(period + 1)).number == period + 1


def test_the_debit_comes_first(tmp_path: Path, budget: ln.Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debit, then rows, then noise."""
    events: list[str] = []

    def noted(name: str, own: Any) -> Any:
        def called(*args: Any, **options: Any) -> Any:
            events.append(name)
            return own(*args, **options)

        return called

    monkeypatch.setattr(type(budget), "_debit", noted("debit", type(budget)._debit))
    monkeypatch.setattr(loop, "read_rows", noted("read", loop.read_rows))
    monkeypatch.setattr(loop, "with_noise", noted("noise", loop.with_noise))
    series = ln.Series.open(tmp_path / "s", periods=2, budget=budget, share=0.5)
    series.publish(visits(WEEK))
    series.publish(visits(WEEK))
    assert events == ["debit", "read", "noise", "read", "noise"]


def test_another_question_is_refused(tmp_path: Path) -> None:
    series = open_series(tmp_path)
    series.publish(visits(WEEK))
    with pytest.raises(errors.BudgetMismatch):
        series.publish(visits(WEEK, max_rows=1))


def test_another_budget_pays_for_nothing_once_rows_were_read(tmp_path: Path, budget: ln.Budget) -> None:
    """A second payment would change the noise of the periods that follow."""
    series = ln.Series.open(tmp_path / "s", periods=4, budget=budget, share=0.5)
    series.publish(visits(WEEK))
    open_series(tmp_path).publish(visits(WEEK))
    other = ln.Budget.open(tmp_path / "other.ledger", epsilon=1, delta=1e-6)
    for folder in (tmp_path / "s", tmp_path / "visits.series"):
        written = (folder / "series.json").read_bytes()
        with pytest.raises(errors.BudgetMismatch):
            ln.Series.open(folder, budget=other, share=1).publish(visits(WEEK))
        assert (folder / "series.json").read_bytes() == written
    assert other.history() == []


def test_edited_terms_are_refused(tmp_path: Path) -> None:
    series = open_series(tmp_path)
    series.publish(visits(WEEK))
    path = series.folder / "series.json"
    (_, scale), *_ = series.terms.paid.scales  # type: ignore[union-attr]
    path.write_text(path.read_text().replace(repr(scale), repr(scale / 2)))
    with pytest.raises(errors.NotOurs):
        ln.Series.open(series.folder, epsilon=1, delta=1e-6).publish(visits(WEEK))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"leastnoise series": 1}', '{"leastnoise series": 2}'])
def test_damaged_terms_are_refused(tmp_path: Path, text: str) -> None:
    series = open_series(tmp_path)
    (series.folder / "series.json").write_text(text)
    with pytest.raises(errors.NotOurs):
        ln.Series.open(series.folder)


def test_refusals_before_anything_is_paid(tmp_path: Path, budget: ln.Budget) -> None:
    series = ln.Series.open(tmp_path / "s", periods=4, budget=budget, share=0.5)
    table = ln.table(WEEK, unit="person", name="visits")
    replaced = ln.table(WEEK, unit="person", name="visits", neighbours="replace")
    for query in (
        table.histogram("place", max_rows=1),  # unknown keys
        replaced.histogram("place", keys=KEYS, max_rows=1),
    ):
        with pytest.raises(errors.InvalidParameter):
            series.publish(query)
    with pytest.raises(errors.BadOutput):
        ln.Series.open(tmp_path / "s", periods=4)
    with pytest.raises(errors.NoSuchFile):
        ln.Series.open(tmp_path / "nothing")
    assert budget.history() == []
    assert series.published == 0


def test_private_numbers_are_for_their_owner_alone(tmp_path: Path) -> None:
    series = open_series(tmp_path)
    assert stat.S_IMODE(os.stat(series.folder / "private").st_mode) == 0o700


def test_nobody_else_publishes_meanwhile(tmp_path: Path) -> None:
    series = open_series(tmp_path)
    with series._alone(), pytest.raises(errors.FileProblem):
        series.publish(visits(WEEK))


def test_seeded_noise_is_not_published(tmp_path: Path) -> None:
    series = open_series(tmp_path)
    with seeded(1), pytest.raises(errors.SeededRelease):
        series.publish(visits(WEEK))
    assert series.published == 0


def test_what_to_expect(tmp_path: Path) -> None:
    """Of one row per period and unit, the noise is that of the strategy; free, and the same as is then drawn."""
    series = open_series(tmp_path, max_periods=1)
    query = visits(WEEK, max_rows=1)
    expected = series.expect(query)
    made = [series.publish(query) for _ in range(4)]
    assert expected.one * expected.sums["to date"][1] == pytest.approx(made[3]["to date"].noise.std, rel=3e-3)
    assert expected.one * expected.sums["period"][0] == pytest.approx(made[0]["period"].noise.std, rel=3e-3)
    assert expected.one == pytest.approx(ln.sigma(epsilon=1, delta=1e-6), rel=3e-3)
    assert "if each period had noise of its own" in str(expected)
