"""A proposed clip as a release: saved and loaded whole, in words, and what it says where noise hides the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.releases.clip_suggestion import Part
from leastnoise.testing import seeded


def suggested(rows: int = 5000, epsilon: float = 1.0, **given: Any) -> ln.ClipSuggestion:
    values = np.random.default_rng(1).gamma(2, 9, rows)
    table = ln.table(pd.DataFrame({"person": np.arange(rows), "fare": values}), unit="person", name="trips")
    with seeded(1):
        return table.suggest_clip("fare", within=(0, 200), max_rows=1, epsilon=epsilon, delta=1e-6, **given)


@pytest.mark.parametrize("levels", [(0.005, 0.995), (0, 0.99), (0.1, 1)])
def test_what_is_saved_comes_back(tmp_path: Path, levels: tuple[float, float]) -> None:
    found, path = suggested(levels=levels), tmp_path / "clip.parquet"
    with pytest.raises(errors.SeededRelease):
        found.save(path)
    found.save(path, allow_seeded=True)
    back = ln.load(path)
    assert isinstance(back, ln.ClipSuggestion)
    assert (back.clip, back.clip.chosen_with) == (found.clip, found.id)
    assert (back.beyond, back.explain(), repr(back)) == (found.beyond, found.explain(), repr(found))
    assert back.to_arrow().equals(found.to_arrow())


def test_it_says_what_lies_beyond_and_what_that_can_do() -> None:
    found = suggested()
    words = found.explain()
    assert f"above it: {found.beyond.above.in_words()}" in words
    assert "whatever the values beyond are" in words
    assert "SEEDED" in repr(found)
    frame = found.to_pandas()
    assert frame["value"].tolist() == list(found.clip)
    assert frame["beyond_at_most"].tolist() == [part.high for part in found.beyond]


def test_where_noise_hides_every_row_nothing_is_claimed() -> None:
    found = suggested(rows=20, epsilon=0.001)
    assert max(part.high for part in found.beyond if part.high > 0) == 1
    shift, (low, high) = found.mean_shift(), found.clip
    assert shift.high >= 200 - high
    assert -shift.low >= low


def test_parts_are_rounded_outwards() -> None:
    assert Part(0.0012, 0.00101, 0.00201).in_words() == "0.12% (0.1 to 0.21)"
    assert Part(0.5, 0.0, 1.0).in_words() == "50% (0 to 100)"
    assert Part(0.0, 0.0, 0.0).in_words() == "none"
