"""PyDP (Google's C++ library): its Gaussian mechanism."""

from pydp.algorithms.numerical_mechanisms import GaussianMechanism
from pydp.distributions import GaussianDistribution


def sigma(points):
    return lambda: [GaussianMechanism(epsilon, delta, 1.0).std for epsilon, delta in points]


def draws(scale, size):
    normal = GaussianDistribution(scale)
    return lambda: len([normal.sample() for _ in range(size)])


def outputs(value, scale, size):
    mechanism = GaussianMechanism.create_from_standard_deviation(scale)
    return lambda: [mechanism.add_noise(value) for _ in range(size)]
