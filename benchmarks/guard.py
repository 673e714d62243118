"""`make guard`: the figures that no change may make worse, in about ten minutes, in one small table, guard.md.

Times are ratios to something that was measured in the same run, in turns, so that a busy machine moves both. Errors are
of seeded noise on real data, and do not depend on the machine: of the same draws they are the same. Beside every figure
stands the one of the day that is kept (`make guard KEEP=1` keeps this run's).
"""

from __future__ import annotations

import itertools
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import accuracy
import duckdb
import histogram
import mpmath
import numpy as np
from crosstabs_accuracy import DOMAINS, RESIDUAL_PLANNER, SURVEYS, WAYS, ours, planned, survey
from scipy.sparse import coo_array, eye_array
from scipy.sparse.linalg import spsolve
from scipy.special import ndtr
from stopwatch import Contestant, race

import leastnoise as ln

PAGE = Path(__file__).parent / "guard.md"
DATA = accuracy.DATA
TIMES, ERRORS = "times", "errors"
WORSE = {TIMES: 1.5, ERRORS: 1.01}  # of the kept figure: what is beyond is told, and an error fails
SIZES = (20, 2, 12, 14, 7, 5, 10, 16)  # keys of eight columns
PENALTY, SIGMA = 8.0, 10.0  # of total variation
HEADER = "| what | kept | this run | unit | better |"


class Figure(NamedTuple):
    """One number: less is better."""

    what: str
    value: float
    unit: str
    kind: str = TIMES


Guard = Callable[[bool], Iterable[Figure]]  # of a toy's size or not


class NoData(Exception):
    """The folder that LEASTNOISE_DATA names lacks something."""


def counting(toy: bool) -> Iterator[Figure]:
    """From a file, noise and all: a histogram of ten rows a unit, and all pairs of eight columns."""
    rows, rounds = (10_000, 1) if toy else (10_000_000, 3)
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        engines = histogram.engines(histogram.write_rows(Path(folder), rows))
        del engines[histogram.FLOOR]
        seen = race(engines, rounds=rounds)
        ratio = seen[histogram.OURS].median / seen[histogram.SQL].median
        yield Figure(f"histogram, {rows:.0e} rows", ratio, "times window SQL by hand")
        rows = min(rows, 3_000_000)
        path = write_people(Path(folder), rows)
        pairs: dict[str, Contestant] = {
            "by hand": group_bys(path),
            "one row per person": lambda: release_pairs(path, "person"),
            "several rows per person": lambda: release_pairs(path, "several"),
        }
        seen = race(pairs, rounds=rounds)
        for name in list(pairs)[1:]:
            ratio = seen[name].median / seen["by hand"].median
            yield Figure(f"pairs of 8 columns, {rows:.0e} rows, {name}", ratio, "times group-bys by hand")


def write_people(folder: Path, rows: int) -> Path:
    """Uniform keys in eight columns; `person` is another in every row, `several` one of half as many."""
    path = folder / "people.parquet"
    columns = ", ".join(f"(hash(i * 7919 + {c}) % {size})::TINYINT AS c{c}" for c, size in enumerate(SIZES))
    duckdb.sql(
        f"COPY (SELECT i AS person, (hash(i) % {rows // 2})::BIGINT AS several, {columns} FROM range({rows}) t(i)) "
        f"TO '{path}' (FORMAT parquet)"
    )
    return path


