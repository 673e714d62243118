"""Spanning-tree wavelets (Sharpnack, Singh & Krishnamurthy 2013): an orthonormal basis that knows the graph.

A spanning tree is cut in balance, again and again. Each split of a piece into A and B is a wavelet

    sqrt(|A||B| / (|A|+|B|)) (1_A / |A| - 1_B / |B|),

and each component has its constant 1 / sqrt(size): together an orthonormal basis W. Whatever is constant on a few
pieces has few coefficients, so those of y are thresholded, h = W' soft(W y, t), and the constants are kept.

Gaussian noise stays Gaussian in W y, so div h is the number of coefficients beyond t and the number of components.
Laplace noise does not stay Laplace, but a move of one y_i moves each coefficient in proportion, so the divergence of
risk.py is sum_k sum_i W_ki^2 P(|c_k + W_ki n'| > t): exact, and W_ki takes two values on each split.

The spanning tree of every component is chosen at random: every tree is equally likely (with weights: in
proportion to their product), so an edge is in it with probability weight x effective resistance, and no cut of the
graph is cut much more by the tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import Floats, Mechanism, not_negative
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.risk import beyond
from leastnoise.denoise.threshold import softened, universal
from leastnoise.graphs import Graph

THRESHOLDS_TRIED = 65  # thresholds, from zero to what noise alone reaches


@denoiser()
def tree_wavelet(
    y: Any,
    sigma: float,
    *,
    graph: Graph,
    threshold: Number | Literal["universal", "sure"] = "universal",
    trees: int = 1,
    seed: int = 0,
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """Threshold the wavelet coefficients of a spanning tree, or average that over several `trees`.

    y: one noisy value for each node, in any shape. sigma: the standard deviation of their noise.
    graph: which values are near one another.
    threshold: a number, "universal" (sigma sqrt(2 log n), the literature's), or "sure", of least unbiased risk.
    trees: how many are averaged; a graph without cycles has but one. seed: chooses the trees.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> y = [0.3, -0.8, 0.1, -0.4, 9.2, 10.4, 9.5, 10.1]
    >>> tree_wavelet(y, sigma=0.5, graph=Graph.path(8)).values.round(1)
    array([0.2, 0.2, 0.2, 0.2, 9.4, 9.4, 9.4, 9.4])
    """
    count = 1 if is_forest(graph) else validation.integer("trees", trees)
    total, free, used = np.zeros(y.size), 0.0, 0.0
    for k in range(count):
        basis = TreeWavelets.of(graph, seed=seed + k)
        coefficients, constants = basis.forward(y)
        t, cost = _threshold(basis, coefficients, sigma, threshold, mechanism)
        total += basis.inverse(softened(coefficients, t), constants)
        free += (cost + constants.size) / count
        used += t / count
    word = threshold if isinstance(threshold, str) else "given"
    chosen = {"trees": count, "threshold": used, "chosen": word, "seed": seed}
    return Denoised(total / count, chosen, Stein(free))


@dataclass(frozen=True, slots=True, eq=False)
class TreeWavelets:
    """The basis of one spanning tree, never written out: O(n log n) to build, O(n) each way.

    nodes: how many. child: the two sides of every split, see tree_kernels. tops: of the components.
    levels: the splits, from the tops down. size: of every node (1) and every split.
    """

    nodes: int
    child: NDArray[np.int32]
    tops: NDArray[np.int32]
    levels: list[NDArray[np.int32]]
    size: Floats

    @classmethod
    def of(cls, graph: Graph, *, seed: int = 0) -> TreeWavelets:
        from leastnoise.denoise import tree_kernels

        edges = spanning_tree(graph, np.random.default_rng(seed))
        ends = edges.ravel()
        order = np.argsort(ends, kind="stable")  # neighbour lists of the tree; of each place, where the edge's other is
        place = np.empty(ends.size, dtype=np.int64)
        place[order] = np.arange(ends.size)
        twin = place.reshape(-1, 2)[:, ::-1].ravel()[order]
        start = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=graph.size))])
        roots = np.unique(graph.components, return_index=True)[1].astype(np.int32)
        child = np.empty((len(edges), 2), dtype=np.int32)
        tops = tree_kernels.cut(start, edges[:, ::-1].ravel()[order], twin, roots, child)
        levels, below = [], tops
        while (splits := below[below >= graph.size] - graph.size).size:
            levels.append(splits)
            below = child[splits].ravel()
        size = np.ones(graph.size + len(child))
        for splits in reversed(levels):
            size[graph.size + splits] = size[child[splits]].sum(axis=1)
        return cls(graph.size, child, tops, levels, size)

    def forward(self, y: Floats) -> tuple[Floats, Floats]:
        """W y: the coefficients of the splits, and those of the components' constants."""
        mean, norm, part = np.append(y, np.empty(len(self.child))), self._norms, self.part
        coefficients = np.empty(len(self.child))
        for splits in reversed(self.levels):
            first, second = mean[self.child[splits]].T
            coefficients[splits] = norm[splits] * (first - second)
            mean[self.nodes + splits] = second + part[splits] * (first - second)
        return coefficients, np.sqrt(self.size[self.tops]) * mean[self.tops]

    def inverse(self, coefficients: Floats, constants: Floats) -> Floats:
        """W' of both."""
        mean, part = np.empty(self.size.size), self.part
        mean[self.tops] = constants / np.sqrt(self.size[self.tops])
        gap = coefficients / self._norms
        for splits in self.levels:
            apart = np.stack([1 - part[splits], -part[splits]], axis=1) * gap[splits, None]
            mean[self.child[splits]] = mean[self.nodes + splits, None] + apart
        return mean[: self.nodes]

    @property
    def part(self) -> Floats:
        """|A| / (|A|+|B|) for each split."""
        return np.asarray(self.size[self.child[:, 0]] / self.size[self.nodes :])

    @property
    def _norms(self) -> Floats:
        """sqrt(|A||B| / (|A|+|B|)) for each split."""
        return np.sqrt(self.size[self.child[:, 0]] * (1 - self.part))


def _threshold(
    basis: TreeWavelets, c: Floats, sigma: float, threshold: Any, mechanism: Mechanism
) -> tuple[float, float]:
    """The threshold and the degrees of freedom of the coefficients."""
    if threshold == "sure":
        return _least(c, *_reaches(basis, sigma, mechanism), sigma, mechanism)
    if isinstance(threshold, str):
        validation.word("threshold", threshold, ("universal", "sure"))
        t = universal(basis.nodes, sigma)
    else:
        t = not_negative("threshold", threshold)
    return t, _parts(c, *_reaches(basis, sigma, mechanism), t, mechanism)[1]


def _reaches(basis: TreeWavelets, sigma: float, mechanism: Mechanism) -> tuple[Floats, Floats]:
    """The standard deviations of W_ki n' for i in A and in B, and with them the weights sum over A of W_ki^2."""
    if mechanism == "gaussian":
        return np.empty(0), np.empty(0)
    part, splits = basis.part, basis.size[basis.nodes :]
    return np.stack([np.sqrt((1 - part) / part), np.sqrt(part / (1 - part))]) * (sigma / np.sqrt(splits)), part


def _parts(c: Floats, reach: Floats, part: Floats, t: float, mechanism: Mechanism) -> tuple[float, float]:
    """What a soft threshold moves, squared and summed, and its degrees of freedom."""
    size = np.abs(c)
    cut = np.minimum(size, t)
    moved = float(cut @ cut)
    if t == 0:
        return moved, float(c.size)
    if mechanism == "gaussian":
        return moved, float(np.count_nonzero(size > t))
    beyond_t = [beyond(size, t, r, mechanism, np) + beyond(-size, t, r, mechanism, np) for r in reach]
    return moved, float((1 - part) @ beyond_t[0] + part @ beyond_t[1])


def _least(c: Floats, reach: Floats, part: Floats, sigma: float, mechanism: Mechanism) -> tuple[float, float]:
    """The threshold of least unbiased risk; its degrees of freedom are such that Stein's formula gives the risk of
    either half of the coefficients where the *other* half chose, for the least of many figures flatters."""
    far = universal(c.size + 1, sigma)
    if mechanism == "laplace":
        far = max(far, sigma / math.sqrt(2) * (math.log(c.size + 1) + 3))
    grid = np.linspace(0, far, THRESHOLDS_TRIED)
    half = np.random.default_rng(0).permutation(c.size) < c.size // 2
    figures = np.empty((2, 2, THRESHOLDS_TRIED))  # half, (moved, free), threshold
    for k, side in enumerate((half, ~half)):
        two, one = (reach[:, side], part[side]) if mechanism == "laplace" else (reach, part)
        figures[k] = np.transpose([_parts(c[side], two, one, float(t), mechanism) for t in grid])
    risk = figures[:, 0] + 2 * sigma**2 * figures[:, 1]
    best = int(np.argmin(risk.sum(axis=0)))
    if c.size < 4:
        return float(grid[best]), float(figures[:, 1, best].sum())
    crossed = risk[0, np.argmin(risk[1])] + risk[1, np.argmin(risk[0])]
    return float(grid[best]), float(crossed - figures[:, 0, best].sum()) / (2 * sigma**2)


def spanning_tree(graph: Graph, rng: np.random.Generator) -> NDArray[np.int32]:
    """The edges of the tree (of each component), k x 2."""
    from leastnoise.denoise import tree_kernels as kernels

    if is_forest(graph):
        return graph.edges
    heavy = np.empty(0) if graph.weights is None else graph.weights[graph.incident]
    parent = kernels.wilson(graph.start, graph.neighbours, heavy, graph.components, int(rng.integers(2**63)))
    child = np.flatnonzero(parent >= 0).astype(np.int32)
    return np.stack([child, parent[child]], axis=1)


def is_forest(graph: Graph) -> bool:
    """Whether there is only one spanning tree (of each component)."""
    return len(graph.edges) == graph.size - 1 - int(graph.components.max())


def random_roots(graph: Graph, rng: np.random.Generator) -> NDArray[np.int32]:
    """A random node of each component."""
    many = np.bincount(graph.components)
    if many.size == 1:
        return rng.integers(graph.size, size=1, dtype=np.int32)
    place = np.cumsum(many) - many + rng.integers(many)
    return np.asarray(np.argsort(graph.components, kind="stable")[place], dtype=np.int32)
