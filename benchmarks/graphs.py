"""Graph trend filtering beside Clarabel, on a map of 3,800 junctions and on larger street grids.

The map is the real one where the data folder is there (LEASTNOISE_DATA), else the synthetic city. Clarabel is given
the dual with its own matrices, min 1/2 ||r||^2 over r + M'v = y, |v| <= penalty, which is its fastest form here;
through cvxpy it gets the primal. graph_solvers.py has the solvers that need an environment of their own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu
from stopwatch import human, interleave

import leastnoise as ln
from leastnoise.graphs import Graph

DATA = Path(os.environ.get("LEASTNOISE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
PATIENCE = 150.0  # seconds that Clarabel is given on large graphs
SIGMA = 9.44
Array = np.ndarray[Any, Any]


def run() -> list[str]:
    graph, truth, name = junctions()
    y = truth + SIGMA * np.random.default_rng(0).standard_normal(truth.size)
    lines = [f"{name}: {graph!r}, sigma {SIGMA}, penalties chosen by least risk. Median of 5 rounds.", ""]
    lines += ["| order | leastnoise | Clarabel, its own matrices | ratio | cvxpy + Clarabel | ratio | our gap |"]
    lines += ["|---" * 7 + "|"]
    lines += [small(graph, y, order) for order in (0, 1, 2)]
    path, _ = interleave({"path": lambda: ln.denoise.trend_filter(y, SIGMA, graph=graph)}, rounds=3)["path"]
    lines += ["", f"Order 0 with its penalty by least risk, the whole path: {human(path)}."]
    lines += ["", "Streets: a square grid that lost a seventh of its edges, numbered at random. One run each.", ""]
    lines += ["| nodes | order | leastnoise | gap | Clarabel | ratio | sparse LU of I + L |", "|---" * 7 + "|"]
    lines += [large(100_000, order) for order in (0, 1, 2)] + [large(1_000_000, 0)]
    return [*lines, "", *accuracy(graph, truth, name)]


def junctions() -> tuple[Graph, Array, str]:
    if not (DATA / "taxi").is_dir():
        town = ln.datasets.city()
        graph = Graph.from_edges(town.junctions, town.edges)
        return graph, np.rint(30_000 * town.busyness(0)), "Synthetic city"
    import pyarrow.parquet as pq

    edges, counts = (pq.read_table(DATA / "taxi" / f"{name}.parquet") for name in ("edges", "junction_counts"))
    truth = counts["pickup_2013_01_01_00h"].to_numpy().astype(float)
    pairs = np.stack([edges["u"].to_numpy(), edges["v"].to_numpy()], axis=1)
    return Graph.from_edges(truth.size, pairs), truth, "Manhattan"


def small(graph: Graph, y: Array, order: int) -> str:
    penalty = ln.denoise.trend_filter(y, SIGMA, graph=graph, order=order).parameters["penalty"]
    matrix = difference(graph, order)
    found: dict[str, Any] = {}
    contestants: dict[str, Callable[[], object]] = {
        "ours": lambda: ln.denoise.trend_filter(y, SIGMA, graph=graph, order=order, penalty=penalty),
        "clarabel": lambda: found.update(clarabel=clarabel_dual(matrix, y, penalty)),
        "cvxpy": lambda: cvxpy_primal(matrix, y, penalty),
    }
    times = {name: median for name, (median, _) in interleave(contestants, rounds=5).items()}
    made = ln.denoise.trend_filter(y, SIGMA, graph=graph, order=order, penalty=penalty)
    ours, peer = (objective(b, y, matrix, penalty) for b in (made.values, found["clarabel"]))
    ratios = [times[name] / times["ours"] for name in ("clarabel", "cvxpy")]
    return (
        f"| {order} | {human(times['ours'])} | {human(times['clarabel'])} | **{ratios[0]:.1f}** | "
        f"{human(times['cvxpy'])} | **{ratios[1]:.1f}** | {made.parameters['gap']:.0e} "
        f"(objective {ours / peer - 1:+.0e} against Clarabel's) |"
    )


def large(size: int, order: int) -> str:
    graph, y = streets(size)
    penalty = {0: 0.6, 1: 0.6, 2: 1.0}[order]
    ln.denoise.trend_filter(
        y[:4], 1.0, graph=Graph.path(4), order=order, penalty=penalty
    )  # compiled before it is timed
    seconds, made = timed(lambda: ln.denoise.trend_filter(y, 1.0, graph=graph, order=order, penalty=penalty))
    peer, ratio, ruler = "", "", ""
    if size <= 100_000:
        matrix = difference(graph, order)
        slow, b = timed(lambda: clarabel_dual(matrix, y, penalty))
        peer = human(slow) if b is not None else f"gave up after {human(slow)}"
        ratio = f"**{slow / seconds:.1f}**" if b is not None else f"**above {slow / seconds:.0f}**"
        d = difference(graph, 0)
        shifted = sparse.csc_matrix(sparse.eye(graph.size) + d.T @ d)
        options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        ruler = human(timed(lambda: splu(shifted, **options))[0])
    return (
        f"| {graph.size:,} | {order} | {human(seconds)} | {made.parameters['gap']:.0e} | {peer} | {ratio} | {ruler} |"
    )


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


def accuracy(graph: Graph, truth: Array, name: str) -> list[str]:
    lines = [f"RMSE on {name}, mean of 20 draws (order 0) or 3 (others), penalties by least risk", ""]
    lines += ["| sigma | raw | order 0 | order 1 | order 2 | told by the estimate, order 0 |", "|---" * 6 + "|"]
    for sigma in (40.29, 9.44):
        cells = []
        for order, draws in ((0, 20), (1, 3), (2, 3)):
            seen = []
            for seed in range(draws):
                y = truth + sigma * np.random.default_rng(seed).standard_normal(truth.size)
                made = ln.denoise.trend_filter(y, sigma, graph=graph, order=order)
                seen.append((np.sqrt(np.mean((made.values - truth) ** 2)), made.rmse))
            cells.append(np.mean(seen, axis=0))
        lines.append(f"| {sigma} | {sigma} | " + " | ".join(f"{c[0]:.3f}" for c in cells) + f" | {cells[0][1]:.3f} |")
    return lines


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


def timed(task: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    made = task()
    return time.perf_counter() - begin, made
