"""Quantiles: near, rising with the level, inside intervals that cover, and asked for without mistakes."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import binom

import leastnoise as ln
from drawing import drawer
from leastnoise import errors
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.queries.quantile import Quantile
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.table import Table
from leastnoise.privacy.guarantees import GaussianDP, PureDP
from leastnoise.releases import file_format
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.quantile_readings import HistogramQuantiles, strategy_to_text
from leastnoise.testing import seeded
from leastnoise.workload.optimal_weights import OrderedQuestions
from leastnoise.workload.ordered import BITS, IntegerStrategy, OrderedColumn
from queries_of_every_kind import ASK, WARDS

MECHANISMS = ("exponential", "gaussian", "laplace")


def adults(data: Path) -> Table:
    frame = pd.read_parquet(data / "tables" / "adult.parquet")
    return ln.table(frame.assign(who=np.arange(len(frame))), unit="who")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_quantiles_are_near_rise_and_lie_inside_their_intervals(people: Table, mechanism: str) -> None:
    levels = [0.1, 0.5, 0.9]
    question = people.quantile("age", levels, clip=(0, 100), bins=100, max_rows=100)
    ages = np.sort(people.rows.to_pyarrow()["age"].to_numpy())
    with seeded(5):
        made = question.release(**ASK, mechanism=mechanism)  # type: ignore[arg-type]
    assert isinstance(made, QuantileRelease)
    assert made.mechanism == mechanism
    assert (np.diff(made.values) >= 0).all()
    low, high = made.interval(1 - 1e-6)
    truth = ages[(np.array(levels) * len(ages)).astype(int)]
    assert (abs(made.values - truth) < 15).all()
    assert ((low <= truth) & (truth <= high + 1)).all()
    assert (made.rank_errors() > 0).all()


@pytest.mark.parametrize(
    ("column", "clip", "levels", "draws"),
    [
        ("age", (0, 120), [0.5], 200),
        ("fnlwgt", (0, 2_000_000), [0.5, 0.9], 60),
        ("capital_gain", (0, 100_000), [0.5, 0.95], 60),
    ],
)
def test_intervals_in_value_and_errors_in_rank_hold(
    data: Path, column: str, clip: tuple[int, int], levels: list[float], draws: int
) -> None:
    """Each level at 90 %, and ranks at 95 %; over real columns, drawn by rank. False alarm 1e-7 each."""
    table = adults(data)
    query = table.quantile(column, levels, clip=clip, max_rows=1)
    assert isinstance(query, Quantile)
    draw = drawer(query, epsilon=0.5, delta=0, mechanism="exponential")
    values = np.sort(table.rows.to_pyarrow()[column].to_numpy())
    target = np.array(levels) * len(values)
    truth = values[np.ceil(target).astype(int) - 1]
    inside, near = np.zeros(len(levels)), 0
    with seeded(12):
        for _ in range(draws):
            made = draw()
            low, high = made.interval(0.9)
            inside += (low <= truth) & (truth <= high)
            step = (clip[1] - clip[0]) / 2**20
            first = np.searchsorted(values, made.values - step, side="left")
            last = np.searchsorted(values, made.values + step, side="right")
            off = np.maximum(np.maximum(first - target, target - last), 0)
            near += bool((off <= made.rank_errors(0.95)).all())
    assert (inside >= binom.ppf(1e-7, draws, 0.9)).all()
    assert near >= binom.ppf(1e-7, draws, 0.95)


def test_intervals_of_cumulative_sums_hold(data: Path) -> None:
    """400 medians and 90 % quantiles at 90 %; false alarm 1e-7."""
    table = adults(data)
    query = table.quantile("age", [0.5, 0.9], clip=(0, 120), bins=120, max_rows=1)
    assert isinstance(query, Quantile)
    draw = drawer(query, epsilon=0.1, delta=1e-6, mechanism="gaussian")
    ages = np.sort(table.rows.to_pyarrow()["age"].to_numpy())
    truth = ages[np.ceil(np.array([0.5, 0.9]) * len(ages)).astype(int) - 1]
    covered = np.zeros(2)
    with seeded(4):
        for _ in range(400):
            low, high = draw().interval(0.9)
            covered += (low <= truth) & (truth <= high)
    assert draw().reading.strategy is not None  # type: ignore[union-attr]
    assert (covered >= binom.ppf(1e-7, 400, 0.9)).all()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_cumulative_sums_are_charged_for_the_farthest_that_a_unit_moves_them(neighbours: str) -> None:
    """Three rows of a unit at any of four steps, or two units' rows exchanged: every case, by the matrix itself."""
    rows = ln.table(pd.DataFrame({"who": [1], "x": [0.5]}), unit="who", neighbours=neighbours)
    query = rows.quantile("x", 0.5, clip=(0, 4), bins=4, max_rows=3)
    assert isinstance(query, Quantile)
    matrix = np.array([[3.0, 0, 0, 0], [1, 2, 0, 0], [1, 1, 3, 0], [1, 1, 1, 1]])
    strategy = IntegerStrategy(OrderedColumn(OrderedQuestions("prefix", 4), matrix, BITS))
    own = [np.bincount(places, minlength=4) for places in product(range(4), repeat=3)]
    moves = own if neighbours == "add-remove" else [one - other for one in own for other in own]
    farthest = max(np.linalg.norm(matrix @ move) for move in moves)
    noise = decide(PrivacyRequest(epsilon=1, delta=1e-6), query.sums_planner(strategy)).plan
    needed = ln.sigma(epsilon=1, delta=1e-6, sensitivity=float(farthest))
    assert needed * (1 - 1e-9) <= noise.distribution.std <= needed * (1.01 if neighbours == "add-remove" else 1.5)


