"""Trend filtering: values that are piecewise constant, linear, quadratic or cubic, over a graph or along rows of bins.

    b = argmin_b  1/2 ||y - b||^2 + penalty ||D^(k+1) b||_1,    order k

**On a graph** (Wang, Sharpnack, Smola & Tibshirani 2016), boundary="reflect", k = 0, 1, 2. With D the incidence matrix,
(D b)_e = b_low - b_high, W the edges' weights and L = D'WD the Laplacian: D^(1) = W D (total variation), D^(2) = L,
D^(3) = W D L. Only constants on components cost nothing. On a path these are the differences of b *reflected at both
ends* (b_1, b_0 | b_0, b_1, ...): inside, order 1 bends where b bends, but (L b)_0 = b_0 - b_1 is a slope, so the ends
are drawn level, and a line is not left alone. An infinite penalty gives the mean.

**Along rows** (Kim, Koh, Boyd & Gorinevsky 2009; Tibshirani 2014), boundary="free", k = 0, 1, 2, 3: D^(k+1) takes
differences of order k + 1, which exist where k + 2 values in a row do, and nothing is asked of the ends. Polynomials
of degree k cost nothing; an infinite penalty gives the one of least squares on each row. The graph must be a path, or
paths of which none touches another (one axis of a table).

Order 0 is the same under both, and solved exactly (`total_variation.py`). The others are solved by Clarabel
(`higher_orders.py`; `pip install 'leastnoise[solvers]'`). `parameters["gap"]` is the certificate, a bound on how
far the objective is above the least one, as a part of it, computed by us from whatever the solver answered.

**Risk.** Under Gaussian noise the degrees of freedom are counted (`penalty_path.py`; along rows k + 1 a row and one a
knot) and the risk of a given penalty is Stein's. Under Laplace noise the divergence is simulated
(`smoothed_divergence`, seeded). A penalty that was chosen by least risk is a parameter like any other: in the figure
that is shown it counts as that many more degrees of freedom (`TUNING_DEGREES_OF_FREEDOM`; simulated on grids and paths
of 100 to 600 nodes: 3 to 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.denoise.arrays import Floats, Mechanism, check_nodes, on_host, one_sigma, penalty_of, sigmas_of
from leastnoise.denoise.denoiser import Denoised, Stein, denoiser
from leastnoise.denoise.higher_orders import AlongRows, OnGraph
from leastnoise.denoise.penalty_path import PENALTY_RATIO, Fit, TrendPath, averaged_on_pieces, follow, search
from leastnoise.denoise.risk import NODE_GROUPS, Divergence, smoothed_divergence
from leastnoise.denoise.total_variation import Network
from leastnoise.graphs.graph import Graph
from leastnoise.releases.noise import MECHANISMS

Boundary = Literal["reflect", "free"]
Penalty = Number | Sequence[Number] | Literal["sure"]
TUNING_DEGREES_OF_FREEDOM = 4.0
PIECE_TOLERANCE = 1e-12  # of the range of the values: neighbours nearer than this are one piece
SHARE_WHILE_CHOOSING = 0.25  # of the groups of nodes that simulate a divergence, while a penalty is being chosen
ROW_GROUPS = 64  # groups along short rows, where a solution is cheap
MAX_NODES_OF_SHORT_ROWS = 2000


@denoiser()
def trend_filter(
    y: Any,
    sigma: float,
    *,
    graph: Graph | None = None,
    order: int = 0,
    boundary: Boundary = "reflect",
    penalty: Penalty = "sure",
    tolerance: Number = 1e-6,
    mechanism: Mechanism = "gaussian",
) -> Denoised:
    """Trend filtering with a given penalty, or the one of several (or of a whole path, "sure") with the least risk.

    y: one noisy value for each node, in any shape. sigma: the standard deviation of their noise.
    graph: which values are near one another; without it, they are a row.
    order: 0 for piecewise constant values, 1 for piecewise linear, 2 for piecewise quadratic, 3 for cubic ones.
    boundary: "reflect", the graph's own differences: with orders above 0 the ends of a path are drawn level. "free",
        the classical differences along rows of bins, which leave the ends alone; order 3 needs it.
    penalty: a number, several to choose from, or "sure", by unbiased risk along a path, which is then `details`
        (without the values at each penalty: `trend_filter_path` has those).
    tolerance: the largest relative duality gap that orders above 0 may have; order 0 is exact whatever it is.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> e = trend_filter([0.1, -0.2, 0.1, 5.2, 4.9, 4.9], sigma=0.2, graph=Graph.path(6), penalty=0.3)
    >>> e.values
    array([0.1, 0.1, 0.1, 4.9, 4.9, 4.9])
    >>> e.degrees_of_freedom
    2.0
    >>> trend_filter([0.0, 1.1, 1.9, 3.0, 2.1, 0.9], sigma=0.2, order=1, boundary="free", penalty=0.05).values.round(2)
    array([0.04, 1.02, 1.99, 2.95, 2.05, 0.95])
    """
    problem = _problem(y, sigma, graph, order, boundary, tolerance, mechanism)
    facts: dict[str, Any] = {"order": order, "boundary": boundary}
    path = None
    if isinstance(penalty, str) or _several(penalty):
        path = problem.path(penalty)
        made, tuning = problem.fit(float(path.penalties[path.chosen])), TUNING_DEGREES_OF_FREEDOM
        facts |= {"penalty": made.penalty, "chosen": "sure", "tried": path.penalties.size}
    else:
        made, tuning = problem.fit(penalty_of(penalty)), 0.0
        facts |= {"penalty": made.penalty, "chosen": "given"}
    facts |= {"gap": made.gap, "iterations": made.iterations}
    problem.check(made)

    def risk() -> Stein:
        free = problem.divergence(made).value + (tuning if made.penalty > 0 else 0.0)
        return Stein(min(free, y.size))

    return Denoised(made.values, facts, risk, details=None if path is None else replace(path, values=()))


def trend_filter_path(
    y: Any,
    sigma: float,
    *,
    graph: Graph | None = None,
    order: int = 0,
    boundary: Boundary = "reflect",
    penalties: Sequence[Number] | Literal["sure"] = "sure",
    tolerance: Number = 1e-6,
    mechanism: Mechanism = "gaussian",
) -> TrendPath:
    """Trend filters along a path of penalties, the risk of each, and which is least: what "sure" chooses from.

    y, sigma, graph, order, boundary, tolerance, mechanism: as for `trend_filter`.
    penalties: numbers, or "sure": from what leaves only constants (polynomials) down past the least risk.
    """
    validation.word("mechanism", mechanism, MECHANISMS)
    array = on_host(y).astype(np.float64)
    if graph is None and array.ndim > 1:
        raise errors.InvalidParameter(
            f"y has the shape {array.shape}, and nothing says which of its values are near. For a lattice give "
            f"Graph.grid({array.shape}) as its graph.",
            parameter="graph",
        )
    if graph is not None:
        check_nodes(graph, array.size)
    level = one_sigma(sigmas_of(sigma, array.shape))
    return _problem(array.ravel(), level, graph, order, boundary, tolerance, mechanism).path(penalties)


def _problem(
    y: Floats, sigma: float, graph: Graph | None, order: int, boundary: str, tolerance: Number, mechanism: Mechanism
) -> Problem:
    """What was typed, checked."""
    validation.word("boundary", boundary, ("reflect", "free"))
    most = 3 if boundary == "free" else 2
    if order not in range(most + 1) or isinstance(order, bool):
        listed = ", ".join(map(str, range(most))) + f" or {most}"
        more = ' Order 3 needs the boundary "free".' if order == 3 else ""
        raise errors.InvalidParameter(f"order must be {listed}. Got {order!r} instead.{more}", parameter="order")
    near = Graph.path(y.size) if graph is None else graph
    if boundary == "free" and order and near.weights is not None:
        raise errors.InvalidParameter(
            "differences along rows are those of bins of equal width, and know no weights of edges. Take the graph "
            "without them.",
            parameter="graph",
        )
    exactness = validation.number("tolerance", tolerance)
    return Problem(y, sigma, near, int(order), boundary, exactness, mechanism)


@dataclass(frozen=True, eq=False)
class Problem:
    """Values on a graph, to be filtered at any penalty."""

    y: Floats
    sigma: float
    graph: Graph
    order: int
    boundary: str
    tolerance: float
    mechanism: Mechanism

    @cached_property
    def network(self) -> Network:
        return Network(self.graph)

    @cached_property
    def higher(self) -> OnGraph | AlongRows | None:
        """What solves orders above 0."""
        if not self.order:
            return None
        return AlongRows(self.graph, self.order) if self.boundary == "free" else OnGraph(self.network, self.order)

    def check(self, made: Fit) -> None:
        """Refuse what is not as near to the least objective as was asked for."""
        if self.order and made.gap > self.tolerance:
            raise errors.NotProved(
                f"after {made.iterations:,} iterations the trend filter of order {self.order} at penalty "
                f"{made.penalty:.4g} may still be {made.gap:.1e} above the least objective, as a part of it, and "
                f"{self.tolerance:.1e} was asked for. Accept that by a larger tolerance, or take order 0, which is "
                "exact.",
                parameter="tolerance",
                value=self.tolerance,
                example=[{"tolerance": float(f"{2 * made.gap:.0e}")}, {"order": 0}],
            )

    def path(self, penalties: Penalty) -> TrendPath:
        fit = partial(self.fit, share=SHARE_WHILE_CHOOSING)
        if isinstance(penalties, str):
            validation.word("penalty", penalties, ("sure",))
            steps = self.order + 1 if self.boundary == "free" else 1  # a penalty is a length to about this power
            return search(fit, self.y, self.sigma, self.order, self.top(), PENALTY_RATIO**steps)
        chosen = sorted((penalty_of(one) for one in penalties), reverse=True)  # type: ignore[union-attr]
        if not chosen:
            raise errors.InvalidParameter("penalty is an empty sequence: give at least one penalty to choose from.")
        return follow(fit, self.y, self.sigma, self.order, chosen)

    def top(self) -> float:
        """The least penalty that leaves only constants on the components, or polynomials on the rows."""
        return (self.higher.top if self.higher else self.network.least_capacity)(self.y)

    def fit(self, penalty: float, share: float = 0.0) -> Fit:
        """At one penalty; under Laplace noise degrees of freedom are simulated by this share of the groups of nodes."""
        if penalty == 0:
            return Fit(0.0, self.y.copy(), float(self.y.size), 0.0, 0)
        made = self._solve(self.y, penalty)
        if self.mechanism == "gaussian" or share == 0:
            return made
        return replace(made, degrees_of_freedom=self._simulated(made, share).value)

    def divergence(self, made: Fit) -> Divergence:
        if self.mechanism == "gaussian" or made.penalty == 0:
            return Divergence(made.degrees_of_freedom, 0.0)
        return self._simulated(made, 1.0)

    def _solve(self, y: Floats, penalty: float) -> Fit:
        if self.higher:
            return self.higher.solve(y, penalty)
        solved = self.network.solve(y, penalty * self.network.weights)
        values, count = averaged_on_pieces(solved.values, self.graph, PIECE_TOLERANCE * float(np.ptp(y)))
        return Fit(penalty, values, float(count), solved.gap, solved.rounds)

    def _simulated(self, made: Fit, share: float) -> Divergence:
        short = self.boundary == "free" and self.y.size <= MAX_NODES_OF_SHORT_ROWS
        groups = ROW_GROUPS if short else NODE_GROUPS

        def rule(y: Floats) -> Floats:
            return self._solve(y, made.penalty).values

        return smoothed_divergence(rule, self.y, self.sigma, used=round(share * groups), groups=groups)


def _several(penalty: object) -> bool:
    return isinstance(penalty, (Sequence, np.ndarray)) and not (isinstance(penalty, np.ndarray) and penalty.ndim == 0)
