"""Numbers for people: so many digits, and never another number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise._support.number_format import about, rounded


@given(st.floats(-1e300, 1e300), st.integers(1, 12))
def test_a_rounded_number_is_within_half_a_unit_of_its_last_digit(number: float, digits: int) -> None:
    assert float(rounded(number, digits).replace(",", "")) == pytest.approx(number, rel=0.5001 * 10.0 ** (1 - digits))


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (-0.5, "-0.5"), (9999.6, "10,000"), (1e15, "1e+15"), (123456789, "123,500,000"), (float("inf"), "inf")],
)
def test_commas_and_exponents(number: float, text: str) -> None:
    assert rounded(number) == text


def test_an_estimated_error_has_two_digits() -> None:
    assert about(0.0512) == "about 0.051"
