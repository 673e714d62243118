"""Calibration beside dp-accounting: speed of one number and of a million, and accuracy against exact balls."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from dp_accounting.gaussian_mechanism import get_sigma_gaussian
from stopwatch import human, interleave

import leastnoise as ln
from leastnoise.calibrate.algorithm import algorithm_1

POINTS, THEIRS = 1_000_000, 300


def run() -> list[str]:
    return [*_speed(), "", *_accuracy(), "", *_import_time()]


def _speed() -> list[str]:
    rng = np.random.default_rng(1)
    epsilon, delta = 10 ** rng.uniform(-3, 2, POINTS), 10 ** rng.uniform(-15, -1, POINTS)
    few = list(zip(epsilon[:THEIRS].tolist(), delta[:THEIRS].tolist(), strict=True))
    seen = interleave(
        {
            "dp-accounting": lambda: [get_sigma_gaussian(e, d) for e, d in few],
            "proved": lambda: [ln.sigma(epsilon=e, delta=d) for e, d in few],
            "array": lambda: ln.sigma(epsilon=epsilon, delta=delta),
        },
        rounds=5,
    )
    points = {"dp-accounting": THEIRS, "proved": THEIRS, "array": POINTS}
    per = {name: (median / points[name], spread / points[name]) for name, (median, spread) in seen.items()}
    peer = per["dp-accounting"][0]
    lines = ["| sigma of random (epsilon, delta) | times as fast | a point | spread |", "|---|---|---|---|"]
    for name, (median, spread) in per.items():
        lines.append(f"| {name} | {peer / median:.3g} | {human(median)} | {human(spread)} |")
    return lines


def _accuracy() -> list[str]:
    """Excess over the proved sigma (an ulp from the optimum) on a grid that anyone may meet."""
    grid = [(e, 10.0**-k) for e in (0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 50, 100) for k in (1, 2, 4, 6, 9, 12, 15, 20)]
    proved = np.array([ln.sigma(epsilon=e, delta=d) for e, d in grid])
    rows = {
        "leastnoise, arrays": ln.sigma(epsilon=[e for e, _ in grid], delta=[d for _, d in grid]),
        "dp-accounting": np.array([get_sigma_gaussian(e, d) for e, d in grid]),
        "Algorithm 1 in plain doubles": np.array([algorithm_1(epsilon=e, delta=d) for e, d in grid]),
    }
    lines = [
        f"| {len(grid)} points | below the optimum (guarantee broken) | worst shortfall | worst excess |",
        "|---|---|---|---|",
    ]
    for name, sigma in rows.items():
        off = sigma / proved - 1
        lines.append(f"| {name} | {(off < -3e-16).sum()} | {max(0.0, -off.min()):.1e} | {max(0.0, off.max()):.1e} |")
    return lines


def _import_time() -> list[str]:
    def python(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    seen = interleave(
        {
            "nothing": lambda: python(""),
            "numpy": lambda: python("import numpy"),
            "us": lambda: python("import leastnoise"),
        }
    )
    ours, numpys = seen["us"][0] - seen["nothing"][0], seen["numpy"][0] - seen["nothing"][0]
    times = f"{ours / numpys:.2g} times `import numpy` ({human(numpys)}, which it includes)"
    return [f"`import leastnoise` takes {human(ours)} over a bare interpreter, {times}."]
