"""Nanoseconds a draw: ours beside NumPy's normal, the system's entropy alone, and the peers installed.

    python benchmarks/draws.py      # one process, one thread; contenders take turns under the same load

OpenDP and PyDP are timed where `import opendp` and `import pydp` work.
"""

from __future__ import annotations

import os
import statistics
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


def main() -> None:
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
    print(f"{'':34}{'median ns':>11}{'quartiles':>20}{'x numpy':>10}")
    for name, taken in times.items():
        low, median, high = statistics.quantiles(taken, n=4)
        print(f"{name:34}{median:11.1f}{f'{low:.1f} .. {high:.1f}':>20}{median / base:10.1f}")


if __name__ == "__main__":
    main()
