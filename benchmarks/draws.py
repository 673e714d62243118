"""One draw of noise: ours beside NumPy's normal (the floor, not private), the system's entropy alone, and the peers.

Each in one process on one thread, in turns. A big release is measured too: its time, and its memory beyond the data.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import peers
from findings import Findings, Headline, Table, timings
from stopwatch import Contestant, race

from leastnoise.curator.noise.gaussian import rounded_gaussian
from leastnoise.curator.noise.laplace import two_sided_geometric

PEERS = {"opendp": 1000, "pydp": 10_000, "diffprivlib": 10_000}  # draws a lap, so that a lap is some ten ms
FLOOR = "numpy standard_normal"
generator = np.random.default_rng()


def run(*, toy: bool = False) -> Findings:
    size = 1 << (12 if toy else 19)
    contestants: dict[str, Contestant] = {
        FLOOR: lambda: generator.standard_normal(size),
        "os.urandom, 8 bytes": lambda: _urandom(size),
    }
    for exponent in (0, 10, 20, 30, 36, 40):
        contestants[f"leastnoise gaussian 2^{exponent}"] = _ours(rounded_gaussian, exponent, size)
    for exponent in (0, 20, 40):
        contestants[f"leastnoise geometric 2^{exponent}"] = _ours(two_sided_geometric, exponent, size)
    units: dict[str, float] = dict.fromkeys(contestants, size)
    found, missing = peers.present(*PEERS)
    for name, peer in found.items():
        contestants[name], units[name] = peer.job("draws", scale=4.0, size=PEERS[name]), PEERS[name]
    seen = race(contestants, rounds=2 if toy else 15, units=units)
    ours = seen["leastnoise gaussian 2^20"]
    heads: Findings = [
        Headline.between(f"one exact draw: {name}'s time / ours", seen[name], ours, least=least)
        for name, least in (("opendp", 200.0), ("pydp", None), ("diffprivlib", None))
        if name in seen
    ]
    heads.append(Headline.between("one exact draw: our time / NumPy's normal", ours, seen[FLOOR]))
    table = Table("draws", "One draw:", timings(seen, reference=FLOOR), missing=missing)
    return [*heads, table, *([] if toy else _large())]


def _urandom(size: int) -> None:
    for _ in range(0, size, 8192):
        os.urandom(8 * 8192)


def _ours(draw: Callable[..., object], exponent: int, size: int) -> Contestant:
    return lambda: draw(2.0**exponent, size)


def _large() -> Findings:
    """A release of 1e8 whole numbers: time, and memory beyond the input."""
    code = (
        "import resource, time, numpy as np, leastnoise as ln\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "x = np.zeros(10**8, dtype=np.int64); x[:] = 7\n"
        "ln.release(x[:10], sensitivity=1, epsilon=1, delta=1e-6)\n"
        "before, begin = peak(), time.perf_counter()\n"
        "r = ln.release(x, sensitivity=1, epsilon=1, delta=1e-6)\n"
        "print(time.perf_counter() - begin, peak() - before - r.values.nbytes / 2**20)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, extra = map(float, done.stdout.split())
    return [f"A release of 100,000,000 counts: {seconds:.3g} s, peak memory {extra:.0f} MB beyond input and output."]
