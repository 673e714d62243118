"""A promise too weak is called weak: before anything is paid or read, from public facts alone."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
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
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = table.count(max_rows=1).release(budget=strong, share=1)
    assert release.strength.of_budget
    assert "whole budget is strong" in str(table.count(max_rows=1).expect(budget=strong, share=0.5))


def test_the_warning_comes_before_anything_is_paid_or_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from leastnoise.curator import publish

    table = ln.table(pd.DataFrame({"who": [1]}), unit="who")
    weak = ln.Budget.open(tmp_path / "weak.ledger", epsilon=100, delta=1e-6)
    monkeypatch.setattr(publish, "_read", lambda *_: pytest.fail("rows were read"))
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
    limits = "limits what anybody can learn"
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
