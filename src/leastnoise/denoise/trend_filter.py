"""Graph trend filtering (Wang, Sharpnack, Smola & Tibshirani 2016): signals that are piecewise constant, linear or
quadratic over the graph.

    b = argmin_b  1/2 ||y - b||^2 + penalty ||D^(k+1) b||_1,    order k = 0, 1, 2

With D the incidence matrix, (D b)_e = b_low - b_high, W the edges' weights and L = D'WD the Laplacian:
D^(1) = W D (total variation), D^(2) = L, D^(3) = W D L.

Order 0 is solved exactly (`_trend/total_variation.py`); `parameters["gap"]` is the certificate, a bound on how far the
objective is above the least one, as a part of it. Orders 1 and 2 iterate until it is at most `tolerance`
(`_trend/interior.py`).

**Risk.** Under Gaussian noise the degrees of freedom are counted (`_trend/degrees.py`) and the risk of a given penalty
is Stein's. Under Laplace noise the divergence is simulated (`_trend/divergence.py`, seeded). A penalty that was chosen
by least risk is a parameter like any other: in the figure that is shown it counts as that many more degrees of freedom
(`TUNING_DEGREES_OF_FREEDOM`; simulated on grids and paths of 100 to 600 nodes: 3 to 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.renamed import renamed_arguments
from leastnoise._support.validation import Number
from leastnoise.denoise._trend.degrees import averaged_on_pieces
from leastnoise.denoise._trend.divergence import NODE_GROUPS, smoothed_divergence
from leastnoise.denoise._trend.interior import Interior
from leastnoise.denoise._trend.path import Fit, TrendPath, follow, search
from leastnoise.denoise._trend.total_variation import Network
from leastnoise.denoise.arrays import Floats, Mechanism, given_on_host
from leastnoise.denoise.estimator import estimator
from leastnoise.denoise.risk import Divergence, stein_estimate
from leastnoise.graphs.graph import Graph, check_graph
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.noise import Noise

Penalty = Number | Sequence[Number] | Literal["sure"]
TUNING_DEGREES_OF_FREEDOM = 4.0
PIECE_TOLERANCE = 1e-12  # of the range of the values: neighbours nearer than this are one piece
GROUPS_WHILE_CHOOSING = 4  # groups of nodes to simulate a divergence by, while a penalty is being chosen


@estimator
def trend_filter(
    y: Any,
    sigma: Number,
    *,
    graph: Graph,
    order: int = 0,
    penalty: Penalty = "sure",
    tolerance: Number = 1e-6,
    mechanism: Mechanism = "gaussian",
) -> Estimate:
    """Trend filtering with a given penalty, or the one of several (or of a whole path, "sure") with the least risk.

    y: one noisy value for each node, in any shape. sigma: the standard deviation of their noise.
    graph: which values are near one another.
    order: 0 for piecewise constant values, 1 for piecewise linear, 2 for piecewise quadratic ones.
    penalty: a number, several to choose from, or "sure", by unbiased risk along a path, which is then `details`
        (without the values at each penalty: `trend_filter_path` has those).
    tolerance: the relative duality gap at which orders 1 and 2 stop; order 0 is exact whatever it is.
    mechanism: "gaussian" or "laplace", the distribution of the noise.

    >>> e = trend_filter([0.1, -0.2, 0.1, 5.2, 4.9, 4.9], sigma=0.2, graph=Graph.path(6), penalty=0.3)
    >>> e.values
    array([0.1, 0.1, 0.1, 4.9, 4.9, 4.9])
    >>> e.degrees_of_freedom
    2.0
    """
    array, level = given_on_host(y, sigma, mechanism)
    problem = Problem(array.ravel(), level, graph, order, validation.number("tolerance", tolerance), mechanism)
    facts: dict[str, Any] = {"order": order}
    path = None
    if isinstance(penalty, str) or _several(penalty):
        path = problem.path(penalty)
        made, tuning = problem.fit(float(path.penalties[path.chosen])), TUNING_DEGREES_OF_FREEDOM
        facts |= {"penalty": made.penalty, "chosen": "sure", "tried": path.penalties.size}
    else:
        made, tuning = problem.fit(_penalty(penalty)), 0.0
        facts |= {"penalty": made.penalty, "chosen": "given"}
    facts |= {"gap": made.gap, "iterations": made.iterations}
    if order and made.gap > problem.tolerance:
        raise errors.NotProved(
            f"after {made.iterations:,} iterations the trend filter of order {order} at penalty {made.penalty:.4g} may "
            f"still be {made.gap:.1e} above the least objective, as a part of it, and {problem.tolerance:.1e} was "
            "asked for. Accept that by a larger tolerance, or take order 0, which is exact.",
            parameter="tolerance",
            value=problem.tolerance,
            example=[{"tolerance": float(f"{2 * made.gap:.0e}")}, {"order": 0}],
        )
    moved = float(((array.ravel() - made.values) ** 2).sum())

    @cache
    def estimate_risk() -> RiskEstimate:
        free = problem.divergence(made).value + (tuning if made.penalty > 0 else 0.0)
        return stein_estimate(moved, min(free, array.size), array.size, level)

    return Estimate(
        values=made.values.reshape(array.shape),
        noisy=array,
        noise=Noise.of(mechanism, sigma=level),
        method="trend_filter",
        parameters=facts,
        estimate_risk=estimate_risk,
        details=None if path is None else replace(path, values=()),
    )


@renamed_arguments(noise="mechanism")
def trend_filter_path(
    y: Any,
    sigma: Number,
    *,
    graph: Graph,
    order: int = 0,
    penalties: Sequence[Number] | Literal["sure"] = "sure",
    tolerance: Number = 1e-6,
    mechanism: Mechanism = "gaussian",
) -> TrendPath:
    """Trend filters along a path of penalties, the risk of each, and which is least: what "sure" chooses from.

    y, sigma, graph, order, tolerance, mechanism: as for `trend_filter`.
    penalties: numbers, or "sure": from what leaves only constants down past the least risk.
    """
    array, level = given_on_host(y, sigma, mechanism)
    problem = Problem(array.ravel(), level, graph, order, validation.number("tolerance", tolerance), mechanism)
    return problem.path(penalties)


class Problem:
    """Values on a graph, to be filtered at any penalty."""

    def __init__(
        self, y: Floats, sigma: float, graph: Graph, order: int, tolerance: float, mechanism: Mechanism
    ) -> None:
        check_graph(graph)
        if order not in (0, 1, 2) or isinstance(order, bool):
            raise errors.InvalidParameter(f"order must be 0, 1 or 2. Got {order!r} instead.")
        if y.size != graph.size:
            raise errors.InvalidParameter(
                f"y has {y.size:,} values and the graph {graph.size:,} nodes: trend filtering needs one value a node."
            )
        self.y, self.sigma, self.graph, self.order, self.mechanism = y, sigma, graph, order, mechanism
        self.tolerance = tolerance
        self.network = Network(graph)
        self.interior = Interior(self.network, order) if order else None

    def path(self, penalties: Penalty) -> TrendPath:
        fit = partial(self.fit, groups=GROUPS_WHILE_CHOOSING)
        if isinstance(penalties, str):
            validation.word("penalty", penalties, ("sure",))
            return search(fit, self.y, self.sigma, self.order, self.top())
        chosen = sorted((_penalty(one) for one in penalties), reverse=True)  # type: ignore[union-attr]
        if not chosen:
            raise errors.InvalidParameter("penalty is an empty sequence: give at least one penalty to choose from.")
        return follow(fit, self.y, self.sigma, self.order, chosen)

    def top(self) -> float:
        """The least penalty that leaves only constants on the components."""
        return (self.interior.top if self.interior else self.network.least_capacity)(self.y)

    def fit(self, penalty: float, groups: int | None = None) -> Fit:
        """At one penalty; under Laplace noise degrees of freedom are simulated only where `groups` says how well."""
        if penalty == 0:
            return Fit(0.0, self.y.copy(), float(self.y.size), 0.0, 0)
        made = self._solve(self.y, penalty)
        if self.mechanism == "gaussian" or groups is None:
            return made
        free = self._simulated(made, groups).value
        return Fit(made.penalty, made.values, free, made.gap, made.iterations)

    def divergence(self, made: Fit) -> Divergence:
        if self.mechanism == "gaussian" or made.penalty == 0:
            return Divergence(made.degrees_of_freedom, 0.0)
        return self._simulated(made, NODE_GROUPS)

    def _solve(self, y: Floats, penalty: float) -> Fit:
        if self.interior:
            made = self.interior.solve(y, penalty, self.tolerance)
            return Fit(penalty, made.values, float(made.degrees_of_freedom), made.gap, made.iterations)
        solved = self.network.solve(y, penalty * self.network.weights)
        values, count = averaged_on_pieces(solved.values, self.graph, PIECE_TOLERANCE * float(np.ptp(y)))
        return Fit(penalty, values, float(count), solved.gap, solved.rounds)

    def _simulated(self, made: Fit, groups: int) -> Divergence:
        def rule(y: Floats) -> Floats:
            return self._solve(y, made.penalty).values

        return smoothed_divergence(rule, self.y, self.sigma, used=groups)


def _several(penalty: object) -> bool:
    return isinstance(penalty, (Sequence, np.ndarray)) and not (isinstance(penalty, np.ndarray) and penalty.ndim == 0)


def _penalty(value: Any) -> float:
    if validation.is_zero(value):
        return 0.0
    if isinstance(value, float) and value == np.inf:
        return value
    return validation.number("penalty", value)
