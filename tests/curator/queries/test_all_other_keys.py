"""What keys that do not show have together, released with those that do: `histogram(..., others=0.1)`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import leastnoise as ln
from drawing import shown
from leastnoise import errors
from leastnoise.curator.queries import unknown_keys
from leastnoise.curator.queries.unknown_keys import TOTAL, UnknownCounts
from leastnoise.curator.release import Batch
from leastnoise.curator.request import PrivacyRequest
from leastnoise.releases.block import Block
from leastnoise.releases.measured import ROWS
from leastnoise.releases.noise import Noise
from leastnoise.releases.selected import ALL_KEYS, LABEL
from leastnoise.testing import aggregate, seeded
from page_parser import Page
from queries_of_every_kind import ASK


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    ranks = rng.zipf(1.6, 9000)
    return pd.DataFrame({"p": np.arange(9000) % 5000, "k": [f"k{rank}" for rank in ranks], "n": ranks})


def ask(*by: str, **options: Any) -> Any:
    return ln.table(frame(), unit="p").histogram(*(by or ("k",)), **({"max_rows": 2, "others": 0.1} | options))


def made(**options: Any) -> Any:
    with seeded(5):
        return ask(**options).release(**ASK)


def test_the_total_is_of_all_keys_and_the_others_are_what_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts of seven keys, too. The noise is below ten standard deviations, and the interval is of 99 %."""
    monkeypatch.setattr(unknown_keys, "BATCH_KEYS", 7)
    release, exact = made(), aggregate(ask())
    counts = dict(zip(exact.keys or (), exact.values.tolist(), strict=True))
    assert abs(release.all_keys.numbers[0] - sum(counts.values())) < 10 * release.all_keys.value_noise.std
    truth = sum(count for key, count in counts.items() if key not in set(release.domain.axes[0].values))
    others = release.others(confidence=0.99)
    assert others.low <= truth <= others.high
    assert others.value == max(release.all_keys.numbers[0] - release.total().value, 0)


def test_a_unit_moves_the_total_by_its_rows_at_most() -> None:
    """The exact total that noise is added to, with and without one unit of nine rows in nine keys of its own."""
    rows = pd.DataFrame({"p": [1] * 9 + [2, 3], "k": [*"abcdefghi", "a", "b"]})
    for limits, most in (({"max_rows": 4}, 4), ({"max_rows": 4, "max_bins": 2, "max_per_bin": 1}, 2)):
        totals = []
        for one in (rows, rows[rows["p"] != 1], rows.iloc[:0]):
            query = ln.table(one, unit="p").histogram("k", others=0.1, **limits)
            assert isinstance(query, UnknownCounts)
            totals.append(query.measure(query.decide(PrivacyRequest(**ASK)).charge.plan).total)
        assert totals[0] - totals[1] == most  # type: ignore[operator]
        assert totals[2] == 0


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_the_total_has_the_noise_that_it_is_told_with(mechanism: Any) -> None:
    """4,000 draws: their variance is within 20 %, which Laplace's leaves with a chance below 1e-7; the largest stays
    within 64 bits."""
    query = ask()
    plan = query.decide(PrivacyRequest(**ASK, mechanism=mechanism)).charge.plan
    noise = Noise(mechanism, plan.scales[TOTAL], 1.0)

    def noisy_total(exact: int) -> int:
        return int(query.draw(plan, Batch({}, total=exact)).blocks[TOTAL][0])

    with seeded(8):
        drawn = np.array([noisy_total(1000) for _ in range(4000)])
        assert noisy_total(2**70) < 2**63
    assert abs(np.var(drawn - 1000) / noise.std**2 - 1) < 0.2


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_intervals_of_the_others_hold(mechanism: Any) -> None:
    """120 releases of 300 keys around the threshold: at 90 % so few hold with a chance below 1e-7."""
    query = ask()
    plan = query.decide(PrivacyRequest(**ASK, mechanism=mechanism)).charge.plan
    truth = np.round(900 / np.arange(1, 301)).astype(np.int64)
    held = 0
    with seeded(3):
        for _ in range(120):
            one = shown(query, plan, {ROWS: truth}, range(300))
            others = one.others(confidence=0.9)
            held += others.low <= truth.sum() - truth[list(one.domain.keys())].sum() <= others.high
    assert held >= binom.ppf(1e-7, 120, 0.9)


