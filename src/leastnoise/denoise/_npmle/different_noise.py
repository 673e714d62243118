"""The likeliest prior of values whose noise differs from bin to bin (any units).

    max over weights w >= 0, sum w = 1:   mean_i log f_i,   f = A w,   A_ij = p((y_i - a_j)/sigma_i)

Observations with different sigmas share no kernel, so A is written out, and the weights are found by the constrained
Newton method (Wang 2007): few atoms have weight, and only those are worked on. Each round adds the peaks of the
gradient g_j = mean_i A_ij/f_i between the atoms of before, minimises the second-order expansion of the likelihood over
w >= 0 (a least-squares problem), and takes the longest of the steps 1, 1/2, 1/4, ... to it that gains. It ends on the
same certificate as the interior point: no mixture of these atoms is likelier by more than max_j g_j - 1 nats an
observation.

Atoms stand on dyadic lattices: near an observation of noise sigma they are at most an eighth of it apart (a quarter
where that would make A too large).
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from leastnoise import errors
from leastnoise.denoise._npmle.interior_point import MAX_GAP, Solution
from leastnoise.denoise._npmle.layout import Bounds
from leastnoise.denoise.arrays import Floats, Mechanism

PARTS_OF_SIGMA = (8, 4)  # atoms to a sigma, at least
REACH_IN_SIGMAS = 4  # on either side of an observation, where it has atoms
MAX_ENTRIES = 5e7  # of A: 400 megabytes
MAX_ROUNDS = 200


def atoms_near(y: Floats, sigma: Floats, bounds: Bounds, unit: float) -> Floats:
    """Where mass may be: within the range of y and the bounds, on multiples of `unit` where it is above 0."""
    for parts in PARTS_OF_SIGMA:
        atoms = _lattices(y, sigma, bounds, parts)
        if unit > 0:
            atoms = np.unique(np.rint(atoms / unit) * unit)
        if y.size * atoms.size <= MAX_ENTRIES:
            return atoms
    raise errors.OutOfRange(
        f"{y.size:,} values with different sigmas, and {atoms.size:,} places where their prior may have mass, are more "
        "than are worked on at once. Denoise parts of them by themselves, or all with one sigma."
    )


def _lattices(y: Floats, sigma: Floats, bounds: Bounds, parts: int) -> Floats:
    least = float(sigma.min())
    octave = np.floor(np.log2(sigma / least) + 1e-9).astype(np.int64)  # least 2^octave <= sigma < least 2^(octave + 1)
    around = np.arange(-2 * REACH_IN_SIGMAS * parts, 2 * REACH_IN_SIGMAS * parts + 1)
    found = []
    for level in np.unique(octave):
        step = least * 2.0 ** int(level) / parts
        seen = np.unique(np.rint(y[octave == level] / step))
        found.append(np.unique((seen[:, None] + around).ravel()) * step)
    low, high = max(bounds[0], float(y.min())), min(bounds[1], float(y.max()))
    low, high = min(low, bounds[1]), max(high, bounds[0])  # all observations may lie on one side of the bounds
    return np.unique(np.concatenate([*(np.clip(atoms, low, high) for atoms in found), [low, high]]))


def log_density(y: Floats, sigma: Floats, atoms: Floats, mechanism: Mechanism) -> Floats:
    """log A, up to a constant in each row."""
    t = (y[:, None] - atoms) / sigma[:, None]
    return np.asarray(-0.5 * t * t if mechanism == "gaussian" else -math.sqrt(2) * np.abs(t))


def maximise_likelihood(y: Floats, sigma: Floats, atoms: Floats, mechanism: Mechanism, tolerance: float) -> Solution:
    """Weights of the atoms whose log-likelihood is within `tolerance` an observation of the best."""
    dense = log_density(y, sigma, atoms, mechanism)
    np.exp(dense - dense.max(axis=1, keepdims=True), out=dense)
    w = _start(y, sigma, atoms)
    rounds = 0
    while True:
        f = np.maximum(dense @ w, np.finfo(float).tiny)
        gradient = dense.T @ (1 / f) / y.size
        gap = float(gradient.max()) - 1
        if gap <= tolerance or rounds == MAX_ROUNDS:
            break
        rounds += 1
        support = np.union1d(np.flatnonzero(w), _peaks(gradient, np.flatnonzero(w)))
        target = _newton(dense[:, support] / f[:, None])
        w, moved = _gain(dense[:, support], w, support, target)
        if not moved:  # no more digits to gain; the certificate tells how good w is already
            break
    if not gap <= max(MAX_GAP, tolerance):
        raise errors.NotProved(
            f"The prior was not found to the accuracy needed: {gap:.1e} nats a value after {rounds} rounds. "
            "Denoise parts of the values by themselves, or all with one sigma."
        )
    return Solution(w, 1 - gradient, max(gap, 0.0), rounds)


def _start(y: Floats, sigma: Floats, atoms: Floats) -> Floats:
    """Equal weights on few atoms of which every observation has one within a few sigma: its density is then not zero.

    Of the intervals y_i -+ 2 sigma_i, the one that ends first gets an atom at its end, all that hold it are done, and
    so on: the least number of points that meets all.
    """
    ends = y + 2 * sigma
    points, last = [], -math.inf
    for i in ends.argsort(kind="stable"):
        if y[i] - 2 * sigma[i] > last:
            last = float(ends[i])
            points.append(last)
    places = np.clip(np.searchsorted(atoms, points), 1, max(atoms.size - 1, 1))
    places = places - (np.array(points) - atoms[places - 1] < atoms[np.minimum(places, atoms.size - 1)] - points)
    w = np.bincount(places, minlength=atoms.size).astype(np.float64)
    return np.asarray(w / w.sum())


def _peaks(gradient: Floats, support: NDArray[np.intp]) -> NDArray[np.intp]:
    """The largest gradient between each two atoms with weight, where it is above 1."""
    edges = np.unique(np.concatenate([[0], support, [gradient.size]]))
    tops = [start + int(gradient[start:end].argmax()) for start, end in pairwise(edges)]
    return np.array([top for top in tops if gradient[top] > 1], dtype=np.intp)


def _newton(ratio: Floats) -> Floats:
    """argmin over w >= 0, sum w = 1 of |ratio w - 2|^2: the second-order expansion of the likelihood at sum w = 1.

    The sum is an equation of the least squares, heavy enough to hold to nine digits.
    """
    n = ratio.shape[0]
    triangle = np.asarray(np.linalg.qr(np.concatenate([ratio, np.full((n, 1), 2.0)], axis=1), mode="r"))
    heavy = 1e4 * math.sqrt(n)
    rows = np.concatenate([np.full((1, triangle.shape[1]), heavy), triangle])
    found, _ = nnls(rows[:, :-1], rows[:, -1], maxiter=10 * triangle.shape[1] + 100)
    return np.asarray(found / found.sum())


def _gain(dense: Floats, w: Floats, support: NDArray[np.intp], target: Floats) -> tuple[Floats, bool]:
    """The weights after the longest of the steps 1, 1/2, 1/4, ... that gains, and whether any did."""
    old = w[support]
    before, direction = np.log(dense @ old).sum(), dense @ (target - old)
    f = dense @ old
    rise = float((direction / f).sum())
    for power in range(40):
        step = 0.5**power
        after = np.log(np.maximum(f + step * direction, np.finfo(float).tiny)).sum()
        if after >= before + 1e-4 * step * rise and rise > 0:
            new = np.zeros(w.size)
            new[support] = np.maximum(old + step * (target - old), 0.0)
            new[new < 1e-12] = 0.0
            return new / new.sum(), True
    return w, False


def fitting_spent(y: Floats, sigma: Floats, atoms: Floats, weights: Floats, pinned: NDArray[np.bool_]) -> float:
    """sum_i sigma_i^2 d h_i/d y_i through the fitted prior: tr(M^-1 P' C P) as in `freedom.py`, where t is now
    (y_i - a_k)/sigma_i^2, 1 - t^2 is 1/sigma_i^2 - t^2, and d theta/d y_i is c_i M^-1 P_i'/sigma_i^2."""
    log_joint = log_density(y, sigma, atoms, "gaussian")
    top = log_joint.max(axis=1, keepdims=True)
    bell = np.exp(log_joint - top)
    f = bell @ weights
    ratio = bell / f[:, None]
    t = (y[:, None] - atoms) / sigma[:, None] ** 2
    lag = atoms - (ratio * weights @ atoms)[:, None]
    free = weights * ~pinned
    jacobian = np.concatenate([ratio, free * t * ratio], axis=1)
    change = np.concatenate([lag * ratio, free * (1 + t * lag) * ratio], axis=1)
    bend = weights * ((1 / sigma[:, None] ** 2 - t * t) * ratio).mean(axis=0)
    bend = np.maximum(bend, 1e-3 * weights * (ratio / sigma[:, None] ** 2).mean(axis=0))
    curvature = jacobian.T @ jacobian / y.size
    scale = np.concatenate([np.zeros(atoms.size), np.where(pinned, 1.0, bend)])
    curvature[np.diag_indices_from(curvature)] = (curvature.diagonal() + scale) * (1 + 1e-10)
    return float(np.trace(np.linalg.solve(curvature, change.T @ change / y.size)))