def test_drawn_by_rank_is_several_times_nearer_than_a_histogram(data: Path) -> None:
    """The median of a column with 20,000 distinct values, 1,000 steps, at epsilon 0.1: eight times, over 40 draws."""
    query = adults(data).quantile("fnlwgt", 0.5, clip=(0, 2_000_000), bins=1000, max_rows=1)
    assert isinstance(query, Quantile)
    errors_of = {}
    with seeded(2):
        for mechanism in ("exponential", "laplace"):
            draw = drawer(query, epsilon=0.1, delta=0, mechanism=mechanism)
            errors_of[mechanism] = np.sqrt(np.mean([(draw().values[0] - 178_356) ** 2 for _ in range(40)]))
    assert errors_of["exponential"] < errors_of["laplace"] / 8


def test_whole_numbers_come_out_whole(data: Path) -> None:
    query = adults(data).quantile("hours_per_week", [0.5, 0.9], clip=(0, 100), max_rows=1)
    with seeded(1):
        made = query.release(epsilon=1, delta=0)
    assert made.values.tolist() == [40.0, 55.0]


def test_groups_have_a_row_each_and_cost_what_the_limits_allow(people: Table) -> None:
    asked: Any = {"clip": (0, 100), "by": "ward", "keys": WARDS}
    question = people.quantile("age", [0.25, 0.5, 0.75], **asked, max_rows=4)
    with seeded(3):
        made = question.release(epsilon=2, delta=1e-6)
    assert isinstance(made, QuantileRelease)
    assert made.values.shape == made.interval().low.shape == (4, 3)
    assert made.guarantee == PureDP(2)
    frame = made.to_pandas()
    assert frame["ward"].tolist()[::3] == WARDS
    assert list(frame.columns) == ["ward", "level", "quantile", "low", "high", "enough"]
    # Twice the rows of a unit halve the rate, however many groups they lie in.
    fine, coarse = (
        people.quantile("age", 0.5, **asked, max_rows=rows).decide(PrivacyRequest(epsilon=1, delta=0)).charge.plan  # type: ignore[attr-defined]
        for rows in (4, 8)
    )
    assert float(fine.rates.rate) == pytest.approx(2 * float(coarse.rates.rate))
    # With many groups and a delta, mu counts them by the sum of squares.
    spread = people.quantile("age", 0.5, **asked, max_per_bin=1, max_bins=4)
    assert isinstance(spread.expect(epsilon=0.001, delta=0.1).guarantee, GaussianDP)


