"""Denoising: the time of a million values, and of ten thousand. (What error is left: accuracy.py.)"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from accuracy import drawn
from findings import Findings, Table, timings
from stopwatch import race

import leastnoise as ln


def run(*, toy: bool = False) -> Findings:
    """A histogram of many zeros and a heavy tail, as real ones are."""
    rng = np.random.default_rng(1)
    many, some = (1000, 100) if toy else (1_000_000, 10_000)
    truth = np.where(rng.random(many) < 0.6, 0.0, rng.pareto(1.2, many) * 10)
    y = truth + drawn(truth.size, 36.3, "gaussian", 1)
    lap = truth + drawn(truth.size, 36.3, "laplace", 1)
    ruler = np.linspace(-1, 1, 10 * many)
    bayes = ln.denoise.empirical_bayes
    reference = f"np.exp over {100 * many:.0e} doubles"
    contestants: dict[str, Callable[[], object]] = {
        reference: lambda: [np.exp(ruler) for _ in range(10)],
        f"empirical_bayes, d = {many:.0e}": lambda: bayes(y, 36.3, support="nonnegative"),
        f"empirical_bayes, d = {many:.0e}, with its risk": lambda: bayes(y, 36.3, support="nonnegative").risk,
        f"empirical_bayes, d = {many:.0e}, Laplace": lambda: bayes(
            lap, 36.3, support="nonnegative", mechanism="laplace"
        ),
        f"empirical_bayes, d = {some:.0e}": lambda: bayes(y[:some], 36.3, support="nonnegative"),
        f"auto, d = {many:.0e}": lambda: ln.denoise.auto(y, 36.3, nonnegative=True),
        f"auto, d = {some:.0e}": lambda: ln.denoise.auto(y[:some], 36.3, nonnegative=True),
    }
    seen = race(contestants, rounds=2 if toy else 5)
    return [Table("denoising_speed", "Many values:", timings(seen, reference=reference))]
