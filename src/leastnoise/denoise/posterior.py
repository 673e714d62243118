"""Posterior: what empirical Bayes found, the prior of all values and what each is believed to be under it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.host_arrays import as_host
from leastnoise.denoise._npmle.different_noise import log_density
from leastnoise.denoise._npmle.medians import MAX_ERRORS_FROM_ZERO, median_of
from leastnoise.denoise.arrays import Floats, Mechanism

VALUES_AT_ONCE = 512  # whose posteriors are written out together
REACH_IN_SIGMAS = 40.0  # beyond which an atom is not seen: exp(-56) under Laplace noise


@dataclass(frozen=True, eq=False)
class Posterior:
    """The prior that was fitted, and every value's distribution given its noisy one.

    atoms, weights: where the prior has mass, in increasing order, and how much; the weights add up to 1.
    y, sigma: the noisy values and their noise. mechanism: its distribution.

    All of it is *under the fitted prior*, which does not know that it was fitted: a value that stands alone has an atom
    to itself and a standard deviation of zero, and intervals of these widths would be too short. `e.interval()` has
    intervals that are right whatever the truth is.
    """

    atoms: Floats
    weights: Floats
    y: Any = field(repr=False)
    sigma: float | Floats = field(repr=False)
    mechanism: Mechanism = "gaussian"

    @cached_property
    def _here(self) -> Floats:
        """The values in this machine's memory, whichever device they live on."""
        return np.asarray(as_host(self.y), dtype=np.float64)

    @cached_property
    def _sums(self) -> dict[str, Floats]:
        """Of all values, flat: posterior means, variances, medians, the probability of zero."""
        made = {name: np.empty(self._here.size) for name in ("mean", "variance", "median", "zero")}
        at_zero = self.taken_for_zero
        for rows, near, posterior in self._parts():
            atoms, zero = self.atoms[near], at_zero[near]
            made["mean"][rows] = mean = posterior @ atoms
            made["variance"][rows] = np.einsum("ij,ij->i", posterior, (atoms - mean[:, None]) ** 2)
            made["median"][rows] = median_of(np.where(zero, 0.0, np.broadcast_to(atoms, posterior.shape)), posterior)
            made["zero"][rows] = posterior @ zero
        return made

    def _parts(self) -> Iterator[tuple[NDArray[np.intp], slice, Floats]]:
        """Some values at a time, the atoms that they may be, and the posterior weights of those."""
        y, sigma = self._here.ravel(), np.broadcast_to(self.sigma, self._here.shape).ravel()
        order = y.argsort(kind="stable")
        log_weights = np.log(self.weights)
        for start in range(0, y.size, VALUES_AT_ONCE):
            rows = order[start : start + VALUES_AT_ONCE]
            ends = y[rows[[0, -1]]]
            reach = REACH_IN_SIGMAS * float(sigma[rows].max()) * np.array([-1, 1])
            first, last = np.searchsorted(self.atoms, ends + reach)
            below, above = np.searchsorted(self.atoms, ends)
            near = slice(
                min(int(first), max(int(below) - 1, 0)), max(int(last), int(above) + 1)
            )  # the nearest, at least
            joint = log_density(y[rows], sigma[rows], self.atoms[near], self.mechanism) + log_weights[near]
            joint = np.exp(joint - joint.max(axis=1, keepdims=True))
            yield rows, near, joint / joint.sum(axis=1, keepdims=True)

    @cached_property
    def taken_for_zero(self) -> NDArray[np.bool_]:
        """Which atoms are within two of their standard errors of zero: nothing says that they are not zero.

        The standard error of an atom is 1/sqrt(sum of 1/sigma_i^2 over the values that it stands for).
        """
        sigma, known = np.broadcast_to(self.sigma, self._here.shape).ravel(), np.zeros(self.atoms.size)
        for rows, near, posterior in self._parts():
            known[near] += 1 / sigma[rows] ** 2 @ posterior
        return np.asarray(np.abs(self.atoms) * np.sqrt(known) <= MAX_ERRORS_FROM_ZERO)

    @property
    def mean(self) -> Floats:
        """The posterior mean of each value."""
        return self._sums["mean"].reshape(self._here.shape)

    @property
    def std(self) -> Floats:
        """The posterior standard deviation of each value."""
        return np.sqrt(self._sums["variance"]).reshape(self._here.shape)

    @property
    def median(self) -> Floats:
        """The posterior median of each value, with mass between atoms spread evenly, and none around zero."""
        return self._sums["median"].reshape(self._here.shape)

    @property
    def probability_of_zero(self) -> Floats:
        """How likely each value is to be zero: the weight of the atoms that are taken for zero.

        Of counts, say support="nonnegative": the prior then has an atom at zero itself, if many are.
        """
        return self._sums["zero"].reshape(self._here.shape)

    def __repr__(self) -> str:
        return f"<Posterior of {math.prod(self.y.shape):,} values under a prior of {self.atoms.size:,} atoms>"
