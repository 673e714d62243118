"""Keys that differ by case alone are bins of their own, and whoever declares or reads them is told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import report
from leastnoise.domain.product import differ_by_case
from leastnoise.testing import seeded

TOLD = 'The keys "Other" and "other" differ by case or blanks alone, and are bins of their own.'
ROWS = pd.DataFrame({"who": range(200), "town": ["Other", "other"] * 100})


def test_declaring_them_warns_of_public_facts() -> None:
    table = ln.table(ROWS.iloc[:0], unit="who")
    with pytest.warns(ln.errors.Wasteful, match='The keys "Other" and "other" differ by case'):
        table.histogram("town", keys=["Other", "other", "Pool"], max_rows=1)
    with pytest.warns(ln.errors.Wasteful, match="1 more like them"):
        ln.domain.product(["town"], ["Other", "other", "Pool", "pool"])


def test_found_keys_that_are_alike_are_told_on_the_page() -> None:
    with seeded(1):
        made = ln.table(ROWS, unit="who").histogram("town", max_rows=1).release(epsilon=5, delta=1e-6)
    assert made.bins == 2
    assert TOLD.replace('"', "&#34;") in report.page(made)


def test_others_are_not_told() -> None:
    assert differ_by_case(["a", "b", 1, np.int64(1), None, "A b"]) == []
