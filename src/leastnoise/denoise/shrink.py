"""Shrinkage toward a public centre: James-Stein (Theorem 11).

    h = c + (1 - k sigma^2 / ||y - c||^2) (y - c),    k = d - 2, or d - 3 toward the mean of y.

The positive part (the factor never below zero) is never worse and is the default.

**A smooth positive part** (Gaussian noise). Let f be of N(0, w^2 I), and log(w^2 + sigma^2) uniform above log(sigma^2).
The posterior mean under that prior is (1 - r(S)/S) y with S = ||y||^2/sigma^2 and, F_d the distribution of chi-square,

    r(S) = d F_{d+2}(S)/F_d(S) = d S/((d + 2) q + S),    q = 1/M(1, d/2 + 2, S/2),

M Kummer's function: y has a density m in proportion to S^(-d/2) F_d(S), and the posterior mean is
y + sigma^2 grad log m. r rises from 0 to d, so by Baranchik's theorem (1970: r rising, 0 <= r <= 2(d - 2)) the squared
error is at most that of y for every truth if d >= 4; toward the mean of y the same holds of the d - 1 dimensions around
it, if d >= 5. Where the squares of y just show that there is more than noise, it errs up to 8 % less than the positive
part at d = 6, 6 % at 10 and 3 % at 30 (root mean square, f of a normal law; 40,000 draws). Where the truth is zero it
errs up to twice as much, which is 1.5 sigma in all.

**Errata to Theorem 11.** Under f ~ N(0, w^2 I) the risk of the plain rule is

    d sigma^2 (1 - ((d - 2)/d) sigma^2/(w^2 + sigma^2)),

not with ((d - 2)/d)^2: E[1/||y||^2] = 1/((d - 2)(w^2 + sigma^2)). It exceeds the Bayes risk by the factor
1 + (2/d) sigma^2/w^2, which no constant bounds over all w. And it is not what the maximum-likelihood estimate of w^2
gives: that is ||y||^2/d - sigma^2, with the factor 1 - d sigma^2/||y||^2, a worse rule unless it, too, stops at zero.
James-Stein takes the unbiased estimate (d - 2)/||y||^2 of 1/(w^2 + sigma^2).

**A sigma for every bin.** With v_i = sigma_i^2 and x = y - c the rule is Tan's (2015, for a prior of no variance):

    h_i = c_i + (1 - k a_i / S) x_i,    S = sum_j a_j^2 x_j^2,    k = sum_j a_j v_j - 2 max_j a_j v_j,
    a_i = min(1, K/v_i),

one factor for all bins, but for less pull on those whose noise is far above the others'. Under Gaussian noise its
squared error is on average at most sum_i v_i, that of y, for every truth and all v (d >= 3). Proof, for every a >= 0
with k >= 0: h = y - phi with phi = k a x/S, so by Stein's identity

    E |h - f|^2 = sum_i v_i - E[ 2 sum_i v_i d_i phi_i - |phi|^2 ],    |phi|^2 = k^2/S,
    sum_i v_i d_i phi_i = (k/S) (sum_i a_i v_i - 2 sum_i a_i v_i a_i^2 x_i^2 / S) >= k^2/S,

and E[k^2/S] at least is gained. K is where k^2/E[S] is largest at f = c. The positive part of each factor is never
worse: given all |x_j|, the sign of x_i is more often that of f_i - c_i than not, so E[x_i (f_i - c_i)] >= 0, and a
factor below zero errs more than zero does. Where all sigma_i are equal, this is the rule above.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.denoise.arrays import (
    Floats,
    Mechanism,
    as_number_if_large,
    companion,
    host_number,
    like,
    mean_square,
    namespace,
    squares,
)
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser

LAGUERRE_RULE = np.polynomial.laguerre.laggauss(12)


@denoiser(sigmas=True, on_device=True)
def james_stein(
    y: Any,
    sigma: Any,
    *,
    toward: Any | Literal["mean"] = 0.0,
    positive_part: bool | Literal["smooth"] = True,
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """Shrink all values by one factor that the values choose themselves.

    y: the noisy values, an array of any library. sigma: the standard deviation of their noise, or one for each value:
        those whose noise is far above the others' are then shrunk less.
    toward: a public centre: a number, an array of the shape of y, or "mean" for the mean of y itself.
    positive_part: never shrink past the centre, which is never worse; "smooth", never quite to it either: less error
        with ten to a hundred values that are neither far above the noise nor far below it (Gaussian noise, one sigma).
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    Three bins are needed (four toward the mean); below that no such rule improves on y everywhere (Stein 1956).

    >>> james_stein([3.0, -1.0, 2.0, 0.0, 1.0], sigma=1.0).values
    array([ 2.4, -0.8,  1.6,  0. ,  0.8])
    """
    d, xp, to_mean, smooth = y.shape[0], namespace(y), isinstance(toward, str), isinstance(positive_part, str)
    if to_mean:
        validation.word("toward", toward, ("mean",))
    _check_bins(d, to_mean, not isinstance(sigma, float))
    if smooth:
        validation.word("positive_part", positive_part, ("smooth",))
        _check_smooth(d, 5 if to_mean else 4, not isinstance(sigma, float), mechanism)
    centre = xp.mean(y) if to_mean else companion("toward", toward, y, xp)
    centred = y if isinstance(centre, float) and centre == 0.0 else y - centre
    by = _shrinkage(sigma, y, to_mean, xp)
    norm = squares(centred if isinstance(by.tilt, float) else centred * by.tilt, xp)
    if smooth:
        factor, turn = smooth_factor(host_number(norm) / sigma**2, d - to_mean)
    else:
        factor, turn = _factor(norm, by, bool(positive_part), xp), 0.0
    by_number = as_number_if_large(factor, y)

    def risk() -> Stein:
        if smooth:
            return Stein((d - to_mean) * factor + 2 * turn + to_mean)
        slope = _slope(centred, norm, factor, by, bool(positive_part), mechanism, xp)
        return Stein(host_number(slope) + to_mean)

    chosen = {"toward": toward if isinstance(toward, (str, int, float)) else "array", "positive_part": positive_part}
    return Denoised(by_number * centred if centred is y else centre + by_number * centred, chosen, risk)


class Shrinkage(NamedTuple):
    """h = (1 - pull tilt/S) x with S = sum_i (tilt_i x_i)^2, and the noise of each bin: numbers, or arrays like y."""

    pull: float
    tilt: Any
    sigma: Any
    weight: Any  # sigma_i^2 over their mean, by which a bin's derivative counts
    share: float  # of a move of y_i that is one of x_i: (d - 1)/d toward the mean


def _shrinkage(sigma: float | Floats, y: Any, to_mean: bool, xp: Any) -> Shrinkage:
    """Of one sigma sigma^2 (d - 2), or d - 3; of different ones Tan's a and k."""
    if isinstance(sigma, float):
        d = y.shape[0]
        return Shrinkage((d - 3 if to_mean else d - 2) * sigma**2, 1.0, sigma, 1.0, 1 - to_mean / d)
    tilt, pull = tan_direction(sigma**2)
    parts = [like(part, y, xp) for part in (tilt, sigma, sigma**2 / mean_square(sigma))]
    return Shrinkage(pull, parts[0], parts[1], parts[2], 1.0)


