"""Consistency with known sums, and monotone sequences."""

from __future__ import annotations

import numpy as np
import pytest

from leastnoise import errors
from leastnoise.denoise import isotonic, project


def test_isotonic_levels() -> None:
    made = isotonic([3.0, 1.0, 2.0, 8.0, 7.0], 1.0)
    assert np.allclose(made.values, [2, 2, 2, 7.5, 7.5])
    assert made.degrees_of_freedom == 2
    falling = isotonic([3.0, 1.0, 2.0, 8.0, 7.0], 1.0, increasing=False).values
    assert (np.diff(falling) <= 0).all()
    assert np.allclose(isotonic(falling, 1.0, increasing=False).values, falling)


def test_the_size_of_a_set_must_be_said() -> None:
    with pytest.raises(errors.MissingParameter, match="radius"):
        project(np.ones(3), 1.0, onto="l2")
    with pytest.raises(errors.MissingParameter, match="total"):
        project(np.ones(3), 1.0, onto="simplex")
    with pytest.raises(errors.InvalidParameter):
        project(np.ones(3), 1.0, onto="l1", radius=-1)
    assert project(np.ones(3), 1.0, onto="total", total=-3).values.sum() == pytest.approx(-3)
