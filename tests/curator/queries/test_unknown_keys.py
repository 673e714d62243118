"""Keys that nobody listed: only large bins show, with intervals that hold given that they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import leastnoise as ln
from drawing import counted
from leastnoise import errors
from leastnoise.curator.queries import unknown_keys
from leastnoise.report.document import page
from leastnoise.testing import aggregate, seeded
from queries_of_every_kind import ASK


def test_unknown_keys_show_the_large_bins_only() -> None:
    frame = pd.DataFrame({"p": range(5000), "k": ["big"] * 4000 + ["mid"] * 999 + ["tiny"]})
    made = ln.table(frame, unit="p").histogram("k", max_rows=1).release(**ASK)
    assert made.to_pandas()["k"].tolist() == ["big", "mid"]
    two = ln.table(frame.assign(j=1), unit="p").histogram("k", "j", max_rows=1).release(**ASK)
    assert two.to_pandas()[["k", "j"]].to_numpy().tolist() == [["big", 1], ["mid", 1]]
    nulls = frame.assign(k=frame["k"].where(frame["k"] != "big", None))
    with_bin = ln.table(nulls, unit="p").histogram("k", max_rows=1, nulls="bin").release(**ASK)
    assert with_bin.to_pandas()["k"].tolist()[0] == "mid"
    assert with_bin.bins == 2


def test_keys_that_come_in_parts_keep_their_counts_and_have_noise_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty keys by sevens, 30, 40, ... rows: in the order of keys, each within 15 of its count (noise of 1.5). Noise
    is drawn in that order, whichever keys are large."""
    monkeypatch.setattr(unknown_keys, "BATCH_KEYS", 7)
    sizes = 30 + 10 * np.arange(20)

    def released(sizes: Any) -> Any:
        frame = pd.DataFrame({"p": range(sizes.sum()), "k": np.repeat(np.arange(20), sizes)[::-1]})
        with seeded(24):
            return ln.table(frame, unit="p").histogram("k", max_rows=1).release(epsilon=0.9, delta=1e-7)

    made = released(sizes)
    assert made.to_pandas()["k"].tolist() == list(range(20))
    noise = made.values - sizes
    assert np.abs(noise).max() < 15
    assert all(len(set(noise[begin : begin + 7])) > 1 for begin in (0, 7, 14))
    assert (released(sizes[::-1]).values - sizes[::-1] == noise).all()


def test_intervals_of_bins_that_showed_hold_given_that_they_do() -> None:
    """3,000 bins with true counts around the threshold: of those that show, 90 % intervals hold at least so often that
    less would have a chance below 1e-7; plain ones (value +- half-width) fail clearly."""
    truth = np.tile([1, 10, 15, 20, 25, 60], 4000)
    with seeded(6):
        made = counted(truth, range(truth.size))
    shown = truth[[made.domain.key(i) for i in range(made.bins)]]
    low, high = made.interval(0.9)
    covered = ((low <= shown) & (shown <= high)).sum()
    assert covered >= binom.ppf(1e-7, made.bins, 0.9)
    plain = np.abs(made.values - shown) <= made.distribution.half_width(0.9)
    near = shown < 22
    assert plain[near].mean() < 0.8
    assert ((low <= shown) & (shown <= high))[near].mean() >= 0.88
    total = made.total(confidence=0.95)
    assert total.low <= shown.sum() <= total.high
    with pytest.raises(errors.InvalidParameter, match="list the keys"):
        made.denoise("james_stein")
    assert "too high on average" in made.explain()


