"""Public parameters: what each may be, rounded toward privacy, and errors that carry what to give instead."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise import errors
from leastnoise._support import validation


@given(st.sampled_from([*validation.TOWARD_PRIVACY]), st.fractions(Fraction(1, 1000), Fraction(999, 1000)))
def test_a_number_that_is_no_double_goes_toward_privacy(name: str, exact: Fraction) -> None:
    double = Fraction(validation.number(name, exact))
    assert double >= exact if validation.TOWARD_PRIVACY[name] == "up" else double <= exact
    assert abs(double - exact) <= math.ulp(exact)


@given(st.floats(min_value=1e-300, max_value=0.5))
def test_a_double_stays_what_it_is(value: float) -> None:
    for name in validation.TOWARD_PRIVACY:
        assert validation.number(name, value) == value
        assert validation.numbers(name, np.array([value, value])).tolist() == [value, value]


@pytest.mark.parametrize(
    ("value", "zero"),
    [
        *((zero, True) for zero in (0, 0.0, -0.0, Fraction(0), Decimal(0), Decimal("0e5"), np.float32(0), np.int8(0))),
        *((other, False) for other in (1e-300, False, np.False_, None, "0", Decimal("nan"), Decimal("sNaN"))),
    ],
)
def test_zero_of_every_type_of_number_is_zero(value: Any, zero: bool) -> None:
    assert validation.is_zero(value) is zero


@pytest.mark.parametrize(
    ("name", "value", "mistake"),
    [
        ("epsilon", -1, errors.InvalidParameter),
        ("epsilon", math.nan, errors.InvalidParameter),
        ("epsilon", "one", errors.WrongType),
        ("epsilon", True, errors.WrongType),
        ("delta", 0, errors.InvalidParameter),
        ("delta", 1, errors.InvalidParameter),
        ("sensitivity", 0, errors.InvalidParameter),
        ("confidence", 1, errors.InvalidParameter),
        ("error", math.inf, errors.InvalidParameter),
    ],
)
def test_a_refusal_carries_the_parameter_its_value_and_an_example(name: str, value: Any, mistake: type) -> None:
    with pytest.raises(mistake) as refused:
        validation.number(name, value)
    problem: Any = refused.value
    assert problem.parameter == name
    assert problem.value == pytest.approx(value, nan_ok=True) if not isinstance(value, str) else problem.value == value
    (example,) = problem.examples
    validation.number(name, example[name])  # what is advised is accepted
    assert str(problem).endswith(f"Say {errors.as_argument(name, example[name])}.")


def test_the_first_bad_element_of_an_array_is_named() -> None:
    with pytest.raises(errors.InvalidParameter, match=r"Got -2\.0 at index 1, 0 instead"):
        validation.numbers("epsilon", [[1, 1], [-2, -3]])


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_a_whole_number_is_an_integer(value: Any) -> None:
    assert validation.integer("bins", np.int64(3)) == 3
    with pytest.raises(errors.WrongType, match="bins must be a whole number"):
        validation.integer("bins", value)


def test_an_l1_sensitivity_below_the_l2_one_is_refused() -> None:
    validation.check_norms(2.0, 2.0)
    with pytest.raises(errors.InvalidParameter, match="L2 <= L1 for every vector"):
        validation.check_norms(1.0, 2.0)