def test_steps_that_are_read_in_parts_add_up() -> None:
    frame = pd.DataFrame({"who": range(60), "age": [who % 7 for who in range(60)]})
    query: Any = ln.table(frame, unit="who").quantile("age", 0.5, clip=(0, 8), bins=8, max_rows=1)
    part = pa.table({"bin": [0, 0], "step": [0, 3], "rows": [2, 1]})
    found = query._integers(pa.concat_tables([part, part]))
    assert (found.indices.tolist(), found.blocks["numbers"].tolist()) == ([0, 3], [4, 2])


def test_auto_takes_the_least_error_in_ranks(people: Table) -> None:
    def mechanism(levels: Any, epsilon: float, delta: float, **asked: Any) -> str:
        question = people.quantile("age", levels, clip=(0, 100), max_rows=1, **asked)
        return question.expect(epsilon=epsilon, delta=delta).mechanism

    many = [i / 100 for i in range(1, 100)]
    assert mechanism(0.5, 1, 1e-6) == mechanism([0.1, 0.5, 0.9], 1, 1e-6) == "exponential"
    assert mechanism(many, 0.1, 1e-6, bins=50) == mechanism(many, 0.1, 0) == "laplace"
    assert mechanism(many, 1, 1e-6, bins=200) == "gaussian"
    asked = people.quantile("age", [i / 200 for i in range(1, 200)], clip=(0, 100), bins=100, max_rows=100)
    assert asked.expect(epsilon=0.5, delta=1e-6).mechanism in ("gaussian", "laplace")
    compared = ln.compare(asked, epsilon=0.5, delta=1e-6)
    assert compared.best.mechanism == asked.expect(epsilon=0.5, delta=1e-6).mechanism
    assert [row.std for row in compared.rows] == sorted(row.std for row in compared.rows)


def test_rows_that_somebody_expects_decide(people: Table) -> None:
    """At epsilon 0.1 three levels of 2,000 rows are lost in the tails by rank; of 50,000 they are not."""

    def chosen(rows: float | None, **asked: Any) -> Any:
        question = people.quantile("age", [0.1, 0.5, 0.9], clip=(0, 100), max_rows=1, expected_rows=rows, **asked)
        return question.expect(epsilon=0.1, delta=1e-6)

    assert chosen(2_000).mechanism == "laplace"
    assert chosen(2_000).bins < 100  # many steps would be all noise
    assert chosen(50_000).mechanism == chosen(None).mechanism == "exponential"
    groups = {"by": "ward", "keys": WARDS, "max_per_bin": 1, "max_bins": 1}
    assert chosen(2_000, **groups).mechanism == "laplace"
    assert chosen(50_000 * len(WARDS), **groups).mechanism == "exponential"  # of all groups together
    asked = people.quantile("age", [0.1, 0.9], clip=(0, 100), max_rows=1, expected_rows=2_000)
    assert "over a table of 2,000 rows" in str(ln.compare(asked, epsilon=0.1, delta=1e-6))


def test_counts_for_intervals_pay_for_rows_that_move_between_cells_even_where_one_step_was_asked_for() -> None:
    frame = pd.DataFrame({"who": [1, 2], "age": [30, 40]})
    replaced = ln.table(frame, unit="who", neighbours="replace")
    asked: list[Any] = [replaced.quantile("age", 0.5, clip=(0, 100), bins=bins, max_rows=3) for bins in (1, 9, None)]
    counts = [question.ranks.counts for question in asked]
    assert counts[0] == counts[1] == counts[2]
    assert counts[0] is not None
    assert counts[0].l1 == 6


@pytest.mark.parametrize(("asked", "times"), [({"epsilon": 0.5, "delta": 0}, 2), ({"epsilon": 1, "delta": 1e-6}, 1)])
def test_quantiles_drawn_by_rank_use_a_budget_up(
    people: Table, tmp_path: Path, asked: dict[str, Any], times: int
) -> None:
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=1, delta=0)
    question = people.quantile("age", 0.5, clip=(0, 100), max_rows=1)
    for _ in range(times):
        question.release(budget=budget, mechanism="exponential", **asked)
    with pytest.raises(errors.BudgetExhausted):
        question.release(budget=budget, mechanism="exponential", **asked)
    with pytest.raises(errors.BudgetExhausted):
        people.count(max_rows=1).release(budget=budget, epsilon=1, delta=0)
    assert budget.remaining.share == 0
    budget.verify()


