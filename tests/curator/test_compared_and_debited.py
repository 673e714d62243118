"""What `ln.compare` says a mechanism costs of a budget is what its release is debited, for every kind of question."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors
from queries_of_every_kind import ASK, KINDS, WARDS, query_of

DRAWN = ("gaussian", "laplace", "exponential")  # the others are shown to be compared with, and never drawn


def people() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    columns = {"ward": rng.choice(WARDS, 200), "age": rng.integers(0, 99, 200), "cost": rng.uniform(0, 200, 200)}
    return pd.DataFrame({"person": np.arange(200), **columns})


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_compared_is_what_is_debited(kind: str, tmp_path: Path) -> None:
    query = query_of(kind, ln.table(people(), unit="person"))
    compared = [row for row in ln.compare(query, **ASK).rows if row.mechanism in DRAWN]
    debited = 0
    for number, row in enumerate(compared):
        budget = ln.Budget.open(tmp_path / f"{number}.ledger", epsilon=8, delta=1e-5, threshold_delta=1e-6)
        try:
            query.release(budget=budget, mechanism=row.mechanism, **ASK)
        except errors.InvalidParameter:
            assert kind == "sparse"  # of a domain this large there is Gaussian noise alone
            assert row.mechanism == "laplace"
            continue
        spent = float(budget.history()[-1].gaussian * budget.terms.mu**2)
        if (kind, row.mechanism) == ("quantile", "laplace"):
            assert spent < row.budget_cost  # it is compared as anything epsilon-DP, and debited by its own curve
        else:
            assert spent == pytest.approx(row.budget_cost, rel=1e-6)
        debited += 1
    assert debited >= 1
