"""Total variation on a graph, min_b 1/2 |y - b|^2 + penalty |D b|_1, beside general solvers and PyMaxflow.

The Manhattan of the data folder (LEASTNOISE_DATA) where it is there, else a lattice of its size; and a lattice of 1e5.
What each reaches is compared too: the objective above ours, which is exact.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import peers
from findings import Findings, Headline, Table, timings
from stopwatch import Contestant, race

import leastnoise as ln

DATA = Path(os.environ.get("LEASTNOISE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SIGMA, PENALTY = 10.0, 8.0
OURS = "leastnoise trend_filter"
PEERS = ("solvers", "maxflow")
JOBS = {"Clarabel": ("solvers", "tv_clarabel"), "OSQP, 1e-6": ("solvers", "tv_osqp"), "PyMaxflow": ("maxflow", "tv")}


def run(*, toy: bool = False) -> Findings:
    found, missing = peers.present(*PEERS)
    problems = {"a lattice of 64": lattice(8)} if toy else {**_city(), "a lattice of 1e5": lattice(316)}
    findings: Findings = []
    for place, (y, edges) in problems.items():
        graph = ln.graphs.Graph.from_edges(y.size, edges)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "problem.npz"
            np.savez(path, y=y, edges=edges)
            contestants: dict[str, Contestant] = {OURS: _ours(y, graph)}
            reached = {OURS: _objective(y, edges, contestants[OURS]().values)}  # type: ignore[attr-defined]
            for name, (peer, job) in JOBS.items():
                if peer in found and (name == "PyMaxflow" or y.size < 10_000):  # the others take minutes there
                    contestants[name] = found[peer].job(job, path=str(path), penalty=PENALTY)
                    reached[name] = found[peer](job, path=str(path), penalty=PENALTY).result
            seen = race(contestants, rounds=1 if toy else 5)
        rows = timings(seen, reference=OURS)
        for row in rows:
            row["objective above ours"] = reached[row["what"]] / reached[OURS] - 1
        findings += [
            Headline.between(f"total variation on {place}: {name}'s time / ours", seen[name], seen[OURS])
            for name in seen
            if name != OURS
        ]
        title = f"{place[0].upper()}{place[1:]}, {y.size:,} nodes, {len(edges):,} edges, one penalty:"
        findings.append(Table(f"graph_solvers_{y.size}", title, rows, missing=missing))
    return findings


def lattice(side: int) -> tuple[Any, Any]:
    """A square with a raised quarter."""
    truth = np.zeros((side, side))
    truth[: side // 2, : side // 2] = 50
    place = np.arange(side * side).reshape(side, side)
    edges = np.concatenate([
        np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()], axis=1),
        np.stack([place[:-1].ravel(), place[1:].ravel()], axis=1),
    ])  # fmt: skip
    return truth.ravel() + SIGMA * np.random.default_rng(1).standard_normal(side * side), edges


def _city() -> dict[str, tuple[Any, Any]]:
    folder = DATA / "taxi"
    if not folder.is_dir():
        return {f"a lattice of {62 * 62:,}": lattice(62)}
    import pandas as pd

    nodes = pd.read_parquet(folder / "nodes.parquet")["id"].to_numpy()
    place = {node: i for i, node in enumerate(nodes.tolist())}
    streets = pd.read_parquet(folder / "edges.parquet")
    edges = np.array([(place[u], place[v]) for u, v in zip(streets["u"], streets["v"], strict=True)])
    counts = pd.read_parquet(folder / "junction_counts.parquet")["pickup_2013_01_01_00h"].to_numpy()
    return {"Manhattan": (counts + SIGMA * np.random.default_rng(1).standard_normal(counts.size), edges)}


def _ours(y: Any, graph: Any) -> Contestant:
    return lambda: ln.denoise.trend_filter(y, SIGMA, graph=graph, penalty=PENALTY)


def _objective(y: Any, edges: Any, b: Any) -> float:
    return float(0.5 * np.sum((y - b) ** 2) + PENALTY * np.abs(b[edges[:, 0]] - b[edges[:, 1]]).sum())
