"""Nanoseconds a draw: ours beside NumPy's normal, the system's entropy alone, and the peers installed.

One process, one thread; contenders take turns under the same load.
OpenDP and PyDP are timed where `import opendp` and `import pydp` work.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from leastnoise.noise.gaussian import rounded_gaussian
from leastnoise.noise.laplace import two_sided_geometric

ROUNDS = 15
EXPONENTS = (0, 10, 20, 30, 36, 40)
generator = np.random.default_rng()


def urandom(n: int) -> None:
    for _ in range(0, n, 8192):
        os.urandom(8 * 8192)


def ours(draw: Callable[..., object], exponent: int) -> Callable[[int], object]:
    return lambda n: draw(2.0**exponent, n)


def peers() -> dict[str, tuple[Callable[[int], object], int]]:
    found: dict[str, tuple[Callable[[int], object], int]] = {}
    try:
        import opendp.prelude as dp
    except ImportError:
        pass
    else:
        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
        gaussian = dp.m.make_gaussian(*space, scale=4.0)
        found["opendp gaussian, float, scale 4"] = (lambda n: gaussian([0.0] * n), 2000)
    try:
        from pydp.distributions import GaussianDistribution
    except ImportError:
        pass
    else:
        normal = GaussianDistribution(4.0)
        found["pydp gaussian, scale 4"] = (lambda n: [normal.sample() for _ in range(n)], 20_000)
    return found


def run() -> list[str]:
    contenders: dict[str, tuple[Callable[[int], object], int]] = {
        "numpy standard_normal": (generator.standard_normal, 1 << 20),
        "os.urandom, 8 bytes": (urandom, 1 << 20),
    }
    for e in EXPONENTS:
        contenders[f"rounded_gaussian 2^{e}"] = (ours(rounded_gaussian, e), 1 << 19)
    for e in (0, 20, 40):
        contenders[f"two_sided_geometric 2^{e}"] = (ours(two_sided_geometric, e), 1 << 19)
    contenders |= peers()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for draw, n in contenders.values():
        draw(n)  # tables, caches, clocks
    for _ in range(ROUNDS):
        for name, (draw, n) in contenders.items():
            start = time.perf_counter()
            draw(n)
            times[name].append((time.perf_counter() - start) / n * 1e9)
    base = statistics.median(times["numpy standard_normal"])
    lines = ["| one draw | times NumPy's normal | median ns | quartiles |", "|---|---|---|---|"]
    for name, taken in times.items():
        low, median, high = statistics.quantiles(taken, n=4)
        lines.append(f"| {name} | {median / base:.3g} | {median:.1f} | {low:.1f} .. {high:.1f} |")
    return [*lines, "", *_large()]


def _large() -> list[str]:
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
