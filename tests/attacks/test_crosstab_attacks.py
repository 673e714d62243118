"""What one person can do to a set of tables: the integers that are drawn, and what is refused before anything is paid.

Statistical tests are seeded. Each states how often it would fail for correct code.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import beta, norm

import leastnoise as ln
from leastnoise import errors, testing
from leastnoise.curator.noise.gaussian import rounded_gaussian
from leastnoise.curator.queries import crosstab_options
from leastnoise.curator.release import Batch, add_noise
from leastnoise.domain import axis
from leastnoise.workload import Workload, tables
from leastnoise.workload.residuals import integer_residual
from leastnoise.workload.tables_noise import TablesNoise, TablesPlanner

KEYS = {"age": range(4), "sex": ["f", "m"]}


def people(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame({"who": np.arange(rows), "age": rng.integers(0, 4, rows), "sex": rng.choice(["f", "m"], rows)})


def asked(**options: Any) -> Any:
    return ln.table(people(), unit="who").crosstabs(**{"ways": 2, "keys": KEYS, "max_rows": 1, **options})


def moved_by(change: np.ndarray[Any, Any], noise: TablesNoise) -> list[tuple[int, float]]:
    """How far a change of the finest table moves each integer that is drawn, and the scale of its noise."""
    top = noise.workload.columns
    return [
        (int(by), noise.scales[block])
        for block, table in noise.workload.sums_of({top: change}, noise.scales)
        for by in integer_residual(table).ravel()
    ]


def delta_of(mu: float, epsilon: float) -> float:
    """delta_G(epsilon; mu), Theorem 8."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def least_delta(moves: list[tuple[int, float]], epsilon: float, *, step: float = 1e-3, reach: int = 60) -> float:
    """A lower bound of delta(epsilon) between the integers with and without the move: the exact probabilities of all
    draws, their privacy losses rounded down to multiples of `step` and convolved."""
    half = round(reach / step)
    size = 2 * half + 1
    transform: Any = 1.0
    for by, scale in moves:
        k = np.arange(-int(12 * scale) - abs(by) - 3, int(12 * scale) + abs(by) + 4)
        without, with_it = (ndtr((k - at + 0.5) / scale) - ndtr((k - at - 0.5) / scale) for at in (0, by))
        seen = (without > 1e-200) & (with_it > 1e-200)
        loss = np.floor(np.log(without[seen] / with_it[seen]) / step).astype(np.int64)
        near = np.abs(loss) < half / len(moves)
        circle = np.zeros(size)
        np.add.at(circle, loss[near] % size, without[seen][near])
        transform = transform * np.fft.rfft(circle)
    chance = np.fft.irfft(transform, size)
    losses = np.concatenate([np.arange(half + 1), np.arange(-half, 0)]) * step
    return float(np.sum(chance * np.maximum(0.0, 1 - np.exp(epsilon - losses))))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("mu", [Fraction(1, 2), Fraction(3)])
def test_the_integers_keep_the_promised_curve_exactly(neighbours: Any, mu: Fraction) -> None:
    """Over every pair of units of a tiny domain the exact delta is below the promised one, and near it for the worst:
    noise a hundredth too small would be seen."""
    workload = Workload({"a": 2, "b": 3}, ways=(1,))
    noise = TablesPlanner(workload, "tables", 1, neighbours).gaussian(mu**2)
    rows = [np.zeros((2, 3), dtype=np.int64), *np.eye(6, dtype=np.int64).reshape(6, 2, 3)]
    pairs = [(a, b) for a, b in itertools.permutations(range(7), 2) if neighbours == "replace" or 0 in (a, b)]
    worst = {0.0: 0.0, 1.0: 0.0}
    for one, other in pairs:
        moves = [(by, scale) for by, scale in moved_by(rows[other] - rows[one], noise) if by]
        for epsilon in worst:
            worst[epsilon] = max(worst[epsilon], least_delta(moves, epsilon))
    for epsilon, found in worst.items():
        assert found <= delta_of(noise.guarantee.mu, epsilon) + 1e-12
        assert found > delta_of(0.99 * noise.guarantee.mu, epsilon) or mu == 3  # rounding hides more than that there


