"""A prior for coefficients that are mostly small and sometimes large: a mixture of Gaussians around zero.

    theta ~ sum_k w_k N(0, tau_k^2),    u = theta + N(0, 1)

with the tau_k on a lattice that begins at zero, and the weights those that make the u most likely (Stephens 2017; Xing,
Carbonetto & Stephens 2021 for wavelets). The posterior mean is odd, rising and smooth:

    E(theta | u) = sum_k p_k(u) tau_k^2 / (1 + tau_k^2) u,     p_k(u) proportional to w_k N(u; 0, 1 + tau_k^2).

The weights come from the interior point of the nonparametric prior (`npmle/interior_point.py`), with its certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leastnoise.denoise.arrays import Floats
from leastnoise.denoise.empirical_bayes import hermite
from leastnoise.denoise.npmle.interior_point import maximise_likelihood
from leastnoise.denoise.npmle.kernels import Dense

CELLS_A_UNIT = 64  # of asinh |u|, in which coefficients are counted and rules tabulated
RATIO = 2.0  # between one tau and the next
LEAST_SCALE = 1.0
TOLERANCE = 1e-6  # nats a coefficient
LEAST_WEIGHT = 1e-4  # below it a part of the mixture takes no part in degrees of freedom


@dataclass(frozen=True, slots=True, eq=False)
class ScaleMixture:
    """Fitted weights of N(0, tau^2), and how they follow the coefficients they were fitted to."""

    tau: Floats
    weights: Floats
    spread: Floats  # columns V with V V' = the inverse curvature of the likelihood, on the weights above zero

    @classmethod
    def fit(cls, u: Floats, counted: Floats) -> ScaleMixture:
        """The likeliest weights for these coefficients, each `counted` so often."""
        cell = np.rint(np.arcsinh(np.abs(u)) * CELLS_A_UNIT).astype(np.int64)
        counts = np.bincount(cell, counted).astype(np.float64)
        seen = np.flatnonzero(counts)
        places = np.sinh(seen / CELLS_A_UNIT)
        top = max(float(places[-1]), 2 * LEAST_SCALE)
        tau = np.append(0.0, LEAST_SCALE * RATIO ** np.arange(math.ceil(math.log(top / LEAST_SCALE, RATIO)) + 1))
        density = _densities(places, tau)
        kernel = Dense(density)
        weights = maximise_likelihood(kernel, counts[seen], TOLERANCE).weights
        alive = weights > LEAST_WEIGHT
        ratio = density[:, alive] / (density @ weights)[:, None]
        curvature = ratio.T @ (ratio * (counts[seen] / counts.sum())[:, None])
        places_of, axes = np.linalg.eigh(curvature)
        kept = places_of > 1e-9 * places_of[-1]
        spread = np.zeros((tau.size, int(kept.sum())))
        spread[alive] = axes[:, kept] / np.sqrt(places_of[kept])
        return cls(tau, weights, spread)

    def means(self, u: Floats) -> tuple[Floats, Floats]:
        """The posterior means, and their slopes in u; from a table of how far they lie below u."""
        place, table = _table(u)
        pull, slope = self.pulls(table)
        rise = (1 - slope) * np.sqrt(1 + table**2) / CELLS_A_UNIT  # of the pull, from a cell to the next
        return u - np.copysign(hermite(place.ravel(), pull, rise).reshape(u.shape), u), _between(place, slope)

    def pulls(self, u: Floats) -> tuple[Floats, Floats]:
        """u - mean, and the slope of the mean, without a table."""
        lose = 1 / (1 + self.tau**2)
        p = self._responsibilities(u)
        part = p @ lose
        return part * u, 1 - part + u**2 * (p @ lose**2 - part**2)

    def moved(self, u: Floats, direction: Floats) -> Floats:
        """How the means change when the weights change by this: sum_k d mean / d w_k direction_k."""
        place, table = _table(u)
        lose = 1 / (1 + self.tau**2)
        turned = np.divide(direction, self.weights, out=np.zeros(direction.size), where=self.weights > LEAST_WEIGHT)
        p = self._responsibilities(table)
        return u * _between(place, (p @ lose) * (p @ turned) - p @ (lose * turned))

    def _responsibilities(self, u: Floats) -> Floats:
        p = _densities(u, self.tau) * self.weights
        return np.asarray(p / p.sum(axis=1, keepdims=True))


def _densities(u: Floats, tau: Floats) -> Floats:
    """N(u; 0, 1 + tau^2), up to a factor of each u alone that keeps the largest near one."""
    wide = 1 + tau**2
    log = -0.5 * (u**2)[:, None] / wide - 0.5 * np.log(wide)
    return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))


def _table(u: Floats) -> tuple[Floats, Floats]:
    """Where |u| lies between the places of a table, whose numbers are asinh |u| in cells; and those places."""
    place = np.arcsinh(np.abs(u)) * CELLS_A_UNIT
    return place, np.sinh(np.arange(math.ceil(float(place.max())) + 2) / CELLS_A_UNIT)


def _between(place: Floats, value: Floats) -> Floats:
    """Linear interpolation between values at 0, 1, 2, ..."""
    return np.interp(place, np.arange(value.size), value)
