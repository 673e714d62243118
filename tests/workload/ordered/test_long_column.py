"""More ordered keys than a matrix holds, within a set of tables: against dense matrices, and on the way to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.testing import seeded
from leastnoise.workload import Workload, strategy
from leastnoise.workload.optimal_weights import OrderedQuestions
from leastnoise.workload.ordered import LongColumn, long_column


def dense(column: LongColumn) -> tuple[np.ndarray, np.ndarray]:
    """S and its generalised inverse G with sums of zero, by definition."""
    n = column.size
    s = np.array([column.apply(unit, 0) for unit in np.eye(n)]).T
    v = np.eye(n)[-1]
    g = np.linalg.pinv(s)
    return s, g - np.outer(v, g.sum(axis=0))


@pytest.mark.parametrize("kind", ["prefix", "ranges"])
def test_it_is_what_its_matrices_say(kind: Any) -> None:
    column = long_column(OrderedQuestions(kind, 9), 10)
    s, g = dense(column)
    np.testing.assert_allclose(s @ g, np.eye(8), atol=1e-9)
    np.testing.assert_allclose(g @ s, np.eye(9) - np.outer(column.null_vector, np.ones(9)), atol=1e-9)
    products = s.T @ s
    assert (column.norm, column.least) == (products.diagonal().max(), products.min())
    assert column.max_entry == np.abs(s).max()
    np.testing.assert_allclose(column.restore(np.eye(8), 0), g, atol=1e-12)
    w = column.questions.matrix()
    factors, step = column.factors, column.step
    assert factors.cost == pytest.approx(column.norm / step**2)
    assert factors.within * factors.cost == pytest.approx((w @ g @ g.T @ w.T).trace() * step**2 / len(w))
    assert factors.without == pytest.approx(float(((w @ column.null_vector) ** 2).mean()))
    for which, matrix in (("cells", np.eye(9)), ("prefix", np.tri(9))):
        made = column.sums(which)  # type: ignore[arg-type]
        np.testing.assert_allclose(made.within, ((matrix @ g) ** 2).sum(axis=1) * step**2, atol=1e-12)
        np.testing.assert_allclose(made.without, matrix @ column.null_vector)
        np.testing.assert_allclose(made.rounding, np.abs(matrix @ g).sum(axis=1), atol=1e-12)
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(2, 9))
    np.testing.assert_allclose(column.products(one, other)[0], one @ g @ g.T @ other * step**2)
    assert column.rounding_bounds(one) == pytest.approx((np.abs(one @ g).sum(), abs(one[-1])))
    large = rng.integers(-(2**62), 2**62, (9, 2)).astype(object) * 2**40
    exact = s.astype(np.int64).astype(object) @ large
    assert (column.apply(large, 0) == exact).all()


def test_its_noise_is_that_of_the_matrices_and_the_loss_is_the_stated_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """One table of 256 keys: 7.9 % above the best matrix; a curve by sex 15 %."""
    tables = [["t"], ["t", "sex", ("t", "sex")]]
    sizes = {"t": 256, "sex": 2}
    best = [Workload(sizes, tables=each, cumulative=["t"]).optimize() for each in tables]
    monkeypatch.setattr(strategy, "MAX_KEYS", 2)
    long = [Workload(sizes, tables=each, cumulative=["t"]).optimize() for each in tables]
    assert isinstance(long[0].workload.strategies["t"], LongColumn)
    losses = [float(np.sqrt(b.table_variances[-1] / a.table_variances[-1])) for a, b in zip(best, long, strict=True)]
    assert losses == pytest.approx([1.079, 1.149], abs=2e-3)


def test_a_curve_of_five_thousand_keys_from_rows_to_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(
        {"who": range(3000), "minute": rng.integers(0, 5000, 3000), "sex": rng.choice(["f", "m"], 3000)}
    )
    query = ln.table(rows, unit="who").crosstabs(
        "minute", "sex", keys={"minute": range(5000), "sex": ["f", "m"]}, cumulative=["minute"], max_rows=1
    )
    expected = query.expect(epsilon=2, delta=1e-6)
    assert "square root of the cumulative sum" in expected.note
    with seeded(5):
        made = query.release(epsilon=2, delta=1e-6)
    assert made.mechanism == "gaussian"
    curve = made["minute"].cumulative()
    truth = np.cumsum(np.bincount(rows.minute, minlength=5000))
    low, high = curve.interval(0.95, simultaneous=True)
    assert ((low <= truth) & (truth <= high)).mean() > 0.99
    assert np.abs(curve.values - truth).max() < 60 < 3000**0.5 * 5  # adding 5,000 noisy cells up is off by hundreds
    some = made["minute"].total({"minute": range(100, 900)})
    assert some.low <= truth[899] - truth[99] <= some.high
    assert "square root of the cumulative sum" in made.note
    made.save(tmp_path / "r.parquet", allow_seeded=True)
    again = ln.load(tmp_path / "r.parquet")
    np.testing.assert_array_equal(again["minute"].values, made["minute"].values)
    assert again.workload == made.workload
    assert made["sex"].values.sum() == pytest.approx(made["minute"].values.sum())


def test_numbers_that_are_no_strategy_are_refused() -> None:
    for bad in ([1, 2], [0, 0], [3, -1], [2**25, 1], [4, 3, 2, 1]):
        with pytest.raises(errors.InvalidParameter, match="whole numbers"):
            LongColumn(OrderedQuestions("prefix", 3), np.array(bad), 4)
