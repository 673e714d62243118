"""Maximum likelihood over mixing weights: min_w  F(w) = -sum_i c_i log (A w)_i + sum_j w_j  over w >= 0, sum_i c_i = 1.

F is the Kiefer-Wolfowitz problem without its constraint: at the optimum w'(gradient) = 0 says sum w = 1 by itself.
A primal-dual interior point with multipliers z >= 0 solves

    1 - A'(c / A w) = z,    w_j z_j = mu -> 0,

by Newton steps (H + diag(z/w)) dw = mu/w - gradient, H = A' diag(c / (A w)^2) A. It ends on its certificate: F is
convex, so no mixture on these atoms, however chosen, has a log-likelihood above this one's by more than

    max_j (A'(c / A w))_j - 1    nats an observation (for w scaled to sum 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise.denoise.npmle.kernels import Floats, Kernel

MAX_ITERATIONS = 100
MAX_GAP = 1e-3  # nats an observation; above this it is no answer


class Solution(NamedTuple):
    weights: Floats  # sum to 1
    multipliers: Floats
    gap: float  # nats an observation, the certificate
    iterations: int


def maximise_likelihood(kernel: Kernel, counts: Floats, tolerance: float) -> Solution:
    """Weights whose log-likelihood is within `tolerance` an observation of the best on these atoms."""
    c = counts / counts.sum()
    seen = c > 0
    w = _start(kernel, c)
    z = w.mean() / w
    iterations = 0
    while True:
        f = kernel.forward(w)
        ratio = np.divide(c, f, out=np.zeros_like(c), where=seen)
        gradient = 1 - kernel.adjoint(ratio)
        gap = w.sum() * (1 - gradient.min()) - 1
        if gap <= tolerance or iterations == MAX_ITERATIONS:
            break
        iterations += 1
        mu = 0.1 * (w @ z) / w.size
        curvature = np.divide(ratio, f, out=np.zeros_like(c), where=seen)
        try:
            dw = kernel.factor(curvature, z / w).solve(mu / w - gradient)
        except np.linalg.LinAlgError:  # no more digits to gain; the certificate tells how good w is already
            break
        dz = mu / w - z - z / w * dw
        w = w + _longest_step(w, dw) * dw
        z = z + _longest_step(z, dz) * dz
    if not gap <= max(MAX_GAP, tolerance):
        raise errors.NotProved(
            f"The prior was not found to the accuracy needed: {gap:.1e} nats a value after {MAX_ITERATIONS} steps. "
            "This should not happen with finite values; scale them to a common size, or use soft_threshold."
        )
    return Solution(w / w.sum(), z, float(gap), iterations)


def _start(kernel: Kernel, c: Floats) -> Floats:
    """Three steps of expectation-maximisation from equal weights, and a floor: mass where the observations are."""
    w = np.full(kernel.atoms, 1.0 / kernel.atoms)
    for _ in range(3):
        f = kernel.forward(w)
        w = w * kernel.adjoint(np.divide(c, f, out=np.zeros_like(c), where=c > 0))
    return w + 0.01 / w.size


def _longest_step(x: Floats, dx: Floats) -> float:
    """The longest step up to 1 that keeps x + step dx well inside x > 0."""
    worst = float(np.max(-dx / x))
    return 1.0 if worst <= 0.99 else 0.99 / worst
