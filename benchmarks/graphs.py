"""Graph trend filtering beside Clarabel, on a map of 3,800 junctions and on street grids of 1e5 nodes and more.

The map is the real one where the data folder is there (LEASTNOISE_DATA), else the synthetic city. Clarabel is given
the dual with its own matrices, min 1/2 ||r||^2 over r + M'v = y, |v| <= penalty, which is its fastest form here, and
its own tolerances; through cvxpy it gets the primal. Penalties are the one of least risk and some around it.
graph_solvers.py has the solvers that need an environment of their own.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from findings import Findings, Headline, Seconds, Table
from scipy import sparse
from stopwatch import Lap, Timing, lap, race

import leastnoise as ln
from leastnoise import datasets
from leastnoise.graphs import Graph

DATA = Path(os.environ.get("LEASTNOISE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
PATIENCE = 600.0  # seconds that Clarabel is given
SIGMA = 9.44
AROUND = {0: (1.0,), 1: (0.3, 1.0, 3.0), 2: (0.3, 1.0, 3.0)}  # times the penalty of least risk
LEAST = {0: None, 1: 5.0, 2: 2.0}  # Clarabel's time / ours on the map
Array = np.ndarray[Any, Any]


def run(*, toy: bool = False) -> Findings:
    graph, truth, name = square() if toy else junctions()
    y = truth + SIGMA * np.random.default_rng(0).standard_normal(truth.size)
    findings: Findings = []
    rows = []
    for order in (0, 1, 2):
        made, heads = small(graph, y, order, name, toy)
        rows += made
        findings += [*heads, whole_path(graph, y, order, name)]
    title = f"{name}: {graph.size:,} nodes, {len(graph.edges):,} edges, sigma {SIGMA}:"
    findings.append(Table("graphs_map", title, rows, note="Penalties: times the one of least risk."))
    sizes = ((100, 0), (100, 1), (100, 2)) if toy else ((100_000, 0), (100_000, 1), (100_000, 2), (1_000_000, 0))
    grown = [large(size, order) for size, order in sizes]
    findings += [head for _, head in grown if head]
    title = "Streets: a square grid that lost a seventh of its edges, numbered at random. One run each:"
    findings.append(Table("graphs_streets", title, [row for row, _ in grown]))
    findings.append(Table("graphs_accuracy", f"RMSE on {name}, penalties by least risk:", accuracy(graph, truth, toy)))
    return findings


def square() -> tuple[Graph, Array, str]:
    return Graph.grid((8, 8)), np.kron([[0.0, 50.0], [50.0, 0.0]], np.ones((4, 4))).ravel(), "A square"


def junctions() -> tuple[Graph, Array, str]:
    if not (DATA / "taxi").is_dir():
        town = datasets.city()
        graph = Graph.from_edges(town.junctions, town.edges)
        return graph, np.rint(30_000 * town.busyness(0)), "Synthetic city"
    import pyarrow.parquet as pq

    edges, counts = (pq.read_table(DATA / "taxi" / f"{name}.parquet") for name in ("edges", "junction_counts"))
    truth = counts["pickup_2013_01_01_00h"].to_numpy().astype(float)
    pairs = np.stack([edges["u"].to_numpy(), edges["v"].to_numpy()], axis=1)
    return Graph.from_edges(truth.size, pairs), truth, "Manhattan"


def small(graph: Graph, y: Array, order: int, name: str, toy: bool) -> tuple[list[dict[str, Any]], Findings]:
    chosen = ln.denoise.trend_filter(y, SIGMA, graph=graph, order=order).parameters["penalty"]
    matrix = difference(graph, order)
    rows, heads = [], []
    rounds = 1 if toy else 7
    for times in AROUND[order][-1 if toy else 0 :]:
        penalty = times * chosen
        found: dict[str, Any] = {}
        contestants: dict[str, Callable[[], object]] = {
            "ours": lambda: found.update(ours=ours(y, SIGMA, graph, order, penalty)),  # noqa: B023
            "Clarabel": lambda: found.update(peer=clarabel_dual(matrix, y, penalty)),  # noqa: B023
            "cvxpy": lambda: cvxpy_primal(matrix, y, penalty),  # noqa: B023
        }
        seen = race(contestants, rounds=rounds, fewer={"cvxpy": min(rounds, 3)})
        head = f"trend filter of order {order} on {name}, penalty x {times:g}: Clarabel's time / ours"
        heads.append(Headline.between(head, seen["Clarabel"], seen["ours"], least=LEAST[order]))
        head = f"trend filter of order {order} on {name}, penalty x {times:g}: cvxpy + Clarabel's time / ours"
        heads.append(Headline.between(head, seen["cvxpy"], seen["ours"], least=30.0 if order == 0 else None))
        row = {"order": order, "penalty x": times, **compared(seen["ours"], seen["Clarabel"])}
        row["cvxpy + Clarabel / ours"] = seen["cvxpy"].median / seen["ours"].median
        rows.append(row | proved(found["ours"], found["peer"], y, matrix, penalty))
    return rows, heads


def whole_path(graph: Graph, y: Array, order: int, name: str) -> Headline:
    """All penalties that the search for the least risk tries, once each."""
    matrix = difference(graph, order)
    mine, path = timed(lambda: ln.denoise.trend_filter_path(y, SIGMA, graph=graph, order=order))
    theirs, _ = timed(lambda: [clarabel_dual(matrix, y, float(penalty)) for penalty in path.penalties])
    what = f"trend filter of order {order} on {name}, {path.penalties.size} penalties: Clarabel's time / ours"
    return Headline.between(what, theirs, mine, least=LEAST[order])


def large(size: int, order: int) -> tuple[dict[str, Any], Headline | None]:
    graph, y = streets(size)
    penalty = {0: 0.6, 1: 0.6, 2: 1.0}[order]
    ours(y[:4], 1.0, Graph.path(4), order, penalty)  # compiled before it is timed
    mine, made = timed(lambda: ours(y, 1.0, graph, order, penalty))
    matrix = difference(graph, order)
    theirs, peer, head = Timing.of([Lap(math.nan, math.nan)]), None, None
    if size <= 100_000:
        theirs, peer = timed(lambda: clarabel_dual(matrix, y, penalty))
        what = f"trend filter of order {order} on {graph.size:,} street corners: Clarabel's time / ours"
        what += "" if peer is not None else " (it gave up: at least)"
        head = Headline.between(what, theirs, mine, least=5.0)
    row = {"nodes": graph.size, "order": order, **compared(mine, theirs)}
    return row | proved(made, peer, y, matrix, penalty), head


def compared(mine: Timing, theirs: Timing) -> dict[str, Any]:
    return {
        "leastnoise": Seconds(mine.median),
        "Clarabel": Seconds(theirs.median),
        "Clarabel / ours": theirs.median / mine.median,
        "of processor time": theirs.processor / mine.processor if mine.processor else math.nan,
    }


def proved(made: Any, peer: Array | None, y: Array, matrix: Any, penalty: float) -> dict[str, Any]:
    """What is known of the objectives."""
    mine = objective(made.values, y, matrix, penalty)
    theirs = math.nan if peer is None else objective(peer, y, matrix, penalty)
    return {
        "our gap": f"{made.parameters['gap']:.0e}",
        "our objective": f"{mine:.9g}",
        "Clarabel's": "–" if peer is None else f"{theirs:.9g}",
        "ours above it": "–" if peer is None else f"{mine / theirs - 1:+.0e}",
    }


def ours(y: Array, sigma: float, graph: Graph, order: int, penalty: float) -> Any:
    return ln.denoise.trend_filter(y, sigma, graph=graph, order=order, penalty=penalty)


def streets(size: int) -> tuple[Graph, Array]:
    rng = np.random.default_rng(size)
    side = int(np.sqrt(size))
    whole = Graph.grid((side, side))
    kept = whole.edges[rng.random(len(whole.edges)) > 1 / 7]
    name = rng.permutation(side * side)
    x, z = np.meshgrid(np.linspace(0, 4, side), np.linspace(0, 4, side))
    truth = 3.0 * (np.floor(x) % 2) * (np.floor(z) % 2) + np.exp(-((x - 2) ** 2) - (z - 1) ** 2)
    y = np.empty(side * side)
    y[name] = truth.ravel() + rng.standard_normal(side * side)
    return Graph.from_edges(side * side, name[kept]), y


def accuracy(graph: Graph, truth: Array, toy: bool) -> list[dict[str, Any]]:
    rows = []
    for sigma in (40.29, 9.44)[1 if toy else 0 :]:
        row: dict[str, Any] = {"sigma": sigma}
        for order, draws in ((0, 20), (1, 3), (2, 3)):
            seen = []
            for seed in range(1 if toy else draws):
                y = truth + sigma * np.random.default_rng(seed).standard_normal(truth.size)
                made = ln.denoise.trend_filter(y, sigma, graph=graph, order=order)
                seen.append((np.sqrt(np.mean((made.values - truth) ** 2)), made.rmse))
            off, told = np.mean(seen, axis=0)
            row |= {f"order {order}": float(off), f"told by order {order}": float(told), f"draws, {order}": len(seen)}
        rows.append(row)
    return rows


def difference(graph: Graph, order: int) -> Any:
    m, n = len(graph.edges), graph.size
    ends = graph.edges.ravel()
    d = sparse.csr_matrix((np.tile([1.0, -1.0], m), (np.repeat(np.arange(m), 2), ends)), shape=(m, n))
    laplacian = (d.T @ d).tocsr()
    return (d, laplacian, d @ laplacian)[order]


def objective(b: Array, y: Array, matrix: Any, penalty: float) -> float:
    return float(((y - b) ** 2).sum() / 2 + penalty * np.abs(matrix @ b).sum())


def clarabel_dual(matrix: Any, y: Array, penalty: float) -> Array | None:
    import clarabel

    m, n = matrix.shape
    hessian = sparse.block_diag([sparse.eye(n), sparse.csc_matrix((m, m))], format="csc")
    eye, none = sparse.eye(m), sparse.csc_matrix((m, n))
    rows = sparse.vstack(
        [sparse.hstack([sparse.eye(n), matrix.T]), sparse.hstack([none, eye]), sparse.hstack([none, -eye])],
        format="csc",
    )
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.time_limit = False, PATIENCE
    cones = [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(2 * m)]
    right = np.concatenate([y, np.full(2 * m, penalty)])
    made = clarabel.DefaultSolver(hessian, np.zeros(n + m), rows, right, cones, settings).solve()
    return np.array(made.x)[:n] if "Solved" in str(made.status) else None


def cvxpy_primal(matrix: Any, y: Array, penalty: float) -> None:
    import cvxpy

    b = cvxpy.Variable(y.size)
    goal = cvxpy.Minimize(cvxpy.sum_squares(y - b) / 2 + penalty * cvxpy.norm1(matrix @ b))
    cvxpy.Problem(goal).solve(solver=cvxpy.CLARABEL)


def timed(task: Callable[[], Any]) -> tuple[Timing, Any]:
    made = []
    seen = lap(lambda: made.append(task()))
    return Timing.of([seen]), made[0]