def test_a_budget_pays_in_mu_squared(people: Table, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=3, delta=1e-6)
    question = people.quantile("age", [0.25, 0.5, 0.75], clip=(0, 100), max_rows=3)
    made = question.release(budget=budget, share=0.25)
    assert isinstance(made.guarantee, GaussianDP)
    assert made.guarantee.mu**2 <= 0.25 * float(budget.terms.mu) ** 2
    assert made.guarantee.mu**2 > 0.249 * float(budget.terms.mu) ** 2
    assert budget.remaining.share == pytest.approx(0.75)
    again = question.release(budget=budget, epsilon=0.1, delta=0)
    assert again.guarantee == PureDP(0.1)
    pure = ln.Budget.open(tmp_path / "pure.ledger", epsilon=1, pure_epsilon=1)
    half = question.release(budget=pure, share=0.5)
    assert half.guarantee == PureDP(0.5)


def test_many_levels_of_a_promise_are_debited_in_mu_squared(people: Table, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=3, delta=1e-6)
    question = people.quantile("age", [level / 64 for level in range(1, 64)], clip=(0, 100), max_rows=1)
    made = question.release(budget=budget, epsilon=1, delta=1e-3, mechanism="exponential")
    assert isinstance(made.guarantee, GaussianDP)
    part = made.guarantee.mu**2 / float(budget.terms.mu) ** 2
    assert 1 - budget.remaining.share == pytest.approx(part, rel=1e-9)


