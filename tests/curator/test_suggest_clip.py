"""`suggest_clip`: two private quantiles as ends, the rows beyond them, and what those can do to a mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.stats import binom

import leastnoise as ln
from drawing import drawer
from leastnoise import errors
from leastnoise.curator import release as loop
from leastnoise.curator.queries.suggestions import ClipQuestion
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.table import Table
from leastnoise.domain import Steps
from leastnoise.domain.round_numbers import step_weights
from leastnoise.privacy.rank_noise import RankPlan
from leastnoise.releases.clip_suggestion import ClipSuggestion, Part, rounded_outwards
from leastnoise.testing import seeded

ASK: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
WITHIN = (0, 200)
FALSE_ALARM = 1e-6


def fares(rows: int = 20_000) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).gamma(2, 9, rows)


def table_of(values: Any, **columns: Any) -> Table:
    frame = pd.DataFrame({"person": np.arange(len(values)), "fare": values, **columns})
    return ln.table(frame, unit="person", name="trips")


@pytest.fixture(scope="module")
def trips() -> Table:
    return table_of(fares())


def suggested(table: Table, seed: int = 1, **asked: Any) -> ClipSuggestion:
    with seeded(seed):
        return table.suggest_clip("fare", **{"within": WITHIN, "max_rows": 1, **ASK, **asked})


def draws(table: Table, number: int, *, epsilon: float) -> list[ClipSuggestion]:
    """So many suggestions, of rows that are read once."""
    question = ClipQuestion.asked(table._data, "fare", within=WITHIN, max_rows=1)
    draw = drawer(question, epsilon=epsilon, delta=1e-6)
    with seeded(7):
        return [draw() for _ in range(number)]


def test_the_ends_are_near_the_quantiles(trips: Table) -> None:
    low, high = suggested(trips).clip
    assert np.mean(fares() < low) == pytest.approx(0.005, abs=0.004)
    assert np.mean(fares() > high) == pytest.approx(0.005, abs=0.004)


@pytest.mark.parametrize(("epsilon", "rows"), [(0.3, 2000), (2, 20_000)])
def test_what_is_said_of_the_rows_beyond_holds_as_often_as_promised(epsilon: float, rows: int) -> None:
    """150 draws, of little noise and of much: a statement may fail in 5 % of them, and a false alarm has chance 1e-6.
    Intervals of half the width would fail in over a quarter of them, and be found out nearly always."""
    values, missed = fares(rows), np.zeros(2)
    for found in draws(table_of(values), 150, epsilon=epsilon):
        (low, high), (below, above) = found.clip, found.beyond
        inside = [below.low <= np.mean(values < low) <= below.high, above.low <= np.mean(values > high) <= above.high]
        moved, shift = values.mean() - np.clip(values, low, high).mean(), found.mean_shift()
        missed += [not all(inside), not shift.low <= moved <= shift.high]
    assert missed.max() <= binom.isf(FALSE_ALARM, 150, 0.05)


def test_a_group_may_have_every_row_beyond(trips: Table) -> None:
    """The largest twentieth of the fares is a group of its own: all rows beyond the upper end are in it, and the shift
    of the mean of all rows would be twenty times too small."""
    values = np.sort(fares())
    group, missed = values[-1000:], np.zeros(2)
    for found in draws(trips, 100, epsilon=1):
        moved = group.mean() - np.clip(group, *found.clip).mean()
        shift, of_all = found.mean_shift(rows=[group.size]), found.mean_shift()
        missed += [not shift.low[0] <= moved <= shift.high[0], not of_all.low <= moved <= of_all.high]
    assert missed[0] <= binom.isf(FALSE_ALARM, 100, 0.05) < missed[1]


def test_with_hardly_any_noise_the_three_counts_are_exact(trips: Table) -> None:
    values, found = fares(), suggested(trips, epsilon=3000, delta=0)
    low, high = found.clip
    exact = [np.sum(values < low), np.sum((values >= low) & (values <= high)), np.sum(values > high)]
    assert np.abs(found.counts.values - exact).max() <= 1


def test_quantiles_and_counts_together_cost_what_is_promised(trips: Table, tmp_path: Path) -> None:
    """epsilon: 3/4 of it for ranks, the rest for Laplace noise on a unit's four rows; a share of a budget: in mu^2."""
    question = ClipQuestion.asked(trips._data, "fare", within=WITHIN, max_rows=4)
    noise = question.decide(PrivacyRequest(epsilon=1, delta=0)).charge.plan
    assert isinstance(noise, RankPlan)
    assert noise.counts is not None
    spent = float(question.ranks.epsilon(noise.rates.rate)) + 4 / noise.counts.scale
    assert 1 - 1e-6 < spent <= 1
    budget = ln.Budget.open(tmp_path / "city.ledger", **ASK, unit="person", table="trips")
    noise = question.decide(PrivacyRequest(budget=budget, share=0.05)).charge.plan
    assert isinstance(noise, RankPlan)
    allowed = 0.05 / ln.sigma(epsilon=1, delta=1e-6, sensitivity=1) ** 2
    assert (1 - 1e-6) * allowed < float(question.ranks.price(noise)) <= allowed * (1 + 1e-9)


