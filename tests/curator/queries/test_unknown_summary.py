"""Statistics of keys that nobody listed: exact integers, thresholds that keep the promise, intervals that hold."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import leastnoise as ln
from drawing import shown
from leastnoise import errors, testing
from leastnoise.curator.queries.unknown_keys import UnknownKeys
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy import thresholds
from leastnoise.privacy.sensitivity import Limits
from leastnoise.privacy.unit_cost import BinComponents
from leastnoise.releases.measured import ROWS
from leastnoise.releases.summary import SummaryRelease
from leastnoise.testing import seeded

STATS: dict[str, Any] = {
    "trips": ln.stats.count(),
    "fares": ln.stats.sum("fare", clip=(0, 50)),
    "fare": ln.stats.mean("fare", clip=(0, 50)),
    "long": ln.stats.rate("fare > 20"),
    "per_mile": ln.stats.ratio("fare", "miles", clip=(0, 50), over_clip=(0, 20)),
}


def frame(rows: int = 3000, units: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    made = pd.DataFrame(
        {
            "taxi": rng.integers(0, units, rows),
            "zone": [f"z{rank}" for rank in rng.zipf(1.7, rows)],
            "fare": rng.gamma(2.0, 8.0, rows).round(),
        }
    )
    made.loc[rng.random(rows) < 0.1, "fare"] = np.nan
    made["miles"] = np.where(rng.random(rows) < 0.1, np.nan, rng.gamma(2.0, 3.0, rows).round())
    return made


def asked(data: pd.DataFrame, *, neighbours: str = "add-remove", **options: Any) -> UnknownKeys:
    given = {"max_rows": 2, "max_per_bin": 1, **STATS, **options}
    query = ln.table(data, unit="taxi", neighbours=neighbours).summarize("zone", **given)
    assert isinstance(query, UnknownKeys)
    return query


def test_the_integers_are_those_of_pandas() -> None:
    data = frame()
    query = asked(data, max_rows=10_000, max_per_bin=10_000)
    found = testing.aggregate(query)
    groups = data.groupby("zone")
    assert list(found.keys or ()) == sorted(groups.groups)
    whole = dict(zip([part.name for part in query.parts], found.values.reshape(len(query.parts), -1), strict=True))
    np.testing.assert_array_equal(whole[ROWS], groups.size())
    step = query.asked.columns[0].grid
    sums = data["fare"].clip(0, 50).groupby(data["zone"]).sum() / step
    np.testing.assert_array_equal(whole["plain 0"], sums)
    np.testing.assert_array_equal(whole["missing 0"], data["fare"].isna().groupby(data["zone"]).sum())
    both = data["fare"].clip(0, 50).where(data["miles"].notna()).groupby(data["zone"]).sum() / step
    np.testing.assert_array_equal(whole["plain 0 with 2"], both)
    assert (whole["plain 0 with 2"] < whole["plain 0"]).any()


@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_a_sum_or_a_mean_without_keys_is_a_summary_of_one_statistic(kind: str, tmp_path: Any) -> None:
    rows, limits = ln.table(frame(), unit="taxi"), {"max_rows": 2, "max_per_bin": 1}
    query = getattr(rows, kind)("fare", by="zone", clip=(0, 50), **limits)
    same = rows.summarize("zone", **limits, **{kind: getattr(ln.stats, kind)("fare", clip=(0, 50))})
    assert isinstance(query, UnknownKeys)
    np.testing.assert_array_equal(testing.aggregate(query).values, testing.aggregate(same).values)
    assert query.expect(epsilon=1, delta=1e-6).threshold == same.expect(epsilon=1, delta=1e-6).threshold
    with pytest.raises(errors.LeastnoiseError, match="delta"):
        query.release(epsilon=1)
    with seeded(3):
        made = query.release(epsilon=3, delta=1e-4)
    assert list(made) == [kind]
    shown = made.to_pandas().set_index("zone")
    truth = frame().assign(fare=lambda data: data["fare"].clip(0, 50)).groupby("zone")["fare"].agg(kind)
    assert "z1" in shown.index
    assert set(shown.index) <= set(truth.index)  # a key that nobody has cannot show
    low, high = made.interval(1 - 1e-9)[kind]
    assert (low < high).all()
    made.save(tmp_path / "made.parquet", allow_seeded=True)
    loaded = ln.load(tmp_path / "made.parquet")
    np.testing.assert_array_equal(loaded[kind].values, made[kind].values)


@pytest.mark.parametrize("limits", [{"max_rows": 3}, {"max_rows": 3, "max_per_bin": 1}, {"max_rows": 6, "max_bins": 2}])
def test_the_limits_hold_and_the_order_decides_nothing(limits: dict[str, int]) -> None:
    data = frame(300, units=10)
    query = asked(data, **{"max_per_bin": None, **limits})
    first = testing.aggregate(query)
    again = testing.aggregate(asked(data.sample(frac=1, random_state=3), **{"max_per_bin": None, **limits}))
    assert first.keys == again.keys
    np.testing.assert_array_equal(first.values, again.values)
    without = testing.aggregate(asked(data[data["taxi"] != 4], **{"max_per_bin": None, **limits}))
    before, after = (dict(zip(one.keys or (), one.values, strict=False)) for one in (first, without))
    moved = [abs(int(before.get(key, 0)) - int(after.get(key, 0))) for key in {*before, *after}]
    assert 0 < sum(moved) <= limits["max_rows"]
    assert max(moved) <= limits.get("max_per_bin", 99)
    assert sum(m > 0 for m in moved) <= limits.get("max_bins", 99)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_all_parts_together_cost_what_one_count_of_that_noise_does(neighbours: Any, mechanism: Any) -> None:
    query = asked(frame(), neighbours=neighbours)
    decided = query.decide(PrivacyRequest(epsilon=1, delta=1e-6, mechanism=mechanism))
    plan = decided.charge.plan
    cut, scales = plan.cut, plan.scales
    together = BinComponents(query.parts, query.limits, 99, neighbours)
    sides = 2 if neighbours == "replace" else 1
    if cut.mechanism == "gaussian":
        most = sides * query.limits.squared_norm / Fraction(cut.sigma) ** 2
        cost = together.mu_squared(scales)
        assert scales[ROWS] == cut.sigma * query._division.inflation.gaussian
    else:
        most = sides * query.limits.max_rows / Fraction(cut.scale)
        cost = together.epsilon(scales)
        shown = thresholds.chance_shown(
            limits=query.limits, scale=scales[ROWS], at_least=cut.at_least, mechanism="laplace"
        )
        assert shown <= 1e-6
    assert most * (1 - Fraction(1, 10**9)) <= cost <= most


def test_the_true_delta_of_a_count_and_a_sum_is_at_most_delta() -> None:
    """Every outcome added up: a key of one person's own with (rows, sum), a shared key, and both."""
    query = ln.table(frame(), unit="taxi").summarize(
        "zone", max_rows=2, max_per_bin=1, fares=ln.stats.sum("fare", clip=(0, 1))
    )
    assert isinstance(query, UnknownKeys)
    assert [part.name for part in query.parts] == [ROWS, "plain 0"]
    largest = query.parts[1].largest
    for epsilon, delta in ((1.0, 1e-3), (0.5, 0.02)):
        decided = query.decide(PrivacyRequest(epsilon=epsilon, delta=delta, mechanism="laplace"))
        plan = decided.charge.plan
        cut, scales = plan.cut, plan.scales
        rows, sums = scales[ROWS], scales["plain 0"] / largest
        size = cut.at_least + 30
        worst = 0.0
        for mine in itertools.product([0, 1], repeat=2):  # rows in the person's own key, and in a shared one
            own, shared = mine
            p = _joint(own, own, rows, sums, cut.at_least, size, exists=own > 0)
            q = _joint(0, 0, rows, sums, cut.at_least, size, exists=False)
            base = cut.at_least + 2
            p2 = _joint(base + shared, 40 + shared, rows, sums, cut.at_least, size, exists=True)
            q2 = _joint(base, 40, rows, sums, cut.at_least, size, exists=True)
            for one, other, two, three in ((p, q, p2, q2), (q, p, q2, p2)):
                joint, reverse = np.multiply.outer(one, two), np.multiply.outer(other, three)
                worst = max(worst, float(np.maximum(joint - math.exp(epsilon) * reverse, 0).sum()))
        assert 0 < worst <= delta * (1 + 1e-9)


