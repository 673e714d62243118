"""Draws from a posterior that only its prior's density describes, by elliptical slice sampling (Murray, Adams &
MacKay 2010), with no step size and no gradient.

The posterior is p(f) N(f; y, sigma^2 I): a Gaussian around y times the prior's density, so the prior plays the part
of the likelihood. A step draws nu ~ N(0, sigma^2 I) and turns f - y along the ellipse through nu until the density
is above a random level. Laplace noise only multiplies the density by Laplace/Gaussian. In many dimensions
neighbouring draws are alike; R-hat and the effective sample size tell, and a run that has not mixed is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support import progress, validation
from leastnoise.denoise.arrays import Floats, Mechanism

MAX_R_HAT = 1.05  # R-hat above this: the chains still disagree
MIN_EFFECTIVE_SAMPLES = 100.0


def sample_posterior(
    y: Floats,
    sigma: float,
    log_density: Callable[[Floats], Any],
    *,
    mechanism: Mechanism,
    start: Floats,
    chains: int,
    draws: int,
    seed: int,
) -> tuple[Floats, Floats, dict[str, Any]]:
    """Posterior mean and variance of every value, and how well the chains mixed."""
    chains, draws = validation.integer("chains", chains, least=2), validation.integer("draws", draws, least=20)

    def level(f: Floats) -> float:
        density = float(log_density(f))
        if mechanism == "gaussian" or density == -math.inf:
            return density
        off = (f - y) / sigma
        return density + float((off**2 / 2 - math.sqrt(2) * np.abs(off)).sum())

    if not math.isfinite(level(start)):
        raise errors.MissingParameter(
            "The prior's density is zero (or no number) at the starting point, so no chain can begin there. "
            "Give a point inside its support.",
            parameter="start",
            example={"start": ...},
        )
    kept = np.empty((chains, draws, y.size))
    with progress.bar("sampling the posterior", chains * draws) as advance:
        for chain in range(chains):
            rng = np.random.default_rng([seed, chain])
            f = start
            for step in range(-draws, draws):  # the first half warms up
                f = _turn(f, y, sigma, level, rng)
                if step >= 0:
                    kept[chain, step] = f.ravel()
                    advance(1)
    r_hat, effective = diagnose(kept)
    if r_hat > MAX_R_HAT or effective < MIN_EFFECTIVE_SAMPLES:
        raise errors.NotProved(
            f"The chains have not mixed: R-hat {r_hat:.3f} (at most {MAX_R_HAT} is fine), {effective:.0f} effective "
            f"draws (at least {MIN_EFFECTIVE_SAMPLES:.0f}). Take more draws; or, if the prior's bins are independent, "
            "say that it is separable.",
            parameter="draws",
            value=draws,
            example=[{"draws": 8 * draws}, {"separable": True}],
        )
    flat = kept.reshape(-1, y.size)
    facts = {"prior": "log_density", "rule": "elliptical slices", "r_hat": r_hat, "effective_samples": effective}
    return flat.mean(axis=0).reshape(y.shape), flat.var(axis=0), facts


def _turn(f: Floats, y: Floats, sigma: float, level: Callable[[Floats], float], rng: np.random.Generator) -> Floats:
    """One step: shrink the bracket of angles until the point on the ellipse is above the level."""
    nu = sigma * rng.standard_normal(y.shape)
    bar = level(f) + math.log(rng.random())
    angle = rng.uniform(0, 2 * math.pi)
    low, high = angle - 2 * math.pi, angle
    while True:
        turned = y + (f - y) * math.cos(angle) + nu * math.sin(angle)
        if level(turned) > bar:
            return turned
        low, high = (angle, high) if angle < 0 else (low, angle)
        if high - low < 1e-12:
            return f
        angle = rng.uniform(low, high)


def diagnose(kept: Floats) -> tuple[float, float]:
    """The worst split R-hat and the smallest effective sample size over all values (Gelman et al., BDA 3)."""
    draws = kept.shape[1]
    half = draws // 2
    split = np.concatenate([kept[:, :half], kept[:, half : 2 * half]])
    within = split.var(axis=1, ddof=1).mean(axis=0)
    between = half * split.mean(axis=1).var(axis=0, ddof=1)
    total = (half - 1) / half * within + between / half
    r_hat = np.sqrt(np.divide(total, within, out=np.ones_like(total), where=within > 0))
    effective = [_effective(split[:, :, k], within[k], total[k]) for k in range(kept.shape[2])]
    return float(r_hat.max()), min(effective)


def _effective(chains: Floats, within: float, total: float) -> float:
    """m n / (1 + 2 sum of autocorrelations), summed in pairs while they are positive (Geyer 1992)."""
    m, n = chains.shape
    if total == 0:
        return float(m * n)
    centred = chains - chains.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    covariance = np.fft.irfft(power)[:, :n].mean(axis=0) / n
    rho = 1 - (within - covariance * n / (n - 1)) / total
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    ended = np.flatnonzero(pairs <= 0)
    positive = pairs[: ended[0]] if ended.size else pairs
    return float(m * n / max(2 * positive.sum() - 1, 1.0))
