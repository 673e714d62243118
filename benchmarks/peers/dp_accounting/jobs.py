"""dp-accounting: sigma of one Gaussian release, and what many promise together."""

from dp_accounting import dp_event
from dp_accounting.gaussian_mechanism import get_sigma_gaussian
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant


def sigma(points):
    return lambda: [get_sigma_gaussian(epsilon, delta) for epsilon, delta in points]


def composed(sigmas, delta):
    """Epsilon of Gaussian releases together, by privacy-loss distributions; sensitivity 1."""
    return lambda: PLDAccountant().compose(_event(sigmas)).get_epsilon(delta)


def composed_renyi(sigmas, delta):
    return lambda: float(RdpAccountant().compose(_event(sigmas)).get_epsilon(delta))


def _event(sigmas):
    return dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(sigma) for sigma in sigmas])


def sampled(sigma, rate, steps, delta):
    """Epsilon of steps with Poisson sampling, by privacy-loss distributions at the default step 1e-4."""
    step = dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma))
    return lambda: PLDAccountant().compose(step, steps).get_epsilon(delta)