def group_bys(path: Path) -> Contestant:
    """One query for each pair, over columns in memory: no limits, no noise."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE people AS SELECT * FROM '{path}'")

    def count_pairs() -> None:
        for pair in itertools.combinations(range(len(SIZES)), 2):
            names = ", ".join(f"c{column}" for column in pair)
            connection.execute(f"SELECT {names}, count(*) FROM people GROUP BY {names}").fetchnumpy()

    return count_pairs


def release_pairs(path: Path, unit: str) -> None:
    keys = {f"c{column}": range(size) for column, size in enumerate(SIZES)}
    query = ln.table(path, unit=unit).crosstabs(keys=keys, ways=(2,), max_rows=1)
    query.release(epsilon=1, delta=1e-6)


def calibrating(toy: bool) -> Iterator[Figure]:
    """A proved sigma beside the condition alone, evaluated once: in 50 digits, and for arrays in doubles."""
    one, many = (5, 1000) if toy else (200, 1_000_000)
    rng = np.random.default_rng(1)
    epsilon, delta = 10 ** rng.uniform(-3, 2, many), 10 ** rng.uniform(-15, -1, many)
    points = list(zip(epsilon[:one].tolist(), delta[:one].tolist(), strict=True))

    def in_digits() -> None:
        with mpmath.workdps(50):
            for e, _ in points:
                mpmath.ncdf(0.5 - e) - mpmath.exp(e) * mpmath.ncdf(-0.5 - e)

    contestants = {
        "sigma": lambda: [ln.sigma(epsilon=e, delta=d) for e, d in points],
        "digits": in_digits,
        "sigmas": lambda: ln.sigma(epsilon=epsilon, delta=delta),
        "doubles": lambda: ndtr(0.5 - epsilon) - np.exp(epsilon) * ndtr(-0.5 - epsilon),
    }
    units: dict[str, float] = {"sigma": one, "digits": one, "sigmas": many, "doubles": many}
    seen = {name: timing.median for name, timing in race(contestants, rounds=1 if toy else 7, units=units).items()}
    yield Figure("one sigma", seen["sigma"] * 1e6, "microseconds")
    yield Figure("one sigma", seen["sigma"] / seen["digits"], "times the condition in 50 digits")
    yield Figure("sigmas of an array", seen["sigmas"] / seen["doubles"], "times the condition in doubles")


def drawing(toy: bool) -> Iterator[Figure]:
    """A whole release of a vector, and NumPy's normal draws, which hide nothing."""
    size = 1 << (12 if toy else 20)
    counts, rng = np.zeros(size, dtype=np.int64), np.random.default_rng()
    contestants = {
        "gaussian": lambda: ln.release(counts, sensitivity=1, epsilon=1, delta=1e-6, mechanism="gaussian"),
        "laplace": lambda: ln.release(counts, sensitivity=1, l1_sensitivity=1, epsilon=1, delta=0),
        "numpy": lambda: rng.standard_normal(size),
    }
    seen = race(contestants, rounds=1 if toy else 9)
    for name in ("gaussian", "laplace"):
        yield Figure(f"draws, {name}", seen[name].median / seen["numpy"].median, "times numpy's normal")