WRONG: dict[str, tuple[dict[str, Any], type[errors.LeastnoiseError], str]] = {
    "least": ({"levels": 0}, errors.InvalidParameter, r"near the end instead.*levels=0\.01"),
    "largest": ({"levels": [0.5, 1]}, errors.InvalidParameter, r"near the end instead.*levels=0\.99"),
    "outside": ({"levels": 1.5}, errors.InvalidParameter, "between 0 and 1"),
    "no number": ({"levels": float("nan")}, errors.InvalidParameter, "between 0 and 1"),
    "text": ({"levels": "median"}, errors.WrongType, "numbers between 0 and 1"),
    "none": ({"levels": []}, errors.InvalidParameter, "from 1 to 1,000"),
    "left out": ({"levels": None}, errors.MissingParameter, "Which quantiles"),
    "repeated": ({"levels": [0.5, 0.5]}, errors.InvalidParameter, r"must rise.*levels=\[0\.5\]"),
    "falling": ({"levels": [0.9, 0.1]}, errors.InvalidParameter, r"must rise.*levels=\[0\.1, 0\.9\]"),
    "no interval": ({"clip": (100, 0)}, errors.InvalidParameter, "low < high"),
    "empty clip": ({"clip": (5, 5)}, errors.InvalidParameter, "low < high"),
    "no keys": ({"by": "ward"}, errors.MissingParameter, "public keys"),
    "no limit": ({"max_rows": None}, errors.ContributionUnbounded, "max_rows=5"),
    "no rows": ({"expected_rows": 0}, errors.InvalidParameter, "from 1 to 1e18"),
    "rows that are no number": ({"expected_rows": float("nan")}, errors.InvalidParameter, "from 1 to 1e18"),
    "rows in words": ({"expected_rows": "many"}, errors.WrongType, r"expected_rows=30000"),
    "bins": ({"bins": 2**20 + 1}, errors.BadDomain, "bins"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_told_before_anything_is_paid(people: Table, case: str) -> None:
    given, kind, words = WRONG[case]
    asked = {"levels": 0.5, "clip": (0, 100), "max_rows": 3, **given}
    with pytest.raises(kind, match=words):
        people.quantile("age", **asked)


def test_a_release_that_cannot_be_debits_nothing(people: Table, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=1, delta=1e-6)
    question = people.quantile("age", 0.5, clip=(0, 100), max_rows=1)
    for asked in ({"mechanism": "exponential", "sigma": 3.0}, {"mechanism": "permute", "share": 0.5}):
        with pytest.raises(errors.InvalidParameter):
            question.release(budget=budget, **asked)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidParameter):  # of others there is no such mechanism
        people.count(max_rows=1).release(budget=budget, share=0.5, mechanism="exponential")
    assert budget.remaining.share == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_file_holds_everything(people: Table, tmp_path: Path, mechanism: str) -> None:
    question = people.quantile("age", [0.25, 0.5], clip=(0, 100), bins=50, by="ward", keys=WARDS, max_rows=2)
    made = question.release(**ASK, mechanism=mechanism)  # type: ignore[arg-type]
    made.save(tmp_path / "q.parquet")
    loaded = ln.load(tmp_path / "q.parquet")
    assert isinstance(loaded, QuantileRelease)
    assert loaded.explain() == made.explain()
    assert np.array_equal(loaded.values, made.values, equal_nan=True)
    assert np.array_equal(loaded.interval(0.8), made.interval(0.8))
    assert loaded.to_pandas().equals(made.to_pandas())


def test_a_file_of_cumulative_sums_is_read_by_its_own_strategy(
    people: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No strategy is looked for again: that takes seconds, and another machine may find another one."""
    question = people.quantile("age", [0.25, 0.5], clip=(0, 100), bins=60, by="ward", keys=WARDS, max_rows=2)
    made = question.release(**ASK, mechanism="gaussian")
    assert isinstance(made, QuantileRelease)
    assert isinstance(made.reading, HistogramQuantiles)
    assert made.reading.strategy is not None
    made.save(tmp_path / "q.parquet")
    monkeypatch.setattr("leastnoise.workload.ordered._strategy", None)
    loaded = ln.load(tmp_path / "q.parquet")
    assert isinstance(loaded, QuantileRelease)
    assert np.array_equal(loaded.values, made.values, equal_nan=True)
    assert np.array_equal(loaded.interval(0.8), made.interval(0.8))
    assert loaded.explain() == made.explain()


@pytest.mark.parametrize("change", ["cut short", "no text", "other numbers", "longer columns"])
def test_a_strategy_that_does_not_fit_its_release_is_refused(people: Table, tmp_path: Path, change: str) -> None:
    question = people.quantile("age", [0.25, 0.5], clip=(0, 100), bins=60, max_rows=2)
    made = question.release(**ASK, mechanism="gaussian")
    assert isinstance(made, QuantileRelease)
    made.save(tmp_path / "q.parquet")
    table, what, facts = file_format.read(tmp_path / "q.parquet")
    matrix = made.reading.strategy.matrix  # type: ignore[union-attr]

    def text(numbers: Any) -> str:
        return strategy_to_text(SimpleNamespace(matrix=numbers, keys=len(numbers)))  # type: ignore[arg-type]

    facts["reading"]["strategy"] = {
        "cut short": text(matrix[:40, :40]),
        "no text": "?",
        "other numbers": text(-matrix),
        "longer columns": text(matrix * 3),  # whoever adds the same noise to these promises less
    }[change]
    file_format.write(tmp_path / "q.parquet", table, what=what, facts=facts)
    with pytest.raises(errors.NotOurs, match="strategy"):
        ln.load(tmp_path / "q.parquet")


def test_quantiles_of_units_need_no_limit(people: Table) -> None:
    """The median spending of a person, in one call after per_unit."""
    spent = people.per_unit(spent=ln.stats.sum("cost", grid=0.01))
    with seeded(1):
        made = spent.quantile("spent", [0.5, 0.9], clip=(0, 2000)).release(epsilon=1, delta=0)
    truth = people.rows.to_pyarrow().to_pandas().groupby("person")["cost"].sum().quantile([0.5, 0.9]).to_numpy()
    assert abs(made.values - truth) == pytest.approx(0, abs=12)
