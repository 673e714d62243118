"""Instructions executed: the figure that repeats whatever else the machine does.

Callgrind counts one process that imports, warms up and ends, and one that also works; the difference is the work.
Kernels compiled at run time are left out: their compiler would be counted too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

from findings import Findings, Table

WARM = """
import numpy as np, leastnoise as ln
from leastnoise.curator.noise.gaussian import rounded_gaussian as draw
normal, epsilon = np.random.default_rng(1).standard_normal, np.geomspace(1e-3, 10, 4096)
normal(8192), draw(2.0**20, 8192), ln.sigma(epsilon=1, delta=1e-6), ln.sigma(epsilon=epsilon, delta=1e-6)
"""
KERNELS = {  # name: (the work, how many units it does); a start is not the same twice, so the work must outweigh it
    "one standard_normal of NumPy": ("[normal(8192) for _ in range(512)]", 512 * 8192),
    "one exact Gaussian draw, sigma = 2^20 grid steps": ("[draw(2.0**20, 8192) for _ in range(128)]", 128 * 8192),
    "one sigma of an array": ("[ln.sigma(epsilon=epsilon, delta=1e-6) for _ in range(10)]", 10 * 4096),
    "one proved sigma": ("[ln.sigma(epsilon=0.5 + i, delta=1e-6) for i in range(200)]", 200),
}


def run(*, toy: bool = False) -> Findings:
    if shutil.which("valgrind") is None:
        return ["Valgrind is not installed, so no instructions were counted."]
    start = _count(WARM)
    seen = {name: (_count(WARM + work) - start) / units for name, (work, units) in KERNELS.items()}
    floor = next(iter(seen.values()))
    rows = [
        {"what": name, "times NumPy's normal": count / floor, "instructions": round(count)}
        for name, count in seen.items()
    ]
    note = f"Start, imports and warm-up take {start / 1e9:.3g} thousand million and are subtracted."
    return [Table("instructions", "Instructions, by callgrind:", rows, note)]


def _count(code: str) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", code]
    fixed = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | fixed)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None, done.stderr[-300:]
    return int(found.group(1))
