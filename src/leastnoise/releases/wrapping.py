"""Another library's noisy vector as a Release."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.privacy.distributions import LARGEST_SCALE
from leastnoise.privacy.noise_choice import Mechanism
from leastnoise.privacy.noise_reason import NoiseReason
from leastnoise.releases.noise import MECHANISMS, Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.release import Release


def wrap(y: ArrayLike, *, sigma: Number, mechanism: Mechanism = "gaussian") -> Release:
    """Another library's noisy vector as a Release, so that intervals and denoisers can work on it.

    `y` holds its numbers. `sigma` is the standard deviation of its noise, whatever the `mechanism` ("gaussian" or
    "laplace").

    >>> wrap([3.2, -1.1, 8.0], sigma=2.0).interval(0.95).low.round(2)
    array([-0.72, -5.02,  4.08])
    """
    sigma = validation.number("sigma", sigma)
    validation.word("mechanism", mechanism, MECHANISMS)
    values = np.array(y, copy=True)
    if values.dtype.kind not in "iuf":
        raise errors.WrongType(f"y must be an array of numbers. Got an array of {values.dtype} instead.")
    if values.ndim != 1:
        raise errors.InvalidParameter(f"y must be a vector. Got {values.ndim} dimensions instead: say y.ravel().")
    values = values.astype(np.float64)
    if values.size == 0:
        raise errors.InvalidParameter("y is empty, so there is nothing to wrap.")
    if not np.isfinite(values).all():
        raise errors.InvalidParameter(
            "y holds NaN or infinity, which no noise of finite sigma makes. Drop those entries."
        )
    if sigma > LARGEST_SCALE:
        raise errors.OutOfRange(
            f"Noise of sigma {sigma:.3g} overflows doubles, so no interval could hold it. Divide y and sigma by 1000."
        )
    return Release(
        values=values,
        noise=Noise.of(mechanism, sigma=sigma),
        provenance=Provenance(reason=NoiseReason("added elsewhere")),
    )