def test_one_debit_pays_for_both(tmp_path: Path) -> None:
    """A share costs what it costs without the total, and both have more noise for it."""
    for mechanism in ("gaussian", "laplace"):
        budget = ln.Budget.open(tmp_path / f"{mechanism}.ledger", epsilon=2, delta=1e-6, threshold_delta=1e-7)
        release = ask().release(budget=budget, share="1/4", mechanism=mechanism)
        alone = ask(others=None).expect(budget=budget, share="1/4", mechanism=mechanism)
        entry = budget.history()[-1]
        assert entry.share == 0.25
        assert "all of them together" in entry.query
        assert release.all_keys is not None
        assert release.std > alone.std
        assert release.threshold > alone.threshold
        told = ask().expect(budget=budget, share="1/4", mechanism=mechanism)
        assert (told.std, told.threshold) == (release.std, release.threshold)
        assert "The total of all keys, shown or not" in str(told)


@pytest.mark.parametrize("by", ["k", "n"])
def test_everything_that_is_shown_has_the_others(by: str, tmp_path: Path) -> None:
    with seeded(5):
        release = ask(by).release(**ASK)
    release.save(tmp_path / "r.parquet", allow_seeded=True)
    loaded = ln.load(tmp_path / "r.parquet")
    others = loaded.others()
    assert others == release.others()
    sentence = f"Keys that do not show have about {others.value:,.0f} rows together, between {others.low:,.0f}"
    for text in (str(loaded), loaded.explain(), loaded.errors_in_words(), loaded._repr_html_()):
        assert sentence in text
    table = loaded.to_pandas()
    assert len(table) == loaded.bins + 1
    last = table.iloc[-1]
    assert (last[by] == LABEL) if by == "k" else pd.isna(last[by])
    assert tuple(last[["value", "low", "high"]]) == (others.value, others.low, others.high)
    assert loaded.to_polars().height == len(table)
    loaded.to_csv(tmp_path / "r.csv", estimate=loaded.denoise(), allow_seeded=True)
    written = (tmp_path / "r.csv").read_text(encoding="utf-8").splitlines()
    assert written[-1] == f'"{LABEL}",{others.value:.0f},{others.low:.0f},{others.high:.0f},'
    text = loaded.report(tmp_path / "r.html", allow_seeded=True).read_text(encoding="utf-8")
    below_the_chart = text.partition('id="chart"')[2].partition('id="numbers"')[0]
    assert below_the_chart.count(sentence) == 1
    page = Page(text)
    assert len(page.columns["Published"]) == loaded.bins  # a row of the table, and none of the chart
    assert page.found["tables"][0]["foot"] == {"name": LABEL} | {
        name: getattr(others, name) for name in ("value", "low", "high")
    }
    assert sentence in " ".join(loaded.plot().figure.texts[-1].get_text().split())


def test_no_key_shows_and_all_are_others(tmp_path: Path) -> None:
    few = pd.DataFrame({"p": range(9), "k": [*"abcdefghi"]})
    release = ln.table(few, unit="p").histogram("k", max_rows=1, others=0.5).release(**ASK)
    assert release.bins == 0
    assert release.others().value == max(release.all_keys.numbers[0], 0)
    assert release.to_pandas()["k"].tolist() == [LABEL]
    assert "Keys that do not show" in str(release)
    release.to_csv(tmp_path / "none.csv")
    assert LABEL in release.report(tmp_path / "none.html").read_text(encoding="utf-8")


def test_it_is_refused_where_it_means_nothing() -> None:
    with pytest.raises(errors.InvalidParameter, match="nobody listed, and these are"):
        ask(keys=["k1"])
    for wrong in (0, 1, 2.5, True):
        with pytest.raises(errors.LeastnoiseError, match="others"):
            ask(others=wrong)
    with pytest.raises(errors.WrongType, match="a number or a fraction"):
        ask(others="a tenth")
    with pytest.raises(errors.MissingParameter, match=r"no total of all keys.*others=0\.1"):
        made(others=None).others()
    assert ask(others="1/10").with_total.part == ask(others=Fraction(1, 10)).with_total.part == Fraction(1, 10)


def test_a_file_with_a_total_beside_listed_keys_is_not_ours(tmp_path: Path) -> None:
    listed = ln.release(np.arange(3), sensitivity=1, epsilon=1, delta=1e-6)
    wrong = replace(listed, blocks={**listed.blocks, ALL_KEYS: Block(np.array([3]), (), listed.noise)})
    wrong.save(tmp_path / "r.parquet")
    with pytest.raises(errors.NotOurs, match="blocks"):
        ln.load(tmp_path / "r.parquet")


def test_comparison_has_the_noise_that_is_drawn() -> None:
    rows = {row.mechanism: row for row in ln.compare(ask(), **ASK).rows}
    for mechanism in ("gaussian", "laplace"):
        assert rows[mechanism].std == ask().expect(**ASK, mechanism=mechanism).std
        alone = {row.mechanism: row for row in ln.compare(ask(others=None), **ASK).rows}
        assert rows[mechanism].std > alone[mechanism].std
