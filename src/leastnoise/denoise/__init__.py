"""Take the noise back out: arrays in, `Estimate` out. Everything here is post-processing and costs no privacy.

Every denoiser is called as NAME(y, sigma, ...), with sigma the standard deviation of the noise and mechanism="gaussian"
or "laplace" its distribution. `auto` is the one to use when in doubt.

All of them take `axis` where y is an array of two dimensions or more. axis=-1 denoises every row along the last axis by
itself, axis=(1, 2) every table of those axes, and the answer is `Estimates`; axis=None takes the whole array for one
vector. Without it such an array is refused, unless a graph has a node for every value.
"""

from collections.abc import Callable

from leastnoise._support.calls import explain_public
from leastnoise.denoise.aggregate import Mixture, aggregate
from leastnoise.denoise.auto import auto
from leastnoise.denoise.denoiser import Estimates
from leastnoise.denoise.empirical_bayes import empirical_bayes
from leastnoise.denoise.fused_lasso import fused_lasso
from leastnoise.denoise.known_sums import consistent
from leastnoise.denoise.laplacian import laplacian
from leastnoise.denoise.minimax import bayes_risk, james_stein_risk, lp_ball, minimax_risk
from leastnoise.denoise.neighbour_bayes import neighbour_bayes
from leastnoise.denoise.of_release import denoise_release as denoise_release
from leastnoise.denoise.of_release import denoise_set as denoise_set
from leastnoise.denoise.posterior import Posterior
from leastnoise.denoise.prior import gaussian_prior, posterior_mean
from leastnoise.denoise.project import isotonic, project
from leastnoise.denoise.risk import monte_carlo_divergence
from leastnoise.denoise.shrink import james_stein
from leastnoise.denoise.threshold import hard_threshold, soft_threshold
from leastnoise.denoise.tree_wavelet import tree_wavelet
from leastnoise.denoise.trend_filter import trend_filter, trend_filter_path
from leastnoise.denoise.wavelet import wavelet
from leastnoise.releases.estimate import Estimate

__all__ = [
    "METHODS",
    "Estimates",
    "Mixture",
    "Posterior",
    "aggregate",
    "auto",
    "bayes_risk",
    "consistent",
    "empirical_bayes",
    "fused_lasso",
    "gaussian_prior",
    "hard_threshold",
    "isotonic",
    "james_stein",
    "james_stein_risk",
    "laplacian",
    "lp_ball",
    "minimax_risk",
    "monte_carlo_divergence",
    "neighbour_bayes",
    "posterior_mean",
    "project",
    "soft_threshold",
    "tree_wavelet",
    "trend_filter",
    "trend_filter_path",
    "wavelet",
]

# Every denoiser by its name: what `release.denoise` and the command line take.
METHODS: dict[str, Callable[..., Estimate]] = {
    name: globals()[name] for name in __all__ if getattr(globals().get(name), "is_denoiser", False)
}


def __dir__() -> list[str]:
    return __all__


explain_public(globals(), __all__)