def test_draws_of_two_neighbouring_tables_keep_the_trade_off() -> None:
    """The best test between two neighbouring tables, over 1,000 whole releases of each and 200,000 draws of the noise
    alone: its power is at most that of N(mu, 1) against N(0, 1). It would fail for correct code once in a million
    runs, and finds noise that is 7 % too small."""
    workload = Workload({"a": 2, "b": 3}, ways=2)
    noise = TablesPlanner(workload, "tables", 1, "add-remove").gaussian(Fraction(1))
    base = np.array([[3, 0, 1], [0, 2, 0]])
    more = base + np.array([[0, 0, 0], [0, 0, 1]])
    moves = moved_by(more - base, noise)
    mu = noise.guarantee.mu
    with testing.seeded(20):
        published = [_scores(table, noise, moves, 1000) for table in (base, more)]
        assert not _distinguished(*published, mu)
        still, shifted = (_drawn(moves, shift=shift, size=200_000) for shift in (0, 1))
        assert not _distinguished(still, shifted, mu)
        narrow = [_drawn(moves, shift=shift, size=200_000, narrower=0.93) for shift in (0, 1)]
    assert _distinguished(narrow[0], narrow[1], mu)


def _scores(
    table: np.ndarray[Any, Any], noise: TablesNoise, moves: list[tuple[int, float]], count: int
) -> np.ndarray[Any, Any]:
    """The statistic of the best test, of so many releases of a table: the published integers along the move."""
    along = np.array([by / scale**2 for by, scale in moves])
    exact = Batch(noise.integers_of({("a", "b"): table}))
    found = np.empty(count)
    for i in range(count):
        made = add_noise(noise, exact).blocks
        found[i] = along @ np.concatenate([made[block].ravel() for block in noise.scales])
    return found


def _drawn(moves: list[tuple[int, float]], *, shift: int, size: int, narrower: float = 1.0) -> np.ndarray[Any, Any]:
    total = np.zeros(size)
    for by, scale in moves:
        total += by / scale**2 * (shift * by + rounded_gaussian(scale * narrower, size))
    return total


def _distinguished(absent: np.ndarray[Any, Any], present: np.ndarray[Any, Any], mu: float) -> bool:
    """Whether some threshold has surely more power than the trade-off of mu allows at its rate of false alarms."""
    cuts = np.quantile(np.concatenate([absent, present]), [0.2, 0.35, 0.5, 0.65, 0.8])
    chance = 1e-6 / 4 / len(cuts)  # two calls for correct code, two bounds each
    for cut in cuts:
        alarms, hits = int((absent > cut).sum()), int((present > cut).sum())
        most_alarms = beta.ppf(1 - chance, alarms + 1, absent.size - alarms)
        least_hits = beta.ppf(chance, hits, present.size - hits + 1)
        if least_hits > norm.cdf(norm.ppf(most_alarms) + mu):
            return True
    return False


