"""A ledger to be spoilt."""

from __future__ import annotations

from pathlib import Path

import pytest

import leastnoise as ln


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "city.ledger"
    ln.Budget.open(place, epsilon=1, delta=1e-6)
    return place
