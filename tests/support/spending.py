"""How the tests spend from a budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget.charge import Charge
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.vector_noise import VectorPlan, VectorPlanner

COUNTS = np.array([120, 0, 45])


def spend(budget: ln.Budget, **how: Any) -> ln.Release:
    return ln.release(COUNTS, sensitivity=1, budget=budget, **how)


def spend_on_unknown_keys(budget: ln.Budget, *, people: int, **how: Any) -> Any:
    """Of so many people, all in one bin that nobody listed."""
    rows = pa.table({"person": range(people), "ward": ["a"] * people})
    return ln.table(rows, unit="person", name="people").histogram("ward", max_rows=1).release(budget=budget, **how)


def charge(budget: ln.Budget, *, share: Any) -> Charge[VectorPlan]:
    """Of one count, decided and not paid."""
    return decide(PrivacyRequest(budget=budget, share=share), VectorPlanner.of(bins=1, integers=True, sensitivity=1))


def close(budget: ln.Budget) -> str:
    """As a release whose rows could not be read leaves it."""
    receipt = charge(budget, share=0.1).pay(query="counts")
    error = receipt.close(errors.ReadingFailed("the rows could not be read."))
    assert isinstance(error, errors.ReadingFailed)
    assert "reopen" in str(error)
    return receipt.id