def tan_direction(v: Floats) -> tuple[Floats, float]:
    """(a, k) for variances v: a = min(1, K/v), k = sum a v - 2 max a v.

    With the nu largest v cut to K, k^2 / sum a^2 v is largest at K = (nu - 2)/sum of 1/v over them; the right nu is the
    first for which the next v is not above K.
    """
    largest = -np.sort(-v)
    cut = np.arange(1, v.size + 1)
    levels = np.maximum(cut - 2, 0) / np.cumsum(1 / largest)
    first = ((cut >= 3) & (levels >= np.append(largest[1:], 0.0))).argmax()
    a = np.minimum(1.0, levels[first] / v)
    return a, float((a * v).sum() - 2 * (a * v).max())


def smooth_factor(s: float, d: int) -> tuple[float, float]:
    """g = 1 - d/((d + 2) q + S) and S g'(S), for S in units of sigma^2; S q'(S) = q ((b - 1)(1 - q) - x).

    Where x > 2 b + 100, q < exp(-50), log M(1, b, x) being at least x - (b - 1) log x + log Gamma(b) + log(1/2).
    """
    from scipy.special import hyp1f1

    b, x = d / 2 + 2, s / 2
    q = 0.0 if x > 2 * b + 100 else 1 / float(hyp1f1(1.0, b, x))
    below = (d + 2) * q + 2 * x
    return 1 - d / below, d * ((d + 2) * q * ((b - 1) * (1 - q) - x) + 2 * x) / below / below