def test_a_level_of_zero_keeps_the_public_end(trips: Table) -> None:
    found = suggested(trips, levels=(0, 0.99))
    assert found.clip[0] == WITHIN[0]
    assert found.beyond.below == Part(0, 0, 0)
    assert found.mean_shift().low == 0
    assert "Rows below it: none" in found.explain()
    other = suggested(trips, levels=(0.01, 1))
    assert other.clip[1] == WITHIN[1]
    assert other.mean_shift().high == 0


def test_a_column_of_one_value_keeps_the_public_ends() -> None:
    found = suggested(table_of(np.full(5000, 7.0)), epsilon=50)
    assert found.clip == WITHIN
    assert found.beyond == (Part(0, 0, 0), Part(0, 0, 0))
    made: Any = table_of(np.full(5000, 7.0)).mean("fare", clip=found.clip, max_rows=1)
    assert made.clip.low == 0


@given(some.integers(0, 2**20 - 2), some.integers(1, 2**20), some.sampled_from([(0, 200), (-3, 7), (0, 1), (-1e6, 0)]))
def test_rounded_ends_are_never_inside(first: int, more: int, ends: tuple[float, float]) -> None:
    steps = Steps(low=float(ends[0]), high=float(ends[1]), bins=2**20)
    last = min(first + more, 2**20 - 1)
    low, high = rounded_outwards(steps, first, last)
    assert low is not None
    assert high is not None
    assert 0 <= low <= first
    assert last <= high < 2**20
    values = step_weights(steps).values
    width = values[last] - values[first]
    assert values[high] - values[low] <= 1.021 * width + 4 * (steps.high - steps.low) / 2**20


def test_it_is_debited_named_and_taken_as_a_clip(trips: Table, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "city.ledger", **ASK, unit="person", table="trips")
    found = suggested(trips, epsilon=None, delta=None, budget=budget, share=0.05, note="where to clip")
    assert budget.remaining.share == pytest.approx(0.95)
    (entry,) = [entry for entry in budget.history() if entry.release == found.id]
    assert "a clip of fare, from its quantiles 0.005, 0.995" in entry.query
    with seeded(2):
        made = trips.mean("fare", clip=found.clip, max_rows=1).release(**ASK)
    assert f"(a clip that release {found.id} proposed)" in made.explain()
    low, high = found.clip
    with seeded(2):
        made = trips.mean("fare", clip=(low, high + 1), max_rows=1).release(**ASK)
    assert "proposed" not in made.explain()


def test_no_row_is_read_before_it_is_paid(trips: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = ln.Budget.open(tmp_path / "city.ledger", **ASK, unit="person", table="trips")
    monkeypatch.setattr(loop, "read_rows", lambda query, work, receipt: (_ for _ in ()).throw(RuntimeError(receipt.id)))
    with pytest.raises(RuntimeError):
        trips.suggest_clip("fare", within=WITHIN, max_rows=1, budget=budget, share=0.05)
    assert budget.remaining.share == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"within": (5, 5)}, errors.InvalidParameter, "within must be"),
        ({"within": 5}, errors.WrongType, "within must be"),
        ({"within": (0, np.inf)}, errors.InvalidParameter, "within must be"),
        ({"levels": (0, 1)}, errors.InvalidParameter, "levels must rise"),
        ({"levels": (0.9, 0.1)}, errors.InvalidParameter, "levels must rise"),
        ({"levels": 0.5}, errors.WrongType, "levels must be a pair"),
        ({"levels": (0.1, "0.9")}, errors.WrongType, "levels must be a pair"),
        ({"max_rows": None}, errors.ContributionUnbounded, "max_rows"),
        ({"column": "nothing"}, errors.UnknownColumn, "nothing"),
        ({"column": "name"}, errors.LeastnoiseError, "name"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_paid(
    tmp_path: Path, given: dict[str, Any], error: type[Exception], words: str
) -> None:
    table = table_of([1.0, 2.0], name=["a", "b"])
    budget = ln.Budget.open(tmp_path / "city.ledger", **ASK, unit="person", table="trips")
    asked = {"within": WITHIN, "max_rows": 1, **given}
    with pytest.raises(error, match=words):
        table.suggest_clip(asked.pop("column", "fare"), budget=budget, share=0.05, **asked)
    assert budget.remaining.share == 1


@pytest.mark.parametrize("rows", [[], [np.nan, np.nan], [np.inf, -np.inf, 3.0], [1e300]])
def test_whatever_the_values_are_there_is_a_clip_within_the_public_ends(rows: list[float]) -> None:
    for seed in range(5):
        low, high = suggested(table_of(np.array(rows, dtype=float)), seed).clip
        assert WITHIN[0] <= low < high <= WITHIN[1]


def test_a_table_of_one_row_per_unit_needs_no_limit(trips: Table) -> None:
    units = trips.per_unit(spent=ln.stats.sum("fare", grid=0.01))
    with seeded(3):
        found = units.suggest_clip("spent", within=WITHIN, **ASK)
    assert 0 <= found.clip[0] < found.clip[1] <= 200


def test_a_clip_keeps_rows_by_a_hash_of_its_own(trips: Table) -> None:
    """Not by that of the quantiles it is made of: which rows are kept changes with no release of ours."""
    asked = ClipQuestion.asked(trips._data, "fare", within=(0, 200), max_rows=2)
    assert asked.kind == "clip"
    assert asked._salt_facts()["kind"] == "clip"
