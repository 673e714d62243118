"""The likelihood of every observation under every possible value (atom), as an operator that is never written out.

A_ij = p(y_i | a_j), up to a constant, for atoms on a uniform grid. The interior point needs three things of it:
A w, A' u, and the solution of (A' diag(v) A + diag(s)) x = r. Both laws make these cheap:

    Gaussian   A has a band (nothing is seen further than 7 sigma), so A' diag(v) A has one twice as wide.
    Laplace    A on the grid has a tridiagonal inverse T, because exp(-|t|/b) is the Green's function of
               f - b^2 f''. With x = T q the system becomes (B' diag(v) B + T diag(s) T) q = T r: five diagonals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cho_solve_banded, cholesky_banded, solveh_banded
from scipy.linalg.lapack import dtbtrs
from scipy.special import ndtr

Floats = NDArray[np.float64]
REACH_IN_SIGMAS = 7.0  # exp(-24.5) = 2e-11 is nothing beside the 1/d that every observation is given by some atom
_WINDOWS_AT_ONCE = 4096  # multiplied together


class Solver(Protocol):
    """M of a kernel, factored."""

    def solve(self, r: Floats) -> Floats:
        """M^-1 r."""


class Kernel(Protocol):
    """What the noise of a distribution must offer."""

    @property
    def atoms(self) -> int:
        """How many there are."""

    def forward(self, w: Floats) -> Floats:
        """A w: the mixture's density at the observations."""

    def adjoint(self, u: Floats) -> Floats:
        """A' u: the gradient at the atoms."""

    def factor(self, v: Floats, s: Floats) -> Solver:
        """M = A' diag(v) A + diag(s), ready to be solved."""


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """M = G (U'U) G with U upper triangular in bands, and G^-1 = `around` (the identity where it is None)."""

    bands: Floats
    around: Callable[[Floats], Floats] | None = None

    def solve(self, r: Floats) -> Floats:
        """M^-1 r."""
        inner = cho_solve_banded((self.bands, False), self._around(r), check_finite=False)
        return self._around(np.asarray(inner))

    def root(self, r: Floats) -> Floats:
        """R r for an R with R R' = M^-1."""
        inner, _ = dtbtrs(self.bands, r, uplo="U")
        return self._around(np.asarray(inner))

    def _around(self, r: Floats) -> Floats:
        return r if self.around is None else self.around(r)


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """A written out, for parts of a mixture that no lattice orders."""

    matrix: Floats

    @property
    def atoms(self) -> int:
        return int(self.matrix.shape[1])

    def forward(self, w: Floats) -> Floats:
        return np.asarray(self.matrix @ w)

    def adjoint(self, u: Floats) -> Floats:
        return np.asarray(self.matrix.T @ u)

    def factor(self, v: Floats, s: Floats) -> DenseFactor:
        half = self.matrix * np.sqrt(v)[:, None]
        whole = half.T @ half
        whole[np.diag_indices_from(whole)] += s
        return DenseFactor(cho_factor(whole, check_finite=False, overwrite_a=True))


@dataclass(frozen=True, slots=True, eq=False)
class DenseFactor:
    """M = U'U, as SciPy holds it."""

    whole: tuple[Floats, bool]

    def solve(self, r: Floats) -> Floats:
        """M^-1 r."""
        return np.asarray(cho_solve(self.whole, r, check_finite=False))


