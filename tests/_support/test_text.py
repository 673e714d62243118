"""Numbers for people: so many digits, and never another number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise._support.text import about, digits_beside, rounded


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


@given(st.floats(1e-3, 1e9), st.floats(-0.9, 3))
def test_an_error_is_shown_on_its_side_of_what_is_known(known: float, apart: float) -> None:
    """To four digits both are in their order or alike; to fewer, rounding is a tenth of what is between them."""
    error = known * (1 + apart)
    shown = [float(rounded(number, digits).replace(",", "")) for number, digits in
             ((error, digits_beside(error, known)), (known, 4))]  # fmt: skip
    assert shown == sorted(shown, reverse=apart > 0) or shown[0] == pytest.approx(shown[1], rel=1e-12)
