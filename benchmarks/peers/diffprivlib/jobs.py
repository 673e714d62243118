"""diffprivlib: the analytic Gaussian mechanism."""

import warnings

from diffprivlib.mechanisms import GaussianAnalytic

warnings.simplefilter("ignore")


def sigma(points):
    return lambda: [GaussianAnalytic(epsilon=e, delta=d, sensitivity=1)._scale for e, d in points]


def draws(scale, size):
    mechanism = _with_scale(scale)
    return lambda: len([mechanism.randomise(0.0) for _ in range(size)])


def outputs(value, scale, size):
    mechanism = _with_scale(scale)
    return lambda: [float(mechanism.randomise(value)) for _ in range(size)]


def _with_scale(scale):
    """Its noise at our sigma, so that all are attacked at the same promise."""
    mechanism = GaussianAnalytic(epsilon=1.0, delta=1e-6, sensitivity=1)
    mechanism._scale = scale
    return mechanism