def test_others_are_the_total_less_what_shows() -> None:
    """With a fixed seed: the truth lies between ends of 99 %."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"p": np.arange(9000) % 5000, "k": [f"k{rank}" for rank in rng.zipf(1.6, 9000)]})
    query = ln.table(frame, unit="p").histogram("k", max_rows=2, max_per_bin=1)
    exact = aggregate(query)
    counts = dict(zip(exact.keys or (), exact.values.tolist(), strict=True))
    total = query.total()  # type: ignore[attr-defined]
    assert aggregate(total).values.tolist() == [sum(counts.values())]
    assert total.sensitivity.l2 == 2
    with seeded(5):
        made = query.release(epsilon=1, delta=1e-6)
        whole = total.release(epsilon=1, delta=1e-6)
    truth = sum(count for key, count in counts.items() if key not in set(made.to_pandas()["k"]))
    others = made.others(whole, 0.99)
    assert others.low <= truth <= others.high
    assert 0 < others.value < sum(counts.values())
    with pytest.raises(errors.InvalidParameter, match="same question"):
        made.others(ln.table(frame, unit="p").count(max_rows=1).release(**ASK))
    with pytest.raises(errors.InvalidParameter, match="no others"):
        whole.others(whole)


def test_the_total_of_another_question_says_nothing_of_others() -> None:
    frame = pd.DataFrame({"p": range(600), "k": [*"abc"] * 200, "j": [*"de"] * 300, "m": [1, 2] * 300})

    def ask(*by: str, table: Any = None, unit: str = "p", **options: Any) -> Any:
        return (ln.table(frame, unit=unit) if table is None else table).histogram(*by, **({"max_rows": 2} | options))

    people = ln.table(frame, unit="p")
    made = ask("k").release(**ASK)
    others = [
        ask("j"),
        ask("k", "j"),
        ask("k", max_rows=3),
        ask("k", max_per_bin=1),
        ask("k", nulls="bin"),
        ask("k", unit="m"),
        ask("k", table=people.where("m = 1")),
        ask("k", table=people.derive(k="case when m = 1 then k end")),
        ask("k", table=ln.table(frame, unit="p", neighbours="replace")),
        ask("k", table=ln.table(frame.assign(k=frame["m"]), unit="p")),
        ask("k", table=ln.table(frame.assign(p=frame["p"].astype(str)), unit="p")),
        ask("k", table=ln.table(frame, unit="p", name="may")),
    ]
    for other in others:
        with pytest.raises(errors.InvalidParameter, match=r"same question.*query\.total"):
            made.others(other.total().release(**ASK))
    for wrong in (10_000, made.total()):
        with pytest.raises(errors.WrongType, match=r"total must be a release.*query\.total"):
            made.others(wrong)
    with pytest.raises(errors.InvalidParameter, match="same question"):
        made.others(made)
    assert made.others(ask("k").total().release(**ASK)).low <= 0


def test_a_missing_number_changes_nothing_of_the_question() -> None:
    """The kinds of columns are in it, and it is public."""
    whole = pd.DataFrame({"p": range(9), "k": range(9)})
    missing = pd.DataFrame({"p": pd.array([None, *range(8)], "Int64"), "k": pd.array([None, *range(8)], "Int64")})
    asked = {ln.table(rows, unit="p").histogram("k", max_rows=1).describe() for rows in (whole, missing)}
    kept = "one p keeps at most 1 row, 1 in a bin, 1 bin"
    assert asked == {f"rows by k (unknown keys: k integer, p integer); {kept}; neighbours add-remove"}


def test_a_unit_moves_the_total_by_its_rows_at_most() -> None:
    frame = pd.DataFrame({"p": [1] * 9 + [2, 3], "k": [*"abcdefghi", "a", "b"]})
    for limits in ({"max_rows": 4}, {"max_rows": 4, "max_bins": 2}):
        counts = []
        for one in (frame, frame[frame["p"] != 1]):
            query = ln.table(one, unit="p").histogram("k", **limits)
            counts.append(int(aggregate(query.total()).values[0]))  # type: ignore[attr-defined]
        assert counts[0] - counts[1] == min(limits["max_rows"], limits.get("max_bins", 99) * 1)
    empty = ln.table(frame.iloc[:0], unit="p").histogram("k", max_rows=4)
    assert aggregate(empty.total()).values.tolist() == [0]  # type: ignore[attr-defined]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_the_file_says_what_the_noise_hides(tmp_path: Path, mechanism: Any, neighbours: Any) -> None:
    """So that the promise follows from the file: mu from sigma and L2, epsilon from the scale and L1."""
    rows = pd.DataFrame({"who": np.arange(600) // 3, "zone": ["a"] * 600})
    question = ln.table(rows, unit="who", neighbours=neighbours).histogram("zone", max_rows=3, max_per_bin=2)
    question.release(epsilon=1, delta=1e-6, mechanism=mechanism).save(tmp_path / "r.parquet")
    made = ln.load(tmp_path / "r.parquet")
    twice = 2 if neighbours == "replace" else 1
    assert (made.sensitivity, made.l1_sensitivity) == (pytest.approx((5 * twice) ** 0.5), 3 * twice)
    shown = page(made, estimate=None)
    if mechanism == "laplace":
        assert made.l1_sensitivity / made.scale == pytest.approx(1)
        assert f"print({made.l1_sensitivity!r} / {made.scale!r})" in shown
    else:
        assert ln.GaussianDP.of(sigma=made.scale, sensitivity=made.sensitivity).mu == made.strength.mu
        assert f"ln.GaussianDP.of(sigma={made.scale!r}, sensitivity={made.sensitivity!r})" in shown