def smoothing(toy: bool) -> Iterator[Figure]:
    """Total variation on a lattice at one penalty, beside one linear system of the same graph."""
    side = 20 if toy else 316
    truth = np.zeros((side, side))
    truth[: side // 2, : side // 2] = 50
    y = truth.ravel() + SIGMA * np.random.default_rng(1).standard_normal(truth.size)
    graph = ln.graphs.Graph.grid(truth.shape)
    edges = np.asarray(graph.edges)
    ends = np.arange(len(edges)).repeat(2), edges.ravel()
    rises = coo_array((np.tile([1.0, -1.0], len(edges)), ends), shape=(len(edges), y.size)).tocsr()
    system = (eye_array(y.size) + PENALTY * (rises.T @ rises)).tocsc()
    contestants = {
        "ours": lambda: ln.denoise.trend_filter(y, SIGMA, graph=graph, penalty=PENALTY),
        "system": lambda: spsolve(system, y),
    }
    seen = race(contestants, rounds=1 if toy else 3)
    ratio = seen["ours"].median / seen["system"].median
    yield Figure(f"total variation, lattice of {y.size:,}", ratio, "times a sparse linear system")
    found = contestants["ours"]()
    error = math.sqrt(float(np.mean((found.values - truth.ravel()) ** 2))) / SIGMA
    yield Figure(f"total variation, lattice of {y.size:,}", error, "RMSE over raw", ERRORS)


def denoising(toy: bool) -> Iterator[Figure]:
    """`auto` on the thirteen histograms of DPBench: the mean over them, and the worst."""
    if not (DATA / "dpbench" / "histograms.npz").is_file():
        raise NoData("dpbench/histograms.npz")
    truths = [truth for truth in accuracy.real() if truth.kind in ("path", "grid")]
    paths = [truth for truth in truths if truth.kind == "path"]
    for sigma, chosen in ((36.3, truths), (4.2247, paths), (362.0, paths)):
        some = chosen[: 1 if toy else None]
        ratios = [_over_raw(truth, sigma, draws=2 if truth.kind == "path" else 1) for truth in some]
        words = "the thirteen histograms" if len(chosen) == 13 else "the eight histograms of one column"
        yield Figure(f"auto on {words}, sigma {sigma:g}, mean", float(np.mean(ratios)), "RMSE over raw", ERRORS)
        yield Figure(f"auto on {words}, sigma {sigma:g}, worst", max(ratios), "RMSE over raw", ERRORS)


def _over_raw(truth: Any, sigma: float, *, draws: int) -> float:
    left = raw = 0.0
    for seed in range(draws):
        noise = np.random.default_rng(seed).normal(scale=sigma, size=truth.values.size)
        found = ln.denoise.auto(truth.values + noise, sigma, graph=truth.graph, nonnegative=True)
        left += float(np.mean((found.values - truth.values) ** 2))
        raw += float(np.mean(noise**2))
    return math.sqrt(left / raw)


def sets_of_tables(toy: bool) -> Iterator[Figure]:
    """Tables of at most two columns of real surveys: the error after denoising over that of the release."""
    if not (DATA / "many_tables").is_dir():
        raise NoData("many_tables/")
    for name in list(SURVEYS)[: 1 if toy else None]:
        case = survey(name)
        errors = []
        for seed in range(1 if toy else 2):
            released, denoised = (case.errors(found)[0] for found, _ in ours(case, seed).values())
            errors.append((released, denoised))
        released, denoised = np.sqrt(np.mean(np.square(errors), axis=0)).tolist()
        yield Figure(f"tables of {case.name}, epsilon 1", denoised / released, "RMSE over raw", ERRORS)
        yield Figure(f"tables of {case.name}, epsilon 1", denoised, "RMSE per cell", ERRORS)


def optimum(toy: bool) -> Iterator[Figure]:
    """Planned errors of marginals at mu = 1 over the published optimum, which is given with three digits."""
    for name, domain in DOMAINS.items():
        worst = float(np.max(np.divide([planned(domain, ways) for ways in WAYS], RESIDUAL_PLANNER[name])))
        yield Figure(f"marginals of {name}, the worst of {len(WAYS)} sets", worst, "RMSE over the published", ERRORS)


GUARDS: tuple[Guard, ...] = (calibrating, drawing, smoothing, counting, optimum, denoising, sets_of_tables)


def measured(toy: bool = False) -> tuple[list[Figure], list[str]]:
    """The figures, and what was left out and why."""
    figures: list[Figure] = []
    left_out: list[str] = []
    for guard in GUARDS:
        begin = time.perf_counter()
        try:
            figures += guard(toy)
        except NoData as missing:
            left_out.append(f"{guard.__name__} ({missing} is not in the folder that LEASTNOISE_DATA names)")
        print(f"{guard.__name__}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    return figures, left_out


def kept(page: str) -> dict[tuple[str, str], float]:
    """The figures of the day that is kept, from the table."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    return {(what, unit): float(value) for what, value, _, unit, *_ in rows[1:] if value != "–"}


def worse(figures: Iterable[Figure], before: dict[tuple[str, str], float]) -> list[Figure]:
    """Those that are worse than the kept ones by more than chance and a busy machine make them."""
    return [
        each
        for each in figures
        if each.value > WORSE[each.kind] * before.get((each.what, each.unit), math.inf)
        and each.unit != "microseconds"  # a time that is no ratio
    ]


def lines(figures: Iterable[Figure], before: dict[tuple[str, str], float], notes: Iterable[str]) -> list[str]:
    """The page."""
    rows = [
        f"| {each.what} | {_shown(before.get((each.what, each.unit)))} | {_shown(each.value)} | {each.unit} | lower |"
        for each in figures
    ]
    return ["# Figures that no change may make worse", "", *notes, "", HEADER, "|---|---|---|---|---|", *rows, ""]


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def main() -> int:
    begin, load = time.time(), os.getloadavg()[0]
    before = kept(PAGE.read_text()) if PAGE.exists() else {}
    figures, left_out = measured()
    if os.environ.get("KEEP") == "1":
        before |= {(each.what, each.unit): each.value for each in figures}
    day = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(begin))
    busy = f"a load of {load:.1f} before and {os.getloadavg()[0]:.1f} after on {os.cpu_count()} cores"
    notes = [
        f"Written by `make guard`, {day}, in {time.time() - begin:.0f} s, under {busy}. Errors do not depend on it."
    ]
    if left_out:
        notes += ["", "Left out: " + "; ".join(left_out) + "."]
    PAGE.write_text("\n".join(lines(figures, before, notes)))
    print(PAGE.read_text())
    found = worse(figures, before)
    for each in found:
        print(f"worse: {each.what}, {each.value:.4g} {each.unit}, kept {before[each.what, each.unit]:.4g}")
    return int(any(each.kind == ERRORS for each in found))


if __name__ == "__main__":
    raise SystemExit(main())
