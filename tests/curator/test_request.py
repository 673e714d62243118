"""How private: said in one way, and refused where it contradicts itself."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa
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
    with pytest.raises(errors.MissingParameter, match="needs its delta"):
        PrivacyRequest(epsilon=1).for_unknown_keys().promise()


def asked_with_epsilon_zero() -> dict[str, Any]:
    rows = pa.table({"p": [1, 2, 3], "k": ["a", "b", "a"], "v": [1.0, 2.0, 3.0]})
    table, one = ln.table(rows, unit="p"), {"max_rows": 1}
    return {
        "count": table.count(max_rows=1),
        "histogram": table.histogram("k", keys=["a", "b"], **one),
        "unknown keys": table.histogram("k", **one),
        "mean": table.mean("v", clip=(0, 5), **one),
        "quantile": table.quantile("v", clip=(0, 5), levels=[0.5], **one),
        "crosstabs": table.crosstabs(ways=1, keys={"k": ["a", "b"]}, **one),
        "summary": table.summarize("k", keys=["a", "b"], rows=ln.stats.count(), **one),
    }


@pytest.mark.parametrize("kind", asked_with_epsilon_zero())
def test_the_noise_of_epsilon_zero_is_said_before_it_is_paid_for(kind: str) -> None:
    question = asked_with_epsilon_zero()[kind]
    words = (
        "At epsilon = 0 delta alone is the guarantee, and Gaussian noise is 398,900 times the sensitivity; at epsilon "
        "= 0.1 it is 36.3 times."
    )
    assert ln.sigma(epsilon=0, delta=1e-6) == pytest.approx(398_942.28, rel=1e-6)
    assert words in str(question.expect(epsilon=0, delta=1e-6))
    with pytest.warns(errors.Wasteful, match="At epsilon = 0 delta alone"):
        question.release(epsilon=0, delta=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "At epsilon = 0" not in str(question.expect(epsilon=0.1, delta=1e-6))
        question.release(epsilon=0.1, delta=1e-6)


def test_the_noise_of_epsilon_zero_is_said_of_vectors() -> None:
    with pytest.warns(errors.Wasteful, match="At epsilon = 0 delta alone"):
        made = ln.release(COUNTS, sensitivity=1, epsilon=0, delta=1e-6)
    assert "at epsilon = 0 delta alone is the guarantee" in made.explain()
    with pytest.warns(errors.Wasteful, match="At epsilon = 0 delta alone"):
        ln.release_sparse([1], [5], domain_size=100, sensitivity=1, epsilon=0, delta=1e-3)
