"""Least squares along a tree, in two passes over its nodes: values, variances, covariances. Never a matrix.

Every node of a level l is measured with independent noise of precision q_l (one over the variance; 0: not measured),
and a node is the sum of its children. Going up, a node's best estimate from itself and all below it is

    S = sum over its children c of a_c,    1/a = q_l + 1/S,    z = a (q_l m + (sum of z_c)/S),

a being its variance; at the leaves a = 1/q and z = m. Going down, what the rest of the tree says about the sum of the
children of p is divided among them in proportion to their variances:

    h_c = z_c + k_c (h_p - sum of z over the children of p),    k_c = a_c/S_p,    h_root = z_root.

These are the weighted least-squares estimates under all sums (Willsky 2002; Hay et al. 2010 for equal trees). With
e_c = z_c - k_c (sum of z), which is uncorrelated with h_p, h_c = e_c + k_c h_p, and among the children of one node

    Cov(e_c, e_d) = a_c 1[c = d] - a_c a_d/S_p,        Var(h_c) = a_c - a_c k_c + k_c^2 Var(h_p).

So a sum of alpha_c h_c over the nodes of a level has a part among siblings, and beta_p = sum of alpha_c k_c times h_p
above: its variance takes one pass up. The k_c of siblings sum to one, so the whole of a family is its parent exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.domain import TreeShape


@dataclass(frozen=True, eq=False)
class TreeFit:
    """Least squares for a tree whose levels, down to the last of these, have these precisions.

    shape: the tree; levels below those that have a precision do not matter.
    precisions: of one node of each level, the root's first; the last is above zero.
    """

    shape: TreeShape
    precisions: tuple[float, ...]

    @property
    def depth(self) -> int:
        """The last level that is measured."""
        return len(self.precisions) - 1

    @cached_property
    def _upward(self) -> tuple[list[Floats], list[Floats]]:
        """a of every node of each level; S of every node of each level but the last."""
        own = [np.full(self.shape.sizes[self.depth], 1 / self.precisions[-1])]
        sums: list[Floats] = []
        for level in range(self.depth - 1, -1, -1):
            sums.insert(0, np.add.reduceat(own[0], self.shape.starts[level]))
            own.insert(0, 1 / (self.precisions[level] + 1 / sums[0]))
        return own, sums

    def below(self, level: int) -> Floats:
        """a of every node of a level."""
        return self._upward[0][level]

    def gains(self, level: int) -> Floats:
        """k_c of every node of a level below the root."""
        own, sums = self._upward
        return own[level] / sums[level - 1][self.shape.parents[level]]

    @cached_property
    def variances(self) -> tuple[Floats, ...]:
        """The variance of every node of each level."""
        own, _ = self._upward
        made = [own[0]]
        for level in range(1, self.depth + 1):
            k = self.gains(level)
            made.append(own[level] * (1 - k) + k**2 * made[-1][self.shape.parents[level]])
        return tuple(made)

    def estimates(self, measured: Mapping[int, NDArray[Any]]) -> list[Floats]:
        """h of every level, from what was measured of those that have a precision.

        measured: by level, arrays with the nodes along their first axis.
        """
        own, sums = self._upward
        best = [np.asarray(measured[self.depth], dtype=np.float64)]
        below: list[Floats] = []
        for level in range(self.depth - 1, -1, -1):
            total = np.add.reduceat(best[0], self.shape.starts[level], axis=0)
            below.insert(0, total)
            part = _along(own[level] / sums[level], total) * total
            q = self.precisions[level]
            best.insert(0, part + _along(own[level] * q, total) * measured[level] if q else part)
        made = [best[0]]
        for level in range(1, self.depth + 1):
            missing = (made[-1] - below[level - 1])[self.shape.parents[level]]
            made.append(best[level] + _along(self.gains(level), missing) * missing)
        return made

    def covariance(self, one: Mapping[int, Floats], other: Mapping[int, Floats]) -> float:
        """Of two sums of h over nodes, each with factors alpha by level."""
        total = 0.0
        pair = [np.zeros(self.shape.sizes[self.depth]) for _ in range(2)]
        own, sums = self._upward
        for level in range(self.depth, -1, -1):
            pair = [
                made + given[level] if level in given else made for made, given in zip(pair, (one, other), strict=True)
            ]
            if level == 0:
                break
            alpha, beta = pair
            parents, starts = self.shape.parents[level], self.shape.starts[level - 1]
            if not (alpha.any() or beta.any()):
                pair = [np.zeros(self.shape.sizes[level - 1]) for _ in range(2)]
                continue
            a, s = own[level], sums[level - 1]
            mean = [np.add.reduceat(each * a, starts) / s for each in pair]  # beta_p
            centred = [each - up[parents] for each, up in zip(pair, mean, strict=True)]
            total += float((centred[0] * centred[1] * a).sum())
            pair = mean
        return total + float(pair[0][0] * pair[1][0]) * float(own[0][0])

    def coefficients(self, factors: Mapping[int, Floats]) -> list[Floats]:
        """How much every measured number counts in a sum of h with these factors: for each level, one a node.

        The sum of alpha_c h_c over siblings is that of (alpha_c - beta) z_c, plus beta h_p, so going up beta joins the
        factors of the level above. Going down, what z counts is handed on: a q of it to m, a/S of it to each child.
        """
        own, sums = self._upward
        alpha, direct = np.zeros(self.shape.sizes[self.depth]), list[Floats]()
        for level in range(self.depth, 0, -1):
            alpha = alpha + factors[level] if level in factors else alpha
            above = np.add.reduceat(alpha * self.gains(level), self.shape.starts[level - 1])
            direct.insert(0, alpha - above[self.shape.parents[level]])
            alpha = above
        whole = alpha + factors[0] if 0 in factors else alpha
        made = [whole * own[0] * self.precisions[0]]
        for level in range(1, self.depth + 1):
            whole = direct[level - 1] + (whole * own[level - 1] / sums[level - 1])[self.shape.parents[level]]
            made.append(whole * own[level] * self.precisions[level])
        return made

    def own_coefficients(self, level: int) -> tuple[Floats, Floats]:
        """How much the number measured of each node of a level counts in its own estimate, and the most that any other
        number may count in it.

        With w what z counts in h of the same node, w = 1 at the root and w_c = 1 - k_c + k_c w_p a_p/S_p below. The
        siblings' z count w_c - 1, what is above k_c times what it counts in h_p, and the children's z count w a/S; of
        a z, a number below it counts no more than the whole.
        """
        own, sums = self._upward
        whole, most = np.ones(1), np.zeros(1)
        for below in range(1, level + 1):
            k, parents, above = self.gains(below), self.shape.parents[below], own[below - 1]
            most = k * np.maximum(most, whole * above * self.precisions[below - 1])[parents]
            whole = 1 - k + k * (whole * above / sums[below - 1])[parents]
            most = np.maximum(most, 1 - whole)
        if level < self.depth:
            most = np.maximum(most, whole * own[level] / sums[level])
        return whole * own[level] * self.precisions[level], most

    def rounding_reach(self, factors: Mapping[int, Floats]) -> float:
        """The most by which a sum of h with these factors moves where every measured number moves by one.

        z is a mean of m and of the sum of the children, so it moves by at most R = a q + (a/S) sum of R_c. And the sum
        of alpha_c h_c over siblings is that of (alpha_c - beta) z_c, plus beta h_p.
        """
        reach = self._reaches
        alpha, total = np.zeros(self.shape.sizes[self.depth]), 0.0
        for level in range(self.depth, 0, -1):
            alpha = alpha + factors[level] if level in factors else alpha
            above = np.add.reduceat(alpha * self.gains(level), self.shape.starts[level - 1])
            total += float(np.abs(alpha - above[self.shape.parents[level]]) @ reach[level])
            alpha = above
        alpha = alpha + factors[0] if 0 in factors else alpha
        return total + abs(float(alpha[0])) * float(reach[0][0])

    def node_reaches(self, level: int) -> Floats:
        """`rounding_reach` of every node of a level by itself."""
        made = self._reaches[0]
        for below in range(1, level + 1):
            k, own, parents = self.gains(below), self._reaches[below], self.shape.parents[below]
            family = np.add.reduceat(own, self.shape.starts[below - 1])[parents]
            made = (1 - k) * own + k * (family - own) + k * made[parents]
        return made

    @cached_property
    def _reaches(self) -> list[Floats]:
        own, sums = self._upward
        made = [np.ones(self.shape.sizes[self.depth])]
        for level in range(self.depth - 1, -1, -1):
            below = np.add.reduceat(made[0], self.shape.starts[level])
            made.insert(0, own[level] * (self.precisions[level] + below / sums[level]))
        return made


def _along(factors: Floats, values: NDArray[Any]) -> NDArray[Any]:
    """One factor a node, along the first axis of the values."""
    return factors.reshape(-1, *[1] * (values.ndim - 1))


def level_means(precisions: Floats, orbits: Any) -> tuple[Floats, Floats]:
    """The mean variance of a node of each level, and its derivatives by the precisions: by orbits of nodes.

    precisions: q, a row a level from the root to the last that is measured, a column a problem of its own.
    orbits: of the tree.

    Returns the means, of the same shape, and their derivatives [level, by which level, problem].
    """
    levels, problems = precisions.shape
    last = levels - 1
    size = orbits.counts[last].size
    own = [np.broadcast_to(1 / precisions[last], (size, problems))]
    slopes = [np.zeros((size, levels, problems))]
    slopes[0][:, last] = -(own[0] ** 2)
    sums: list[Floats] = []
    slopes_of_sums: list[Floats] = []
    for level in range(last - 1, -1, -1):
        starts, many = orbits.starts[level], orbits.multiple[level + 1]
        sums.insert(0, np.add.reduceat(many[:, None] * own[0], starts, axis=0))
        slopes_of_sums.insert(0, np.add.reduceat(many[:, None, None] * slopes[0], starts, axis=0))
        a = 1 / (precisions[level] + 1 / sums[0])
        slope = (a**2 / sums[0] ** 2)[:, None] * slopes_of_sums[0]
        slope[:, level] -= a**2
        own.insert(0, a)
        slopes.insert(0, slope)
    variance, slope = own[0], slopes[0]
    means, derivatives = np.empty((levels, problems)), np.empty((levels, levels, problems))
    means[0], derivatives[0] = variance[0], slope[0]
    for level in range(1, levels):
        above = orbits.parents[level]
        a, da, s, ds = own[level], slopes[level], sums[level - 1][above], slopes_of_sums[level - 1][above]
        k = a / s
        dk = da / s[:, None] - (k / s)[:, None] * ds
        before, changes = variance[above], slope[above]
        variance = a * (1 - k) + k**2 * before
        slope = (1 - k)[:, None] * da + (2 * k * before - a)[:, None] * dk + (k**2)[:, None] * changes
        part = orbits.counts[level] / orbits.counts[level].sum()
        means[level] = part @ variance
        derivatives[level] = np.tensordot(part, slope, axes=1)
    return means, derivatives
