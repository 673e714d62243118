"""How our own cost grows: four sizes of each, and the slope of log time over log size (1 is linear).

Processor time, because the wall's is other people's too. A slope well above 1 over these sizes would be news.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from crosstabs import release as release_tables
from crosstabs import write_rows as write_columns
from findings import Findings, Seconds, Table
from histogram import release, write_rows
from ledger import fill
from stopwatch import Contestant, race

import leastnoise as ln
from leastnoise.curator.noise.gaussian import rounded_gaussian

Maker = Callable[[int, Path], Contestant]


def run(*, toy: bool = False) -> Findings:
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        for name, (make, sizes) in list(KINDS.items())[: 11 if toy else None]:  # the graphs' kernels compile long
            grown = [100, 200] if toy else sizes
            contestants = {str(size): make(size, Path(folder)) for size in grown}
            seen = race(contestants, rounds=1 if toy else 3)
            times = [seen[str(size)].processor for size in grown]
            rows.append({"what": name, "slope": _slope(grown, times), "sizes": " ".join(f"{s:.0e}" for s in grown)})
            for place, taken in zip(("smallest", "second", "third", "largest"), times, strict=False):
                rows[-1][place] = Seconds(taken)
    return [Table("growth", "Processor time at four sizes:", rows)]


def _slope(sizes: list[int], times: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(times, 1e-9)), 1)[0])


def _values(size: int) -> Any:
    rng = np.random.default_rng(1)
    return np.where(rng.random(size) < 0.6, 0.0, rng.pareto(1.2, size) * 10) + 36.3 * rng.standard_normal(size)


def _draws(size: int, folder: Path) -> Contestant:
    return lambda: rounded_gaussian(2.0**20, size)


def _sigmas(size: int, folder: Path) -> Contestant:
    epsilon = np.geomspace(1e-3, 10, size)
    return lambda: ln.sigma(epsilon=epsilon, delta=1e-6)


def _release(size: int, folder: Path) -> Contestant:
    counts = np.arange(size)
    return lambda: ln.release(counts, sensitivity=1, epsilon=1, delta=1e-6)


def _sparse(size: int, folder: Path) -> Contestant:
    indices, counts = np.arange(size) * 1000, np.full(size, 100)
    return lambda: ln.release_sparse(indices, counts, domain_size=10**12, sensitivity=1, epsilon=1, delta=1e-6)


def _histogram(size: int, folder: Path) -> Contestant:
    path = write_rows(folder, size)
    return lambda: release(path)


def _bayes(size: int, folder: Path) -> Contestant:
    y = _values(size)
    return lambda: ln.denoise.empirical_bayes(y, 36.3, support="nonnegative")


def _auto(size: int, folder: Path) -> Contestant:
    y = _values(size)
    return lambda: ln.denoise.auto(y, 36.3, nonnegative=True)


def _verify(size: int, folder: Path) -> Contestant:
    budget = ln.Budget.open(folder / f"{size}.ledger", epsilon=1, delta=1e-6)
    fill(budget, size)
    return budget.verify


def _tables(size: int, folder: Path) -> Contestant:
    """All pairs of so many columns of ten keys that there are about `size` of them."""
    columns = max(2, round(math.sqrt(2 * size + 0.25) + 0.5))
    return _set_of_tables(folder, (10,) * columns, ways=2)


def _cells(size: int, folder: Path) -> Contestant:
    """One table of three columns."""
    return _set_of_tables(folder, (round(size ** (1 / 3)),) * 3, ways=3)


def _set_of_tables(folder: Path, sizes: tuple[int, ...], *, ways: int) -> Contestant:
    path = write_columns(folder, 100_000, sizes).rename(folder / f"{len(sizes)}x{sizes[0]}.parquet")
    return lambda: release_tables(path, "person", sizes, ways)


def _steps(size: int, folder: Path) -> Contestant:
    """The noise grows with the steps, so that epsilon stays about 2."""
    steps = ln.SampledGaussianDP.of(sigma=math.sqrt(size / 1000), sampling=0.01) * size
    return lambda: steps.to_approx(delta=1e-6)


def _graph(method: str) -> Maker:
    def make(size: int, folder: Path) -> Contestant:
        side = math.isqrt(size)
        graph = ln.graphs.Graph.grid((side, side))
        rng = np.random.default_rng(1)
        y = np.where(np.arange(side)[:, None] < side // 2, 0.0, 50.0) + 10 * rng.standard_normal((side, side))
        estimator = getattr(ln.denoise, method)
        return lambda: estimator(y.ravel(), 10.0, graph=graph)

    return make


def _kinds() -> dict[str, tuple[Maker, list[int]]]:
    kinds: dict[str, tuple[Maker, list[int]]] = {
        "exact Gaussian draws": (_draws, [10**4, 10**5, 10**6, 10**7]),
        "sigma of an array": (_sigmas, [10**3, 10**4, 10**5, 10**6]),
        "release of counts": (_release, [10**4, 10**5, 10**6, 10**7]),
        "sparse release, occupied bins": (_sparse, [10**3, 10**4, 10**5, 10**6]),
        "bounded histogram, rows": (_histogram, [10**5, 10**6, 3 * 10**6, 10**7]),
        "empirical_bayes": (_bayes, [10**3, 10**4, 10**5, 10**6]),
        "auto": (_auto, [10**3, 10**4, 10**5, 10**6]),
        "ledger verify, entries": (_verify, [10**3, 10**4, 3 * 10**4, 10**5]),
        "set of tables, tables": (_tables, [45, 190, 780, 3160]),
        "set of tables, cells of one": (_cells, [10**3, 10**4, 10**5, 10**6]),
        "accountant, sampled steps": (_steps, [10**3, 10**4, 10**5, 10**6]),
    }
    for method in ("trend_filter", "fused_lasso", "tree_wavelet", "laplacian"):
        if hasattr(ln.denoise, method):
            kinds[f"{method}, nodes of a grid"] = (_graph(method), [10**3, 10**4, 3 * 10**4, 10**5])
    return kinds


KINDS = _kinds()
