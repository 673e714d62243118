"""autodp: the paper's own algorithm, and its exact composition of Gaussians."""

import autodp.rdp_acct  # noqa: F401  (before privacy_calibrator: the two import each other)
from autodp import privacy_calibrator
from autodp.mechanism_zoo import ExactGaussianMechanism
from autodp.transformer_zoo import ComposeGaussian


def sigma(points):
    return lambda: [privacy_calibrator.ana_gaussian_mech(epsilon, delta)["sigma"] for epsilon, delta in points]


def composed(sigmas, delta):
    """Epsilon of Gaussian releases together; sensitivity 1."""

    def work():
        parts = [ExactGaussianMechanism(sigma=sigma) for sigma in sigmas]
        return float(ComposeGaussian()(parts, [1] * len(parts)).get_approxDP(delta))

    return work
