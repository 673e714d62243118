"""prv-accountant: epsilon of many steps with Poisson sampling, its upper bound at a given error."""

from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant


def sampled(sigma, rate, steps, delta, error):
    def work():
        step = PoissonSubsampledGaussianMechanism(noise_multiplier=sigma, sampling_probability=rate)
        accountant = PRVAccountant(
            prvs=[step], max_self_compositions=[steps], eps_error=error, delta_error=delta / 1000
        )
        return float(accountant.compute_epsilon(delta, [steps])[2])

    return work
