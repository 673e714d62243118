"""Instructions executed: the figure that repeats whatever else the machine does.

Callgrind counts a process with n calls and one with 2n; their difference is n calls, without Python's start and
imports. Kernels compiled at run time are left out: their compiler would be counted too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import Any

from findings import Findings, Table

# name: (set-up, work done n times, units in one call, n)
KERNELS = {
    "one exact Gaussian draw, sigma = 2^20 grid steps": (
        "from leastnoise.noise.gaussian import rounded_gaussian; rounded_gaussian(2.0**20, 8192)",
        "rounded_gaussian(2.0**20, 8192)",
        8192,
        4,
    ),
    "one proved sigma": (
        "import leastnoise as ln; ln.sigma(epsilon=1, delta=1e-6)",
        "ln.sigma(epsilon=0.5 + i, delta=1e-6)",
        1,
        8,
    ),
    "one sigma of an array": (
        "import numpy as np, leastnoise as ln; e = np.geomspace(1e-3, 10, 4096); ln.sigma(epsilon=e, delta=1e-6)",
        "ln.sigma(epsilon=e, delta=1e-6)",
        4096,
        2,
    ),
    "one standard_normal of NumPy": (
        "import numpy as np; g = np.random.default_rng(1); g.standard_normal(8192)",
        "g.standard_normal(8192)",
        8192,
        16,
    ),
}


def run(*, toy: bool = False) -> Findings:
    if shutil.which("valgrind") is None:
        return ["Valgrind is not installed, so no instructions were counted."]
    rows: list[dict[str, Any]] = []
    for name, (before, work, units, calls) in KERNELS.items():
        if toy and "NumPy" not in name:
            continue
        once, twice = (_count(before, work, n) for n in (calls, 2 * calls))
        rows.append({"what": name, "instructions": round((twice - once) / (calls * units))})
    return [Table("instructions", "Instructions, by callgrind:", rows)]


def _count(before: str, work: str, calls: int) -> int:
    code = f"{before}\nfor i in range({calls}): {work}"
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", code]
    fixed = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | fixed)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None, done.stderr[-300:]
    return int(found.group(1))
