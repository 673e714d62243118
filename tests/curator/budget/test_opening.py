"""Opening a budget: which limits make one, and an existing one keeps its own."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise import errors
from spending import COUNTS, spend


@pytest.mark.parametrize("zero", [0, 0.0, Fraction(0), Decimal(0), np.float32(0)])
def test_a_delta_of_0_is_0_however_it_is_written(tmp_path: Path, zero: Any) -> None:
    both = ln.Budget.open(tmp_path / "both", epsilon=1, delta=1e-6, pure_epsilon=0.5, threshold_delta=zero)
    made = ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, epsilon=0.25, delta=zero, budget=both)
    assert (made.mechanism, both.history()[0].pure) == ("laplace", Fraction(1, 2))
    ln.Budget.open(tmp_path / "pure", epsilon=1, delta=zero, pure_epsilon=1)
    assert ln.Budget.open(tmp_path / "pure", epsilon=1, delta=zero, pure_epsilon=1).terms.delta == 0


def test_a_budget_of_epsilon_0_is_gaussian(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=0, delta=1e-3)
    assert spend(budget, share=1).sigma == ln.sigma(epsilon=0, delta=1e-3)


def test_an_existing_budget_needs_no_limits_and_refuses_others(tmp_path: Path) -> None:
    path = tmp_path / "b"
    ln.Budget.open(path, epsilon=3, delta=1e-6, threshold_delta=1e-7, unit="taxi", table="trips", neighbours="replace")
    ln.Budget.open(path)
    same = {"epsilon": 3.0, "delta": Decimal("1e-6"), "threshold_delta": 1e-7, "unit": "taxi", "table": "trips"}
    ln.Budget.open(path, **same)  # type: ignore[arg-type]
    for change in (
        {"epsilon": 4},
        {"delta": 1e-5},
        {"pure_epsilon": 1},
        {"threshold_delta": 0},
        {"threshold_delta": 2e-7},
        {"unit": "person"},
        {"table": "other"},
        {"neighbours": "add-remove"},
    ):
        with pytest.raises(errors.BudgetMismatch, match=next(iter(change))):
            ln.Budget.open(path, **(same | change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "limits",
    [
        {"epsilon": -1, "delta": 1e-6},
        {"epsilon": 1, "delta": 2},
        {"epsilon": 1},
        {"delta": 1e-6},
        {"epsilon": 0},
        {"epsilon": 1, "delta": 1e-6, "pure_epsilon": 2},
        {"epsilon": 1, "delta": 1e-6, "threshold_delta": 1e-6},
        {"epsilon": 1, "pure_epsilon": 1, "threshold_delta": 1e-7},
        {"epsilon": 1, "delta": 1e-6, "neighbours": "add"},
        {"epsilon": 1, "delta": 1e-6, "unit": 5},
        {"epsilon": 1, "delta": 1e-6, "unit": "ta\0xi"},
        {"epsilon": 1, "delta": 1e-6, "table": "\ud83d"},
    ],
)
def test_limits_that_make_no_budget_make_no_file(tmp_path: Path, limits: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidParameter):
        ln.Budget.open(tmp_path / "b", **limits)
    assert list(tmp_path.iterdir()) == []
