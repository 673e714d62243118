"""Ledgers with flipped bytes: refused, or no richer than they were."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import leastnoise as ln
from fuzzing import SEED, cases, damaged, survives
from leastnoise import errors

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ledger") / "city.ledger"
    budget = ln.Budget.open(path, epsilon=1, delta=1e-6, unit="taxi")
    for share in (0.25, 0.125, 0.125):
        ln.release(np.array([1, 2]), sensitivity=1, budget=budget, share=share)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ledgers")


@cases("ledgers", 330)
@given(SEED)
def test_a_damaged_ledger_is_never_richer(folder: Path, ledger: Path, seed: int) -> None:
    path = folder / "city.ledger"
    path.write_bytes(damaged(ledger.read_bytes(), random.Random(seed)))

    def look() -> Any:
        budget = ln.Budget.open(path)
        survives(budget.history)
        survives(budget.verify)
        survives(lambda: str(budget))
        return budget.remaining

    left = survives(look)
    if not isinstance(left, errors.LeastnoiseError):
        assert left.share <= 0.5
    path.unlink()
    assert {file.name for file in folder.iterdir()} <= {"city.ledger-journal"}
