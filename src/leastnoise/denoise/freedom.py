"""How many degrees of freedom fitting a mixture costs, under Gaussian noise (units: sigma = 1).

At the optimum every atom a_k of weight w_k is stationary in both: they are parameters theta = (w, a), though nobody
counted them. With A_ik = phi(y_i - a_k), f = A w, c_i the share of observation i, and

    J = d log f / d theta = ( A_ik / f_i ,  w_k (y_i - a_k) A_ik / f_i )
    P = d h / d theta     = ( (a_k - h_i) A_ik / f_i ,  w_k (1 + (y_i - a_k)(a_k - h_i)) A_ik / f_i ),

the curvature of the fit is M = J' C J + diag(0, w_k sum_i c_i (1 - (y_i - a_k)^2) A_ik / f_i), and differentiating
stationarity gives d theta/d y_i = c_i M^-1 P_i'. So the fit adds tr(M^-1 P' C P) to the divergence. For a value with
no neighbours this is 1: its atom follows it. An atom at the edge of the support cannot move: its location is left out.

The trace is estimated by x = M^(-1/2) (random signs), seeded: sum_i c_i (P_i x)^2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky_banded
from scipy.sparse import csr_array

from leastnoise.denoise.arrays import Floats
from leastnoise.denoise.kernels import REACH, Factor

PROBES = 40


def merged(place: Floats, weight: Floats, step: float, least: float) -> tuple[Floats, Floats]:
    """Lattice atoms as the real ones they stand for: neighbours with weight are one atom at their mean."""
    alive = np.flatnonzero(weight > least)
    group = np.concatenate([[0], np.cumsum(np.diff(place[alive]) > 1.5 * step)])
    mass = np.bincount(group, weight[alive])
    return np.bincount(group, weight[alive] * place[alive]) / mass, mass / mass.sum()


def fitting_freedom(x: Floats, counts: Floats, atoms: Floats, weights: Floats, pinned: NDArray[np.bool_]) -> float:
    """tr(M^-1 P' C P) for observations x (counted) and sorted atoms."""
    c = counts / counts.sum()
    row, column = _near(x, atoms)
    t = x[row] - atoms[column]
    bell = np.exp(-0.5 * t * t)
    w = weights[column]
    f = np.maximum(np.bincount(row, w * bell, x.size), np.finfo(float).tiny)
    h = np.bincount(row, w * bell * atoms[column], x.size) / f
    ratio = bell / f[row]
    lag = atoms[column] - h[row]
    free = w * ~pinned[column]
    jacobian = _interleaved(row, column, ratio, free * t * ratio, x.size, atoms.size)
    change = _interleaved(row, column, lag * ratio, free * (1 + t * lag) * ratio, x.size, atoms.size)
    bend = np.maximum(weights * np.bincount(column, c[row] * (1 - t * t) * ratio, atoms.size), 1e-3 * weights)
    curvature = jacobian.T @ jacobian.multiply(c[:, None]).tocsr()
    factor = _banded(curvature, np.where(pinned, 1.0, bend))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, 2 * atoms.size))
    return float(np.mean([c @ (change @ factor.root(r)) ** 2 for r in signs]))


def _near(x: Floats, atoms: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All pairs (observation, atom) that see each other, as two index vectors."""
    first, last = np.searchsorted(atoms, x - REACH), np.searchsorted(atoms, x + REACH, "right")
    many = last - first
    row = np.repeat(np.arange(x.size), many)
    return row, np.arange(row.size) - np.repeat(np.cumsum(many) - many - first, many)


def _interleaved(
    row: NDArray[np.intp], column: NDArray[np.intp], weight_part: Floats, atom_part: Floats, rows: int, atoms: int
) -> csr_array:
    """Columns in the order w_0, a_0, w_1, a_1, ..., so that what is near stays near."""
    entries = np.concatenate([weight_part, atom_part])
    places = np.concatenate([row, row]), np.concatenate([2 * column, 2 * column + 1])
    return csr_array((entries, places), shape=(rows, 2 * atoms))


def _banded(matrix: csr_array, bend: Floats) -> Factor:
    pairs = matrix.tocoo()
    row, column = pairs.coords
    upper = column >= row
    width = int((column - row).max())
    bands = np.zeros((width + 1, matrix.shape[0]))
    bands[width + row[upper] - column[upper], column[upper]] = pairs.data[upper]
    bands[width, 1::2] += bend
    bands[width] *= 1 + 1e-10
    return Factor(cholesky_banded(bands, check_finite=False, overwrite_ab=True))
