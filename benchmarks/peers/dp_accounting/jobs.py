"""dp-accounting: sigma of one Gaussian release, and what many promise together."""

from dp_accounting import dp_event
from dp_accounting.gaussian_mechanism import get_sigma_gaussian
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
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


def repeated(sigma, steps, deltas):
    """Epsilon at each delta of one Gaussian release, again and again, at the default step 1e-4."""

    def answers():
        composed = from_gaussian_mechanism(sigma).self_compose(steps)
        return [float(composed.get_epsilon_for_delta(delta)) for delta in deltas]

    return answers
