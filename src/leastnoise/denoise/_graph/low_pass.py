"""Low-pass filters of a large graph: polynomials in its Laplacian, and their traces.

Filter k keeps frequencies up to about cut-off k and fades over a factor of a few,

    phi_k(theta) = erfc(log(theta / cutoff_k) / WIDTH) / 2,

expanded in Chebyshev polynomials of the spectrum's interval (Hammond, Vandergheynst & Gribonval 2011): the polynomial
*is* the filter, so nothing is approximated but its shape. One recursion serves all filters. Traces come from the same
recursion on random signs, whose E z'T z is the trace of T (Hutchinson 1990). Constants on components are taken apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from leastnoise.denoise._graph.spectrum import component_means
from leastnoise.denoise.arrays import Floats
from leastnoise.graphs import Graph

DEGREE = 200
CUTOFFS = 24
WIDTH = 0.5  # of the fading, in log theta
LEAST_CUTOFF = (6 / DEGREE) ** 2  # over the largest eigenvalue: polynomials of this degree see no finer


class LowPass:
    """The filters of one graph, by rising cut-off."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.graph, self.seed = graph, seed
        self.laplacian = graph.laplacian()
        self.top = 2 * float(self.laplacian.diagonal().max()) + np.finfo(float).tiny  # no eigenvalue is above it
        self.series = _series()

    def __call__(self, y: Floats) -> Floats:
        """phi_k(L) y, a row for each filter, of a y whose component means are zero."""
        made = np.zeros((CUTOFFS, y.size))
        for m, t in enumerate(self._chebyshev(y)):
            made += np.outer(self.series[m], t)
        return made

    @cached_property
    def traces(self) -> Floats:
        """Of all filters, apart from the constants."""
        probes = int(np.clip(200_000 // self.graph.size, 4, 48))
        signs = np.random.default_rng(self.seed).choice([-1.0, 1.0], (probes, self.graph.size))
        start = np.stack([x - component_means(x, self.graph) for x in signs], axis=1)
        moments = np.array([float((start * t).sum()) for t in self._chebyshev(start)])
        dimensions = self.graph.size - int(self.graph.components.max()) - 1
        return np.asarray(dimensions * (moments @ self.series) / max(moments[0], np.finfo(float).tiny))

    def _chebyshev(self, x: Floats) -> Iterator[Floats]:
        """T_m of the Laplacian, moved to [-1, 1], times x: m = 0 ... DEGREE."""
        before, now = x, 2 / self.top * (self.laplacian @ x) - x
        yield before
        for _ in range(DEGREE):
            yield now
            before, now = now, 2 * (2 / self.top * (self.laplacian @ now) - now) - before


def _series() -> Floats:
    """Chebyshev coefficients of all filters on [0, 1]: (DEGREE + 1) x filters."""
    from scipy.fft import dct
    from scipy.special import erfc

    nodes = np.cos(np.pi * (np.arange(4 * DEGREE) + 0.5) / (4 * DEGREE))
    theta = np.maximum((nodes + 1) / 2, 1e-12)
    cutoffs = np.geomspace(LEAST_CUTOFF, 1.0, CUTOFFS)
    filters = erfc(np.log(theta[:, None] / cutoffs) / WIDTH) / 2
    made = np.asarray(dct(filters, axis=0)) / (4 * DEGREE)
    made[0] /= 2
    return made[: DEGREE + 1]
