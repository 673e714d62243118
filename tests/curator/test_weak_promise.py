"""A promise too weak is called weak: before anything is paid or read, from public facts alone."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise._support.text import percent_at_most
from leastnoise.curator.table import Table
from leastnoise.errors import WeakPromise
from leastnoise.report.document import page


@pytest.fixture
def table() -> Table:
    return ln.table(pd.DataFrame({"who": range(40), "zone": ["a", "b"] * 20, "place": range(40)}), unit="who")


def releases(table: Table) -> dict[str, Any]:
    return {
        "count": table.count(max_rows=1).release,
        "histogram": table.histogram("zone", keys=["a", "b"], max_rows=1).release,
        "unknown": table.histogram("zone", max_rows=1).release,
        "sparse": table.histogram("place", keys=range(2**30), max_rows=1).release,
        "vector": lambda **asked: ln.release(np.arange(4), sensitivity=1, **asked),
        "sparse vector": lambda **asked: ln.release_sparse([3], [5], domain_size=9, sensitivity=1, **asked),
    }


KINDS = ["count", "histogram", "unknown", "sparse", "vector", "sparse vector"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", [{"epsilon": 100, "delta": 1e-6}, {"epsilon": 1, "delta": 0.5}], ids=str)
def test_a_weak_release_warns_and_goes_on(table: Table, kind: str, asked: dict[str, float]) -> None:
    with pytest.warns(WeakPromise, match="false alarms finds up to") as caught:
        release = releases(table)[kind](**asked, **({} if kind != "vector" else {"mechanism": "gaussian"}))
    assert release.strength.is_weak
    assert release.strength.in_words() in release.explain()
    assert Path(caught[0].filename) == Path(__file__)


@pytest.mark.parametrize("kind", KINDS)
def test_a_strong_release_does_not(table: Table, kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = releases(table)[kind](epsilon=1, delta=1e-6)
    assert release.strength.band == "strong"
    assert "The promise" not in release.explain()


def test_a_new_budget_that_is_weak_warns_before_it_is_made(tmp_path: Path) -> None:
    file = tmp_path / "weak.ledger"
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakPromise)
        with pytest.raises(WeakPromise, match="whole budget protects nobody in practice"):
            ln.Budget.open(file, epsilon=100, delta=1e-6)
        assert not file.exists()
        ln.Budget.open(tmp_path / "strong.ledger", epsilon=1, delta=1e-6)
    with pytest.warns(WeakPromise):
        ln.Budget.open(file, epsilon=100, delta=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakPromise)
        ln.Budget.open(file, epsilon=100, delta=1e-6)  # it was warned of when it was made


def test_a_small_share_of_a_weak_budget_warns(table: Table, tmp_path: Path) -> None:
    weak = ln.Budget.open(tmp_path / "weak.ledger", epsilon=100, delta=1e-6)
    with pytest.warns(WeakPromise, match="The promise of the whole budget protects nobody in practice"):
        release = table.count(max_rows=1).release(budget=weak, share=0.0001)
    assert release.guarantee.mu < 0.5  # by itself it would be strong
    release.save(tmp_path / "r.parquet")
    loaded = ln.load(tmp_path / "r.parquet")
    assert loaded.strength == release.strength
    assert loaded.strength.of_budget
    assert "The promise of the whole budget protects nobody" in page(loaded, estimate=None)


def test_a_share_of_a_strong_budget_does_not(table: Table, tmp_path: Path) -> None:
    strong = ln.Budget.open(tmp_path / "strong.ledger", epsilon=1, delta=1e-6)
    assert "whole budget is strong" in str(table.count(max_rows=1).expect(budget=strong, share=0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = table.count(max_rows=1).release(budget=strong, share=1)
    assert release.strength.of_budget


def test_the_warning_comes_before_anything_is_paid_or_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from leastnoise.curator import release as loop

    table = ln.table(pd.DataFrame({"who": [1]}), unit="who")
    weak = ln.Budget.open(tmp_path / "weak.ledger", epsilon=100, delta=1e-6)
    monkeypatch.setattr(loop, "read_rows", lambda *_: pytest.fail("rows were read"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakPromise)
        with pytest.raises(WeakPromise):
            table.count(max_rows=1).release(budget=weak, share=0.5)
    assert weak.history() == []


def test_the_warning_is_the_same_whatever_the_rows(table: Table) -> None:
    other = ln.table(pd.DataFrame({"who": [None], "zone": ["x"]}).astype({"who": "Int64"}), unit="who")
    messages = set()
    for opened in (table, other):
        with pytest.warns(WeakPromise) as caught:
            opened.count(max_rows=1).release(epsilon=50, delta=1e-6)
        messages.add(str(caught[0].message))
    assert len(messages) == 1


def test_expect_says_the_band_and_does_not_warn(table: Table) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weak = table.count(max_rows=1).expect(epsilon=100, delta=1e-6)
        strong = table.count(max_rows=1).expect(epsilon=1, delta=1e-6)
    assert weak.strength is not None
    assert weak.strength.protects_nobody
    assert "protects nobody in practice" in str(weak)
    assert "The promise is strong" in str(strong)


def test_the_page_is_loud_about_the_last_band_only(table: Table) -> None:
    limits = "Noise protects every who"
    with pytest.warns(WeakPromise):
        nobody = page(table.count(max_rows=1).release(epsilon=100, delta=1e-6), estimate=None)
    with pytest.warns(WeakPromise):
        weak = page(table.count(max_rows=1).release(sigma=0.5), estimate=None)
    strong = page(table.count(max_rows=1).release(epsilon=1, delta=1e-6), estimate=None)
    assert '<p class="warning" role="alert">The promise protects nobody in practice' in nobody
    assert limits not in nobody
    for other, band in ((weak, "weak"), (strong, "strong")):
        assert 'class="warning"' not in other
        assert limits in other
        assert f"<dt>strength</dt><dd>{band}</dd>" in other


def laplace_questions(table: Table) -> dict[str, Any]:
    """Where one row of a unit counts, so that Laplace noise is the lesser for large epsilons."""
    return {
        "histogram": table.histogram("zone", keys=["a", "b"], max_rows=1),
        "unknown": table.histogram("zone", max_rows=1),
        "summary": table.summarize(n=ln.stats.count(), max_rows=1),
        "tables": table.crosstabs("zone", keys={"zone": ["a", "b"]}, max_rows=1),
        "quantile": table.quantile("place", [0.5], clip=(0, 40), bins=8, max_rows=1),
    }


@pytest.mark.parametrize("kind", ["histogram", "unknown", "summary", "tables", "quantile"])
def test_auto_takes_no_noise_that_protects_nobody_where_gaussian_noise_does(table: Table, kind: str) -> None:
    question = laplace_questions(table)[kind]
    for epsilon in (4, 5, 6, 7, 8, 9, 12, 20, 30, 60, 100):
        auto, gaussian = (question.expect(epsilon=epsilon, delta=1e-6, mechanism=m) for m in ("auto", "gaussian"))
        assert auto.strength.protects_nobody <= gaussian.strength.protects_nobody


@pytest.mark.parametrize("kind", ["histogram", "summary", "tables"])
def test_what_was_not_taken_since_it_protects_nobody_is_told(table: Table, kind: str) -> None:
    told = str(laplace_questions(table)[kind].expect(epsilon=6, delta=1e-6))
    assert "Gaussian noise" in told
    assert "noise, which for the same epsilon and delta protects nobody in practice." in told


@pytest.mark.parametrize(
    ("kind", "error"), [("histogram", "std"), ("unknown", "std"), ("tables", "rmse"), ("summary", None)]
)
def test_a_weak_promise_names_gaussian_noise_and_what_it_costs(
    table: Table, tmp_path: Path, kind: str, error: str | None
) -> None:
    """The part that an attacker finds in it, and its error, are those that asking for it has."""
    question = laplace_questions(table)[kind]
    laplace, gaussian = (question.expect(epsilon=3, delta=1e-6, mechanism=m) for m in ("laplace", "gaussian"))
    with pytest.warns(WeakPromise, match='Or say mechanism="gaussian".') as caught:
        release = question.release(epsilon=3, delta=1e-6, mechanism="laplace")
    assert (release.strength.band, gaussian.strength.band) == ("very weak", "moderate")
    instead = release.strength.gaussian
    assert instead.found == gaussian.strength.found
    if error is not None:
        assert instead.error == pytest.approx(getattr(gaussian, error) / getattr(laplace, error))
    part = percent_at_most(gaussian.strength.found)
    told = f"it would be moderate: up to {part} %; the error would be {instead.error:.3g} times as large."
    assert told in str(caught[0].message)
    assert told in release.explain()
    assert told in release.report(tmp_path / "page.html", estimate=None).read_text()


def test_a_delta_of_zero_has_no_gaussian_noise_to_name(table: Table) -> None:
    expected = table.count(max_rows=1).expect(epsilon=3, delta=0)
    assert expected.strength is not None
    assert expected.strength.is_weak
    assert expected.strength.gaussian is None


def test_what_is_told_of_gaussian_noise_is_in_the_file(table: Table, tmp_path: Path) -> None:
    with pytest.warns(WeakPromise):
        release = table.count(max_rows=1).release(epsilon=5, delta=1e-6, mechanism="laplace")
    release.save(tmp_path / "r.parquet")
    loaded = ln.load(tmp_path / "r.parquet")
    assert loaded.strength == release.strength
    assert loaded.explain() == release.explain()
    assert "With Gaussian noise for the same epsilon and delta it would be moderate" in page(loaded, estimate=None)


@pytest.mark.parametrize("asked", [{"share": 1}, {"share": 1, "mechanism": "laplace"}, {"epsilon": 0.1, "delta": 0}])
def test_a_budget_with_a_delta_is_as_strong_whatever_noise_it_pays_for(
    table: Table, tmp_path: Path, asked: dict[str, Any]
) -> None:
    """Laplace noise pays its price in mu^2, so all releases together are held to the budget's mu."""
    budget = ln.Budget.open(tmp_path / "five.ledger", epsilon=5, delta=1e-6)
    question = table.count(max_rows=1)
    expected = question.expect(budget=budget, **asked)
    assert expected.strength == budget.strength
    assert expected.strength.band == "moderate"
    assert question.release(budget=budget, **asked).strength == budget.strength
