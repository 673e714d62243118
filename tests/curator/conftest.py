"""A small budget, and tables of people and of taxi trips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.curator.table import Table


@pytest.fixture
def budget(tmp_path: Path) -> ln.Budget:
    return ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)


@pytest.fixture(scope="module")
def people() -> Table:
    rng = np.random.default_rng(1)
    n = 20_000
    frame = pd.DataFrame(
        {
            "person": rng.integers(0, 5000, n),
            "ward": rng.choice(["north", "east", "south"], n, p=[0.7, 0.25, 0.05]),
            "age": rng.integers(0, 100, n),
            "cost": rng.gamma(2.0, 30.0, n),
        }
    )
    return ln.table(frame, unit="person")


@pytest.fixture
def frame() -> pd.DataFrame:
    random = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "taxi": random.integers(0, 30, 300),
            "place": random.integers(0, 9, 300),
            "fare": random.normal(9, 3, 300),
        }
    )