def _joint(rows: int, total: int, b_rows: float, b_sum: float, cut: int, size: int, *, exists: bool) -> Any:
    """Hidden, or (noisy rows, noisy sum in steps of ten), as one vector. Sums are cut to coarse intervals: what is
    computed from an outcome tells no more than it does."""
    if not exists:
        return np.array([1.0] + [0.0] * (size - cut) * 9)
    above = _above(np.arange(cut, size + 1) - rows, b_rows)
    values = above[:-1] - above[1:]
    values[-1] += above[-1]
    edges = np.concatenate([[-np.inf], np.arange(-20, 60, 10) + 40.0, [np.inf]]) - total
    sums = -np.diff(_laplace_above(edges, b_sum))
    return np.concatenate([[1 - above[0]], np.multiply.outer(values, sums).ravel()])


def _above(k: Any, b: float) -> Any:
    q = math.exp(-1 / b)
    return np.where(k >= 1, q ** np.maximum(k, 1) / (1 + q), 1 - q ** (1 - np.minimum(k, 0)) / (1 + q))


def _laplace_above(x: Any, b: float) -> Any:
    return np.where(x > 0, 0.5 * np.exp(-np.maximum(x, 0) / b), 1 - 0.5 * np.exp(np.minimum(x, 0) / b))


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_intervals_hold_given_that_the_key_shows(mechanism: Any) -> None:
    """Keys around the threshold, drawn many times: of those that show at least 95 % of the intervals hold."""
    query = ln.table(frame(), unit="taxi").summarize("zone", max_rows=1, **STATS)
    assert isinstance(query, UnknownKeys)
    decided = query.decide(PrivacyRequest(epsilon=1, delta=1e-6, mechanism=mechanism))
    plan = decided.charge.plan
    cut = plan.cut
    columns = query.asked.columns
    fares, long = columns[0], columns[1]
    for count in (cut.at_least - 6, cut.at_least + 1, cut.at_least + 60):
        draws = 20_000
        values = np.full(count - 2, round(12 / fares.grid))  # two rows have no fare
        exact = {
            ROWS: count,
            "plain 0": values.sum(),
            "sum 0": (2 * values - fares.lowest - fares.highest).sum(),
            "missing 0": 2,
            "sum 1": -(count - 2),
            "missing 1": 2,
            "plain 0 with 2": values.sum(),
            "plain 2 with 0": round(3 / columns[2].grid) * len(values),
        }
        with seeded(7):
            whole = {part.name: np.full(draws, exact[part.name], dtype=np.int64) for part in query.parts}
            made = shown(query, plan, whole, range(draws))
        truth = {"trips": count, "fares": values.sum() * fares.grid, "fare": 12.0, "long": 0.0, "per_mile": 4.0}
        assert long.half_range == 0.5
        for name, value in truth.items():
            low, high = made[name].interval(0.95)
            held = float(((low <= value) & (value <= high)).mean())
            print(f"{mechanism}, {count} rows: {made.bins} show, {name} {100 * held:.2f} %")
            assert held >= 0.95 - 5 * math.sqrt(0.0475 / max(made.bins, 1))


