"""The drawing of a budget's spending: what every entry left can be seen."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from leastnoise.report.spending_picture import spending


@pytest.mark.parametrize("hours", [1, 48])
def test_what_the_last_entry_left_has_a_width_and_its_name(hours: int) -> None:
    begun = datetime(2026, 3, 1, 9, tzinfo=UTC)
    entries = [
        SimpleNamespace(created_at=begun + place * timedelta(hours=hours), allocation=None, kind="release", mu=share)
        for place, share in enumerate((0.05, 0.4))
    ]
    drawn = spending(entries, "mu")
    corners = [tuple(map(float, point.split(","))) for point in re.findall(r"[\d.]+,[\d.]+", drawn)]
    highest = [x for x, y in corners if y == min(y for _, y in corners)]
    assert max(highest) - min(highest) > 10
    for name in ("entry 1", "entry 2") if hours == 1 else ("2026-03-01", "2026-03-03"):
        assert f">{name}<" in drawn


def test_of_many_entries_the_first_and_the_last_are_named_and_of_none_none() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    entries = [SimpleNamespace(created_at=now, allocation=None, kind="release", mu=0.01) for _ in range(30)]
    assert re.findall(r"entry \d+", spending(entries, "mu")) == ["entry 1", "entry 30"]
    assert "no entry yet" in spending([], "mu")
