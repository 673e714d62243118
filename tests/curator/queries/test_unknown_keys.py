"""Keys that nobody listed: only large bins show, with intervals that hold given that they do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import leastnoise as ln
from leastnoise import errors
from leastnoise.privacy.sensitivity import Limits
from leastnoise.testing import seeded
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


def test_intervals_of_bins_that_showed_hold_given_that_they_do() -> None:
    """3,000 bins with true counts around the threshold: of those that show, 90 % intervals hold at least so often that
    less would have a chance below 1e-7; plain ones (value +- half-width) fail clearly."""
    from leastnoise.curator.mechanism import publish_unknown
    from leastnoise.privacy import partition_selection

    truth = np.tile([1, 10, 15, 20, 25, 60], 4000)
    one = Limits.of(max_rows=1, bins=None)
    cut = partition_selection.choose(epsilon=1, delta=1e-6, limits=one)
    with seeded(6):
        made = publish_unknown(range(truth.size), truth, cut, ln.ApproxDP(1, 1e-6), ["bin"])
    shown = truth[[made.domain.key(i) for i in range(made.bins)]]  # type: ignore[union-attr]
    low, high = made.interval(0.9)
    covered = ((low <= shown) & (shown <= high)).sum()
    assert covered >= binom.ppf(1e-7, made.bins, 0.9)
    plain = np.abs(made.values - shown) <= made.distribution.half_width(0.9)
    near = shown < 22
    assert plain[near].mean() < 0.8
    assert ((low <= shown) & (shown <= high))[near].mean() >= 0.88
    total = made.total(confidence=0.95)
    assert total.low <= shown.sum() <= total.high
    with pytest.raises(errors.InvalidParameter, match="List the keys"):
        made.denoise()
    assert "too high on average" in made.explain()
