"""The paper's denoisers and ours, as functions (y, sigma) -> values, by the names that figures use."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import leastnoise as ln

Method = Callable[[Any, float], Any]


def james_stein(y: Any, sigma: float) -> Any:
    """Theorem 11, plain as the paper states it: the factor may fall below zero."""
    return ln.denoise.james_stein(y, sigma, positive_part=False).values


def soft_threshold(y: Any, sigma: float) -> Any:
    """Theorem 12: at sigma sqrt(2 log d)."""
    return ln.denoise.soft_threshold(y, sigma).values


class Noise(NamedTuple):
    """A mechanism, and the standard deviation it needs for the promise."""

    mechanism: str
    std: float

    def draw(self, rng: np.random.Generator, size: int) -> Any:
        """`size` draws. Simulated: figures need millions, and no person is behind the numbers."""
        if self.mechanism == "gaussian":
            return self.std * rng.standard_normal(size)
        return rng.laplace(0.0, self.std / math.sqrt(2), size)


def gaussian(*, epsilon: float, delta: float, sensitivity: float) -> Noise:
    """The analytic Gaussian mechanism."""
    return Noise("gaussian", ln.sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity))


def classical(*, epsilon: float, delta: float, sensitivity: float) -> Noise:
    """The classical one; beyond epsilon = 1 an extrapolation that keeps no promise."""
    sigma = ln.baselines.classical_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity, extrapolate=True)
    return Noise("gaussian", sigma)


def laplace(*, epsilon: float, l1_sensitivity: float) -> Noise:
    """The Laplace mechanism."""
    return Noise("laplace", ln.baselines.laplace_distribution(epsilon=epsilon, l1_sensitivity=l1_sensitivity).std)


def least(*, epsilon: float, delta: float, sensitivity: float, l1_sensitivity: float) -> Noise:
    """The one with less noise, as `ln.release` chooses."""
    both = (
        gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity),
        laplace(epsilon=epsilon, l1_sensitivity=l1_sensitivity),
    )
    return min(both, key=lambda noise: noise.std)


def tree_wavelet(graph: Any) -> Method:
    """The paper's wavelets: coefficients over one spanning tree, soft threshold at sigma sqrt(2 log d)."""
    return lambda y, sigma: ln.denoise.tree_wavelet(y, sigma, graph=graph).values


def trend_filter(graph: Any) -> Method:
    """Graph trend filtering of order 0 (Wang et al. 2016), its penalty chosen by unbiased risk."""
    return lambda y, sigma: ln.denoise.trend_filter(y, sigma, graph=graph).values


def auto(graph: Any, mechanism: str = "gaussian") -> Method:
    """Ours: the truth is known to be counts, and which bins are near one another is public."""
    return lambda y, sigma: ln.denoise.auto(y, sigma, graph=graph, nonnegative=True, mechanism=mechanism).values


def on_maps(graph: Any) -> dict[str, Method]:
    """What the paper tries on its maps, and ours."""
    return {
        "aGM": lambda y, sigma: y,
        "JS": james_stein,
        "TH": soft_threshold,
        "wavelet": tree_wavelet(graph),
        "trend": trend_filter(graph),
        "auto": auto(graph),
    }
