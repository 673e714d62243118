"""sigma, epsilon, delta: the published figures, the 170-point grid, and every bad input."""

from __future__ import annotations

import csv
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.privacy.calibration import proof


def _grid(data: Path) -> list[tuple[float, float, Fraction]]:
    with (data / "calibration" / "sigma_truth.csv").open() as file:
        rows = csv.DictReader(file)
        return [(float(r["epsilon"]), float(r["delta"]), Fraction(Decimal(r["sigma"]))) for r in rows]


def test_the_170_points_are_answered_never_below_and_within_1e_12(data: Path) -> None:
    grid = _grid(data)
    assert len(grid) == 170
    for epsilon, delta, truth in grid:
        excess = Fraction(ln.sigma(epsilon=epsilon, delta=delta)) / truth - 1
        assert 0 <= excess <= Fraction(1, 10**12), (epsilon, delta)


def test_the_170_points_as_one_array(data: Path) -> None:
    epsilon, delta, truth = zip(*_grid(data), strict=True)
    for got, want in zip(ln.sigma(epsilon=epsilon, delta=delta), truth, strict=True):
        assert 0 <= Fraction(float(got)) / want - 1 <= Fraction(1, 10**11)


def test_zero_epsilon_has_its_closed_form() -> None:
    for delta in (1e-300, 1e-17, 1e-6, 0.5, 1 - 1e-15):
        assert ln.sigma(epsilon=0, delta=delta) == pytest.approx(
            ln.baselines.exact_zero_epsilon_sigma(delta=delta), rel=1e-12
        )


def test_epsilon_is_zero_where_none_is_needed() -> None:
    assert ln.epsilon(sigma=1e9, delta=1e-6) == 0.0
    assert ln.epsilon(sigma=[1e9, 1.0], delta=1e-6)[0] == 0.0


def test_delta_stays_a_probability_and_never_zero() -> None:
    assert ln.delta(sigma=1e-9, epsilon=1) == 1.0
    assert ln.delta(sigma=1e9, epsilon=1) == 5e-324
    assert ln.delta(sigma=[1e-9, 1e9, 1e-300, 1e300], epsilon=1).tolist() == [1.0, 5e-324, 1.0, 5e-324]


def test_arrays_broadcast_and_keep_their_shape() -> None:
    table = ln.sigma(epsilon=np.array([[0.1], [1.0]]), delta=[1e-3, 1e-6, 1e-9])
    assert table.shape == (2, 3)
    assert table[1, 1] == pytest.approx(ln.sigma(epsilon=1, delta=1e-6), rel=1e-11)
    assert ln.delta(sigma=np.float32([1, 2]), epsilon=1).shape == (2,)


def test_numbers_that_are_no_doubles_are_rounded_toward_privacy() -> None:
    assert ln.sigma(epsilon=1, delta=1e-6, sensitivity=2**53 + 1) >= ln.sigma(
        epsilon=1, delta=1e-6, sensitivity=float(2**53 + 2)
    )
    two_thirds = Fraction(2, 3)
    assert Fraction(2 / 3) < two_thirds
    assert Fraction(math.nextafter(2 / 3, 1)) > two_thirds
    assert ln.sigma(epsilon=two_thirds, delta=1e-6) == ln.sigma(epsilon=2 / 3, delta=1e-6)
    assert ln.GaussianDP(two_thirds).mu == math.nextafter(2 / 3, 1)
    assert Fraction(0.1) > Decimal("0.1")
    assert ln.sigma(epsilon=Decimal("0.1"), delta=1e-6) == ln.sigma(epsilon=math.nextafter(0.1, 0), delta=1e-6)
    big = ln.sigma(epsilon=[1.0], delta=1e-6, sensitivity=np.array([2**53 + 1]))
    assert big[0] >= float(2**53 + 2) * ln.sigma(epsilon=1, delta=1e-6)