def _check_smooth(d: int, least: int, different: bool, mechanism: Mechanism) -> None:
    if different or mechanism == "laplace" or d < least:
        raise errors.InvalidParameter(
            f'positive_part="smooth" needs Gaussian noise of one sigma, and {least} bins. Say positive_part=True.',
            parameter="positive_part",
            value="smooth",
            example={"positive_part": True},
        )


def _check_bins(d: int, to_mean: bool, different: bool) -> None:
    least = 4 if to_mean else 3
    if to_mean and different:
        raise errors.InvalidParameter(
            "Toward the mean, James-Stein needs one sigma for all values. Shrink toward zero, or a number you know.",
            parameter="toward",
            value="mean",
            example={"toward": 0.0},
        )
    if d < least:
        raise errors.InvalidParameter(
            f"James-Stein needs {least} bins or more{' toward the mean' if to_mean else ''}; there are {d}. With "
            "fewer no rule improves on the raw values for every truth. Keep them, or state a prior: gaussian_prior."
        )


def _factor(norm: Any, by: Shrinkage, positive: bool, xp: Any) -> Any:
    """1 - pull tilt/S, and zero where S is."""
    factor = 1 - by.pull * by.tilt / xp.where(norm > 0, norm, xp.ones_like(norm))
    factor = xp.where(norm > 0, factor, xp.zeros_like(factor))
    return xp.clip(factor, 0.0, None) if positive else factor


def _slope(x: Any, norm: Any, factor: Any, by: Shrinkage, positive: bool, mechanism: Mechanism, xp: Any) -> Any:
    """The divergence, weighted."""
    if mechanism == "laplace":
        return laplace_slope(x, norm, by.pull, by.sigma, by.share, positive, xp, tilt=by.tilt, weight=by.weight)
    safe = xp.where(norm > 0, norm, xp.ones_like(norm))
    kept = factor > 0 if positive else norm > 0
    if isinstance(by.tilt, float):  # one sigma: the sum is known
        d = by.share * x.shape[0]
        return xp.where(xp.asarray(kept), d - by.pull * (d - 2) / safe, xp.zeros_like(safe))
    part = 1 - by.pull * by.tilt / safe + 2 * by.pull * by.tilt**3 * (x / safe) ** 2
    return xp.sum(by.weight * xp.where(kept, part, xp.zeros_like(part)))


def laplace_slope(
    x: Any,
    total: Any,
    pull: Any,
    sigma: Any,
    share: float,
    positive: bool,
    xp: Any,
    *,
    tilt: Any = 1.0,
    weight: Any = 1.0,
) -> Any:
    """sum_i weight_i E d_i of (1 - pull tilt_i/S) x_i when y_i moves by n' ~ Laplace, by Gauss-Laguerre quadrature.

    S is sum_i (tilt_i x_i)^2, given as `total`. x is y, or a projection of it whose matrix has one number, `share`,
    all along its diagonal (y less its mean has (d - 1)/d): a unit move of y_i moves x_i by the share, and ||x||^2
    by 2 x_i + share.
    """
    scale = sigma / math.sqrt(2)
    slope = 0.0
    for node, share_of_node in zip(*LAGUERRE_RULE, strict=True):
        for move in (scale * float(node), -scale * float(node)):
            moved = x + share * move
            norm = total + tilt**2 * (2 * move * x + share * move**2)
            part = share * (1 - pull * tilt / norm) + 2 * pull * tilt**3 * moved * moved / (norm * norm)
            if positive:
                part = xp.where(norm > pull * tilt, part, xp.zeros_like(part))
            slope = slope + float(share_of_node) / 2 * xp.sum(weight * part)
    return slope