@dataclass(frozen=True, slots=True)
class GaussianBand:
    """Atoms every `stride` cells; observations counted in cells of `cell` sigma, from `margin` cells before the
    first atom to as many after the last.

    A cell's likelihood is the density averaged over the cell, so counting in cells adds no bias.
    """

    atoms: int
    stride: int
    cell: float

    @property
    def margin(self) -> int:
        return self.stride * math.ceil(REACH_IN_SIGMAS / self.cell / self.stride)

    @property
    def cells(self) -> int:
        return (self.atoms - 1) * self.stride + 2 * self.margin + 1

    @property
    def window(self) -> Floats:
        return _cell_density(self.margin, self.cell)

    def forward(self, w: Floats) -> Floats:
        return self.against(self.window, w)

    def against(self, window: Floats, w: Floats) -> Floats:
        """sum_j w_j window(cell - atom j), at every cell."""
        spread = np.zeros((self.atoms - 1) * self.stride + 1)
        spread[:: self.stride] = w
        return np.convolve(spread, window)

    def adjoint(self, u: Floats) -> Floats:
        return np.convolve(u, self.window, "valid")[:: self.stride]

    def factor(self, v: Floats, s: Floats) -> Factor:
        bands = min(self.atoms - 1, 2 * self.margin // self.stride)
        products = _products(self.margin, self.cell, self.stride)[:, : bands + 1]
        lower = np.empty((self.atoms, bands + 1))
        windows = np.lib.stride_tricks.sliding_window_view(v, 2 * self.margin + 1)[:: self.stride]
        for start in range(0, self.atoms, _WINDOWS_AT_ONCE):
            lower[start : start + _WINDOWS_AT_ONCE] = (
                np.ascontiguousarray(windows[start : start + _WINDOWS_AT_ONCE]) @ products
            )
        lower[:, 0] += s
        upper = np.zeros((bands + 1, self.atoms))
        for t in range(bands + 1):
            upper[bands - t, t:] = lower[: self.atoms - t, t]
        return Factor(cholesky_banded(upper, check_finite=False, overwrite_ab=True))


@lru_cache(maxsize=8)
def _cell_density(margin: int, cell: float) -> Floats:
    """The normal density averaged over cells -margin ... margin, through the tails so that none cancels."""
    edges = (np.arange(-margin, margin + 2) - 0.5) * cell
    tail = ndtr(-np.abs(edges))
    both = np.where(edges[:-1] * edges[1:] < 0, 1 - tail[:-1] - tail[1:], np.abs(np.diff(tail)))
    return np.asarray(both / cell)


@lru_cache(maxsize=8)
def _products(margin: int, cell: float, stride: int) -> Floats:
    """A_ij A_i,j+t by the place of cell i from atom j (rows) and t (columns)."""
    window = _cell_density(margin, cell)
    products = np.zeros((window.size, 2 * margin // stride + 1))
    for t in range(products.shape[1]):
        products[t * stride :, t] = window[t * stride :] * window[: window.size - t * stride]
    return products


@dataclass(frozen=True, slots=True, eq=False)
class LaplaceChain:
    """Atoms every `step` scales b; observation i lies in cell `cell[i]`, a part `part[i]` of the way to the next atom.

    Between two atoms the mixture solves f = b^2 f'', so its value there is the sinh-weighted mean of its values at
    the two atoms: exact, wherever the observations lie.
    """

    atoms: int
    step: float
    cell: NDArray[np.int64]
    left: Floats
    right: Floats

    @classmethod
    def of(cls, atoms: int, step: float, cell: NDArray[np.int64], part: Floats) -> LaplaceChain:
        left, right = np.sinh((1 - part) * step) / math.sinh(step), np.sinh(part * step) / math.sinh(step)
        return cls(atoms, step, cell, left, right)

    @property
    def inverse(self) -> Floats:
        """T in upper banded form."""
        r = math.exp(-self.step)
        bands = np.empty((2, self.atoms))
        bands[0], bands[1] = -r, 1 + r * r
        bands[1, [0, -1]] = 1.0
        if self.atoms == 1:
            bands[1] = 1 - r * r
        return bands / -math.expm1(-2 * self.step)

    def apply_inverse(self, x: Floats) -> Floats:
        off, diagonal = self.inverse
        out = diagonal * x
        out[1:] += off[1:] * x[:-1]
        out[:-1] += off[1:] * x[1:]
        return np.asarray(out)

    def at_atoms(self, w: Floats) -> Floats:
        return np.asarray(solveh_banded(self.inverse, w, check_finite=False)) if self.atoms > 1 else w

    def between(self, f: Floats) -> Floats:
        """What has the values f at the atoms, at the observations."""
        here = np.append(f, f[-1])
        return np.asarray(self.left * here[self.cell] + self.right * here[self.cell + 1])

    def forward(self, w: Floats) -> Floats:
        return self.between(self.at_atoms(w))

    def adjoint(self, u: Floats) -> Floats:
        low = np.bincount(self.cell, self.left * u, self.atoms)
        high = np.bincount(self.cell + 1, self.right * u, self.atoms + 1)
        return self.at_atoms(np.asarray(low + high[:-1]))

    def factor(self, v: Floats, s: Floats) -> Factor:
        off, diagonal = self.inverse
        bands = np.zeros((3, self.atoms))
        t = off[1:]
        bands[2] = s * diagonal**2
        bands[2, 1:] += s[:-1] * t**2
        bands[2, :-1] += s[1:] * t**2
        bands[1, 1:] = t * (s[:-1] * diagonal[:-1] + s[1:] * diagonal[1:])
        bands[0, 2:] = t[:-1] * s[1:-1] * t[1:]
        bands[2] += np.bincount(self.cell, self.left**2 * v, self.atoms)
        bands[2] += np.bincount(self.cell + 1, self.right**2 * v, self.atoms + 1)[:-1]
        bands[1] += np.bincount(self.cell + 1, self.left * self.right * v, self.atoms + 1)[:-1]
        bands[2] *= 1 + 1e-13  # rounding in long chains must not make it indefinite
        return Factor(cholesky_banded(bands, check_finite=False, overwrite_ab=True), self.apply_inverse)
