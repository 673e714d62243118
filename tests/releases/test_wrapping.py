"""Noise that another library added."""

from __future__ import annotations

import math

import numpy as np
import pytest

import leastnoise as ln
from leastnoise import errors


def test_wrap() -> None:
    r = ln.wrap([3.0, 4.0], sigma=2.0)
    assert (r.sigma, r.std, r.guarantee, r.grid) == (2.0, 2.0, None, 0.0)
    assert "known to whoever added the noise" in r.explain()
    b = ln.wrap(np.array([3, 4]), sigma=2.0, mechanism="laplace")
    assert b.scale == pytest.approx(2 / math.sqrt(2))
    assert b.values.dtype == np.float64
    for bad, mistake in (
        ([], errors.InvalidParameter),
        (["a"], errors.WrongType),
        ([[1.0]], errors.InvalidParameter),
        ([math.nan], errors.InvalidParameter),
    ):
        with pytest.raises(mistake):
            ln.wrap(bad, sigma=1)
    with pytest.raises(errors.InvalidParameter):
        ln.wrap([1.0], sigma=0)
    with pytest.raises(errors.InvalidParameter):
        ln.wrap([1.0], sigma=1, mechanism="gauss")  # type: ignore[arg-type]
    source = np.array([1.0, 2.0])
    ln.wrap(source, sigma=1)
    source[0] = 5.0  # the caller's array stays the caller's


def test_noise_too_large_for_an_interval_is_refused_when_wrapped() -> None:
    with pytest.raises(errors.OutOfRange, match="overflows doubles"):
        ln.wrap([1.0, 2.0], sigma=1.7e308)
