"""Sums and means of vectors."""

from __future__ import annotations

import pytest

from leastnoise import errors
from leastnoise.curator.table import Table
from queries_of_every_kind import ASK, query_of


def test_components_of_a_vector_have_no_mean_over_all(people: Table) -> None:
    with pytest.raises(errors.InvalidParameter, match="no bins"):
        query_of("vector", people).release(**ASK).overall()


def test_vector_means(people: Table) -> None:
    made = query_of("vector", people).release(**ASK)
    assert made.bins == 2
    assert made.counts.size == 1
    assert (made.interval().low < made.interval().high).all()
    assert made.to_pandas()["component"].tolist() == [0, 1]