def test_large_keys_show_with_all_statistics(tmp_path: Any) -> None:
    data = frame()
    with seeded(2):
        made = asked(data).release(epsilon=1, delta=1e-6)
    assert isinstance(made, SummaryRelease)
    assert "z1" in made.to_pandas()["zone"].tolist()
    assert 0 < made.bins < data["zone"].nunique()
    assert made.threshold is not None
    assert (made["trips"].values >= made.threshold).all()
    assert "not listed" in made.explain()
    made.save(tmp_path / "zones.parquet", allow_seeded=True)
    again = ln.load(tmp_path / "zones.parquet")
    pd.testing.assert_frame_equal(again.to_pandas(), made.to_pandas())
    made.report(tmp_path / "zones.html", allow_seeded=True)
    with pytest.raises(errors.InvalidParameter, match="summary"):
        made["fare"].save(tmp_path / "fare.parquet", allow_seeded=True)


@pytest.mark.parametrize("summary", [True, False])
def test_keys_that_only_unsigned_integers_hold_are_saved(summary: bool, tmp_path: Any) -> None:
    """What is paid for can be kept, whichever keys show."""
    keys = [2**64 - 1, 5, None] * 200
    rows = pa.table({"who": range(600), "zone": pa.array(keys, pa.uint64())})
    t = ln.table(rows, unit="who")
    query = (
        t.summarize("zone", n=ln.stats.count(), max_rows=1, nulls="bin")
        if summary
        else t.histogram("zone", max_rows=1, nulls="bin")
    )
    with seeded(3):
        made = query.release(epsilon=1, delta=1e-6)
    made.save(tmp_path / "zones.parquet", allow_seeded=True)
    again = ln.load(tmp_path / "zones.parquet")
    assert again.domain == made.domain
    assert set(made.to_pandas()["zone"].dropna()) == {5, 2**64 - 1}


