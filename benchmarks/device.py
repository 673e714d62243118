"""Array denoisers on an accelerator: 1e9 float32 values in PyTorch, next to a plain device copy.

    python benchmarks/device.py [values]        # needs torch and a CUDA device; falls back to the CPU with fewer values

Memory bandwidth is the limit: a copy reads and writes every value once. A soft threshold in one fused pass costs the
same, James-Stein one more read for the norm.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import torch

import leastnoise as ln

ROUNDS = 20


def run(values: int | None = None) -> list[str]:
    cuda = torch.cuda.is_available()
    count = values or (1_000_000_000 if cuda else 10_000_000)
    place = torch.device("cuda" if cuda else "cpu")
    y = torch.randn(count, device=place)
    out = torch.empty_like(y)
    jobs: dict[str, Callable[[], object]] = {
        "device copy": lambda: out.copy_(y),
        "soft_threshold, universal": lambda: ln.denoise.soft_threshold(y, 1.0).values,
        "james_stein": lambda: ln.denoise.james_stein(y, 1.0).values,
        "gaussian_prior": lambda: ln.denoise.gaussian_prior(y, 1.0, prior_std=1.0).values,
        "project onto linf": lambda: ln.denoise.project(y, 1.0, onto="linf", radius=1.0).values,
    }
    seen = {name: _time(job, cuda) for name, job in jobs.items()}
    copy = seen["device copy"]
    name = torch.cuda.get_device_name() if cuda else "CPU"
    lines = [f"{count:,} float32 values on {name}, torch {torch.__version__}, median of {ROUNDS}", ""]
    lines += ["| what | times a copy | milliseconds |", "|---|---|---|"]
    return lines + [f"| {job} | {taken / copy:.2f} | {taken:.2f} |" for job, taken in seen.items()]


def _time(job: Callable[[], object], cuda: bool) -> float:
    for _ in range(3):
        job()
    taken = []
    for _ in range(ROUNDS):
        if cuda:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            job()
            end.record()
            torch.cuda.synchronize()
            taken.append(begin.elapsed_time(end))
        else:
            start = time.perf_counter()
            job()
            taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(taken)


if __name__ == "__main__":
    print("\n".join(run(int(float(sys.argv[1])) if len(sys.argv) > 1 else None)))
