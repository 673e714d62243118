"""`auto` where the noise drowns everything: its error over that of the best simple answer, whichever that is.

The simple answers are zeros, the mean, the raw values and the paper's methods (James-Stein with its positive part, soft
thresholding at the universal level, tree wavelets, trend filtering of order 0; the last is left out on grids, where it
takes minutes). One would have to know the truth to choose among them. Sigma 362 and 3,630, on the thirteen histograms
as paths and grids, four maps of Manhattan, and constants, spikes and power laws that are drawn here and nowhere else,
some of them after everything was settled ("fresh"); with loss="absolute" the same of mean absolute errors. Every truth
and noise has draws of its own: where all shared theirs, ten means of noise decided about every constant. At 3,630 the
ratio is 1 in most draws and large in a few, those where noise has a mean of two standard errors or a bin that stands
out: so the one value, which `auto` gives there in nearly every draw and which takes no time, is drawn thousands of
times more (hundreds on grids), as a control variate (`accuracy.py`); and where the ratio still has a standard error of
more than three hundredths, `auto` itself has a hundred draws more. What constants cost exactly is in
`flat_truths.py`, and what a single bin costs in `single_bins.py`.

When `auto` gives one value for all bins, and what stands out from it, was settled by argument, on pure noise and on
other made-up truths, but the value's own rule with the real ones in view: that it is zero within two standard errors
balances nearly empty maps against flat truths, after hundreds of draws on the truths here. That single bins do not
count for a prior (`aggregate.py`) was settled on noise and other truths, but after a fresh constant had shown the need.
Up to where the value is zero with absolute loss was settled by quadrature (`flat_truths.py`), but after one bin of
2,000 among 4,096 and nearly empty histograms had shown that it should be further than with squared loss.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
from accuracy import CERTAIN, DATA, LAWS, SIMPLE, Job, Row, Truth, all_measured, geometric_mean, pick, real
from findings import Findings, Headline, Table

from leastnoise.graphs import Graph

SIGMAS = (362.0, 3630.0)
DRAWS = {"map": 10, "path": 10, "constant": 10, "made-up": 10, "fresh": 10, "grid": 3}
MORE, MANY = {"grid": 500}, 2000  # more draws of the one value and of what takes no time
FURTHER = 100  # draws of `auto` where its ratio is uncertain, but on grids
RATIOS = {"auto": "over the best simple answer", "auto, absolute loss": "its ratio to the best simple answer's"}
GOALS = {"auto": (1.02, 1.25), "auto, absolute loss": (1.05, 1.3)}  # geometric mean, worst
GROUPS = {"histograms": ("path", "grid"), "maps": ("map",), "made-up": ("constant", "made-up"), "fresh": ("fresh",)}
GROUPS["truths, all together"] = tuple(kind for kinds in GROUPS.values() for kind in kinds)
METHODS = ("james_stein", "soft_threshold", "tree_wavelet", "trend_filter", *RATIOS)


def run(*, toy: bool = False) -> Findings:
    if not (toy or DATA.is_dir()):
        return ["The real data are not there (set LEASTNOISE_DATA), so nothing was measured."]
    truths = list(made_up(100))[:2] if toy else [*real(), *made_up(4096), *fresh(4096)]
    rows = all_measured([job for truth in truths if truth.name != "counties" for job in jobs(truth, toy)])
    every = Table("heavy_noise", "Every truth, noise and method:", rows, folded=True)
    return [every] if toy else [*_headlines(rows), *(_table(rows, noise) for noise in LAWS), every]


def jobs(truth: Truth, toy: bool) -> Iterator[Job]:
    methods = tuple(name for name in METHODS if not (truth.kind == "grid" and name == "trend_filter"))
    for noise in LAWS:
        for sigma in SIGMAS:
            first_seed = zlib.crc32(f"{truth.name} {noise} {sigma:g}".encode())
            draws, more = (2, 2) if toy else (DRAWS[truth.kind], MORE.get(truth.kind, MANY))
            further = 0 if toy or truth.kind == "grid" else FURTHER
            yield Job(truth, noise, sigma, draws, methods, first_seed, more, further)


def made_up(size: int) -> Iterator[Truth]:
    rng, path = np.random.default_rng(1811), Graph.path(size)
    for value in (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0):
        yield Truth(f"constant {value:g}", np.full(size, value), path, "constant")
    for count, height in ((1, 2_000.0), (1, 10_000.0), (1, 100_000.0), (20, 2_000.0), (20, 10_000.0), (300, 1_000.0)):
        spikes = np.zeros(size)
        spikes[rng.choice(size, min(count, size), replace=False)] = height
        yield Truth(f"{count} of {height:,.0f}", spikes, path, "made-up")
    for power, top in ((0.5, 2_000.0), (1.0, 10_000.0), (1.5, 100_000.0)):
        falling = np.rint(top / np.arange(1, size + 1) ** power)
        yield Truth(f"power law {power:g}, falling", falling, path, "made-up")
        yield Truth(f"power law {power:g}, shuffled", rng.permutation(falling), path, "made-up")


def fresh(size: int) -> Iterator[Truth]:
    """Of the same three kinds, but with values, numbers and places by chance: nothing was settled with them in view."""
    rng, path = np.random.default_rng(61_117), Graph.path(size)

    def between(least: float, most: float) -> float:
        return float(np.exp(rng.uniform(np.log(least), np.log(most))))

    for _ in range(4):
        value = round(between(3, 1_000))
        yield Truth(f"fresh, constant {value}", np.full(size, float(value)), path, "fresh")
    for _ in range(6):
        count, height = min(round(between(1, 300)), size), round(between(1_000, 100_000))
        spikes = np.zeros(size)
        spikes[rng.choice(size, count, replace=False)] = height
        yield Truth(f"fresh, {count} of {height:,}", spikes, path, "fresh")
    for shuffled in (False, True, False, True):
        power, top = rng.uniform(0.5, 1.5), round(between(2_000, 100_000))
        falling = np.rint(top / np.arange(1, size + 1) ** power)
        values = rng.permutation(falling) if shuffled else falling
        how = "shuffled" if shuffled else "falling"
        yield Truth(f"fresh, power law {power:.2f} from {top:,}, {how}", values, path, "fresh")


def _ratios(rows: list[Row], method: str, group: str, noise: str, sigma: float) -> dict[str, float]:
    found = pick(rows, noise=noise, sigma=sigma, method=method)
    return {row["truth"]: row[RATIOS[method]] for row in found if row["kind"] in GROUPS[group]}


def _headlines(rows: list[Row]) -> Iterator[Headline]:
    for noise in LAWS:
        for method, (middle, worst) in GOALS.items():
            for group in GROUPS:
                seen = [ratio for s in SIGMAS for ratio in _ratios(rows, method, group, noise, s).values()]
                what = f"{method}, {noise}, {len(seen) // 2} {group}, sigma 362 and 3,630: over the best simple answer"
                yield Headline(f"{what}, geo-mean", geometric_mean(seen), most=middle)
                yield Headline(f"{what}, worst", max(seen), most=worst)


def _table(rows: list[Row], noise: str) -> Table:
    lines = []
    for group in GROUPS:
        for sigma in SIGMAS:
            line: Row = {"truths": group, "sigma": sigma}
            for method in RATIOS:
                seen = _ratios(rows, method, group, noise, sigma)
                worst = max(seen, key=lambda truth: seen[truth])
                line |= {f"{method}: geo-mean": geometric_mean(list(seen.values())), f"{method}: worst": seen[worst]}
                line[f"{method}: which"] = worst
            lines.append(line)
    title = f"The error over that of the best of {', '.join(SIMPLE)}, {noise} noise:"
    fewest = {kind: min(row["draws"] for row in rows if row["kind"] == kind) for kind in DRAWS}
    draws = ", ".join(f"{kind} {count}" for kind, count in fewest.items())
    uncertain = f"{FURTHER} more of auto where the ratio's standard error was above {CERTAIN}, but on grids"
    note = f"Draws: {draws}; {uncertain}. With absolute loss it is the mean absolute error, and the best answer for it."
    return Table(f"heavy_noise_{noise}", title, lines, note)
