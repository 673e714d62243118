"""The posterior mean under a prior that you state (Theorem 10): h = E[f | y], the least mean squared error there is.

    f ~ N(c, w^2 I)          h = c + w^2/(w^2 + sigma^2) (y - c), in closed form
    f_i independent          one-dimensional quadrature, refined until it no longer changes
    any density of f         elliptical slice sampling around y
    samples of f             h = sum_s w_s f_s,  w_s proportional to p(y | f_s)

Under Gaussian noise dh_i/dy_i = Var(f_i | y)/sigma^2, so the posterior variance gives the unbiased risk.

**Elliptical slice sampling** (Murray, Adams & MacKay 2010) has no step size and needs no gradient. The posterior is
p(f) N(f; y, sigma^2 I): a Gaussian around y times the prior's density, so the prior plays the part of the likelihood. A
step draws nu ~ N(0, sigma^2 I) and turns f - y along the ellipse through nu until the density is above a random level.
Laplace noise only multiplies the density by Laplace/Gaussian. In many dimensions neighbouring draws are alike; R-hat
and the effective sample size tell, and a run that has not mixed is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support import progress, validation
from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import Floats, Mechanism, companion, namespace, on_host
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser

MIN_EFFECTIVE_SAMPLES = 100.0  # below which a mean of them is no answer
MAX_R_HAT = 1.05  # above this the chains still disagree
_VALUES_AT_ONCE = 128


@denoiser(on_device=True)
def gaussian_prior(
    y: Any, sigma: float, *, prior_std: Number, centre: Any = 0.0, mechanism: Mechanism = "gaussian"
) -> Denoised:
    """The posterior mean under f ~ N(centre, prior_std^2 I), in closed form; its Bayes risk is among `parameters`.

    y: the noisy values, an array of any library. sigma: the standard deviation of their noise.
    prior_std: how far the truth lies from the centre, as a standard deviation.
    centre: a number, or an array of the shape of y.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    Under Laplace noise this is the best linear rule, with the same Bayes risk; the posterior mean itself comes from
    `posterior_mean`.

    >>> gaussian_prior([2.0, -4.0], sigma=1.0, prior_std=1.0).values
    array([ 1., -2.])
    """
    w = validation.number("prior_std", prior_std)
    middle = companion("centre", centre, y, namespace(y))
    factor = 1 / (1 + (sigma / w) ** 2)
    at_zero = isinstance(middle, float) and middle == 0.0
    return Denoised(
        factor * y if at_zero else middle + factor * (y - middle),
        {"prior_std": w, "factor": factor, "bayes_risk": factor * sigma**2},
        Stein(y.shape[0] * factor),
        also={"posterior_std": sigma * math.sqrt(factor) if mechanism == "gaussian" else None},
    )


@denoiser()
def posterior_mean(
    y: Any,
    sigma: float,
    *,
    log_density: Callable[[Floats], Any] | None = None,
    samples: Any = None,
    separable: bool = True,
    support: tuple[float, float] = (-math.inf, math.inf),
    start: Any = None,
    chains: int = 4,
    draws: int = 4000,
    seed: int = 0,
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """The posterior mean under any prior: a log-density (up to a constant) or samples of f.

    y: the noisy values. sigma: the standard deviation of their noise. mechanism: "gaussian" or "laplace".
    log_density: the logarithm of the prior's density. samples: rows drawn from the prior, instead of it.
    separable: whether bins are independent. Then log_density takes an array of values of one bin and returns as many
        numbers; else it takes the whole vector and returns one number.
    support: (low, high), outside of which a separable density is zero.
    start: a point inside the support of a density that is not separable (default y).
    chains, draws, seed: how that density is sampled. A run that has not converged is refused.

    >>> round(float(posterior_mean([1.0], 1.0, log_density=lambda f: -abs(f)).values[0]), 4)
    0.5032
    """
    if (log_density is None) == (samples is None):
        raise errors.MissingParameter(
            "Give the prior once: its log-density, or samples of it.",
            parameter="log_density",
            example=[{"log_density": ...}, {"samples": ...}],
        )
    if samples is not None:
        values, variance, facts = _weighted(y, sigma, samples, mechanism)
    elif separable:
        assert log_density is not None
        values, variance, facts = _by_quadrature(y, sigma, log_density, support, mechanism)
    else:
        assert log_density is not None
        first = y if start is None else on_host(start).astype(np.float64)
        if first.shape != y.shape:
            raise errors.InvalidParameter(f"start must have the shape of y, {y.shape}. Got {first.shape} instead.")
        values, variance, facts = sample_posterior(
            y, sigma, log_density, mechanism=mechanism, start=first, chains=chains, draws=draws, seed=seed
        )
    free = float(variance.sum()) / sigma**2
    return Denoised(values, facts, Stein(free) if mechanism == "gaussian" else None)


def log_likelihood(residual: Floats, sigma: float, mechanism: Mechanism) -> Floats:
    """log p(y | f) of each value, up to a constant."""
    if mechanism == "gaussian":
        return np.asarray(-0.5 * (residual / sigma) ** 2)
    return np.asarray(-np.abs(residual) * (math.sqrt(2) / sigma))


def _weighted(y: Floats, sigma: float, samples: Any, mechanism: Mechanism) -> tuple[Floats, Floats, dict[str, Any]]:
    """Self-normalised importance weights."""
    drawn = on_host(samples).astype(np.float64)
    if drawn.shape[1:] != y.shape:
        raise errors.InvalidParameter(f"samples must be rows of the shape of y, {y.shape}. Got {drawn.shape} instead.")
    rows = drawn.reshape(len(drawn), -1)
    log_weight = log_likelihood(rows - y.ravel(), sigma, mechanism).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    effective = float(1 / (weight @ weight))
    if effective < MIN_EFFECTIVE_SAMPLES:
        raise errors.NotProved(
            f"Of {len(rows):,} samples of the prior only {effective:.1f} count near y, and the mean of so few is no "
            f"answer. Give more samples (at least {MIN_EFFECTIVE_SAMPLES:.0f} must count), or the prior's log_density."
        )
    mean = weight @ rows
    variance = weight @ (rows - mean) ** 2
    return mean.reshape(y.shape), variance, {"prior": "samples", "effective_samples": effective}


def _by_quadrature(
    y: Floats, sigma: float, log_density: Callable[[Floats], Any], support: tuple[float, float], mechanism: Mechanism
) -> tuple[Floats, Floats, dict[str, Any]]:
    low, high = support
    if not low < high:
        raise errors.InvalidParameter(f"support must be (low, high) with low < high. Got {support} instead.")
    flat = y.ravel()
    mean, variance = np.empty_like(flat), np.empty_like(flat)
    for begin in range(0, flat.size, _VALUES_AT_ONCE):
        part = slice(begin, begin + _VALUES_AT_ONCE)
        mean[part], variance[part] = _refined(flat[part], sigma, log_density, low, high, mechanism)
    return mean.reshape(y.shape), variance, {"prior": "log_density", "rule": "quadrature"}


def _refined(
    y: Floats, sigma: float, log_density: Callable[[Floats], Any], low: float, high: float, mechanism: Mechanism
) -> tuple[Floats, Floats]:
    """Wider windows and shorter panels, for the values that still move by more than 1e-5 sigma."""
    moments = np.full((2, y.size), np.nan)
    todo = np.arange(y.size)
    for width, panels in ((9.0, 4), (14.0, 16), (22.0, 64), (35.0, 256), (40.0, 1024), (45.0, 4096)):
        after = _moments(y[todo], sigma, log_density, low, high, mechanism, width=width, panels=panels)
        off = np.abs(after - moments[:, todo]) / np.array([[sigma], [sigma**2]])
        moments[:, todo] = after
        todo = todo[~(off.max(axis=0) < 1e-5)]
        if not todo.size:
            return moments[0], moments[1]
    raise errors.NotProved(
        "The quadrature does not settle: the prior is far from y, or narrower than the noise by far. Give the support "
        "of the prior.",
        parameter="support",
        example={"support": (0, 100)},
    )


def _moments(
    y: Floats,
    sigma: float,
    log_density: Callable[[Floats], Any],
    low: float,
    high: float,
    mechanism: Mechanism,
    *,
    width: float,
    panels: int,
) -> Floats:
    """Posterior mean and variance by Gauss-Legendre panels on both sides of the point of the support nearest to y."""
    middle = np.clip(y, low, high)
    node, weight = np.polynomial.legendre.leggauss(16)
    reach = width * sigma * (1 if mechanism == "gaussian" else 3)
    mass = []
    points = []
    for end in (np.clip(middle - reach, low, None), np.clip(middle + reach, None, high)):
        grid = ((np.arange(panels)[:, None] + (node + 1) / 2) / panels).ravel()
        length = end - middle
        f = middle[:, None] + grid * length[:, None]
        with np.errstate(divide="ignore"):
            step = np.log(np.abs(length))[:, None] + np.log(np.tile(weight, panels) / (2 * panels))
        prior = np.asarray(log_density(f), dtype=np.float64)
        if prior.shape != f.shape:
            raise errors.InvalidParameter("A separable log_density must return one number for each value it is given.")
        points.append(f)
        mass.append(prior + log_likelihood(y[:, None] - f, sigma, mechanism) + step)
    f, log_mass = np.hstack(points), np.hstack(mass)
    top = log_mass.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        p = np.exp(log_mass - top)
        p /= p.sum(axis=1, keepdims=True)
        mean = (p * f).sum(axis=1)
        return np.stack([mean, (p * (f - mean[:, None]) ** 2).sum(axis=1)])


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