def test_nothing_shows_of_an_empty_table() -> None:
    made = asked(frame().iloc[:0]).release(epsilon=1, delta=1e-6)
    assert made.bins == 0
    assert made.to_pandas().shape[0] == 0
    assert "released together" in made.explain()
    assert str(made)


def test_what_to_expect_says_threshold_and_a_budget_pays_twice(tmp_path: Any) -> None:
    query = asked(frame())
    expected = query.expect(epsilon=1, delta=1e-6)
    made = query.release(epsilon=1, delta=1e-6)
    assert isinstance(made, SummaryRelease)
    assert expected.threshold == made.threshold  # type: ignore[union-attr]
    assert expected.std == pytest.approx(made["trips"].std)  # type: ignore[union-attr]
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=2, delta=1e-5, threshold_delta=5e-6)
    for mechanism in ("auto", "laplace"):
        query.release(budget=budget, share=0.1, mechanism=mechanism)  # type: ignore[arg-type]
        query.release(budget=budget, epsilon=0.2, delta=1e-7, mechanism=mechanism)  # type: ignore[arg-type]
    assert len(budget.history()) == 4
    plain = ln.Budget.open(tmp_path / "c.ledger", epsilon=2, delta=1e-5)
    with pytest.raises(errors.BudgetMismatch, match="threshold_delta"):
        query.release(budget=plain, share=0.1)


def test_what_has_no_interval_given_that_it_shows_is_refused() -> None:
    for bad in (ln.stats.std("fare", clip=(0, 9)), ln.stats.share()):
        with pytest.raises(errors.InvalidParameter, match="List the keys"):
            asked(frame(), bad=bad)


def test_a_key_of_one_person_shows_no_more_often_than_promised() -> None:
    """delta = 0.01, 50,000 keys with one row each: more than 640 that show has a chance below 1e-8."""
    query = ln.table(frame(), unit="taxi").summarize("zone", max_rows=1, fares=ln.stats.sum("fare", clip=(0, 50)))
    assert isinstance(query, UnknownKeys)
    for mechanism in ("gaussian", "laplace"):
        decided = query.decide(PrivacyRequest(epsilon=1, delta=0.01, mechanism=mechanism))  # type: ignore[arg-type]
        with seeded(9):
            ones = np.ones(50_000, dtype=np.int64)
            made = shown(query, decided.charge.plan, {part.name: ones for part in query.parts}, range(50_000))
        assert 0 < made.bins <= 640
    assert query.limits == Limits.of(max_rows=1, bins=None)
