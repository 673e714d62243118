"""The mechanisms side by side."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import errors
from leastnoise.privacy.strength import judge


def test_the_map_of_the_readme() -> None:
    c = ln.compare(sensitivity=math.sqrt(5), l1_sensitivity=5, epsilon=0.5, delta=1e-6, bins=3874)
    assert [round(c[name].std, 1) for name in ("laplace", "gaussian")] == [14.1, 18.0]
    assert "use Gaussian: all of them lie within" in c.verdict


@pytest.mark.parametrize(("epsilon", "ratio"), [(0.1, 20.7), (0.5, 25.3), (1, 27.1)])
def test_of_a_budget_laplace_costs_many_times_as_much(epsilon: float, ratio: float) -> None:
    c = ln.compare(sensitivity=1, l1_sensitivity=1, epsilon=epsilon, delta=1e-6)
    assert c["laplace"].budget_cost / c["gaussian"].budget_cost == pytest.approx(ratio, abs=0.05)
    assert f"{ratio} times as much" in c.verdict


@given(st.floats(0.01, 5), st.floats(1, 30), st.floats(-9, -3))
def test_the_crossover_of_the_verdict_is_where_the_winner_changes(epsilon: float, ratio: float, power: float) -> None:
    c = ln.compare(sensitivity=1, l1_sensitivity=ratio, epsilon=epsilon, delta=10**power, bins=1000)
    winner = min(("laplace", "gaussian"), key=lambda name: c[name].std)
    if judge(ln.PureDP(epsilon)).protects_nobody:  # while Gaussian noise protects, with these epsilons
        winner = "gaussian"
    assert c.verdict.startswith(f"Use {winner.capitalize()}")
    assert c.rows[0].variance_ratio == 1.0
    assert all(a.std <= b.std for a, b in zip(c.rows, c.rows[1:], strict=False))


def test_without_l1_laplace_is_shown_with_what_is_always_true() -> None:
    c = ln.compare(sensitivity=1, epsilon=1, delta=1e-6, bins=100)
    assert c["laplace"].std == pytest.approx(math.sqrt(2) * 10, rel=1e-9)
    assert "assumed" in c.verdict


def test_classical_is_left_out_where_it_is_no_theorem() -> None:
    assert "classical" not in {r.mechanism for r in ln.compare(sensitivity=1, epsilon=1, delta=1e-6).rows}
    assert "classical" in {r.mechanism for r in ln.compare(sensitivity=1, epsilon=0.9, delta=1e-6).rows}


def test_zero_epsilon_has_gaussian_only() -> None:
    assert [r.mechanism for r in ln.compare(sensitivity=1, epsilon=0, delta=1e-6).rows] == ["gaussian"]


def test_the_smallest_epsilons_answer() -> None:
    names = {r.mechanism for r in ln.compare(sensitivity=1, epsilon=1e-300, delta=1e-6).rows}
    assert {"gaussian", "laplace"} <= names
    assert "renyi" not in names


def test_a_query_brings_its_own_sensitivity() -> None:
    query = SimpleNamespace(sensitivity=SimpleNamespace(l1=5.0, l2=math.sqrt(5)), size=3874, grid=1.0)
    by_hand = ln.compare(sensitivity=math.sqrt(5), l1_sensitivity=5, epsilon=0.5, delta=1e-6, bins=3874)
    of_query = ln.compare(query, epsilon=0.5, delta=1e-6)
    assert [(row.mechanism, row.std) for row in of_query.rows] == [(row.mechanism, row.std) for row in by_hand.rows]
    assert of_query["laplace"].budget_cost < by_hand["laplace"].budget_cost  # the steps of its noise are known
    with pytest.raises(errors.InvalidParameter, match="not both"):
        ln.compare(query, sensitivity=1, epsilon=0.5, delta=1e-6)


def test_bad_comparisons() -> None:
    with pytest.raises(errors.MissingParameter, match="sensitivity=1"):
        ln.compare(epsilon=1, delta=1e-6)
    with pytest.raises(errors.InvalidParameter, match="L2 <= L1"):
        ln.compare(sensitivity=2, l1_sensitivity=1, epsilon=1, delta=1e-6)
    with pytest.raises(errors.InvalidParameter, match="Did you mean"):
        ln.compare(sensitivity=1, epsilon=1, delta=1e-6)["gausian"]


def test_laplace_costs_of_a_query_what_the_ledger_would_debit(tmp_path: Path) -> None:
    """Its own curve in five bins of counts: 0.0785, not the 0.389 of epsilon-DP at its worst."""
    table = ln.table(pa.table({"who": [1], "zone": [1]}), unit="who")
    query = table.histogram("zone", keys=range(9), max_rows=5, max_per_bin=1)
    rows = {row.mechanism: row for row in ln.compare(query, epsilon=0.5, delta=1e-6).rows}
    assert rows["laplace"].budget_cost == pytest.approx(0.0785, abs=5e-5)
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=3, delta=1e-6, unit="who")
    whole = budget.remaining.mu**2
    query.release(epsilon=0.5, delta=0, mechanism="laplace", budget=budget)
    assert whole - budget.remaining.mu**2 == pytest.approx(rows["laplace"].budget_cost, rel=1e-6)


def test_the_verdict_is_what_auto_takes() -> None:
    """From an epsilon of 4.6 on Laplace noise protects nobody; where Gaussian noise does not either, the lesser one."""
    table = ln.table(pa.table({"who": [1], "zone": ["a"]}), unit="who")
    listed, unknown = table.histogram("zone", keys=["a", "b"], max_rows=1), table.histogram("zone", max_rows=1)
    seen = set()
    for query in (listed, unknown):
        for epsilon in (1, 4, 5, 9, 100):
            auto = query.expect(epsilon=epsilon, delta=1e-6).mechanism
            assert ln.compare(query, epsilon=epsilon, delta=1e-6).verdict.startswith(f"Use {auto.capitalize()} noise")
            seen.add(auto)
    assert seen == {"gaussian", "laplace"}
