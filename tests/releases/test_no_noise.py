"""Noise that is zero in every draw: nothing is divided by it, in no report, file, picture or denoiser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import denoise
from leastnoise.graphs import Graph

ROWS = pd.DataFrame({"who": range(90), "a": ["x", "y", "z"] * 30, "b": [0, 1, 2, 3, 4, 5] * 15, "v": range(90)})
KEYS = ["x", "y", "z"]
BOTH: dict[str, Any] = {"a": KEYS, "b": range(6)}
EPSILONS = (1_000, 1e6)
pytestmark = pytest.mark.filterwarnings("ignore::leastnoise.errors.WeakPromise")


def questions(rows: pd.DataFrame) -> dict[str, Any]:
    table = ln.table(rows, unit="who")
    return {
        "count": table.count(max_rows=1),
        "histogram": table.histogram("a", keys=KEYS, max_rows=1),
        "two columns": table.histogram("a", "b", keys=BOTH, max_rows=1),
        "unknown": table.histogram("a", max_rows=1, others=0.1),
        "sum": table.sum("v", clip=(0, 20), by="a", keys=KEYS, max_rows=1),
        "mean": table.mean("v", clip=(0, 20), by="a", keys=KEYS, max_rows=1),
        "quantile": table.quantile("v", [0.1, 0.5], clip=(0, 90), by="a", keys=KEYS, max_rows=1),
        "summary": table.summarize("a", keys=KEYS, max_rows=1, n=ln.stats.count(), m=ln.stats.mean("v", clip=(0, 20))),
        "crosstabs": table.crosstabs("a", "b", keys=BOTH, max_rows=1),
        "cumulative": table.crosstabs("a", "b", keys=BOTH, cumulative=["b"], max_rows=1),
    }


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("kind", questions(ROWS))
@pytest.mark.parametrize("rows", [ROWS, ROWS.iloc[:0]], ids=["rows", "no rows"])
def test_everything_is_shown_of_a_release_without_noise(
    rows: pd.DataFrame, kind: str, mechanism: str, epsilon: float, tmp_path: Path
) -> None:
    asked, ask = questions(rows)[kind], {"epsilon": epsilon, "delta": 1e-6, "mechanism": mechanism}
    assert "nan" not in str(asked.expect(**ask)).split()
    made = asked.release(**ask)
    places = [
        tmp_path / ("tables" if kind in ("crosstabs", "cumulative") else "numbers.csv"),
        tmp_path / "numbers.xlsx",
    ]
    estimates: list[Any] = [None]
    if kind in ("count", "histogram", "two columns", "unknown", "sum", "crosstabs"):
        estimates.append(made.denoise())
        estimates[1].explain()
        estimates[1].to_csv(tmp_path / f"denoised{places[0].suffix}")
        if kind not in ("unknown", "crosstabs") and made.noise.is_none:  # a sum has a finer grid
            assert estimates[1].to_pandas()["value"].tolist() == made.to_pandas()["value"].tolist()
    for estimate in estimates:
        beside = {} if estimate is None else {"estimate": estimate}
        made.to_csv(places[0], **beside)
        made.to_excel(places[1], **beside)
        made.report(tmp_path / "page.html", **beside)
    made.explain()
    if hasattr(made, "plot"):
        made.plot()


PATH = Graph.from_edges(12, [(i, i + 1) for i in range(11)])
GRAPHS = ("fused_lasso", "laplacian", "neighbour_bayes", "trend_filter", "tree_wavelet", "wavelet")


@pytest.mark.parametrize("epsilon", [30.0, 1_000.0, 1e6])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("values", [np.zeros(12), np.full(12, 7), 5 * np.arange(12)], ids=["zeros", "alike", "rising"])
@pytest.mark.parametrize(
    "method",
    ["auto", "empirical_bayes", "james_stein", "soft_threshold", "hard_threshold", "isotonic", *GRAPHS],
)
def test_every_denoiser_takes_zeros_and_constants_at_every_epsilon(
    method: str, values: np.ndarray, mechanism: str, epsilon: float
) -> None:
    counts, one = values.astype(np.int64), {"sensitivity": 1, "l1_sensitivity": 1}
    made = ln.release(counts, **one, epsilon=epsilon, delta=1e-6, mechanism=mechanism)
    options = {"graph": PATH} if method in GRAPHS else {}
    try:
        found = made.denoise(method, **options)
    except ln.errors.OutOfRange:  # a refusal with a cure: values that are too large beside their noise
        assert 0 < made.std < 1e-9
        return
    assert np.isfinite(found.values).all()
    found.explain()
    repr(found)
    found.compare()
    made.to_pandas(estimate=found)
    if epsilon >= 1_000:
        assert found.kept
        assert found.better_than_raw is False
        assert found.rmse_at_most(0.95).value == 0
        np.testing.assert_array_equal(found.values, made.values)
        assert "so the values are kept as they are" in found.explain()


def test_arrays_whose_noise_underflows_are_refused_with_a_cure() -> None:
    for name in ("james_stein", "auto"):
        with pytest.raises(ln.errors.OutOfRange, match="Multiply y and sigma by 1e60"):
            getattr(denoise, name)(np.zeros(12), 1e-200)


def test_known_tables_are_held_beside_tables_without_noise() -> None:
    table = ln.table(ROWS, unit="who").crosstabs("a", "b", keys=BOTH, max_rows=1, other=False)
    made = table.release(epsilon=1e6, delta=1e-6)
    held = made.denoise(known={"a": [40, 30, 20]})
    np.testing.assert_allclose(held["a"].values, [40, 30, 20], atol=1e-6)
    assert made.denoise().integers()["a"].values.tolist() == [30, 30, 30]


def test_a_draw_is_none_where_its_chance_not_to_be_zero_is_negligible() -> None:
    made = ln.release(np.zeros(3, dtype=np.int64), sensitivity=1, l1_sensitivity=1, epsilon=60, delta=0)
    assert made.noise.is_none == (made.std <= 1e-9)
    assert not ln.wrap([1.0, 2.0], sigma=1e-30).noise.is_none
