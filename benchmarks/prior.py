"""Empirical Bayes: the nonparametric prior and the posterior means, beside cvxpy and Clarabel on the same lattice.

Both fit non-negative truths (most of them zero, a heavy tail) on atoms an eighth of sigma apart.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import peers
from findings import Findings, Headline, Table, timings
from stopwatch import Contestant, race

import leastnoise as ln

SIGMA, SPACING, WIDEST = 36.3, 0.125, 35.0
OURS, THEIRS = "leastnoise empirical_bayes", "cvxpy and Clarabel"


def run(*, toy: bool = False) -> Findings:
    found, missing = peers.present("solvers")
    findings: Findings = []
    for size in (100,) if toy else (10_000, 100_000):
        rng = np.random.default_rng(1)
        tail = np.minimum(rng.pareto(1.2, size) * 10, (WIDEST - 5) * SIGMA)
        truth = np.where(rng.random(size) < 0.6, 0.0, tail)
        y = truth + SIGMA * rng.standard_normal(size)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "y.npy"
            np.save(path, y)
            values = {OURS: ln.denoise.empirical_bayes(y, SIGMA, support="nonnegative").values}
            contestants: dict[str, Contestant] = {
                OURS: lambda y=y: ln.denoise.empirical_bayes(y, SIGMA, support="nonnegative")  # type: ignore[misc]
            }
            if "solvers" in found:
                asked = {"path": str(path), "sigma": SIGMA, "atoms": int(WIDEST / SPACING), "spacing": SPACING}
                contestants[THEIRS] = found["solvers"].job("npmle", **asked)
                contestants[THEIRS]()
                values[THEIRS] = np.load(f"{path}.solvers.npy")
            seen = race(contestants, rounds=2 if toy else 5)
        rows = timings(seen, reference=OURS)
        for row in rows:
            row["RMSE / sigma"] = math.sqrt(np.mean((values[row["what"]] - truth) ** 2)) / SIGMA
        if THEIRS in seen:
            what = f"empirical Bayes, {size:,} values: {THEIRS}'s time / ours"
            findings.append(Headline.between(what, seen[THEIRS], seen[OURS]))
        findings.append(Table(f"prior_{size}", f"{size:,} values:", rows, missing=missing))
    return findings