@pytest.mark.parametrize(
    ("change", "mistake", "words"),
    [
        ({"epsilon": float("nan")}, errors.InvalidParameter, "epsilon must be finite"),
        ({"epsilon": math.inf}, errors.InvalidParameter, "epsilon"),
        ({"epsilon": -1}, errors.InvalidParameter, "at least 0"),
        ({"epsilon": "1"}, errors.WrongType, "must be a number"),
        ({"epsilon": True}, errors.WrongType, "True"),
        ({"epsilon": None}, errors.WrongType, "None"),
        ({"epsilon": 1j}, errors.WrongType, "1j"),
        ({"epsilon": []}, errors.InvalidParameter, "empty"),
        ({"epsilon": [True, False]}, errors.WrongType, "bool"),
        ({"epsilon": ["1", "2"]}, errors.WrongType, "array of"),
        ({"epsilon": [[1], [1, 2]]}, errors.WrongType, "different lengths"),
        ({"epsilon": 10**400}, errors.InvalidParameter, "epsilon"),
        ({"delta": 0}, errors.InvalidParameter, "Laplace"),
        ({"delta": 0.0}, errors.InvalidParameter, "Laplace"),
        ({"delta": 1}, errors.InvalidParameter, "protects nobody"),
        ({"delta": 1.5}, errors.InvalidParameter, "below 1"),
        ({"delta": -1e-6}, errors.InvalidParameter, "above 0"),
        ({"sensitivity": 0}, errors.InvalidParameter, "above 0"),
        ({"sensitivity": -2}, errors.InvalidParameter, "sensitivity"),
        ({"sensitivity": math.inf}, errors.InvalidParameter, "sensitivity"),
        ({"epsilon": [1, 2], "delta": [1e-6, 1e-7, 1e-8]}, errors.InvalidParameter, "epsilon (2,)"),
    ],
)
def test_each_mistake_has_its_error(change: dict[str, Any], mistake: type[Exception], words: str) -> None:
    with pytest.raises(mistake) as caught:
        ln.sigma(**{"epsilon": 1, "delta": 1e-6, **change})
    assert words in str(caught.value)
    assert isinstance(caught.value, errors.InvalidParameter)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_bad_sigma(bad: float) -> None:
    with pytest.raises(errors.InvalidParameter, match="sigma"):
        ln.epsilon(sigma=bad, delta=1e-6)
    with pytest.raises(errors.InvalidParameter, match="sigma"):
        ln.delta(sigma=bad, epsilon=1)


def test_one_bad_element_in_a_million_is_named_by_its_index() -> None:
    delta = np.full((1000, 1000), 1e-6)
    delta[123, 456] = 0
    with pytest.raises(errors.InvalidParameter, match="at index 123, 456"):
        ln.sigma(epsilon=1, delta=delta)


def test_a_sigma_past_the_largest_double_is_refused() -> None:
    with pytest.raises(errors.OutOfRange, match="largest double"):
        ln.sigma(epsilon=0, delta=1e-300, sensitivity=1e150)
    with pytest.raises(errors.OutOfRange, match="index 1"):
        ln.sigma(epsilon=0, delta=1e-300, sensitivity=[1e-10, 1e150])
    with pytest.raises(errors.OutOfRange):
        ln.epsilon(sigma=1e-200, delta=1e-6)


def test_undecided_fails_closed() -> None:
    with pytest.raises(errors.NotProved, match="8192 bits"):
        proof._decide("sigma", lambda: None)


def test_the_precision_in_force_outside_is_left_alone() -> None:
    from flint import ctx

    before = ctx.prec
    ln.sigma(epsilon=0, delta=1e-300)
    with pytest.raises(errors.OutOfRange):
        ln.sigma(epsilon=0, delta=1e-300, sensitivity=1e150)
    assert ctx.prec == before


def test_a_wrong_proposal_is_never_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing about Newton needs to be trusted: with a false root the proof refuses, too small or too large."""
    real = proof._solve_mu
    monkeypatch.setattr(proof, "approximate_mu", lambda epsilon, delta: math.nan)  # so that Newton's is asked for
    for factor in (1.001, 0.999):
        monkeypatch.setattr(proof, "_solve_mu", lambda *a, f=factor: real(*a) * f)
        with pytest.raises(errors.NotProved):
            ln.sigma(epsilon=1, delta=1e-6)
