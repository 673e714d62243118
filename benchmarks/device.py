"""Array denoisers on an accelerator: 1e9 float32 values in PyTorch, next to a plain device copy.

    python benchmarks/device.py [values]        # needs torch and a CUDA device; falls back to the CPU with fewer values

Memory bandwidth is the limit: a copy reads and writes every value once. A soft threshold in one fused pass costs the
same, James-Stein one more read for the norm.

Empirical Bayes and `auto` are fitted to all values at once, in doubles: a tenth as many values, beside the same in
NumPy on that machine's processor, in PyTorch and CuPy, and how far the two are apart.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import leastnoise as ln

ROUNDS = 20
FITS = 2
BESIDE_NUMPY = 1_000_000


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
    lines += [f"| {job} | {taken / copy:.2f} | {taken:.2f} |" for job, taken in seen.items()]
    return [*lines, "", *_fitted(count // 10, place, cuda)]


def _fitted(count: int, place: torch.device, cuda: bool) -> list[str]:
    """Empirical Bayes and auto of counts, one in ten of them not zero, under noise of 8."""
    libraries: dict[str, Callable[[Any], Any]] = {"PyTorch": lambda y: torch.tensor(y, device=place)}
    if cuda:
        import cupy

        libraries["CuPy"] = cupy.asarray
    few = min(count, BESIDE_NUMPY)
    lines = [
        f"{count:,} float32 values, mean of {FITS} after one; NumPy on one thread, and how far apart, at {few:,}",
        "",
        "| what | noise | seconds here | NumPy, seconds | apart, in sigma |",
        "|---|---|---|---|---|",
    ]
    for noise in ("gaussian", "laplace"):
        noisy = _noisy_counts(count, noise)
        for name in ("empirical_bayes", "auto"):
            facts = {"support": "nonnegative"} if name == "empirical_bayes" else {"nonnegative": True}
            rule = partial(getattr(ln.denoise, name), sigma=8.0, mechanism=noise, **facts)
            start = time.perf_counter()
            here = rule(noisy[:few].astype(float)).values
            slow = time.perf_counter() - start
            for library, to_device in libraries.items():
                made = rule(to_device(noisy[:few])).values
                back = made.get() if hasattr(made, "get") else made.cpu().numpy()
                apart = float((np.abs(back - here) - 6e-8 * np.abs(here)).max()) / 8.0  # beyond float32's rounding
                y = to_device(noisy)
                rule(y)
                start = time.perf_counter()
                for _ in range(FITS):
                    rule(y).values[0].item()  # waits
                taken = (time.perf_counter() - start) / FITS
                row = f"| {name}, {library} | {noise} | {taken:.2f} | {slow:.2f} | {max(apart, 0.0):.0e} |"
                print(row, file=sys.stderr, flush=True)
                lines.append(row)
    return lines


def _noisy_counts(count: int, noise: str) -> Any:
    rng = np.random.default_rng(1)
    truth = np.where(rng.random(count) < 0.1, rng.gamma(2.0, 20.0, count), 0.0)
    drawn = rng.normal(0, 8, count) if noise == "gaussian" else rng.laplace(0, 8 / 2**0.5, count)
    return (truth + drawn).astype(np.float32)


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
