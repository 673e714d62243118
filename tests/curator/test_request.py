"""How private: said in one way, and refused where it contradicts itself."""

from __future__ import annotations

from typing import Any

import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.request import PrivacyRequest
from spending import COUNTS


def test_a_share_needs_a_budget_and_a_budget_an_open_one() -> None:
    with pytest.raises(errors.MissingParameter, match="budget="):
        ln.release(COUNTS, sensitivity=1, share=0.5)
    with pytest.raises(errors.WrongType, match=r"Budget\.open"):
        ln.release(COUNTS, sensitivity=1, share=0.5, budget="city.ledger")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "How much of the budget"),
        (
            {"share": 0.1, "epsilon": 1, "delta": 1e-6},
            "A share already fixes the noise, so epsilon and delta cannot",
        ),
        ({"share": 0.1, "sigma": 3}, "A share already fixes the noise, so sigma cannot"),
        ({"sigma": 3, "epsilon": 1}, "sigma already fixes the noise"),
        ({"sigma": 3, "delta": 1e-6}, "sigma already fixes the noise"),
    ],
)
def test_a_request_says_in_one_way_how_private(budget: ln.Budget, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.InvalidParameter, match=words):
        PrivacyRequest(budget=budget, **asked)


def test_a_threshold_takes_no_sigma_and_a_delta() -> None:
    with pytest.raises(errors.InvalidParameter, match="leave sigma out"):
        PrivacyRequest(sigma=3).for_unknown_keys()
    for mechanism in ("auto", "gaussian", "laplace"):
        asked = PrivacyRequest(epsilon=1, delta=1e-6, mechanism=mechanism)  # type: ignore[arg-type]
        assert asked.for_unknown_keys() == asked
    with pytest.raises(errors.InvalidParameter, match="leave mechanism and sigma out"):
        PrivacyRequest(epsilon=1, delta=1e-6, mechanism="laplace").with_threshold("Sparse")
    with pytest.raises(errors.InvalidParameter, match="list the keys"):
        PrivacyRequest(epsilon=1, delta=0).for_unknown_keys()
    with pytest.raises(errors.MissingParameter, match="How private"):
        PrivacyRequest(epsilon=1).for_unknown_keys().promise()