def test_too_many_integers_are_refused_before_anything_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of 9 columns with two keys each has 2^9 cells, but 3^9 in the tables within it."""
    columns = [f"c{i}" for i in range(9)]
    table = ln.table(pd.DataFrame({"who": [1, 2], **{column: [0, 1] for column in columns}}), unit="who")
    keys = {column: range(2) for column in columns}
    monkeypatch.setattr(crosstab_options, "MAX_CELLS", 3**9)
    assert table.crosstabs(tuple(columns), keys=keys, max_rows=1).size == 3**9
    monkeypatch.setattr(crosstab_options, "MAX_CELLS", 3**9 - 1)
    with pytest.raises(errors.BadDomain, match="these have 19,683 cells"):
        table.crosstabs(tuple(columns), keys=keys, max_rows=1)


@pytest.mark.parametrize("columns", [19, 24, 30, 60])
@pytest.mark.parametrize("ways", [False, True])
def test_a_wide_table_is_refused_before_anything_is_made_of_it(
    columns: int, ways: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables within it would fill the memory before they are counted."""
    names = [f"c{i}" for i in range(columns)]
    table = ln.table(pd.DataFrame({"who": [1, 2], **{name: [0, 1] for name in names}}), unit="who")
    made: list[object] = []
    monkeypatch.setattr(tables, "incidence", lambda *arguments: made.append(arguments))
    asked: dict[str, Any] = {"keys": {name: range(2) for name in names}, "max_rows": 1}
    with pytest.raises(errors.BadDomain, match="c0 x c1 x") as raised:
        table.crosstabs(ways=columns, **asked) if ways else table.crosstabs(tuple(names), "c0", **asked)
    assert f"{3**columns:,}" in str(raised.value) or f"{2**columns:,}" in str(raised.value)
    assert not made


@given(st.lists(st.integers(2, 50), min_size=1, max_size=6), st.integers(0, 6))
def test_cells_are_counted_without_the_tables(sizes: list[int], ways: int) -> None:
    workload = Workload({f"c{i}": size for i, size in enumerate(sizes)}, ways=ways)
    by_order = crosstab_options.cells_by_order(sizes, min(ways, len(sizes)))
    assert sum(by_order) == workload.cells == workload.block_cells
    assert by_order[-1] == sum(map(workload.cells_of, workload.maximal))


def test_all_blocks_of_a_large_survey_are_allowed() -> None:
    workload = Workload({f"c{i}": 10 for i in range(100)}, ways=3)
    assert workload.block_cells == 1 + 1000 + 4950 * 100 + 161_700 * 1000


@pytest.mark.parametrize("epsilon", [700, 1e3, 5e3, 1e6, 1e200])
def test_a_huge_epsilon_is_no_failure(epsilon: float) -> None:
    """Where hardly any noise is left, its precision is no ordinary double any more."""
    query = asked()
    assert query.expect(epsilon=epsilon, delta=1e-6).rmse < 0.1
    with pytest.warns(UserWarning, match="protects nobody"):
        made = query.release(epsilon=epsilon, delta=1e-6, mechanism="laplace")
    assert made.guarantee.epsilon <= epsilon
    assert made["age"].values.sum() == pytest.approx(60)


def test_noise_too_wide_for_laplace_is_gaussian() -> None:
    expected = asked().expect(epsilon=1e-300, delta=1e-6)
    assert expected.mechanism == "gaussian"
    with pytest.raises(errors.OutOfRange):
        asked().expect(epsilon=1e-300, delta=0)


def test_a_table_states_the_half_width_of_its_intervals() -> None:
    """Of noise about as wide as its grid: 1.96 standard deviations would cover less than 95 %."""
    with testing.seeded(4), pytest.warns(UserWarning, match="weak"):
        made = asked().release(epsilon=8, delta=1e-6, mechanism="gaussian")
    for table in made.tables:
        one = made[table]
        half = float((one.interval(0.95).high - one.values).max())
        assert f"off by at most {half:,.4g}, 95%" in one.errors_in_words()
        assert f"off by at most {half:,.4g}, 95%" in one.explain()


def test_other_keys_leave_nothing_out() -> None:
    kinds = [fact.kind for fact in asked(other=True).left_out]
    assert "outside its keys" not in kinds
    mixed = asked(keys={"age": ln.domain.OrOther(axis(range(4))), "sex": ["f", "m"]}, other=False)
    assert [fact.columns for fact in mixed.left_out if fact.kind == "outside its keys"] == [("sex",)]
    with pytest.raises(errors.WrongType, match="True, False"):
        asked(other=("no",))
